"""One tape over many calls of functions: every gradient that is asked for is what eager code gives,
however often and when.

A *program* is code under a tape that calls its `f`, `g` and `h`, which are plain Python or
compiled; a *way of asking* takes gradients from the tape. All programs are crossed with all ways of
asking, and compiled is compared with eager.
"""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

import gradtape as tf

X = np.array([0.5, -1.2, 0.8])


class Functions:
    """The same functions, plain or compiled."""

    def __init__(self, *, compiled):
        wrap = tf.function if compiled else lambda function: function
        self.v = tf.Variable(1.5, dtype=tf.float64)
        self.f = wrap(lambda x: tf.sin(x) * self.v)
        self.g = wrap(lambda x, n: (x**n, tf.reduce_sum(x)))
        self.h = wrap(self._branching)
        self.update = wrap(lambda: self.v.assign_add(1.0))

    def _branching(self, x):
        return tf.cond(tf.reduce_sum(x) > 0.0, lambda: self.f(x), lambda: x * x * self.v)


def one_call(c, x):
    return [c.f(x)]


def the_same_function_again(c, x):
    y = c.f(x)
    return [y, c.f(y), c.f(c.f(y))]


def two_functions(c, x):
    y, total = c.g(x, 3)
    return [c.f(y), c.f(x) * total]


def several_shapes(c, x):
    return [c.f(x), c.f(x[:2]), c.f(x[None]), c.f(x[0])]


def several_traces(c, x):
    return [c.g(x, n)[0] for n in (1, 2, 3)]


def branches(c, x):
    return [c.h(x), c.h(-x), c.h(c.h(x))]


def an_assignment_between(c, x):
    before = c.f(x)
    c.update()
    return [before, c.f(x), c.v * x]


def eager_ops_between(c, x):
    y = tf.exp(x) * c.f(x)
    return [y, c.f(y * y) + x, tf.stop_gradient(c.f(x)) * x]


def a_loop(c, x):
    results = []
    for _ in range(4):
        x = c.f(x) + 0.1
        results.append(x)
    return results


PROGRAMS = [
    one_call, the_same_function_again, two_functions, several_shapes, several_traces, branches,
    an_assignment_between, eager_ops_between, a_loop,
]  # fmt: skip


# Ways of asking: the results are lists of Tensors


def each_twice(tape, targets, sources):
    return [g for _ in range(2) for y in targets for g in tape.gradient(y, sources)]


def last_first(tape, targets, sources):
    return [g for y in reversed(targets) for g in tape.gradient(y, sources)]


def together_and_apart(tape, targets, sources):
    return [
        *tape.gradient(targets, sources),
        *[g for y in targets for g in tape.gradient(y, sources)],
    ]


def with_cotangents(tape, targets, sources):
    seeds = [tf.cos(tf.cast(y, tf.float64)) for y in targets]
    return tape.gradient(targets, sources, output_gradients=seeds)


def between_results(tape, targets, sources):
    return [tape.gradient(targets[-1], targets[0]), *tape.gradient(targets[-1], sources)]


def jacobians(tape, targets, sources):
    return [
        *tape.jacobian(targets[-1], sources),
        *tape.jacobian(targets[0], sources),
        *tape.gradient(targets[0], sources),
    ]


ASKING = [each_twice, last_first, together_and_apart, with_cotangents, between_results, jacobians]


def numbers(found):
    return [None if g is None else tf.convert_to_tensor(g).numpy() for g in found]


def assert_same(found, right):
    assert [g is None for g in found] == [g is None for g in right]
    for a, b in zip(found, right, strict=True):
        if a is not None:
            np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12)


def after_the_block(program, ask, *, compiled):
    c, x = Functions(compiled=compiled), tf.constant(X)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        targets = program(c, x)
    return numbers(ask(tape, targets, [x, c.v]))


def inside_the_block(program, ask, *, compiled):
    """The tape goes on recording what the gradients are computed by, and gives theirs."""
    c, x = Functions(compiled=compiled), tf.constant(X)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        targets = program(c, x)
        first = [g for g in ask(tape, targets, [x, c.v]) if g is not None]
        total = tf.add_n([tf.reduce_sum(g * g) for g in map(tf.convert_to_tensor, first)])
    return [
        *numbers(first),
        *numbers(tape.gradient(total, [x, c.v])),
        *numbers(ask(tape, targets, [x, c.v])),
    ]


def with_a_second_tape(program, ask, *, compiled):
    """Both tapes are persistent, and the outer one is asked for what the inner one gave."""
    c, x = Functions(compiled=compiled), tf.constant(X)
    with tf.GradientTape(persistent=True) as outer:
        outer.watch(x)
        with tf.GradientTape(persistent=True) as inner:
            inner.watch(x)
            targets = program(c, x)
        first = [tf.convert_to_tensor(g) for g in ask(inner, targets, [x, c.v]) if g is not None]
        total = tf.add_n([tf.reduce_sum(tf.sin(g)) for g in first])
    return [
        *numbers(first),
        *numbers(outer.gradient(total, [x, c.v])),
        *numbers(ask(outer, targets, [x, c.v])),
    ]


def entered_again(program, ask, *, compiled):
    """A tape that is entered a second time begins anew."""
    c, x = Functions(compiled=compiled), tf.constant(X)
    tape = tf.GradientTape(persistent=True)
    found = []
    for _ in range(2):
        with tape:
            tape.watch(x)
            targets = program(c, x)
        found += numbers(ask(tape, targets, [x, c.v]))
    return found


def later_calls_do_not_disturb(program, ask, *, compiled):
    """Between recording and asking, the functions are called again and the Variable changes."""
    c, x = Functions(compiled=compiled), tf.constant(X)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        targets = program(c, x)
    found = numbers(ask(tape, targets, [x, c.v]))
    c.update()
    program(c, x * 3.0)
    assert_same(numbers(ask(tape, targets, [x, c.v])), found)
    return found


SETTINGS = [
    after_the_block,
    inside_the_block,
    with_a_second_tape,
    entered_again,
    later_calls_do_not_disturb,
]
EVERYDAY = {
    (after_the_block, each_twice),
    (inside_the_block, together_and_apart),
    (later_calls_do_not_disturb, last_first),
}
CASES = [
    pytest.param(
        setting, program, ask,
        id=f"{setting.__name__}-{program.__name__}-{ask.__name__}",
        marks=() if (setting, ask) in EVERYDAY else pytest.mark.slow,
    )
    for setting, program, ask in product(SETTINGS, PROGRAMS, ASKING)
]  # fmt: skip


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("setting", "program", "ask"), CASES)
def test_compiled_equals_eager(setting, program, ask):
    assert_same(setting(program, ask, compiled=True), setting(program, ask, compiled=False))
