"""`NumpyMethods`: the methods of arrays that are functions of `gradtape.numpy`, for type checkers.

A function in the body of a class is a method, so each has its function's arguments and types. When
a program runs, `core.array_methods` has the same names for functions that it imports one by one, at
their first call.
"""

from __future__ import annotations

from gradtape.api.numpy import (
    arithmetic,
    diagonals,
    elementary,
    elementwise,
    indexing,
    ordering,
    products,
    rearranging,
    reductions,
    shaping,
    statistics,
)
from gradtape.core.tensor import Tensor


class NumpyMethods:
    """What `Tensor` and `Variable` inherit, as type checkers see it."""

    __slots__ = ()

    def conj(self) -> Tensor:  # the function is a ufunc, which checkers do not take for a method
        """The complex conjugates."""
        return arithmetic.conj(self)

    conjugate = conj
    diagonal = diagonals.diagonal
    round = elementary.round
    clip = elementwise.clip
    choose = indexing.choose
    take = indexing.take
    argpartition = ordering.argpartition
    argsort = ordering.argsort
    searchsorted = ordering.searchsorted
    dot = products.dot
    trace = products.trace
    repeat = rearranging.repeat
    all = reductions.all
    any = reductions.any
    argmax = reductions.argmax
    argmin = reductions.argmin
    cumprod = reductions.cumprod
    cumsum = reductions.cumsum
    max = reductions.max
    mean = reductions.mean
    min = reductions.min
    prod = reductions.prod
    sum = reductions.sum
    astype = shaping.astype
    copy = shaping.copy
    ravel = shaping.ravel
    squeeze = shaping.squeeze
    swapaxes = shaping.swapaxes
    view = shaping.view
    std = statistics.std
    var = statistics.var
