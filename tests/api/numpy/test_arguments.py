"""Wrong arguments of the functions that move, pick, sort and make arrays: each error names the
function and what it was given.
"""

from __future__ import annotations

import numpy as np
import pytest

import gradtape as tf
import gradtape.numpy as tnp

X = tf.constant([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])

REFUSED = {
    "reshape": (lambda: np.reshape(X, (4, -1)), ValueError,
        r"reshape: the 6 elements .* do not fill shape=\(4, -1\)"),
    "reshape twice -1": (lambda: np.reshape(X, (-1, -1)), ValueError, "reshape: .*do not fill"),
    "reshape order": (lambda: np.reshape(X, 6, order="Z"), ValueError, "reshape: order must be"),
    "transpose": (lambda: np.transpose(X, (0, 0)), ValueError, "transpose: axes"),
    "transpose too few": (lambda: np.transpose(X, (0,)), ValueError,
        "transpose: axes=.* must name each of the 2 axes"),
    "matrix_transpose": (lambda: np.matrix_transpose(X[0]), ValueError,
        "matrix_transpose: x must have at least two axes"),
    "moveaxis": (lambda: np.moveaxis(X, [0, 1], 0), ValueError,
        "moveaxis: source=.* must name the same number of axes"),
    "swapaxes": (lambda: np.swapaxes(X, 0, 2), np.exceptions.AxisError,
        "swapaxes: axis2: axis 2 is out of bounds"),
    "squeeze": (lambda: np.squeeze(X, axis=0), ValueError,
        "squeeze: axis=0 names an axis whose size is not 1"),
    "expand_dims": (lambda: np.expand_dims(X, 5), np.exceptions.AxisError,
        "expand_dims: axis: axis 5"),
    "broadcast_to": (lambda: np.broadcast_to(X, (4, 3)), ValueError,
        r"broadcast_to: .*shape \(2, 3\) cannot be broadcast to"),
    "broadcast_arrays": (lambda: np.broadcast_arrays(X, np.zeros(2)), ValueError,
        "broadcast_arrays: the shapes .* do not broadcast"),
    "astype": (lambda: np.astype(X, "string"), TypeError, "astype: dtype must be a numeric dtype"),
    "view": (lambda: tnp.view(X, "float64"), ValueError, "view: the last axis has 3 elements"),
    "meshgrid": (lambda: np.meshgrid(X[0], indexing="ab"), ValueError,
        "meshgrid: indexing must be"),
    "ix_": (lambda: np.ix_(X), ValueError, r"ix_: args\[0\] must be a vector"),
    "concatenate": (lambda: np.concatenate([X, X[:, :2]]), ValueError,
        "concatenate: the shapes .* must be the same except in axis 0"),
    "concatenate ranks": (lambda: np.concatenate([X, X[0]]), ValueError, "concatenate: the shapes"),
    "concatenate nothing": (lambda: tnp.concatenate([]), ValueError,
        "concatenate: arrays is empty"),
    "concatenate casting": (lambda: np.concatenate([X], dtype=int), TypeError,
        "concatenate: dtype=int32 cannot hold float32"),
    "concatenate a generator": (lambda: tnp.concatenate(x for x in [X]), TypeError,
        "concatenate: arrays must be a list or tuple"),
    "stack": (lambda: np.stack([X, X[0]]), ValueError,
        "stack: all arrays must have the same shape"),
    "block": (lambda: np.block([[X], X]), ValueError,
        "block: the lists in arrays must be nested to the same depth"),
    "block tuples": (lambda: tnp.block([(X, X)]), TypeError, r"block: arrays\[0\] is a tuple"),
    "split": (lambda: np.split(X, 2, axis=1), ValueError,
        "split: 2 equal parts cannot be made from an axis of size 3"),
    "array_split": (lambda: np.array_split(X, 0), ValueError,
        "array_split: indices_or_sections must be at least 1"),
    "vsplit": (lambda: np.vsplit(X[0], 3), ValueError, "vsplit: ary must have at least 2 axes"),
    "tile": (lambda: np.tile(X, -1), ValueError, "tile: reps=.* must not be negative"),
    "repeat": (lambda: np.repeat(X, [1, 2], axis=1), ValueError,
        "repeat: repeats=.* must be one number, or 3 of them"),
    "roll": (lambda: np.roll(X, (1, 2, 3), axis=(0, 1)), ValueError,
        "roll: shift=.* must have the same number of entries"),
    "rot90": (lambda: np.rot90(X, axes=(0,)), ValueError, "rot90: axes must be two different axes"),
    "fliplr": (lambda: np.fliplr(X[0]), ValueError, "fliplr: m must have at least 2 axes"),
    "insert": (lambda: np.insert(X, 7, 0.0, axis=0), IndexError,
        "insert: obj=7 is out of range for an axis of size 2"),
    "delete": (lambda: np.delete(X, 7, axis=0), IndexError,
        "delete: obj=7 is out of range for an axis of size 2"),
    "trim_zeros": (lambda: np.trim_zeros(X, "x"), ValueError, "trim_zeros: trim must be"),
    "pad mode": (lambda: np.pad(X, 1, mode="none"), ValueError, "pad: mode must be one of"),
    "pad function": (lambda: np.pad(X, 1, mode=lambda *_: None), TypeError,
        "pad: mode cannot be a function"),
    "pad keyword": (lambda: np.pad(X, 1, mode="edge", constant_values=1), ValueError,
        "pad: mode='edge' takes no keyword"),
    "pad width": (lambda: np.pad(X, -1), ValueError, "pad: pad_width=-1 must not be negative"),
    "pad width shape": (lambda: np.pad(X, (1, 2, 3)), ValueError,
        "pad: pad_width=.* must be a number, a pair"),
    "pad width dtype": (lambda: np.pad(X, 1.5), TypeError, "pad: pad_width must be integers"),
    "pad nothing": (lambda: np.pad(X[:0], 1, mode="edge"), ValueError, "pad: axis 0 is empty"),
    "pad reflect_type": (lambda: np.pad(X, 1, mode="reflect", reflect_type="x"), ValueError,
        "pad: reflect_type must be"),
    "take": (lambda: np.take(X, [7]), IndexError,
        "take: indices holds 7, which is out of range for an axis of size 6"),
    "take by floats": (lambda: np.take(X, [0.5]), TypeError,
        "take: indices must be integers, got dtype float32"),
    "take mode": (lambda: np.take(X, [0], mode="x"), ValueError, "take: mode must be"),
    "take_along_axis": (lambda: np.take_along_axis(X, np.array([0]), 0), ValueError,
        "take_along_axis: indices of shape"),
    "choose": (lambda: np.choose([0, 2, 0], X), ValueError,
        "choose: the elements of a must be from 0 to 1, got 0 to 2"),
    "compress": (lambda: np.compress([False, False, True], X, axis=0), IndexError,
        "compress: condition is true at 2"),
    "diag": (lambda: np.diag(X[None]), ValueError, "diag: v must be a vector or a matrix"),
    "diagonal": (lambda: np.diagonal(X[0]), ValueError, "diagonal: a must have at least two axes"),
    "tril": (lambda: np.tril(X[0, 0]), ValueError, "tril: m must have at least one axis"),
    "nonzero": (lambda: np.nonzero(X[0, 0]), ValueError, "nonzero: a must have at least one axis"),
    "put_along_axis": (lambda: np.put_along_axis(X, np.array([[0]]), 1.0, 1), TypeError,
        "put_along_axis: Tensors are immutable"),
    "fill_diagonal": (lambda: np.fill_diagonal(X, 1.0), TypeError,
        "fill_diagonal: Tensors are immutable"),
    "linspace": (lambda: np.linspace(X, X, -1), ValueError, "linspace: num must not be negative"),
    "geomspace": (lambda: np.geomspace(X, 0.0), ValueError,
        "geomspace: start and stop must not be 0"),
    "arange": (lambda: tnp.arange(0, 1, 0), ZeroDivisionError, "arange: step must not be 0"),
    "vander": (lambda: np.vander(X), ValueError, "vander: x must be a vector"),
    "zeros": (lambda: tnp.zeros(-1), ValueError, "zeros: shape=.* has a negative size"),
    "array": (lambda: tnp.array([[X[0], X[0, :2]]]), ValueError,
        r"array: the entries of object\[0\] have different shapes"),
    "array of rows": (lambda: tnp.array([[1], [2, 3]]), ValueError,
        "array: object cannot become a tensor"),
    "array of text": (lambda: tnp.array("text"), TypeError, "array: object holds text"),
    "asarray_chkfinite": (lambda: tnp.asarray_chkfinite([np.inf]), ValueError,
        "asarray_chkfinite: a must not contain infinity"),
    "sort": (lambda: np.sort(X, axis=2), np.exceptions.AxisError,
        "sort: axis: axis 2 is out of bounds"),
    "sort order": (lambda: np.sort(X, order="name"), TypeError,
        "sort: order names the fields of structured arrays"),
    "partition": (lambda: np.partition(X, 3), ValueError,
        "partition: kth=3 is out of range for an axis of size 3"),
    "searchsorted": (lambda: np.searchsorted(X, 1.0), ValueError,
        "searchsorted: a must be a sorted vector"),
    "bincount": (lambda: np.bincount(X[0]), TypeError, "bincount: x must be a vector of integers"),
    "bincount negative": (lambda: np.bincount(tf.constant([-1])), ValueError,
        "bincount: neither x nor minlength may be negative"),
    "bincount weights": (lambda: np.bincount([1, 2], weights=X[0]), ValueError,
        "bincount: weights must have one entry for each of 2"),
    "histogram": (lambda: np.histogram(X, bins=0), ValueError,
        "histogram: bins must be at least 1"),
    "histogram range": (lambda: np.histogram(X, range=(2.0, 1.0)), ValueError,
        "histogram: range must be finite.*got 2.0 to 1.0"),
    "histogram weights": (lambda: np.histogram(X, weights=X[0]), ValueError,
        "histogram: weights of shape"),
    "histogram edges": (lambda: np.histogram(X, bins=[1.0, 0.0]), ValueError,
        "histogram: bins must be .* non-decreasing edges"),
    "histogramdd": (lambda: np.histogramdd(X, bins=(2, 2)), ValueError,
        "histogramdd: bins and range must have an entry for each of 3"),
    "histogram2d": (lambda: np.histogram2d(X[0], X[0, :2]), ValueError,
        "histogram2d: x and y must have the same length"),
    "dates": (lambda: np.concatenate([X[0], np.array(["2020-01-01"], "M8[D]")]), TypeError,
        r"concatenate: arrays\[1\] holds dates"),
    "objects": (lambda: np.append(X, np.array([None])), TypeError, "append: values holds objects"),
}  # fmt: skip


