"""`why_nonfinite` on programs as users write them: the right op, line and place; what is given not
finite; what is not known; and that it changes nothing.
"""

import html
import linecache
import math
from typing import Any

import numpy as np
import pytest

import gradtape as tf
from tests.inspect.test_every_op import marked_line

nan, inf = math.nan, math.inf


def ask(program: Any, *values: Any) -> Any:
    """What a tape finds in a program of the given sources."""
    sources = [tf.constant(value) for value in values]
    with tf.GradientTape() as tape:
        tape.watch(sources)
        target = program(*sources)
    return tape.why_nonfinite(target, sources)


# Programs: each has one line that is to blame, marked `here`


def log_of_softmax(logits):
    p = tf.nn.softmax(logits)
    return -tf.reduce_mean(tf.math.log(p))  # here


def norm_at_zero(x):
    return tf.reduce_sum(tf.norm(x * 2.0, axis=-1))  # here


def no_deviation(x):
    centered = x - tf.reduce_mean(x)
    scale = tf.math.reduce_std(x)
    return tf.reduce_sum(centered / scale)  # here


def overflow_of_exp(x):
    return tf.reduce_mean(tf.exp(x * 10.0))  # here


def sum_in_half(x):
    half = tf.cast(x, tf.float16)
    return tf.cast(tf.reduce_sum(half * 2.0), tf.float32)  # here


def square_in_bfloat16(x):
    half = tf.cast(x, tf.bfloat16)
    return tf.reduce_sum(tf.cast(half * half, tf.float32))  # here


def zero_times_infinity(x):
    big = tf.exp(x)  # here
    return tf.reduce_sum(big * (x - x))


def acos_at_one(x):
    cosine = x / tf.abs(x)
    return tf.reduce_sum(tf.acos(cosine))  # here


def root_as_power(x):
    return tf.reduce_sum(x**0.5)  # here


def log_of_a_negative(x):
    y = x - 1.0
    return tf.reduce_sum(tf.math.log(y) * 2.0)  # here


def division_by_zero_count(x):
    count = tf.reduce_sum(tf.cast(x > 10.0, tf.float32))
    return tf.reduce_sum(x) / count  # here


def softplus_by_hand(x):
    return tf.reduce_sum(tf.math.log(1.0 + tf.exp(x)))  # here


def kl_by_hand(p):
    q = tf.nn.relu(p - 0.5)
    return tf.reduce_sum(p * tf.math.log(p / q))  # here


def variance_of_one(x):
    mean = tf.reduce_mean(x)
    return tf.sqrt(tf.reduce_mean((x - mean) ** 2))  # here


def cosine_similarity(x):
    other = x * 0.0
    return tf.reduce_sum(x * other) * tf.math.rsqrt(tf.reduce_sum(other * other))  # here


def products(x):
    return tf.reduce_prod(x * 1e10)  # here


def big_matmul(x):
    y = tf.expand_dims(x, 0) * 1e20
    return tf.reduce_sum(tf.matmul(y, y, transpose_b=True))  # here


def log_of_determinant(x):
    matrix = tf.linalg.diag(x)
    return tf.math.log(tf.linalg.det(matrix))  # here


def atanh_of_tanh(x):
    y = tf.tanh(x * 100.0)
    return tf.reduce_sum(tf.atanh(y))  # here


def angle_of_nothing(x):
    y = x * 0.0
    return tf.reduce_sum(tf.atan2(y, y))  # here


def gathered(x):
    rows = tf.gather(tf.math.log(x), [2, 0, 1])  # here
    a, b = tf.split(rows, [1, 2])
    return tf.reduce_sum(tf.concat([b, a], 0)[1:])


def in_a_loop(x):
    y = x
    for _ in range(20):
        y = y * y  # here
    return tf.reduce_sum(y)


