"""`Layout`: how the values of single Variables and tensors are divided among the devices of a mesh,
as in `tf.experimental.dtensor`.

Only programs see the parts: to eager code a Variable with a layout is like any other.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from gradtape import nest
from gradtape.convert import as_tensor
from gradtape.core.tensor import Tensor
from gradtape.core.variable import Variable
from gradtape.core.xla import layouts as xla_layouts
from gradtape.core.xla.trace import inside_a_program
from gradtape.distribute.meshes import BATCH, Mesh
from gradtape.functions.decorator import function
from gradtape.functions.relaid import relaid
from gradtape.published import published

UNSHARDED = "unsharded"
PUBLISHED = {"experimental.dtensor.UNSHARDED": UNSHARDED}


@published("experimental.dtensor.Layout")
class Layout:
    """How a tensor is divided among the devices of a mesh: for each of its axes the name of an axis
    of the mesh, or UNSHARDED. Along the axes of the mesh that are not named, devices have copies.

    >>> import gradtape as tf
    >>> mesh = tf.experimental.dtensor.create_mesh([("batch", 1), ("model", 1)])
    >>> layout = tf.experimental.dtensor.Layout(["unsharded", "model"], mesh)
    >>> v = tf.Variable([[1.0, 2.0]], layout=layout)
    >>> v.numpy()
    array([[1., 2.]], dtype=float32)
    """

    def __init__(self, sharding_specs: Sequence[str | None], mesh: Mesh) -> None:
        specs = [UNSHARDED if name is None else name for name in sharding_specs]
        if not isinstance(mesh, Mesh):
            raise TypeError(f"Layout: mesh must be a Mesh, which create_mesh makes, got {mesh!r}.")
        named = [name for name in specs if name != UNSHARDED]
        unknown = [name for name in named if name not in mesh.dim_names]
        if unknown or len(set(named)) < len(named):
            raise ValueError(
                f"Layout: sharding_specs must be different axes of the mesh, {mesh.dim_names}, or "
                f"UNSHARDED, got {specs}."
            )
        self.sharding_specs = specs
        self.mesh = mesh

    @classmethod
    def replicated(cls, mesh: Mesh, rank: int) -> Layout:
        """That of values which every device has whole.

        >>> import gradtape as tf
        >>> mesh = tf.experimental.dtensor.create_mesh()
        >>> tf.experimental.dtensor.Layout.replicated(mesh, rank=1).sharding_specs
        ['unsharded']
        """
        return cls([UNSHARDED] * rank, mesh)

    @classmethod
    def batch_sharded(cls, mesh: Mesh, batch_dim: str, rank: int, axis: int = 0) -> Layout:
        """That of values which are divided along one of their axes.

        >>> import gradtape as tf
        >>> mesh = tf.experimental.dtensor.create_mesh()
        >>> tf.experimental.dtensor.Layout.batch_sharded(mesh, "batch", rank=2).sharding_specs
        ['batch', 'unsharded']
        """
        specs = [UNSHARDED] * rank
        specs[axis] = batch_dim
        return cls(specs, mesh)

    @property
    def rank(self) -> int:
        """How many axes the tensor has."""
        return len(self.sharding_specs)

    @functools.cached_property
    def divided(self) -> xla_layouts.Layout:
        """The same for XLA."""
        axes = [None if name == UNSHARDED else name for name in self.sharding_specs]
        batch = BATCH if BATCH in self.mesh.dim_names else None
        return xla_layouts.layout_on(self.mesh.grid, axes, batch)

    def check(self, shape: Sequence[int], what: str) -> None:
        """Refuses a shape that cannot be divided so."""
        shape = tuple(shape)
        if len(shape) != self.rank:
            raise ValueError(
                f"{what}: a layout of {self.rank} axes, {self.sharding_specs}, does not fit shape "
                f"{shape}."
            )
        for axis, (size, name) in enumerate(zip(shape, self.sharding_specs, strict=True)):
            if name != UNSHARDED and size % self.mesh.dim_size(name):
                raise ValueError(
                    f"{what}: axis {axis} of shape {shape} cannot be divided among the "
                    f"{self.mesh.dim_size(name)} devices along {name!r}: it must be a multiple."
                )

    def adopt(self, variable: Variable) -> None:
        """Divides a new Variable."""
        lay_out(variable, self)

    def make(self, variable: Variable, initial_value: Callable[[], Any], dtype: Any) -> Any:
        """Gives a new Variable the value that a function returns, of which each device computes its
        own part, and returns an array of its shape and dtype.
        """
        value = call_with_layout(
            lambda: as_tensor(initial_value(), dtype, argument="Variable: initial_value"), self
        )
        xla_layouts.lay_out_first(variable, value, self.divided)
        return variable.outline

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Layout)
            and self.sharding_specs == other.sharding_specs
            and self.mesh == other.mesh
        )

    def __hash__(self) -> int:
        return hash((tuple(self.sharding_specs), self.mesh))

    def __repr__(self) -> str:
        return f"Layout({self.sharding_specs}, {self.mesh})"


@published("experimental.dtensor.lay_out")
def lay_out(variable: Any, layout: Layout | None) -> None:
    """Divides a Variable that exists, or a variable of a Keras model, whatever writes it from then
    on; None takes that back.

    >>> import gradtape as tf
    >>> dtensor = tf.experimental.dtensor
    >>> v = tf.Variable([1.0, 2.0])
    >>> dtensor.lay_out(v, dtensor.Layout.replicated(dtensor.create_mesh(), rank=1))
    >>> dtensor.fetch_layout(v).sharding_specs
    ['unsharded']
    """
    known = _variable(variable, "lay_out")
    what = f"lay_out: the variable '{known.name}'"
    if known.outline.dtype.kind == "O" or known.keeps_array:
        raise ValueError(f"{what} stays on the host or its device: no layout can divide it.")
    if layout is not None:
        layout.check(known.outline.shape, what)
    xla_layouts.lay_out(known, None if layout is None else layout.divided)


@published("experimental.dtensor.fetch_layout")
def fetch_layout(tensor: Any) -> Layout | None:
    """The layout of a Variable; None if it has none.

    >>> import gradtape as tf
    >>> tf.experimental.dtensor.fetch_layout(tf.Variable(1.0))
    """
    known = _variable(tensor, "fetch_layout")
    if known.divided_as is None:
        return None
    grid = known.divided_as.sharding.mesh
    spec = known.divided_as.sharding.spec
    names = [*spec, *[None] * (known.ndim - len(spec))]
    mesh = Mesh(list(zip(grid.axis_names, grid.devices.shape, strict=True)), grid)
    return Layout(names, mesh)


@published("experimental.dtensor.relayout")
def relayout(tensor: Any, layout: Layout, name: str | None = None) -> Tensor:
    """In a function: the same tensor, divided among the devices as a layout says, and its cotangent
    likewise. XLA divides everything else to fit. Eager code has whole values, and gets the tensor.

    >>> import gradtape as tf
    >>> dtensor = tf.experimental.dtensor
    >>> layout = dtensor.Layout.batch_sharded(dtensor.create_mesh(), "batch", rank=1)
    >>> tf.function(lambda x: dtensor.relayout(x * 2, layout))(tf.ones(8)).shape
    TensorShape([8])
    """
    found = as_tensor(tensor, argument="relayout: tensor")
    if found.outline.ndim != layout.rank:
        layout.check(found.outline.shape, "relayout: tensor")
    return relaid(found, layout.divided) if inside_a_program() else found


@published("experimental.dtensor.call_with_layout")
def call_with_layout(
    fn: Callable[..., Any], layout: Layout | None, *args: Any, **kwargs: Any
) -> Any:
    """What a function returns, compiled so that each device computes its own part: large values are
    nowhere whole.

    >>> import gradtape as tf
    >>> dtensor = tf.experimental.dtensor
    >>> layout = dtensor.Layout.batch_sharded(dtensor.create_mesh(), "batch", rank=2)
    >>> dtensor.call_with_layout(tf.zeros, layout, [8, 3]).shape
    TensorShape([8, 3])
    """
    if layout is None:
        return fn(*args, **kwargs)

    def divided() -> Any:
        def one(value: Any) -> Tensor:
            found = as_tensor(value, argument="call_with_layout: a result")
            layout.check(found.outline.shape, "call_with_layout: a result")
            return relaid(found, layout.divided)

        return nest.map_structure(one, fn(*args, **kwargs))

    return function(divided, jit_compile=True, autograph=False)()


def _variable(value: Any, what: str) -> Variable:
    found = getattr(value, "__gradtape_variable__", value)  # of a model of Keras
    if not isinstance(found, Variable):
        raise TypeError(f"{what}: a Variable is expected, got {value!r}.")
    return found
