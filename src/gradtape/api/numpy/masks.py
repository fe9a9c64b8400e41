"""The argument `where` of a reduction, which selects its elements."""

# mypy: disable-error-code="no-any-return"
# An op gives a Tensor for Tensors and an array for arrays, so its result is Any; here the arguments
# are Tensors.

from __future__ import annotations

from typing import Any

import numpy as np

from gradtape.api.numpy.operands import FLOAT32, converted, real_dtype, tensor_of
from gradtape.core.tensor import Tensor
from gradtape.ops import broadcasting, reductions, selection


def mask_of(where: Any, x: Tensor, function: str) -> Tensor | None:
    """The mask in the shape of `x`, which is reduced; None if all elements take part."""
    if where is None or where is True:
        return None
    mask, shape = tensor_of(where, function, "where"), x.array.shape
    if mask.array.dtype.kind != "b":
        raise TypeError(
            f"{function}: where must be boolean, got dtype {mask.dtype.name}: compare with 0, for "
            "instance."
        )
    sizes = mask.array.shape
    if len(sizes) > len(shape) or any(
        size not in (1, room) for size, room in zip(sizes[::-1], shape[::-1], strict=False)
    ):
        raise ValueError(
            f"{function}: where of shape {mask.shape} does not broadcast to the shape "
            f"{x.shape} of a."
        )
    return broadcasting.broadcast_to(mask, shape=shape)


def chosen(x: Tensor, mask: Tensor | None, otherwise: Any) -> Tensor:
    """`x` with `otherwise` in the place of the elements that do not take part."""
    return x if mask is None else selection.where(mask, x, otherwise)


def chosen_or_initial(x: Tensor, where: Any, initial: Any, function: str) -> Tensor:
    """The same for an extremum, which has a value only if there is an `initial` one."""
    mask = mask_of(where, x, function)
    if mask is not None and initial is None:
        raise ValueError(
            f"{function}: give initial= beside where=: it is the result where the mask selects "
            "nothing."
        )
    return chosen(x, mask, initial)


def count(
    mask: Tensor, axes: tuple[int, ...] | None, keepdims: bool, dtype: np.dtype[Any]
) -> Tensor:
    """How many elements take part, in `dtype`; half precision could not count them."""
    real = real_dtype(dtype)
    ones = broadcasting.cast(mask, dtype=FLOAT32 if real.itemsize < 4 else real)
    return converted(reductions.reduce_sum(ones, axis=axes, keepdims=keepdims), dtype)
