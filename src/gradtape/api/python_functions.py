"""`py_function` and `numpy_function`: Python code as an op. In eager code it is called at once."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np

from gradtape import dtypes, errors, nest
from gradtape.ops.convert import as_tensor

_ERRORS: tuple[tuple[tuple[type[Exception], ...], type[errors.OpError]], ...] = (
    ((ValueError, TypeError), errors.InvalidArgumentError),
    ((StopIteration,), errors.OutOfRangeError),
    ((MemoryError,), errors.ResourceExhaustedError),
    ((NotImplementedError,), errors.UnimplementedError),
)


def py_function(func: Callable[..., Any] | None = None, inp: Any = None, Tout: Any = None, name: str | None = None) -> Any:
    """Calls `func` with the tensors `inp`; it gives a tensor of dtype `Tout`, or several for a list of dtypes.

    What it computes with gradtape functions is differentiable to any order. Without `func` this is a decorator.

    >>> import gradtape as tf
    >>> x = tf.Variable(3.0)
    >>> with tf.GradientTape() as tape:
    ...     y = tf.py_function(lambda x: x * x, [x], tf.float32)
    >>> tape.gradient(y, x).numpy()
    np.float32(6.0)
    """
    _require_dtypes(Tout, "py_function")
    if func is None:
        return _decorator(py_function, Tout, name)
    tensors = [as_tensor(value, argument=f"py_function: inp[{i}]") for i, value in enumerate(inp)]
    wanted = [dtypes.as_dtype(getattr(out, "dtype", out)) for out in nest.flatten(Tout)]
    try:
        result = func(*tensors)
        given = [] if result is None else list(result) if isinstance(result, (list, tuple)) else [result]
        if len(given) < len(wanted):
            raise ValueError(f"func gave {len(given)} values, but Tout has {len(wanted)} dtypes.")
        found = [as_tensor(v, d, argument=f"the result {i}") for i, (v, d) in enumerate(zip(given, wanted, strict=False))]
    except Exception as error:
        raise _translated(error) from error
    return found if isinstance(Tout, (list, tuple)) else found[0]


def numpy_function(
    func: Callable[..., Any] | None = None, inp: Any = None, Tout: Any = None, stateful: bool = True, name: str | None = None
) -> Any:
    """Calls `func` with `inp` as NumPy arrays and makes tensors of what it gives; no gradient flows through it.

    >>> import gradtape as tf
    >>> tf.numpy_function(lambda x: x[::-1], [tf.constant([1.0, 2.0])], tf.float32).numpy()
    array([2., 1.], dtype=float32)
    """
    _require_dtypes(Tout, "numpy_function")
    if func is None:
        return _decorator(numpy_function, Tout, name)
    result = func(*[np.array(value) for value in inp])
    found = [None if value is None else as_tensor(value, argument="numpy_function: the result") for value in nest.flatten(result)]
    return found[0] if len(found) == 1 else found


def _require_dtypes(wanted: Any, function: str) -> None:
    if wanted is None:
        raise TypeError(f"{function}: Tout is missing: give the dtype of the result, or a list of dtypes.")


def _decorator(of: Callable[..., Any], wanted: Any, name: str | None) -> Callable[..., Any]:
    def decorated(func: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(func)
        def call(*args: Any) -> Any:
            return of(func, args, wanted, name=name)

        return call

    return decorated


def _translated(error: Exception) -> errors.OpError:
    """The error that TensorFlow makes of an exception in the function."""
    wanted = next((to for kinds, to in _ERRORS if isinstance(error, kinds)), errors.UnknownError)
    return wanted(None, None, f"py_function: {type(error).__name__}: {error}")
