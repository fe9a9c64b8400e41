"""`tf.train.ExponentialMovingAverage`: the numbers are those of TensorFlow 2.21."""

import pytest

import gradtape as tf


def test_the_first_time_it_is_the_value_and_then_it_follows():
    w = tf.Variable([1.0, 2.0], name="w")
    ema = tf.train.ExponentialMovingAverage(0.9)
    assert ema.average(w) is None
    ema.apply([w])
    assert ema.average(w).numpy().tolist() == [1.0, 2.0]
    w.assign([2.0, 3.0])
    ema.apply([w])
    assert ema.average(w).numpy() == pytest.approx([1.1, 2.1])
    assert not ema.average(w).trainable
    assert ema.average_name(w) == "w/ExponentialMovingAverage"
    assert list(ema.variables_to_restore().values())[0] is w  # noqa: RUF015 - the only one


@pytest.mark.parametrize("number", [3, tf.constant(3), tf.Variable(3, dtype=tf.int64)])
def test_at_the_beginning_the_decay_is_smaller(number):
    w = tf.Variable([2.0, 3.0])
    ema = tf.train.ExponentialMovingAverage(0.9, num_updates=number)
    ema.apply([w])
    w.assign([5.0, 6.0])
    ema.apply([w])
    assert ema.average(w).numpy() == pytest.approx([4.0769234, 5.0769234])


def test_in_a_function_it_reads_the_number_of_updates_in_every_call():
    w, number = tf.Variable(0.0), tf.Variable(0)
    ema = tf.train.ExponentialMovingAverage(0.9, num_updates=number)
    step = tf.function(lambda: ema.apply([w]))
    step()
    w.assign(1.0)
    step()
    assert float(ema.average(w)) == pytest.approx(1 - 0.1)
    number.assign(90)
    w.assign(2.0)
    step()
    assert float(ema.average(w)) == pytest.approx(0.9 * 0.9 + 0.1 * 2.0)


def test_the_dtype_stays():
    w = tf.Variable(1.0, dtype=tf.bfloat16)
    ema = tf.train.ExponentialMovingAverage(0.5)
    ema.apply([w])
    w.assign(2.0)
    ema.apply([w])
    assert ema.average(w).dtype == tf.bfloat16
    assert float(ema.average(w)) == 1.5


@pytest.mark.parametrize(
    ("wrong", "says"), [(tf.constant(1.0), "hold tf.Variables"), (tf.Variable(1), "int32")]
)
def test_what_has_no_average(wrong, says):
    with pytest.raises(TypeError, match=says):
        tf.train.ExponentialMovingAverage(0.9).apply([wrong])
