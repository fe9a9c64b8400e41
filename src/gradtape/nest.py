"""Nested structures (`tf.nest`): lists, tuples, dicts, named tuples and whatever else optree knows;
None is a leaf.

A *composite* is a leaf made of tensors, such as a TensorArray, which `expand_composites` opens: it
has `__gradtape_flatten__()`, which returns its tensors, and `__gradtape_unflatten__(tensors)`,
which returns one like it made from the next tensors of an iterator.

Everything may use this module.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import optree
else:

    class _Later:
        """optree, which is loaded at its first use:
        that takes a sixth of the time of all other imports.
        """

        def __getattr__(self, name: str) -> Any:
            import optree  # noqa: PLC0415

            globals()["optree"] = optree
            return getattr(optree, name)

    optree = _Later()

__all__ = ["assert_same_structure", "flatten", "is_nested", "map_structure", "pack_sequence_as"]


def flatten(structure: Any, expand_composites: bool = False) -> list[Any]:
    """The leaves of `structure`, dict entries in the order of their keys.

    >>> import gradtape as tf
    >>> tf.nest.flatten({"b": [1, 2], "a": 3})
    [3, 1, 2]
    """
    leaves = optree.tree_leaves(structure, is_leaf=_is_ordered, none_is_leaf=True)
    if any(type(leaf) is OrderedDict for leaf in leaves):
        leaves = [
            below
            for leaf in leaves
            for below in (flatten(dict(leaf)) if type(leaf) is OrderedDict else [leaf])
        ]
    if expand_composites:
        leaves = [
            part
            for leaf in leaves
            for part in (leaf.__gradtape_flatten__() if is_composite(leaf) else [leaf])
        ]
    return leaves


def flatten_keys(structure: dict[Any, Any]) -> list[Any]:
    """The keys of a dict in the order in which `flatten` gives its entries."""
    return sorted(structure) if _can_be_sorted(structure) else list(structure)


def _can_be_sorted(keys: Any) -> bool:
    try:
        sorted(keys)
    except TypeError:
        return False
    return True


def is_composite(leaf: Any) -> bool:
    """Whether a leaf is made of tensors, which `expand_composites` gives."""
    return hasattr(leaf, "__gradtape_flatten__")


def pack_sequence_as(
    structure: Any, flat_sequence: Sequence[Any], expand_composites: bool = False
) -> Any:
    """`flat_sequence` in the shape of `structure`.

    >>> import gradtape as tf
    >>> tf.nest.pack_sequence_as({"b": (0, 0), "a": 0}, [3, 1, 2])
    {'b': (1, 2), 'a': 3}
    """
    if not is_nested(flat_sequence):
        raise TypeError(
            f"flat_sequence must be a list or tuple of leaves, got {type(flat_sequence).__name__}."
        )
    if expand_composites:
        flat_sequence = _with_composites(structure, flat_sequence)
    count = len(flatten(structure))
    if len(flat_sequence) != count:
        raise ValueError(
            f"structure has {count} leaves, but flat_sequence has {len(flat_sequence)}."
        )
    return _packed(structure, iter(flat_sequence))


def _with_composites(structure: Any, flat_sequence: Sequence[Any]) -> list[Any]:
    """The leaves of a structure, with composites made of those parts of a longer list that are
    theirs.
    """
    given = iter(flat_sequence)
    try:
        leaves = _leaves_of(structure, given)
    except StopIteration:
        raise ValueError(
            f"structure has more leaves than the {len(flat_sequence)} of flat_sequence."
        ) from None
    return [*leaves, *given]


def from_leaves(structure: Any, leaves: Iterator[Any]) -> Any:
    """A structure like this one of the next leaves, of which composites take as many as they
    have.
    """
    return _packed(structure, iter(_leaves_of(structure, leaves)))


def _leaves_of(structure: Any, given: Iterator[Any]) -> list[Any]:
    return [
        leaf.__gradtape_unflatten__(given) if is_composite(leaf) else next(given)
        for leaf in flatten(structure)
    ]


def _packed(structure: Any, flat: Iterator[Any]) -> Any:
    leaves, spec = optree.tree_flatten(structure, is_leaf=_is_ordered, none_is_leaf=True)
    return optree.tree_unflatten(
        spec, [_ordered(leaf, flat) if type(leaf) is OrderedDict else next(flat) for leaf in leaves]
    )


def _ordered(structure: OrderedDict[Any, Any], flat: Iterator[Any]) -> OrderedDict[Any, Any]:
    return OrderedDict(_packed(dict(structure), flat))


def _is_ordered(structure: Any) -> bool:
    """optree takes the entries of an OrderedDict in their own order; TensorFlow sorts them,
    as those of every dict.
    """
    return type(structure) is OrderedDict


def map_structure(
    func: Callable[..., Any], *structure: Any, expand_composites: bool = False, **kwargs: Any
) -> Any:
    """`func` applied to the leaves of one or more structures that are alike.

    >>> import gradtape as tf
    >>> tf.nest.map_structure(lambda a, b: a + b, [1, (2,)], [10, (20,)])
    [11, (22,)]
    """
    if not callable(func):
        raise TypeError(f"func must be callable, got {func!r}.")
    if not structure:
        raise ValueError("map_structure needs at least one structure.")
    check_types = kwargs.pop("check_types", True)
    if kwargs:
        raise ValueError(f"map_structure got unexpected keyword arguments {sorted(kwargs)}.")
    for other in structure[1:]:
        assert_same_structure(structure[0], other, check_types=check_types)
    leaves = zip(*(flatten(s, expand_composites) for s in structure), strict=True)
    return pack_sequence_as(structure[0], [func(*group) for group in leaves], expand_composites)


def assert_same_structure(
    nest1: Any, nest2: Any, check_types: bool = True, expand_composites: bool = False
) -> None:
    """Raises `ValueError` if the nesting differs, `TypeError` if only the container types do.

    >>> import gradtape as tf
    >>> tf.nest.assert_same_structure([1, (2, 3)], [4, (5, 6)])
    """
    one = optree.tree_structure(nest1, none_is_leaf=True)
    two = optree.tree_structure(nest2, none_is_leaf=True)
    if one == two:
        return
    if _shape_only(nest1) == _shape_only(nest2):
        if check_types:
            raise TypeError(
                "The two structures have the same nesting but different container types: "
                f"{nest1!r} and {nest2!r}."
            )
        return
    raise ValueError(f"The two structures do not have the same nesting: {nest1!r} and {nest2!r}.")


def is_nested(structure: Any) -> bool:
    """Whether `structure` is a container that `flatten` would open.

    >>> import gradtape as tf
    >>> tf.nest.is_nested([1]), tf.nest.is_nested("text"), tf.nest.is_nested(None)
    (True, False, False)
    """
    return not optree.tree_is_leaf(structure, none_is_leaf=True)


def _shape_only(structure: Any) -> Any:
    """The nesting with container types forgotten: a list of children,
    dict children beside their sorted keys.
    """
    if not is_nested(structure):
        return None
    children, _, keys, _ = optree.tree_flatten_one_level(structure, none_is_leaf=True)
    names = keys if isinstance(structure, dict) else None
    return names, [_shape_only(child) for child in children]
