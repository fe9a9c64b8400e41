"""Arrays that are divided over many devices: where their parts are, and how NumPy's arrays get
there.

A `Layout` says how a Variable is divided, and along which axis of its mesh batches are. XLA divides
the work of a program as its inputs are divided.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from gradtape.blocks import block
from gradtape.engines.xla.loading import load
from gradtape.engines.xla.programs import parts, uses
from gradtape.engines.xla.settings import wide
from gradtape.engines.xla.tracers import is_traced


class Layout(NamedTuple):
    """How values are divided: `sharding` is JAX's, and `batch` the name of the axis of its mesh
    along which programs divide batches, if there is one.
    """

    sharding: Any
    batch: str | None = None

    @property
    def parts(self) -> int:
        """How many parts a batch has."""
        return 1 if self.batch is None else int(self.sharding.mesh.shape[self.batch])

    def of_batches(self) -> Any:
        """How a batch is divided: by its first axis."""
        return load().sharding.NamedSharding(
            self.sharding.mesh, load().sharding.PartitionSpec(self.batch)
        )

    def whole(self) -> Layout:
        """That of values which every device has."""
        everywhere = load().sharding.NamedSharding(
            self.sharding.mesh, load().sharding.PartitionSpec()
        )
        return Layout(everywhere, self.batch)


class _Layouts:
    """Whether any Variable has a layout, and how often one has got another layout: programs that
    were made before then divide what they write anew.
    """

    are_used = False
    changes = 0


layouts = _Layouts()


def spread(array: Any, sharding: Any) -> Any:
    """An array of either engine as a JAX array that is divided so.

    Each device is handed its part: `jax.device_put` would first compare the whole array on all
    hosts, where there are several.
    """
    with wide():
        if isinstance(array, load().Array):
            return load().device_put(array, sharding)
        array = np.asarray(array)
        return load().make_array_from_callback(array.shape, sharding, lambda part: array[part])


def joined_with_others(array: Any, sharding: Any) -> Any:
    """What this process has of an array of which other processes have the rest."""
    with wide():
        return load().make_array_from_process_local_data(sharding, np.asarray(array))


def parts_here(array: Any) -> list[Any] | None:
    """The entries along the first axis that are in this process; None if all are, or if every
    device has the whole.
    """
    if isinstance(array, np.ndarray) or is_traced(array):
        return None
    if array.is_fully_addressable or array.is_fully_replicated:
        return None
    found = {shard.index[0].start or 0: shard.data for shard in array.addressable_shards}
    return [entry for start in sorted(found) for entry in np.asarray(found[start])]


def divided(array: Any, layout: Layout) -> Any:
    """A batch, divided by its first axis, as a JAX array. If that does not divide, its last rows
    are repeated: see `as_it_was`.
    """
    missing = -len(array) % layout.parts
    if missing:
        array = np.asarray(array)
        array = np.concatenate([array, np.broadcast_to(array[-1:], (missing, *array.shape[1:]))])
    return spread(array, layout.of_batches())


def as_it_was(array: Any, shape: tuple[int, ...], layout: Layout | None) -> Any:
    """A tracer of an argument of a certain shape, without rows that `divided` has added.

    It is divided unevenly inside the program, which XLA handles: each device computes on its own
    rows, and those that are nobody's count in no result.
    """
    if layout is None or array.shape == shape or not _was_divided(array.shape, shape, layout):
        return array
    rows = load().lax.slice_in_dim(array, 0, shape[0])
    return load().lax.with_sharding_constraint(rows, layout.of_batches())


def _was_divided(given: tuple[int, ...], shape: tuple[int, ...], layout: Layout) -> bool:
    """Whether an array of the shape `given` may be what `divided` has made of one of `shape`."""
    return (
        bool(shape)
        and given[1:] == shape[1:]
        and given[0] == math.ceil(shape[0] / layout.parts) * layout.parts
    )


def wait_on_parts_of_cpu(arrays: Sequence[Any]) -> None:
    """Waits for the results of a program on several devices that XLA makes of one CPU.

    They share its threads. Where programs that follow each other are begun before the first one has
    ended, all threads may wait for replicas that none is left to run.
    """
    if not layouts.are_used or not arrays or is_traced(arrays[0]):
        return
    devices = arrays[0].devices()
    if len(devices) > 1 and next(iter(devices)).platform == "cpu":
        load().block_until_ready(arrays)


def is_spread(array: Any) -> bool:
    """Whether a JAX array is on several devices."""
    return len(array.devices()) > 1


def grid(devices: Sequence[Any], axes: Sequence[tuple[str, int]]) -> Any:
    """JAX's mesh of some devices, with named axes of certain lengths."""
    names, sizes = [name for name, _ in axes], [size for _, size in axes]
    return load().sharding.Mesh(np.array(list(devices)).reshape(sizes), tuple(names))


