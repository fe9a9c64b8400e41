"""Declarations of functions that convert their arguments in one of a few ways and call a function
of `gradtape.numpy`.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from keras.src.backend.common import KerasVariable

import gradtape as tf
import gradtape.numpy as gnp
from keras_gradtape.src.conversion import convert_to_tensor
from keras_gradtape.src.ops import sparse
from keras_gradtape.src.ops.operands import (
    PYTHON_NUMBERS,
    DtypeRule,
    by_rule,
    cast_to,
    result_type,
    tensors,
    together,
)

Function = Callable[..., Any]


_OPERATORS = {"add": "add", "subtract": "sub", "multiply": "mul", "divide": "truediv"}
"""Python's names for functions that are operators of tensors, which cost least."""


def _named(call: Function, name: str) -> Function:
    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"Keras's `{name}`."
    return call


def unary(
    name: str, rule: DtypeRule | None = None, *, keeps_zeros: bool = False, linear: bool = False
) -> Function:
    """A function of one tensor, in the dtype that a rule gives for its own; one that keeps zeros
    leaves a sparse tensor sparse.
    """
    function = getattr(gnp, name)
    keeps_zeros = keeps_zeros or linear

    def call(x: Any) -> Any:
        if keeps_zeros and type(x) is not tf.Tensor and sparse.is_sparse(x):
            return sparse.of_values(call, x, linear=linear)
        return function(convert_to_tensor(x) if rule is None else by_rule(x, rule))

    return _named(call, name)


def binary(
    name: str, *more: Any, rule: DtypeRule | None = None, of_sparse: Function | None = None
) -> Function:
    """A function of two tensors or numbers, in the dtype in which they meet each other and `more`
    dtypes.

    `of_sparse` says how the values of sparse tensors are brought together.
    """
    function = getattr(gnp, name)

    quick = getattr(operator, _OPERATORS.get(name, ""), function)

    def call(x1: Any, x2: Any) -> Any:
        if type(x2) is not tf.Tensor and isinstance(x2, KerasVariable):
            x2 = x2.value
        if (
            type(x1) is tf.Tensor
            and x1.dtype is tf.float32
            and (x2.dtype is tf.float32 if type(x2) is tf.Tensor else type(x2) in PYTHON_NUMBERS)
        ):
            return quick(x1, x2)
        values = x1, x2
        if of_sparse is not None and (sparse.is_sparse(x1) or sparse.is_sparse(x2)):
            return of_sparse(call, x1, x2)
        return function(*together(values, *more, rule=rule))

    return _named(call, name)


def bitwise(name: str) -> Function:
    """A function of two tensors of whole numbers; Keras calls them x and y."""
    function = getattr(gnp, name)

    def call(x: Any, y: Any) -> Any:
        return function(*together((x, y)))

    return _named(call, name)


def product(name: str, rule: DtypeRule | None = None) -> Function:
    """A product of two tensors, in the dtype in which they meet."""
    function = getattr(gnp, name)

    def call(x1: Any, x2: Any) -> Any:
        return function(*tensors((x1, x2), rule=rule))

    return _named(call, name)


def relation(name: str) -> Function:
    """A function of two tensors to truth values; they are compared as they are,
    also where their dtypes differ.
    """
    function = getattr(gnp, name)

    def call(x1: Any, x2: Any) -> Any:
        return function(convert_to_tensor(x1), convert_to_tensor(x2))

    return _named(call, name)


def reduction(
    name: str, compute: DtypeRule | None = None, result: DtypeRule | None = None
) -> Function:
    """A reduction over axes: computed in one dtype, given in another;
    each is what a rule makes of the argument's.
    """
    function = getattr(gnp, name)

    def call(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
        x = convert_to_tensor(x)
        if x.dtype is tf.float32:  # which no rule changes
            return function(x, axis=axis, keepdims=keepdims)
        own = x.dtype.name
        if compute is not None:
            x = cast_to(x, compute(own))
        reduced = function(x, axis=axis, keepdims=keepdims)
        return reduced if result is None else cast_to(reduced, result(own))

    return _named(call, name)


def quantile_like(name: str, rule: DtypeRule) -> Function:
    """A function that gives the values below which parts `q` of the elements lie."""
    function = getattr(gnp, name)

    def call(
        x: Any, q: Any, axis: Any = None, method: str = "linear", keepdims: bool = False
    ) -> Any:
        x = convert_to_tensor(x)
        dtype = rule(x.dtype.name)
        found = function(
            cast_to(x, dtype),
            convert_to_tensor(q, dtype),
            axis=axis,
            method=method,
            keepdims=keepdims,
        )
        return cast_to(found, dtype)

    return _named(call, name)


def cumulative(name: str, rule: DtypeRule) -> Function:
    """Running sums and products, in the dtype that is asked for,
    or in what a rule makes of the argument's.
    """
    function = getattr(gnp, name)

    def call(x: Any, axis: Any = None, dtype: Any = None) -> Any:
        x = convert_to_tensor(x)
        wanted = rule(result_type(x.dtype.name if dtype is None else dtype))
        return function(cast_to(x, wanted), axis=axis, dtype=wanted)

    return _named(call, name)


def stacking(name: str) -> Function:
    """A function that joins a list of tensors, in the dtype in which they meet."""
    function = getattr(gnp, name)

    def call(xs: Any) -> Any:
        return function(tensors(tuple(xs)))

    return _named(call, name)


def splitting(name: str) -> Function:
    """A function that cuts a tensor into a list of tensors along an axis of its own."""
    function = getattr(gnp, name)

    def call(x: Any, indices_or_sections: Any) -> Any:
        return function(convert_to_tensor(x), indices_or_sections)

    return _named(call, name)
