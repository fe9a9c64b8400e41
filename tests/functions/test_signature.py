"""Arguments of functions that are no tensors count by their values;
objects with methods have programs of their own.
"""

from __future__ import annotations

import dataclasses
import gc
import weakref

import numpy as np
import pytest

import gradtape as tf

# Values


class Point:
    """Equal by what it holds, and hashed by it."""

    def __init__(self, value):
        self.value = value

    def __eq__(self, other):
        return isinstance(other, Point) and self.value == other.value

    def __hash__(self):
        return hash(self.value)


@pytest.mark.parametrize(
    ("values", "traces"),
    [
        (["a", "b", "a", None, None], 3),
        ([float("nan"), float("nan"), -float("nan")], 1),
        ([1, 1.0, True, 2], 2),
        ([Point(1), Point(1), Point(2)], 2),
        ([{1, 2}, {2, 1}, {1, 3}], 2),
        ([slice(0, 2), slice(0, 2), slice(0, 3)], 2),
        ([tf.float32, tf.float32, tf.float64], 2),
        ([tf.constant("a"), tf.constant("a"), tf.constant("b"), np.array(["a"])], 3),
        ([np.float32(1), np.float32(2), np.int32(1)], 2),
        ([tf.sin, tf.sin, tf.cos], 2),
        ([tf.TensorShape([1]), tf.TensorShape([1]), tf.TensorShape([2])], 2),
        ([tf.TensorSpec([1]), tf.TensorSpec([1]), tf.ones([1])], 2),
    ],
    ids=[
        "strings",
        "nan",
        "numbers",
        "equal objects",
        "sets",
        "slices",
        "dtypes",
        "tensors of strings",
        "scalars",
        "functions",
        "shapes",
        "specs",
    ],
)
def test_values_count_by_equality(values, traces):
    seen = []
    f = tf.function(lambda x, value: seen.append(value) or x + 1.0, autograph=False)
    for value in values:
        f(tf.constant(1.0), value)
    assert len(seen) == traces


def test_tensors_of_strings_are_known_while_tracing():
    f = tf.function(
        lambda x, mode: (x * 2.0 if mode.numpy() == b"twice" else x, mode), autograph=False
    )
    for _ in range(2):
        assert [float(f(tf.constant(1.0), tf.constant(mode))[0]) for mode in ("twice", "once")] == [
            2.0,
            1.0,
        ]
    found = f(tf.constant(1.0), tf.constant("once"))
    assert [type(found), float(found[0]), found[1].numpy()] == [tuple, 1.0, b"once"]
    g = tf.function(lambda text: text)
    assert [g(tf.constant(word)).numpy() for word in ("a", "b", "a")] == [b"a", b"b", b"a"]


def test_a_set_that_changes():
    f = tf.function(lambda x, chosen: x * float(len(chosen)))
    chosen = {1}
    results = [float(f(tf.constant(1.0), chosen))]
    chosen.add(2)
    assert [*results, float(f(tf.constant(1.0), chosen))] == [1.0, 2.0]


def test_a_slice_and_a_module():
    class Scale(tf.Module):
        def __init__(self, factor):
            super().__init__()
            self.w = tf.Variable(factor)

    f = tf.function(lambda module, x, key: module.w * x[key])
    x, one, two = tf.constant([1.0, 2.0, 3.0]), Scale(2.0), Scale(3.0)
    assert f(one, x, slice(0, 2)).numpy().tolist() == [2.0, 4.0]
    assert f(two, x, slice(1, None)).numpy().tolist() == [6.0, 9.0]
    one.w.assign(10.0)
    assert f(one, x, slice(0, 2)).numpy().tolist() == [10.0, 20.0]
    assert f.experimental_get_tracing_count() == 2


class Wrapped:
    """What a Keras variable is to gradtape."""

    def __init__(self, value):
        self.__gradtape_variable__ = tf.Variable(value)

    def __gradtape_tensor__(self):
        return self.__gradtape_variable__.tensor()

    def add(self, value):
        self.__gradtape_variable__.assign_add(value)


def test_what_stands_for_a_variable_stays_what_it_is():
    def body(x, v):
        v.add(x)
        return x * v

    f = tf.function(body)
    one, two = Wrapped(2.0), Wrapped(10.0)
    x = tf.constant(1.0)
    assert [float(f(x, v)) for v in (one, two, one)] == [3.0, 11.0, 4.0]
    assert f.experimental_get_tracing_count() == 1
    with tf.GradientTape() as tape:
        y = f(tf.constant(5.0), two)
    assert float(tape.gradient(y, two.__gradtape_variable__)) == 5.0


# Methods


def test_objects_that_are_equal_have_programs_of_their_own():
    class Scale:
        def __init__(self, factor):
            self.factor = factor

        def __eq__(self, other):
            return True

        def __hash__(self):
            return 1

        @tf.function
        def __call__(self, x):
            return x * self.factor

    one, two = Scale(2.0), Scale(3.0)
    assert [float(one(tf.constant(1.0))), float(two(tf.constant(1.0)))] == [2.0, 3.0]


def test_a_method_of_an_object_without_a_hash_is_traced_once():
    seen = []

    @dataclasses.dataclass
    class Scale:
        factor: float

        @tf.function
        def __call__(self, x):
            seen.append(1)
            return x * self.factor

    model = Scale(2.0)
    assert [float(model(tf.constant(x))) for x in (1.0, 2.0)] == [2.0, 4.0]
    assert len(seen) == 1
    gone = weakref.ref(model)
    del model
    gc.collect()
    assert gone() is None
    assert not Scale.__dict__["__call__"]._bound
