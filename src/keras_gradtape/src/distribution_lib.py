"""Values on many devices: Keras's meshes and layouts converted to JAX's, for variables, batches and
results inside a model.

The only module of this package that uses JAX itself. A variable or a batch that is spread over
devices is a JAX array, which compiled functions take without conversion; XLA then divides the work.
Eager code sees the whole value, on the host.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from keras.src.backend.common import global_state
from keras.src.random import seed_generator
from keras.src.utils import rng_utils
from keras.src.utils.module_utils import jax  # imported when it is first used

import gradtape as tf
from gradtape.extend import (
    HeldTensor,
    Layout,
    block,
    join_processes,
    lay_out,
    of_the_first_process,
)


def list_devices(device_type: str | None = None) -> list[str]:
    """The names of all devices of a kind, in all processes; of the best kind there is,
    if none is given.
    """
    return [
        _name(device)
        for device in jax.devices(None if device_type is None else device_type.lower())
    ]


def get_device_count(device_type: str | None = None) -> int:
    """How many devices of a kind there are."""
    return len(list_devices(device_type))


def distribute_tensor(tensor: Any, layout: Any) -> Any:
    """A tensor spread over devices as `layout` says; inside a function, a wish that XLA follows."""
    sharding = _sharding(layout)
    if tf.is_symbolic_tensor(tensor):
        return tf.grad_pass_through(
            lambda t: type(t)(jax.lax.with_sharding_constraint(t.array, sharding))
        )(tensor)
    if tensor.node is not None:
        return tensor  # eager code that a tape follows runs on the host
    return HeldTensor(_put(tensor, sharding))


def distribute_data_input(per_process_batch: Any, layout: Any, batch_dim_name: str) -> tf.Tensor:
    """A batch as a part of which each device has its own.

    Where several processes share batches, all of them have the same one and take their parts of it;
    with `auto_shard_dataset=False` each has its own part of it already.
    """
    sharding = _sharding(layout)
    parts = sharding.mesh.shape[batch_dim_name]
    if _have_own_parts():
        local = max(1, parts // jax.process_count())
        if len(per_process_batch) % local:
            raise ValueError(
                f"With auto_shard_dataset=False every process must have as many rows as the "
                f"others, and a multiple of its {local} devices: this one has "
                f"{len(per_process_batch)}. Leave the last rows out, or give all processes the "
                "same batches and auto_shard_dataset=True."
            )
        with jax.enable_x64(True):
            return HeldTensor(
                jax.make_array_from_process_local_data(sharding, np.asarray(per_process_batch))
            )
    if len(per_process_batch) % parts:
        return per_process_batch  # the function that takes it divides it as well as that goes
    return HeldTensor(_put(per_process_batch, sharding))


def _have_own_parts() -> bool:
    """Whether every process has other rows of a batch."""
    chosen = global_state.get_global_attribute("distribution")
    return jax.process_count() > 1 and not getattr(chosen, "auto_shard_dataset", True)


@block
def whole_batches() -> Iterator[None]:
    """A block in which Keras takes data of any kind: it would refuse arrays where several processes
    share batches, of which each takes its part here.
    """
    chosen = global_state.get_global_attribute("distribution")
    if not getattr(chosen, "_is_multi_process", False):
        yield
        return
    chosen._is_multi_process = False
    try:
        yield
    finally:
        chosen._is_multi_process = True


def spread(variable: tf.Variable, layout: Any) -> None:
    """Spreads a Variable over devices as `layout` says, whatever writes it from now on."""
    if not isinstance(layout, Layout):
        layout = Layout(_sharding(layout), _batch_axis(layout))
    with tf.init_scope():  # a function may be being traced
        lay_out(variable, layout)


def divided(variable: tf.Variable) -> Layout | None:
    """The layout of a Variable of which devices have different parts."""
    layout: Layout | None = variable.divided_as
    return None if layout is None or layout.sharding.is_fully_replicated else layout


def _batch_axis(layout: Any) -> str | None:
    """The axis of its mesh along which batches are divided."""
    chosen = global_state.get_global_attribute("distribution")
    names = _sharding(layout).mesh.axis_names
    name = None if chosen is None else chosen.batch_dim_name
    return name if name in names else None


def _put(value: Any, sharding: Any) -> Any:
    array = np.asarray(value)
    with tf.init_scope(), jax.enable_x64(True):  # a function may be being traced
        return jax.make_array_from_callback(array.shape, sharding, lambda part: array[part])


def _sharding(layout: Any) -> Any:
    if isinstance(layout, Layout):
        return layout.sharding
    return getattr(layout, "backend_layout", layout)


def initialize(
    job_addresses: str | None, num_processes: int | None, process_id: int | None
) -> None:
    """Joins the processes of a job; the first of several addresses is the one that coordinates.
    Processes that `python -m gradtape launch` has started need no arguments.
    """
    addresses = job_addresses.split(",") if job_addresses else [None]
    if len(addresses) > 1 and num_processes not in (None, len(addresses)):
        raise ValueError(
            f"initialize: job_addresses has {len(addresses)} addresses, but num_processes is "
            f"{num_processes}."
        )
    if len(addresses) > 1:
        num_processes = len(addresses)
    join_processes(addresses[0], num_processes, process_id)
    initialize_rng()


def initialize_rng() -> None:
    """Gives all processes the same seed, that of the first one if it has set one."""
    if num_processes() > 1:
        seed = rng_utils.get_random_seed()
        own = seed_generator.make_default_seed() if seed is None else seed
        rng_utils.set_random_seed(int(of_the_first_process(np.int64(own))))


def num_processes() -> int:
    """How many processes work together."""
    return jax.process_count()


def process_id() -> int:
    """The number of this process."""
    return jax.process_index()


def _name(device: Any) -> str:
    return f"{device.platform}:{device.id}"


def _to_backend_device(device_name: Any) -> Any:
    """The device of a name."""
    if isinstance(device_name, jax.Device):
        return device_name
    kind, _, number = str(device_name).lower().partition(":")
    for device in jax.devices(kind):
        if device.id == int(number or 0):
            return device
    raise ValueError(
        f"device_name must be an available device, got {device_name!r}: the devices of that kind "
        f"are {list_devices(kind)}."
    )


def _to_backend_mesh(device_mesh: Any) -> Any:
    devices = [_to_backend_device(name) for name in device_mesh.devices.flatten()]
    return jax.sharding.Mesh(
        np.array(devices).reshape(device_mesh.devices.shape), device_mesh.axis_names
    )


def _to_backend_layout(tensor_layout: Any) -> Any:
    if tensor_layout.device_mesh is None:
        raise ValueError(
            "A TensorLayout needs a device_mesh before values can be distributed with it."
        )
    return jax.sharding.NamedSharding(
        tensor_layout.device_mesh.backend_mesh, jax.sharding.PartitionSpec(*tensor_layout.axes)
    )
