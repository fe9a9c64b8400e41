"""RaggedTensors and text in datasets: rows, batches, and what is known of their shapes."""

import numpy as np
import pytest

import gradtape as tf

D = tf.data.Dataset
WORDS = D.from_tensor_slices(["a b", "c", "", "d e f"])
RAGGED = tf.ragged.constant([[1, 2], [3], []])


def lists(dataset):
    return [as_list(element) for element in dataset]


def as_list(element):
    if isinstance(element, (tuple, dict)):
        return tf.nest.map_structure(as_list, element)
    return element.to_list() if isinstance(element, tf.RaggedTensor) else element.numpy().tolist()


def test_rows_of_a_ragged_tensor():
    rows = D.from_tensor_slices(RAGGED)
    assert rows.element_spec == tf.RaggedTensorSpec([None], tf.int32, 0)
    assert len(rows) == 3
    assert lists(rows) == [[1, 2], [3], []]
    assert lists(rows.map(lambda row: row * 2)) == [[2, 4], [6], []]
    assert lists(rows.skip(1)) == [[3], []]
    assert rows.batch(2).element_spec == tf.RaggedTensorSpec([None, None], tf.int32, 1)
    assert lists(rows.batch(2)) == [[[1, 2], [3]], [[]]]
    assert all(isinstance(batch, tf.RaggedTensor) for batch in rows.take(1).repeat(2).batch(2))


def test_rows_beside_tensors():
    both = D.from_tensor_slices(({"r": RAGGED}, [1.0, 2.0, 3.0])).shuffle(3, seed=1).batch(3)
    assert both.element_spec == (
        {"r": tf.RaggedTensorSpec([None, None], tf.int32, 1)},
        tf.TensorSpec([None], tf.float32),
    )
    ((found, y),) = lists(both)
    assert sorted(zip(y, found["r"], strict=True)) == [(1.0, [1, 2]), (2.0, [3]), (3.0, [])]
    with pytest.raises(ValueError, match="as many rows, got 3, 2"):
        D.from_tensor_slices((RAGGED, [1, 2]))


def test_deeper_rows():
    deep = tf.ragged.constant([[[1, 2], []], [[3]]])
    rows = D.from_tensor_slices(deep)
    assert rows.element_spec == tf.RaggedTensorSpec([None, None], tf.int32, 1)
    assert lists(rows) == [[[1, 2], []], [[3]]]
    assert lists(rows.batch(2)) == [deep.to_list()]
    again = D.from_tensors(deep).repeat(2).batch(2)
    assert again.element_spec == tf.RaggedTensorSpec([None, 2, None, None], tf.int32, 3)
    assert lists(again) == [[deep.to_list()] * 2]


@pytest.mark.parametrize(
    ("make", "spec", "wanted"),
    [
        (
            tf.range,
            tf.RaggedTensorSpec([None, None], tf.int64, 1),
            [[[], [0], [0, 1]], [[0, 1, 2]]],
        ),
        (lambda n: n, tf.TensorSpec([None], tf.int64), [[0, 1, 2], [3]]),
        (
            lambda n: tf.fill([2], n),
            tf.TensorSpec([None, 2], tf.int64),
            [[[0, 0], [1, 1], [2, 2]], [[3, 3]]],
        ),
        (
            lambda n: tf.fill([n, 1], n),
            tf.RaggedTensorSpec([None, None, 1], tf.int64, 1),
            [[[], [[1]], [[2], [2]]], [[[3], [3], [3]]]],
        ),
        (
            lambda n: tf.fill([1, n], n),
            tf.RaggedTensorSpec([None, 1, None], tf.int64, 2),
            [[[[]], [[1]], [[2, 2]]], [[[3, 3, 3]]]],
        ),
    ],
)
def test_ragged_batches(make, spec, wanted):
    batches = D.range(4).map(make).ragged_batch(3)
    assert batches.element_spec == spec
    assert lists(batches) == wanted
    assert lists(D.range(4).map(make).ragged_batch(3, drop_remainder=True)) == wanted[:1]
    assert len(batches) == 2


def test_ragged_batches_of_structures_and_splits_of_int32():
    pairs = D.range(3).map(lambda n: {"x": tf.range(n), "y": n})
    (batch,) = pairs.ragged_batch(3, row_splits_dtype=tf.int32)
    assert batch["x"].to_list() == [[], [0], [0, 1]]
    assert batch["x"].row_splits.dtype == tf.int32
    assert batch["y"].numpy().tolist() == [0, 1, 2]


def test_ragged_results_of_functions():
    split = WORDS.batch(2).map(tf.strings.split)
    assert split.element_spec == tf.RaggedTensorSpec([None, None], tf.string, 1)
    assert lists(split) == [[[b"a", b"b"], [b"c"]], [[], [b"d", b"e", b"f"]]]
    assert lists(split.map(lambda words: words + "!"))[1] == [[], [b"d!", b"e!", b"f!"]]
    assert lists(WORDS.map(tf.strings.split).ragged_batch(4)) == [
        [[b"a", b"b"], [b"c"], [], [b"d", b"e", b"f"]]
    ]


# Text


def test_text_in_batches():
    assert [e.tolist() for e in WORDS.batch(3).as_numpy_iterator()] == [
        [b"a b", b"c", b""],
        [b"d e f"],
    ]
    scalars = WORDS.map(tf.strings.upper)  # not rows of an array
    for batch in (scalars.batch(4), scalars.padded_batch(4), scalars.ragged_batch(4)):
        (found,) = batch
        assert found.numpy().tolist() == [b"A B", b"C", b"", b"D E F"]
        assert {type(text) for text in found.numpy()} == {bytes}


