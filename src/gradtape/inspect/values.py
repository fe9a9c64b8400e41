"""Arrays that may hold NaN or infinity: where they do, and what a function of several of them owes
to which.

`responsible` finds out by trying: the elements that are not finite are replaced by ones that are,
one argument after the other and then one half of an argument after the other, and the function runs
again. So it knows nothing of single ops.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gradtape.core.batching import BatchedTensor
from gradtape.core.tensor import Tensor
from gradtape.engines.numpy.engine import Quiet

Index = tuple[int, ...]

HARMLESS = 0.5
"""What is put in place of a value that is not finite, or of one that is not known: most functions
are finite there.
"""


def plain(value: Any) -> Any:
    """A Tensor's array, on the host; numbers and arrays stay as they are."""
    while isinstance(value, BatchedTensor):
        value = value.inner
    array = value.array if isinstance(value, Tensor) else value
    if isinstance(array, (np.ndarray, np.generic)) or not hasattr(array, "dtype"):
        return array
    return np.asarray(array)


def wrong(value: Any) -> Any:
    """True where an array or a number is not finite; of other dtypes than floats, all is finite."""
    array = np.asarray(value)
    if array.dtype.kind not in "fcV":
        return np.zeros(array.shape, bool)
    with Quiet():
        return ~np.isfinite(array)


def is_wrong(value: Any) -> bool:
    return bool(wrong(value).any())


def first(mask: Any) -> Index:
    """The first place where a mask is true."""
    return tuple(int(i) for i in np.unravel_index(int(np.argmax(mask)), np.shape(mask)))


def at(value: Any, index: Index) -> Any:
    """An element, as a Python number."""
    return np.asarray(value)[index].item()


def spread(index: Index, shape: Sequence[int]) -> Index:
    """The place in an argument of this shape that broadcasting shows at `index` of the result."""
    if not shape:
        return ()
    return tuple(0 if size == 1 else i for i, size in zip(index[-len(shape) :], shape, strict=True))


def made_finite(array: Any, other: float = HARMLESS) -> Any:
    """The array with another number in place of what is not finite."""
    array = np.asarray(array)
    return np.where(wrong(array), array.dtype.type(other), array)


def responsible(
    compute: Callable[[list[Any]], Any],
    arrays: Sequence[Any],
    index: Any,
    *,
    other: float = HARMLESS,
) -> list[tuple[int, Index]]:
    """The arguments, each with one place, that make the result at `index` not finite; nothing if it
    is so without them.

    `compute` gives an array, or None if it cannot.
    """
    bad = [k for k, array in enumerate(arrays) if array is not None and is_wrong(array)]
    if not bad:
        return []
    cleaned = [made_finite(array, other) if k in bad else array for k, array in enumerate(arrays)]

    def spoils(changed: dict[int, Any]) -> bool | None:
        found = compute([changed.get(k, array) for k, array in enumerate(cleaned)])
        return None if found is None else bool(wrong(_part(found, index)).any())

    by_itself = spoils({})
    if by_itself is None:
        return [(k, first(wrong(arrays[k]))) for k in bad]
    if by_itself:
        return []
    alone = [k for k in bad if len(bad) == 1 or spoils({k: arrays[k]})]
    if not alone:  # it takes several
        return [(k, first(wrong(arrays[k]))) for k in bad]
    return [(k, _place(spoils, k, arrays[k], cleaned[k])) for k in alone]


def _place(
    spoils: Callable[[dict[int, Any]], bool | None], k: int, array: Any, cleaned: Any
) -> Index:
    """One element of an argument that spoils the result, found by halving."""
    shape = np.shape(array)
    array, cleaned = np.ravel(array), np.ravel(cleaned)
    places = np.flatnonzero(wrong(array))
    while len(places) > 1:
        half = places[: len(places) // 2]
        tried = cleaned.copy()
        tried[half] = array[half]
        places = half if spoils({k: tried.reshape(shape)}) else places[len(half) :]
    return tuple(int(i) for i in np.unravel_index(int(places[0]), shape))


def _part(found: Any, index: Any) -> Any:
    """An element of a result, given by its place; of one of many, by its number and its place."""
    if isinstance(found, (list, dict)):
        return np.asarray(found[index[0]])[index[1]]
    return np.asarray(found)[index]
