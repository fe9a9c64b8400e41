"""Subclasses of NumPy's array, at every door by which arrays enter: a Tensor holds the plain array,
and what is computed does not depend on the class of what was given.
"""

from __future__ import annotations

import numpy as np
import pytest

import gradtape as tf
from gradtape.convert import NUMPY, TENSORFLOW

POINT = np.array([[1.0, 2.0], [3.0, 4.0]])
NUMBERS = np.array([[5, 6], [7, 2]])
PLACES = np.array([[0, 1], [1, 1]])


class Loud(np.ndarray):
    """A class that computes wrong results of its own, wherever it is asked."""

    def __array_finalize__(self, obj):
        self.unit = "metre"

    def __array_ufunc__(self, ufunc, method, *inputs, **keywords):
        plain = [np.asarray(x) if isinstance(x, Loud) else x for x in inputs]
        return getattr(ufunc, method)(*plain, **keywords) + 100

    def __array_function__(self, function, types, args, keywords):
        if function in (np.ndim, np.shape, np.size):  # they compute nothing
            return function(np.asarray(args[0]))
        raise AssertionError(f"{function.__name__} was called with an array of this class")

    def astype(self, *args, **keywords):
        return np.asarray(self).astype(*args, **keywords) + 100


def _memmap(array, folder):
    mapped = np.memmap(folder / "numbers", dtype=array.dtype, mode="w+", shape=array.shape)
    mapped[...] = array
    return mapped


SUBCLASSES = {
    "matrix": lambda array, folder: array.view(np.matrix),
    "masked": lambda array, folder: np.ma.masked_array(array, [[False, True], [False, False]]),
    "own": lambda array, folder: array.view(Loud),
    "memmap": _memmap,
    "recarray": lambda array, folder: array.view(np.recarray),
    "plain": lambda array, folder: array.view(type("Plain", (np.ndarray,), {})),
}
DTYPES = {"the same": np.float32, "float64": np.float64, "int32": np.int32}


def _function_argument(x, m):
    return tf.function(lambda given: x * given * tf.ones_like(given, x.dtype), autograph=False)(
        tf.cast(m, tf.float32)
    )


def _assigned(x, m):
    v = tf.Variable(tf.zeros([2, 2]))
    v.assign(m)
    v.assign_add(m)
    return x * v * v


def _custom_result(x, m):
    @tf.custom_gradient
    def given(x):
        return tf.constant(m, tf.float32), lambda g: g * tf.constant(m, tf.float32)

    return given(x) * x


def _custom_gradient(x, m):
    @tf.custom_gradient
    def square(x):
        return x * x, lambda g: m

    return square(x) * x


def _sparse(x, m):
    slices = tf.IndexedSlices(tf.constant(m, tf.float32), tf.constant([1, 0]), tf.constant([2, 2]))
    return x * tf.convert_to_tensor(slices)


def _array_of_tensors(x, m):
    rows = tf.TensorArray(tf.float32, 2).write(0, tf.cast(m, tf.float32)).write(1, x)
    return tf.reduce_prod(rows.stack(), 0) * x


