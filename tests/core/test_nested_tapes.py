"""Tapes inside tapes, beside one another and one after the other."""

import gradtape as tf


def test_second_order_with_two_tapes():
    x = tf.constant(3.0)
    with tf.GradientTape() as outer:
        outer.watch(x)
        with tf.GradientTape() as inner:
            inner.watch(x)
            y = x * x * x
        dx = inner.gradient(y, x)
    assert dx.numpy() == 27.0
    assert outer.gradient(dx, x).numpy() == 18.0


def test_third_order_with_one_persistent_tape():
    x = tf.constant(2.0)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = x**4
        for _ in range(2):
            y = tape.gradient(y, x)
    assert tape.gradient(y, x).numpy() == 48.0


def test_an_inner_gradient_outside_the_outer_block_is_not_recorded():
    x = tf.constant(3.0)
    with tf.GradientTape() as outer:
        outer.watch(x)
        with tf.GradientTape() as inner:
            inner.watch(x)
            y = x * x * x
    dx = inner.gradient(y, x)
    assert outer.gradient(dx, x) is None


def test_the_outer_tape_may_watch_after_the_inner_forward_pass():
    x = tf.constant(3.0)
    with tf.GradientTape() as outer:
        with tf.GradientTape() as inner:
            inner.watch(x)
            y = x * x
        outer.watch(x)
        dx = inner.gradient(y, x)
    assert outer.gradient(dx, x).numpy() == 2.0


def test_the_outer_tape_may_even_start_after_the_inner_forward_pass():
    x = tf.constant(3.0)
    with tf.GradientTape() as inner:
        inner.watch(x)
        y = x * x
    with tf.GradientTape() as outer:
        outer.watch(x)
        dx = inner.gradient(y, x)
    assert outer.gradient(dx, x).numpy() == 2.0


def test_the_outer_tape_sees_the_forward_pass_too():
    x = tf.constant(3.0)
    with tf.GradientTape() as outer:
        outer.watch(x)
        with tf.GradientTape() as inner:
            inner.watch(x)
            y = x * x
        z = y * inner.gradient(y, x)  # 2 x^3
    assert outer.gradient(z, x).numpy() == 54.0


def test_tapes_one_after_the_other_are_never_linked():
    x = tf.constant(3.0)
    with tf.GradientTape() as one:
        one.watch(x)
        y = x * x
    with tf.GradientTape() as two:
        two.watch(y)
        z = y * y
    assert two.gradient(z, x) is None
    assert one.gradient(z, x) is None


def test_a_tensor_of_a_finished_tape_is_a_constant_for_the_next():
    x = tf.constant(3.0)
    with tf.GradientTape() as first:
        first.watch(x)
        y = x * x
    first.gradient(y, x)
    with tf.GradientTape() as second:
        second.watch(x)
        z = y * x
    assert second.gradient(z, x).numpy() == 9.0


def test_an_inner_persistent_tape_gives_several_gradients_to_the_outer_one():
    x = tf.constant(2.0)
    with tf.GradientTape() as outer:
        outer.watch(x)
        with tf.GradientTape(persistent=True) as inner:
            inner.watch(x)
            y, z = x**3, x**4
        total = inner.gradient(y, x) + inner.gradient(z, x)
    assert outer.gradient(total, x).numpy() == 6.0 * 2.0 + 12.0 * 4.0


def test_a_tape_entered_later_records_the_gradient_of_one_entered_earlier():
    x = tf.constant(2.0)
    one, two = tf.GradientTape(), tf.GradientTape()
    one.__enter__()
    two.__enter__()
    one.watch(x)
    two.watch(x)
    y = x**3
    one.__exit__(None, None, None)
    dx = one.gradient(y, x)
    two.__exit__(None, None, None)
    assert two.gradient(dx, x).numpy() == 12.0


def test_steps_of_descent_inside_an_outer_tape():
    x = tf.Variable(1.0)
    with tf.GradientTape() as outer:
        w = x * 1.0
        for _ in range(3):
            with tf.GradientTape() as inner:
                inner.watch(w)
                loss = w * w
            w = w - 0.25 * inner.gradient(loss, w)  # w / 2
    assert w.numpy() == 0.125
    assert outer.gradient(w, x).numpy() == 0.125


def test_a_penalty_on_the_gradient_has_gradients_for_the_variables():
    v = tf.Variable([2.0, 3.0])
    x = tf.constant([1.0, 1.0])
    with tf.GradientTape() as outer:
        with tf.GradientTape() as inner:
            inner.watch(x)
            y = tf.reduce_sum(v * v * x)
        penalty = tf.reduce_sum(inner.gradient(y, x) ** 2)  # v^4
    assert outer.gradient(penalty, v).numpy().tolist() == [32.0, 108.0]
