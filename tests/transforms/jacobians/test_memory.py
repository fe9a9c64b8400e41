"""Jacobians within a limit of memory: what they need besides their result,
and how rows are put into chunks.
"""

import gc
import tracemalloc

import numpy as np
import pytest

import gradtape as tf
from gradtape.core.thread import here
from gradtape.transforms.jacobians import memory
from gradtape.transforms.jacobians.memory import Meter, in_chunks
from gradtape.transforms.jacobians.pulls import Stack

MB = 2**20


def peak_of(run):
    """The most bytes that were allocated at once while `run` ran, and its result."""
    gc.collect()
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        result = run()
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    return peak - before, result


def wide_in_the_middle():
    """256 outputs of 64 inputs through 100,000 numbers:
    a row of the Jacobian takes 0.8 MB on its way, all of them 200 MB.
    """
    x = tf.constant(np.linspace(0.0, 1.0, 64))
    steps = tf.constant(np.linspace(1.0, 2.0, 1600))
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = tf.reduce_sum(tf.reshape(tf.sin(x[:, None] * steps), [256, 400]), axis=1)
    return tape, y, x


@pytest.mark.parametrize("mode", ["forward", "reverse"])
def test_the_peak_is_the_result_and_the_limit(mode):
    tape, y, x = wide_in_the_middle()
    without, expected = peak_of(lambda: tape.jacobian(y, x, mode=mode, memory_limit=2**40))
    limit = 10 * MB
    within, found = peak_of(lambda: tape.jacobian(y, x, mode=mode, memory_limit=limit))
    # The walk that forward mode records first.
    recorded = 4 * 64 * 1600 * 8 if mode == "forward" else 0
    assert without > 5 * limit
    assert within < 1.25 * limit + found.array.nbytes + recorded
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_batches_and_examples_keep_to_the_limit():
    x = tf.constant(np.linspace(0.0, 1.0, 64).reshape(2, 32))
    steps = tf.constant(np.linspace(1.0, 2.0, 1600))
    w = tf.Variable(np.ones(1600))
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        h = tf.sin(x[:, :, None] * (steps * w))
        y = tf.reduce_sum(tf.reshape(h, [2, 128, 400]), axis=2)
        losses = tf.reduce_sum(tf.reshape(h, [64, 1600]), axis=1)
    limit = 10 * MB
    for run in (
        lambda limit: tape.batch_jacobian(y, x, mode="reverse", memory_limit=limit),
        lambda limit: tape.jacobian(losses, w, memory_limit=limit),
    ):
        without, expected = peak_of(lambda run=run: run(2**40))
        within, found = peak_of(lambda run=run: run(limit))
        assert without > 4 * limit
        assert within < 1.25 * limit + found.array.nbytes
        np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_a_limit_below_one_row_still_gives_the_jacobian():
    tape, y, x = wide_in_the_middle()
    np.testing.assert_allclose(tape.jacobian(y, x, memory_limit=1), tape.jacobian(y, x), rtol=1e-12)


def test_without_a_limit_it_keeps_to_what_is_free(monkeypatch):
    tape, y, x = wide_in_the_middle()
    monkeypatch.setattr(memory, "free_bytes", lambda: 40 * MB)
    within, _ = peak_of(lambda: tape.jacobian(y, x, mode="reverse"))
    assert within < 1.25 * 10 * MB + 256 * 64 * 8


def test_the_diagonal_of_a_hessian_does_not_need_the_hessian():
    x = tf.constant(np.linspace(0.0, 1.0, 2000))
    f = lambda x: tf.reduce_sum(tf.sin(x)) ** 2
    peak, found = peak_of(lambda: tf.diag_hessian(f, memory_limit=2 * MB)(x))
    assert peak < 4 * MB  # the Hessian has 32
    s, c = np.sin(x.numpy()), np.cos(x.numpy())
    np.testing.assert_allclose(found, 2 * c * c - 2 * s.sum() * s, rtol=1e-10)
    assert found.array.base is None or found.array.base.nbytes < MB


# in_chunks


def ranges(count, run=lambda start, stop: None, **options):
    return [(start, stop) for start, stop, _ in in_chunks(count, run, **options)]


def test_one_chunk_if_all_is_expected_to_fit():
    assert ranges(10, expected=100, limit=1000) == [(0, 10)]
    assert ranges(10) == [(0, 10)]
    assert ranges(0) == []


def test_the_most_rows_at_once():
    assert ranges(7, most=3) == [(0, 3), (3, 6), (6, 7)]
    assert ranges(2, most=5) == [(0, 2)]


def test_what_a_chunk_took_decides_about_the_next():
    def run(start, stop):
        return tf.constant(np.ones((stop - start, 1000))) * 2.0  # 8,000 bytes a row

    assert ranges(20, run, expected=8000, limit=44_000) == [
        (0, 1),
        (1, 6),
        (6, 11),
        (11, 16),
        (16, 20),
    ]
    assert ranges(20, run, expected=8000, limit=44_000, seed_bytes=2000) == [
        (0, 1),
        (1, 5),
        (5, 9),
        (9, 13),
        (13, 17),
        (17, 20),
    ]
    assert ranges(3, run, expected=8000, limit=1) == [(0, 1), (1, 2), (2, 3)]
    # Four would leave nothing over.
    assert ranges(9, run, expected=8000, limit=32_000) == [(0, 1), (1, 4), (4, 7), (7, 9)]


def test_a_chunk_without_enough_memory_is_halved():
    def run(start, stop):
        if stop - start > 3:
            raise MemoryError

    assert ranges(10, run) == [(0, 2), (2, 4), (4, 6), (6, 8), (8, 10)]

    def never(start, stop):
        raise MemoryError

    with pytest.raises(MemoryError):
        ranges(4, never)


# Meter


def test_a_meter_sees_what_ops_make_and_when_it_goes():
    x = tf.constant(np.ones(1000, np.float32))
    with Meter() as meter:
        y = x * 2.0
        y = y * 3.0  # both for a moment
        tf.reshape(y, [10, 100])  # a view
        z = tf.linalg.eigh(tf.reshape(x[:4], [2, 2]))
        del y, z
        x * 1.0  # made and gone
    assert 8000 <= meter.peak < 8200
    before = meter.peak
    x * 2.0  # the meter has stopped
    assert meter.peak == before


def test_a_meter_leaves_the_thread_as_it_was():
    run = here.state.run
    with pytest.raises(KeyError), Meter():
        raise KeyError
    assert here.state.run == run


# Stack


def test_a_stack_puts_rows_in_their_places():
    stack = Stack(3)
    stack.put(0, 2, tf.constant([[1.0], [2.0]]))
    stack.put(2, 3, tf.constant([[3.0]]))
    assert stack.joined().numpy().tolist() == [[1.0], [2.0], [3.0]]
    with tf.GradientTape() as tape:
        x = tf.constant([[3.0]])
        tape.watch(x)
        recorded = Stack(2)
        recorded.put(0, 1, x * 2.0)
        recorded.put(1, 2, x * x)
        total = tf.reduce_sum(recorded.joined())
    assert tape.gradient(total, x).numpy().tolist() == [[8.0]]
