"""BatchableExtensionTypes in datasets, with the encoder that is there and with one of a user's."""

import pytest

import gradtape as tf


class Point(tf.experimental.BatchableExtensionType):
    x: tf.Tensor
    label: tf.Tensor
    unit: str = "m"


class Network(tf.experimental.BatchableExtensionType):
    """A matrix whose batches are kept as sums with their last column, to be seen in tests."""

    weights: tf.Tensor
    shape: tf.TensorShape

    class Encoder(tf.experimental.ExtensionTypeBatchEncoder):
        def encode(self, spec, value, minimum_rank=0):
            return {"w": value.weights * 2}

        def encoding_specs(self, spec):
            return {"w": spec.weights}

        def decode(self, spec, encoded_value):
            return Network(encoded_value["w"] / 2, spec.shape)

    __batch_encoder__ = Encoder()


def points(count):
    rows = [[float(i), float(-i)] for i in range(count)]
    return Point(rows, list(range(count)))


@pytest.mark.parametrize("count", [1, 3, 5])
def test_rows_and_batches(count):
    dataset = tf.data.Dataset.from_tensor_slices(points(count))
    assert dataset.element_spec == points(count)._type_spec._unbatch()
    assert [int(p.label) for p in dataset] == list(range(count))
    batches = list(dataset.batch(2))
    assert [b.label.numpy().tolist() for b in batches] == [
        list(range(i, min(i + 2, count))) for i in range(0, count, 2)
    ]
    assert all(dataset.batch(2).element_spec.is_compatible_with(b) for b in batches)
    assert [p.x.numpy().tolist() for p in dataset.batch(2).unbatch()] == points(
        count
    ).x.numpy().tolist()
    assert len(list(dataset.batch(2, drop_remainder=True))) == count // 2


def test_beside_tensors_and_through_stages():
    dataset = tf.data.Dataset.from_tensor_slices({"p": points(4), "n": [1, 2, 3, 4]})
    dataset = dataset.filter(lambda e: e["n"] != 2).map(
        lambda e: Point(e["p"].x + 1.0, e["p"].label + e["n"], e["p"].unit)
    )
    (batch,) = dataset.batch(3)
    assert batch.label.numpy().tolist() == [1, 5, 7]
    assert batch.unit == "m"


def test_an_encoder_of_ones_own():
    whole = Network([[1.0, 2.0], [3.0, 4.0]], [2, 2])
    dataset = tf.data.Dataset.from_tensor_slices(whole)
    assert [n.weights.numpy().tolist() for n in dataset] == [[1.0, 2.0], [3.0, 4.0]]
    assert [n.shape for n in dataset] == [tf.TensorShape([2])] * 2
    (batch,) = dataset.batch(2)
    assert batch.weights.numpy().tolist() == whole.weights.numpy().tolist()
    assert batch.shape == whole.shape


def test_specs_of_batches():
    spec = points(3)._type_spec
    assert spec._batch(5)._unbatch() == spec
    assert spec._batch(None).x.shape == tf.TensorShape([None, 3, 2])


def test_others_cannot_be_batched():
    class Plain(tf.experimental.ExtensionType):
        x: tf.Tensor

    with pytest.raises(TypeError, match="cannot be batched"):
        tf.data.Dataset.from_tensors(Plain(1.0)).batch(2).element_spec  # noqa: B018 - it is asked