PROGRAMS = [
    (log_of_softmax, [0.0, 1000.0], "log", "forward", (0,)),
    (norm_at_zero, [[3.0, 4.0], [0.0, 0.0]], "sqrt", "backward", (1,)),
    (no_deviation, [2.0, 2.0], "divide", "forward", (0,)),
    (overflow_of_exp, [1.0, 20.0], "exp", "forward", (1,)),
    (sum_in_half, [30000.0, 20000.0, 1.0], "reduce_sum", "forward", ()),
    (square_in_bfloat16, [1.0, 3e19], "multiply", "forward", (1,)),
    (zero_times_infinity, [1.0, 200.0], "exp", "forward", (1,)),
    (acos_at_one, [2.0, 3.0], "acos", "backward", (0,)),
    (root_as_power, [4.0, 0.0], "pow", "backward", (1,)),
    (log_of_a_negative, [2.0, 0.5], "log", "forward", (1,)),
    (division_by_zero_count, [1.0, 2.0], "divide", "forward", ()),
    (softplus_by_hand, [1.0, 100.0], "exp", "forward", (1,)),
    (kl_by_hand, [0.9, 0.1], "divide", "forward", (1,)),
    (variance_of_one, [3.0], "sqrt", "backward", ()),
    (cosine_similarity, [1.0, 2.0], "rsqrt", "forward", ()),
    (products, [1e20, 1e20], "reduce_prod", "forward", ()),
    (big_matmul, [1.0, 2.0], "matmul", "forward", (0, 0)),
    (log_of_determinant, [1.0, 0.0], "log", "forward", ()),
    (atanh_of_tanh, [0.0, 1.0], "atanh", "forward", (1,)),
    (angle_of_nothing, [1.0], "atan2", "backward", (0,)),
    (gathered, [1.0, 2.0, 0.0], "log", "forward", (2,)),
    (in_a_loop, [1.0, 3.0], "multiply", "forward", (1,)),
]


def check(why: Any, program: Any, op: str, phase: str, index: Any) -> None:
    assert (why.kind, why.op, why.phase, why.index) == ("op", op, phase, index), str(why)
    assert (why.location.file, why.location.line) == (__file__, marked_line(program))
    assert why.certain, str(why)
    assert not np.isfinite(why.value)
    assert linecache.getline(__file__, why.location.line).strip() in str(why)


@pytest.mark.parametrize(
    ("program", "values", "op", "phase", "index"), PROGRAMS, ids=[p[0].__name__ for p in PROGRAMS]
)
def test_programs(program, values, op, phase, index):
    check(ask(program, values), program, op, phase, index)


@pytest.mark.parametrize(
    ("program", "values", "op", "phase", "index"), PROGRAMS, ids=[p[0].__name__ for p in PROGRAMS]
)
def test_programs_in_a_function(program, values, op, phase, index):
    compiled = tf.function(program)
    check(ask(lambda x: compiled(x * 1.0) + 1.0, values), program, op, phase, index)


@pytest.mark.parametrize(
    ("program", "values", "op", "phase", "index"), PROGRAMS, ids=[p[0].__name__ for p in PROGRAMS]
)
def test_programs_in_a_call_that_is_looked_into(program, values, op, phase, index):
    x = tf.Variable(values)
    kept = tf.Variable(tf.zeros_like(x), trainable=False)

    @tf.function
    def step(rate):
        with tf.GradientTape() as tape:
            loss = program(x)
        gradient = tape.gradient(loss, x)
        kept.assign(gradient)
        x.assign_sub(rate * gradient)
        return loss

    why = tf.debugging.why_nonfinite(step, tf.constant(0.1))
    check(why, program, op, phase, index)
    np.testing.assert_array_equal(x.numpy(), np.float32(values))
    assert not kept.numpy().any()


# What is masked does not show up


def returns(result):
    return lambda x: result(tf.math.log(x))


RESULTS = {
    "float": lambda t: float(tf.reduce_sum(t)),
    "scalar": lambda t: tf.reduce_sum(t).numpy(),
    "array": lambda t: t.numpy(),
    "in a dict": lambda t: {"good": 1.0, "bad": [t.numpy()]},
    "complex": lambda t: complex(tf.cast(tf.reduce_sum(t), tf.complex64)),
    "Variable": tf.Variable,
    "slices": lambda t: tf.IndexedSlices(t, tf.constant([0, 1])),
    "tensor": tf.identity,
}


@pytest.mark.parametrize("result", RESULTS.values(), ids=RESULTS)
def test_results_that_are_no_tensors(result):
    why = tf.debugging.why_nonfinite(returns(result), tf.constant([0.0, 1.0]))
    assert why
    if result is not tf.Variable:  # what a Variable was made from, nothing has noted
        assert (why.op, why.phase, why.certain) == ("log", "forward", True)
    assert not tf.debugging.why_nonfinite(returns(result), tf.constant([2.0, 1.0]))


