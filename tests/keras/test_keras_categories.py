"""Keras's layers for categories with sparse and ragged tensors, and numbers that are no categories:
what they give on TensorFlow, with which `tests_tf/keras_text.py` compares them.
"""

import numpy as np
import pytest

import gradtape as tf

keras = tf.keras
layers = keras.layers

WORDS = ["a", "b"]


def sparse(values, **options):
    """Two values in the first row, none in the second, one in the third."""
    return tf.SparseTensor([[0, 1], [0, 2], [2, 0]], tf.constant(values, **options), (3, 4))


def ragged(values):
    return tf.ragged.constant(values)


def plain(x):
    if isinstance(x, tf.SparseTensor):
        x = tf.sparse.to_dense(x)
    return x.to_list() if isinstance(x, tf.RaggedTensor) else x.numpy().tolist()


LAYERS = {
    "CategoryEncoding": lambda **o: layers.CategoryEncoding(3, **o),
    "Hashing": lambda **o: layers.Hashing(3, **o),
    "Discretization": lambda **o: layers.Discretization([0.5, 1.5], **o),
    "StringLookup": lambda **o: layers.StringLookup(vocabulary=WORDS, **o),
}
COUNTS = {  # of the numbers 1, 1 in a row, none in the next, 2 in the last, or of the words a, a; b
    "CategoryEncoding": [[0, 2, 0], [0, 0, 0], [0, 0, 1]],
    "Hashing": [[2, 0, 0], [0, 0, 0], [0, 1, 0]],
    "Discretization": [[0, 2, 0], [0, 0, 0], [0, 0, 1]],
    "StringLookup": [[0, 2, 0], [0, 0, 0], [0, 0, 1]],
}


def numbers_of(layer, kind):
    values = [["a", "a"], [], ["b"]] if layer == "StringLookup" else [[1, 1], [], [2]]
    return ragged(values) if kind == "ragged" else sparse(values[0] + values[2])


@pytest.mark.parametrize("mode", ["count", "multi_hot"])
@pytest.mark.parametrize("kind", ["sparse", "ragged"])
@pytest.mark.parametrize(
    ("layer", "sparse_output"),
    # Keras refuses sparse=True of lookups when they are made.
    [(layer, False) for layer in LAYERS] + [(layer, True) for layer in list(LAYERS)[:3]],
)
def test_only_what_is_there_is_counted(layer, kind, mode, sparse_output):
    options = {"sparse": True} if sparse_output else {}
    found = LAYERS[layer](output_mode=mode, **options)(numbers_of(layer, kind))
    assert isinstance(found, tf.SparseTensor) == sparse_output
    expected = np.array(COUNTS[layer])
    assert plain(found) == (expected if mode == "count" else np.minimum(expected, 1)).tolist()


def test_counts_of_one_sparse_row():
    row = tf.SparseTensor([[1], [3]], [1, 2], (5,))
    assert plain(layers.CategoryEncoding(4, "count")(row)) == [0, 1, 1, 0]
    assert plain(layers.CategoryEncoding(4, "count", sparse=True)(row)) == [0, 1, 1, 0]


@pytest.mark.parametrize("sparse_output", [False, True])
def test_counts_with_weights(sparse_output):
    layer = layers.CategoryEncoding(4, "count", sparse=sparse_output)
    found = layer(sparse([1, 1, 3]), count_weights=sparse([0.5, 1.0, 2.0]))
    assert plain(found) == [[0, 1.5, 0, 0], [0, 0, 0, 0], [0, 0, 0, 2]]
    found = layer(ragged([[1, 3], [2]]), count_weights=ragged([[0.5, 2.0], [3.0]]))
    assert plain(found) == [[0, 0.5, 0, 2], [0, 0, 3, 0]]


@pytest.mark.parametrize(
    ("layer", "given", "expected"),
    [
        (layers.IntegerLookup(vocabulary=[1, 2]), [[1, 3], [2], []], [[1, 0], [2], []]),
        (layers.Hashing(4), [[1, 3], [2], []], [[1, 1], [3], []]),
        (layers.Hashing(4, mask_value=1), [[1, 3], [2], []], [[0, 1], [2], []]),
        (layers.Hashing(4, salt=3), [[1, 3], [2], []], [[0, 3], [2], []]),
        (layers.Hashing(4), [["a", "q"], ["b"]], [[3, 1], [2]]),
        (layers.StringLookup(vocabulary=WORDS), [["a", "q"], ["b"]], [[1, 0], [2]]),
        (layers.Discretization([1.5, 2.5]), [[1, 3], [2], []], [[0, 2], [1], []]),
        (layers.CategoryEncoding(3, "one_hot"), [[1], [2, 0]], [[[0, 1, 0]],
                                                               [[0, 0, 1], [1, 0, 0]]]),
        (layers.CategoryEncoding(4, "multi_hot"), [[[1, 3], [2]], [[0]]],
         [[[0, 1, 1, 0], [0, 0, 0, 1]], [[1, 0, 0, 0]]]),
    ],
    ids=str,
)  # fmt: skip
def test_ragged_tensors_stay_ragged(layer, given, expected):
    found = layer(ragged(given))
    assert isinstance(found, tf.RaggedTensor)
    assert found.to_list() == expected
    mapped = tf.data.Dataset.from_tensors(ragged(given)).map(layer)
    assert [x.to_list() for x in mapped] == [expected]


