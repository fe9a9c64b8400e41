"""Where two features meet: errors, Ctrl-C and ragged rows in pipelines of several stages."""

import gc
import random
import signal
import threading

import numpy as np
import pytest

import gradtape as tf

D = tf.data.Dataset


def same(n):
    """The same number, by a function that is called for each element."""
    return int(n)


def numbers(count=40):
    return D.range(count).map(same)


# Each gives the numbers from 0 on.
PIPELINES = {
    "map": numbers,
    "threads": lambda: D.range(40).map(same, num_parallel_calls=2),
    "autotune": lambda: D.range(40).map(same, num_parallel_calls=tf.data.AUTOTUNE),
    "filter": lambda: numbers().filter(lambda n: n >= 0),
    "scan": lambda: numbers().scan(np.int64(0), lambda state, n: (state + 1, state)),
    "prefetch": lambda: numbers().prefetch(2),
    "batch": lambda: numbers().batch(3).unbatch(),
    "vectorised": lambda: D.range(40).map(lambda n: n + 0).batch(4).unbatch(),
    "padded": lambda: numbers().padded_batch(3).unbatch(),
    "ragged": lambda: numbers().ragged_batch(3).unbatch(),
    "rebatch": lambda: numbers().batch(4).rebatch(3).unbatch(),
    "window": lambda: numbers().window(3).flat_map(lambda window: window),
    "interleave": lambda: D.range(40).interleave(D.from_tensors, cycle_length=1),
    "group": lambda: numbers().group_by_window(
        lambda n: tf.cast(n * 0, tf.int64), lambda _, w: w, window_size=3
    ),
    "cache": lambda: numbers().cache(),
    "unique": lambda: numbers().unique(),
    "concatenate": lambda: numbers(20).concatenate(D.range(20, 40).map(same)),
    "enumerate": lambda: numbers().enumerate().map(lambda i, n: i),
    "repeat": lambda: numbers(1).repeat(40).enumerate().map(lambda i, n: i),
}


@pytest.fixture
def interrupts():
    """Calls a function, with Ctrl-C so many seconds later."""

    def interrupt(*_):
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)

    def call(function, seconds):
        try:
            signal.setitimer(signal.ITIMER_REAL, seconds)
            return function()
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)

    yield call
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


# Python ignores an exception in the callback of a weak reference, where a signal may arrive too.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("name", PIPELINES)
def test_ctrl_c_at_any_time_costs_nothing_and_leaves_pairs_together(name, interrupts):
    choose = random.Random(name)
    for _ in range(3):
        elements = iter(D.zip((PIPELINES[name](), numbers())))
        found = []

        def take(elements=elements, found=found):
            while True:
                place = elements.place[0]
                del found[place:]  # a signal may have come after the last one was noted
                found.append(next(elements, None))
                if found[-1] is None:
                    return True

        for _ in range(6):
            try:
                if interrupts(take, choose.uniform(0.0001, 0.005)):
                    break
            except KeyboardInterrupt:
                continue
        while (element := next(elements, None)) is not None:
            del found[elements.place[0] - 1 :]
            found.append(element)
        pairs = [tuple(map(int, pair)) for pair in found if pair is not None]
        assert all(one == two for one, two in pairs)
        assert len(pairs) >= 39  # one that was on its way to the caller may be gone
        elements.close()


def failing(n):
    if int(n) % 3 == 1:
        raise ValueError(f"{int(n)} is wrong")
    return n


def failing_in_rows(n):
    tf.debugging.assert_none_equal(n % 3, tf.constant(1, tf.int64))
    return n


def outcome(elements):
    """The next element as numbers; None for an error."""
    try:
        return [int(leaf) for leaf in tf.nest.flatten(next(elements))]
    except (ValueError, tf.errors.InvalidArgumentError):
        return None


def outcomes(dataset):
    """The elements as numbers, and None for each error."""
    found, elements = [], iter(dataset)
    while True:
        try:
            found.append(outcome(elements))
        except StopIteration:
            return found


FAILING = {
    "in turn": lambda: D.range(9).map(failing),
    "threads": lambda: D.range(9).map(failing, num_parallel_calls=2),
    "prefetched": lambda: D.range(9).map(failing).prefetch(2),
    "rows": lambda: D.range(9).map(failing_in_rows),
}
BESIDE = {
    "after": lambda ds: D.zip((D.range(9), ds)),
    "before": lambda ds: D.zip((ds, D.range(9))),
    "before elements": lambda ds: D.zip((ds, D.range(9).map(same))),
    "in a dict": lambda ds: D.zip({"b": D.range(9).filter(lambda n: n >= 0), "a": ds}),
    "enumerate": lambda ds: ds.enumerate(),
    "both": lambda ds: D.zip((ds, ds)),
}


@pytest.mark.parametrize("beside", BESIDE)
@pytest.mark.parametrize("kind", FAILING)
def test_an_error_costs_what_stands_beside_it(kind, beside):
    found = outcomes(BESIDE[beside](FAILING[kind]()))
    assert found == [None if n % 3 == 1 else [n, n] for n in range(9)]


