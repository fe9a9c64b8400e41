"""`tape.explain`: programs for every cause, each eager and in a function, that must name the cause
and the line, which a comment marks.
"""

import gc
import json
import weakref
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import gradtape as tf
from gradtape import keras
from gradtape.core.departures import Departures
from gradtape.core.endings import Ending
from gradtape.core.recording import Recording
from gradtape.functions.concrete_function import ConcreteFunction
from gradtape.inspect.code import body_around, call_at
from gradtape.inspect.explanation import Cause, Explanation, Reason

W = tf.Variable([1.0, 3.0], name="w")
V = tf.Variable([0.0, 0.0], name="v")
FIXED = tf.Variable([1.0, 2.0], trainable=False, name="fixed")
X = tf.constant([1.0, 2.0])


def straight():
    with tf.GradientTape() as tape:
        h = W * 3.0
        y = tf.reduce_sum(h)
    return tape.explain(y, W)


def through_a_branch():
    with tf.GradientTape() as tape:
        y = tf.cond(tf.reduce_sum(W) > 0.0, lambda: W * 2.0, lambda: W)
    return tape.explain(y, W)


def never_watched():
    x = tf.constant(1.0)
    with tf.GradientTape() as tape:  # here
        y = x * x
    return tape.explain(y, x)


def never_watched_beside_another():
    x, other = tf.constant(1.0), tf.constant(2.0)
    with tf.GradientTape() as tape:  # here
        tape.watch(other)
        y = x * other
    return tape.explain(y, x)


def watched_late():
    x = tf.constant(2.0)
    with tf.GradientTape() as tape:
        y = x * x  # here
        tape.watch(x)
    return tape.explain(y, x)


def watched_late_for_a_part():
    x = tf.constant([2.0, 3.0])
    with tf.GradientTape() as tape:
        h = x + 1.0  # here
        tape.watch(x)
        y = h * W
    return tape.explain(y, x)


