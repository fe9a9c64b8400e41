"""Arguments of integrals and differential equations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gradtape import nest
from gradtape.convert import as_tensor, is_tensor_like, operand
from gradtape.core.needed_ops import needed
from gradtape.core.tensor import Tensor
from gradtape.ops.shaping import reshape
from gradtape.scipy.integrate.systems import DOUBLE


def number(who: str, value: Any, argument: str) -> Tensor:
    """One number in double precision."""
    tensor = operand(value) if is_tensor_like(value) else Tensor(np.asarray(value, DOUBLE))
    if tensor.array.size != 1:
        raise ValueError(f"{who}: {argument} must be one number, got shape {tensor.shape}.")
    wide = tensor if tensor.array.dtype == DOUBLE else needed.cast(tensor, dtype=DOUBLE)
    return wide if not wide.array.ndim else reshape(wide, shape=())


def split_args(args: tuple[Any, ...]) -> tuple[list[Tensor], Callable[..., Any]]:
    """The Tensors and arrays in the arguments of a user's function, and what calls one with others
    in their places, after the arguments that SciPy gives.
    """
    leaves = nest.flatten(args)
    places = [i for i, x in enumerate(leaves) if is_tensor_like(x) or isinstance(x, np.ndarray)]
    params = []
    for i in places:
        leaf = leaves[i]
        params.append(operand(leaf) if is_tensor_like(leaf) else as_tensor(leaf))

    def called(f: Callable[..., Any], first: Sequence[Any], given: Sequence[Tensor]) -> Any:
        by_place = dict(zip(places, given, strict=False))
        packed = nest.pack_sequence_as(args, [by_place.get(i, x) for i, x in enumerate(leaves)])
        return f(*first, *packed)

    return params, called
