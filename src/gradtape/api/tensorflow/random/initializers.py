"""Functions that make the initial values of Variables: `tf.zeros_initializer` and related
classes.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gradtape import dtypes
from gradtape.api.tensorflow.arguments import DTypeLike, ShapeLike
from gradtape.api.tensorflow.creation import constant, ones, zeros
from gradtape.api.tensorflow.random.sequence import normal, uniform
from gradtape.api.tensorflow.random.stateless import stateless_normal, stateless_uniform
from gradtape.core.tensor import Tensor
from gradtape.published import published


class _Initializer:
    """Called with a shape and a dtype.

    `partition_shape` and `partition_offset` ask for a part of the whole tensor.
    """

    def get_config(self) -> dict[str, Any]:
        """The arguments that this one was made with."""
        return {}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Any:
        """An initializer with arguments as `get_config` gives them."""
        return cls(**{key: value for key, value in config.items() if key != "dtype"})

    def _shape(self, shape: Any, options: dict[str, Any]) -> Any:
        for key in options:
            if key not in ("partition_shape", "partition_offset"):
                raise TypeError(
                    f"{type(self).__name__}: '{key}' is not an argument: give partition_shape or "
                    "partition_offset."
                )
        return options.get("partition_shape", shape)

    def _dtype(self, dtype: Any, *, allowed: str) -> dtypes.DType:
        """The dtype, one of numbers or of `allowed` kinds."""
        found = dtypes.as_dtype(dtype)
        kinds = {
            "floating": found.is_floating,
            "numeric": found.is_floating or found.is_integer or found.is_complex,
        }
        if not kinds[allowed.partition(" ")[0]] and not (found.is_bool and "bool" in allowed):
            raise ValueError(f"{type(self).__name__}: dtype must be {allowed}, got {found.name}.")
        return found


@published("zeros_initializer")
class zeros_initializer(_Initializer):  # noqa: N801 - TensorFlow's name
    """Makes tensors of zeros.

    >>> import gradtape as tf
    >>> tf.zeros_initializer()([2]).numpy()
    array([0., 0.], dtype=float32)
    """

    def __call__(
        self, shape: ShapeLike, dtype: DTypeLike = dtypes.float32, **kwargs: Any
    ) -> Tensor:
        return zeros(self._shape(shape, kwargs), self._dtype(dtype, allowed="numeric or bool"))


@published("ones_initializer")
class ones_initializer(_Initializer):  # noqa: N801 - TensorFlow's name
    """Makes tensors of ones.

    >>> import gradtape as tf
    >>> tf.ones_initializer()([2]).numpy()
    array([1., 1.], dtype=float32)
    """

    def __call__(
        self, shape: ShapeLike, dtype: DTypeLike = dtypes.float32, **kwargs: Any
    ) -> Tensor:
        return ones(self._shape(shape, kwargs), self._dtype(dtype, allowed="numeric or bool"))


@published("constant_initializer")
class constant_initializer(_Initializer):  # noqa: N801 - TensorFlow's name
    """Makes tensors of given values: one for all elements, or as many as there are.

    >>> import gradtape as tf
    >>> tf.constant_initializer([1.0, 2.0, 3.0, 4.0])([2, 2]).numpy()
    array([[1., 2.],
           [3., 4.]], dtype=float32)
    """

    def __init__(self, value: Any = 0, support_partition: bool = False) -> None:
        if not (np.isscalar(value) or isinstance(value, (list, tuple, np.ndarray))):
            raise TypeError(
                "constant_initializer: value must be a number, a list or an array, got "
                f"{type(value).__name__}."
            )
        self.value = value
        self.support_partition = support_partition

    def __call__(self, shape: ShapeLike, dtype: DTypeLike = None, **kwargs: Any) -> Tensor:
        wanted = self._shape(shape, kwargs)
        if kwargs and not self.support_partition:
            raise ValueError(
                "constant_initializer: partition_shape and partition_offset need "
                "support_partition=True."
            )
        return constant(self.value, dtype, shape=wanted)

    def get_config(self) -> dict[str, Any]:
        return {"value": self.value}


@published("random_normal_initializer")
class random_normal_initializer(_Initializer):  # noqa: N801 - TensorFlow's name
    """Draws tensors from a normal distribution; with a `seed`, the same ones in every call.

    >>> import gradtape as tf
    >>> tf.random_normal_initializer(mean=5.0, stddev=0.0)([2]).numpy()
    array([5., 5.], dtype=float32)
    """

    def __init__(self, mean: Any = 0.0, stddev: Any = 0.05, seed: int | None = None) -> None:
        self.mean, self.stddev, self.seed = mean, stddev, seed

    def __call__(
        self, shape: ShapeLike, dtype: DTypeLike = dtypes.float32, **kwargs: Any
    ) -> Tensor:
        wanted, sizes = self._dtype(dtype, allowed="floating"), self._shape(shape, kwargs)
        if self.seed is None:
            return normal(sizes, self.mean, self.stddev, wanted)
        return stateless_normal(sizes, [self.seed, 0], self.mean, self.stddev, wanted)

    def get_config(self) -> dict[str, Any]:
        return {"mean": self.mean, "stddev": self.stddev, "seed": self.seed}


@published("random_uniform_initializer")
class random_uniform_initializer(_Initializer):  # noqa: N801 - TensorFlow's name
    """Draws tensors from a uniform distribution; with a `seed`, the same ones in every call.

    >>> import gradtape as tf
    >>> tf.random_uniform_initializer(seed=1)([2, 3]).shape
    TensorShape([2, 3])
    """

    def __init__(self, minval: Any = -0.05, maxval: Any = 0.05, seed: int | None = None) -> None:
        self.minval, self.maxval, self.seed = minval, maxval, seed

    def __call__(
        self, shape: ShapeLike, dtype: DTypeLike = dtypes.float32, **kwargs: Any
    ) -> Tensor:
        wanted, sizes = self._dtype(dtype, allowed="numeric"), self._shape(shape, kwargs)
        if self.seed is None:
            return uniform(sizes, self.minval, self.maxval, wanted)
        return stateless_uniform(sizes, [self.seed, 0], self.minval, self.maxval, wanted)

    def get_config(self) -> dict[str, Any]:
        return {"minval": self.minval, "maxval": self.maxval, "seed": self.seed}
