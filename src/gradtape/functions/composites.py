"""Arguments and results of functions that are composed of tensors: SparseTensors, IndexedSlices,
TensorArrays, dataclasses, and lists, tuples and dicts of a user's own class.

optree flattens Python's own containers and what users have registered with it.
`flatten_composites` flattens these too, so the tensors inside are inputs and outputs of the
program, and two of them have the same kind if their parts do.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import optree

from gradtape import nest
from gradtape.core.composite_tensor import CompositeTensor
from gradtape.core.indexed_slices import IndexedSlices
from gradtape.core.module import Module
from gradtape.core.sparse_tensor import SparseTensor
from gradtape.core.tensor import Tensor
from gradtape.core.type_spec import TypeSpec
from gradtape.core.variable import Variable
from gradtape.core.xla.tensor import HeldTensor, XlaTensor, is_traced

_NAMESPACE = "gradtape.functions"

_WHOLE = frozenset(
    (
        Tensor,
        HeldTensor,
        XlaTensor,
        Variable,
        bool,
        int,
        float,
        complex,
        str,
        bytes,
        type(None),
        np.ndarray,
        np.dtype,
        type,
    )
)  # types that need no second look


class Form(NamedTuple):
    """What two composites of the same kind have in common: how one is made from its parts, its
    class, and the parts' names.
    """

    made: Callable[[Form, Sequence[Any]], Any]
    cls: type
    names: tuple[Any, ...]
    fixed: Any = None  # what a program must know


class Opened:
    """A composite as an optree node."""

    __slots__ = ("form", "parts")

    def __init__(self, form: Form, parts: Sequence[Any]) -> None:
        self.form = form
        self.parts = [optree.tree_map(opened, part, none_is_leaf=True) for part in parts]


def _taken_apart(node: Any) -> tuple[Sequence[Any], Any, Sequence[Any]]:
    return node.parts, node.form, node.form.names


def _made(form: Any, parts: Any) -> Any:
    return form.made(form, list(parts))


optree.register_pytree_node(
    Opened,  # type: ignore[arg-type]
    _taken_apart,
    _made,
    namespace=_NAMESPACE,
)


def flatten_composites(structure: Any) -> tuple[list[Any], Any]:
    """The leaves of a structure, with composites flattened, and the treedef with which
    `optree.tree_unflatten` puts such leaves together.
    """
    leaves, spec = optree.tree_flatten(structure, none_is_leaf=True)
    found = [opened(leaf) for leaf in leaves]
    if not any(type(leaf) is Opened for leaf in found):
        return leaves, spec
    return optree.tree_flatten(
        optree.tree_unflatten(spec, found), none_is_leaf=True, namespace=_NAMESPACE
    )


def opened(leaf: Any) -> Any:
    """A composite as a node that optree flattens; any other leaf unchanged."""
    kind = type(leaf)
    if kind in _WHOLE or isinstance(leaf, (Tensor, Variable, type, TypeSpec)):
        return leaf
    if CompositeTensor in kind.__mro__:
        return _by_spec(leaf)
    if isinstance(leaf, Module):
        return _with_shared_parts(leaf) if nest.is_composite(leaf) else leaf
    if isinstance(leaf, dict):
        return _container(leaf, list(leaf), list(leaf.values()))
    if isinstance(leaf, (list, tuple)):
        return _container(leaf, list(range(len(leaf))), list(leaf))
    if kind is slice:
        return Opened(
            Form(_slice_again, slice, ("start", "stop", "step")), [leaf.start, leaf.stop, leaf.step]
        )
    if isinstance(leaf, (SparseTensor, IndexedSlices)):
        return _sparse(leaf)
    if hasattr(leaf, "__gradtape_variable__"):
        return leaf
    if dataclasses.is_dataclass(leaf):
        names = dict.fromkeys(
            [*(field.name for field in dataclasses.fields(leaf)), *getattr(leaf, "__dict__", ())]
        )
        return _by_attributes(leaf, [name for name in names if hasattr(leaf, name)])
    if nest.is_composite(leaf):
        return _by_attributes(leaf, list(vars(leaf)))
    return leaf


class Described:
    """The spec of a composite; those of values that differ in the sizes of tensors are equal."""

    __slots__ = ("_kind", "spec")

    def __init__(self, spec: TypeSpec) -> None:
        self.spec = spec
        self._kind = spec._with_tensor_ranks_only()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Described) and self._kind == other._kind

    def __hash__(self) -> int:
        return hash(self._kind)

    def __repr__(self) -> str:
        return repr(self.spec)


def _by_spec(leaf: CompositeTensor) -> Opened:
    spec = leaf._type_spec
    form = Form(_of_components, type(leaf), ("components",), Described(spec))
    return Opened(form, [spec._to_components(leaf)])


def _of_components(form: Form, parts: Sequence[Any]) -> Any:
    """A composite of these components, or its spec where they are specs."""
    spec, (components,) = form.fixed.spec, parts
    if any(isinstance(leaf, TypeSpec) for leaf in nest.flatten(components)):
        return spec
    return spec._from_components(components)


def _sparse(leaf: SparseTensor | IndexedSlices) -> Opened:
    """Its shape is fixed, since the shapes of results depend on it, unless it belongs to an
    enclosing program.
    """
    shape = leaf.dense_shape
    if shape is not None and is_traced(shape):
        return Opened(
            Form(_with_attributes, type(leaf), ("indices", "values", "dense_shape")),
            [leaf.indices, leaf.values, shape],
        )
    fixed = None if shape is None else (tuple(shape.array.tolist()), shape.array.dtype)
    return Opened(
        Form(_sparse_again, type(leaf), ("indices", "values"), fixed), [leaf.indices, leaf.values]
    )


def _sparse_again(form: Form, parts: Sequence[Any]) -> Any:
    shape = None if form.fixed is None else Tensor(np.array(*form.fixed))
    return _with_attributes(form._replace(names=(*form.names, "dense_shape")), [*parts, shape])


def _by_attributes(leaf: Any, names: Sequence[str]) -> Opened:
    return Opened(
        Form(_with_attributes, type(leaf), tuple(names)), [getattr(leaf, name) for name in names]
    )


def _with_attributes(form: Form, parts: Sequence[Any]) -> Any:
    """An object with the attributes, even if it is frozen; its `__init__`, which may do more, is
    not called.
    """
    made: Any = object.__new__(form.cls)
    for name, part in zip(form.names, parts, strict=True):
        object.__setattr__(made, name, part)
    return made


def _with_shared_parts(leaf: Any) -> Opened:
    """By its attributes, of which several may hold the same part, as those of a LinearOperator do:
    each part is there once.
    """
    attributes: Any = dict(vars(leaf))
    leaves, spec = optree.tree_flatten(attributes, none_is_leaf=True)
    parts = list({id(part): part for part in leaves}.values())
    place = {id(part): i for i, part in enumerate(parts)}
    fixed = spec, tuple([place[id(part)] for part in leaves])
    return Opened(
        Form(_with_parts_shared_again, type(leaf), tuple(range(len(parts))), fixed), parts
    )


def _with_parts_shared_again(form: Form, parts: Sequence[Any]) -> Any:
    spec, places = form.fixed
    attributes: Any = optree.tree_unflatten(spec, [parts[i] for i in places])
    return _with_attributes(form._replace(names=tuple(attributes)), list(attributes.values()))


def _slice_again(form: Form, parts: Sequence[Any]) -> Any:
    return slice(*parts)


def _container(leaf: Any, keys: Sequence[Any], entries: Sequence[Any]) -> Opened:
    """A container of a user's class: its entries, and its attributes if it has any."""
    attributes = getattr(leaf, "__dict__", {})
    form = Form(_container_again, type(leaf), (*keys, *attributes), len(keys))
    return Opened(form, [*entries, *attributes.values()])


def _container_again(form: Form, parts: Sequence[Any]) -> Any:
    cls, count = form.cls, form.fixed
    entries = parts[:count]
    made: Any = tuple.__new__(cls, entries) if issubclass(cls, tuple) else cls.__new__(cls)
    if isinstance(made, dict):
        dict.update(made, zip(form.names, entries, strict=False))
    elif isinstance(made, list):
        list.extend(made, entries)
    for name, part in zip(form.names[count:], parts[count:], strict=True):
        object.__setattr__(made, name, part)
    return made
