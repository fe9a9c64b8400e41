"""How the kernel of an op is run: on the engine of its arrays, half precision in float32, and with
errors that say what it was given.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gradtape import dtypes
from gradtape.core.location import caller, locate, own_files
from gradtape.core.thread import here
from gradtape.core.xla.beyond import BeyondXlaError
from gradtape.engines.engine import EndedError, NotTraceableError
from gradtape.engines.numpy import engine as numpy_engine
from gradtape.engines.numpy.engine import is_reentry
from gradtape.engines.xla.host import original
from gradtape.errors import OpError, invalid_argument

HALF = frozenset((dtypes.float16.numpy, dtypes.bfloat16.numpy))

_OF_KERNELS = (
    ValueError,
    TypeError,
    LookupError,
    ArithmeticError,
    AttributeError,
    AssertionError,
    RuntimeError,
)
"""What kernels raise.

Other errors are a signal handler's, or the machine's, and stay what they are.
"""


class Runs:
    """An op as far as its kernel goes."""

    name: str
    kernel: Callable[..., Any]
    native: bool
    moves: bool
    several: bool
    xla_kernel: Any

    def computed(self, run: Callable[..., Any], arrays: list[Any], params: dict[str, Any]) -> Any:
        """The kernel's result.

        Half precision is computed in float32 and rounded once: NumPy alone would be slow and mixed.
        """
        kernel = self.kernel
        if not all(map(_is_on_numpy, arrays)):
            kernel, run = self.xla_kernel, _run_on_xla
            if self.native:
                return run(kernel, *arrays, **params)
        # NumPy gives the bare element for a 0-d array of objects.
        if any(a.dtype.kind == "O" for a in arrays):
            result = run(kernel, *arrays, **params)
            return [_as_array(r) for r in result] if self.several else _as_array(result)
        half = None if self.moves else next((a.dtype for a in arrays if a.dtype in HALF), None)
        if half is None:
            return run(kernel, *arrays, **params)
        wide = [run(widened, a) if a.dtype == half else a for a in arrays]
        result = run(kernel, *wide, **params)
        return (
            [run(rounded_to, r, dtype=half) for r in result]
            if self.several
            else run(rounded_to, result, dtype=half)
        )

    def recomputed(self, arrays: list[Any], params: dict[str, Any] | None) -> Any:
        """The result for arrays of a recorded call, or for others in their place; nothing records
        or checks it.
        """
        if any(not hasattr(array, "dtype") for array in arrays):  # numbers, from the written call
            return numpy_engine.run(self.kernel, *arrays, **(params or {}))
        return self.computed(numpy_engine.run, arrays, params or {})

    def again(self, error: Exception, arrays: list[Any], params: dict[str, Any] | None) -> Any:
        """After an error: the result, if it was only that a signal handler calls an op while this
        thread is in the midst of one.
        """
        if is_reentry(error):
            # Plain numbers, from the written call.
            weak = any(not hasattr(array, "dtype") for array in arrays)
            return (
                numpy_engine.run(self.kernel, *arrays)
                if weak
                else self.computed(numpy_engine.run, arrays, params or {})
            )
        found = self.explained(error, arrays, params)
        if found is error:
            raise error
        raise found from error

    def explained(
        self, error: Exception, arrays: Sequence[Any], params: dict[str, Any] | None
    ) -> Exception:
        """A kernel's error with the op, the shapes and the dtypes that it was given."""
        if isinstance(error, (OpError, RecursionError, EndedError)) or not isinstance(
            error, _OF_KERNELS
        ):
            return error
        if isinstance(error, NotTraceableError):
            return BeyondXlaError(f"{self.name} at {locate(*caller())}: {error}")
        inputs = ", ".join(_described(array) for array in arrays)
        given = "".join(f", {key}={value!r}" for key, value in (params or {}).items())
        return invalid_argument(f"{self.name}({inputs}{given}): {error}")


def _run_on_xla(kernel: Callable[..., Any], *arrays: Any, **params: Any) -> Any:
    try:
        return here.state.run_on_xla(kernel, *arrays, **params)
    except Exception as error:
        found = original(error)
        if found is error:
            raise
        raise found from found.__cause__  # without XLA's own error


def _is_on_numpy(array: Any) -> bool:
    return isinstance(array, (np.ndarray, np.generic))


def _as_array(result: Any) -> Any:
    return (
        result
        if hasattr(result, "dtype")
        else np.array(result, object if isinstance(result, bytes) else None)
    )


def widened(array: Any) -> Any:
    return array.astype(np.float32)


def rounded_to(array: Any, *, dtype: Any) -> Any:
    return array.astype(dtype) if array.dtype == np.float32 else array


def _described(array: Any) -> str:
    dtype = getattr(array, "dtype", None)
    return repr(array) if dtype is None else f"{dtypes.from_numpy(dtype).name}{list(array.shape)}"


def only_computes(kernel: Any) -> bool:
    """Whether a kernel is known to do nothing but compute, so that it may run again: one of this
    package, or a plain function of NumPy or `operator`.

    Names and modules prove nothing: a decorator copies them, and NumPy's functions may wrap Python
    code, or draw random numbers.
    """
    function = getattr(kernel, "func", kernel)
    code = getattr(function, "__code__", None)
    if code is not None:
        return code.co_filename.startswith(own_files.root)
    name = getattr(function, "__name__", "")
    return any(getattr(module, name, None) is function for module in (np, np.linalg, operator))
