"""The XLA engine: kernels on `jax.numpy`, for compiled functions and for accelerators. JAX is loaded when it is first needed.

gradtape promotes dtypes before a kernel is called, and knows 64-bit numbers; JAX has them behind a switch. The switch is thrown
around every use here, for this thread alone, so that the process's own JAX code is left as it is.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from functools import cache, partial
from importlib import import_module
from types import ModuleType
from typing import Any
from weakref import WeakValueDictionary

import numpy as np

from gradtape.engines.numpy_engine import Kernel


@cache
def load() -> ModuleType:
    """JAX, or the error that says how to get it."""
    try:
        import jax  # noqa: PLC0415 - an optional package, loaded when it is first needed
    except ImportError as error:
        raise ImportError(
            "gradtape.function and accelerators need JAX, which is not installed: pip install 'gradtape[xla]'."
        ) from error
    return jax


class NotTraceableError(TypeError):
    """What was asked of a tensor in a traced function cannot be had while it is traced, or no more."""


def wide() -> AbstractContextManager[Any]:
    """The switch for 64-bit numbers, for the length of a block on this thread."""
    return load().enable_x64(True)


class Namespace:
    """What a kernel sees as `xp`: `jax.numpy`, and beside it what NumPy has no names for.

    `lax` is XLA's own operations, `special` and `dense` are `jax.scipy.special` and `jax.scipy.linalg`, `nn` is `jax.nn`.
    """

    def __init__(self) -> None:
        jax = load()
        self.jax = jax
        self.lax = jax.lax
        self.nn = jax.nn
        self.special = import_module("jax.scipy.special")
        self.dense = import_module("jax.scipy.linalg")

    def __getattr__(self, name: str) -> Any:
        found = getattr(self.jax.numpy, name)
        setattr(self, name, found)
        return found


@cache
def namespace() -> Namespace:
    """The one Namespace."""
    return Namespace()


def bind(kernel: Kernel) -> Callable[..., Any]:
    """The kernel as a function of JAX arrays."""
    if isinstance(kernel, str):
        return getattr(namespace(), kernel)
    code = getattr(kernel, "__code__", None)
    if code is not None and code.co_varnames[:1] == ("xp",):
        return partial(kernel, namespace())
    return kernel


def run(kernel: Callable[..., Any], arrays: Sequence[Any], params: dict[str, Any]) -> Any:
    """A bound kernel's result, from arrays of either engine."""
    errors = load().errors
    try:
        with wide():
            return kernel(*[to_xla(array) for array in arrays], **params)
    except errors.UnexpectedTracerError:
        raise NotTraceableError(
            "a tensor of a gradtape.function that has ended is used outside it: return it from the function instead of keeping it."
        ) from None
    except (errors.ConcretizationTypeError, errors.NonConcreteBooleanIndexError, errors.TracerArrayConversionError) as error:
        raise NotTraceableError(
            "inside a gradtape.function its result would have to depend on values that only the compiled program will have, such as "
            "a shape that does: use gradtape.where with three arguments or another function whose result has a known shape, or "
            "call it outside the function."
        ) from error


def is_xla(value: Any) -> bool:
    """Whether a value is a JAX array or a tracer of one."""
    jax = sys.modules.get("jax")
    return jax is not None and isinstance(value, jax.Array)


_placeholders: WeakValueDictionary[int, Any] = WeakValueDictionary()


def is_traced(value: Any) -> bool:
    """Whether a value is a tracer or a placeholder: it stands for an array that a compiled program will have."""
    jax = sys.modules.get("jax")
    if jax is None or value is None:
        return False
    return isinstance(value, jax.core.Tracer) or _placeholders.get(id(value)) is value


def to_xla(array: Any) -> Any:
    """An array of either engine as JAX's; call it inside `wide()`."""
    return array if is_xla(array) else namespace().asarray(array)


