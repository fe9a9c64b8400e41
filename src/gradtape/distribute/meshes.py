"""`Mesh`: devices in a grid whose axes have names, as in `tf.experimental.dtensor`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from gradtape.core.device import find
from gradtape.core.xla.layouts import (
    device_names,
    devices_named,
    devices_of_all_processes,
    grid_of,
)
from gradtape.published import published

BATCH = "batch"


@published("experimental.dtensor.Mesh")
class Mesh:
    """Devices in a grid whose axes have names: `create_mesh` makes one. Functions divide their
    batches along its axis `batch`, if there is one.

    >>> import gradtape as tf
    >>> mesh = tf.experimental.dtensor.create_mesh([("batch", 1)])
    >>> isinstance(mesh, tf.experimental.dtensor.Mesh)
    True
    """

    def __init__(self, dims: Sequence[tuple[str, int]], grid: Any, name: str = "") -> None:
        self._dims = dict(dims)
        self.name = name
        self.grid = grid  # JAX's

    @property
    def dim_names(self) -> list[str]:
        """The names of its axes."""
        return list(self._dims)

    @property
    def shape(self) -> list[int]:
        """How many devices there are along each axis."""
        return list(self._dims.values())

    @property
    def size(self) -> int:
        """How many devices there are."""
        return math.prod(self.shape)

    def dim_size(self, dim_name: str) -> int:
        """How many devices there are along an axis.

        >>> import gradtape as tf
        >>> tf.experimental.dtensor.create_mesh([("batch", 1)]).dim_size("batch")
        1
        """
        if dim_name not in self._dims:
            raise ValueError(f"dim_size: the mesh has the axes {self.dim_names}, not {dim_name!r}.")
        return self._dims[dim_name]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Mesh) and self.grid == other.grid

    def __hash__(self) -> int:
        return hash(self.grid)

    def __repr__(self) -> str:
        return f"Mesh({', '.join(f'{name}={size}' for name, size in self._dims.items())})"


@published("experimental.dtensor.create_mesh")
def create_mesh(
    mesh_dims: Sequence[tuple[str, int]] | None = None,
    mesh_name: str = "",
    devices: Sequence[str] | None = None,
    device_type: str | None = None,
) -> Mesh:
    """A grid of devices of this process: of all accelerators, or of all that XLA makes of the CPU,
    unless `devices` or their type are named.

    `mesh_dims` has a name and a length for each axis; one length may be -1, for as many devices as
    there are. Without it, there is one axis, `batch`.

    >>> import gradtape as tf
    >>> mesh = tf.experimental.dtensor.create_mesh([("batch", 1), ("model", 1)])
    >>> mesh.dim_names, mesh.shape
    (['batch', 'model'], [1, 1])
    """
    names = names_of_devices(devices, "create_mesh")
    if devices is None and device_type is not None:
        kind = f"{device_type.upper()}:"
        names = [name for name in device_names() if name.startswith(kind)]
        if not names:
            raise ValueError(
                f"create_mesh: device_type {device_type!r} has no devices: there are "
                f"{device_names()}."
            )
    return _mesh("create_mesh", mesh_dims, mesh_name, devices_named(names))


@published("experimental.dtensor.create_distributed_mesh")
def create_distributed_mesh(
    mesh_dims: Sequence[tuple[str, int]] | None = None,
    mesh_name: str = "",
    device_type: str | None = None,
) -> Mesh:
    """A grid of the devices of all processes, in their order; `mesh_dims` as in `create_mesh`.

    >>> import gradtape as tf
    >>> tf.experimental.dtensor.create_distributed_mesh([("batch", -1)]).dim_names
    ['batch']
    """
    found = devices_of_all_processes(device_type)
    return _mesh("create_distributed_mesh", mesh_dims, mesh_name, found)


def _mesh(
    what: str, dims: Sequence[tuple[str, int]] | None, name: str, devices: Sequence[Any]
) -> Mesh:
    count = len(devices)
    given = [(str(axis), int(size)) for axis, size in dims or [(BATCH, -1)]]
    known = math.prod(size for _, size in given if size != -1)
    open_ones = [axis for axis, size in given if size == -1]
    axes = [(axis, count // known if size == -1 and known else size) for axis, size in given]
    if len(open_ones) > 1 or len({axis for axis, _ in axes}) < len(axes):
        raise ValueError(
            f"{what}: mesh_dims must have different names, and one -1 at most, got {given}."
        )
    if math.prod(size for _, size in axes) != count or count == 0:
        raise ValueError(
            f"{what}: mesh_dims {given} do not fit the {count} devices, of which each has one "
            "place."
        )
    return Mesh(axes, grid_of(devices, axes), name)


def names_of_devices(devices: Sequence[str] | None, what: str) -> list[str]:
    """The devices that are named; without names all accelerators, or all parts of the CPU."""
    if devices is not None:
        places = [find(name) for name in devices]
        names = [place.name for place in places if place is not None]
        if not names or len(set(names)) < len(names):
            raise ValueError(f"{what}: devices must be different, got {list(devices)}.")
        return names
    known = device_names()
    return [name for name in known if not name.startswith("CPU:")] or known
