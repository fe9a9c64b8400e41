"""The XLA engine: kernels on `jax.numpy`, for compiled functions and for accelerators.

gradtape promotes dtypes before a kernel is called.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache, partial
from importlib import import_module
from typing import Any
from weakref import WeakValueDictionary

import numpy as np

from gradtape.engines.numpy.engine import Kernel
from gradtape.engines.xla import tracers
from gradtape.engines.xla.direct import OPERATORS, Direct, direct
from gradtape.engines.xla.loading import check_process, load, loaded
from gradtape.engines.xla.settings import (
    call_wide,
    folding,
    for_any_device,
    is_tracing,
    wide,
)

is_traced = tracers.is_traced


class NotTraceableError(TypeError):
    """What was asked of a tensor in a traced function is not available while it is traced."""


class EndedError(TypeError):
    """A tensor is used where the program that it belongs to has ended."""

    def __init__(self) -> None:
        super().__init__(
            "a tensor of a gradtape.function that has ended, or of a branch or loop in one, is "
            "used outside it: return it from there "
            "instead of keeping it."
        )


class Namespace:
    """What a kernel sees as `xp`: `jax.numpy`, and functions for which NumPy has no names.

    `lax` is XLA's own operations, `special` and `dense` are `jax.scipy.special` and
    `jax.scipy.linalg`, `nn` is `jax.nn`.
    """

    def __init__(self) -> None:
        jax = load()
        self.jax = jax
        self.lax = jax.lax
        self.nn = jax.nn
        self.special = import_module("jax.scipy.special")
        self.dense = import_module("jax.scipy.linalg")

    @property
    def on_cpu(self) -> bool:
        """Whether programs run on the CPU unless another device is named, so that kernels may
        choose what is fastest there.
        """
        return self.jax.default_backend() == "cpu" and not for_any_device()

    def __getattr__(self, name: str) -> Any:
        found = direct(name, getattr(self.jax.numpy, name))
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
    if kernel in OPERATORS:
        return getattr(namespace(), OPERATORS[kernel])
    code = getattr(kernel, "__code__", None)
    if code is not None and code.co_varnames[:1] == ("xp",):
        return partial(kernel, namespace())
    return kernel


def run(kernel: Callable[..., Any], /, *arrays: Any, **params: Any) -> Any:
    """A bound kernel's result, from arrays of either engine."""
    check_process()
    errors = load().errors
    try:
        return call_wide(_run, kernel, arrays, params)
    except ValueError as error:
        if not are_apart(error):
            raise
        first = next(array for array in arrays if is_xla(array))
        together = [load().device_put(array, first.device) for array in arrays]
        return run(kernel, *together, **params)
    except errors.UnexpectedTracerError:
        raise EndedError from None
    except (
        errors.ConcretizationTypeError,
        errors.NonConcreteBooleanIndexError,
        errors.TracerArrayConversionError,
    ) as error:
        raise NotTraceableError(
            "inside a gradtape.function it needs values that are known only when the compiled "
            "program runs, for example to determine the shape of its result: use gradtape.where "
            "with three arguments or another function whose result has a known shape, or call it "
            "outside the function."
        ) from error


def _run(kernel: Callable[..., Any], arrays: tuple[Any, ...], params: dict[str, Any]) -> Any:
    if isinstance(kernel, Direct):  # it takes NumPy's numbers as they are
        return kernel(*[a if isinstance(a, np.number) else to_xla(a) for a in arrays], **params)
    return kernel(*[to_xla(array) for array in arrays], **params)


def recovers(error: Exception) -> bool:
    """Whether a call failed because JAX believes that another call, which a signal handler ended,
    is still running; if so, JAX's caches are cleared.
    """
    if not isinstance(error, RecursionError) or "Recursively calling" not in str(error):
        return False
    load().clear_caches()
    return True


def needs_values(error: Exception) -> bool:
    """Whether an error says that something needs the values of a tracer,
    which only the compiled program will have.
    """
    if isinstance(error, NotTraceableError):
        return True
    errors = load().errors
    return isinstance(
        error,
        (
            errors.ConcretizationTypeError,
            errors.NonConcreteBooleanIndexError,
            errors.TracerArrayConversionError,
        ),
    )


def are_apart(error: Exception) -> bool:
    """Whether an error says that arrays are on several devices."""
    return "incompatible devices" in str(error)


def is_gone(error: Exception) -> bool:
    """Whether an error says that the memory of an array has been donated to a program."""
    return isinstance(error, (RuntimeError, ValueError)) and any(
        words in str(error) for words in _GONE
    )


