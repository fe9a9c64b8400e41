"""Elements of datasets: tuples and dicts, nested as one likes, of Tensors.

As in TensorFlow, a list is not a structure here but becomes one Tensor. An element may also hold
SparseTensors, other composites, Datasets (those of `window`) and None.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gradtape import dtypes, nest
from gradtape.api.tensorflow.type_specs import type_spec_from_value
from gradtape.convert import as_tensor, on_host
from gradtape.core.composite_tensor import CompositeTensor
from gradtape.core.indexed_slices import IndexedSlices
from gradtape.core.sparse_tensor import SparseTensor
from gradtape.core.tensor import Tensor
from gradtape.core.type_spec import BatchableTypeSpec, TypeSpec
from gradtape.core.type_spec import spec_of as spec_of_composite
from gradtape.errors import invalid_argument
from gradtape.ragged.spec import RaggedTensorSpec
from gradtape.ragged.tensor import RaggedTensor
from gradtape.shapes import TensorShape, TensorSpec

_STRING = dtypes.string.numpy


class Leaf:
    """A base of what stands in an element as it is, besides tensors: Datasets and Optionals."""

    def __gradtape_spec__(self) -> Any:
        """What `element_spec` says of it."""
        raise NotImplementedError


def normalised(value: Any, argument: str) -> Any:
    """A value that a user gave as an element: its leaves become Tensors."""
    kind = type(value)
    if kind is Tensor:
        return value
    if kind is tuple:
        return tuple([normalised(part, f"{argument}[{i}]") for i, part in enumerate(value)])
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return kind(*[normalised(part, f"{argument}.{f}") for f, part in _fields(value)])
    if isinstance(value, dict):
        parts = {key: normalised(part, f"{argument}[{key!r}]") for key, part in value.items()}
        return parts if kind is dict else kind(parts)
    if value is None or isinstance(value, (Leaf, SparseTensor, IndexedSlices)):
        return value
    if nest.is_composite(value) or isinstance(value, TypeSpec):
        return value
    return as_tensor(value, argument=argument)


def _fields(value: Any) -> Any:
    return zip(value._fields, value, strict=True)


def leaves_of(element: Any) -> list[Any]:
    """The leaves of an element, those of a dict in the order of its keys."""
    kind = type(element)
    if kind is Tensor:
        return [element]
    if kind is tuple and all(type(part) is Tensor for part in element):
        return list(element)
    return nest.flatten(element)


def packer(example: Any) -> Callable[[Sequence[Any]], Any]:
    """A function that gives leaves the structure of an example."""
    if not nest.is_nested(example):
        return lambda leaves: leaves[0]
    if type(example) is tuple and not any(nest.is_nested(part) for part in example):
        return tuple
    return lambda leaves: nest.pack_sequence_as(example, leaves)


def fresh(element: Any) -> Any:
    """An element whose dicts are its own, so that a function may change them."""
    if type(element) is Tensor or (
        type(element) is tuple and not any(map(nest.is_nested, element))
    ):
        return element
    return map_leaves(lambda leaf: leaf, element)


def same_structure(one: Any, two: Any) -> bool:
    """Whether two elements are nested alike, in the same kinds of containers."""
    try:
        nest.assert_same_structure(one, two)
    except (TypeError, ValueError):
        return False
    return True


# Arrays


def array_of(leaf: Any, argument: str) -> Any:
    """The NumPy array of a leaf that must be a tensor."""
    if isinstance(leaf, Tensor):
        array = leaf.array
        return array if type(array) is np.ndarray else on_host(array)
    raise TypeError(
        f"{argument} must be a tensor, got {type(leaf).__name__}: only tensors can be batched."
    )


def one_of(column: Any, place: int) -> Any:
    """A row of an array as an array; text is held in arrays of objects, whose rows are none."""
    if column.dtype == object:
        return column[place : place + 1].reshape(column.shape[1:])
    return column[place]


def batchable_spec(leaf: Any) -> BatchableTypeSpec | None:
    """The spec of a composite that can be batched by its parts; None for anything else."""
    if not isinstance(leaf, CompositeTensor) or isinstance(leaf, Leaf):
        return None
    found = spec_of_composite(leaf)
    return found if isinstance(found, BatchableTypeSpec) else None


def rows_in(leaf: Any) -> int | None:
    """How many rows a composite has, such as a RaggedTensor or a SparseTensor; None for anything
    else.
    """
    spec = batchable_spec(leaf)
    if spec is not None:
        counts = [len(part) if (n := rows_in(part)) is None else n for part in spec._to_rows(leaf)]
        if len(set(counts)) != 1:
            raise invalid_argument(
                f"The parts of {leaf!r} must have the same number of rows, got {counts}."
            )
        return counts[0]
    if isinstance(leaf, RaggedTensor):
        return leaf.rows
    if isinstance(leaf, SparseTensor):
        return int(on_host(leaf.dense_shape.array)[0])
    return None


def row_of(leaf: Any, place: int) -> Any:
    """A row of an array, as a Tensor, or of a composite."""
    spec = batchable_spec(leaf)
    if spec is not None:
        rows = [row_of(_array_or_rows(part), place) for part in spec._to_rows(leaf)]
        return spec._unbatch()._from_rows(iter(rows))
    if isinstance(leaf, RaggedTensor):
        return leaf[place]
    if not isinstance(leaf, SparseTensor):
        return Tensor(one_of(leaf, place))
    indices, values, shape = (
        on_host(part.array) for part in (leaf.indices, leaf.values, leaf.dense_shape)
    )
    chosen = indices[:, 0] == place
    return SparseTensor(indices[chosen, 1:], Tensor(values[chosen]), shape[1:])


def _array_or_rows(part: Any) -> Any:
    return part if rows_in(part) is not None else array_of(part, "unbatch: a part of a composite")


def stack(arrays: Sequence[Any]) -> Any:
    """Arrays of one shape and dtype in a new one."""
    first = arrays[0]
    if not first.ndim and first.dtype != object:
        return np.array(arrays, first.dtype)
    out = np.empty((len(arrays), *first.shape), first.dtype)
    for place, array in enumerate(arrays):
        out[place, ...] = array  # without the dots, a place for an object would hold the array
    return out


# Specs


def spec_of(element: Any) -> Any:
    """The specs of an element's leaves, in its structure."""
    return map_leaves(spec_of_leaf, element)


