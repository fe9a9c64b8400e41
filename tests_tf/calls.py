"""Tables of calls that both libraries run: what a call gives as plain values, and whether two
outcomes are the same.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow  # noqa: ICN001  # `tf` is the library that a call is given

import gradtape

CLEAR = (ValueError, TypeError, NotImplementedError, KeyError, IndexError, gradtape.errors.OpError)
"""What bad input may raise in gradtape; anything else is a bug."""


def outcome(tf: Any, call: Callable[[Any], Any]) -> Any:
    """What a call gives, as plain values with dtypes and shapes; an error is an outcome, too."""
    try:
        return plain(tf, call(tf))
    except Exception as error:  # noqa: BLE001  # judged by the caller
        return error


def plain(tf: Any, value: Any) -> Any:
    if isinstance(value, tf.RaggedTensor):
        return (
            "ragged", value.dtype.name, value.shape.as_list(), value.to_list(),
            [plain(tf, splits) for splits in value.nested_row_splits],
        )  # fmt: skip
    if isinstance(value, tf.SparseTensor):
        parts = (value.indices, value.values, value.dense_shape)
        return ("sparse", *(plain(tf, part) for part in parts))
    if isinstance(value, (tf.Tensor, tf.Variable)):
        return "tensor", value.dtype.name, value.shape.as_list(), value.numpy()
    if isinstance(value, np.ndarray) and value.dtype == object:
        return "array", [plain(tf, entry) for entry in value]
    if isinstance(value, dict):
        return {key: plain(tf, entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(tf, entry) for entry in value]
    if isinstance(value, tf.TensorShape):
        return value.as_list()
    if isinstance(value, tf.DType):
        return value.name
    return value


def same(ours: Any, theirs: Any) -> bool:
    """Whether two plain outcomes are the same; floats to rounding."""
    if isinstance(theirs, tuple) and theirs[:1] == ("ragged",) and isinstance(ours, tuple):
        # Where TensorFlow forgets that rows have one length, gradtape may know it.
        shapes = zip(ours[2], theirs[2], strict=True)
        theirs = (*theirs[:2], [a if b is None else b for a, b in shapes], *theirs[3:])
    if isinstance(theirs, np.ndarray) and theirs.dtype != object:
        return (
            isinstance(ours, np.ndarray)
            and ours.shape == theirs.shape
            and np.allclose(ours, theirs, rtol=1e-5, atol=1e-6, equal_nan=True)
        )
    if isinstance(theirs, np.ndarray):
        return same(ours.tolist(), theirs.tolist())
    if isinstance(theirs, (list, tuple)):
        return (
            isinstance(ours, (list, tuple))
            and len(ours) == len(theirs)
            and all(map(same, ours, theirs))
        )
    if isinstance(theirs, dict):
        return ours.keys() == theirs.keys() and all(same(ours[k], theirs[k]) for k in theirs)
    if isinstance(theirs, (float, np.floating)):
        return bool(np.isclose(ours, theirs, rtol=1e-5, atol=1e-6, equal_nan=True))
    if isinstance(theirs, bytes):
        return isinstance(ours, bytes) and ours == theirs
    return bool(ours == theirs)


def check(call: Callable[[Any], Any]) -> None:
    """Both libraries give the same, or both refuse, gradtape with a clear error."""
    ours, theirs = outcome(gradtape, call), outcome(tensorflow, call)
    if isinstance(theirs, Exception):
        assert isinstance(ours, CLEAR), f"TensorFlow: {theirs!r}\ngradtape: {ours!r}"
        assert len(str(ours)) > 10, repr(ours)
    else:
        if isinstance(ours, Exception):
            raise ours
        assert same(ours, theirs), f"TensorFlow: {theirs!r}\ngradtape:   {ours!r}"
