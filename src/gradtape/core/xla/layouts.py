"""Variables whose values are divided among devices, and the batches of programs that use them.

Only programs see a Variable's parts. Eager code reads and writes the whole value on the host, and
the next program divides it again.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from gradtape.core.messages import log_warning
from gradtape.core.tensor import Tensor
from gradtape.core.variable import Variable
from gradtape.core.writing import writing
from gradtape.core.xla.held_variable import hold
from gradtape.core.xla.tensor import HeldTensor, array_to_pass
from gradtape.engines.xla import devices as xla_devices
from gradtape.engines.xla import meshes as xla_meshes
from gradtape.engines.xla import settings as xla_settings
from gradtape.engines.xla.meshes import Layout

__all__ = [
    "Layout", "arrays_of_batch", "device_names", "devices_named", "devices_of_all_processes",
    "divide_evenly", "grid_of", "keep_together", "lay_out", "lay_out_first", "layout_of",
    "layout_of_all_processes", "layout_of_devices", "layout_on", "own_parts", "part_for_each",
    "part_of_this_process",
]  # fmt: skip

_LARGE = 2**16  # bytes that are worth dividing


def lay_out(variable: Variable, layout: Layout | None) -> None:
    """Lets programs divide a Variable's value among devices, whatever writes it; None takes that
    back.
    """
    layouts, known = xla_meshes.layouts, variable.__dict__
    before = variable.divided_as
    if before != layout and (before is not None or known.get("held") is not None):
        layouts.changes += 1
    if layout is None:
        known.pop("divided_as", None)
        variable.replace(variable.array)
        return
    layouts.are_used = True
    if before == layout and known.get("held") is not None:
        return
    known["divided_as"] = layout
    with writing.lock, xla_settings.at_once():
        value = xla_meshes.spread(variable.array, layout.sharding)
        if not variable.keeps_array:
            hold(variable, value)


def device_names() -> list[str]:
    """The names of the devices that code may use."""
    return list(xla_devices.visible())


def devices_named(names: Sequence[str]) -> list[Any]:
    """XLA's devices of these names."""
    known = xla_devices.devices()
    return [known[name] for name in names]


def devices_of_all_processes(kind: str | None) -> list[Any]:
    """XLA's devices of all processes, of one kind such as `CPU` if it is given."""
    return xla_meshes.devices_everywhere(None if kind is None else kind.lower())


def grid_of(devices: Sequence[Any], axes: Sequence[tuple[str, int]]) -> Any:
    """Devices in a grid with named axes of certain lengths."""
    return xla_meshes.grid(devices, axes)


def layout_on(grid: Any, axes: Sequence[str | None], batch: str | None) -> Layout:
    """The layout of values whose axes are each divided along an axis of a grid, or not at all."""
    return xla_meshes.laid(grid, axes, batch)


def lay_out_first(variable: Variable, value: Tensor, layout: Layout) -> None:
    """Makes a program's result, which is divided so already, the first value of a Variable."""
    xla_meshes.layouts.are_used = True
    variable.__dict__["divided_as"] = layout
    hold(variable, array_to_pass(value))


def layout_of_devices(names: Sequence[str], axis: str) -> Layout:
    """The layout of values that each of some devices has."""
    return xla_meshes.mesh_of(devices_named(names), axis)


def part_for_each(array: Any, layout: Layout) -> Tensor:
    """A Tensor of which each device has a part of the first axis."""
    with xla_settings.at_once():
        return HeldTensor(xla_meshes.spread(array, layout.of_batches()))


def layout_of_all_processes(axis: str) -> Layout:
    """The layout of values that each device of all processes has."""
    return xla_meshes.mesh_of(xla_meshes.devices_everywhere(None), axis)


def part_of_this_process(array: Any, layout: Layout) -> Tensor:
    """A Tensor of whose first axis each device has a part, from the parts of this process."""
    with xla_settings.at_once():
        return HeldTensor(xla_meshes.joined_with_others(array, layout.of_batches()))


