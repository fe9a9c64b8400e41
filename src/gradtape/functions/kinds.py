"""`Kinds`: how many kinds of arguments a function has been called with, as TensorFlow counts them.

An XLA program has fixed shapes, so there is one program for each shape, and the Python function
runs for each. But where a signature leaves a size open, or `reduce_retracing` is set, the user
counts all sizes as one kind. So are string tensors of the same shape, although each is a constant
of its program.
"""

from __future__ import annotations

from typing import Any

from gradtape.functions.signature import kind_of

Sizes = tuple[int | None, ...] | None
"""A shape with open sizes; None is a shape of any rank."""


class Kinds:
    """The kinds of arguments a function has been traced for: keys of calls, some of them with open
    sizes.
    """

    def __init__(self, *, declared: bool, relaxes: bool) -> None:
        self._declared = declared  # a signature says what fits, and it is all one kind
        self._relaxes = relaxes
        self._found: list[Any] = []

    def __len__(self) -> int:
        return len(self._found)

    def add(self, key: Any) -> bool:
        """Whether the arguments with this key, which may have open sizes, are of a new kind."""
        if self.has(key):
            return False
        key = kind_of(key)
        if self._relaxes:
            key = next(
                (wider for kind in self._found if (wider := _wider(kind, key)) is not None), key
            )
        self._found.append(key)
        return True

    def has(self, key: Any) -> bool:
        key = kind_of(key)
        return any(self._declared or _covers(kind, key) for kind in self._found)


def _covers(kind: Any, key: Any) -> bool:
    """Whether arguments with a key belong to a kind."""
    if kind == key:
        return True
    return kind[0] == key[0] and all(
        a == b or _fits(a, b) for a, b in zip(kind[1], key[1], strict=True)
    )


def _fits(kind: Any, leaf: Any) -> bool:
    if not (_is_tensor(kind) and _is_tensor(leaf)) or kind[1] != leaf[1]:
        return False
    open_sizes, sizes = kind[0], leaf[0]
    if open_sizes is None:
        return True
    return (
        sizes is not None
        and len(open_sizes) == len(sizes)
        and all(a in (None, b) for a, b in zip(open_sizes, sizes, strict=True))
    )


def _wider(kind: Any, key: Any) -> Any:
    """The kind that covers both, if they differ only in the shapes of tensors."""
    if kind[0] != key[0]:
        return None
    leaves = []
    for a, b in zip(kind[1], key[1], strict=True):
        if a == b:
            leaves.append(a)
        elif _is_tensor(a) and _is_tensor(b) and a[1] == b[1]:
            leaves.append((_common(a[0], b[0]), a[1]))
        else:
            return None
    return kind[0], tuple(leaves)


def _common(a: Sizes, b: Sizes) -> Sizes:
    if a is None or b is None or len(a) != len(b):
        return None
    return tuple(m if m == n else None for m, n in zip(a, b, strict=True))


def _is_tensor(leaf: Any) -> bool:
    """Whether a part of a key stands for a tensor: by its shape and dtype."""
    return (
        isinstance(leaf, tuple)
        and len(leaf) == 2
        and (leaf[0] is None or isinstance(leaf[0], tuple))
    )
