"""Classes whose values become tensors."""

import pytest

import gradtape as tf


def test_wherever_a_tensor_is_expected():
    class Scaled:
        def __init__(self, value):
            self.value = value

    v = tf.Variable(3.0)
    tf.register_tensor_conversion_function(
        Scaled, lambda s, dtype=None, name=None, as_ref=False: s.value * v
    )

    class Below(Scaled):
        pass

    with tf.GradientTape() as tape:
        y = tf.convert_to_tensor(Below(2.0)) + tf.square(Scaled(1.0)) + tf.constant(1.0) * Scaled(1)
    assert y.numpy() == 6.0 + 9.0 + 3.0
    assert tape.gradient(y, v).numpy() == 2.0 + 6.0 + 1.0
    assert tf.function(lambda: tf.add(Scaled(2.0), 1.0))().numpy() == 7.0


def test_the_lowest_priority_counts():
    class Two:
        pass

    for priority, value in ((100, 1.0), (50, 2.0), (70, 3.0)):
        tf.register_tensor_conversion_function(
            Two, lambda x, value=value, **_: tf.constant(value), priority
        )
    assert tf.convert_to_tensor(Two()).numpy() == 2.0


def test_errors():
    class Never:
        pass

    tf.register_tensor_conversion_function(Never, lambda x, **_: NotImplemented)
    with pytest.raises(TypeError, match="Never cannot be converted"):
        tf.convert_to_tensor(Never())
    with pytest.raises(TypeError, match="converts values of int by itself"):
        tf.register_tensor_conversion_function(int, lambda x, **_: x)
    with pytest.raises(TypeError, match="must be a class"):
        tf.register_tensor_conversion_function(1, lambda x, **_: x)
    with pytest.raises(TypeError, match="must be a function"):
        tf.register_tensor_conversion_function(Never, 1)
