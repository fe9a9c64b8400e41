"""Lists and dicts that are told of new entries while values of a checkpoint wait for those.

`restoring` puts one in the place of a list or dict that is set as an attribute after `restore`.
Copies are plain lists and dicts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache
from typing import Any, SupportsIndex

Waiting = Callable[[str, Any], Any]
"""Gives an entry of this name its value, and says what to put in its place."""


def growing(thing: Any, waiting: Waiting) -> Any:
    """A list or dict that tells of new entries, with the entries of this one."""
    _register()
    return (GrowingList if isinstance(thing, list) else GrowingDict)(thing, waiting)


class GrowingList(list[Any]):
    """A list that tells of new entries by their positions."""

    __slots__ = ("waiting",)

    def __init__(self, entries: Iterable[Any], waiting: Waiting) -> None:
        super().__init__(entries)
        self.waiting: Waiting | None = waiting

    def _told(self, position: int, entry: Any) -> Any:
        return entry if self.waiting is None else self.waiting(str(position), entry)

    def append(self, entry: Any, /) -> None:
        super().append(self._told(len(self), entry))

    def extend(self, entries: Iterable[Any], /) -> None:
        new = list(entries)  # may be this list
        super().extend([self._told(at, entry) for at, entry in enumerate(new, len(self))])

    def __iadd__(self, entries: Iterable[Any], /) -> GrowingList:  # type: ignore[misc]
        self.extend(entries)
        return self

    def insert(self, position: SupportsIndex, entry: Any, /) -> None:
        at = slice(position, None).indices(len(self))[0]
        super().insert(at, self._told(at, entry))

    def __setitem__(self, key: Any, value: Any, /) -> None:
        if isinstance(key, slice):
            start, _, step = key.indices(len(self))
            value = [self._told(start + step * n, entry) for n, entry in enumerate(value)]
        else:
            at = range(len(self))[key]
            value = self._told(at, value)
        super().__setitem__(key, value)

    def __reduce_ex__(self, protocol: SupportsIndex, /) -> tuple[Any, ...]:
        return list, (list(self),)


class GrowingDict(dict[Any, Any]):
    """A dict that tells of new entries by their keys."""

    __slots__ = ("waiting",)

    def __init__(self, entries: Any, waiting: Waiting) -> None:
        super().__init__(entries)
        self.waiting: Waiting | None = waiting

    def __setitem__(self, key: Any, value: Any, /) -> None:
        super().__setitem__(key, value if self.waiting is None else self.waiting(str(key), value))

    def setdefault(self, key: Any, default: Any = None, /) -> Any:
        if key not in self:
            self[key] = default
        return self[key]

    def update(self, *entries: Any, **named: Any) -> None:
        for key, value in dict(*entries, **named).items():
            self[key] = value

    def __ior__(self, entries: Any, /) -> GrowingDict:  # type: ignore[misc]
        self.update(entries)
        return self

    def __reduce_ex__(self, protocol: SupportsIndex, /) -> tuple[Any, ...]:
        return dict, (dict(self),)


@cache
def _register() -> None:
    """Has `nest` see into them, as into others."""
    import optree  # noqa: PLC0415 - loaded at its first use

    everywhere = optree.registry.__GLOBAL_NAMESPACE
    optree.register_pytree_node(
        GrowingList, lambda held: (list(held), None), _as_list, namespace=everywhere
    )
    optree.register_pytree_node(GrowingDict, _taken_apart, _as_dict, namespace=everywhere)


def _as_list(_: Any, entries: Iterable[Any]) -> Any:
    return list(entries)


def _taken_apart(held: Any) -> tuple[list[Any], tuple[Any, ...], tuple[Any, ...]]:
    plain = dict(held)
    try:
        keys = tuple(sorted(plain))
    except TypeError:
        keys = tuple(plain)
    return [plain[key] for key in keys], keys, keys


def _as_dict(keys: Any, entries: Iterable[Any]) -> Any:
    return dict(zip(keys, entries, strict=True))