@pytest.mark.parametrize(("call", "error", "message"), REFUSED.values(), ids=REFUSED)
def test_wrong_arguments_are_refused_by_name(call, error, message):
    with pytest.raises(error, match=message):
        call()


@pytest.mark.parametrize(
    "call",
    [
        lambda x: np.sort(x, axis=0),
        lambda x: np.sort(x),
        lambda x: np.argsort(x, axis=0),
        lambda x: np.partition(x, 1),
        lambda x: np.take(x, [2, -1], axis=1),
        lambda x: np.take_along_axis(x, np.array([[0, 2], [1, 1]]), axis=1),
        lambda x: np.choose(np.array([1, 0, 1]), [x[0], x[1]]),
        lambda x: np.concatenate([x, x], axis=1),
        lambda x: np.block([[x, x], [x, x]]),
        lambda x: np.split(x, [1], axis=1)[1],
        lambda x: np.tile(x, (2, 2)),
        lambda x: np.repeat(x, [1, 0, 2], axis=1),
        lambda x: np.roll(x, 2),
        lambda x: np.insert(x, [1, 1], x[:, :2], axis=1),
        lambda x: np.diag(x[0], 1),
        lambda x: np.diagonal(x, 1),
        lambda x: np.tril(x),
        lambda x: np.pad(x, 2, mode="median"),
        lambda x: np.pad(x, 2, mode="reflect", reflect_type="odd"),
        lambda x: np.pad(x, 2, mode="linear_ramp", end_values=(1.0, 2.0)),
        lambda x: np.linspace(x, 1.0, 3, axis=1),
        lambda x: np.vander(x[0]),
        lambda x: np.count_nonzero(x > 0, axis=0),
        lambda x: np.isin(x > 0, [True]),
        lambda x: np.searchsorted([-1.0, 0.0, 1.0], x),
        lambda x: np.digitize(x, [1.0, 0.0, -1.0]),
        lambda x: np.histogram(x, bins=3)[0],
        lambda x: np.histogram(x, bins=3, density=True)[0],
        lambda x: x.T.reshape(-1, 2),
    ],
)
def test_batches_are_computed_like_their_examples(call):
    batch = np.random.default_rng(0).normal(size=(4, 2, 3))
    found = tf.vmap(call)(tf.constant(batch))
    np.testing.assert_allclose(found.numpy(), np.stack([call(x) for x in batch]))


