"""NumPy's protocols on Tensors and Variables: operators with arrays, keywords and methods of
ufuncs, what is refused or has no derivative.
"""

from __future__ import annotations

import operator
import subprocess
import sys
import threading

import numpy as np
import pytest

import gradtape as tf
import gradtape.numpy as tnp
from gradtape.api.numpy import protocol
from gradtape.core.array_methods import COUNTERPARTS
from gradtape.core.tensor import Tensor

ARRAY = np.array([1.0, 2.0, 3.0], np.float32)


def recorded(function, *arrays):
    """The result of a function of watched Tensors and the gradients of its sum, as arrays."""
    tensors = [tf.constant(array) for array in arrays]
    with tf.GradientTape() as tape:
        tape.watch(tensors)
        result = function(*tensors)
    assert type(result) is Tensor
    return result.array, [None if g is None else g.array for g in tape.gradient(result, tensors)]


def predict(x, weights, bias):
    """Code that knows NumPy alone."""
    hidden = np.tanh(x @ weights + bias)
    return np.mean(np.sum(hidden**2, axis=-1))


def test_code_that_knows_numpy_alone_is_recorded():
    x, weights, bias = (
        np.arange(6.0).reshape(3, 2) / 6,
        np.array([[0.5, -1.0], [0.3, 0.2]]),
        np.array([0.1, 0.2]),
    )
    variables = tf.Variable(weights), tf.Variable(bias)
    with tf.GradientTape() as tape:
        loss = predict(x, *variables)
    assert loss.array == pytest.approx(predict(x, weights, bias))
    gradients = tape.gradient(loss, variables)
    nudged = [
        (predict(x, weights, bias + step) - predict(x, weights, bias - step)) / 2e-6
        for step in 1e-6 * np.eye(2)
    ]
    np.testing.assert_allclose(gradients[1], nudged, rtol=1e-5)
    assert gradients[0].shape == (2, 2)


# Operators


@pytest.mark.parametrize("name", ["add", "sub", "mul", "truediv", "pow"])
def test_an_operator_with_an_array_on_its_left_is_recorded(name):
    function = getattr(operator, name)
    value, (gradient,) = recorded(
        lambda x: function(ARRAY, x), np.array([2.0, 0.5, 1.5], np.float32)
    )
    other, (expected,) = recorded(
        lambda x: function(tf.constant(ARRAY), x), np.array([2.0, 0.5, 1.5], np.float32)
    )
    np.testing.assert_array_equal(value, other)
    np.testing.assert_array_equal(gradient, expected)
    assert value.dtype == np.float32


@pytest.mark.parametrize(
    "left", [np.float64(2), np.array(2.0), np.float32(2), np.int64(2), np.array([2.0])[0]]
)
def test_a_numpy_number_on_the_left_takes_the_tensors_dtype(left):
    value, (gradient,) = recorded(lambda x: left * x, ARRAY)
    assert value.dtype == gradient.dtype == np.float32
    np.testing.assert_array_equal(gradient, 2)


def test_matrix_products_with_an_array_on_the_left_are_recorded():
    matrix = np.array([[1.0, 2.0, 0.0], [0.0, 1.0, -1.0]])
    value, (gradient,) = recorded(lambda x: matrix @ x, ARRAY)
    np.testing.assert_array_equal(value, matrix @ ARRAY)
    np.testing.assert_array_equal(gradient, matrix.sum(0))


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (lambda x: ARRAY < x, ARRAY < 2),
        (lambda x: ARRAY == x, ARRAY == 2),
        (lambda x: ARRAY // x, ARRAY // 2),
        (lambda x: ARRAY % x, ARRAY % 2),
        (lambda x: (ARRAY > 1) & (x > 1), ARRAY > 1),
        (lambda x: (ARRAY > 1) | (x > 1), np.full(3, True)),
    ],
)
def test_operators_without_a_derivative_give_values(function, expected):
    found = function(tf.constant([2.0, 2.0, 2.0]))
    assert type(found) is Tensor
    np.testing.assert_array_equal(found.array, expected)


def test_an_operator_in_place_writes_values_while_nothing_records():
    target = ARRAY.copy()
    target += tf.constant([1.0, 1.0, 1.0])
    assert type(target) is np.ndarray
    np.testing.assert_array_equal(target, ARRAY + 1)


