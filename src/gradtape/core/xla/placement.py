"""Where eager code computes: `Host`, with NumPy, or an `XlaDevice`, with `jax.numpy`.

The operands of an op on a device are moved there. A tape records the move, so a gradient goes back
to the device of its source.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gradtape.core.batching import BatchedTensor
from gradtape.core.needed_ops import needed
from gradtape.core.node import Node
from gradtape.core.record import record_same
from gradtape.core.scopes import NOWHERE
from gradtape.core.tensor import Tensor
from gradtape.core.thread import here
from gradtape.core.variable import Variable
from gradtape.core.xla.held_variable import PlacedVariable
from gradtape.core.xla.tensor import HeldTensor, XlaTensor, tensor_of
from gradtape.engines.xla import devices as xla_devices
from gradtape.engines.xla import engine as xla_engine


class Host:
    """The CPU that runs Python: NumPy's."""

    name = "CPU:0"

    def move(self, tensor: Tensor) -> Tensor:
        """A Tensor's values on the host; a traced tensor is returned unchanged."""
        if isinstance(tensor, BatchedTensor):
            return _move_batch(self, tensor)
        if (
            type(tensor) is HeldTensor
            or not xla_engine.is_xla(tensor.array)
            or xla_engine.is_traced(tensor.array)
        ):
            return tensor
        return _recorded(tensor, Tensor(xla_engine.to_numpy(tensor.array)), self)

    def adopt(self, variable: Variable) -> None:
        """Does nothing: a new Variable is already on the host."""


class XlaDevice:
    """Any other device."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.device = xla_devices.devices()[name]

    def move(self, tensor: Tensor) -> Tensor:
        if isinstance(tensor, BatchedTensor):
            return _move_batch(self, tensor)
        array = tensor.held if type(tensor) is HeldTensor else tensor.array
        if array.dtype.kind == "O" or xla_engine.is_traced(array):
            return tensor
        if isinstance(tensor, XlaTensor) and array.devices() == {self.device}:
            return tensor
        return _recorded(tensor, XlaTensor(xla_devices.put(array, self.device)), self)

    def adopt(self, variable: Variable) -> None:
        """Moves a new Variable here; strings and instances of user classes stay on the host.

        Which of the two it is, its value says, which `__init__` makes: too late for `__new__` to
        choose the class, and the caller of `Variable(...)` gets this object and no other. So its
        class changes, once, before anyone has seen it.
        """
        if type(variable) is Variable and variable.array.dtype.kind != "O":
            array = variable.__dict__.pop("array")
            variable.__class__ = PlacedVariable
            variable.place = self  # type: ignore[attr-defined]
            variable.array = array


HOST = Host()
Place = Host | XlaDevice


def place_of(tensor: Tensor) -> Place:
    """Where a Tensor is; the host for a traced tensor."""
    if (
        type(tensor) is HeldTensor
        or not xla_engine.is_xla(tensor.array)
        or xla_engine.is_traced(tensor.array)
    ):
        return HOST
    name = xla_devices.name_of(tensor.array)
    return HOST if name == HOST.name else XlaDevice(name)


def _move_batch(place: Place, tensor: BatchedTensor) -> Tensor:
    inner = place.move(tensor.inner)
    return tensor if inner is tensor.inner else BatchedTensor(inner, tensor.level, tensor.node)


def _recorded(before: Tensor, after: Tensor, place: Place) -> Tensor:
    """The moved Tensor, connected with the one that stayed."""
    if before.node is not None:
        after.node = _moved(before.node, place_of(before), place)
    return after


def _moved(node: Node, start: Place, end: Place) -> Node:
    """The Node for the same value on another device; the end of a chain stays what it is."""
    if start.name == end.name or node.scope is NOWHERE:
        return node
    for part in node.scope.recordings:
        part.moved = True
    return record_same(MoveRule(start, end), (node,), node.scope)


class MoveRule:
    """A move between devices: the cotangent goes back."""

    name = "to_device"
    keeps_value = True
    takes_slices = False
    shows_nan = True
    pull_into = None

    def __init__(self, start: Place, end: Place) -> None:
        self._start = start
        self._end = end

    def pull_tensors(self, node: Node, g: Any, wanted: Sequence[Node | None]) -> Sequence[Any]:
        return [self._start.move(g if isinstance(g, Tensor) else Tensor(g))]

    def pull_arrays(self, node: Node, g: Any, wanted: Sequence[Node | None]) -> Sequence[Any]:
        return [self.pull_tensors(node, g, wanted)[0].array]

    def push(self, node: Node, args: Sequence[Any], outputs: Any, tangents: Sequence[Any]) -> Any:
        return None if tangents[0] is None else self._end.move(tangents[0])


class RunOnDevice:
    """Replaces `here.state.run` where ops run on a device: takes a NumPy kernel, and runs XLA's
    kernel of the same op.

    Anything that is not a kernel of an op, or that runs while a program is being traced, runs with
    `plain` as usual.
    """

    def __init__(self, place: XlaDevice, plain: Callable[..., Any]) -> None:
        self._place = place
        self.plain = plain

    def __call__(self, kernel: Callable[..., Any], *args: Any, **params: Any) -> Any:
        on_xla = None if here.state.trace is not None else needed.xla_kernel(kernel)
        if on_xla is None:
            return self.plain(kernel, *args, **params)
        dtype = next(arg.dtype for arg in args if isinstance(arg, np.ndarray | np.generic))
        if dtype.kind == "O":
            return self.plain(kernel, *args, **params)
        arrays = [arg if hasattr(arg, "dtype") else np.asarray(arg, dtype) for arg in args]
        result = here.state.run_on_xla(
            on_xla, *[xla_devices.put(array, self._place.device) for array in arrays], **params
        )
        if here.state.checker is not None:
            # It is what runs kernels then.
            self.plain.look_at(kernel, result)  # type: ignore[attr-defined]
        return Elsewhere(result)


class Elsewhere:
    """A kernel's result on a device other than the host.

    Its dtype is one that no fast path of an op accepts.
    """

    __slots__ = ("array",)
    dtype = None

    def __init__(self, array: Any) -> None:
        self.array = array


def tensor_anywhere(result: Any) -> Tensor:
    """Replaces `here.state.tensor` alongside `RunOnDevice`."""
    return tensor_of(result.array if type(result) is Elsewhere else result)


def plain_run() -> Callable[..., Any]:
    """How this thread runs kernels where no device is named."""
    run = here.state.run
    return run.plain if isinstance(run, RunOnDevice) else run
