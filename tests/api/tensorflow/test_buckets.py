"""`pad_to_bucket`: sequences of many lengths in few shapes, with masks."""

import numpy as np
import pytest

import gradtape as tf

REFUSED = tf.errors.InvalidArgumentError
DTYPES = [tf.float32, tf.float64, tf.bfloat16, tf.int32, tf.bool, tf.complex64, tf.string]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(2, 0), (0, 3), (2, 3), (2, 4), (2, 5, 3)])
@pytest.mark.parametrize(("buckets", "smallest"), [((4, 8), 4), (None, 1)])
def test_pads_to_the_next_bucket(dtype, shape, buckets, smallest):
    sizes = {0: smallest, 3: 4, 4: 4, 5: 8}
    x = tf.cast(tf.ones(shape), dtype) if dtype != tf.string else tf.fill(shape, "a")
    padded, mask = tf.pad_to_bucket(x, buckets)
    assert padded.dtype == dtype
    assert mask.dtype == tf.bool
    assert padded.shape == (shape[0], sizes[shape[1]], *shape[2:])
    assert mask.numpy().tolist() == [i < shape[1] for i in range(sizes[shape[1]])]
    np.testing.assert_array_equal(padded[:, : shape[1]].numpy(), x.numpy())
    empty = {tf.string: b"", tf.bool: False}.get(dtype, 0)
    assert (padded[:, shape[1] :].numpy() == empty).all()


def test_the_order_of_buckets_and_the_kind_of_numbers_do_not_matter():
    x = tf.ones([5])
    kinds = [8, 4, 16], (4, 8, 16), np.array([16, 8, 4]), tf.constant([4, 8]), range(4, 9, 4)
    for buckets in kinds:
        assert tf.pad_to_bucket(x, buckets, axis=0)[0].shape == (8,)
    assert tf.pad_to_bucket(x, axis=-1)[0].shape == (8,)


def test_other_values_and_strided_input():
    x = np.arange(12.0).reshape(3, 4).T[::2]
    padded, _ = tf.pad_to_bucket(x, [4], constant_values=-1)
    np.testing.assert_array_equal(padded.numpy(), np.pad(x, ((0, 0), (0, 1)), constant_values=-1))


def test_rows_of_a_ragged_tensor():
    x = tf.ragged.constant([[1, 2, 3], [], [4]])
    padded, mask = tf.pad_to_bucket(x, [2, 4, 8], constant_values=9)
    assert padded.numpy().tolist() == [[1, 2, 3, 9], [9, 9, 9, 9], [4, 9, 9, 9]]
    assert tf.ragged.boolean_mask(padded, mask).to_list() == x.to_list()
    inner = tf.RaggedTensor.from_row_splits(tf.ones([3, 2]), [0, 1, 3])
    padded, mask = tf.pad_to_bucket(inner)
    assert padded.shape == (2, 2, 2)
    assert mask.numpy().tolist() == [[True, False], [True, True]]
    padded, mask = tf.pad_to_bucket(tf.RaggedTensor.from_row_splits(tf.ones([0]), [0]), [4])
    assert padded.shape == mask.shape == (0, 4)
    padded, _ = tf.pad_to_bucket(tf.ragged.constant([["a"], ["b", "c"]]))
    assert padded.numpy().tolist() == [[b"a", b""], [b"b", b"c"]]


def mean_of(x, mask):
    kept = tf.cast(mask, x.dtype)[:, None]
    return tf.reduce_sum(tf.tanh(x) * kept) / tf.reduce_sum(kept)


@pytest.mark.parametrize("compiled", [False, True])
def test_a_masked_loss_has_the_gradient_of_the_sequence_itself(compiled):
    loss = tf.function(mean_of) if compiled else mean_of
    for length in range(1, 9):
        x = tf.constant(np.random.default_rng(length).standard_normal((1, length, 2)))
        with tf.GradientTape(persistent=True) as tape:
            tape.watch(x)
            padded, mask = tf.pad_to_bucket(x, [4, 8])
            padded_loss = loss(padded, mask)
            plain = tf.reduce_mean(tf.reduce_sum(tf.tanh(x), 2))
        np.testing.assert_allclose(padded_loss, plain, rtol=1e-12)
        np.testing.assert_allclose(
            tape.gradient(padded_loss, x), tape.gradient(plain, x), rtol=1e-12
        )
    if compiled:
        assert loss.experimental_get_tracing_count() == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"buckets": [2]}, "no bucket holds 3 elements; the greatest is 2"),
        ({"buckets": []}, "buckets must be sizes of at least 1"),
        ({"buckets": [0, 4]}, "buckets must be sizes of at least 1"),
        ({"axis": 2}, "axis=2 is not an axis"),
    ],
)
def test_what_is_refused(arguments, message):
    with pytest.raises(REFUSED, match=message):
        tf.pad_to_bucket(tf.ones([2, 3]), **arguments)


def test_another_axis_of_a_ragged_tensor_is_refused():
    with pytest.raises(ValueError, match="axis must be 1"):
        tf.pad_to_bucket(tf.ragged.constant([[1]]), axis=0)
    with pytest.raises(REFUSED, match="no bucket holds 3"):
        tf.pad_to_bucket(tf.ragged.constant([[1, 2, 3]]), [2])