def test_an_operator_in_place_is_refused_for_a_recorded_tensor():
    x = tf.Variable([1.0, 1.0, 1.0])
    target = ARRAY.copy()
    with (
        tf.GradientTape(),
        pytest.raises(TypeError, match=r"multiply: out= .* leaves the tape: write x = multiply"),
    ):
        target *= x
    np.testing.assert_array_equal(target, ARRAY)


def test_integers_are_divided_as_the_operator_divides_them():
    ints = tf.constant([1, 2])
    assert np.divide(ints, 2).dtype == (ints / 2).dtype
    assert (np.array([1, 2]) / ints).dtype == (ints / ints).dtype


# Types and dtypes


@pytest.mark.parametrize(
    ("function", "dtype"),
    [
        (lambda: np.add(tf.constant([1]), tf.constant([1.0])), "float32"),
        (lambda: np.add(tf.constant([1.0]), np.array([1.0])), "float32"),
        (lambda: np.add(np.array([1.0]), tf.constant([1])), "float32"),
        (lambda: np.add(tf.constant([1], tf.int64), 1), "int64"),
        (lambda: np.multiply(tf.constant([1.0]), 1j), "complex64"),
        (lambda: np.sqrt(tf.constant([4])), "float32"),
        (lambda: np.sqrt(tf.constant([4], tf.int64)), "float64"),
        (lambda: np.sqrt(tf.constant([4], tf.int8)), "float16"),
        (lambda: np.exp(tf.constant([1.0], tf.bfloat16)), "bfloat16"),
        (lambda: np.hypot(tf.constant([3]), 4), "float32"),
        (lambda: tnp.add([1.0], [2.0]), "float32"),
        (lambda: tnp.add(np.array([1.0]), [2.0]), "float64"),
        (lambda: tnp.sin(np.array([1.0])), "float64"),
        (lambda: tnp.exp(1j), "complex64"),
        (lambda: np.add(tf.constant([1.0]), 1, dtype=np.float64), "float64"),
        (lambda: np.add(tf.constant([1.0]), 1, dtype=float), "float32"),
        (lambda: np.add(tf.constant([True]), tf.constant([True])), "bool"),
        (lambda: np.where(tf.constant([True]), 1.0, tf.constant([2])), "float32"),
    ],
)
def test_dtypes(function, dtype):
    found = function()
    assert type(found) is Tensor
    assert found.dtype == dtype


@pytest.mark.parametrize(
    ("value", "says"),
    [
        (np.array([1.0, None]), "holds objects such as 1.0"),
        (np.zeros(2, [("a", float), ("b", int)]), "structured array with the fields"),
        (np.ma.masked_array([1.0, 2.0], [True, False]), "masked array"),
        (np.array(["2020-01-01", "2020-01-02"], "datetime64[D]"), "dates or times"),
        (np.array(["a", "b"]), "holds text"),
        (["a", "b"], "holds text"),
        (np.ones(2, np.longdouble), "float64"),
    ],
)
@pytest.mark.parametrize(
    "call", [np.add, tnp.add, np.arctan2, np.less, lambda x, y: np.where([True, False], x, y)]
)
def test_arrays_that_are_no_numbers_are_refused(call, value, says):
    with pytest.raises(TypeError, match=rf"^(add|arctan2|less|where): (x2|y) .*{says}"):
        call(tf.constant([1.0, 2.0]), value)


def test_rows_of_different_lengths_are_refused():
    with pytest.raises(
        ValueError, match="add: x2 cannot become a tensor: its rows have different lengths"
    ):
        np.add(tf.constant([1.0, 2.0]), [[1.0], [1.0, 2.0]])


# Keywords of ufuncs


def test_out_takes_values_while_nothing_records():
    target = np.zeros(3, np.float32)
    assert np.exp(tf.constant(ARRAY), out=target) is target
    np.testing.assert_allclose(target, np.exp(ARRAY))
    assert np.exp(tf.constant(ARRAY), target) is target
    first, second = np.zeros(3), np.zeros(3)
    found = np.modf(tf.constant(ARRAY + 0.25), out=(first, second))
    assert found[0] is first
    assert found[1] is second
    np.testing.assert_array_equal(second, ARRAY)


@pytest.mark.parametrize(
    "call",
    [
        lambda x: np.exp(x, out=np.zeros(3)),
        lambda x: np.exp(x, out=tf.constant(ARRAY)),
        lambda x: np.exp(ARRAY, out=tf.constant(ARRAY)),
        lambda x: np.exp(ARRAY, out=x),
        lambda x: np.add.reduce(x, out=np.zeros(())),
        lambda x: np.add.accumulate(x, out=np.zeros(3)),
        lambda x: np.sum(x, out=np.zeros(())),
    ],
)
def test_out_is_refused_for_what_is_recorded_or_does_not_change(call):
    x = tf.Variable(ARRAY)
    with (
        tf.GradientTape(),
        pytest.raises(TypeError, match=r"out= cannot be used with Tensors; .*write x = "),
    ):
        call(x)