def test_a_lookup_adapts_to_a_ragged_tensor():
    layer = layers.IntegerLookup()
    layer.adapt(ragged([[7, 7], [5]]))
    assert layer(ragged([[5], [7, 6]])).to_list() == [[2], [1, 0]]


@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        ("multi_hot", [[[0, 1, 1], [0, 0, 1]]]),
        ("count", [[[0, 1, 1], [0, 0, 1]]]),
        ("tf_idf", [[[0, 0.5, 0.25], [0, 0, 0.25]]]),
    ],
)
def test_texts_of_three_dimensions_are_counted(mode, expected):
    options = {"idf_weights": [0.5, 0.25]} if mode == "tf_idf" else {}
    layer = layers.TextVectorization(vocabulary=WORDS, output_mode=mode, **options)
    assert layer([[["a b"], ["b"]]]).to_list() == expected


@pytest.mark.parametrize("mode", ["one_hot", "multi_hot", "count"])
@pytest.mark.parametrize("kind", [np.array, tf.constant])
def test_sparse_results_of_hashing(mode, kind):
    given = kind([["A", "B"], ["A", "A"]])
    found = layers.Hashing(3, output_mode=mode, sparse=True)(given)
    assert isinstance(found, tf.SparseTensor)
    assert plain(found) == plain(layers.Hashing(3, output_mode=mode)(given))


@pytest.mark.parametrize("mode", ["multi_hot", "count"])
@pytest.mark.parametrize("given", [[[-1, 2]], [-1, 2]])
def test_negative_categories_are_refused(mode, given):
    for options in ({}, {"sparse": True}):
        layer = layers.CategoryEncoding(4, mode, **options)
        with pytest.raises(tf.errors.InvalidArgumentError, match="got -1"):
            layer(np.array(given))
    with pytest.raises(tf.errors.InvalidArgumentError, match="got -1"):
        list(tf.data.Dataset.from_tensors(given).map(layers.CategoryEncoding(4, mode)))
    with pytest.raises(tf.errors.InvalidArgumentError, match="got -1"):
        layers.CategoryEncoding(4, mode)(ragged([[1, -1], []]))


def test_categories_that_do_not_exist_are_zeros():
    assert plain(layers.CategoryEncoding(3, "one_hot")([[-1], [3]])) == [[0, 0, 0]] * 2
    assert plain(layers.CategoryEncoding(3, "count")([[1, 3]])) == [[0, 1, 0]]
    assert plain(layers.CategoryEncoding(3, "count")(ragged([[1, 3]]))) == [[0, 1, 0]]


@pytest.mark.parametrize("given", [[[True, False]], [[1.0, 0.0]], [[1, 0]]])
def test_dtypes_of_numbers(given):
    assert plain(layers.CategoryEncoding(3, "count")(np.array(given))) == [[1, 1, 0]]


def test_no_categories_at_all():
    assert plain(layers.CategoryEncoding(2, "multi_hot")(np.zeros((2, 0), int))) == [[0, 0]] * 2


@pytest.mark.parametrize("boundaries", [[2.0, 0.0, 1.0], [2.0, 1.0, 0.0]])
def test_boundaries_must_rise(boundaries):
    with pytest.raises(tf.errors.InvalidArgumentError, match="bin_boundaries must rise"):
        layers.Discretization(boundaries)(np.array([0.5]))


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: layers.CategoryEncoding(4, "one_hot")(sparse([1, 1, 3])), "to_dense"),
        (lambda: layers.CategoryEncoding(4, "one_hot", sparse=True)(ragged([[1]])), "to_tensor"),
        (
            lambda: layers.CategoryEncoding(4, "count")(
                sparse([1, 1, 3]), count_weights=np.ones((3, 4))
            ),
            "count_weights must be a SparseTensor",
        ),
        (lambda: layers.Embedding(4, 2)(ragged([[1], [2, 3]])), "to_tensor"),
        (lambda: keras.ops.abs(ragged([[1.0], [2.0, 3.0]])), "to_tensor"),
    ],
)
def test_what_is_refused(call, says):
    with pytest.raises((ValueError, TypeError, RuntimeError), match=says):
        call()


def test_conversions_of_ragged_tensors():
    given = ragged([[1, 3], [2]])
    assert keras.ops.is_tensor(given)
    assert keras.ops.convert_to_tensor(given, "float32").dtype == tf.float32
    assert keras.ops.convert_to_numpy(given).tolist() == [[1, 3], [2, 0]]


def test_in_a_compiled_model():
    model = keras.Sequential(
        [
            layers.Discretization([0.5, 1.5], output_mode="count"),
            layers.Dense(1, kernel_initializer="ones"),
        ]
    )
    assert model.predict(np.array([[0.0, 1.0], [2.0, 2.0]]), verbose=0).tolist() == [[2], [2]]
