"""When other programs are noticed, and when sharing is tried again: on a clock of our own."""

from __future__ import annotations

import threading

import pytest

import gradtape as tf
from gradtape.engines.numpy import crowding
from gradtape.engines.numpy.crowding import Crowd


@pytest.fixture
def clock(monkeypatch):
    """The time, in a list."""
    now = [100.0]
    monkeypatch.setattr(crowding, "perf_counter", lambda: now[0])
    return now


def test_at_first_nobody_is_noticed():
    assert not Crowd().is_here()


@pytest.mark.parametrize(
    ("took", "computed", "noticed"),
    [
        (0.09, 0.006, True),  # 0.2 ms of work, and waiting for a thread that has no core
        (0.2, 0.02, True),
        (0.003, 0.0002, True),
        (0.0015, 0.0002, False),  # interrupted once, as on any machine
        (0.02, 0.0199, False),
        (5.0, 4.9, False),
        (5.0, 4.0, False),
        (0.0, 0.0, False),
    ],
)
def test_what_is_noticed(clock, took, computed, noticed):
    crowd = Crowd()
    crowd.note(took, computed)
    assert crowd.is_here() is noticed


def fail_a_trial(crowd, clock):
    """Work is shared, which takes long; returns for how long nothing is shared then."""
    assert not crowd.is_here()
    crowd.note(0.1, 0.01)
    begun = clock[0]
    while crowd.is_here():
        clock[0] += 0.01
    return clock[0] - begun


def test_each_trial_that_fails_is_followed_by_a_longer_while(clock):
    crowd = Crowd()
    found = [fail_a_trial(crowd, clock) for _ in range(7)]
    assert found == pytest.approx([0.25, 0.5, 1, 2, 4, 4, 4], abs=0.02)


def test_a_trial_that_succeeds_makes_the_next_while_short_again(clock):
    crowd = Crowd()
    for _ in range(5):
        fail_a_trial(crowd, clock)
    for _ in range(2000):
        assert not crowd.is_here()
        crowd.note(0.01, 0.01)
        clock[0] += 0.01
    assert fail_a_trial(crowd, clock) == pytest.approx(0.25, abs=0.02)


def test_no_trial_while_a_thread_alone_has_to_wait(clock):
    crowd = Crowd()
    crowd.note(0.1, 0.01)
    for _ in range(500):
        assert crowd.is_here()
        crowd.note_alone(0.05, 0.02)
        clock[0] += 0.05
    for _ in range(20):  # the others are gone
        crowd.is_here()
        crowd.note_alone(0.05, 0.05)
        clock[0] += 0.05
    assert not crowd.is_here()


def test_work_is_measured_for_a_while_after_some_that_took_long(clock):
    crowd = Crowd()
    crowd.note(0.0001, 0.0001)
    assert crowd.measured_until <= clock[0]
    crowd.note(0.001, 0.001)
    assert crowd.measured_until > clock[0]
    clock[0] += 1.0
    assert crowd.measured_until < clock[0]


def test_nobody_is_noticed_where_results_must_not_depend_on_others(clock, monkeypatch):
    crowd = Crowd()
    crowd.note(0.1, 0.01)
    assert crowd.is_here()
    monkeypatch.setattr("gradtape.api.tensorflow.config.crowd", crowd)
    tf.config.experimental.enable_op_determinism()
    assert not crowd.is_here()
    crowd.note(0.1, 0.01)
    assert not crowd.is_here()


def test_other_threads_are_not_concerned(clock):
    crowd = Crowd()
    crowd.note(0.1, 0.01)
    found = []
    thread = threading.Thread(target=lambda: found.append(crowd.is_here()))
    thread.start()
    thread.join()
    assert found == [False]
    assert crowd.is_here()
