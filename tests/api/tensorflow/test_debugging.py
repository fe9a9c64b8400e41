"""`tf.debugging`: the assertions' exceptions, and the search for the op that makes NaN or
infinity.
"""

import threading

import numpy as np
import pytest

import gradtape as tf
from gradtape.core.thread import here
from gradtape.errors import InvalidArgumentError

D = tf.debugging


@pytest.mark.parametrize(
    ("assertion", "args"),
    [
        (D.assert_negative, [[-1.0]]),
        (D.assert_non_positive, [[0, -1]]),
        (D.assert_integer, [3]),
        (D.assert_type, [3.0, tf.float32]),
        (D.assert_scalar, [tf.Variable(3.0)]),
        (D.assert_rank_at_least, [[1.0], 1]),
        (D.assert_rank_at_least, [[1.0], -1]),
        (D.assert_rank_in, [[1.0], [1, 3]]),
        (D.assert_proper_iterable, [[1]]),
        (D.assert_proper_iterable, [{1: 2}]),
        (D.assert_shapes, [[(tf.ones([2, 3]), ("N", 3)), (tf.ones([2]), ("N",))]]),
        (D.assert_shapes, [[(tf.ones([4, 2, 3]), (..., "N", 3)), (tf.ones([2]), ("*", "N"))]]),
        (D.assert_shapes, [[(tf.ones([2, 3]), (None, ".")), (tf.ones([2, 3]), "NM")]]),
        (D.assert_shapes, [[(tf.ones([]), ()), (tf.ones([3]), "3"), (tf.constant(1.0), ("K",))]]),
        (D.assert_shapes, [[(np.ones((2, 3)), tf.TensorShape([2, 3])), ([[1, 2]], (1.0, 2))]]),
        (D.assert_shapes, [{"text": ()}]),
    ],
)
def test_assertions_hold(assertion, args):
    assert assertion(*args) is None


@pytest.mark.parametrize(
    ("error", "says", "assertion", "args"),
    [
        (InvalidArgumentError, "x < 0", D.assert_negative, [[-1.0, 0.0]]),
        (InvalidArgumentError, "x <= 0", D.assert_non_positive, [[1.0]]),
        (TypeError, "float32", D.assert_integer, [[1.0]]),
        (TypeError, "bool", D.assert_integer, [True]),
        (TypeError, "int32, got float32", D.assert_type, [tf.constant(3.0), tf.int32]),
        (ValueError, r"\(1,\)", D.assert_scalar, [[3]]),
        (ValueError, "rank 2 or more", D.assert_rank_at_least, [[1.0], 2]),
        (ValueError, r"\[2, 3\]", D.assert_rank_in, [[1.0], [2, 3]]),
        (TypeError, "integer", D.assert_rank_in, [[1.0], [1.5]]),
        (TypeError, "Tensor", D.assert_proper_iterable, [tf.constant([1])]),
        (TypeError, "str", D.assert_proper_iterable, ["a"]),
        (TypeError, "ndarray", D.assert_proper_iterable, [np.ones(3)]),
        (TypeError, "int", D.assert_proper_iterable, [3]),
        (
            ValueError,
            "the size 'N' of tensor 0, axis 0",
            D.assert_shapes,
            [[(tf.ones([2]), "N"), (tf.ones([3]), "N")]],
        ),
        (
            ValueError,
            "axis 1 must have size 4, as specified, but has 3",
            D.assert_shapes,
            [[(tf.ones([2, 3]), ("N", 4))]],
        ),
        (ValueError, "rank 1", D.assert_shapes, [[(tf.ones([2, 3]), ("N",))]]),
        (ValueError, "rank 2 or more", D.assert_shapes, [[(tf.ones([3]), (..., 1, 3))]]),
        (ValueError, "only come first", D.assert_shapes, [[(tf.ones([2, 3]), ("M", ...))]]),
        (ValueError, "sequence", D.assert_shapes, [[(tf.ones([3]), 3)]]),
        (
            ValueError,
            "float64",
            D.assert_same_float_dtype,
            [[tf.constant(1.0), tf.constant(1.0, tf.float64)]],
        ),
        (ValueError, "float64", D.assert_same_float_dtype, [[tf.constant(1.0)], tf.float64]),
        (ValueError, "int32", D.assert_same_float_dtype, [[tf.constant(1)]]),
        (ValueError, "complex128", D.assert_same_float_dtype, [[1j]]),
    ],
)
def test_assertions_fail(error, says, assertion, args):
    with pytest.raises(error, match=says):
        assertion(*args)


