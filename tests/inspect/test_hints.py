"""Hints in the log when a gradient is None: where they come, how often, and what they say."""

import gc
import logging

import pytest

import gradtape as tf
from gradtape.core.tape_methods import known_none as known_reasons
from gradtape.extend import why_none

W = tf.Variable([1.0, 3.0], name="w")
V = tf.Variable([0.0, 0.0], name="v")
X = tf.constant([1.0, 2.0])
FIXED = tf.Variable([1.0, 2.0], trainable=False, name="fixed")


@tf.custom_gradient
def _without_gradient(x):
    return x * 2.0, lambda g: None


@pytest.fixture
def hints(caplog):
    caplog.set_level(logging.WARNING, "gradtape")
    return lambda: [r.getMessage() for r in caplog.records if "tape.explain" in r.getMessage()]


def test_a_hint_once_for_each_line(hints):
    for _ in range(3):
        with tf.GradientTape() as tape:
            y = tf.reduce_sum(tf.round(W) * V)
        tape.gradient(y, [W, V, FIXED])
    (said,) = hints()
    assert "the gradient of y with respect to W (and 1 more) is None: round at" in said
    assert "tape.explain(...) says more" in said


def test_no_hint_where_none_is_not_returned_or_hints_are_off(hints):
    with tf.GradientTape(persistent=True) as tape:
        y = tf.round(W) * 2.0
    tape.gradient(y, W, unconnected_gradients="zero")
    tf.debugging.disable_hints()
    try:
        assert tape.gradient(y, W) is None
    finally:
        tf.debugging.enable_hints()
    assert hints() == []


def test_no_hint_about_gradients_that_this_package_asks_for(hints):
    f = tf.function(lambda x: tf.cond(x[0] > 0.0, lambda: tf.round(x), lambda: tf.sign(x)))
    with tf.GradientTape() as tape:
        y = f(W) * V
    assert tape.gradient(y, V) is not None
    assert hints() == []


def test_a_hint_that_cannot_be_made_is_left_out(monkeypatch):
    from gradtape.inspect import explain as module

    def fail(*args, **kwargs):
        raise RuntimeError("a fault in explaining")

    monkeypatch.setattr(module, "explain", fail)
    with tf.GradientTape() as tape:
        y = tf.round(W) * 2.0
    assert tape.gradient(y, W) is None


def test_a_hint_about_gradient_functions_names_those_of_the_user(hints):
    with tf.GradientTape() as tape:
        y = tf.sin(_without_gradient(W))
    tape.gradient(y, W)
    (said,) = hints()
    assert "The gradient function of _without_gradient returned None" in said


@pytest.mark.parametrize("autograph", [True, False])
def test_a_hint_from_a_tape_in_a_function(hints, autograph):
    def step(x):
        with tf.GradientTape() as tape:
            y = tf.reduce_sum(tf.round(W) * x)
        assert tape.gradient(y, W) is None
        return y

    function = tf.function(step, autograph=autograph)
    function(X)
    function(X)
    (said,) = hints()
    assert f"{__file__}:{step.__code__.co_firstlineno + 3}, in" in said
    assert "the gradient of y with respect to W is None: round at" in said


def test_a_hint_from_a_tape_in_a_helper_of_a_function(hints):
    def helper(x):
        with tf.GradientTape() as tape:
            y = tf.floor(W) * x
        return tape.gradient(y, W)

    @tf.function
    def outer(x):
        found = [helper(x) for _ in range(2)]
        return x if found == [None, None] else None

    assert outer(X) is not None
    (said,) = hints()
    assert "floor at" in said


def test_hints_from_jacobians(hints):
    x = tf.constant([[1.0, 2.0], [3.0, 4.0]])
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = tf.round(x) * V
        losses = tf.reduce_sum(y, 1)
    assert tape.jacobian(y, x) is None
    assert tape.jacobian(y, [x, V])[0] is None
    assert not tape.batch_jacobian(y, source=x).numpy().any()
    assert tape.gradient_per_example(losses, variables=[x])[0] is None
    first, second, third, fourth = hints()
    assert "the Jacobian of y with respect to x is None: round at" in first
    assert "the Jacobian of y with respect to x is None: round at" in second
    assert "the Jacobian of y with respect to x is zero: round at" in third
    assert "the gradient of losses with respect to x is None: round at" in fourth


def test_no_hint_from_jacobians_where_zeros_are_asked_for(hints):
    with tf.GradientTape(persistent=True) as tape:
        y = tf.round(W) * V
    tape.jacobian(y, W, unconnected_gradients="zero")
    tape.gradient_per_example(y, W, unconnected_gradients="zero")
    assert hints() == []