DOORS = {
    "multiply": lambda x, m: tf.multiply(x, m) * x,
    "multiply, first": lambda x, m: tf.multiply(m, x) * x,
    "operator": lambda x, m: (x * m) * (x - m),
    "divide": lambda x, m: tf.divide(x, m) * (x / m),
    "pow": lambda x, m: tf.pow(x, m) * x,
    "pow, first": lambda x, m: tf.pow(m, x) * x,
    "operator **": lambda x, m: x**m * x,
    "matmul": lambda x, m: tf.matmul(x, tf.cast(m, tf.float32)) * x,
    "operator @": lambda x, m: (x @ m) * x,
    "maximum": lambda x, m: tf.maximum(x, m) * x,
    "where": lambda x, m: tf.where(x > 2.0, x * x, m) * x,
    "stack": lambda x, m: tf.stack([x, m]) * x,
    "concat": lambda x, m: tf.square(tf.concat([x, m], 0)) * tf.concat([x, x], 0),
    "einsum": lambda x, m: tf.einsum("ij,jk->ik", x, tf.cast(m, tf.float32)) * x,
    "clip_by_value": lambda x, m: tf.clip_by_value(x * x, 0.0, m) * x,
    "constant": lambda x, m: tf.constant(m, tf.float32) * x * tf.constant(m, tf.float32),
    "convert_to_tensor": lambda x, m: tf.convert_to_tensor(m, tf.float32) * x,
    "cast": lambda x, m: tf.cast(m, tf.float32) * x,
    "a list": lambda x, m: tf.convert_to_tensor([m, m], tf.float32) * x,
    "a list with a Tensor": lambda x, m: tf.convert_to_tensor([x, m]) * x,
    "identity": lambda x, m: tf.cast(tf.identity(m), tf.float32) * x,
    "reduce_sum": lambda x, m: tf.cast(tf.reduce_sum(m, 1), tf.float32) * x,
    "square": lambda x, m: tf.cast(tf.square(m), tf.float32) * x,
    "Variable": lambda x, m: tf.Variable(m, dtype=tf.float32) * x,
    "assign": _assigned,
    "function's argument": _function_argument,
    "function's argument as it is": lambda x, m: tf.function(tf.multiply, autograph=False)(x, m),
    "function's closure": lambda x, m: tf.function(lambda x: x * m * x, autograph=False)(x),
    "function's result": lambda x, m: tf.cast(tf.function(lambda: m)(), tf.float32) * x,
    "cond": lambda x, m: tf.function(
        lambda p, x: tf.cond(p, lambda: tf.cast(m, tf.float32), lambda: x) * x
    )(tf.constant(True), x),
    "while_loop": lambda x, m: tf.while_loop(
        lambda i, s: i < 2, lambda i, s: (i + 1, s * x), (0, tf.cast(m, tf.float32))
    )[1],
    "while_loop in a function": tf.function(
        lambda x, m: tf.while_loop(
            lambda i, s: i < 2, lambda i, s: (i + 1, s * x), (0, tf.cast(m, tf.float32))
        )[1]
    ),
    "map_fn": lambda x, m: tf.map_fn(
        lambda row: tf.cast(row, tf.float32) * x, m, fn_output_signature=tf.float32
    ),
    "py_function": lambda x, m: tf.py_function(lambda x: m, [x], DTYPES_OF[m.dtype]).array * x,
    "numpy_function": lambda x, m: (
        tf.cast(tf.numpy_function(lambda x: m, [x], DTYPES_OF[m.dtype]), tf.float32) * x
    ),
    "custom_gradient's result": _custom_result,
    "custom_gradient's gradient": _custom_gradient,
    "IndexedSlices": _sparse,
    "TensorArray": _array_of_tensors,
    "vmap": lambda x, m: tf.vectorized_map(lambda row: tf.cast(row, tf.float32), m) * x,
    "tensor_scatter_nd_update": lambda x, m: (
        tf.tensor_scatter_nd_update(x * x, [[0], [1]], tf.cast(m, tf.float32)) * x
    ),
    "TensorFlow's policy": lambda x, m: TENSORFLOW.tensors([x, m], "values")[1] * x,
    "numpy.multiply": lambda x, m: np.multiply(x, m) * x,
    "gradtape.numpy.multiply": lambda x, m: tf.numpy.multiply(x, m) * x,
    "gradtape.numpy.sin": lambda x, m: tf.cast(tf.numpy.sin(m), tf.float32) * x,
    "gradtape.numpy.asarray": lambda x, m: tf.cast(tf.numpy.asarray(m), tf.float32) * x,
    "gradtape.numpy.concatenate": lambda x, m: tf.numpy.concatenate([x, m]) ** 2,
    "numpy.concatenate": lambda x, m: np.concatenate([x, m]) ** 2,
    "NumPy's policy": lambda x, m: NUMPY.tensors([x, m], "values")[1] * x,
}
DTYPES_OF = {np.dtype(d): tf.as_dtype(d) for d in DTYPES.values()}
REFUSE_MASKS = {name for name in DOORS if "numpy." in name or name == "NumPy's policy"}
INDICES = {
    "gather": lambda x, m: tf.gather(x, m) * 2.0,
    "gather along an axis": lambda x, m: tf.gather(x * x, m, axis=1),
    "gather_nd": lambda x, m: tf.gather_nd(x * x, m),
    "getitem": lambda x, m: x[m] * x,
    "getitem beside a slice": lambda x, m: x[:, m] * 3.0,
    "getitem, compiled": tf.function(lambda x, m: x[m] * 2.0, autograph=False),
    "one_hot": lambda x, m: tf.one_hot(m, 2) * x,
    "scatter_nd": lambda x, m: tf.scatter_nd(m, x[0], [2, 2]) * x,
    "embedding_lookup": lambda x, m: tf.nn.embedding_lookup(x, m) * 2.0,
    "segments": lambda x, m: tf.math.unsorted_segment_sum(x * x, m, 2),
}
CONDITIONS = {
    "where": lambda x, m: tf.where(m, x * x, x) * tf.where(m, 2.0, x),
    "getitem": lambda x, m: x[m] * 2.0,
    "boolean_mask": lambda x, m: tf.boolean_mask(x * x, m),
    "logical_not": lambda x, m: tf.where(tf.logical_not(m), x * x, x),
    "reduce_any": lambda x, m: tf.where(tf.reduce_any(m, 0), x * x, x),
}


