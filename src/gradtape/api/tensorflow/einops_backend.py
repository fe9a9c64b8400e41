"""The einops backend for Tensors and Variables.

einops finds the subclasses of its `AbstractBackend` by itself; importing this module is all that is
needed.
"""

from __future__ import annotations

from typing import Any

from einops._backends import AbstractBackend

from gradtape.api.tensorflow.creation import range as range_of
from gradtape.api.tensorflow.joining import concat, stack, tile
from gradtape.api.tensorflow.linalg.products import einsum
from gradtape.api.tensorflow.reductions import (
    reduce_all,
    reduce_any,
    reduce_max,
    reduce_mean,
    reduce_min,
    reduce_prod,
    reduce_sum,
)
from gradtape.api.tensorflow.shaping import expand_dims, reshape, transpose
from gradtape.convert import as_tensor
from gradtape.core.tensor import Tensor
from gradtape.core.variable import Variable

_REDUCTIONS = {
    "min": reduce_min,
    "max": reduce_max,
    "sum": reduce_sum,
    "mean": reduce_mean,
    "prod": reduce_prod,
    "any": reduce_any,
    "all": reduce_all,
}


class GradtapeBackend(AbstractBackend):
    """gradtape among the libraries of einops: every function is a recorded one."""

    framework_name = "gradtape"

    def is_appropriate_type(self, tensor: Any) -> bool:
        return isinstance(tensor, (Tensor, Variable))

    def from_numpy(self, x: Any) -> Tensor:
        return as_tensor(x, argument="from_numpy: x")

    def to_numpy(self, x: Any) -> Any:
        return x.numpy()

    def arange(self, start: int, stop: int) -> Tensor:
        return range_of(start, stop)

    def shape(self, x: Any) -> tuple[int, ...]:
        return tuple(x.shape)

    def reshape(self, x: Any, shape: Any) -> Tensor:
        return reshape(x, shape)

    def transpose(self, x: Any, axes: Any) -> Tensor:
        return transpose(x, axes)

    def reduce(self, x: Any, operation: str, axes: Any) -> Tensor:
        return _REDUCTIONS[operation](x, axis=axes)

    def stack_on_zeroth_dimension(self, tensors: list[Any]) -> Tensor:
        return stack(tensors)

    def add_axis(self, x: Any, new_position: int) -> Tensor:
        return expand_dims(x, new_position)

    def tile(self, x: Any, repeats: Any) -> Tensor:
        return tile(x, repeats)

    def concat(self, tensors: Any, axis: int) -> Tensor:
        return concat(tensors, axis)

    def is_float_type(self, x: Any) -> bool:
        return x.dtype.is_floating

    def einsum(self, pattern: str, *x: Any) -> Tensor:
        return einsum(pattern, *x)