def test_results_computed_from_values_that_left():
    def program(x):
        logs = tf.math.log(x)
        return float(tf.reduce_sum(logs)) * 0.0 + float(x[1])

    why = tf.debugging.why_nonfinite(program, tf.constant([0.0, 1.0]))
    assert (why.op, why.certain) == ("log", False)
    assert "float()" in why.notes[-1]


def test_results_that_nothing_recorded():
    for result in (-inf, np.float32(nan), np.array([1.0, inf]), {"loss": [np.array(nan)]}):
        why = tf.debugging.why_nonfinite(lambda result=result: result)
        assert (why.kind, why.certain) == ("unknown", False)
    for result in (1.0, "nan", None, np.array(["nan"]), np.array([None]), np.array([1])):
        assert not tf.debugging.why_nonfinite(lambda result=result: result)


def masked_log(x):
    return tf.reduce_sum(tf.where(x > 0, tf.math.log(x), 0.0))


def masked_root(x):
    return tf.reduce_sum(tf.where(x > 0, tf.sqrt(x), tf.zeros_like(x)))


def sliced_off(x):
    return tf.reduce_sum((1.0 / x)[:1])


def masked_division(x):
    return tf.reduce_sum(tf.where(tf.equal(x, 0.0), 1.0, x / x))


@pytest.mark.parametrize("program", [masked_log, masked_root, sliced_off, masked_division])
def test_masked_branches_do_not_show_up(program):
    why = ask(program, [1.0, 0.0])
    assert not why
    assert why.kind == "finite"
    assert "finite" in str(why)
    assert not ask(tf.function(program), [1.0, 0.0])


def test_a_masked_branch_is_not_blamed_for_another():
    def program(x):
        hidden = tf.where(x > 0, tf.math.log(x), 0.0)
        return tf.reduce_sum(hidden) + tf.reduce_sum(tf.exp(x * 100.0))  # here

    check(ask(program, [1.0, 0.0]), program, "exp", "forward", (0,))


# What was given not finite


def test_a_source():
    why = ask(lambda x: tf.reduce_sum(tf.square(x) + 1.0), [1.0, 2.0, 3.0, nan])
    assert (why.kind, why.op, why.index) == ("source", "the source", (3,))
    assert "The source" in str(why)
    assert "itself is NaN at index (3,)" in str(why)


def test_a_constant():
    data = tf.constant([1.0, inf])
    why = ask(lambda x: tf.reduce_sum(x * data), [1.0, 2.0])
    assert (why.kind, why.op, why.index, why.inputs[0].name) == ("constant", "multiply", (1,), "y")
    assert "its constant y has it" in str(why)


NOT_FINITE = np.array([[1, 2], [3, nan], [5, 6]], np.float32)


def stopped(w):
    logs = tf.stop_gradient(tf.math.log(w - 1.0))
    return tf.reduce_sum(w * logs)


DATA = [
    (lambda w: tf.reduce_sum(w * [1.0, nan]), "multiply", "y", (1,)),
    (lambda w: tf.reduce_sum(w * [1.0, -inf]), "multiply", "y", (1,)),
    (lambda w: tf.reduce_mean(w * [1.0, nan] - 1.0), "multiply", "y", (1,)),
    (lambda w: tf.reduce_mean(tf.constant(NOT_FINITE) @ w[:, None]), "matmul", "a", (1, 1)),
    (
        lambda w: tf.reduce_mean(tf.square(tf.constant(NOT_FINITE) @ w[:, None] - 1.0)),
        "matmul",
        "a",
        (1, 1),
    ),
    (lambda w: -tf.reduce_sum(tf.reshape(w * [1.0, nan], [2, 1])), "multiply", "y", (1,)),
    (stopped, "multiply", "y", (0,)),
]