def step(door, m):
    x = tf.constant(POINT, tf.float32)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = door(x, m)
    return [y, tape.gradient(y, x)]


def is_plain(tensor):
    if isinstance(tensor, tf.IndexedSlices):
        return is_plain(tensor.values) and is_plain(tensor.indices)
    return type(tensor.array) is np.ndarray or isinstance(tensor.array, np.generic)


def same(found, right):
    for a, b in zip(found, right, strict=True):
        assert (a is None) == (b is None)
        if b is not None:
            assert a.dtype == b.dtype
            assert is_plain(a)
            np.testing.assert_array_equal(*map(tf.convert_to_tensor, (a, b)))


@pytest.mark.sampled(5)
@pytest.mark.parametrize("subclass", SUBCLASSES)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("door", DOORS)
def test_values_and_gradients(door, dtype, subclass, tmp_path):
    array = NUMBERS.astype(DTYPES[dtype])
    given = SUBCLASSES[subclass](array.copy(), tmp_path)
    if subclass == "masked" and door in REFUSE_MASKS:
        with pytest.raises(TypeError, match="masked array"):
            step(DOORS[door], given)
        return
    same(step(DOORS[door], given), step(DOORS[door], array))
    assert type(given) is not np.ndarray


@pytest.mark.parametrize("subclass", SUBCLASSES)
@pytest.mark.parametrize("dtype", ["int32", "int64", "uint8"])
@pytest.mark.parametrize("door", INDICES)
def test_indices(door, dtype, subclass, tmp_path):
    array = PLACES.astype(dtype)
    given = SUBCLASSES[subclass](array.copy(), tmp_path)
    same(step(INDICES[door], given), step(INDICES[door], array))


@pytest.mark.parametrize("subclass", SUBCLASSES)
@pytest.mark.parametrize(
    ("door", "dtype"),
    [*((door, bool) for door in CONDITIONS), ("where", np.int32), ("boolean_mask", np.int32)],
)
def test_conditions(door, dtype, subclass, tmp_path):
    array = PLACES.astype(dtype)
    given = SUBCLASSES[subclass](array.copy(), tmp_path)
    same(step(CONDITIONS[door], given), step(CONDITIONS[door], array))


@pytest.mark.parametrize("subclass", SUBCLASSES)
@pytest.mark.parametrize("dtype", DTYPES)
def test_seeds_and_tangents(dtype, subclass, tmp_path):
    array = NUMBERS.astype(DTYPES[dtype])
    given = SUBCLASSES[subclass](array.copy(), tmp_path)
    same(_seeded(given), _seeded(array))


def _seeded(m):
    x = tf.constant(POINT, tf.float32)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = x * x
    with tf.autodiff.ForwardAccumulator(x, tf.cast(m, tf.float32)) as accumulator:
        z = x * x
    return [
        tape.gradient(y, x, output_gradients=m),
        tape.gradient([y, y], x, output_gradients=[m, m]),
        accumulator.jvp(z),
    ]


@pytest.mark.parametrize("subclass", ["matrix", "memmap", "recarray", "plain"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_on_the_left_of_an_operator(dtype, subclass, tmp_path):
    """NumPy asks the Tensor, unless the class has operators of its own that ask nobody."""
    array = NUMBERS.astype(DTYPES[dtype])
    given = SUBCLASSES[subclass](array.copy(), tmp_path)
    for door in (lambda x, m: m * x, lambda x, m: (m - x) * x, lambda x, m: m @ x):
        same(step(door, given), step(door, array))


def test_a_masked_array_on_the_left_of_an_operator_leaves_the_tape():
    x, masked = tf.constant([1.0, 2.0]), np.ma.masked_array([10.0, 20.0], [False, True])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = masked * x
    assert isinstance(y, np.ma.MaskedArray)
    assert len(tape.departures()) == 1
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x * masked
    np.testing.assert_array_equal(tape.gradient(y, x).numpy(), [10.0, 20.0])