@pytest.mark.parametrize("kind", FAILING)
@pytest.mark.parametrize(("size", "shift", "stride"), [(2, 1, 1), (2, 2, 1), (1, 3, 1), (2, 2, 3)])
def test_windows_do_not_close_over_an_error(kind, size, shift, stride):
    windows = FAILING[kind]().window(size, shift, stride, drop_remainder=True)
    found = outcomes(windows.flat_map(lambda window: window.batch(size)).map(tf.reduce_min))
    wanted = []
    for start in range(0, 9 - (size - 1) * stride, shift):
        chosen = range(start, start + size * stride, stride)
        wanted.append(None if any(n % 3 == 1 for n in chosen) else [start])
    assert found == wanted


AFTER = {
    "elements": lambda ds: ds,
    "shuffle": lambda ds: ds.shuffle(3, seed=1),
    "filter": lambda ds: ds.filter(lambda n: n >= 0),
    "batch": lambda ds: ds.batch(2).map(tf.reduce_sum),
    "rebatch": lambda ds: ds.batch(2).rebatch(3).map(tf.reduce_sum),
    "unbatch": lambda ds: ds.map(lambda n: tf.stack([n, n + 10])).unbatch(),
    "window": lambda ds: ds.window(2, 1).flat_map(lambda window: window.batch(2)).unbatch(),
    "interleave": lambda ds: ds.interleave(lambda n: D.range(n, n + 2), cycle_length=2),
    "scan": lambda ds: ds.scan(np.int64(0), lambda state, n: (state + n, state + n)),
    "repeat": lambda ds: ds.repeat(2),
    "take": lambda ds: ds.skip(1).take(5),
    "concatenate": lambda ds: ds.concatenate(ds),
    "ignore": lambda ds: ds.ignore_errors(),
}


@pytest.mark.parametrize("after", AFTER)
@pytest.mark.parametrize("kind", FAILING)
def test_a_checkpoint_counts_the_errors_before_it(kind, after, tmp_path):
    wanted = outcomes(AFTER[after](FAILING[kind]()))
    assert None in wanted or after == "ignore"
    for place in range(1, len(wanted)):
        elements = iter(AFTER[after](FAILING[kind]()))
        assert [outcome(elements) for _ in range(place)] == wanted[:place]
        checkpoint = tf.train.Checkpoint(elements=elements)
        path = checkpoint.save(tmp_path / f"{place}")
        outcome(elements)
        other = iter(AFTER[after](FAILING[kind]()))
        for restored in (elements, other):
            tf.train.Checkpoint(elements=restored).restore(path).assert_consumed()
            assert [outcome(restored) for _ in wanted[place:]] == wanted[place:]
            assert next(restored, None) is None


@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError])
@pytest.mark.parametrize("calls", [1, 3])
def test_a_place_that_cannot_be_restored_now_is_restored_by_the_next_call(error, calls, tmp_path):
    left = [100]

    def kept(n):
        left[0] -= 1
        if not left[0]:
            raise error
        return n != 2

    elements = iter(D.range(9).filter(kept))
    assert [int(next(elements)) for _ in range(4)] == [0, 1, 3, 4]
    checkpoint = tf.train.Checkpoint(elements=elements)
    path = checkpoint.save(tmp_path / "place")
    next(elements)
    checkpoint.restore(path)
    left[0] = calls
    with pytest.raises(error):
        next(elements)
    assert [int(n) for n in elements] == [5, 6, 7, 8]


@pytest.mark.parametrize("kind", FAILING)
def test_an_error_keeps_no_iterator_alive(kind):
    gc.collect()
    gc.disable()
    try:
        elements = iter(FAILING[kind]())
        next(elements)
        with pytest.raises((ValueError, tf.errors.InvalidArgumentError)):
            next(elements)
        names = ("gradtape-map", "gradtape-prefetch")  # and not those of elementwise work
        threads = [t for t in threading.enumerate() if t.name.startswith(names)]
        del elements
        for thread in threads:
            thread.join(5)
            assert not thread.is_alive()
    finally:
        gc.enable()


def test_windows_and_groups_of_ragged_rows_are_batched_as_rows():
    rows = D.from_tensor_slices(tf.ragged.constant([[1, 2], [], [3], [4, 5, 6]]))
    windows = rows.window(2).flat_map(lambda window: window.batch(2))
    groups = rows.group_by_window(
        lambda row: tf.constant(0, tf.int64), lambda _, window: window.batch(2), window_size=2
    )
    for dataset in (windows, groups):
        assert [batch.to_list() for batch in dataset] == [[[1, 2], []], [[3], [4, 5, 6]]]


def test_numbers_of_rows_that_are_alike_at_the_beginning_only_are_unknown():
    for lengths in ([2, 2, 1], [1, 1, 3], [0, 0, 2]):
        nested = [[[1]] * length for length in lengths]
        ragged = D.from_tensor_slices(tf.ragged.constant(nested, ragged_rank=2, dtype=tf.int32))
        assert ragged.map(lambda row: row + 1).element_spec.shape[0] is None
        made = D.from_generator(
            lambda lengths=lengths: (np.ones(n) for n in lengths),
            output_signature=tf.TensorSpec([None]),
        )
        flat = made.flat_map(D.from_tensors)
        assert flat.element_spec == tf.TensorSpec([None])


def test_the_spec_is_known_though_the_function_fails_for_the_first_elements():
    rows = D.range(1, 5).map(lambda n: failing(n) * 1.5)
    assert rows.element_spec == tf.TensorSpec([], rows.skip(1).element_spec.dtype)