def spec_of_leaf(leaf: Any) -> Any:
    if isinstance(leaf, Tensor):
        return TensorSpec(leaf.shape, leaf.dtype)
    if isinstance(leaf, Leaf):
        return leaf.__gradtape_spec__()
    own = getattr(leaf, "_type_spec", None)
    if leaf is None or own is not None:
        return own
    return type_spec_from_value(leaf)


def map_leaves(function: Callable[..., Any], *elements: Any) -> Any:
    """A function of the leaves of elements that are alike."""
    if not nest.is_nested(elements[0]):
        return function(*elements)
    columns = zip(*(nest.flatten(element) for element in elements), strict=True)
    return nest.pack_sequence_as(elements[0], [function(*leaves) for leaves in columns])


def with_first_size(spec: Any, size: int | None) -> Any:
    """Specs of batches of such elements."""

    def batched(leaf: Any) -> Any:
        if not hasattr(leaf, "_batch"):
            raise TypeError(f"batch: elements of {leaf!r} cannot be batched.")
        return leaf._batch(size)

    return map_leaves(batched, spec)


def with_shape(spec: Any, shape: TensorShape) -> Any:
    """The spec of a tensor of another shape."""
    if isinstance(spec, RaggedTensorSpec):
        return RaggedTensorSpec(shape, spec.dtype, spec.ragged_rank, spec.row_splits_dtype)
    return type(spec)(shape, spec.dtype)


def common_of(one: Any, two: Any) -> Any:
    """The spec that describes what two specs of tensors of one kind do."""
    if type(one) is not type(two) or not hasattr(one, "shape"):
        return one
    return with_shape(one, one.shape.most_specific_compatible_shape(two.shape))


def without_first_size(spec: Any, stage: str) -> Any:
    """Specs of the rows of such elements, of which all components have the same number."""
    sizes: set[int] = set()

    def row(leaf: Any) -> Any:
        if leaf is None:
            return None
        if isinstance(leaf, BatchableTypeSpec):
            return leaf._unbatch()
        shape = getattr(leaf, "shape", None)
        if shape is None or shape.rank == 0:
            raise ValueError(
                f"{stage}: an element must have rows, got {leaf!r}: put elements together with "
                "batch() before."
            )
        if shape.rank and shape[0] is not None:
            sizes.add(shape[0])
        return leaf._unbatch()

    rows = map_leaves(row, spec)
    if len(sizes) > 1:
        raise ValueError(
            f"{stage}: the components of an element must have the same number of rows, got "
            f"{sorted(sizes)} in {spec!r}."
        )
    return rows


def has_rows_of_ragged(spec: Any) -> bool:
    """Whether leaves of a spec are rows of RaggedTensors, which are tensors of open sizes."""
    return any(
        isinstance(leaf, RaggedTensorSpec) and not leaf.ragged_rank for leaf in nest.flatten(spec)
    )


def common_spec(one: Any, two: Any, stage: str) -> Any:
    """Specs that describe elements of two datasets."""
    if not same_structure(one, two):
        raise TypeError(
            f"{stage}: the datasets must have elements of the same structure, got {one} and {two}."
        )

    def common(a: Any, b: Any) -> Any:
        if hasattr(a, "dtype") and a.dtype != getattr(b, "dtype", None):
            raise TypeError(
                f"{stage}: the datasets must have elements of the same dtypes, got {a.dtype.name} "
                f"and {b.dtype.name}: use map with tf.cast."
            )
        return common_of(a, b)

    return map_leaves(common, one, two)


def check_fits(element: Any, spec: Any, what: str) -> Any:
    """An element as its spec wants it; refused, with what it is named, if it does not fit."""
    if not same_structure(element, spec):
        raise TypeError(f"{what} must have the structure {spec}, got {element!r}.")
    return map_leaves(lambda leaf, wanted: _fitting(leaf, wanted, what), element, spec)


def _fitting(leaf: Any, wanted: Any, what: str) -> Any:
    if isinstance(wanted, TensorSpec) and isinstance(leaf, Tensor):
        if leaf.dtype != wanted.dtype:
            raise TypeError(
                f"{what} must have dtype {wanted.dtype.name}, got {leaf.dtype.name}: use tf.cast."
            )
        if not wanted.shape.is_compatible_with(leaf.shape):
            raise ValueError(f"{what} must have shape {wanted.shape}, got {leaf.shape}.")
    elif hasattr(wanted, "is_compatible_with") and not wanted.is_compatible_with(leaf):
        raise TypeError(f"{what} must fit {wanted}, got {leaf!r}.")
    return leaf
