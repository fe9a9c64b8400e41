"""Rows of `gradtape.ops.convolution`: each map is summed up term by term in the reference."""

from __future__ import annotations

from itertools import product

import numpy as np

from gradtape.ops import convolution as c
from gradtape.ops.convolution import Windows

from .table import Case, real, sample

ALL = slice(None)


def touching(windows, sizes):
    """Every place of the kernel with every window, and the element of the input under it,
    if there is one.
    """
    for place, window in product(np.ndindex(*windows.kernel), np.ndindex(*windows.outputs(sizes))):
        at = tuple(
            w * stride + p * dilation - low
            for w, p, stride, (low, _), dilation in zip(
                window, place, windows.strides, windows.padding, windows.dilations, strict=True
            )
        )
        if all(0 <= i < size for i, size in zip(at, sizes, strict=True)):
            yield place, window, at


def terms(windows, groups, sizes, channels, filters):
    """Keys of the elements of w, y and x that meet: in each group,
    some channels and some filters.
    """
    inputs, outputs = channels // groups, filters // groups
    for (place, window, at), group in product(list(touching(windows, sizes)), range(groups)):
        some = slice(group * outputs, (group + 1) * outputs)
        yield (
            (*place, ALL, some),
            (ALL, *window, some),
            (ALL, *at, slice(group * inputs, (group + 1) * inputs)),
        )


def conv(x, w, windows, groups):
    y = np.zeros((len(x), *windows.outputs(x.shape[1:-1]), w.shape[-1]))
    for in_w, in_y, in_x in terms(windows, groups, x.shape[1:-1], x.shape[-1], w.shape[-1]):
        y[in_y] += x[in_x] @ w[in_w]
    return y


def conv_by_input(w, y, windows, groups, sizes):
    x = np.zeros((len(y), *sizes, w.shape[-2] * groups))
    for in_w, in_y, in_x in terms(windows, groups, sizes, x.shape[-1], w.shape[-1]):
        x[in_x] += y[in_y] @ w[in_w].T
    return x


def conv_by_filter(x, y, windows, groups):
    w = np.zeros((*windows.kernel, x.shape[-1] // groups, y.shape[-1]))
    for in_w, in_y, in_x in terms(windows, groups, x.shape[1:-1], x.shape[-1], y.shape[-1]):
        w[in_w] += x[in_x].T @ y[in_y]
    return w


CONVOLUTIONS = [  # x, w, windows, groups
    ((2, 3, 3, 2), (2, 2, 2, 2), Windows((2, 2), (1, 1), ((0, 0), (0, 0)), (1, 1)), 1),
    ((1, 4, 3, 1), (3, 2, 1, 2), Windows((3, 2), (2, 1), ((1, 1), (0, 1)), (1, 1)), 1),
    ((1, 5, 2), (2, 2, 3), Windows((2,), (1,), ((2, 0),), (2,)), 1),
    ((2, 4, 4), (2, 2, 2), Windows((2,), (2,), ((0, 1),), (1,)), 2),
    ((1, 3, 3, 2), (2, 2, 1, 4), Windows((2, 2), (1, 1), ((1, 0), (0, 1)), (1, 1)), 2),
    (
        (1, 2, 2, 2, 1),
        (1, 2, 1, 1, 2),
        Windows((1, 2, 1), (1, 1, 1), ((0, 0), (0, 1), (0, 0)), (1, 1, 1)),
        1,
    ),
    ((1, 3, 2), (1, 2, 2), Windows((1,), (2,), ((0, 0),), (1,)), 1),
    ((0, 3, 3, 1), (2, 2, 1, 2), Windows((2, 2), (1, 1), ((0, 0), (0, 0)), (1, 1)), 1),
    ((1, 1, 2), (3, 2, 1), Windows((3,), (1,), ((0, 0),), (1,)), 1),
    ((2, 2, 4, 2), (7, 3, 2, 3), Windows((7, 3), (3, 1), ((1, 1), (0, 0)), (1, 1)), 1),
    ((2, 4, 2, 2), (2, 3, 1, 4), Windows((2, 3), (1, 2), ((0, 0), (0, 0)), (1, 4)), 2),
    ((1, 3, 3, 4), (5, 5, 2, 2), Windows((5, 5), (1, 1), ((0, 1), (0, 0)), (1, 1)), 2),
]


def samples(first, second, *, sizes=False):
    """The convolutions with two of the three arrays as arguments."""
    found = []
    for x, w, windows, groups in CONVOLUTIONS:
        shapes = {"x": x, "w": w, "y": (x[0], *windows.outputs(x[1:-1]), w[-1])}
        more = {"sizes": x[1:-1]} if sizes else {}
        found.append(
            sample(
                real(*shapes[first]), real(*shapes[second]), windows=windows, groups=groups, **more
            )
        )
    return found


ROWS = [
    Case(c.conv, conv, samples("x", "w")),
    Case(c.conv_by_input, conv_by_input, samples("w", "y", sizes=True)),
    Case(c.conv_by_filter, conv_by_filter, samples("x", "y")),
]
