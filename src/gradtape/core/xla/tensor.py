"""Tensors whose values live with XLA.

`XlaTensor` is in a program that is being traced, or on an accelerator: ops compute with it on the
XLA engine. `HeldTensor` is what a compiled function returned on the CPU: it becomes a plain Tensor,
with a NumPy view of the same memory, when its array is first read.

They are separate classes so that the fast paths of ops, which check for exactly `Tensor`, see only
NumPy arrays.

The functions here make JAX arrays of Tensors for a program, and Tensors of its results.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from gradtape import dtypes
from gradtape.core.departures import leaving
from gradtape.core.location import caller, locate, own_files
from gradtape.core.node import Node
from gradtape.core.tensor import Tensor, full_name
from gradtape.core.thread import here
from gradtape.core.xla.beyond import BeyondXlaError
from gradtape.dtypes import DType
from gradtape.engines.xla import devices as xla_devices
from gradtape.engines.xla import engine as xla_engine
from gradtape.engines.xla import settings as xla_settings
from gradtape.errors import OperatorNotAllowedInGraphError
from gradtape.shapes import TensorShape


class XlaTensor(Tensor):
    """A Tensor that holds a JAX array or tracer."""

    __slots__ = ()

    def with_node(self, node: Node | None) -> XlaTensor:
        """The same values, recorded by another Node."""
        return XlaTensor(self.array, node)

    def numpy(self) -> Any:
        if xla_engine.is_traced(self.array):
            raise _no_value("numpy()", AttributeError)
        if self.node is not None:
            leaving(self, "numpy")
        return np.array(xla_engine.to_numpy(self.array))[()]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        if xla_engine.is_traced(self.array):
            raise _no_value("A conversion to NumPy", NotImplementedError)
        if self.node is not None:
            leaving(self, "__array__")
        return np.array(xla_engine.to_numpy(self.array), dtype=dtype)

    @property
    def device(self) -> str:
        """The name of its device; empty in a program that is being traced."""
        return (
            "" if xla_engine.is_traced(self.array) else full_name(xla_devices.name_of(self.array))
        )

    def __dlpack__(self, **options: Any) -> Any:
        self._concrete("DLPack")
        if self.node is not None:
            leaving(self, "__dlpack__")
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[Any, int]:
        self._concrete("DLPack")
        return self.array.__dlpack_device__()

    def __reduce__(self) -> tuple[Any, ...]:
        self._concrete("Pickling")
        return Tensor, (np.array(xla_engine.to_numpy(self.array)),)

    def __bool__(self) -> bool:
        self._concrete("Its truth value (as in `if`, `while`, `and`)")
        return super().__bool__()

    def __float__(self) -> float:
        self._concrete("float()")
        return super().__float__()

    def __int__(self) -> int:
        self._concrete("int()")
        return super().__int__()

    def __complex__(self) -> complex:
        self._concrete("complex()")
        return super().__complex__()

    def __index__(self) -> int:
        self._concrete("Its use as a Python integer")
        return super().__index__()

    def _concrete(self, what: str) -> None:
        if xla_engine.is_traced(self.array):
            raise _no_value(what, OperatorNotAllowedInGraphError, depth=3)

    def __format__(self, spec: str) -> str:
        return (
            repr(self)
            if xla_engine.is_traced(self.array)
            else format(Tensor(xla_engine.to_numpy(self.array)), spec)
        )

    def __repr__(self) -> str:
        if not xla_engine.is_traced(self.array):
            return repr(Tensor(xla_engine.to_numpy(self.array)))
        return (
            f"<tf.Tensor: shape={self.shape}, dtype={self.dtype.name}, in a function that is "
            "being traced>"
        )

    def __str__(self) -> str:
        return (
            repr(self)
            if xla_engine.is_traced(self.array)
            else str(Tensor(xla_engine.to_numpy(self.array)))
        )


def _no_value(what: str, error: type[Exception], depth: int = 2) -> Exception:
    """The error for a tensor whose value is asked for while a program is traced.

    If a function of this package asks for it, eager code has the value, so the call is left to
    eager code.
    """
    frame = sys._getframe(depth)
    while frame.f_back is not None and _IN_NUMPY in frame.f_code.co_filename:
        frame = frame.f_back
    file = frame.f_code.co_filename
    if file.startswith(own_files.root) and not file.startswith(_FOR_THE_USER):
        return BeyondXlaError(
            f"{locate(*caller())}: the function called there needs the values of a tensor, which "
            "are known only when the compiled program runs: use Python numbers, or call it "
            "outside the function."
        )
    return error(
        f"{what} is not available for a tensor in a gradtape.function: while the function is "
        "traced, a tensor stands for values that are known only when the compiled program runs. "
        "Use gradtape functions (gradtape.cond, gradtape.where, gradtape.print), or return the "
        "tensor and look at it outside."
    )


_IN_NUMPY = f"{os.sep}numpy{os.sep}_core{os.sep}"

_FOR_THE_USER = (
    os.path.join(own_files.root, "core", ""),  # noqa: PTH118 - pathlib takes 4 ms to import
    os.path.join(own_files.root, "functions", "autograph", ""),  # noqa: PTH118
)
"""The folders whose functions ask for a value on behalf of the user's code: a Variable's methods,
and AutoGraph's operators.
"""


class HeldTensor(Tensor):
    """A compiled function's result: `held` is set, `array` only when it is first read."""

    __slots__ = ()

    def __init__(self, held: Any) -> None:
        self.held = held
        self.node = None

    def __getattr__(self, name: str) -> Any:
        if name != "array":
            raise AttributeError(f"'Tensor' object has no attribute {name!r}")
        array = self.array = xla_engine.to_numpy(self.held)
        # It stays the same object, which others hold, and becomes what ops look for. A Tensor that
        # could lack its array would need `__getattr__` in its own class, with which every read of
        # an attribute of any Tensor takes two to three times as long.
        self.__class__ = Tensor  # type: ignore[assignment]
        return array

    @property
    def outline(self) -> Any:
        return self.held

    @property
    def dtype(self) -> DType:
        return dtypes.from_numpy(self.held.dtype)

    @property
    def shape(self) -> TensorShape:
        return TensorShape(self.held.shape)

    @property
    def ndim(self) -> int:
        return int(self.held.ndim)

    @property
    def device(self) -> str:
        return full_name(xla_devices.name_of(self.held))


