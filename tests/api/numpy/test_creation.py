"""The functions of `gradtape.numpy` that make arrays and that NumPy does not ask Tensors about:
against NumPy's own.
"""

from __future__ import annotations

import io

import numpy as np
import pytest

import gradtape as tf
import gradtape.numpy as tnp
from gradtape.api.numpy.operands import with_defaults
from gradtape.core.tensor import Tensor

CALLS = {
    "array": lambda xp: xp.array([[1, 2], [3, 4]]),
    "array of floats": lambda xp: xp.array([1, 2.5]),
    "array of one number": lambda xp: xp.array(3, ndmin=2),
    "array of truth values": lambda xp: xp.array([True, False]),
    "array of complex numbers": lambda xp: xp.array([1j, 2]),
    "array of nothing": lambda xp: xp.array([]),
    "asarray": lambda xp: xp.asarray([1.9, -1.9], dtype=np.int32),
    "asanyarray": lambda xp: xp.asanyarray(2),
    "ascontiguousarray": lambda xp: xp.ascontiguousarray(2.0),
    "asarray_chkfinite": lambda xp: xp.asarray_chkfinite([1.0]),
    "zeros": lambda xp: xp.zeros((2, 3)),
    "zeros of integers": lambda xp: xp.zeros(3, dtype=int),
    "ones": lambda xp: xp.ones(()),
    "full": lambda xp: xp.full((2, 2), 7),
    "full by rows": lambda xp: xp.full((2, 2), [1.5, 2]),
    "eye": lambda xp: xp.eye(3, 4, k=-1),
    "identity": lambda xp: xp.identity(3, dtype=bool),
    "arange": lambda xp: xp.arange(5),
    "arange with a step": lambda xp: xp.arange(2.0, 0.0, -0.5),
    "arange of nothing": lambda xp: xp.arange(3, 1),
    "arange of mixed numbers": lambda xp: xp.arange(1, 4.5),
    "tri": lambda xp: xp.tri(3, 4, 1),
    "fromfunction": lambda xp: xp.fromfunction(lambda i, j: i * 2 - j, (2, 3)),
    "fromfunction of integers": lambda xp: xp.fromfunction(lambda i, j: i == j, (2, 3), dtype=int),
    "frombuffer": lambda xp: xp.frombuffer(b"\x01\x02\x03\x04", dtype=np.uint16, offset=2),
    "fromiter": lambda xp: xp.fromiter(range(4), dtype=float),
    "fromstring": lambda xp: xp.fromstring("1 2 3", sep=" ", dtype=int),
    "loadtxt": lambda xp: xp.loadtxt(io.StringIO("1 2\n3 4"), usecols=1),
    "genfromtxt": lambda xp: xp.genfromtxt(
        io.StringIO("1,2\n3,"), delimiter=",", filling_values=-1
    ),
    "from_dlpack": lambda xp: xp.from_dlpack(np.arange(3, dtype=np.float32)),
    "indices": lambda xp: xp.indices((2, 3)),
    "mgrid": lambda xp: xp.mgrid[0:2, 0:1:3j],
    "r_": lambda xp: xp.r_[[1, 2], 0, 3:6],
    "r_ of points": lambda xp: xp.r_[0:1:5j, 2.0],
    "r_ along an axis": lambda xp: xp.r_["1,2,0", [1, 2], [3, 4]],
    "c_": lambda xp: xp.c_[[1, 2], [[3.5, 4], [5, 6]]],
    "vander": lambda xp: xp.vander([1, 2, 3]),
    "logspace": lambda xp: xp.logspace(0, 2, 3),
}
INDICES = {
    "tril_indices": lambda xp: xp.tril_indices(3, -1, 4),
    "triu_indices": lambda xp: xp.triu_indices(3),
    "diag_indices": lambda xp: xp.diag_indices(2, 3),
    "mask_indices": lambda xp: xp.mask_indices(3, xp.triu, 1),
    "unravel_index": lambda xp: xp.unravel_index([3, 5], (2, 3)),
}


