"""Strong zeros: where a cotangent is exactly zero, what a rule passes back is zero,
whatever the derivative there.

A rule computes `g * partial`, which is NaN where g is 0 and the partial is not finite. The repair
is to put the zeros back; the question is how to know, at almost no cost, that there is something to
repair. Each thread has a `watch`, a list that is empty as long as there is nothing; a pull on plain
arrays checks it once:

- Where 0 meets infinity, the processor raises its invalid flag. NumPy checks the flags after each
  operation, and calls a handler that puts a note on the watch.
- A partial that is NaN raises no flag, but then a value is NaN too. Either it shows in the target,
  or an op in between has hidden it (`where`, a slice): a walk puts HIDDEN on the watch for such a
  target, and when it passes such an op, and from then on every pull checks its result.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from gradtape.core.node import Node

INVALID = "invalid"
HIDDEN = "hidden"


class Ones(dict["Node", Any]):
    """The seeds of a walk that starts from ones, for targets that hold no NaN."""


def has_nan(array: Any) -> bool:
    """Whether an array of floats contains a NaN, in one pass: only then is the sum of squares
    NaN.
    """
    if array.ndim:
        if array.dtype.char not in "fdFD":
            return bool(np.isnan(array).any())
        if not array.flags.c_contiguous:
            # A transposed array as it lies in memory, of which `vdot` makes no copy.
            strides = array.strides
            array = array.transpose(sorted(range(array.ndim), key=lambda i: -strides[i]))
        array = np.vdot(array, array)
    return bool(array != array)  # noqa: PLR0124 - true of NaN alone


def repaired(pulled: Any, g: Any, watch: list[str]) -> Any:
    """What an elementwise rule has pulled from `g`, with zeros where g is zero, if it contains a
    NaN at all.
    """
    watch[:] = [HIDDEN] if HIDDEN in watch else []
    if _is_one_number(g) and not has_zero(g):  # the answer that costs least
        return pulled
    if not has_nan(pulled) or not has_zero(g):
        return pulled
    return np.where(np.equal(g, 0), pulled.dtype.type(0), pulled)[()]


def shows_nan(x: Any, out: Any) -> bool:
    """Whether `x` contains no NaN that `out` could hide; False if `x` is too large to check."""
    return type(x) is np.ndarray and x.size <= 4 * out.size and not has_nan(x)


def has_zero(array: Any) -> bool:
    """Whether an array contains a zero; of a broadcast number, such as the cotangent of a large
    sum, only one element is checked.
    """
    if _is_one_number(array):
        return bool(array[(0,) * array.ndim] == 0)
    return bool(np.equal(array, 0).any())


def _is_one_number(array: Any) -> bool:
    return not any(array.strides) and bool(array.size)