def test_where_is_refused():
    with pytest.raises(TypeError, match=r"sqrt: where= .*write np.where\(condition, sqrt"):
        np.sqrt(tf.constant(ARRAY), where=ARRAY > 1)
    np.testing.assert_allclose(np.sqrt(tf.constant(ARRAY), where=True).array, np.sqrt(ARRAY))


def test_other_keywords():
    x = tf.constant(ARRAY)
    assert np.sin(x, dtype="float64", order="C", subok=False).dtype == tf.float64
    with pytest.raises(
        TypeError, match=r"float32 cannot be cast to int32 under casting='same_kind'"
    ):
        np.add(x, x, dtype=np.int32)
    assert np.add(x, x, dtype=np.int32, casting="unsafe").dtype == tf.int32
    with pytest.raises(TypeError, match=r"add takes 2 arguments .* keywords \['signature'\]"):
        np.add(x, x, signature="dd->d")
    with pytest.raises(TypeError, match="tanh takes 1 arguments"):
        tnp.tanh(x, x, x)


# Methods of ufuncs

MATRIX = np.array([[0.5, -1.0, 2.0], [1.5, 0.3, -0.7]])


@pytest.mark.parametrize(
    "function",
    [
        lambda x: np.add.reduce(x),
        lambda x: np.add.reduce(x, axis=1, keepdims=True),
        lambda x: np.add.reduce(x, axis=None, initial=2.0),
        lambda x: np.multiply.reduce(x, axis=(0, 1)),
        lambda x: np.maximum.reduce(x, axis=1),
        lambda x: np.minimum.reduce(x, axis=1, initial=0.0),
        lambda x: np.subtract.reduce(x, axis=1),
        lambda x: np.subtract.reduce(x, axis=1, keepdims=True, initial=1.0),
        lambda x: np.divide.reduce(x),
        lambda x: np.hypot.reduce(x, axis=-1),
        lambda x: np.logaddexp.reduce(x, axis=None),
        lambda x: np.logaddexp.reduce(x, axis=1, initial=0.5),
        lambda x: np.add.accumulate(x, axis=1),
        lambda x: np.multiply.accumulate(x),
        lambda x: np.maximum.accumulate(x, axis=1),
        lambda x: np.logaddexp.accumulate(x, axis=1),
        lambda x: np.subtract.accumulate(x, axis=-1),
        lambda x: np.add.reduceat(x, [0, 2, 1], axis=1),
        lambda x: np.multiply.reduceat(x, [1, 0]),
        lambda x: np.subtract.outer(x, x[0]),
        lambda x: np.multiply.outer(x, ARRAY.astype(np.float64)),
        lambda x: np.multiply.outer(2.0, x),
        lambda x: np.fmax.reduce(x, axis=1),
    ],
)
def test_methods_are_recorded(function):
    value, (gradient,) = recorded(function, MATRIX)
    with np.errstate(all="ignore"):
        expected = function(MATRIX)
    np.testing.assert_allclose(value, expected, rtol=1e-12)
    assert value.dtype == np.float64
    for where in np.ndindex(MATRIX.shape):
        nudge = np.zeros_like(MATRIX)
        nudge[where] = 1e-6
        slope = np.sum(function(MATRIX + nudge) - function(MATRIX - nudge)) / 2e-6
        assert gradient[where] == pytest.approx(slope, rel=1e-6, abs=1e-8)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: np.logical_and.reduce(x > 0, axis=1),
        lambda x: np.logical_or.reduce(x > 0, axis=0),
        lambda x: np.logical_or.reduce(x > 9, axis=0, initial=True),
        lambda x: np.equal.outer(x, x),
        lambda x: np.add.reduce(x > 0),
        lambda x: np.bitwise_xor.reduce(x > 0, axis=1),
        lambda x: np.add.reduce(x[:0]),
        lambda x: np.multiply.accumulate(x[:0]),
        lambda x: np.subtract.accumulate(x[:0]),
        lambda x: np.logical_and.accumulate(x > 0),
    ],
)
def test_values_of_methods(function):
    found = function(tf.constant(MATRIX))
    assert type(found) is Tensor
    np.testing.assert_array_equal(found.array, function(MATRIX))


