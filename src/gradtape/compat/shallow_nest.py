"""`tensorflow.python.util.nest`: beside `tf.nest`, functions of a *shallow* structure, which says
how far another one is taken apart, and of paths. Libraries import them from there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from gradtape import nest
from gradtape.nest import (
    assert_same_structure,
    flatten,
    is_nested,
    map_structure,
    pack_sequence_as,
)

__all__ = [
    "assert_same_structure", "assert_shallow_structure", "flatten", "flatten_up_to",
    "flatten_with_joined_string_paths", "flatten_with_tuple_paths",
    "get_traverse_shallow_structure", "is_attrs", "is_mapping", "is_namedtuple", "is_nested",
    "is_nested_or_composite", "is_sequence", "map_structure", "map_structure_up_to",
    "map_structure_with_paths", "map_structure_with_tuple_paths",
    "map_structure_with_tuple_paths_up_to", "pack_sequence_as", "yield_flat_paths",
]  # fmt: skip

is_sequence = is_nested


def is_mapping(value: Any) -> bool:
    return isinstance(value, Mapping)


def is_namedtuple(value: Any, strict: bool = False) -> bool:
    return isinstance(value, tuple) and hasattr(value, "_fields")


_is_namedtuple = is_namedtuple
_is_mapping = is_mapping


def is_attrs(value: Any) -> bool:
    return hasattr(type(value), "__attrs_attrs__")


def is_nested_or_composite(value: Any) -> bool:
    return is_nested(value) or nest.is_composite(value)


def _yield_value(structure: Any) -> Iterator[Any]:
    for _, value in _yield_sorted_items(structure):
        yield value


def _yield_sorted_items(structure: Any) -> Iterator[tuple[Any, Any]]:
    """The entries of one container with their keys, those of a mapping in the order of keys."""
    if isinstance(structure, Mapping):
        for key in sorted(structure):
            yield key, structure[key]
    elif is_namedtuple(structure):
        yield from zip(structure._fields, structure, strict=True)
    elif is_attrs(structure):
        for attribute in type(structure).__attrs_attrs__:
            yield attribute.name, getattr(structure, attribute.name)
    elif nest.is_composite(structure):
        yield type(structure).__name__, structure.__gradtape_spec__()._to_components(structure)
    else:
        yield from enumerate(structure)


def _sequence_like(instance: Any, entries: Any) -> Any:
    """A container like another one, with other entries."""
    entries = list(entries)
    if isinstance(instance, Mapping):
        kind: Any = type(instance)
        found = dict(zip(sorted(instance), entries, strict=True))
        ordered = {key: found[key] for key in instance}
        if type(instance) is dict:
            return ordered
        if hasattr(instance, "default_factory"):
            return kind(instance.default_factory, ordered)
        return kind(ordered)
    if is_namedtuple(instance):
        return type(instance)(*entries)
    if is_attrs(instance):
        names = [attribute.name for attribute in type(instance).__attrs_attrs__]
        return type(instance)(**dict(zip(names, entries, strict=True)))
    if nest.is_composite(instance):
        return instance.__gradtape_spec__()._from_components(entries[0])
    wrapped = getattr(instance, "__wrapped__", None)
    if wrapped is not None:
        return type(instance)(_sequence_like(wrapped, entries))
    return type(instance)(entries)


def _opens(structure: Any, expand_composites: bool) -> bool:
    return is_nested(structure) or (expand_composites and nest.is_composite(structure))


def assert_shallow_structure(
    shallow_tree: Any,
    input_tree: Any,
    check_types: bool = True,
    expand_composites: bool = False,
) -> None:
    """Raises an error unless `input_tree` is nested at least as `shallow_tree` is."""
    if not _opens(shallow_tree, expand_composites):
        return
    if not _opens(input_tree, expand_composites):
        raise TypeError(
            "If shallow structure is a sequence, input must also be a sequence. Input has type: "
            f"{type(input_tree).__name__}."
        )
    both_mappings = is_mapping(shallow_tree) and is_mapping(input_tree)
    if check_types and type(shallow_tree) is not type(input_tree) and not both_mappings:
        raise TypeError(
            "The two structures don't have the same sequence type. Input structure has type "
            f"{type(input_tree).__name__}, while shallow structure has type "
            f"{type(shallow_tree).__name__}."
        )
    ours = dict(_yield_sorted_items(shallow_tree))
    theirs = dict(_yield_sorted_items(input_tree))
    if len(ours) != len(theirs):
        raise ValueError(
            "The two structures don't have the same sequence length. Input structure has length "
            f"{len(theirs)}, while shallow structure has length {len(ours)}."
        )
    if both_mappings and ours.keys() != theirs.keys():
        raise ValueError(
            f"The two structures don't have the same keys: {sorted(ours)} and {sorted(theirs)}."
        )
    for shallow, deep in zip(ours.values(), theirs.values(), strict=True):
        assert_shallow_structure(shallow, deep, check_types, expand_composites)


def _up_to(
    shallow: Any, deep: Any, expand_composites: bool, path: tuple[Any, ...] = ()
) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """The parts of a structure where a shallow one has leaves, with their paths."""
    if not _opens(shallow, expand_composites):
        yield path, deep
        return
    pairs = zip(_yield_sorted_items(shallow), _yield_value(deep), strict=True)
    for (key, below), part in pairs:
        yield from _up_to(below, part, expand_composites, (*path, key))


def flatten_up_to(
    shallow_tree: Any,
    input_tree: Any,
    check_types: bool = True,
    expand_composites: bool = False,
) -> list[Any]:
    """The parts of `input_tree` where `shallow_tree` has leaves."""
    assert_shallow_structure(shallow_tree, input_tree, check_types, expand_composites)
    return [part for _, part in _up_to(shallow_tree, input_tree, expand_composites)]


def map_structure_up_to(
    shallow_tree: Any, func: Callable[..., Any], *inputs: Any, **options: Any
) -> Any:
    """`func` of those parts, in the structure of `shallow_tree`."""
    return map_structure_with_tuple_paths_up_to(
        shallow_tree, lambda _, *parts: func(*parts), *inputs, **options
    )


def map_structure_with_tuple_paths_up_to(
    shallow_tree: Any,
    func: Callable[..., Any],
    *inputs: Any,
    check_types: bool = True,
    expand_composites: bool = False,
) -> Any:
    """The same, with the path of each part as the first argument of `func`."""
    if not inputs:
        raise ValueError("Cannot map over no sequences.")
    for each in inputs:
        assert_shallow_structure(shallow_tree, each, check_types, expand_composites)
    columns = zip(*(_up_to(shallow_tree, each, expand_composites) for each in inputs), strict=True)
    found = iter([func(column[0][0], *(part for _, part in column)) for column in columns])
    return _filled(shallow_tree, found, expand_composites)


def _filled(shallow: Any, leaves: Iterator[Any], expand_composites: bool) -> Any:
    if not _opens(shallow, expand_composites):
        return next(leaves)
    parts = [_filled(part, leaves, expand_composites) for part in _yield_value(shallow)]
    return _sequence_like(shallow, parts)


def map_structure_with_tuple_paths(
    func: Callable[..., Any], *structure: Any, **options: Any
) -> Any:
    """`func` of the path of each leaf and the leaves."""
    return map_structure_with_tuple_paths_up_to(structure[0], func, *structure, **options)


def map_structure_with_paths(func: Callable[..., Any], *structure: Any, **options: Any) -> Any:
    """`func` of the path of each leaf, joined with slashes, and the leaves."""
    return map_structure_with_tuple_paths(
        lambda path, *leaves: func("/".join(map(str, path)), *leaves), *structure, **options
    )


def yield_flat_paths(structure: Any, expand_composites: bool = False) -> Iterator[tuple[Any, ...]]:
    """The paths of the leaves."""
    for path, _ in _up_to(structure, structure, expand_composites):
        yield path


def flatten_with_tuple_paths(
    structure: Any, expand_composites: bool = False
) -> list[tuple[tuple[Any, ...], Any]]:
    """The leaves with their paths."""
    return list(_up_to(structure, structure, expand_composites))


def flatten_with_joined_string_paths(
    structure: Any, separator: str = "/", expand_composites: bool = False
) -> list[tuple[str, Any]]:
    """The leaves with their paths as text."""
    found = _up_to(structure, structure, expand_composites)
    return [(separator.join(map(str, path)), leaf) for path, leaf in found]


def get_traverse_shallow_structure(
    traverse_fn: Callable[[Any], Any], structure: Any, expand_composites: bool = False
) -> Any:
    """The shallow structure that `traverse_fn` wants to be opened: it says of each part whether it
    is, or, in a structure of booleans, which of its entries are.
    """
    opened = traverse_fn(structure)
    if not _opens(structure, expand_composites):
        if opened not in (True, False):
            raise TypeError(f"traverse_fn returned {opened!r} for a leaf, which is no bool.")
        return False
    if isinstance(opened, bool):
        if not opened:
            return False
        return _sequence_like(
            structure,
            [
                get_traverse_shallow_structure(traverse_fn, part, expand_composites)
                if _opens(part, expand_composites)
                else False
                for part in _yield_value(structure)
            ],
        )
    wanted = list(_yield_value(opened))
    parts = list(_yield_value(structure))
    return _sequence_like(
        structure,
        [
            get_traverse_shallow_structure(traverse_fn, part, expand_composites) if open_ else False
            for part, open_ in zip(parts, wanted, strict=True)
        ],
    )