def test_a_nan_is_sorted_to_the_end():
    np.testing.assert_array_equal(
        np.sort(tf.constant([np.nan, 2.0, 1.0])).numpy(), np.float32([1.0, 2.0, np.nan])
    )


def test_of_equal_elements_the_first_has_the_gradient():
    x = tf.constant([2.0, 1.0, 2.0])
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        unique, ordered = np.unique(x), np.sort(x)
    np.testing.assert_array_equal(tape.gradient(unique, x).numpy(), [1.0, 1.0, 0.0])
    np.testing.assert_array_equal(tape.jacobian(ordered, x).numpy(), np.eye(3)[[1, 0, 2]])


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "int8", "uint64", "bool", "complex64"])
def test_moving_elements_keeps_the_dtype(dtype):
    x = tf.cast(X, dtype)
    moved = [
        np.pad(x, 1),
        np.concatenate([x, x]),
        np.roll(x, 1),
        np.take(x, [0]),
        np.tril(x),
        np.diag(x),
        np.flip(x),
    ]
    assert all(y.dtype == dtype for y in moved)


def test_views_read_the_same_bits():
    x = np.array([[1.0, 2.0], [3.0, -4.0]], np.float32)
    for dtype in ("int32", "uint8", "float64", "complex64", "float16"):
        np.testing.assert_array_equal(tnp.view(tf.constant(x), dtype).numpy(), x.view(dtype))
    parts = tf.constant(x)
    with tf.GradientTape() as tape:
        tape.watch(parts)
        size = tf.reduce_sum(tf.abs(tnp.view(tnp.view(parts, "complex64"), "float32")) ** 2)
    np.testing.assert_allclose(tape.gradient(size, parts).numpy(), 2 * x)
