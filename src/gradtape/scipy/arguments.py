"""How the functions of `gradtape.scipy` on arrays convert and check their arguments."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradtape.api.numpy.operands import inexact, known_values, promoted, tensors_of
from gradtape.api.numpy.shaping import moveaxis
from gradtape.convert import is_tensor_like, operand
from gradtape.core.tensor import Tensor
from gradtape.ops.shaping import pad, reshape


def named_tensors(who: str, **named: Any) -> list[Tensor]:
    """Arguments as Tensors of one floating-point or complex dtype."""
    tensors = tensors_of(list(named.values()), who, list(named))
    return [inexact(x) for x in promoted([inexact(t) for t in tensors])]


def real_tensors(who: str, **named: Any) -> list[Tensor]:
    """Arguments as Tensors of one floating-point dtype."""
    found = named_tensors(who, **named)
    for name, x in zip(named, found, strict=True):
        if x.array.dtype.kind == "c":
            raise TypeError(f"{who}: {name} is complex: pass real and imaginary parts one by one.")
    return found


def fixed_array(value: Any, who: str, name: str) -> Any:
    """The values of an argument by which there are no derivatives, in double precision."""
    if not is_tensor_like(value):
        return np.asarray(value, np.float64)
    known = known_values(operand(value))
    if known is None:
        raise TypeError(
            f"{who}: {name} must be known: it is not differentiated, and its values decide how "
            "the rest is computed. Pass a NumPy array, from outside vmap and gradtape.function."
        )
    return np.asarray(known, np.float64)


def in_matrix(x: Tensor, axis: int) -> Tensor:
    """The elements along an axis as rows of a matrix, whose columns are everything else."""
    moved = moveaxis(x, axis, 0)
    return reshape(moved, shape=(moved.array.shape[0], -1 if moved.array.size else 0))


def padded(x: Tensor, before: int, after: int) -> Tensor:
    """Zeros before and after the last axis."""
    return pad(x, paddings=((0, 0),) * (x.array.ndim - 1) + ((before, after),))
