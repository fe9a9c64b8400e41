"""The XLA engine: kernels on `jax.numpy`, for compiled functions and for accelerators.

JAX is loaded when it is first needed.

gradtape promotes dtypes before a kernel is called, and supports 64-bit numbers, which JAX has
behind a switch. The switch is on during every use here, for this thread alone, so the user's own
JAX code is not affected.
"""

from __future__ import annotations

import gc
import math
import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from functools import cache, partial
from importlib import import_module
from types import ModuleType
from typing import Any, ClassVar
from weakref import WeakValueDictionary

import numpy as np

from gradtape.blocks import Block, block
from gradtape.engines.numpy.engine import Kernel

COLLECTS_ANYWHERE = sys.version_info < (3, 12)
"""Whether Python can collect garbage in the middle of a C call, and not only between two bytecode
instructions.
"""


@cache
def load() -> ModuleType:
    """JAX, or the error that says how to get it."""
    try:
        import jax  # noqa: PLC0415 - an optional package, loaded when it is first needed
    except ImportError as error:
        raise ImportError(
            "gradtape.function and accelerators need JAX, which is not installed: pip install "
            "'gradtape[xla]'."
        ) from error
    return jax


def _backends() -> Any:
    """The backends that JAX has started, in this process or in the one it was forked from."""
    bridge = sys.modules.get("jax._src.xla_bridge")
    return None if bridge is None else getattr(bridge, "_backends", None)


_lost = False  # whether the process was forked from one in which XLA had threads


def _after_fork() -> None:
    global _lost
    _lost = bool(_backends())
    Uncollected.lock = threading.RLock()
    Uncollected.entered.clear()  # by threads that only the parent has
    if Uncollected.collects or _off_for_a_call:
        Uncollected.collects = False
        gc.enable()


_off_for_a_call = False


def _before_fork() -> None:
    """Finds out for the child whether the collector is off for a call on a thread that only the
    parent has: the call itself says so to nobody, and is as fast as it can be.
    """
    global _off_for_a_call
    _off_for_a_call = False
    if COLLECTS_ANYWHERE and not gc.isenabled():
        for frame in sys._current_frames().values():
            inner: Any = frame
            while inner is not None and not _off_for_a_call:
                is_the_call = inner.f_code is call_uncollected.__code__
                _off_for_a_call = is_the_call and "is_off" in inner.f_locals
                inner = inner.f_back


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_child=_after_fork)


def check_process() -> None:
    """Refuses to use XLA in a child of a process that has used it: the child would wait for threads
    that only its parent has.
    """
    if _lost:
        raise RuntimeError(
            "gradtape.function and accelerators cannot be used in this process: it was forked "
            "from one that had used them, and XLA's threads were not copied. Start processes "
            "with `multiprocessing.get_context('spawn')`, or fork before the first function is "
            "called. Eager code still works."
        )


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


def is_installed() -> bool:
    """Whether JAX can be loaded."""
    try:
        load()
    except ImportError:
        return False
    return True


_ABSENT = object()


class _Preferred(threading.local):
    """The function that returns the device for this thread's programs, if one is preferred."""

    device: Callable[[], Any] | None = None


_preferred = _Preferred()


def prefer(device: Callable[[], Any] | None) -> None:
    """Sets the device on which the programs of all threads run, unless a `device` block names
    another.
    """
    _Preferred.device = staticmethod(device) if device is not None else None


def preferred() -> Any:
    """The device on which this thread's programs should run; None for any."""
    device = _preferred.device
    return None if device is None else device()


@block
def running_on(device: Callable[[], Any] | None) -> Iterator[None]:
    """A block in which the programs of this thread run on a device."""
    own = vars(_preferred)
    before = own.get("device", _ABSENT)
    own["device"] = device or _Preferred.device
    try:
        yield
    finally:
        if before is _ABSENT:
            # So that the thread follows the preference of all threads again, which may change.
            del own["device"]
        else:
            own["device"] = before


