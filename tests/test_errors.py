"""The exceptions of `tf.errors`, and what the errors of ops and tapes say."""

import copy
import pickle
import re

import numpy as np
import pytest

import gradtape as tf

CODES = {
    "CancelledError": 1,
    "UnknownError": 2,
    "InvalidArgumentError": 3,
    "DeadlineExceededError": 4,
    "NotFoundError": 5,
    "AlreadyExistsError": 6,
    "PermissionDeniedError": 7,
    "ResourceExhaustedError": 8,
    "FailedPreconditionError": 9,
    "AbortedError": 10,
    "OutOfRangeError": 11,
    "UnimplementedError": 12,
    "InternalError": 13,
    "UnavailableError": 14,
    "DataLossError": 15,
    "UnauthenticatedError": 16,
}


# The classes


@pytest.mark.parametrize(("name", "code"), CODES.items())
def test_each_error_has_its_code_and_message(name, code):
    error = getattr(tf.errors, name)(None, None, "what happened")
    assert isinstance(error, tf.errors.OpError)
    assert (error.error_code, error.message, error.node_def, error.op) == (
        code,
        "what happened",
        None,
        None,
    )
    assert str(error) == "what happened"


def test_the_codes_have_names():
    assert (
        tf.errors.OK,
        tf.errors.CANCELLED,
        tf.errors.INVALID_ARGUMENT,
        tf.errors.UNAUTHENTICATED,
    ) == (0, 1, 3, 16)


def test_op_error_takes_a_code():
    error = tf.errors.OpError(None, None, "what happened", 7)
    assert (error.error_code, error.message) == (7, "what happened")
    assert isinstance(error, Exception)
    assert not isinstance(error, ValueError)


@pytest.mark.parametrize(
    "error",
    [tf.errors.NotFoundError(None, None, "gone"), tf.errors.OpError(None, None, "odd", 7)],
    ids=repr,
)
def test_errors_can_be_pickled(error):
    twin = pickle.loads(pickle.dumps(error))
    assert (type(twin), twin.message, twin.error_code) == (
        type(error),
        error.message,
        error.error_code,
    )
    assert str(copy.copy(error)) == error.message


def test_operators_on_traced_tensors_have_an_error_of_their_own():
    assert issubclass(tf.errors.OperatorNotAllowedInGraphError, TypeError)


# What errors say


