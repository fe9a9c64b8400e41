"""Random orders and checkpoints: a restored iterator goes on as the saved one would have, also in a
pipeline that was built anew, as in the next process. So does each stage that draws random numbers,
alone, and in a dataset that the function of another stage gives.
"""

import gc
import weakref

import pytest

import gradtape as tf

D = tf.data.Dataset

RANDOM = {
    "shuffle": lambda seed: D.range(12).shuffle(12, seed=seed),
    "shuffle from a buffer": lambda seed: (
        D.range(12).filter(lambda x: x >= 0).shuffle(4, seed=seed)
    ),
    "shuffle in one order": lambda seed: D.range(12).shuffle(
        12, seed=seed, reshuffle_each_iteration=False
    ),
    "shuffle, repeat": lambda seed: D.range(6).shuffle(6, seed=seed).repeat(2),
    "random": lambda seed: D.random(seed, rerandomize_each_iteration=True).take(12),
    "sample": lambda seed: D.sample_from_datasets([D.range(6), D.range(6, 12)], seed=seed),
    "resample": lambda seed: D.range(30).rejection_resample(
        lambda x: tf.cast(x % 2, tf.int32), [0.2, 0.8], [0.5, 0.5], seed=seed
    ),
    "two": lambda seed: D.zip(D.range(9).shuffle(9, seed=seed), D.range(9).shuffle(9, seed=seed)),
}


def made_inside(make):
    return lambda seed: D.range(3).flat_map(lambda x: make(seed))


def captured(make):
    def pipeline(seed):
        inner = make(seed)
        return D.range(3).flat_map(lambda x: inner)

    return pipeline


def two_captured(make):
    def pipeline(seed):
        inner = [make(seed), make(seed)]
        return D.range(4).interleave(lambda x: inner[int(x) % 2], cycle_length=2)

    return pipeline


def grouped(make):
    def pipeline(seed):
        inner = make(seed)
        return D.range(4).group_by_window(lambda x: x % 2, lambda k, w: inner.take(5), 2)

    return pipeline


PLACES = {
    "itself": lambda make: make,
    "made in flat_map": made_inside,
    "captured by flat_map": captured,
    "captured by interleave": two_captured,
    "captured by group_by_window": grouped,
}


def values(elements):
    return [tf.nest.map_structure(int, element) for element in elements]


CASES = [
    (name, place, seed)
    for name in RANDOM
    for place in PLACES
    for seed in (None, 5)
    # One order without a seed, in a dataset from outside, is this process's: others may have gone
    # through it.
    if seed or not (name in ("shuffle in one order", "sample") and place.startswith("captured"))
]


@pytest.mark.parametrize(("name", "place", "seed"), CASES)
def test_a_place_is_restored_in_a_pipeline_that_is_built_anew(name, place, seed, tmp_path):
    make = PLACES[place](RANDOM[name])
    pipeline = make(seed)
    list(pipeline)  # an earlier pass
    elements = iter(pipeline)
    for _ in range(7):
        next(elements)
    saved = tf.train.Checkpoint(elements=elements).write(str(tmp_path / "place"))
    wanted = values(elements)
    for again in (pipeline, make(seed)):
        restored = iter(again)
        next(restored)
        tf.train.Checkpoint(elements=restored).restore(saved)
        assert values(restored) == wanted
    tf.train.Checkpoint(elements=elements).restore(saved)
    assert values(elements) == wanted


def with_itself(one):
    return D.zip(one, one.skip(2))


TOGETHER = {
    "zip": lambda make: D.zip(make(), make().filter(lambda x: x % 2 == 0)),
    "zip with itself": lambda make: with_itself(make()),
    "prefetch": lambda make: D.zip(make().prefetch(2), make().prefetch(3)),
    "threads": lambda make: D.range(4).interleave(
        lambda x: make(), cycle_length=3, num_parallel_calls=3
    ),
    "sample": lambda make: D.sample_from_datasets([make(), make()]),
    "group_by_window": lambda make: D.zip(make(), make()).group_by_window(
        lambda x, y: x % 2, lambda k, w: w.shuffle(3), 3
    ),
}


@pytest.mark.parametrize("place", [name for name in PLACES if name != "itself"])
@pytest.mark.parametrize("together", TOGETHER)
def test_places_in_pipelines_that_go_on_in_turns_are_restored(together, place, tmp_path):
    """A restored iterator may go to its place in each of them at once."""
    make = lambda: TOGETHER[together](lambda: PLACES[place](RANDOM["shuffle from a buffer"])(None))
    for taken in (0, 1, 5, 14):
        elements = iter(make())
        for _ in range(taken):
            next(elements, None)
        saved = tf.train.Checkpoint(elements=elements).write(str(tmp_path / f"place{taken}"))
        wanted = values(elements)
        restored = iter(make())
        tf.train.Checkpoint(elements=restored).restore(saved)
        assert values(restored) == wanted


def test_the_passes_after_a_restored_one_have_orders_of_their_own(tmp_path):
    def make():
        return D.range(50).shuffle(50, seed=3)

    pipeline = make()
    epochs = [values(pipeline) for _ in range(2)]
    elements = iter(pipeline)
    saved = tf.train.Checkpoint(elements=elements).write(str(tmp_path / "place"))
    epochs += [values(elements), values(pipeline)]
    pipeline = make()
    elements = iter(pipeline)
    tf.train.Checkpoint(elements=elements).restore(saved)
    assert [values(elements), values(pipeline)] == epochs[2:]


@pytest.mark.parametrize("name", RANDOM)
def test_a_seed_in_a_function_gives_one_order_in_every_pass(name):
    """Stages that are gone by then make room in memory for others, which are not the same."""
    pipeline = D.range(20).flat_map(lambda x: RANDOM[name](7))
    one = values(RANDOM[name](7))
    for _ in range(3):
        assert values(pipeline) == 20 * one
        gc.collect()


@pytest.mark.parametrize("seed", [None, 5])
def test_orders_of_a_captured_dataset_differ(seed):
    pipeline = captured(lambda seed: D.range(50).shuffle(50, seed=seed))(seed)
    found = values(pipeline) + values(pipeline)
    orders = {tuple(found[k : k + 50]) for k in range(0, 300, 50)}
    assert len(orders) == 6


@pytest.mark.parametrize("seed", [None, 5])
def test_a_dataset_with_one_order_has_it_inside_a_function_too(seed):
    """So that the two parts of a split have nothing in common."""
    mixed = D.range(50).shuffle(50, seed=seed, reshuffle_each_iteration=False)
    train, test = mixed.take(40), mixed.skip(40)
    for _ in range(2):
        assert sorted(values(D.range(1).flat_map(lambda x: train)) + values(test)) == list(
            range(50)
        )


def test_without_a_seed_orders_of_datasets_made_in_a_function_differ():
    pipeline = made_inside(lambda seed: D.range(50).shuffle(50, seed=seed))(None)
    found = values(pipeline) + values(pipeline)
    orders = {tuple(found[k : k + 50]) for k in range(0, 300, 50)}
    assert len(orders) == 6


def test_datasets_that_a_function_gave_are_not_kept():
    given = []

    def inner(x):
        found = D.range(2).shuffle(2)
        given.append(weakref.ref(found.stage))
        return found

    elements = iter(D.range(100).flat_map(inner))
    for _ in range(150):
        next(elements)
    gc.collect()
    assert sum(found() is not None for found in given) <= 1