@pytest.mark.parametrize(("program", "op", "argument", "index"), DATA)
def test_data_that_the_recording_holds(program, op, argument, index):
    """The Variable's value is not kept, but the data's is: no doubt is left to the Variable."""
    w = tf.Variable([1.0, 2.0])
    with tf.GradientTape() as tape:
        loss = program(w)
    why = tape.why_nonfinite(loss)
    assert (why.kind, why.op, why.inputs[0].name, why.index) == ("constant", op, argument, index)
    assert why.certain
    assert not why.missing
    assert not math.isfinite(why.value)
    assert why.chain[-1].op in {"reduce_sum", "reduce_mean", "negative"}


def test_data_that_is_masked_is_not_blamed_for_other_data():
    w = tf.Variable([[1.0, 2.0]])
    with tf.GradientTape() as tape:
        hidden = tf.where([[True, False]], w * [[1.0, nan]], 0.0)
        loss = tf.reduce_sum(tf.concat([hidden, w * inf], 0))
    why = tape.why_nonfinite(loss)
    # Not certain: a product with infinity may be finite for all that its declaration says.
    assert (why.kind, why.value, why.certain) == ("constant", inf, False)


def test_data_that_may_be_masked_is_not_certain():
    w = tf.Variable([1.0, 2.0])
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(tf.where([True, False], w, w * [1.0, nan]) * w)
    why = tape.why_nonfinite(loss)
    assert (why.kind, why.op) == ("constant", "multiply")
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(tf.where([True, False], w * [1.0, nan], w) - inf)
    why = tape.why_nonfinite(loss)
    assert (why.kind, why.op, why.certain) == ("constant", "multiply", False)


def test_data_that_shows_only_in_the_backward_pass():
    @tf.custom_gradient
    def straight_through(x):
        return tf.zeros_like(x), lambda g: g

    w = tf.Variable([1.0, 2.0])
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(straight_through(w * [1.0, nan]))
    why = tape.why_nonfinite(loss)
    assert (why.kind, why.op, why.inputs[0].name, why.index) == ("constant", "multiply", "y", (1,))


def test_a_variable():
    w = tf.Variable([[1.0], [nan]], name="weights")
    with tf.GradientTape() as tape:
        hidden = tf.square(w)
        loss = tf.reduce_sum(hidden)
    why = tape.why_nonfinite(loss)
    assert (why.kind, why.op, why.index) == ("source", "the Variable 'weights:0'", (1, 0))


def test_seeds():
    x = tf.constant([1.0, 2.0])
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = x * 2.0
    gradient = tape.gradient(y, x, output_gradients=tf.constant([1.0, nan]))
    why = tape.why_nonfinite(gradient)
    assert (why.kind, why.index) == ("seed", (1,))
    assert "output_gradients" in str(why)


