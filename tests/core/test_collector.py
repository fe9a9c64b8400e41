"""Long recordings and Python's collector: it is eased while one is made,
and is as it was afterwards.
"""

import gc
import weakref

import pytest

import gradtape as tf


@pytest.fixture
def threshold():
    before = gc.get_threshold()
    yield before
    gc.set_threshold(*before)


def record(length, then=lambda: None):
    x = tf.Variable([0.5])
    with tf.GradientTape() as tape:
        y = x * 1.0
        for _ in range(length):
            y = y + 1.0
    then()
    return tape, y, x


def test_a_long_recording_leaves_the_collector_as_it_was(threshold):
    seen = []
    tape, y, x = record(9_000, lambda: seen.append(gc.get_threshold()))
    assert seen[0][:2] == threshold[:2]
    assert seen[0][2] > threshold[2]
    assert gc.isenabled()
    assert float(tape.gradient(y, x)[0]) == 1.0
    assert gc.get_threshold() == threshold
    tape, y, x = record(9_000)
    second, *_ = record(9_000)
    del tape
    assert gc.get_threshold() != threshold
    del second
    assert gc.get_threshold() == threshold


def test_a_short_recording_does_not_touch_the_collector(threshold):
    seen = []
    record(400, lambda: seen.append(gc.get_threshold()))
    assert seen == [threshold]


def test_what_the_program_sets_meanwhile_stays(threshold):
    tape, *_ = record(9_000)
    gc.set_threshold(123, 4, 5)
    del tape
    assert gc.get_threshold() == (123, 4, 5)


def test_a_collector_that_is_off_stays_off(threshold):
    gc.disable()
    try:
        tape, *_ = record(9_000)
        assert gc.get_threshold() == threshold
        assert not gc.isenabled()
        del tape
    finally:
        gc.enable()


def test_garbage_beside_a_long_recording_is_collected(threshold):
    class Ring:
        def __init__(self):
            self.ring = self

    references = []
    x = tf.Variable([0.5])
    with tf.GradientTape() as tape:
        y = x * 1.0
        for i in range(40_000):
            y = y + 1.0
            if i == 9_000:
                old = Ring()
                references.append(weakref.ref(old))
            if i == 15_000:
                del old
    assert references[0]() is None
    assert tape.gradient(y, x) is not None
