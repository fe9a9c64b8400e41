"""What is known of elements that functions make: with elements, without any, and of other sizes."""

import pytest

import gradtape as tf

D = tf.data.Dataset
T = tf.TensorSpec

SOURCES = {
    "numbers": (lambda: D.range(6), T([], tf.int64)),
    "floats": (lambda: D.from_tensor_slices([[0.0, 1.0]] * 6), T([2], tf.float32)),
    "rows": (lambda: D.range(6).map(lambda n: tf.range(n)), T([None], tf.int64)),
    "text": (lambda: D.from_tensor_slices(list("abcdef")), T([], tf.string)),
    "ragged": (
        lambda: D.from_tensor_slices(tf.ragged.constant([[1], [], [2, 3]] * 2)),
        tf.RaggedTensorSpec([None], tf.int32, 0),
    ),
    "tuple": (
        lambda: D.zip(D.range(6), D.range(6).map(lambda n: {"b": n > 2})),
        (T([], tf.int64), {"b": T([], tf.bool)}),
    ),
}


def batched(leaf):
    if isinstance(leaf, tf.RaggedTensorSpec):
        return tf.RaggedTensorSpec([None, *leaf.shape], leaf.dtype, 1)
    return T([None, *leaf.shape], leaf.dtype)


def one(element):
    return element[0] if len(element) == 1 else element


def window_of(element):
    return D.zip(element) if len(element) > 1 else element[0]


STAGES = {
    "flat_map": (
        lambda ds: ds.flat_map(lambda *e: D.from_tensors(one(e)).repeat(2)),
        lambda spec: tf.nest.map_structure(dense, spec),
    ),
    "interleave": (
        lambda ds: ds.interleave(lambda *e: D.from_tensors(one(e)).repeat(2), cycle_length=2),
        lambda spec: tf.nest.map_structure(dense, spec),
    ),
    "group_by_window": (
        lambda ds: ds.group_by_window(
            lambda *e: tf.constant(0, tf.int64), lambda _, w: w.take(1), 2
        ),
        lambda spec: spec,
    ),
    "windows": (
        lambda ds: ds.window(2).flat_map(lambda *w: window_of(w).take(1)),
        lambda spec: spec,
    ),
    "numbers that Python reads": (
        lambda ds: ds.map(lambda *e: int(tf.size(tf.nest.flatten(e)[0]))),
        lambda _: T([], tf.int32),
    ),
}


def dense(leaf):
    """A row of a RaggedTensor is a tensor once it stands alone."""
    return T(leaf.shape, leaf.dtype)


@pytest.mark.parametrize("empty", [False, True])
@pytest.mark.parametrize("stage", STAGES)
@pytest.mark.parametrize("source", SOURCES)
def test_specs_do_not_depend_on_there_being_elements(source, stage, empty):
    make, spec = SOURCES[source]
    apply, wanted = STAGES[stage]
    found = apply(make().take(0 if empty else -1))
    assert found.element_spec == wanted(spec)
    assert len(list(found)) == 0 or not empty


def test_stages_after_a_dataset_without_elements():
    none = D.range(0).flat_map(lambda n: D.from_tensors(tf.range(n)))
    assert none.padded_batch(2).element_spec == T([None, None], tf.int64)
    again = none.group_by_window(lambda row: row[0], lambda _, w: w.padded_batch(2), 2)
    assert again.map(tf.size).element_spec == T([], tf.int32)
    assert list(again.map(lambda row: int(row[0, 0]))) == []


SIZES = {
    "map": lambda f: D.range(10).map(lambda n: tf.fill([f(n)], 1)),
    "flat_map": lambda f: D.range(10).flat_map(lambda n: D.from_tensors(tf.fill([f(n)], 1))),
    "interleave": lambda f: D.range(10).interleave(lambda n: D.from_tensors(tf.fill([f(n)], 1))),
    "window": lambda f: (
        D.range(10).window(2).flat_map(lambda w: w.map(lambda n: tf.fill([f(n)], 1)))
    ),
    "group": lambda f: D.range(10).group_by_window(
        lambda n: tf.constant(0, tf.int64), lambda _, w: w.map(lambda n: tf.fill([f(n)], 1)), 2
    ),
}


@pytest.mark.parametrize("size", [lambda n: n // 5, lambda n: n % 4, lambda n: n * 0 + 3])
@pytest.mark.parametrize("kind", SIZES)
def test_sizes_that_are_alike_at_the_beginning_only_are_unknown(kind, size):
    rows = SIZES[kind](size)
    sizes = {len(row) for row in rows}
    assert rows.element_spec == T([None if len(sizes) > 1 else 3], tf.int32)
    # Batches are ragged by what is known, so all must be, or none.
    kinds = {type(batch) for batch in rows.ragged_batch(4)}
    assert kinds == {tf.RaggedTensor if len(sizes) > 1 else type(tf.constant(1))}


def test_datasets_that_functions_are_given_know_the_specs_of_all_elements():
    rows = D.from_generator(lambda: iter([[1, 2], [3, 4], [5], [6]]), output_signature=T([None]))
    seen = []

    def batch(window):
        seen.append(window.element_spec)
        return window.ragged_batch(2)

    windows = list(rows.window(2).flat_map(batch))
    groups = list(
        rows.group_by_window(lambda r: tf.constant(0, tf.int64), lambda _, w: batch(w), 2)
    )
    assert set(seen) == {T([None])}
    assert all(isinstance(found, tf.RaggedTensor) for found in windows + groups)


def test_functions_with_effects_are_called_with_elements_only():
    seen = []

    def noted(n):
        seen.append(int(n))
        return tf.zeros([int(n) % 2])

    assert D.range(4).map(noted).element_spec == T([None])
    assert set(seen) == {0, 1}


def test_an_unknown_spec_says_why():
    with pytest.raises(ValueError, match="map: the element_spec is not known: there are no"):
        _ = D.from_tensor_slices(["a"]).take(0).map(lambda t: float(t.numpy())).element_spec


def test_rebatching_into_divisors_keeps_the_size():
    for rows, size, wanted in ((4, 2, 2), (4, 1, 1), (4, 3, None), (6, 6, 6)):
        found = D.from_tensor_slices(tf.zeros([3, rows, 2])).rebatch(size)
        assert found.element_spec == T([wanted, 2])
        assert wanted is None or {len(batch) for batch in found} == {wanted}
