"""A Variable that is an argument of a function and that the function has from elsewhere too: calls
in any order equal eager code.
"""

from __future__ import annotations

import itertools
from types import SimpleNamespace

import pytest

import gradtape as tf

_here = SimpleNamespace()


class _Holder:
    def __init__(self, variable):
        self.parts = [{"w": variable}]

    def has(self):
        return self.parts[0]["w"]


def _closure(w):
    return lambda: w


def _default(w):
    def get(w=w):
        return w

    return get


def _attribute(w):
    return _Holder(w).has


def _global(w):
    _here.w = w
    return lambda: _here.w


def _function(w):
    inner = tf.function(lambda: w * 1.0)

    def get():
        return SimpleNamespace(assign=w.assign, value=inner)

    return get


WAYS = [_closure, _default, _attribute, _global, _function]
ACTIONS = {
    "reads": lambda v, w: v * w,
    "writes the argument": lambda v, w: (v.assign_add(1.0), v * w)[1],
    "writes the other": lambda v, w: (w.assign(w * 2.0), v * w)[1],
    "writes both": lambda v, w: (v.assign_add(1.0), w.assign(v * 2.0), v * w)[2],
}


ORDERS = ["".join(order) for order in itertools.product("wu", repeat=3)]


def _calls(way, action, order, *, compiled, tape):
    w, u = tf.Variable(2.0), tf.Variable(5.0)
    get = way(w)

    def f(v):
        found = get()
        if isinstance(found, SimpleNamespace):
            return v * found.value()
        return action(v, found)

    f = tf.function(f) if compiled else f
    results = []
    for name in order:
        with tf.GradientTape() if tape else tf.init_scope() as recorded:
            y = f({"w": w, "u": u}[name])
        gradients = (
            [None if g is None else float(g) for g in recorded.gradient(y, [w, u])] if tape else []
        )
        results.append((float(y), gradients, float(w), float(u)))
    return results


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    "orders", [["wuw", "uwu"], pytest.param(ORDERS, marks=pytest.mark.slow)], ids=["some", "all"]
)
@pytest.mark.parametrize("tape", [False, True], ids=["alone", "taped"])
@pytest.mark.parametrize("action", ACTIONS.values(), ids=ACTIONS)
@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__[1:])
def test_calls_equal_eager_code(way, action, tape, orders):
    for order in orders:
        eager, compiled = (_calls(way, action, order, compiled=c, tape=tape) for c in (False, True))
        assert compiled == eager, order


def test_a_variable_that_a_function_only_has_as_its_argument_is_traced_once():
    runs = []

    @tf.function
    def f(v):
        runs.append(1)
        return v * 2.0

    assert [float(f(tf.Variable(x))) for x in (1.0, 2.0, 3.0)] == [2.0, 4.0, 6.0]
    assert sum(runs) == f.experimental_get_tracing_count() == 1


def test_a_method_is_traced_once_for_each_place_of_a_variable():
    class Model:
        def __init__(self):
            self.w = tf.Variable(3.0)
            self.runs = 0

        @tf.function
        def scaled(self, v):
            self.runs += 1
            return v * self.w

    model, u = Model(), tf.Variable(7.0)
    assert [float(model.scaled(v)) for v in (model.w, u, model.w, u)] == [9.0, 21.0, 9.0, 21.0]
    assert model.runs == 2
