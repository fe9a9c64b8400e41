"""How the neural network functions convert their arguments."""

from __future__ import annotations

from typing import Any

import gradtape as tf
from keras_gradtape.src.conversion import convert_to_tensor
from keras_gradtape.src.ops.operands import cast_to, inexact, result_type


def alike(*values: Any) -> list[tf.Tensor]:
    """Tensors in one dtype: the one they have, or that in which Keras lets them meet."""
    read = [convert_to_tensor(value) for value in values]
    first = read[0].dtype
    if all(x.dtype is first for x in read):
        return read
    dtype = result_type(*{x.dtype.name for x in read})
    return [cast_to(x, dtype) for x in read]


def floats(*values: Any) -> list[tf.Tensor]:
    """As `alike`, but never integers or truth values."""
    return [cast_to(x, inexact(x.dtype.name)) for x in alike(*values)]


def at_least_float32(dtype: str) -> str:
    """The dtype in which what half precision cannot hold is computed."""
    return dtype if dtype == "float64" else "float32"
