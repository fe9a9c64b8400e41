"""Threads of map, interleave and prefetch: they overlap, are bounded, and end with the iterator."""

import gc
import threading
import time

import numpy as np
import pytest

import gradtape as tf
from gradtape.data import threads

STAYED = set()
"""Threads of a test that failed, whose pipeline its traceback keeps."""


def ours():
    """The threads that work for datasets."""
    return [t for t in threading.enumerate() if t.name.startswith("gradtape-") and t not in STAYED]


def gone(seconds=5.0):
    """Waits until no thread works any more."""
    end = time.monotonic() + seconds
    while ours() and time.monotonic() < end:
        gc.collect()
        time.sleep(0.01)
    return not ours()


@pytest.fixture(autouse=True)
def no_thread_is_left():
    assert gone()
    yield
    left = [] if gone() else ours()
    STAYED.update(left)
    assert not left


def slowly(n):
    time.sleep(0.002)
    return n


def generated(count, produced, wait=0.002):
    def numbers():
        for i in range(count):
            time.sleep(wait)
            produced.append(i)
            yield i

    return tf.data.Dataset.from_generator(numbers, output_signature=tf.TensorSpec([], tf.int64))


def test_calls_run_at_the_same_time_and_keep_their_order():
    meeting = threading.Barrier(3, timeout=10)  # passed only if three calls are there at once

    def meet(n):
        meeting.wait()
        return n * 10

    found = tf.data.Dataset.range(9).map(meet, num_parallel_calls=3)
    assert [int(n) for n in found] == [10 * n for n in range(9)]


def test_what_is_ready_first_comes_first_if_the_order_does_not_matter():
    last = threading.Event()

    def wait(n):
        if n == 0:
            last.wait(10)
        elif n == 2:
            last.set()
        return n

    found = tf.data.Dataset.range(3).map(wait, num_parallel_calls=3, deterministic=False)
    assert sorted(int(n) for n in found) == [0, 1, 2]
    last.clear()
    assert int(next(iter(found))) != 0
    last.set()


def test_no_more_is_taken_ahead_than_there_are_threads():
    produced = []
    elements = iter(generated(50, produced, wait=0).map(slowly, num_parallel_calls=3))
    next(elements)
    time.sleep(0.1)
    assert len(produced) <= 4
    elements.close()


def test_autotune_calls_quick_functions_without_threads_and_slow_ones_with():
    quick = tf.data.Dataset.range(20).map(lambda n: n, num_parallel_calls=tf.data.AUTOTUNE)
    elements = iter(quick)
    for _ in range(10):
        next(elements)
    assert not ours()
    slow = tf.data.Dataset.range(20).map(slowly, num_parallel_calls=tf.data.AUTOTUNE)
    elements = iter(slow)
    assert [int(next(elements)) for _ in range(10)] == list(range(10))
    assert ours()
    assert [int(n) for n in elements] == list(range(10, 20))


def test_prefetch_works_ahead_up_to_its_size():
    produced = []
    elements = iter(generated(50, produced).prefetch(4))
    next(elements)
    time.sleep(0.3)
    assert len(produced) == 5  # one taken, four ready
    assert [int(next(elements)) for _ in range(3)] == [1, 2, 3]


def test_prefetch_overlaps_with_a_step():
    produced = []
    dataset = generated(20, produced, wait=0.01)

    def train(data):
        start = time.perf_counter()
        for _ in data:
            time.sleep(0.01)
        return time.perf_counter() - start

    alone, ahead = train(dataset), train(dataset.prefetch(2))
    assert ahead < 0.8 * alone


def test_elements_that_take_no_time_need_no_thread(monkeypatch):
    monkeypatch.setattr(threads, "WORTH_A_THREAD", 60.0)  # no time, on a machine however busy
    elements = iter(tf.data.Dataset.range(100).batch(10).prefetch(2))
    next(elements)
    next(elements)
    assert not ours()


PIPELINES = [
    lambda ds: ds.map(slowly, num_parallel_calls=2),
    lambda ds: ds.map(slowly).prefetch(2),
    lambda ds: ds.map(slowly, num_parallel_calls=2).batch(2).prefetch(1),
    lambda ds: ds.interleave(
        lambda n: tf.data.Dataset.range(5).map(slowly), cycle_length=2, num_parallel_calls=2
    ),
    lambda ds: ds.map(slowly, num_parallel_calls=2).shuffle(3).repeat(),
    lambda ds: tf.data.Dataset.zip((ds.map(slowly).prefetch(1), ds.map(slowly).prefetch(1))),
    lambda ds: ds.flat_map(lambda n: tf.data.Dataset.range(3).map(slowly).prefetch(2)),
    lambda ds: ds.map(slowly).prefetch(2).cache(),
    lambda ds: ds.map(slowly, num_parallel_calls=tf.data.AUTOTUNE).take(9).prefetch(2),
]


@pytest.mark.parametrize("build", PIPELINES)
def test_threads_end_when_an_iterator_is_dropped(build):
    elements = iter(build(tf.data.Dataset.range(30)))
    for _ in range(6):
        next(elements)
    del elements
    assert gone()


