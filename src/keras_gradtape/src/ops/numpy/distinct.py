"""Keras's `unique`, whose result has a fixed size where one is given,
so that it can be compiled.
"""

from __future__ import annotations

from math import prod
from typing import Any

import gradtape as tf
import gradtape.numpy as gnp
from keras_gradtape.src.conversion import convert_to_tensor
from keras_gradtape.src.ops.operands import cast_to


def unique(
    x: Any,
    sorted: bool = True,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: int | None = None,
    size: int | None = None,
    fill_value: Any = None,
) -> Any:
    """Each element, or each slice along an axis, once, in rising order; and, if asked, where it
    stood first, its number for each element, and how often it was there. With `size`, so many of
    them, or filled up with `fill_value`.
    """
    x = convert_to_tensor(x)
    if size is None:
        found = gnp.unique(
            x,
            return_index=True,
            return_inverse=True,
            return_counts=True,
            axis=axis,
            equal_nan=False,
        )
    else:
        found = _of_fixed_size(x, axis, size, 0 if fill_value is None else fill_value)
    values, *places = found
    asked = [
        cast_to(part, "int32")
        for part, wanted in zip(places, (return_index, return_inverse, return_counts), strict=True)
        if wanted
    ]
    return (values, *asked) if asked else values


def _of_fixed_size(
    x: Any, axis: int | None, size: int, fill_value: Any
) -> tuple[Any, Any, Any, Any]:
    """The same by sorting: equal slices come to stand together, and each that differs from the one
    before it begins a group.
    """
    slices = gnp.ravel(x) if axis is None else gnp.moveaxis(x, axis, 0)
    fill = convert_to_tensor(fill_value, x.dtype.name)
    count, shape = slices.shape[0], tuple(slices.shape[1:])
    if not count:
        values, first = gnp.full((size, *shape), fill), gnp.ones(size, "int32")
        inverse = gnp.zeros(0, "int32")
        counts = gnp.zeros(size, "int32")
    else:
        rows = gnp.reshape(slices, (count, prod(shape)))
        order = _order(rows)
        in_order = gnp.take(rows, order, 0)
        begins = cast_to(gnp.any(in_order[1:] != in_order[:-1], axis=1), "int32")
        group = gnp.concatenate([gnp.zeros(1, "int32"), gnp.cumsum(begins)])
        kept = gnp.where(group < size, group, -1)
        there = gnp.arange(size) <= group[-1]
        first = gnp.where(there, tf.math.unsorted_segment_min(order, kept, size), 1)
        counts = tf.math.unsorted_segment_sum(gnp.ones(count, "int32"), kept, size)
        picked = gnp.take(slices, gnp.where(there, first, 0), 0)
        values = gnp.where(gnp.reshape(there, (size,) + (1,) * len(shape)), picked, fill)
        inverse = gnp.take(group, gnp.argsort(order), 0)
    if axis is None:
        return values, first, gnp.reshape(inverse, x.shape), counts
    return gnp.moveaxis(values, 0, axis), first, inverse, counts


def _order(rows: Any) -> Any:
    """The places of the rows in rising order: sorted by the last column first,
    so that the first one has the last word.
    """

    def by_column(i: Any, order: Any) -> tuple[Any, Any]:
        column = gnp.take(tf.gather(rows, i, axis=1), order, 0)
        return i - 1, gnp.take(order, gnp.argsort(column, stable=True), 0)

    start = tf.constant(rows.shape[1] - 1), gnp.arange(rows.shape[0])
    return tf.while_loop(lambda i, order: i >= 0, by_column, start)[1]
