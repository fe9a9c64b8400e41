"""Anything into a Tensor: `convert_to_tensor`, and how public functions take their arguments."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradtape import dtypes, nest
from gradtape.core.device import made
from gradtape.core.needed_ops import needed
from gradtape.core.tensor import Tensor
from gradtape.core.values import to_array
from gradtape.core.variable import Variable
from gradtape.ops.op import is_tensor_like, operand
from gradtape.ops.shaping import stack


def as_tensor(value: Any, dtype: Any = None, *, argument: str = "value") -> Tensor:
    """`value` as a Tensor: itself if it is one, a read of a Variable, a stack of a list with
    Tensors in it, a constant.
    """
    if type(value) is Tensor and dtype is None:
        return value
    wanted = None if dtype is None else dtypes.as_dtype(dtype).numpy
    if isinstance(value, (list, tuple)) and any(
        is_tensor_like(leaf) for leaf in nest.flatten(value)
    ):
        return _stacked(value, wanted, argument)
    found = value.read_value() if isinstance(value, Variable) else operand(value)
    if not isinstance(found, Tensor):
        return made(to_array(value, wanted, argument=argument))
    if wanted is not None and found.array.dtype != wanted:
        raise ValueError(
            f"{argument}: a tensor of dtype {found.dtype.name} cannot be converted to dtype "
            f"{dtypes.from_numpy(wanted).name}: "
            "use gradtape.cast."
        )
    return found


def _stacked(values: Any, wanted: Any, argument: str) -> Tensor:
    """A nested list with Tensors in it; plain numbers beside them take their dtype."""
    if wanted is None:
        wanted = next(operand(v).array.dtype for v in nest.flatten(values) if is_tensor_like(v))
    rows = [
        as_tensor(v, dtypes.from_numpy(wanted), argument=f"{argument}[{i}]")
        for i, v in enumerate(values)
    ]
    shapes = {row.array.shape for row in rows}
    if len(shapes) > 1:
        raise ValueError(f"{argument}: the shapes of its entries differ: {sorted(shapes)}.")
    return stack(*rows, axis=0)


def first_tensor(x: Any, y: Any) -> Tensor | Any:
    """The first of two operands, as a Tensor if neither is one, so that an op gives a Tensor."""
    if is_tensor_like(x) or is_tensor_like(y):
        return x
    if isinstance(y, np.ndarray) and not isinstance(x, np.ndarray):
        return Tensor(to_array(x, dtypes.promote_weak(y.dtype, np.asarray(x).dtype), argument="x"))
    return as_tensor(x, argument="x")


needed.convert = as_tensor