def own_parts(tensor: Tensor) -> list[Tensor] | None:
    """What the devices of this process have of the first axis; None if they have all."""
    array = tensor.held if type(tensor) is HeldTensor else tensor.array
    found = xla_meshes.parts_here(array)
    return None if found is None else [Tensor(part) for part in found]


def layout_of(captured: Iterable[Any]) -> Layout | None:
    """How the batches are divided of a program that has captured these Variables, among others;
    None if they are not.
    """
    if not xla_meshes.layouts.are_used:
        return None
    for outside in captured:
        layout: Layout | None = getattr(outside, "divided_as", None)
        if layout is not None and layout.parts > 1:
            return layout
    return None


def keep_together(variables: Iterable[Variable], layout: Layout) -> None:
    """Gives all that a program writes a place on the devices where it runs: what has no layout goes
    whole to each of them, as the program would leave it.
    """
    for variable in variables:
        if variable.divided_as is None and not variable.keeps_array:
            lay_out(variable, layout.whole())


def arrays_of_batch(name: str, args: Sequence[Tensor], layout: Layout) -> list[Any]:
    """The arrays to pass for a program's arguments, in which batches are divided among devices; for
    a part that knows of the layout, since they may have a few rows more.
    """
    divide_evenly(name, args, layout, also_others=True)
    rows = _rows(args)
    return [
        xla_meshes.divided(arg.array, layout)
        if rows % layout.parts and _is_batch(arg, rows)
        else array_to_pass(arg)
        for arg in args
    ]


def divide_evenly(
    name: str, args: Sequence[Tensor], layout: Layout, *, also_others: bool = False
) -> None:
    """Divides the batches among a program's arguments where each device gets as many rows as the
    others, and says once in the log what is not divided, unless `also_others` will be.
    """
    rows = _rows(args)
    is_even = rows % layout.parts == 0
    for arg in args:
        if not _is_batch(arg, rows) or not (is_even or also_others):
            if _is_whole(arg) and _bytes(arg) >= _LARGE:
                _say(name, tuple(arg.outline.shape), layout)
        elif is_even:
            arg.held = xla_meshes.divided(arg.outline, layout)


def _rows(args: Sequence[Tensor]) -> int:
    """How many rows a batch has: as many as the largest argument."""
    sizes = [_bytes(arg) if arg.outline.ndim else 0 for arg in args]
    return args[sizes.index(max(sizes))].outline.shape[0] if any(sizes) else 0


def _is_batch(arg: Tensor, rows: int) -> bool:
    """Whether a Tensor is a batch that is not divided yet."""
    return _is_whole(arg) and arg.outline.ndim > 0 and 0 < rows == arg.outline.shape[0]


def _bytes(arg: Tensor) -> int:
    return int(arg.outline.size) * int(arg.outline.dtype.itemsize)


def _is_whole(arg: Tensor) -> bool:
    """Whether a Tensor is not on several devices yet, and may be moved."""
    if type(arg) is HeldTensor:
        return not (arg.held.committed or xla_meshes.is_spread(arg.held))
    if type(arg) is not Tensor:
        return False
    held = getattr(arg, "held", None)
    return held is None or not xla_meshes.is_spread(held)


_said: set[str] = set()


def _say(name: str, shape: tuple[int, ...], layout: Layout) -> None:
    """Says once in the log that a function's argument is not divided."""
    if name not in _said:
        _said.add(name)
        log_warning(_REPLICATED, name, list(shape), layout.parts, layout.batch)


_REPLICATED = (
    "%s: an argument of shape %s goes whole to each of the %s devices along '%s', and every device "
    "computes all that depends on it alone. An argument is divided if it has as many rows as the "
    "largest one; where a tape is outside the function, that must be a multiple of the number of "
    "devices."
)