def _arithmetic_ufuncs():
    """The ufuncs of two numbers that gradtape has, without comparisons and those for integers."""
    ours = [
        found
        for found in protocol.counterparts()
        if isinstance(found, np.ufunc) and found.nin == 2 and not found.signature
    ]
    # Which is float64 in NumPy.
    return [one for one in ours if "dd->d" in one.types and one is not np.float_power]


FOLDS = {
    "reduce": lambda called, x: called.reduce(x, axis=1),
    "reduce, one axis kept": lambda called, x: called.reduce(x, axis=-1, keepdims=True),
    "reduce, without an initial number": lambda called, x: called.reduce(x, axis=1, initial=None),
    "accumulate": lambda called, x: called.accumulate(x, axis=1),
    "reduceat": lambda called, x: called.reduceat(x, [0, 0], axis=1),
    "reduceat of nothing": lambda called, x: called.reduceat(x, np.array([], int), axis=1),
}


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32"])
@pytest.mark.parametrize("length", [1, 2])
@pytest.mark.parametrize("fold", FOLDS)
@pytest.mark.parametrize("called", _arithmetic_ufuncs(), ids=lambda one: one.__name__)
def test_folds_of_few_elements(called, fold, length, dtype):
    """Where the number that a fold begins with shows,
    and the dtype of elements that the ufunc was never called with.

    There are no more than two: from three on, NumPy's own power.reduce and arctan2.reduce go wrong.
    """
    x = np.array([[-3.0, 2.0], [-1.5, -4.0]])[:, :length].astype(dtype)
    with np.errstate(all="ignore"):
        try:
            expected = FOLDS[fold](called, x)
        except (TypeError, ValueError):
            return
        found = FOLDS[fold](called, tf.constant(x))
    assert found.array.dtype.kind == expected.dtype.kind
    if expected.dtype.kind == "f" and dtype != "int32":
        assert found.array.dtype == expected.dtype
    np.testing.assert_allclose(found.array, expected, rtol=1e-6)


def test_the_gradient_of_a_hypotenuse_of_one_side():
    value, (gradient,) = recorded(lambda x: np.hypot.reduce(x, axis=1), np.array([[-3.0], [2.0]]))
    assert (value.tolist(), gradient.tolist()) == ([3.0, 2.0], [[-1.0], [1.0]])


def test_errors_of_methods():
    x = tf.constant(MATRIX)
    with pytest.raises(ValueError, match=r"subtract.reduce: the order of the elements matters"):
        np.subtract.reduce(x, axis=(0, 1))
    with pytest.raises(ValueError, match=r"subtract.reduce: axis 0 is empty"):
        np.subtract.reduce(x[:0])
    with pytest.raises(np.exceptions.AxisError, match=r"subtract.reduce"):
        np.subtract.reduce(x, axis=2)
    with pytest.raises(IndexError, match=r"add.reduceat: indices must be from 0 to 1"):
        np.add.reduceat(x, [0, 2])
    with pytest.raises(TypeError, match=r"hypot.reduce: where="):
        np.hypot.reduce(x, where=MATRIX > 0)


@pytest.mark.parametrize(
    ("function", "word"), [(np.add, "add"), (np.maximum, "max"), (np.multiply, "update")]
)
def test_at_is_refused(function, word):
    x = tf.Variable(ARRAY)
    with pytest.raises(TypeError, match=rf"{function.__name__}.at: .*tensor_scatter_nd_{word}"):
        function.at(x, [0], 1.0)
    with tf.GradientTape(), pytest.raises(TypeError, match=r"\.at: "):
        function.at(ARRAY.copy(), [0], x[:1] * 1)


def test_at_writes_values_while_nothing_records():
    target = ARRAY.copy()
    np.add.at(target, [0, 0], tf.constant([1.0, 2.0]))
    np.testing.assert_array_equal(target, [4, 2, 3])


# Functions without a derivative, and functions that write


def test_a_function_without_a_derivative_gives_values():
    x = tf.Variable([0.3, 2.5])
    with tf.GradientTape() as tape:
        bins = np.digitize(x, [1.0, 2.0])
        text = np.array2string(x)
    assert type(bins) is Tensor
    np.testing.assert_array_equal(bins.array, [0, 2])
    assert text == "[0.3 2.5]"
    assert tape.gradient(bins, x) is None