def placeholder(shape: tuple[int, ...], dtype: Any) -> Any:
    """An array that stands for an input of a program while it is traced; no two are the same object."""
    jax = load()
    with wide(), jax.ensure_compile_time_eval():
        made = jax.device_put(np.broadcast_to(np.zeros((), dtype), shape))
    _placeholders[id(made)] = made
    return made


def device_put(array: Any) -> Any:
    """A NumPy array as a JAX array, its memory shared where its alignment allows."""
    with wide():
        return load().device_put(array)


def to_numpy(array: Any) -> np.ndarray[Any, Any]:
    """A JAX array's values; on the CPU they are not copied."""
    return np.asarray(array)


def written_at(array: Any, key: Any, values: Any, ufunc: np.ufunc | None) -> Any:
    """A copy of `array` with `array[key]` set, or combined with `values` by `ufunc`, repeated indices counting every time."""
    with wide():
        place = array.at[key]
        if ufunc is None:
            return place.set(values)
        method: dict[Any, str] = {
            np.add: "add",
            np.multiply: "multiply",
            np.maximum: "max",
            np.minimum: "min",
            np.divide: "divide",
        }
        return place.add(-values) if ufunc is np.subtract else getattr(place, method[ufunc])(values)


def on_host(kernel: Callable[..., Any]) -> Callable[..., Any]:
    """An XLA kernel that calls a NumPy kernel back on the host: for ops that XLA has no way to compute.

    The result's shape and dtype come from one run of the kernel on ones. Numbers of 64 bits travel as words of 32: the callback
    runs on a thread of JAX's own, where the switch for them is off.
    """

    def call(*arrays: Any, **params: Any) -> Any:
        jax = load()
        with np.errstate(all="ignore"):
            example = kernel(*[np.ones(a.shape, a.dtype) for a in arrays], **params)
        several = isinstance(example, (list, tuple))
        parts = [np.asarray(part) for part in (example if several else [example])]
        given_as = [(array.shape, np.dtype(array.dtype)) for array in arrays]

        def on_numpy(*words: Any) -> Any:
            given = [
                np.ascontiguousarray(w).reshape(-1).view(dtype).reshape(shape)
                for w, (shape, dtype) in zip(words, given_as, strict=True)
            ]
            with np.errstate(all="ignore"):
                found = kernel(*given, **params)
            found = found if several else [found]
            return [_host_words(np.asarray(f, p.dtype).reshape(p.shape)) for f, p in zip(found, parts, strict=True)]

        carried = [jax.ShapeDtypeStruct(words.shape, words.dtype) for words in map(_host_words, parts)]
        results = jax.pure_callback(on_numpy, carried, *map(_words, arrays), vmap_method="sequential")
        results = [_from_words(words, part.dtype) for words, part in zip(results, parts, strict=True)]
        return results if several else results[0]

    return call


def _is_wide(dtype: Any) -> bool:
    return dtype in (np.float64, np.int64, np.uint64, np.complex128)


def _host_words(array: Any) -> Any:
    """A NumPy array with the 32-bit words of each number in a new last axis, if it has more than one."""
    if not _is_wide(array.dtype):
        return array
    return np.ascontiguousarray(array).reshape(-1).view(np.uint32).reshape(*array.shape, array.itemsize // 4)


def _words(array: Any) -> Any:
    """The same of a JAX array."""
    if not _is_wide(array.dtype):
        return array
    if array.dtype.kind == "c":
        both = namespace().stack([array.real, array.imag], axis=-1)
        return _words(both).reshape(*array.shape, 4)
    return load().lax.bitcast_convert_type(array, np.uint32)


def _from_words(words: Any, dtype: Any) -> Any:
    """The numbers of a JAX array of words."""
    lax = load().lax
    if not _is_wide(dtype):
        return words
    if dtype.kind == "c":
        both = lax.bitcast_convert_type(words.reshape(*words.shape[:-1], 2, 2), np.float64)
        return lax.complex(both[..., 0], both[..., 1])
    return lax.bitcast_convert_type(words, dtype)