@pytest.mark.parametrize(
    ("call", "error", "parts"),
    [
        (
            lambda: tf.ones([2, 3]) + tf.ones([4, 5]),
            tf.errors.InvalidArgumentError,
            ["add", "[2, 3]", "[4, 5]", "float32"],
        ),
        (
            lambda: tf.ones([2, 3]) @ tf.ones([4, 5]),
            tf.errors.InvalidArgumentError,
            ["matmul", "[2, 3]", "[4, 5]"],
        ),
        (
            lambda: tf.matmul(tf.ones([3]), tf.ones([3])),
            tf.errors.InvalidArgumentError,
            ["matmul", "two dimensions"],
        ),
        (
            lambda: tf.reshape(tf.ones([6]), [4]),
            tf.errors.InvalidArgumentError,
            ["reshape", "[6]", "4"],
        ),
        (
            lambda: tf.reduce_sum(tf.ones([2]), axis=1),
            tf.errors.InvalidArgumentError,
            ["axis", "1"],
        ),
        (lambda: tf.gather(tf.ones([2]), [5]), tf.errors.InvalidArgumentError, ["5", "2"]),
        (lambda: tf.ones([2])[5], tf.errors.InvalidArgumentError, ["5", "2"]),
        (lambda: tf.constant([1, 2]) // 0, tf.errors.InvalidArgumentError, ["floordiv", "zero"]),
        (lambda: tf.ones([2])["a"], TypeError, ["'a'", "gather"]),
        (lambda: bool(tf.ones([2])), ValueError, ["(2,)", "reduce_any"]),
        (lambda: hash(tf.ones([2])), TypeError, ["ref()"]),
        (lambda: tf.constant([[1.0], [1.0, 2.0]]), ValueError, ["lengths"]),
        (lambda: tf.constant(1.5, tf.int32), TypeError, ["1.5", "int32"]),
        (
            lambda: tf.convert_to_tensor(tf.constant(1.0), tf.int32),
            ValueError,
            ["float32", "int32", "cast"],
        ),
        (lambda: tf.as_dtype("floaty"), TypeError, ["floaty", "float32"]),
        (
            lambda: tf.Variable([1.0]).assign([1.0, 2.0]),
            ValueError,
            ["assign", "(2,)", "(1,)", "Variable:0"],
        ),
        (
            lambda: tf.Variable([1.0]).assign_add([1.0, 2.0]),
            tf.errors.InvalidArgumentError,
            ["assign_add", "(2,)", "(1,)"],
        ),
        (
            lambda: tf.Variable(1.0).assign(tf.constant(1)),
            ValueError,
            ["assign", "int32", "float32", "cast"],
        ),
        (lambda: tf.Variable(1.0).__iadd__(1.0), RuntimeError, ["assign_add"]),
        (
            lambda: tf.Variable([1.0]).scatter_add(tf.ones([1])),
            TypeError,
            ["scatter_add", "IndexedSlices"],
        ),
        (
            lambda: tf.Variable([1.0]).scatter_nd_add([[3]], [1.0]),
            tf.errors.InvalidArgumentError,
            ["scatter_nd_add", "3"],
        ),
        (lambda: tf.Variable(), ValueError, ["initial_value"]),
        (lambda: tf.Variable(1.0, constraint=3), ValueError, ["constraint", "3"]),
    ],
)
def test_an_error_names_what_was_called_and_what_was_given(call, error, parts):
    with pytest.raises(error) as raised:
        call()
    for part in parts:
        assert part in str(raised.value)


def recorded():
    x = tf.constant([1.0, 2.0])
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = x * x
    return tape, x, y


@pytest.mark.parametrize(
    ("arguments", "error", "parts"),
    [
        (lambda x, y: (y, None), TypeError, ["gradient", "sources", "None"]),
        (lambda x, y: (None, x), TypeError, ["gradient", "target", "None"]),
        (lambda x, y: (y, [x, 3.0]), AttributeError, ["sources", "3.0", "float"]),
        (
            lambda x, y: (y, x, tf.ones([3])),
            tf.errors.InvalidArgumentError,
            ["output_gradients[0]", "(3,)", "(2,)"],
        ),
        (
            lambda x, y: ([y, y], x, [None, tf.ones([3])]),
            tf.errors.InvalidArgumentError,
            ["output_gradients[1]", "(3,)"],
        ),
        (
            lambda x, y: (y, x, tf.ones([2], tf.int32)),
            tf.errors.InvalidArgumentError,
            ["int32", "float32", "cast"],
        ),
        (
            lambda x, y: (y, x, None, "zeros"),
            ValueError,
            ["unconnected_gradients", "zeros", "zero"],
        ),
    ],
)
def test_an_error_of_gradient_names_the_argument(arguments, error, parts):
    tape, x, y = recorded()
    with pytest.raises(error) as raised:
        tape.gradient(*arguments(x, y))
    for part in parts:
        assert part in str(raised.value)


def test_a_tape_that_was_used_up_says_how_to_have_more():
    x = tf.Variable(1.0)
    with tf.GradientTape() as tape:
        y = x * x
    tape.gradient(y, x)
    with pytest.raises(RuntimeError, match=re.escape("persistent=True")):
        tape.gradient(y, x)


def test_the_cause_of_an_op_error_is_kept():
    with pytest.raises(tf.errors.InvalidArgumentError) as raised:
        tf.ones([2]) * tf.ones([3])
    assert isinstance(raised.value.__cause__, ValueError)


def test_an_op_that_fails_while_recording_leaves_the_tape_usable():
    x = tf.Variable([1.0, 2.0])
    with tf.GradientTape() as tape:
        y = x * x
        with pytest.raises(tf.errors.InvalidArgumentError):
            y + tf.ones([3])
        z = y * 3.0
    np.testing.assert_array_equal(tape.gradient(z, x).numpy(), [6.0, 12.0])


@pytest.mark.filterwarnings("error")
def test_numpy_does_not_warn_and_its_own_settings_stay():
    with np.errstate(all="raise"):
        x = tf.Variable([0.0, 1e30])
        with tf.GradientTape() as tape:
            y = tf.math.log(x) + 1.0 / x + x * x
        gradient = tape.gradient(y, x)
        with pytest.raises(FloatingPointError):
            np.float32(1.0) / np.float32(0.0)
    assert not np.isfinite(gradient.numpy()[0])


@pytest.mark.parametrize("name", [n for n in tf.errors.__all__ if n.endswith("Error")])
def test_a_message_alone_makes_an_error_of_each_class(name):
    class_ = getattr(tf.errors, name)
    assert str(class_("what happened")) == "what happened"


def test_an_error_without_a_message_is_refused():
    for wrong in ((None,), ("node", "op"), (None, None)):
        with pytest.raises(TypeError, match="give node_def, op and message"):
            tf.errors.InvalidArgumentError(*wrong)
