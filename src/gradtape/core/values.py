"""Conversion of plain values to arrays: Python numbers, nested lists and NumPy arrays, with
TensorFlow's default dtypes.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gradtape import dtypes
from gradtape.core.messages import no_array
from gradtape.core.operators import TensorOperators
from gradtape.core.tensor import Tensor
from gradtape.core.thread import here
from gradtape.engines.engine import engine_of

_INT32 = np.iinfo(np.int32)
_LARGEST = float(np.finfo(np.float32).max)


def array_of(value: Any) -> Any:
    """The array inside a Tensor, a Variable or what turns itself into a Tensor;
    None for a plain value.
    """
    if isinstance(value, TensorOperators):
        trace: Any = here.state.trace
        known = trace is None or isinstance(value, Tensor)
        return value.array if known else trace.value(value).array  # type: ignore[attr-defined]
    convert = getattr(value, "__gradtape_tensor__", None)
    return None if convert is None else convert().array


def on_host(array: Any) -> Any:
    """An array as a NumPy array, from whatever device it is on."""
    return engine_of(array).to_numpy(array)


def to_array(value: Any, dtype: np.dtype[Any] | None = None, *, argument: str = "value") -> Any:
    """`value` as a new array of `dtype`: NumPy's own, whatever subclass of it is given.

    Without a dtype, Python floats become float32, ints int32 (int64 beyond its range), complex
    complex128; NumPy arrays keep their own. An integer dtype does not take floats: that would lose
    their fractional part.
    """
    if isinstance(value, Tensor):
        array = value.array
        return array if dtype is None or array.dtype == dtype else _cast(array, dtype, argument)
    if isinstance(value, (np.ndarray, np.generic)):
        return _from_numpy(value, dtype, argument)
    if type(value) is float:  # the commonest case, without a detour through object arrays
        if dtype is not None:
            return _cast(np.float64(value), dtype, argument)
        return (
            np.float32(value) if abs(value) <= _LARGEST else here.state.quietly(np.float32, value)
        )
    try:
        array = np.array(value)
    except UnicodeDecodeError:  # bytes that are no text, beside text
        array = np.array(value, object)
    except ValueError as error:
        raise ValueError(
            f"{argument}: cannot convert {_short(value)} to a tensor; {no_array(value, error)}"
        ) from error
    if array.dtype.kind in "OSU":
        return _from_objects(value, array, dtype, argument)
    if _holds_numpy(value):
        return _from_numpy(array, dtype, argument)
    if dtype is not None:
        return _cast(array, dtype, argument)
    return _python_default(array)[()]


def _python_default(array: Any) -> Any:
    """Python numbers in TensorFlow's default dtype."""
    if array.dtype == np.float64:
        return here.state.quietly(array.astype, np.float32)
    if array.dtype == np.int64 and (
        array.size == 0 or (array.min() >= _INT32.min and array.max() <= _INT32.max)
    ):
        return array.astype(np.int32)
    return array


def _holds_numpy(value: Any) -> bool:
    """Whether a nested list holds NumPy values, which keep their dtype."""
    while isinstance(value, (list, tuple)) and value:
        value = value[0]
    return isinstance(value, (np.ndarray, np.generic))


def _from_numpy(value: Any, dtype: np.dtype[Any] | None, argument: str) -> Any:
    if isinstance(value, np.ndarray) and type(value) is not np.ndarray:
        # A matrix would multiply as matrices do, and a masked array leave elements out.
        value = np.asarray(value)
    if value.dtype.kind in "SUO":
        return _from_objects(value, np.asarray(value), dtype, argument)
    try:
        native = dtypes.as_dtype(value.dtype).numpy
    except TypeError:
        raise unknown_dtype(value, argument) from None
    if dtype is None or dtype == native:
        # Not np.array: an unpickled array has a dtype of its own, equal to NumPy's, which only
        # `astype` replaces. Ops know theirs by identity.
        return value.astype(native)[()] if value.ndim == 0 else value.astype(native)
    return _cast(value, dtype, argument)


def unknown_dtype(array: Any, argument: str) -> TypeError:
    """The error for a NumPy array whose elements a Tensor cannot hold."""
    kind = array.dtype.kind
    if kind in "fc":
        wider = "float64" if kind == "f" else "complex128"
        what, instead = f"has dtype {array.dtype}", f"convert it with astype(numpy.{wider})"
    elif kind in "mM":
        what, instead = "holds dates or times", "convert it to numbers with astype(numpy.int64)"
    elif kind in "SUT":
        what, instead = "holds text", "give numbers"
    elif array.dtype.names is not None:
        what = f"is a structured array with the fields {array.dtype.names}"
        instead = "give one of its fields"
    else:
        what = f"holds objects such as {_first(array)}"
        instead = "convert it to an array of numbers first"
    return TypeError(f"{argument} {what}, which Tensors cannot hold: {instead}.")


def _first(array: Any) -> str:
    text = repr(array.reshape(-1)[0]) if array.size else "none"
    return text if len(text) <= 60 else text[:57] + "..."


def _from_objects(value: Any, array: Any, dtype: np.dtype[Any] | None, argument: str) -> Any:
    """Strings, which are held as bytes; anything else that NumPy only takes as an object is
    refused.
    """
    if array.dtype.kind != "O" and not isinstance(value, (np.ndarray, np.generic)):
        # Without it NumPy makes text of the numbers that stand beside text.
        array = np.array(value, object)
    leaves = array.reshape(-1).tolist()
    if all(isinstance(leaf, (str, bytes)) for leaf in leaves) and dtype in (
        None,
        dtypes.string.numpy,
    ):
        texts = np.empty(array.size, dtype=object)
        texts[:] = [leaf.encode() if isinstance(leaf, str) else leaf for leaf in leaves]
        return texts.reshape(array.shape)
    if dtype is not None and all(
        isinstance(leaf, (Tensor, int, float, complex)) for leaf in leaves
    ):
        return np.array(array.tolist(), dtype=dtype)
    wanted = "a tensor" if dtype is None else f"a tensor of dtype {dtypes.from_numpy(dtype).name}"
    raise (TypeError if dtype is not None else ValueError)(
        f"{argument}: cannot convert {_short(value)} to {wanted}."
    )


def _cast(array: Any, dtype: np.dtype[Any], argument: str) -> Any:
    """`array` in `dtype`, refused where a value would change its kind: float to int, complex to
    real, string to number.
    """
    kind = array.dtype.kind
    lossy = (kind in "fcV" and dtype.kind in "iub") or (kind == "c" and dtype.kind != "c")
    if array.size and (lossy or (kind == "O") != (dtype.kind == "O")):
        raise TypeError(
            f"{argument}: cannot convert {_short(array)} of dtype "
            f"{dtypes.as_dtype(array.dtype).name} to "
            f"{dtypes.from_numpy(dtype).name}; cast it first."
        )
    if kind in "iu" and dtype.kind in "iu" and array.size:
        limits = np.iinfo(dtype)
        if int(array.max()) > limits.max or int(array.min()) < limits.min:
            raise TypeError(
                f"{argument}: {_short(array)} does not fit in {dtypes.from_numpy(dtype).name}."
            )
    # A number too large for the dtype becomes infinite, without NumPy's warning.
    return here.state.quietly(array.astype, dtype)[()]


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."