def held_tensors(arrays: Sequence[Any]) -> list[Tensor]:
    """A program's results as HeldTensors, made without a Python call for each."""
    new, found = object.__new__, []
    for array in arrays:
        tensor = new(HeldTensor)
        tensor.held = array
        tensor.node = None
        found.append(tensor)
    return found  # type: ignore[return-value]  # a list of a subclass


def tensor_of(result: Any, node: Node | None = None) -> Tensor:
    """A kernel's result as the Tensor of its engine."""
    return (
        Tensor(result, node)
        if isinstance(result, (np.ndarray, np.generic))
        else XlaTensor(result, node)
    )


def is_traced(value: Any) -> bool:
    """Whether a value is a traced tensor or batch; a Variable counts as one inside a program."""
    if isinstance(value, Tensor):
        inner = getattr(value, "inner", value)
        return is_traced(inner) if inner is not value else xla_engine.is_traced(value.array)
    return here.state.trace is not None and hasattr(value, "tensor") and is_traced(value.tensor())


def on_xla(value: Any) -> Tensor:
    """A Tensor or plain array as an XlaTensor with the same Node."""
    if isinstance(value, Tensor) and type(value) is not Tensor:  # it is one already, or a batch
        return value
    array, node = (value.array, value.node) if isinstance(value, Tensor) else (value, None)
    with xla_settings.wide():
        return XlaTensor(xla_engine.to_xla(array), node)


def array_for_xla(value: Tensor) -> Any:
    """A Tensor's values as a JAX array; it is kept for the next call."""
    held = getattr(value, "held", None)
    if held is not None:
        return held
    if isinstance(value, XlaTensor):
        return value.array
    with xla_settings.at_once():
        held = value.held = xla_engine.device_put(value.array)
    return held


def array_to_pass(value: Tensor) -> Any:
    """A Tensor's values for a call of a compiled program: the NumPy array the first time, a JAX
    array from then on.

    A call converts an array in a twentieth of the time that JAX takes otherwise; but a Tensor that
    is used again should be converted only once.
    """
    if type(value) is Tensor and not hasattr(value, "held"):
        value.held = None
        return value.array
    return array_for_xla(value)


def result_tensor(array: Any) -> Tensor:
    """A program's result as a Tensor, on the device where it is; a NumPy array is a constant of a
    program inside another.
    """
    if isinstance(array, np.ndarray):
        return Tensor(array[()])
    return (
        XlaTensor(array)
        if xla_engine.is_traced(array) or not xla_devices.is_on_host(array)
        else HeldTensor(array)
    )


def result_array(array: Any) -> Any:
    """The same as an array: NumPy's if it is on the host, and JAX's otherwise."""
    return (
        array
        if xla_engine.is_traced(array) or not xla_devices.is_on_host(array)
        else xla_engine.to_numpy(array)
    )