def narrow(dtype):
    return with_defaults(dtype, [])


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_values_are_numpys_in_gradtapes_default_dtypes(call):
    found, expected = call(tnp), np.asarray(call(np))
    assert isinstance(found, Tensor)
    assert found.dtype == narrow(expected.dtype)
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-6)


@pytest.mark.parametrize("call", INDICES.values(), ids=INDICES)
def test_indices_are_int64(call):
    for found, expected in zip(call(tnp), call(np), strict=True):
        assert found.dtype == tf.int64
        np.testing.assert_array_equal(found.numpy(), expected)


def test_ogrid_gives_open_grids():
    for found, expected in zip(tnp.ogrid[0:2, 0:3], np.ogrid[0:2, 0:3], strict=True):
        np.testing.assert_array_equal(found.numpy(), expected)


@pytest.mark.parametrize("name", ["float64", "int64", "complex128", "int8"])
def test_arrays_of_numpy_keep_their_dtype(name):
    assert tnp.asarray(np.zeros(2, name)).dtype == name
    assert tnp.zeros(2, name).dtype == name


def test_empty_is_zeros():
    np.testing.assert_array_equal(tnp.empty((2, 2)).numpy(), np.zeros((2, 2)))
    np.testing.assert_array_equal(tnp.empty_like(tf.ones([3])).numpy(), np.zeros(3))


def test_lists_with_tensors_in_them_are_stacked_and_recorded():
    x, v = tf.constant([1.0, 2.0]), tf.Variable(3.0, dtype=tf.float64)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tnp.array([[x[0], 5], [v, x[1]]])
        total = tnp.sum(y * y)
    assert y.dtype == tf.float64
    np.testing.assert_array_equal(y.numpy(), [[1, 5], [3, 2]])
    by_x, by_v = tape.gradient(total, [x, v])
    np.testing.assert_array_equal(by_x.numpy(), [2, 4])
    np.testing.assert_array_equal(by_v.numpy(), 6)


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (lambda x: tnp.full((2, 3), x), 6.0),
        (lambda x: tnp.full_like(tf.zeros([2]), x), 2.0),
        (lambda x: tnp.array(x, ndmin=2), 1.0),
        (lambda x: tnp.asarray(x, dtype="float64"), 1.0),
        (lambda x: tnp.arange(x, 10.0, 3.0), 3.0),
        (lambda x: tnp.arange(0.0, 4.0, x), 1.0),
        (lambda x: tnp.linspace(x, 5.0, 3), 1.5),
        (lambda x: tnp.r_[x, 1.0, x * x], 5.0),
        (lambda x: tnp.fromfunction(lambda i: i * x, (4,)), 6.0),
    ],
)
def test_what_is_made_of_a_tensor_is_recorded(call, expected):
    x = tf.constant(2.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = call(x)
    np.testing.assert_allclose(tape.gradient(y, x).numpy(), expected)


def test_saving_and_loading(tmp_path):
    x = tf.constant([1.0, 2.0])
    tnp.save(tmp_path / "one.npy", x)
    tnp.savez(tmp_path / "two.npz", a=x, b=tf.constant([3]))
    np.testing.assert_array_equal(tnp.load(tmp_path / "one.npy").numpy(), [1, 2])
    assert {
        name: value.numpy().tolist() for name, value in tnp.load(tmp_path / "two.npz").items()
    } == {"a": [1, 2], "b": [3]}


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ((tf.constant(1), tf.constant(1.0)), "float32"),
        ((tf.constant(1), 2.5), "float32"),
        ((tf.constant(1.0), np.zeros(2)), "float32"),
        ((tf.constant(1.0), np.float64), "float64"),
        ((tf.int8, "int16"), "int16"),
        ((1.5,), "float32"),
    ],
)
def test_result_type_is_the_dtype_of_a_sum(given, expected):
    assert tnp.result_type(*given) == np.dtype(expected)


def test_numpys_result_type_of_tensors_follows_gradtapes_rule():
    assert np.result_type(tf.constant(1), tf.constant(1.0)) == np.float32


def test_the_experimental_name_is_the_same_module():
    import gradtape.experimental.numpy as tnp

    assert tnp is tf.numpy