def test_equal_code_that_is_compiled_anew_has_its_own_hint(hints):
    text = "with tf.GradientTape() as tape: y = tf.round(W)\ntape.gradient(y, W)\n"
    for _ in range(2):
        cell = compile(text, "<a cell>", "exec")
        exec(cell, {"tf": tf, "W": W})
        exec(cell, {"tf": tf, "W": W})
    assert len(hints()) == 2


def test_alike_functions_on_one_line_have_a_hint_each(hints):
    with tf.GradientTape(persistent=True) as tape:
        y = tf.round(W) * V
    asked = [lambda t: t.gradient(y, W), lambda t: t.gradient(y, W)]
    assert [ask(tape) for ask in asked] == [None, None]
    assert len(hints()) == len({id(ask.__code__) for ask in asked})


def test_what_is_known_of_a_variable_is_of_the_last_place():
    v = tf.Variable(1.0, name="known")

    def rounded():
        with tf.GradientTape() as tape:
            y = tf.round(v)
        return tape.gradient(y, v)

    def stopped():
        with tf.GradientTape() as tape:
            y = tf.stop_gradient(v)
        return tape.gradient(y, v)

    for ask, name in [(rounded, "round"), (stopped, "stop_gradient")] * 2:
        assert ask() is None
        said = why_none([v])
        assert said.startswith(f"The gradient of 'known:0' at {__file__}:")
        assert f"was None: {name} at {__file__}:{ask.__code__.co_firstlineno + 2}" in said
        assert said.endswith("tape.explain(...) says more.")
    assert why_none([W, tf.Variable(1.0)]) in ("", why_none([W]))


def test_what_is_known_of_a_variable_goes_with_it():
    v = tf.Variable(1.0)
    with tf.GradientTape() as tape:
        y = tf.round(v)
    assert tape.gradient(y, v) is None
    key = id(v)
    assert key in known_reasons
    del v, y, tape
    gc.collect()
    assert key not in known_reasons


def test_a_line_that_makes_new_variables_is_explained_a_few_times():
    found = []
    for _ in range(40):
        v = tf.Variable(1.0)
        with tf.GradientTape() as tape:
            y = tf.round(v)
        assert tape.gradient(y, v) is None
        found.append(bool(why_none([v])))
    assert found == [True] * 21 + [False] * 19


@pytest.mark.parametrize("known", [0, 1, 3])
def test_what_is_known_is_of_the_last_gradient_though_one_line_asks_for_all(known):
    v = tf.Variable([1.0, 3.0], name="renewed")
    calls = {
        "round": lambda: tf.round(v) * V,
        "stop_gradient": lambda: tf.stop_gradient(v) * V,
        "was not read": lambda: V * 2.0,
        "left the tape": lambda: V * v.numpy(),
        "greater": lambda: tf.where(v > 2.0, V, 0.0),
        "Inside the function": lambda: compiled(v) * V,
        None: lambda: v * V,
    }

    def paused():
        with tape.stop_recording():
            h = v * 2.0
        return h * V

    calls["was read at"] = paused
    compiled = tf.function(tf.round)
    names = list(calls)
    for first in names:
        for name in [first] * known + names:
            with tf.GradientTape() as tape:
                y = calls[name]()
            gradient = tape.gradient(y, v)
            said = why_none([v])
            if name is None:
                assert gradient is not None
                assert said == ""
            else:
                assert gradient is None
                assert said == "" or name in said, (first, name, said)
                assert said or known or first != names[0]


def test_what_is_known_ends_with_zeros_and_without_hints():
    v = tf.Variable([1.0, 3.0])

    def ask(**options):
        with tf.GradientTape() as tape:
            y = tf.round(v)
        tape.gradient(y, v, **options)
        return why_none([v])

    assert ask()
    assert not ask(unconnected_gradients="zero")
    assert ask()
    tf.debugging.disable_hints()
    try:
        assert not ask()
    finally:
        tf.debugging.enable_hints()


def test_the_same_reason_is_not_found_again_and_again(monkeypatch):
    from gradtape.inspect import explain as module

    calls = []
    explain = module.explain
    monkeypatch.setattr(module, "explain", lambda *a, **k: calls.append(1) or explain(*a, **k))
    v = tf.Variable([1.0, 3.0])
    for _ in range(30):
        with tf.GradientTape() as tape:
            y = tf.sin(tf.round(v) * V) * V
        assert tape.gradient(y, v) is None
        assert "round" in why_none([v])
    assert len(calls) == 1