def test_a_ufunc_that_gradtape_does_not_know_gives_values():
    double = np.frompyfunc(lambda v: 2 * v, 1, 1)
    assert double(tf.constant([1.0, 2.0])).tolist() == [2.0, 4.0]
    with pytest.raises(TypeError, match=r"out= cannot be used"):
        double(ARRAY, out=tf.constant([1.0, 2.0, 3.0]))


@pytest.mark.parametrize(
    ("write", "says"),
    [
        (lambda x: np.copyto(x, 0), r"np.where\(mask, source, x\)"),
        (lambda x: np.place(x, ARRAY > 1, [0]), "np.where"),
        (lambda x: np.putmask(x, ARRAY > 1, 0), "np.where"),
        (lambda x: np.put(x, [0], 0), "tensor_scatter_nd_update"),
        (lambda x: np.put_along_axis(x, np.array([0]), 0, 0), "tensor_scatter_nd_update"),
        (lambda x: np.fill_diagonal(x, 0), "set_diag"),
    ],
)
def test_functions_that_write_are_refused(write, says):
    for x in (tf.constant(ARRAY), tf.Variable(ARRAY)):
        with pytest.raises(TypeError, match=rf"Tensors are immutable.*{says}"):
            write(x)


def test_a_write_into_an_array_is_refused_only_for_what_is_recorded():
    target = ARRAY.copy()
    np.copyto(target, tf.constant([7.0, 8.0, 9.0]))
    np.testing.assert_array_equal(target, [7, 8, 9])
    x = tf.Variable(ARRAY)
    with tf.GradientTape(), pytest.raises(TypeError, match="no tape sees a write"):
        np.copyto(target, x * 1)


# Other libraries, threads, batches, and what is imported


class Quantity:
    """An array type of another library, which answers for itself."""

    def __array_ufunc__(self, ufunc, method, *inputs, **keywords):
        return "mine"

    def __array_function__(self, function, types, args, keywords):
        return "mine"


def test_the_array_type_of_another_library_is_asked():
    x = tf.constant(ARRAY)
    assert np.add(x, Quantity()) == "mine"
    assert np.add.outer(x, Quantity()) == "mine"
    assert np.concatenate([x, Quantity()]) == "mine"


def test_under_vmap():
    x = tf.constant([[1.0, 2.0], [3.0, 4.0]])
    found = tf.vmap(
        lambda row: np.tanh(row) * np.array([1.0, 2.0]) + np.floor(row) + np.where(row > 2, row, 0)
    )(x)
    values = x.array
    np.testing.assert_allclose(
        found.array, np.tanh(values) * [1, 2] + values + np.where(values > 2, values, 0), rtol=1e-6
    )


def test_inside_a_compiled_function():
    pytest.importorskip("jax")
    x, variables = (
        np.arange(6.0).reshape(3, 2) / 6,
        [tf.Variable([[0.5, -1.0], [0.3, 0.2]]), tf.Variable([0.1, 0.2])],
    )
    compiled = tf.function(
        lambda: (
            predict(x, *variables) + np.add.reduce(np.floor(variables[1]) + np.sinc(variables[1]))
        )
    )
    with tf.GradientTape() as tape:
        value = compiled()
    found = tape.gradient(value, variables)
    with tf.GradientTape() as tape:
        value = predict(x, *variables) + np.add.reduce(
            np.floor(variables[1]) + np.sinc(variables[1])
        )
    for one, other in zip(found, tape.gradient(value, variables), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5)


def test_the_table_is_filled_once_by_threads_that_start_together():
    before = dict(COUNTERPARTS)
    COUNTERPARTS.clear()
    barrier, found = threading.Barrier(4), []

    def work():
        x = tf.Variable(ARRAY)
        barrier.wait()
        with tf.GradientTape() as tape:
            y = np.sin(x) * np.cumsum(x)
        found.append(tape.gradient(y, x))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 4
    assert all(g is not None for g in found)
    COUNTERPARTS.update(before)


def test_the_families_are_imported_when_numpy_first_asks():
    code = """
import sys, numpy as np, gradtape as tf, gradtape.api.numpy.protocol
assert "gradtape.api.numpy.elementary" not in sys.modules and "gradtape.numpy" not in sys.modules
np.tanh(tf.constant([1.0]))
assert "gradtape.api.numpy.elementary" in sys.modules and "scipy" not in sys.modules
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_the_location_of_a_recorded_call_is_the_users_line():
    x = tf.Variable(ARRAY)
    with tf.GradientTape(persistent=True):
        y = np.tanh(x)
    assert y.node.location().function.endswith(
        "test_the_location_of_a_recorded_call_is_the_users_line"
    )
