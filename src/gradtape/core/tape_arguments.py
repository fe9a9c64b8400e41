"""The arguments of a tape's methods: targets, sources and output gradients, taken apart into
Tensors and Variables.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from gradtape import nest
from gradtape.core.indexed_slices import IndexedSlices
from gradtape.core.messages import advice_about
from gradtape.core.needed_ops import needed
from gradtape.core.node import Node
from gradtape.core.sparse_tensor import SparseTensor
from gradtape.core.tensor import Tensor
from gradtape.core.unconnected import UnconnectedGradients
from gradtape.core.values import to_array
from gradtape.core.variable import Variable
from gradtape.core.walk import finished
from gradtape.core.xla.tensor import XlaTensor, on_xla
from gradtape.errors import invalid_argument


def unconnected_value(
    source: Any, unconnected: UnconnectedGradients, prefix: tuple[int, ...] = ()
) -> Tensor | None:
    """None or zeros for a source without a path; `prefix` is put before its shape."""
    if unconnected is UnconnectedGradients.NONE:
        return None
    array = source.array
    zero = b"" if array.dtype == object else 0
    return Tensor(np.full(prefix + array.shape, zero, dtype=array.dtype))


def ones_like(array: Any) -> Any:
    return np.ones(array.shape, array.dtype) if array.ndim else array.dtype.type(1)


def source_object(leaf: Any) -> Any:
    """A leaf, or the Variable that it wraps, as Keras variables do."""
    return (
        leaf
        if isinstance(leaf, (Tensor, Variable))
        else getattr(leaf, "__gradtape_variable__", leaf)
    )


def components(leaf: Any) -> Sequence[Any]:
    """The parts of a leaf: an IndexedSlices or a SparseTensor is watched through them."""
    if isinstance(leaf, (IndexedSlices, SparseTensor)):
        return [part for part in (leaf.values, leaf.indices, leaf.dense_shape) if part is not None]
    return followed(source_object(leaf))


def followed(leaf: Any) -> list[Any]:
    """The tensors through which a tape follows a composite: of a RaggedTensor, its flat values."""
    if not hasattr(leaf, "__gradtape_watched__"):
        return [leaf]
    found: list[Any] = leaf.__gradtape_watched__()
    return found


def in_place_of(leaf: Any, gradients: Iterator[Any]) -> Any:
    """The next gradients in the form of their source: that of a composite is one like it."""
    if not hasattr(leaf, "__gradtape_watched__"):
        return next(gradients)
    return leaf.__gradtape_with_gradients__(gradients)


def watchable(structure: Any) -> list[Any]:
    """The Tensors and Variables that `watch` is to follow, or the error that says what else it was
    given.
    """
    leaves = [part for leaf in nest.flatten(structure) for part in components(leaf)]
    for leaf in leaves:
        if not isinstance(leaf, (Tensor, Variable)):
            raise ValueError(
                f"watch: tensor must hold Tensors or Variables, got {leaf!r} of type "
                f"{type(leaf).__name__}; "
                + advice_about(leaf, "make it a Tensor with gradtape.constant.")
            )
    return leaves


_PLAIN_LEAVES = frozenset((Tensor, Variable))


def is_flat(structure: Any) -> bool:
    """Whether a structure is a list or tuple of Tensors and Variables: the common case,
    answered without optree.
    """
    if type(structure) is not list and type(structure) is not tuple:
        return False
    for leaf in structure:
        # Most are Variables, and a test of identity is faster than one of membership.
        if type(leaf) is not Variable and type(leaf) not in _PLAIN_LEAVES:
            return False
    return True


def leaves_of(structure: Any, argument: str) -> list[Any]:
    """The Tensors and Variables of a structure, or the error that names what else is in it."""
    if type(structure) in _PLAIN_LEAVES:
        return [structure]
    if is_flat(structure):
        return list(structure)
    leaves = [part for leaf in nest.flatten(structure) for part in followed(source_object(leaf))]
    for leaf in leaves:
        if leaf is None:
            raise TypeError(
                f"{argument} must be a Tensor, a Variable or a structure of them, got None."
            )
        if isinstance(leaf, SparseTensor):
            raise ValueError(f"{argument} cannot be a SparseTensor: use its `values`.")
        if isinstance(leaf, IndexedSlices):
            raise AttributeError(
                f"{argument} cannot be an IndexedSlices, as the gradient of a gather is: make it a "
                "tensor with gradtape.convert_to_tensor, where the tape still records."
            )
        if not isinstance(leaf, (Tensor, Variable)):
            raise AttributeError(
                f"{argument} must be a Tensor, a Variable or a structure of them, got {leaf!r} of "
                f"type {type(leaf).__name__}; "
                + advice_about(leaf, "a tape follows only Tensors and Variables.")
            )
    return leaves


def seeds_of(output_gradients: Any, targets: Sequence[Any]) -> list[Any]:
    """One seed for each target: None means ones."""
    given = nest.flatten(output_gradients)[: len(targets)]
    given += [None] * (len(targets) - len(given))
    return [
        None if g is None else _output_gradient(g, target, i)
        for i, (g, target) in enumerate(zip(given, targets, strict=True))
    ]


def _output_gradient(value: Any, target: Any, index: int) -> Any:
    argument = f"output_gradients[{index}]"
    array = target.array
    if isinstance(value, Variable):
        value = value.tensor()
    elif hasattr(value, "__gradtape_tensor__"):
        value = value.__gradtape_tensor__()
    elif not isinstance(value, Tensor):
        value = Tensor(to_array(value, array.dtype, argument=argument))
    if value.array.dtype != array.dtype:
        raise invalid_argument(
            f"gradient: {argument} has dtype {value.dtype.name}, but its target has dtype "
            f"{target.dtype.name}: cast it first."
        )
    if value.array.shape == array.shape:
        return value
    if value.array.shape != ():
        raise invalid_argument(
            f"gradient: {argument} has shape {value.shape}, but its target has shape "
            f"{target.shape}."
        )
    return needed.broadcast_to(value, shape=array.shape)


def starting_cotangents(
    targets: Sequence[Any],
    given: Sequence[Any] | None,
    node_of: Callable[[Any], Node | None],
    *,
    tensors: bool,
) -> tuple[dict[Node, Any], dict[int, Tensor]]:
    """The cotangents that a walk starts from, by Node; and, by identity, the gradients of targets
    that the tape does not know.

    `given` are those that the user gave; `tensors` says that they are recorded.
    """
    by_node: dict[Node, Any] = {}
    by_identity: dict[int, Tensor] = {}
    for i, target in enumerate(targets):
        seed = None if given is None else given[i]
        if seed is None:
            seed = ones_like(target.array)
        if isinstance(target, XlaTensor):
            seed = on_xla(seed)
        node = node_of(target)
        if node is None:
            seed = finished(seed)
            by_identity[id(target)] = (
                by_identity[id(target)] + seed if id(target) in by_identity else seed
            )
            continue
        seed = finished(seed) if tensors else seed.array if type(seed) is Tensor else seed
        by_node[node] = by_node[node] + seed if node in by_node else seed
    return by_node, by_identity
