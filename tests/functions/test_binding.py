"""Functions as methods of objects."""

import gc
import inspect
import weakref

import pytest

import gradtape as tf


class Model:
    def __init__(self, k):
        self.k = k

    @tf.function
    def scale(self, x, times=1.0):
        return x * self.k * times


class Half(Model):
    @tf.function
    def scale(self, x, times=1.0):
        return super().scale(x, times) / 2.0


class Slots:
    """Without weak references."""

    __slots__ = ("k",)

    def __init__(self, k):
        self.k = k

    scale = Model.scale


@pytest.mark.parametrize("kind", [Model, Half, Slots])
def test_each_object_has_programs_of_its_own(kind):
    a, b = kind(2.0), kind(3.0)
    x, factor = tf.constant(1.0), 0.5 if kind is Half else 1.0
    found = [float(a.scale(x)), float(b.scale(x)), float(a.scale(x, times=2.0))]
    assert found == [2.0 * factor, 3.0 * factor, 4.0 * factor]
    if kind is not Slots:
        assert a.scale is a.scale
        assert a.scale.experimental_get_tracing_count() == 2
        assert b.scale.experimental_get_tracing_count() == 1


@pytest.mark.parametrize("kind", [Model, Half])
def test_programs_do_not_keep_their_object(kind):
    model = kind(2.0)
    model.scale(tf.constant(1.0))
    bound, reference = model.scale, weakref.ref(model)
    del model
    gc.collect()
    assert reference() is None
    assert bound.experimental_get_tracing_count() == 1


def test_a_bound_method_shows_its_parameters_without_the_object():
    model = Model(2.0)
    assert list(inspect.signature(model.scale.python_function).parameters) == ["x", "times"]
    assert model.scale.__name__ == "scale"
    assert Model.scale is Model.__dict__["scale"]
    assert float(Model.scale(model, tf.constant(3.0))) == 6.0