def laid(mesh: Any, axes: Sequence[str | None], batch: str | None) -> Layout:
    """The layout of values whose axes are each divided along an axis of a mesh, or not at all."""
    sharding = load().sharding
    return Layout(sharding.NamedSharding(mesh, sharding.PartitionSpec(*axes)), batch)


def constrained(array: Any, layout: Layout, batches: int = 0) -> Any:
    """A tracer that is divided so; `batches` axes before the layout's may be divided as it fits."""
    sharding = load().sharding
    spec = sharding.PartitionSpec
    free = [spec.UNCONSTRAINED] * batches
    wanted = sharding.NamedSharding(layout.sharding.mesh, spec(*free, *layout.sharding.spec))
    return load().lax.with_sharding_constraint(array, wanted)


def devices_everywhere(kind: str | None) -> list[Any]:
    """The devices of all processes, of a kind such as `cpu` if one is given."""
    return list(load().devices(kind))


def mesh_of(devices: Sequence[Any], axis: str) -> Layout:
    """The layout of values that each of some devices has, where batches are divided along a named
    axis.
    """
    sharding = load().sharding
    mesh = sharding.Mesh(np.array(list(devices)), (axis,))
    return Layout(sharding.NamedSharding(mesh, sharding.PartitionSpec()), axis)


class _Axes(threading.local):
    """The axes along which what this thread traces is one of several replicas, with their sizes."""

    now: tuple[tuple[str, int], ...] = ()


_axes = _Axes()


def axes_now() -> tuple[tuple[str, int], ...]:
    """The axes along which replicas may speak to each other in what this thread traces."""
    return _axes.now


@block
def in_replica(layout: Layout) -> Iterator[None]:
    """A block that traces what each device of a mesh runs on its own part."""
    before = _axes.now
    assert layout.batch is not None
    _axes.now = (*before, (layout.batch, layout.parts))
    try:
        yield
    finally:
        _axes.now = before


def on_each_device(
    run: Callable[..., list[Any]], layout: Layout, divided: Sequence[bool], apart: Sequence[bool]
) -> Callable[..., list[Any]]:
    """A function of arrays that runs `run` on every device of a mesh.

    What is `divided` has a part for each device along its first axis, which `run` is given; other
    arguments it is given whole. `apart` says for each result whether each device has its own; they
    are put together along a new first axis.
    """
    jax = load()
    spec = jax.sharding.PartitionSpec

    def on_one(*arrays: Any) -> list[Any]:
        given = [a[0] if own else a for a, own in zip(arrays, divided, strict=True)]
        return [r[None] if own else r for r, own in zip(run(*given), apart, strict=True)]

    mapped: Callable[..., list[Any]] = jax.shard_map(
        on_one,
        mesh=layout.sharding.mesh,
        in_specs=tuple(spec(layout.batch) if own else spec() for own in divided),
        out_specs=[spec(layout.batch) if own else spec() for own in apart],
        check_vma=False,
    )
    return mapped


def differing(
    run: Callable[..., list[Any]], specs: Sequence[Any], own: Sequence[bool]
) -> list[bool]:
    """For each result of a function that runs on every device, whether the devices may have
    different values of it: what is computed from the arguments that are each device's `own`, and
    not from what all devices have told each other.
    """
    jax = load()
    with wide():
        jaxpr = jax.make_jaxpr(run, axis_env=axes_now())(
            *[jax.ShapeDtypeStruct(shape, dtype) for shape, dtype in specs]
        ).jaxpr
    found = {id(v) for v, is_own in zip(jaxpr.invars, own, strict=True) if is_own}
    for equation in jaxpr.eqns:
        if equation.primitive.name in ("psum", "all_gather"):
            continue
        if (
            any(id(v) in found for v in equation.invars)
            or equation.primitive.name == "axis_index"
            or any(uses(part, "axis_index") for part in parts(equation.params))
        ):
            found.update(map(id, equation.outvars))
    return [id(v) in found for v in jaxpr.outvars]