def test_sizes_that_depend_on_text_are_not_known():
    split = WORDS.map(tf.strings.split)
    assert split.element_spec == tf.TensorSpec([None], tf.string)
    (found,) = split.padded_batch(4)
    assert found.numpy().tolist() == [
        [b"a", b"b", b""], [b"c", b"", b""], [b"", b"", b""], [b"d", b"e", b"f"],
    ]  # fmt: skip
    upper = WORDS.batch(2).map(tf.strings.upper)
    assert upper.element_spec == tf.TensorSpec([None], tf.string)


def test_padding_is_not_limited_to_what_the_first_elements_were_like():
    seen = []

    def untraceable(n):  # its effect keeps it from being tried with other numbers
        seen.append(int(n))
        return tf.fill([max(2, int(n))], n)

    rows = D.range(4).map(untraceable)
    assert rows.element_spec == tf.TensorSpec([2], tf.int64)  # of the first two
    (found,) = rows.padded_batch(4)
    assert found.shape == [4, 3]
    (found,) = rows.ragged_batch(4)
    assert found.to_list()[2:] == [[2, 2], [3, 3, 3]]


def test_the_number_of_rows_is_not_known_of_functions_that_cannot_be_traced():
    def untraceable(batch):
        return tf.constant(batch.numpy() * 2), tf.reduce_sum(batch)

    doubled = D.range(7).batch(3).map(untraceable)
    assert doubled.element_spec[0] == tf.TensorSpec([None], tf.int64)
    assert doubled.element_spec[1] == tf.TensorSpec([], tf.int64)


# Sparse


def test_sparse_tensors_of_different_sizes():
    sparse = D.range(1, 4).map(lambda n: tf.sparse.from_dense(tf.range(n)))
    assert sparse.element_spec == tf.SparseTensorSpec([None], tf.int64)
    (batch,) = sparse.batch(3)
    np.testing.assert_array_equal(tf.sparse.to_dense(batch), [[0, 0, 0], [0, 1, 0], [0, 1, 2]])


DENSE = [[1, 0, 2], [0, 0, 0], [0, 3, 0]]


def dense_rows(dataset):
    def dense(leaf):
        return as_list(tf.sparse.to_dense(leaf) if isinstance(leaf, tf.SparseTensor) else leaf)

    return [tf.nest.map_structure(dense, e) if isinstance(e, tuple) else dense(e) for e in dataset]


@pytest.mark.parametrize("unbatched", [False, True])
def test_rows_of_a_sparse_tensor(unbatched):
    x = tf.sparse.from_dense(DENSE)
    rows = D.from_tensors(x).unbatch() if unbatched else D.from_tensor_slices(x)
    assert rows.element_spec == tf.SparseTensorSpec([3], tf.int32)
    assert len(rows) == 3
    assert dense_rows(rows) == DENSE
    assert dense_rows(rows.skip(1).repeat(2)) == DENSE[1:] * 2
    assert rows.batch(2).element_spec == tf.SparseTensorSpec([None, 3], tf.int32)
    assert dense_rows(rows.batch(2)) == [DENSE[:2], DENSE[2:]]
    assert dense_rows(rows.map(tf.sparse.reduce_sum)) == [3, 0, 3]
    deep = tf.sparse.from_dense(np.arange(12).reshape(2, 3, 2) % 3)
    assert dense_rows(D.from_tensor_slices(deep)) == (np.arange(12).reshape(2, 3, 2) % 3).tolist()


def test_sparse_rows_beside_tensors():
    pairs = D.from_tensor_slices((tf.sparse.from_dense(DENSE), [1.0, 2.0, 3.0]))
    assert dense_rows(pairs) == list(zip(DENSE, [1.0, 2.0, 3.0], strict=True))
    assert dense_rows(pairs.batch(3).unbatch()) == dense_rows(pairs)
    with pytest.raises(ValueError, match="as many rows, got 3, 2"):
        D.from_tensor_slices((tf.sparse.from_dense(DENSE), [1, 2]))
    with pytest.raises(ValueError, match=r"the same number of rows, got \[2, 3\]"):
        D.from_tensors((tf.sparse.from_dense(DENSE), [1, 2])).unbatch()


@pytest.mark.parametrize("values", [[[1, 2], [], [3]], [[1, 2], [3, 4]], [["a", "b"], [], ["c"]]])
def test_ragged_batches_are_taken_apart(values):
    x = tf.ragged.constant(values)
    rows = D.from_tensors(x).repeat(2).unbatch()
    assert rows.element_spec == tf.RaggedTensorSpec([None], x.dtype, 0)
    wanted = [row.numpy().tolist() for row in x] * 2
    assert lists(rows) == wanted
    batches = list(rows.batch(2))
    assert all(isinstance(batch, tf.RaggedTensor) for batch in batches)
    assert [row for batch in batches for row in batch.to_list()] == wanted
    variable = D.range(5).map(lambda n: tf.range(n))
    assert lists(variable.ragged_batch(3).unbatch()) == lists(variable)


def test_rows_beside_nothing():
    pairs = D.from_tensors((tf.constant([1.0, 2.0]), None)).unbatch()
    assert pairs.cardinality() == 2
    assert [(float(x), y) for x, y in pairs] == [(1.0, None), (2.0, None)]