def wide() -> AbstractContextManager[Any]:
    """A block in which 64-bit numbers are enabled on this thread, and its programs run on the
    preferred device.
    """
    device = _preferred.device
    return _Wide() if device is None else _wide_on(device())


@block
def _wide_on(device: Any) -> Iterator[None]:
    with _Wide(), _Setting("default_device", device):
        yield


class Uncollected(Block):
    """A block in which JAX is used, without garbage collections on Python 3.11.

    Collection resumes when all threads have left such blocks.

    On that version jaxlib collects the source lines of an operation in a buffer of the thread, and
    then creates an object for them, which may start a garbage collection. If a finalizer, or a
    signal handler that runs during it, uses JAX, its lines overwrite the buffer, code objects are
    released once too often, and Python crashes.
    """

    entered: ClassVar[set[Uncollected]] = set()
    collects: ClassVar[bool] = False  # whether the collector is to be on again afterwards
    lock: ClassVar[Any] = threading.RLock()

    def enter(self) -> None:
        with self.lock:
            self.entered.add(self)
            if gc.isenabled():
                Uncollected.collects = True
                gc.disable()

    def leave(self) -> None:
        with self.lock:
            self.entered.discard(self)
            if not self.entered and Uncollected.collects:
                gc.enable()
                Uncollected.collects = False  # in this order: what is interrupted is done again

    @classmethod
    def collects_again(cls) -> None:
        """The collector is on again, or will be when the last block is left."""
        with cls.lock:
            if cls.entered:
                cls.collects = True
            else:
                gc.enable()


def call_uncollected(function: Callable[..., Any], *args: Any) -> Any:
    """The same for one call of a compiled function, at no extra cost.

    It is all one bytecode instruction, except for a garbage collection in it: that runs finalizers,
    and what JAX does after each, so signal handlers can run in the middle of the call.
    """
    if not COLLECTS_ANYWHERE or not gc.isenabled():
        return function(*args)
    is_off = True  # noqa: F841 - for `_before_fork`
    try:
        gc.disable()
        return function(*args)
    finally:  # nothing is answered here before the collector is on
        if Uncollected.entered:
            Uncollected.collects_again()
        else:
            gc.enable()


def call_compiled(function: Callable[..., Any], *args: Any) -> Any:
    """Calls a compiled JAX function, which may have to trace or compile."""
    trace = _traces().trace
    try:
        return call_uncollected(function, *args)
    except BaseException:
        trace_again(trace)
        raise


@cache
def _traces() -> Any:
    """What JAX's threads are tracing.

    If a signal handler raises while JAX stops tracing, JAX goes on believing that it traces.
    """
    load()
    return import_module("jax._src.core").trace_ctx


def trace_again(trace: Any) -> None:
    """Restores what JAX was tracing before a call, however that call ended."""
    if _traces().trace is not trace:
        _traces().set_trace(trace)


@cache
def _setting(name: str) -> Any:
    """A JAX setting, which can be changed for this thread alone.

    JAX's own context manager does not restore it if it is interrupted.
    """
    load()
    return getattr(import_module("jax._src.config"), name)


class _Setting(Block):
    """A block in which a JAX setting has a certain value on this thread."""

    def __init__(self, name: str, value: Any) -> None:
        self._setting = _setting(name)
        self._value = value
        self._before: Any = _ABSENT

    def enter(self) -> None:
        self._before = self._setting.get_local()
        self._setting.set_local(self._value)

    def leave(self) -> None:
        if self._before is not _ABSENT:
            self._setting.set_local(self._before)


class _Outside(threading.local):
    """The switch for 64-bit numbers as the user's code has it on this thread,
    outside all blocks of `wide`, if it is in any.
    """

    switch: Any = _ABSENT


_outside = _Outside()


class _Wide(_Setting):
    """A block with 64-bit numbers, in which JAX is used."""

    _is_first = False
    _trace: Any = None

    def __init__(self) -> None:
        super().__init__("enable_x64", True)
        self._uncollected = Uncollected()

    def enter(self) -> None:
        if _outside.switch is _ABSENT:
            self._is_first = True
            _outside.switch = self._setting.get_local()
        if COLLECTS_ANYWHERE:
            self._uncollected.enter()
        self._trace = _traces().trace
        super().enter()

    def leave(self) -> None:
        super().leave()
        if self._trace is not None:
            trace_again(self._trace)
        if self._is_first:
            _outside.switch = _ABSENT
        if COLLECTS_ANYWHERE:
            self._uncollected.leave()