def test_messages_come_first():
    with pytest.raises(ValueError, match=r"^my words assert_shapes"):
        D.assert_shapes([(tf.ones([2]), (3,))], message="my words")
    with pytest.raises(InvalidArgumentError, match=r"^my words assert_negative"):
        D.assert_negative([1.0], message="my words")


def test_same_float_dtype():
    assert D.assert_same_float_dtype() == tf.float32
    assert D.assert_same_float_dtype([None, tf.Variable(1.0)], "float32") == tf.float32
    assert D.assert_same_float_dtype([np.float64(1)]) == tf.float64


def test_is_numeric_tensor():
    numeric = [
        tf.constant(1),
        tf.constant(1j),
        tf.constant(1, tf.int8),
        tf.constant(1, tf.bfloat16),
    ]
    assert all(map(D.is_numeric_tensor, numeric))
    assert not any(
        map(
            D.is_numeric_tensor,
            [tf.constant(True), tf.constant("a"), 1.0, np.ones(2), tf.Variable(1.0)],
        )
    )


# enable_check_numerics


@pytest.fixture
def checking():
    D.enable_check_numerics()
    D.enable_check_numerics()  # a second time changes nothing
    yield
    D.disable_check_numerics()


@pytest.mark.usefixtures("checking")
class TestCheckNumerics:
    @pytest.mark.parametrize(
        ("function", "says"),
        [
            (
                lambda: tf.math.log(tf.constant([1.0, 0.0])),
                r"log\(float32\[2\]\): the result has Inf",
            ),
            (lambda: tf.constant(0.0) / 0.0, "divide.*NaN"),
            (lambda: tf.sqrt(tf.constant(-1.0, tf.float64)), "sqrt.*NaN"),
            (lambda: tf.exp(tf.constant(1000.0 + 0j)), "exp.*(NaN|Inf)"),
            (lambda: tf.constant(60000.0, tf.float16) * 2.0, "multiply.*float16.*Inf"),
            (lambda: tf.matmul([[1e38, 1e38]], [[10.0], [10.0]]), "matmul.*Inf"),
            (lambda: tf.vmap(tf.math.log)(tf.constant([1.0, 0.0])), "log.*Inf"),
        ],
    )
    def test_forward(self, function, says):
        with pytest.raises(InvalidArgumentError, match=says):
            function()

    def test_what_only_moves_values_is_not_to_blame(self):
        x = tf.constant([[1.0, np.inf, np.nan]])
        tf.transpose(tf.concat([x, x], axis=0))
        tf.gather(tf.reshape(x, [3]), [1])
        tf.maximum(x, 0.0)
        with pytest.raises(InvalidArgumentError, match="add"):
            x + 1.0

    def test_integers_and_finite_values_pass(self):
        x = tf.Variable([1.0, 2.0])
        with tf.GradientTape() as tape:
            y = tf.reduce_sum(tf.math.log(x) * tf.cast(tf.range(2) // 1, tf.float32))
        np.testing.assert_allclose(tape.gradient(y, x), [0, 0.5])

    def test_backward_names_the_op_and_the_line(self):
        x = tf.Variable([1.0, 0.0])
        with tf.GradientTape() as tape:
            y = tf.sqrt(x)
        with pytest.raises(
            InvalidArgumentError,
            match=r"gradient of sqrt by its argument 0 has Inf values.*test_debugging\.py:\d+",
        ):
            tape.gradient(y, x)

    def test_backward_of_higher_orders_and_jacobians(self):
        x = tf.constant([0.0])
        with tf.GradientTape(persistent=True) as outer:
            outer.watch(x)
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = x**1.5
            first = tape.gradient(y, x)
        with pytest.raises(InvalidArgumentError, match="Inf"):
            outer.gradient(first, x)
        with pytest.raises(InvalidArgumentError, match="Inf"):
            outer.jacobian(first, x)

    def test_sparse_and_custom_gradients(self):
        table = tf.Variable([[0.0], [1.0]])
        with tf.GradientTape() as tape:
            rows = tf.gather(table, [0])
            y = tf.sqrt(rows)
        with pytest.raises(InvalidArgumentError, match="sqrt"):
            tape.gradient(y, table)

        @tf.custom_gradient
        def identity(x):
            return x * 1.0, lambda g: tf.constant([np.nan])

        x = tf.Variable([1.0])
        with tf.GradientTape() as tape:
            y = identity(x)
        with pytest.raises(InvalidArgumentError, match="NaN"):
            tape.gradient(y, x)

    def test_the_tape_can_be_used_without_checks_afterwards(self):
        x = tf.Variable([0.0])
        with tf.GradientTape(persistent=True) as tape:
            y = tf.sqrt(x)
        with pytest.raises(InvalidArgumentError):
            tape.gradient(y, x)
        D.disable_check_numerics()
        assert tape.gradient(y, x).numpy() == [np.inf]

    def test_other_threads_are_not_checked(self):
        found = []

        def run():
            x = tf.Variable([0.0])
            with tf.GradientTape() as tape:
                y = tf.sqrt(x)
            found.append(tape.gradient(y, x).numpy().tolist())
            found.append(tf.math.log(0.0).numpy())

        thread = threading.Thread(target=run)
        thread.start()
        thread.join()
        assert found == [[np.inf], -np.inf]


def test_off_it_leaves_nothing_behind():
    state = here.state
    before = state.run, state.checker, state.around_walk
    D.enable_check_numerics()
    assert state.around_walk is not None
    D.disable_check_numerics()
    D.disable_check_numerics()
    assert (state.checker, state.around_walk) == before[1:]
    assert type(state.run) is type(before[0])
    assert tf.math.log(0.0).numpy() == -np.inf


def in_a_branch(check, x):
    if tf.reduce_sum(x) > -1e9:
        check(x)


def in_a_loop(check, x):
    for _ in tf.range(2):
        check(x)


def in_a_loop_of_unknown_length(check, x):
    i = tf.cast(tf.reduce_sum(x) * 0.0, tf.int32)
    while i < 2:
        check(x)
        i += 1


def under_a_tape(check, x):
    with tf.GradientTape() as tape:
        tape.watch(x)
        check(x)
        y = x * x
    tape.gradient(y, x)


PLACES = {
    "alone": lambda check, x: check(x),
    "branch": in_a_branch,
    "loop": in_a_loop,
    "while": in_a_loop_of_unknown_length,
    "map_fn": lambda check, x: tf.map_fn(lambda row: (check(row), row)[1], x),
    "vmap": lambda check, x: tf.vectorized_map(lambda row: (check(row), row)[1], x),
    "function": lambda check, x: tf.function(lambda x: (check(x), x)[1])(x),
    "op by op": lambda check, x: check(tf.boolean_mask(x, x > 0.0)),
    "tape": under_a_tape,
}


@pytest.mark.parametrize("outside", [False, True])
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("name", ["check_numerics", "assert_all_finite"])
def test_finite_values_are_asked_for_where_nothing_uses_the_result(name, place, outside):
    calls = tf.Variable(0)

    @tf.function
    def f(x):
        calls.assign_add(1)
        PLACES[place](lambda x: getattr(D, name)(1.0 / x, "inverse"), x)
        return x * x

    def run(x):
        x = tf.constant(x)
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = f(x)
        return tape.gradient(y, x).numpy().tolist() if outside else y.numpy().tolist()

    for x in ([1e-45, 2.0], [3.0, 1e-45]):  # the inverses are infinite
        with pytest.raises(tf.errors.InvalidArgumentError, match="inverse"):
            run(x)
        assert calls.numpy() == 0
    assert run([3.0, 2.0]) == ([6.0, 4.0] if outside else [9.0, 4.0])
    assert calls.numpy() == 1