def test_a_sum_of_gradients():
    x = tf.constant([1.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        h = x * 1.0
        y = tf.reduce_sum(h * 3e38 - 3e38) + tf.reduce_sum(h * 3e38 - 3e38)
    why = tape.why_nonfinite(y, x)
    assert (why.kind, why.phase, why.op) == ("sum", "backward", "multiply")
    assert "its parts are finite" in str(why)


# What is not known


def test_a_variable_that_nothing_kept():
    w = tf.Variable([[1.0], [nan]], name="weights")
    x = tf.ones([3, 2])
    with tf.GradientTape() as tape:
        y = tf.matmul(x, w) - 1.0
        loss = tf.reduce_mean(tf.square(y))
    why = tape.why_nonfinite(loss)
    assert why
    assert not why.certain
    assert [link.op for link in why.between] == ["matmul"]
    assert any("the Variable 'weights:0'" in missing for missing in why.missing)
    assert "is not finite now, at index (1, 0)" in str(why)
    w.assign([[1.0], [1.0]])  # what it is now proves nothing
    again = tape.why_nonfinite(loss)
    assert not again.certain
    assert "now" not in str(again)


def test_between_two_lines():
    constant = tf.constant(inf)
    x = tf.constant([1.0, 2.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        known = tf.square(x)
        lost = known + constant
        loss = tf.reduce_sum(lost - 1.0)
    why = tape.why_nonfinite(loss, x)
    assert not why.certain
    assert [link.op for link in why.between] == ["add", "subtract"]
    assert why.last_finite.op == "square"
    assert "was still finite" in str(why)
    assert "enable_check_numerics" in why.advice


def test_a_function_with_a_custom_gradient():
    @tf.custom_gradient
    def clipped(x):
        return x * 1.0, lambda g: g / tf.zeros_like(x)

    why = ask(lambda x: tf.reduce_sum(clipped(x * 2.0)), [1.0, 2.0])
    assert (why.phase, why.index) == ("backward", (0,))
    assert "clipped" in why.op

    @tf.custom_gradient
    def inverse(x):
        return 1.0 / x, lambda g: -g / (x * x)

    why = ask(lambda x: tf.reduce_sum(tf.square(inverse(x * 2.0))), [1.0, 0.0])
    assert (why.phase, why.index) == ("forward", (1,))
    assert "inverse" in why.op


ASKED = {
    "explain": lambda tape, y, v: tape.explain(y, v),
    "why_nonfinite": lambda tape, y, v: tape.why_nonfinite(y),
    "show": lambda tape, y, v: tape.show(target=y),
}


@pytest.mark.parametrize("ask", ASKED.values(), ids=ASKED)
@pytest.mark.parametrize("scale", [1.0, inf])
def test_asking_changes_nothing(ask, scale):
    """Gradient functions that draw random numbers and assign Variables run once more for it."""
    found = []
    for asks in (False, True):
        tf.random.set_seed(5)
        v, count = tf.Variable([1.0, 2.0]), tf.Variable(0.0)

        @tf.custom_gradient
        def noisy(x, count=count):
            def back(g):
                count.assign_add(1.0)
                return g * count * scale + tf.random.normal([2])

            return x * 1.0, back

        with tf.GradientTape(persistent=True) as tape, tf.GradientTape() as inner:
            y = tf.reduce_sum(noisy(v))
            if asks:
                ask(inner, y, v)
        ops = len(tape.show().data["ops"]["name"])
        found.append((tape.gradient(y, v).numpy(), tf.random.normal([2]).numpy(), ops))
        assert count.numpy() == 1.0
    for plain, asked in zip(*found, strict=True):
        np.testing.assert_array_equal(plain, asked)


def test_a_used_up_tape_says_what_to_do():
    x = tf.constant([0.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.reduce_sum(tf.sqrt(x))
    gradient = tape.gradient(y, x)
    for given, says in ((y, "What you gave is finite"), (gradient, "What you gave is not finite")):
        with pytest.raises(RuntimeError, match="persistent=True") as error:
            tape.why_nonfinite(given)
        assert says in str(error.value)
        assert "enable_check_numerics" in str(error.value)


# Forms of values


def test_gradients_of_a_persistent_tape():
    x, y = tf.constant([1.0, 0.0]), tf.constant([1.0, 2.0])
    with tf.GradientTape(persistent=True) as tape:
        tape.watch([x, y])
        loss = tf.reduce_sum(tf.sqrt(x) * y)
    gradients = tape.gradient(loss, [x, y])
    why = tape.why_nonfinite(gradients)
    assert (why.op, why.phase, why.index) == ("sqrt", "backward", (1,))
    assert tape.why_nonfinite(gradients[0]).op == "sqrt"
    with pytest.raises(ValueError, match="neither recorded by this tape"):
        tape.why_nonfinite(tf.constant([1.0, nan, 2.0]))


def test_the_tape_is_not_used_up_and_nothing_is_released():
    x = tf.constant([1.0, 0.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        loss = tf.reduce_sum(tf.sqrt(x))
    assert tape.why_nonfinite(loss).op == "sqrt"
    assert tape.why_nonfinite(loss).op == "sqrt"
    assert tape.gradient(loss, x).numpy().tolist() == [0.5, inf]


def test_rows_of_a_table():
    table = tf.Variable([[1.0], [0.0], [4.0]])
    with tf.GradientTape(persistent=True) as tape:
        loss = tf.reduce_sum(tf.sqrt(tf.gather(table, [2, 1])))
    gradient = tape.gradient(loss, table)
    assert isinstance(gradient, tf.IndexedSlices)
    for given in (loss, gradient):
        why = tape.why_nonfinite(given)
        assert (why.op, why.phase, why.index) == ("sqrt", "backward", (1, 0))


def test_numbers_complex_integers_and_empty_arrays():
    why = ask(tf.math.log, 0.0)
    assert (why.op, why.index, why.inputs[0].value) == ("log", (), 0.0)
    assert not ask(lambda x: tf.reduce_sum(tf.math.log(x)), np.zeros((0, 3), np.float32))
    why = ask(lambda z: tf.math.real(tf.reduce_sum(1.0 / z)), np.complex64([1j, 0]))
    assert (why.op, why.index) == ("divide", (1,))
    ids = tf.constant([1, 0])
    why = ask(
        lambda x: tf.reduce_sum(tf.gather(1.0 / x, ids) * tf.cast(ids, tf.float32)), [0.0, 1.0]
    )
    assert (why.op, why.index) == ("divide", (0,))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_overflow_names_the_largest_number_before(dtype):
    def program(x):
        y = tf.cast(x, dtype)
        z = y * 100.0
        return tf.cast(tf.reduce_sum(z * z), "float32")  # here

    why = ask(program, [1.0, 300.0] if dtype == "float16" else [1.0, 3e19])
    assert (why.op, why.index) == ("multiply", (1,))
    assert why.largest.op == "multiply"
    assert why.largest.value == pytest.approx(30000.0 if dtype == "float16" else 3e21, rel=0.01)
    assert dtype in why.advice
    assert "The largest finite number before it is" in str(why)


def test_overflow_in_half_backward():
    def program(x):
        y = tf.cast(x, tf.float16)
        return tf.cast(tf.reduce_sum(y * 1000.0), tf.float32) * 1e4

    why = ask(program, [1.0, 2.0])
    assert (why.op, why.phase, why.value) == ("multiply", "backward", inf)
    assert why.largest.value == 1e4
    assert "float16" in why.advice


def test_a_tape_in_a_tape():
    x = tf.constant([1.0, 0.0])
    with tf.GradientTape() as outer:
        outer.watch(x)
        with tf.GradientTape() as inner:
            inner.watch(x)
            y = tf.reduce_sum(x**1.5)
        gradient = inner.gradient(y, x)
        z = tf.reduce_sum(gradient)
    why = outer.why_nonfinite(z, x)
    assert why.phase == "backward"
    assert why.index == (1,)
    assert why.op == "pow"


def test_the_ops_of_an_inner_tape_that_is_still_open():
    x = tf.constant([1.0, 0.0])
    with tf.GradientTape(persistent=True) as outer, tf.GradientTape(persistent=True) as inner:
        outer.watch(x)
        inner.watch(x)
        y = tf.reduce_sum(tf.math.log(x))
    for tape in (outer, inner):
        assert tape.why_nonfinite(y).op == "log"


def test_values_that_do_not_show_forward():
    """The infinity is made forward and hidden; the backward pass meets it."""

    @tf.custom_gradient
    def one(x):
        return tf.ones_like(x), lambda g: g * x

    def program(x):
        big = tf.exp(x)
        return tf.reduce_sum(one(big * 1.0))

    why = ask(program, [1.0, 200.0])
    assert why.index == (1,)
    assert why.phase == "backward"


def test_a_function_in_a_function_backward():
    inner = tf.function(lambda x: tf.sqrt(x) * 2.0)  # here

    @tf.function
    def outer(x):
        return tf.reduce_sum(inner(x * 3.0))

    why = ask(outer, [1.0, 0.0])
    assert (why.op, why.phase, why.index) == ("sqrt", "backward", (1,))
    assert why.location.line == marked_line(test_a_function_in_a_function_backward)


def test_a_loop_in_a_function_is_named_as_a_whole():
    @tf.function
    def looped(x):
        for _ in tf.range(20):
            x = x * x
        return tf.reduce_sum(x)

    why = ask(looped, [1.0, 3.0])
    assert "looped" in why.op
    assert "tf.debugging.why_nonfinite" in str(why)
    why = tf.debugging.why_nonfinite(looped, tf.constant([1.0, 3.0]))
    assert (why.op, why.index) == ("multiply", (1,))


def test_long_chains():
    x = tf.constant([1.5])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.math.log(x - 1.5)
        for _ in range(3000):
            y = y + 1.0
    why = tape.why_nonfinite(y, x)
    assert why.op == "log"
    assert len(why.chain) == 3000
    assert len(str(why)) < 2000


# How it is told


def test_html_is_escaped():
    source = "def f(x):\n    return tf.math.log(x) + 0  # <script>alert(1)</script>\n"
    name = "<img src=x onerror=alert(2)>.py"
    linecache.cache[name] = len(source), None, source.splitlines(keepends=True), name
    space: dict[str, Any] = {"tf": tf}
    exec(compile(source, name, "exec"), space)
    x = tf.Variable([0.0], name="<b>w</b>")
    with tf.GradientTape() as tape:
        y = space["f"](x)
    why = tape.why_nonfinite(y)
    assert "<script>" in str(why)
    shown = why._repr_html_()
    assert html.escape(name) in shown
    for text in ("<script>", "<img", "<b>w"):
        assert text not in shown


def test_what_it_refuses():
    x = tf.constant([1.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x * 2.0
    with pytest.raises(TypeError, match="give it a Tensor"):
        tape.why_nonfinite(3.0)
    with pytest.raises(ValueError, match="did not record"):
        tape.why_nonfinite(tf.constant(nan))
    with pytest.raises(RuntimeError, match="has recorded nothing"):
        tf.GradientTape().why_nonfinite(y)
    with pytest.raises(RuntimeError, match="Ask outside"):
        tf.function(lambda v: tape.why_nonfinite(v))(x)


def test_gradients_are_forgotten_with_their_recording():
    x = tf.constant([1.0])
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = x * 2.0
    tape.gradient(y, x)
    assert len(tape._asked) == 1
    with tape:
        tape.reset()
    assert tape._asked == ()


def _half(values):
    return tf.constant(values, tf.float16)


def _overflow_in_a_function():
    x = _half([1.0, 300.0])
    f = tf.function(lambda x: tf.reduce_sum(x * x * 8.0))
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = f(x * 0.5) * 1.0
    return tape.why_nonfinite(y), "multiply", 22496.0


def _overflow_backward():
    x = _half([1e-3, 1.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.reduce_sum(tf.math.log(x) * 100.0) + tf.reduce_sum(x * 1e-3 * 5e4)
    return tape.why_nonfinite(y), "the gradient of log", 100.0


def _overflow_backward_in_a_function():
    x = _half([1e-2])
    f = tf.function(lambda x: tf.reduce_sum(1.0 / x * 10.0))
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    return tape.why_nonfinite(y), "the gradient of divide", 10.0


def _overflow_of_a_sum_of_gradients():
    x = _half([1.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        h = x * 1.0
        y = (h * 6e4 - 6e4) + (h * 5e4 - 5e4)
    return tape.why_nonfinite(y), "what the gradient of multiply passes on", 60000.0


def _overflow_of_second_order():
    x = _half([1e-2, 1.0])
    with tf.GradientTape() as outer:
        outer.watch(x)
        with tf.GradientTape() as inner:
            inner.watch(x)
            y = tf.reduce_sum(1.0 / x)
        total = tf.reduce_sum(inner.gradient(y, x))
    return outer.why_nonfinite(total), "the gradient of divide", 1.0


@pytest.mark.parametrize(
    "program",
    [
        _overflow_in_a_function, _overflow_backward, _overflow_backward_in_a_function,
        _overflow_of_a_sum_of_gradients, _overflow_of_second_order,
    ],
)  # fmt: skip
def test_the_largest_number_is_one_that_the_overflow_was_computed_from(program):
    why, op, value = program()
    assert why.certain
    assert math.isinf(why.value)
    assert (why.largest.op, why.largest.value) == (op, value)


def test_no_largest_number_is_named_where_values_were_not_kept():
    x = tf.constant([12.0, 1.0], tf.bfloat16)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.reduce_sum(tf.exp(x * 10.0))
    unknown, known = tape.why_nonfinite(y), tape.why_nonfinite(y, x)
    assert not unknown.certain
    assert unknown.largest is None
    assert known.certain
    assert known.largest.value == 120.0


def test_a_target_with_constants_that_were_not_kept_is_still_seen():
    """The gradient is finite, and a sum does not keep its constant."""

    def step(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            loss = 0.0 + tf.reduce_sum(tf.math.log(x * 0.0 - 1.0))
        return loss, tape.gradient(loss, x)

    why = tf.debugging.why_nonfinite(step, tf.constant([4.0, 1.0]))
    assert (why.op, why.phase) == ("log", "forward")