_GONE = ("Array has been deleted", "Buffer has been deleted")


def is_xla(value: Any) -> bool:
    """Whether a value is a JAX array or a tracer of one."""
    jax = loaded()
    return jax is not None and isinstance(value, jax.Array)


def tracing_of(value: Any) -> Any:
    """JAX's trace object of a tracer; None for anything else."""
    return getattr(value, "_trace", None)


def another(array: Any) -> Any:
    """A distinct array with the values of another one, which costs nothing in a compiled
    program.
    """
    with wide():
        if isinstance(array, load().core.Tracer):
            return namespace().lax.copy_p.bind(array)
        return namespace().array(array, copy=True)


def to_xla(array: Any) -> Any:
    """An array of either engine as JAX's; call it inside `wide()`."""
    if tracers.is_array(array) or is_xla(array):
        return array
    _refuse_strings(array.dtype)
    return namespace().asarray(array)


def _refuse_strings(dtype: Any) -> None:
    if np.dtype(dtype).kind == "O":
        raise NotTraceableError(
            "XLA has no strings. In a gradtape.function a tensor of strings is a constant: it "
            "can be compared, indexed and returned, but the compiled program cannot select it, "
            "carry it through a loop or keep it in a Variable. Return a number, and look the "
            "string up outside the function."
        )


def placeholder(shape: tuple[int, ...], dtype: Any) -> Any:
    """An array that stands for an input of a program while it is traced;
    no two are the same object.

    Its zeros are untouched pages, which take no memory: every Variable of a model has a
    placeholder. Those of one shape share them.
    """
    _refuse_strings(dtype)
    key = shape, np.dtype(dtype)
    another = _latest.get(key)
    made = _zeros(*key) if another is None else _sharing(another)
    _latest[key] = made
    tracers.add_placeholder(made)
    return made


# The latest placeholder of each shape and dtype.
_latest: WeakValueDictionary[tuple[tuple[int, ...], Any], Any] = WeakValueDictionary()


def _zeros(shape: tuple[int, ...], dtype: Any) -> Any:
    from mmap import mmap  # noqa: PLC0415 - for programs alone

    size = math.prod(shape)
    pages = mmap(-1, max(size * dtype.itemsize, 1))
    with folding():
        return load().device_put(np.frombuffer(pages, dtype, size).reshape(shape), _host())


def _sharing(array: Any) -> Any:
    """Another array in the same memory, which takes a fifth of the time."""
    made = load().make_array_from_single_device_arrays(array.shape, array.sharding, [array])
    return made if made is not array else _zeros(array.shape, np.dtype(array.dtype))


@cache
def _host() -> Any:
    """The CPU as an XLA device; None, for any device, if JAX was told not to use it."""
    try:
        return load().local_devices(backend="cpu")[0]
    except RuntimeError:
        return None


def forget_host() -> None:
    """XLA has made its devices anew."""
    _host.cache_clear()


def device_put(array: Any) -> Any:
    """A NumPy array as a JAX array, its memory shared where its alignment allows."""
    with wide():
        return load().device_put(array)


def shares_memory(array: Any, values: np.ndarray[Any, Any]) -> bool:
    """Whether a JAX array on this machine's CPU shares memory with the NumPy array that it was made
    from.
    """
    return np.asarray(array).ctypes.data == values.ctypes.data


def waited_for(arrays: Any) -> Any:
    """JAX arrays, or a structure of them, once XLA has computed them; anything else as it is."""
    jax = loaded()
    return arrays if jax is None or is_tracing() else jax.block_until_ready(arrays)


def address_of(array: Any) -> int:
    """What identifies the memory of a JAX array: its address, if it is in one piece."""
    if not array.is_deleted() and len(array.devices()) == 1:
        return int(array.unsafe_buffer_pointer())
    return id(array)


def to_numpy(array: Any) -> Any:
    """A JAX array's values; on the CPU they are not copied. All processes must ask for those of an
    array whose parts are in several of them.
    """
    try:
        return np.asarray(array)[()]
    except RuntimeError:
        if is_traced(array) or array.is_deleted() or array.is_fully_addressable:
            raise
        # It says what is to be done where processes do not ask together.
        return import_module("gradtape.engines.xla.processes").whole(array)[()]


def written_at(array: Any, key: Any, values: Any, ufunc: np.ufunc | None) -> Any:
    """A copy of `array` with `array[key]` set, or combined with `values` by `ufunc`; every
    repetition of an index counts.
    """
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