def loaded() -> Any:
    """JAX, if it is loaded, and not still being imported by another thread or by code that a signal
    has interrupted.
    """
    jax = sys.modules.get("jax")
    return jax if jax is not None and hasattr(jax, "enable_x64") and hasattr(jax, "core") else None


def is_tracing() -> bool:
    """Whether JAX traces something on this thread, be it a program of ours or code of the user's,
    as in `jax.jit`.
    """
    return type(_traces().trace) is not _eval_trace()


@cache
def _eval_trace() -> type:
    return import_module("jax._src.core").EvalTrace


def at_once() -> AbstractContextManager[Any]:
    """A block in which JAX computes at once, also where it is tracing something: for values that
    are kept beyond that.
    """
    return evaluating() if is_tracing() else nullcontext()


def evaluating() -> AbstractContextManager[Any]:
    """A block in which JAX, if it is loaded, computes at once, even while it is tracing or
    compiling a program.
    """
    jax = loaded()
    return nullcontext() if jax is None else _evaluating(jax)


@block
def _evaluating(jax: ModuleType) -> Iterator[None]:
    """The 64-bit switch stays as it is outside, so that what was compiled there is not compiled
    again here.
    """
    outside = _outside.switch
    with jax.core.eval_context():
        if outside is _ABSENT:
            yield
            return
        with _Setting("enable_x64", outside):
            _outside.switch = _ABSENT
            try:
                yield
            finally:
                _outside.switch = outside


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
        return self.jax.default_backend() == "cpu"

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


def run(kernel: Callable[..., Any], /, *arrays: Any, **params: Any) -> Any:
    """A bound kernel's result, from arrays of either engine."""
    check_process()
    errors = load().errors
    try:
        with wide():
            return kernel(*[to_xla(array) for array in arrays], **params)
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


def checks_of_results() -> tuple[Any, Any]:
    """JAX's settings that check all results for NaN and infinity after they are computed.

    With them, a program may raise an exception after it has overwritten its inputs.
    """
    return _setting("debug_nans"), _setting("debug_infs")


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


_placeholders: WeakValueDictionary[int, Any] = WeakValueDictionary()


def is_traced(value: Any) -> bool:
    """Whether a value is a tracer or a placeholder:
    it stands for an array that a compiled program will have.
    """
    jax = loaded()
    if jax is None or value is None:
        return False
    return isinstance(value, jax.core.Tracer) or _placeholders.get(id(value)) is value


def tracing_of(value: Any) -> Any:
    """JAX's trace object of a tracer; None for anything else."""
    return getattr(value, "_trace", None)


def another(array: Any) -> Any:
    """A distinct array with the values of another one, which costs nothing in a compiled
    program.
    """
    with wide():
        return namespace().array(array, copy=True)


def to_xla(array: Any) -> Any:
    """An array of either engine as JAX's; call it inside `wide()`."""
    if is_xla(array):
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
    placeholder.
    """
    from mmap import mmap  # noqa: PLC0415 - for programs alone

    _refuse_strings(dtype)
    jax = load()
    dtype, size = np.dtype(dtype), math.prod(shape)
    pages = mmap(-1, max(size * dtype.itemsize, 1))
    with wide(), jax.ensure_compile_time_eval():
        made = jax.device_put(np.frombuffer(pages, dtype, size).reshape(shape), _host())
    _placeholders[id(made)] = made
    return made


@cache
def _host() -> Any:
    """The CPU as an XLA device; None, for any device, if JAX was told not to use it."""
    try:
        return load().local_devices(backend="cpu")[0]
    except RuntimeError:
        return None


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
    """A JAX array's values; on the CPU they are not copied."""
    return np.asarray(array)[()]


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