def outside_the_block():
    x = tf.constant(2.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        h = x * x
    y = h * 2.0  # here
    return tape.explain(y, x)


def a_variable_read_outside():
    h = W * 2.0  # here
    with tf.GradientTape() as tape:
        y = h * 3.0
    return tape.explain(y, W)


def another_tape():
    x = tf.constant(2.0)
    with tf.GradientTape() as other, tf.GradientTape() as tape:
        other.watch(x)  # here
        y = x * x
    return tape.explain(y, x)


def unused():
    with tf.GradientTape() as tape:
        y = W * 2.0
    return tape.explain(y, V)


def unused_tensor():
    x = tf.constant(2.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = W * 2.0
    return tape.explain(y, x)


def integer_source():
    n = tf.constant([1, 2])
    with tf.GradientTape() as tape:
        tape.watch(n)
        y = tf.cast(n, tf.float32) * W
    return tape.explain(y, n)


def integer_target():
    with tf.GradientTape() as tape:
        y = tf.cast(W * 2.0, tf.int32)  # here
    return tape.explain(y, W)


def argmax():
    with tf.GradientTape() as tape:
        best = tf.argmax(W * W)  # here
        y = tf.cast(best, tf.float32) * 2.0
    return tape.explain(y, W)


def rounded():
    with tf.GradientTape() as tape:
        y = tf.reduce_sum(tf.round(W) * V)  # here
    return tape.explain(y, W)


def compared():
    with tf.GradientTape() as tape:
        mask = W > 2.0  # here
        y = tf.where(mask, V, V * 2.0)
    return tape.explain(y, W)


def cast_to_integer():
    with tf.GradientTape() as tape:
        whole = tf.cast(W, tf.int32)  # here
        y = tf.cast(whole, tf.float32) * V
    return tape.explain(y, W)


def stopped():
    with tf.GradientTape() as tape:
        y = tf.stop_gradient(W) * V  # here
    return tape.explain(y, W)


def stopped_in_a_helper():
    with tf.GradientTape() as tape:
        y = _target_network(W)
    return tape.explain(y, W)


def _target_network(w):
    h = w * w
    return tf.stop_gradient(h) + 1.0  # stopped_in_a_helper


def rebound():
    x = tf.constant([1.0, 2.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x * x
    x = tf.constant([3.0, 4.0])  # here
    return tape.explain(y, x)


def rebound_variable():
    v = V
    v = tf.Variable(1.0) if v is None else X  # here
    with tf.GradientTape() as tape:
        tape.watch(V)
        y = v * V
        z = y * 2.0
    return tape.explain(z, v)


def assigned():
    with tf.GradientTape() as tape:
        V.assign(W * 2.0)  # here
        y = V * 3.0
    return tape.explain(y, W)


def assigned_target():
    with tf.GradientTape() as tape:
        h = W * 2.0
        V.assign(h)  # here
    return tape.explain(V, W)


def not_trainable():
    with tf.GradientTape() as tape:
        y = FIXED * 2.0
    return tape.explain(y, FIXED)


def not_trainable_beside_another():
    with tf.GradientTape() as tape:
        y = FIXED * W
    return tape.explain(y, FIXED)


def not_accessed():
    with tf.GradientTape(watch_accessed_variables=False) as tape:  # here
        y = W * 2.0
    return tape.explain(y, W)


def not_accessed_beside_another():
    with tf.GradientTape(watch_accessed_variables=False) as tape:  # here
        tape.watch(V)
        y = W * V
    return tape.explain(y, W)


def paused():
    with tf.GradientTape() as tape:
        h = W * 2.0
        with tape.stop_recording():
            y = h * h  # here
    return tape.explain(y, W)


def paused_in_the_middle():
    with tf.GradientTape() as tape:
        h = W * 2.0
        with tape.stop_recording():
            k = tf.sin(h)  # here
        y = k * V
    return tape.explain(y, W)


def branch_not_run():
    x, chosen = tf.constant(2.0), False
    with tf.GradientTape() as tape:
        tape.watch(x)
        if chosen:  # noqa: SIM108 - a branch
            y = W * x  # here
        else:
            y = W * 2.0
    return tape.explain(y, x)


def loop_not_run():
    x = tf.constant(2.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = W * 2.0
        for _ in ():
            y = y * x  # here
    return tape.explain(y, x)


def reset_after_a_use():
    with tf.GradientTape() as tape:
        h = W * 2.0
        tape.reset()  # here
        y = h * V
    return tape.explain(y, W)


def reset_after_the_watch():
    x = tf.constant(2.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        tape.reset()  # here
        y = x * W
    return tape.explain(y, x)


@tf.custom_gradient
def _without_gradient(x):
    return x * 2.0, lambda g: None


def gradient_function_of_none():
    with tf.GradientTape() as tape:
        y = _without_gradient(W)  # here
    return tape.explain(y, W)


def gradient_function_of_none_in_a_chain():
    with tf.GradientTape() as tape:
        y = tf.sin(_without_gradient(W * 2.0))  # here
    return tape.explain(y, W)


@tf.custom_gradient
def _failing(x):
    def back(g):
        raise ValueError("mine")

    return x * 2.0, back


def gradient_function_that_fails():
    with tf.GradientTape() as tape:
        y = _failing(W)  # here
    return tape.explain(y, W)


def gradient_function_that_fails_in_a_chain():
    with tf.GradientTape() as tape:
        y = tf.sin(_failing(W * 2.0))  # here
    return tape.explain(y, W)


@tf.function
def _floors(x):
    h = x * x
    return tf.reduce_sum(tf.floor(h))  # inside_a_function


def inside_a_function():
    with tf.GradientTape() as tape:
        y = _floors(W)
    return tape.explain(y, W)


@tf.function
def _sums(x, y):
    for _ in tf.range(3):
        y = y + tf.reduce_sum(tf.sign(tf.stop_gradient(x)))  # inside_a_loop_of_a_function
    return y


def inside_a_loop_of_a_function():
    with tf.GradientTape() as tape:
        y = _sums(W, tf.reduce_sum(V))
    return tape.explain(y, W)


BOTH = {
    straight: Cause.CONNECTED,
    through_a_branch: Cause.CONNECTED,
    never_watched: Cause.NOT_WATCHED,
    never_watched_beside_another: Cause.NOT_WATCHED,
    watched_late: Cause.WATCHED_LATE,
    watched_late_for_a_part: Cause.WATCHED_LATE,
    outside_the_block: Cause.OUTSIDE,
    a_variable_read_outside: Cause.OUTSIDE,
    another_tape: Cause.OTHER_TAPE,
    unused: Cause.UNUSED,
    unused_tensor: Cause.UNUSED,
    integer_source: Cause.SOURCE_DTYPE,
    integer_target: Cause.TARGET_DTYPE,
    argmax: Cause.NO_DERIVATIVE,
    rounded: Cause.NO_DERIVATIVE,
    compared: Cause.NO_DERIVATIVE,
    cast_to_integer: Cause.NO_DERIVATIVE,
    stopped: Cause.STOPPED,
    stopped_in_a_helper: Cause.STOPPED,
    rebound: Cause.REBOUND,
    rebound_variable: Cause.NOT_WATCHED,
    assigned: Cause.ASSIGNED,
    assigned_target: Cause.ASSIGNED,
    not_trainable: Cause.NOT_TRAINABLE,
    not_trainable_beside_another: Cause.NOT_TRAINABLE,
    not_accessed: Cause.NOT_ACCESSED,
    not_accessed_beside_another: Cause.NOT_ACCESSED,
    paused: Cause.PAUSED,
    paused_in_the_middle: Cause.PAUSED,
    branch_not_run: Cause.NOT_RUN,
    loop_not_run: Cause.NOT_RUN,
    reset_after_a_use: Cause.RESET,
    reset_after_the_watch: Cause.RESET,
    gradient_function_of_none: Cause.NO_GRADIENT,
    gradient_function_of_none_in_a_chain: Cause.NO_GRADIENT,
    gradient_function_that_fails: Cause.FAILED,
    gradient_function_that_fails_in_a_chain: Cause.FAILED,
    inside_a_function: Cause.NO_DERIVATIVE,
    inside_a_loop_of_a_function: Cause.STOPPED,
}
WITHOUT_A_LINE = {
    straight, through_a_branch, unused, unused_tensor, integer_source, not_trainable,
    not_trainable_beside_another, rebound_variable,
}  # fmt: skip


def expected_line(program):
    """The line that the program's comment marks, in it or in what it calls."""
    code, lines = program.__code__, Path(__file__).read_text().splitlines()
    last = max(line for _, _, line in code.co_lines() if line)
    for number in range(code.co_firstlineno, last + 1):
        if lines[number - 1].endswith("# here"):
            return number
    (number,) = [i for i, line in enumerate(lines, 1) if line.endswith(f"# {program.__name__}")]
    return number


def explained(program, compiled):
    if not compiled:
        return program()[0]
    found = []

    def run():
        found.append(program())

    tf.function(run)()
    return found[0][0]


@pytest.mark.parametrize("compiled", [False, True], ids=["eager", "compiled"])
@pytest.mark.parametrize("program", BOTH, ids=lambda f: f.__name__)
def test_a_program_for_every_cause(program, compiled):
    reason = explained(program, compiled)
    assert reason.cause is BOTH[program], str(reason)
    if program not in WITHOUT_A_LINE:
        assert reason.location is not None, str(reason)
        assert (reason.location.file, reason.location.line) == (__file__, expected_line(program))
    assert reason.connected == (BOTH[program] is Cause.CONNECTED)
    assert reason.message.endswith(".")


def test_gradient_functions_run_only_if_the_answer_depends_on_them():
    calls = []

    @tf.custom_gradient
    def counted(x):
        def back(g):
            calls.append(1)
            return g

        return x * 2.0, back

    with tf.GradientTape() as tape:
        y = counted(W) + W
        z = tf.round(counted(V)) + W
    assert tape.explain(y, W)[0].connected
    assert not tape.explain(z, V)[0].connected
    assert tape.explain(z, W)[0].connected
    assert calls == []
    with tf.GradientTape() as tape:
        y = counted(W)
    assert tape.explain(y, W)[0].connected
    assert calls == [1]


def test_every_cause_has_two_programs():
    few = (Cause.OTHER_TAPE, Cause.SOURCE_DTYPE, Cause.TARGET_DTYPE, Cause.REBOUND)
    apart = (
        Cause.LEFT, Cause.USED_UP, Cause.NOTHING_RECORDED, Cause.INDEPENDENT, Cause.UNKNOWN,
        Cause.OTHER_THREAD,
    )  # fmt: skip
    for cause in Cause:
        count = sum(found is cause for found in BOTH.values())
        assert count >= (0 if cause in apart else 1 if cause in few else 2), cause


@pytest.mark.parametrize(
    ("method", "leave"),
    [
        ("numpy", lambda h: tf.constant(h.numpy())),
        ("__array__", lambda h: tf.constant(np.asarray(h))),
        ("float", lambda h: tf.constant([float(h[0]), 1.0])),
    ],
)
def test_values_that_left_the_tape(method, leave):
    with tf.GradientTape() as tape:
        h = W * W
        k = leave(h)
        y = tf.reduce_sum(k * V)
    (reason,) = tape.explain(y, W)
    assert reason.cause is Cause.LEFT
    assert reason.path[-1].op == method
    assert reason.location.file == __file__


def test_a_variable_whose_name_means_a_tensor_now():
    v = tf.Variable(1.0)
    v = v + 1.0
    with tf.GradientTape() as tape:
        y = v * v
    (reason,) = tape.explain(y, v)
    assert reason.cause is Cause.REBOUND
    assert "made a Variable of this name" in reason.message
    assert "v.assign" in reason.advice


def test_what_was_recorded_but_leads_elsewhere():
    with tf.GradientTape() as tape:
        other = W * 2.0
        y = V * 3.0
    (reason,) = tape.explain(y, W)
    assert reason.cause is Cause.INDEPENDENT
    assert "W is used at" in reason.message
    assert other.shape == (2,)


def test_a_tape_that_is_used_up_still_explains_what_was_none():
    with tf.GradientTape() as tape:
        y = tf.reduce_sum(tf.round(W) * V)
    assert tape.gradient(y, [W, V])[0] is None
    (reason,) = tape.explain(y, W)
    assert reason.cause is Cause.NO_DERIVATIVE
    assert tape.explain(y, V)[0].cause is Cause.USED_UP
    fresh = tf.GradientTape()
    assert fresh.explain(y, W)[0].cause is Cause.NOTHING_RECORDED


def test_what_is_explained_keeps_nothing_alive():
    x = tf.constant(np.ones(1000, np.float32))
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.reduce_sum(tf.round(x))
    tape.gradient(y, x)
    gone = weakref.ref(x)
    del x
    gc.collect()
    assert gone() is None
    assert tape.explain(y, W)[0].cause is Cause.USED_UP


def test_without_sources_all_watched_variables_are_explained():
    with tf.GradientTape() as tape:
        y = W * tf.stop_gradient(V)
    found = tape.explain(y)
    assert {reason.cause for reason in found} == {Cause.CONNECTED, Cause.STOPPED}
    assert not found.connected


@pytest.mark.parametrize(
    ("tape", "compute", "cause", "says"),
    [
        (tf.GradientTape(), lambda tape: X * 2.0, Cause.NOT_WATCHED, "watches no Variable"),
        (tf.GradientTape(), lambda tape: FIXED * 2.0, Cause.NOT_WATCHED, "no trainable one"),
        (
            tf.GradientTape(watch_accessed_variables=False),
            lambda tape: W * 2.0,
            Cause.NOT_ACCESSED,
            "watch_accessed_variables=False",
        ),
        (
            tf.GradientTape(),
            lambda tape: tape.watch(X) or X * 2.0,
            Cause.NOT_WATCHED,
            "It does watch tensors",
        ),
    ],
)
def test_a_tape_that_watched_no_variable_says_so(tape, compute, cause, says):
    with tape:
        y = compute(tape)
    found = tape.explain(y)
    assert not found.connected
    (reason,) = found
    assert (reason.cause, reason.target) == (cause, "y")
    assert says in str(reason)


def test_a_tape_that_was_never_entered_says_so_without_sources():
    (reason,) = tf.GradientTape().explain(X)
    assert reason.cause is Cause.NOTHING_RECORDED


def test_values_of_several_tensors_that_leave_at_one_place():
    def take(h):
        kept.append(h.numpy())

    kept = []
    with tf.GradientTape() as tape:
        take(V * 2.0)
        take(W * 2.0)
        y = V * kept[1]
    (reason,) = tape.explain(y, W)
    assert reason.cause is Cause.UNKNOWN
    assert "computed from W left the tape" in reason.message


def test_values_that_left_where_it_is_forgotten_what_they_were_computed_from():
    kept = []
    with tf.GradientTape() as tape:
        kept += [(W * 1.0).numpy() for _ in range(40)]
        for _ in range(3000):
            z = V * 2.0
        y = z * kept[0]
    (reason,) = tape.explain(y, W)
    assert reason.cause is Cause.UNKNOWN
    assert "is not known any more" in reason.message


def test_elements_of_a_list_that_were_variables_have_names():
    weights = [tf.Variable(1.0), tf.Variable(2.0)]
    for _ in range(2):
        with tf.GradientTape() as tape:
            y = weights[0] * weights[1]
        found = tape.explain(y, weights)
        weights = [weight - 0.1 for weight in weights]
    assert [reason.source for reason in found] == ["weights[0]", "weights[1]"]
    assert {reason.cause for reason in found} == {Cause.REBOUND}


def test_a_structure_of_sources_has_a_reason_for_each():
    with tf.GradientTape() as tape:
        y = W * 2.0
    found = tape.explain(y, {"a": W, "b": [V]})
    assert [reason.cause for reason in found] == [Cause.CONNECTED, Cause.UNUSED]
    with pytest.raises((TypeError, ValueError), match="explain: target"):
        tape.explain(None, W)


def test_forms_of_an_explanation():
    with tf.GradientTape() as tape:
        y = tf.round(W) * 2.0
    found = tape.explain(y, W)
    assert isinstance(found, Explanation)
    assert isinstance(found[0], Reason)
    (data,) = json.loads(json.dumps(found.to_dict()))
    assert data["cause"] == "an op without a derivative"
    assert data["path"][-1]["op"] == "round"
    assert "round at" in str(found)
    assert "round" in found._repr_html_()
    assert repr(found) == "<Explanation: W: an op without a derivative>"
    assert str(Explanation([])) == "There are no sources to explain."


def test_html_escapes_what_users_write():
    hostile = "<script>alert('x')</script>"
    reason = Reason(hostile, hostile, Cause.UNUSED, hostile, hostile)
    shown = Explanation([reason])._repr_html_()
    assert "<script" not in shown
    assert "&lt;script&gt;" in shown


def test_code_without_source_still_has_an_answer():
    names = {"tf": tf, "W": W}
    text = "with tf.GradientTape() as tape: y = tf.round(W)\nfound = tape.explain(y, W)[0]\n"
    exec(compile(text, "<no such file>", "exec"), names)
    assert names["found"].cause is Cause.NO_DERIVATIVE
    assert call_at(compile(text, "<no such file>", "exec"), 0) is None
    assert body_around("<no such file>", 1) is None


def test_endings_change_no_gradient_and_are_dropped_with_the_tape():
    with tf.GradientTape() as tape:
        h = W * W
        mask = h > 2.0
        y = tf.reduce_sum(tf.where(mask, h, h * 0.5) + tf.stop_gradient(h))
    np.testing.assert_array_equal(tape.gradient(y, W), [1.0, 6.0])
    after = tf.cast(mask, tf.float32) * 2.0
    assert after.node is None


def test_a_running_value_outside_tapes_does_not_grow_a_chain():
    total, kept = tf.constant(0.0), []
    for _ in range(50):
        with tf.GradientTape(persistent=True) as tape:
            loss = tf.reduce_sum(W * W)
        total = total + loss
        kept.append(tape)
    assert len(list(total.node.each())) <= 16


@pytest.mark.parametrize("indent", ["", "    "])
def test_a_function_whose_file_is_not_all_python(indent, tmp_path):
    file = tmp_path / "cell.py"
    lines = [
        "%matplotlib inline",
        "",
        "if True:" if indent else "1",
        f"{indent}def late(x):",
        f"{indent}    with tf.GradientTape() as tape:",
        f"{indent}        y = x * x",
        f"{indent}        tape.watch(x)",
        f"{indent}    return tape.explain(y, x)",
    ]
    file.write_text("\n".join(lines))
    names = {"tf": tf}
    exec(compile("\n".join(["1", *lines[1:]]), str(file), "exec"), names)
    (reason,) = names["late"](tf.constant(2.0))
    assert (reason.cause, reason.location.line) == (Cause.WATCHED_LATE, 6)


def test_many_endings_are_walked_once_and_a_gradient_never_fails_for_its_hint():
    values = []
    with tf.GradientTape() as tape:
        x = W * 1.0
        for _ in range(1500):
            x = tf.stop_gradient(x) * W + tf.stop_gradient(x * 0.5) * W
            x = x * 0.1
            values.append(x)
    gradients = tape.gradient(x, [W, V])
    assert gradients[0] is not None
    assert gradients[1] is None


def test_a_source_that_is_bound_again_inside_the_block():
    x = tf.constant(1.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x * x
        x = x + 1.0
    (reason,) = tape.explain(y, x)
    assert reason.cause is Cause.REBOUND


def test_values_of_other_things_that_leave_the_tape_are_not_blamed():
    def model():
        out = V * 2.0
        float(tf.reduce_mean(out))
        return out

    with tf.GradientTape() as tape:
        forgotten = W * 0.1
        y = model()
    (reason,) = tape.explain(y, W)
    assert reason.cause is Cause.INDEPENDENT
    assert forgotten.shape == (2,)


def test_values_that_left_and_may_have_come_back():
    kept = {}

    def before():
        kept["h"] = W * 2.0
        kept["c"] = kept["h"].numpy()

    def after():
        return V * kept["c"]

    with tf.GradientTape() as tape:
        alive = W * 1.0
        before()
        y = after()
    (reason,) = tape.explain(y, W)
    assert reason.cause is Cause.UNKNOWN
    assert "left the tape at" in reason.message
    assert alive.shape == (2,)


def test_facts_of_a_tensor_are_not_uses():
    x = tf.constant([1.0, 2.0])
    n = len(x)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = V * float(n) * float(x.shape[0])
    (reason,) = tape.explain(y, x)
    assert reason.cause is Cause.UNUSED


def test_assignments_after_the_read_or_assigned_over_are_not_blamed():
    a = tf.Variable([1.0, 1.0])
    with tf.GradientTape() as tape:
        y = a * 3.0
        a.assign(W * 2.0)
    assert tape.explain(y, W)[0].cause is Cause.INDEPENDENT
    with tf.GradientTape() as tape:
        a.assign(W * 2.0)
        a.assign([5.0, 5.0])
        y = a * 3.0
    assert tape.explain(y, W)[0].cause is Cause.INDEPENDENT
    with tf.GradientTape() as tape:
        a.assign_add(W * 2.0)
        a.assign_add(V * 2.0)
        y = a * 3.0
    assert tape.explain(y, W)[0].cause is Cause.ASSIGNED


def test_another_result_of_a_function_is_not_blamed():
    f = tf.function(lambda a, b: (b * 2.0, tf.floor(a)))
    with tf.GradientTape() as tape:
        y, _ = f(W, V)
    assert tape.explain(y, W)[0].cause is Cause.UNUSED


def test_a_gradient_function_that_fails_is_for_gradient_to_raise():
    @tf.custom_gradient
    def failing(x):
        def gradient(g):
            raise ArithmeticError("the user's own")

        return x * 2.0, gradient

    with tf.GradientTape() as tape:
        y = failing(W)
    assert tape.explain(y, W)[0].cause is Cause.FAILED
    with pytest.raises(ArithmeticError, match="the user's own"):
        tape.gradient(y, W)


def test_where_a_chain_ends_keeps_no_recording_and_no_function_alive():
    floors = tf.function(tf.floor)
    with tf.GradientTape() as tape:
        h = W * W
        mask, floored = h > 2.0, floors(h)
        y = tf.reduce_sum(tf.where(mask, V, floored))
        assert tape.explain(floored, W)[0].path[-1].op == "floor"
    program = weakref.ref(floored.node.inside)
    assert tape.gradient(y, V) is not None
    recordings = [recording for node in (mask.node, floored.node) for recording in node.followed]
    del tape, floors, h, y
    gc.collect()
    assert [reference() for reference in (program, *recordings)] == [None] * 3


def _compared(tape):
    return W * W > 2.0


def _compared_twice(tape):
    h = W * W
    return tf.logical_or(h > 2.0, tf.round(h) > 1.0)


def _of_a_function(tape):
    return tf.function(lambda x: tf.floor(x))(W * W)


def _of_a_loop_in_a_function(tape):
    @tf.function
    def floored(x):
        for _ in tf.range(3):
            x = tf.floor(x)
        return x

    return floored(W * W)


def _carried_on(tape):
    return (tf.function(lambda x: tf.floor(x))(W * W) + tf.round(W)) * 2.0


def _on_another_thread(tape):
    h = W * W
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(tf.sin, h).result()


@pytest.mark.parametrize("ended", [True, False], ids=["used up", "deleted"])
@pytest.mark.parametrize(
    "options", [{}, {"persistent": True}, {"memory_limit": "1MB"}], ids=lambda o: str(o) or "plain"
)
@pytest.mark.parametrize(
    "compute",
    [
        _compared, _compared_twice, _of_a_function, _of_a_loop_in_a_function, _carried_on,
        _on_another_thread,
    ],
)  # fmt: skip
def test_a_tensor_behind_the_end_of_a_chain_keeps_nothing_of_the_tape(compute, options, ended):
    def kept():
        gc.collect()
        objects = gc.get_objects()
        return sum(isinstance(o, (Recording, ConcreteFunction, Departures)) for o in objects)

    def run():
        with tf.GradientTape(**options) as outer, tf.GradientTape(**options) as tape:
            result = compute(tape)
            float(tf.reduce_sum(W * 1.0))
            y = W * 2.0
        assert not tape.explain(result, W)[0].connected
        if ended:
            tape.gradient(y, W)
            outer.gradient(y, W)
        return result

    before = kept()
    result = run()
    assert isinstance(result.node, Ending)
    assert kept() == before


@pytest.mark.parametrize("take", ["predict", "get_weights"])
def test_values_that_left_in_keras_are_named_at_the_users_line(take):
    model = keras.Sequential([keras.Input([2]), keras.layers.Dense(2)])
    w = tf.Variable([1.0, 2.0])
    with tf.GradientTape() as tape:
        if take == "predict":
            made = model.predict(np.ones([1, 2], "float32"), verbose=0)
        else:
            made = model.get_weights()[0]
        y = tf.reduce_sum(made * w)
    reason = tape.explain(y, model.trainable_variables)[0]
    assert reason.cause is Cause.LEFT
    assert reason.location.file == __file__
    assert f"{take}(" in Path(__file__).read_text().splitlines()[reason.location.line - 1]
    assert "in Keras at" in reason.message


@pytest.mark.parametrize("optimizer", ["SGD", "Adam", "RMSprop"])
@pytest.mark.parametrize("sparse", [False, True])
def test_an_update_by_an_optimizer_inside_a_block_is_an_assignment(optimizer, sparse):
    scale, inner_weights = tf.Variable(2.0), keras.Variable([[1.0], [2.0]])
    optimizer = getattr(keras.optimizers, optimizer)()
    with tf.GradientTape() as tape:
        with tf.GradientTape() as inner:
            read = tf.gather(inner_weights, [0]) if sparse else inner_weights
            loss = tf.reduce_sum(read * scale)
        optimizer.apply_gradients([(inner.gradient(loss, inner_weights), inner_weights)])
        y = tf.reduce_sum(inner_weights * 3.0)
    (reason,) = tape.explain(y, scale)
    assert reason.cause is Cause.ASSIGNED


def test_what_follows_a_starred_source_is_not_called_by_a_name_of_another():
    first, pair = tf.Variable(1.0, name="one"), [tf.Variable(2.0, name="two")] * 2
    with tf.GradientTape() as tape:
        y = first * 2.0
    names = [reason.source for reason in tape.explain(y, [first, *pair, *[]])]
    assert names == ["first", "the Variable 'two:0'", "the Variable 'two:0'"]
    arguments = (y,)
    (reason,) = tape.explain(*arguments, pair[0])
    assert reason.source == "the Variable 'two:0'"


def test_advice_about_a_source_without_a_name_is_code():
    x = tf.constant(1.0)
    with tf.GradientTape() as tape:
        y = x * 2.0
    found = {"tape": tape, "y": y, "x": x}
    exec("reasons = tape.explain(y, x)", found)
    assert "tape.watch(x)" in found["reasons"][0].advice


def test_values_of_chains_that_had_ended_are_for_explanations_only():
    x = tf.Variable([1.0, 2.0])
    with tf.GradientTape(strict=True) as tape:
        index = int(tf.argmax(x))
    assert tape.departures() == ()
    with tf.GradientTape() as tape:
        index = int(tf.argmax(x))
        y = tf.constant([3.0, 4.0])[index] * x
    assert tape.departures() == ()
    assert tape.gradient(y, x) is not None


def test_a_variable_that_is_assigned_to_is_read():
    source, copy = tf.Variable([1.0]), tf.Variable([0.0])
    with tf.GradientTape() as tape:
        copy.assign(source)
    assert source.ref() in [variable.ref() for variable in tape.watched_variables()]
