"""Datasets, records and text as programs for TensorFlow 1 read them."""

import pytest

import gradtape as tf

v1 = tf.compat.v1


def test_iterators_and_what_is_known_of_elements():
    dataset = tf.data.Dataset.from_tensor_slices({"x": [[1.0], [2.0]], "s": ["a", "b"]}).batch(2)
    elements = v1.data.make_one_shot_iterator(dataset)
    found = elements.get_next()
    assert found["x"].numpy().tolist() == [[1.0], [2.0]]
    with pytest.raises(tf.errors.OutOfRangeError):
        elements.get_next()
    assert v1.data.get_output_types(dataset) == {"s": tf.string, "x": tf.float32}
    assert v1.data.get_output_shapes(elements)["x"].as_list() == [None, 1]
    assert v1.data.get_output_classes(dataset)["s"] is tf.Tensor
    rows = tf.data.Dataset.from_tensor_slices(tf.ragged.constant([[1], [2, 3]])).batch(2)
    assert v1.data.get_output_classes(rows) is tf.RaggedTensor
    with pytest.raises(RuntimeError, match=r"Use iter\(dataset\)"):
        v1.data.make_initializable_iterator(dataset)
    with pytest.raises(TypeError, match=r"must be a tf\.data\.Dataset, got 3"):
        v1.data.make_one_shot_iterator(3)


@pytest.mark.parametrize("kind", ["NONE", "ZLIB", "GZIP"])
@pytest.mark.parametrize("namespace", [v1.python_io, v1.io])
def test_records(tmp_path, namespace, kind):
    options = namespace.TFRecordOptions(getattr(namespace.TFRecordCompressionType, kind))
    path = str(tmp_path / "records")
    with namespace.TFRecordWriter(path, options) as writer:
        writer.write(b"one")
        writer.write(b"two")
    assert list(namespace.tf_record_iterator(path, options)) == [b"one", b"two"]


def test_arguments_in_their_old_order():
    label = tf.train.Feature(int64_list=tf.train.Int64List(value=[3]))
    features = tf.train.Features(feature={"label": label})
    example = tf.train.Example(features=features).SerializeToString()
    spec = {"label": tf.io.FixedLenFeature([], tf.int64)}
    assert v1.parse_single_example(example, spec, "name")["label"].numpy() == 3
    assert v1.parse_example([example], spec, "name", ["first"])["label"].numpy().tolist() == [3]
    assert v1.decode_raw(bytes=b"ab", out_type=tf.uint8).numpy().tolist() == [97, 98]
    assert [c.numpy() for c in v1.decode_csv("1,x", [[0], [""]], ",", True, "name", "")] == [
        1,
        b"x",
    ]
    assert v1.string_to_number(string_tensor=["1.5"]).numpy().tolist() == [1.5]
    assert v1.substr("abc", 0, 2).numpy() == b"ab"
    assert v1.reduce_join([["a", "b"]], reduction_indices=1).numpy().tolist() == [b"ab"]


def test_split_gives_a_sparse_tensor():
    found = v1.strings.split(["a b", "", "c"])
    assert isinstance(found, tf.SparseTensor)
    dense = tf.sparse.to_dense(found, default_value="").numpy().tolist()
    assert dense == [[b"a", b"b"], [b"", b""], [b"c", b""]]
    assert v1.strings.split("a,b", ",", result_type="RaggedTensor").to_list() == [[b"a", b"b"]]
    with pytest.raises(ValueError, match="result_type must be"):
        v1.strings.split("a", result_type="list")


def test_tables_are_those_of_today():
    assert v1.lookup.StaticHashTable is tf.lookup.StaticHashTable
