"""Tapes, accumulators, batches, Variables and recomputation together,
where one could forget about another.
"""

import threading

import numpy as np
import pytest

import gradtape as tf
from gradtape.core.thread import here

Accumulator = tf.autodiff.ForwardAccumulator


def test_forward_mode_over_a_variable_that_a_tape_reads_too():
    v = tf.Variable(3.0)
    with tf.GradientTape() as tape:
        with Accumulator(v, 1.0) as acc:
            y = v * v * v
        slope = acc.jvp(y)
    assert float(slope) == 27.0
    assert float(tape.gradient(slope, v)) == 18.0
    assert float(tf.hvp(lambda x: x**3, v, 1.0)) == 18.0


def test_nested_accumulators_over_a_variable_and_its_reads():
    v = tf.Variable(3.0)
    with Accumulator(v, 1.0) as outer:
        with Accumulator(v, 1.0) as inner:
            y = v.read_value() ** 3
        slope = inner.jvp(y)
    assert float(slope) == 27.0
    assert float(outer.jvp(slope)) == 18.0


def test_parts_of_a_variable_that_broadcast():
    v = tf.Variable([1.0, 2.0, 3.0])
    with tf.GradientTape() as tape:
        y = v[0:1] * v[1:]
    assert tape.gradient(y, v).numpy().tolist() == [5.0, 1.0, 1.0]


def test_recomputing_sees_every_variable_as_it_was():
    scale, x = tf.Variable(2.0, trainable=False), tf.constant(3.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.recompute_grad(lambda x: x * scale)(x)
        scale.assign(100.0)
    assert float(tape.gradient(y, x)) == 2.0
    assert float(scale) == 100.0


def test_recomputing_does_not_repeat_assignments():
    scale, count, x = tf.Variable(2.0), tf.Variable(0, trainable=False), tf.constant(3.0)

    def f(x):
        y = x * scale
        scale.assign_add(10.0)
        count.assign_add(1)
        return y, 1.0

    with tf.GradientTape() as tape:
        tape.watch(x)
        y, _ = tf.recompute_grad(f)(x)
    assert [float(g) for g in tape.gradient(y, [x, scale])] == [2.0, 3.0]
    assert (float(scale), int(count)) == (12.0, 1)


def test_recomputing_gives_the_gradient_of_a_watched_variable_that_is_not_trainable():
    scale, x = tf.Variable(2.0, trainable=False), tf.constant(3.0)
    with tf.GradientTape() as tape:
        tape.watch(scale)
        y = tf.recompute_grad(lambda x: x * scale)(x)
    assert float(tape.gradient(y, scale)) == 3.0


@pytest.mark.parametrize(
    "pause", [lambda tape: tape.stop_recording(), lambda tape: tf.init_scope()]
)
def test_a_batch_in_which_the_outer_tape_pauses(pause):
    x = tf.constant([1.0, 2.0])

    def body(e):
        with pause(tape):
            with tf.GradientTape() as inner:
                inner.watch(e)
                y = e * e
            return y, inner.gradient(y, e)

    with tf.GradientTape() as tape:
        tape.watch(x)
        y, slope = tf.vmap(body)(x)
    assert slope.numpy().tolist() == [2.0, 4.0]
    assert tape.gradient(y, x) is None


def test_a_tape_that_ends_inside_an_init_scope_has_ended():
    v = tf.Variable(3.0)
    with tf.GradientTape() as tape:
        y = v * v
        with tf.init_scope():
            assert float(tape.gradient(y, v)) == 6.0
        assert here.state.recorders == ()
    with tf.GradientTape() as tape:
        y = v * v
    assert float(tape.gradient(y, v)) == 6.0


def test_stopping_inside_an_init_scope():
    v = tf.Variable(3.0)
    with tf.GradientTape() as tape:
        y = v * v
        with tf.init_scope(), tape.stop_recording():
            pass
    assert float(tape.gradient(y, v)) == 6.0


def test_a_thread_that_differentiates_anothers_tape_goes_on_recording_its_own():
    v = tf.Variable(3.0)
    found = []

    def work(other, y):
        with tf.GradientTape() as mine:
            a = v * v
            found.append(float(other.gradient(y, v)))
            b = a * v
        found.append(float(mine.gradient(b, v)))

    with tf.GradientTape(persistent=True) as tape:
        y = v * 5.0
        thread = threading.Thread(target=work, args=(tape, y))
        thread.start()
        thread.join()
    assert found == [5.0, 27.0]


def test_a_tape_that_watches_what_only_an_accumulator_knew():
    x = tf.constant(2.0)
    with Accumulator(x, 1.0) as acc:
        y = x * x
    with tf.GradientTape() as tape:
        tape.watch(y)
        z = y * y
    assert float(tape.gradient(z, y)) == 8.0
    assert float(acc.jvp(y)) == 4.0


def test_reset_keeps_the_tapes_place_outside_an_accumulator():
    x = tf.constant(2.0)
    with tf.GradientTape() as tape:
        with Accumulator(x, 1.0) as acc:
            tape.reset()
            tape.watch(x)
            y = x**3
        slope = acc.jvp(y)
    assert float(tape.gradient(slope, x)) == 12.0


def test_a_custom_gradient_of_something_that_stands_for_a_variable():
    class Wrapped:
        def __init__(self, variable):
            self.__gradtape_variable__ = variable

        def __gradtape_tensor__(self):
            return self.__gradtape_variable__.tensor()

    v = tf.Variable(3.0)
    double = tf.custom_gradient(lambda w: (tf.convert_to_tensor(w) * 2.0, lambda g: g * 2.0))
    with tf.GradientTape() as tape:
        y = double(Wrapped(v))
    assert float(tape.gradient(y, v)) == 2.0


def test_going_over_the_rows_of_an_example():
    x = tf.constant(np.arange(12.0).reshape(2, 3, 2))
    found = tf.vmap(lambda e: sum(tf.reduce_sum(row * row) for row in e) + len(e))(x)
    np.testing.assert_allclose(found, (x.numpy() ** 2).sum((1, 2)) + 3)


def test_a_tensor_of_a_batch_that_has_ended_is_refused():
    kept = []
    x = tf.constant([1.0, 2.0])
    tf.vmap(lambda e: kept.append(e) or e)(x)
    with pytest.raises(ValueError, match="has ended"):
        kept[0] * 2.0
    with pytest.raises(ValueError, match="has ended"):
        tf.vmap(lambda e: e * kept[0])(x)


def test_an_array_view_of_a_tensor_cannot_be_written():
    x = tf.constant([1.0, 2.0])
    with pytest.raises(ValueError, match="read-only"):
        np.asarray(x, copy=False)[0] = 9.0
    assert x.numpy().tolist() == [1.0, 2.0]


def test_writing_into_a_part_of_a_variable_checks_its_dtype():
    counts = tf.Variable([1, 2])
    with pytest.raises(ValueError, match="dtype"):
        counts[0].assign(tf.constant(2.7))
    assert counts[0].assign(5).numpy().tolist() == [5, 2]
    assert int(tf.Variable([[1, 2], [3, 4]])[[1, 0]]) == 3