@pytest.mark.parametrize("build", PIPELINES)
def test_threads_end_when_an_iterator_is_closed(build):
    elements = iter(build(tf.data.Dataset.range(30)))
    for _ in range(6):
        next(elements)
    elements.close()
    assert not ours()
    assert next(elements, None) is None


@pytest.mark.parametrize("build", PIPELINES)
def test_threads_end_with_the_elements(build):
    found = build(tf.data.Dataset.range(4)).take(12)
    assert len(list(found)) > 0
    assert gone()


def wrong(n):
    time.sleep(0.001)
    if n % 4 == 1:
        raise ValueError(f"{int(n)} is wrong")
    return n


@pytest.mark.parametrize(
    "build",
    [
        lambda ds: ds.map(wrong),
        lambda ds: ds.map(wrong, num_parallel_calls=3),
        lambda ds: ds.map(wrong, num_parallel_calls=tf.data.AUTOTUNE),
        lambda ds: ds.map(wrong).prefetch(3),
        lambda ds: ds.map(wrong, num_parallel_calls=3).prefetch(3),
        lambda ds: ds.prefetch(2).map(wrong).take(9).enumerate().map(lambda i, n: n),
    ],
)
def test_a_pipeline_goes_on_after_an_error(build):
    elements = iter(build(tf.data.Dataset.range(9)))
    found, errors = [], []
    while True:
        try:
            found.append(int(next(elements)))
        except StopIteration:
            break
        except ValueError as error:
            errors.append(error)
    assert found == [0, 2, 3, 4, 6, 7, 8]
    assert [str(error) for error in errors] == ["1 is wrong", "5 is wrong"]
    for number, error in zip((1, 5), errors, strict=True):
        assert f"in map of a tf.data.Dataset, at its element {number}." in error.__notes__[0]


BLOCKED = {
    "prefetch": lambda wait: tf.data.Dataset.range(9).map(wait).prefetch(2),
    "map": lambda wait: tf.data.Dataset.range(9).map(wait, num_parallel_calls=3),
    "both": lambda wait: tf.data.Dataset.range(9).map(wait, num_parallel_calls=3).prefetch(2),
    "unordered": lambda wait: tf.data.Dataset.range(9).map(
        wait, num_parallel_calls=3, deterministic=False
    ),
    "interleave": lambda wait: tf.data.Dataset.range(2).interleave(
        lambda _: tf.data.Dataset.range(9).map(wait), cycle_length=2, num_parallel_calls=2
    ),
    "cache": lambda wait: tf.data.Dataset.range(9).map(wait, num_parallel_calls=3).cache(),
}


@pytest.mark.parametrize("name", BLOCKED)
def test_closing_does_not_wait_for_ever(name, monkeypatch):
    monkeypatch.setattr(threads, "PATIENCE", 0.05)
    going_on = threading.Event()

    def wait(n):
        if n == 4:
            assert going_on.wait(60)
        return slowly(n)

    elements = iter(BLOCKED[name](wait))
    try:
        taken = [int(next(elements)) for _ in range(2)]
        elements.close()
        assert next(elements, None) is None
    finally:
        going_on.set()
    assert 4 not in taken


def test_threads_end_after_an_error_that_ends_a_program():
    elements = iter(tf.data.Dataset.range(9).map(wrong, num_parallel_calls=3).prefetch(2))
    with pytest.raises(ValueError, match="1 is wrong"):
        for _ in elements:
            pass
    del elements
    assert gone()


def test_a_stop_iteration_of_the_users_is_an_error():
    def stop(n):
        raise StopIteration

    with pytest.raises(RuntimeError, match="map_func raised StopIteration"):
        list(tf.data.Dataset.range(3).map(stop))


def test_an_interrupt_leaves_a_pipeline_that_goes_on():
    times = []

    def interrupted(n):
        times.append(1)
        if len(times) == 3:
            raise KeyboardInterrupt
        return n

    elements = iter(tf.data.Dataset.range(6).map(interrupted).batch(1))
    found = []
    with pytest.raises(KeyboardInterrupt):
        for batch in elements:
            found.append(batch.numpy().tolist())  # noqa: PERF401 - it is interrupted
    found += [batch.numpy().tolist() for batch in elements]
    assert found == [[0], [1], [2], [3], [4], [5]]


def test_threads_share_an_iterator():
    elements = iter(tf.data.Dataset.range(400).map(lambda n: n).batch(1))
    found = []

    def take():
        found.extend(int(batch[0]) for batch in elements)

    workers = [threading.Thread(target=take) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert sorted(found) == list(range(400))


def test_nothing_is_kept_after_it_has_been_taken():
    import weakref

    big = []

    def make(n):
        array = np.zeros(1000)
        tensor = tf.constant(array)
        big.append(weakref.ref(tensor))
        time.sleep(0.001)
        return tensor

    for number, _ in enumerate(tf.data.Dataset.range(30).map(make).prefetch(2)):
        if number == 20:
            break
    del _
    assert gone()
    gc.collect()
    assert sum(ref() is not None for ref in big) == 0
