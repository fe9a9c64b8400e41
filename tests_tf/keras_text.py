"""Keras's layers for text and categories, as a program: test_keras.py runs it on TensorFlow and on
gradtape.

Prints a JSON object: for each case the dtype, the shape and the values of the result, or "raises".
"""

import json
import os
import sys
import tempfile
import warnings
from itertools import product

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
if os.environ["KERAS_BACKEND"] == "gradtape":
    import gradtape as tf
else:
    import tensorflow as tf
import numpy as np

import keras
from keras import layers

TEXTS = ["The cat sat, on the mat!", "the dog", "A cat & a dog.", "", "Ünï cödé ß", "one-word's"]
OTHERS = ["the unknown cat", "dog dog dog", "zebra"]
WORDS = np.array(["a", "b", "a", "c", "a", "b", "[UNK]", ""])
NUMBERS = np.array([5, 5, 7, 9, 7, 5, -1, 0])


warnings.simplefilter("ignore")


def plain(value):
    if isinstance(value, (list, tuple)):
        return [plain(entry) for entry in value]
    if isinstance(value, (str, np.str_)):
        return str(value)
    if isinstance(value, (int, np.integer)):
        return int(value)
    if isinstance(value, tf.RaggedTensor):
        return ["ragged", value.dtype.name, value.to_list()]
    if isinstance(value, tf.SparseTensor):
        return ["sparse", plain(tf.sparse.to_dense(value))]
    array = np.asarray(value)
    if array.dtype == object or array.dtype.kind in "SU":
        return ["string", list(array.shape), [bytes(t).decode() for t in array.reshape(-1)]]
    return [str(array.dtype), list(array.shape), array.reshape(-1).astype(float).tolist()]


def text_vectorization(**options):
    layer = layers.TextVectorization(**options)
    layer.adapt(TEXTS)
    return [layer(TEXTS), layer(OTHERS), layer.get_vocabulary(), layer.vocabulary_size()]


def lookup(make, data, given, **options):
    layer = make(**options)
    if "vocabulary" not in options:
        layer.adapt(data)
    return [layer(given), layer.get_vocabulary(), layer.vocabulary_size()]


def again(layer, given):
    """The results of a layer that was saved in a model and loaded."""
    model = keras.Sequential([keras.Input(shape=(1,), dtype="string"), layer])
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "model.keras")  # noqa: PTH118
        model.save(file)
        loaded = keras.models.load_model(file)
    return [loaded.layers[-1](given), loaded.layers[-1].get_vocabulary()]


def adapted(layer, data):
    layer.adapt(data)
    return layer


def cases():
    vector = {
        "output_mode": ["int", "multi_hot", "count", "tf_idf"],
        "standardize": [None, "lower", "strip_punctuation", "lower_and_strip_punctuation"],
        "split": ["whitespace", "character"],
        "ngrams": [None, 2],
    }
    for chosen in product(*vector.values()):
        options = dict(zip(vector, chosen, strict=True))
        yield f"text {chosen}", lambda o=options: text_vectorization(**o)
    for options in (
        {"output_sequence_length": 3}, {"output_sequence_length": 9}, {"max_tokens": 5},
        {"max_tokens": 5, "output_mode": "multi_hot", "pad_to_max_tokens": True},
        {"max_tokens": 20, "output_mode": "tf_idf", "pad_to_max_tokens": True},
        {"vocabulary": ["cat", "dog"]}, {"ngrams": (1, 3)}, {"ngrams": 0}, {"split": "nonsense"},
        {"standardize": "nonsense"}, {"output_mode": "nonsense"}, {"max_tokens": 0},
    ):  # fmt: skip
        yield f"text {options}", lambda o=options: text_vectorization(**o)
    given = np.array(["a", "b", "zz", "q", "", "a"])
    for options in (
        {}, {"max_tokens": 3}, {"num_oov_indices": 3}, {"mask_token": ""}, {"oov_token": "?"},
        {"vocabulary": ["a", "b"]}, {"vocabulary": ["a", "b"], "num_oov_indices": 4},
        {"vocabulary": ["a", "b"], "output_mode": "one_hot"},
        {"vocabulary": ["a", "b"], "output_mode": "multi_hot"},
        {"vocabulary": ["a", "b"], "output_mode": "count"},
        {"vocabulary": ["a", "b"], "idf_weights": [0.5, 0.7], "output_mode": "tf_idf"},
        {"vocabulary": ["a", "b"], "num_oov_indices": 0}, {"vocabulary": ["a", "a"]},
        {"output_mode": "tf_idf"}, {"output_mode": "count", "max_tokens": 2},
    ):  # fmt: skip
        yield f"words {options}", lambda o=options: lookup(layers.StringLookup, WORDS, given, **o)
    yield "words inverted", lambda: layers.StringLookup(vocabulary=["a", "b"], invert=True)([0, 2])
    yield (
        "words matrix",
        lambda: layers.StringLookup(vocabulary=["a", "b"])([["a", "q"]]),
    )
    yield "words scalar", lambda: layers.StringLookup(vocabulary=["a", "b"])("b")
    yield "words tensor", lambda: layers.StringLookup(vocabulary=["a"])(tf.constant(["a", "q"]))
    some = np.array([5, 7, 9, 100, -1, 0])
    for options in (
        {}, {"max_tokens": 3}, {"num_oov_indices": 3}, {"mask_token": 0}, {"vocabulary": [5, 7]},
        {"vocabulary": [5, 7], "num_oov_indices": 4},
        {"vocabulary": [5, 7], "output_mode": "one_hot"},
        {"vocabulary": [5, 7], "output_mode": "multi_hot"}, {"output_mode": "tf_idf"},
        {"vocabulary": [5, 7], "num_oov_indices": 0}, {"vocabulary_dtype": "int32"},
    ):  # fmt: skip
        yield (
            f"numbers {options}",
            lambda o=options: lookup(layers.IntegerLookup, NUMBERS, some, **o),
        )
    for mode, bins, salt, mask in product(
        ("int", "one_hot", "multi_hot", "count"), (1, 3, 100), (None, 133, [133, 137]), (None, "")
    ):
        yield (
            f"hashing {mode, bins, salt, mask}",
            lambda m=mode, b=bins, s=salt, k=mask: layers.Hashing(
                num_bins=b, salt=s, mask_value=k, output_mode=m
            )([["A"], ["Bé"], [""]]),
        )
    yield "hashing integers", lambda: layers.Hashing(num_bins=30)(np.arange(12).reshape(3, 4))
    yield "hashing floats", lambda: layers.Hashing(num_bins=30)(np.array([[1.5], [2.5]]))
    yield "hashing none", lambda: layers.Hashing(num_bins=0)
    for mode, bins in product(("int", "one_hot"), (5, 1000)):
        yield (
            f"crossing {mode, bins}",
            lambda m=mode, b=bins: layers.HashedCrossing(num_bins=b, output_mode=m)(
                (np.array(["A", "B", "A", "CC"]), np.array([101, 102, 103, -7]))
            ),
        )
        yield (
            f"crossing three {mode, bins}",
            lambda m=mode, b=bins: layers.HashedCrossing(num_bins=b, output_mode=m)(
                (np.array([["A"], ["B"]]), np.array([[1], [2]]), np.array([["x"], ["y"]]))
            ),
        )
    yield "crossing one", lambda: layers.HashedCrossing(num_bins=5)((np.array(["A"]),))
    for mode in ("one_hot", "multi_hot", "count"):
        yield (
            f"categories {mode}",
            lambda m=mode: layers.CategoryEncoding(4, m)(np.array([3])),
        )
        yield (
            f"categories rows {mode}",
            lambda m=mode: layers.CategoryEncoding(4, m)(
                np.array([[0], [3]] if m == "one_hot" else [[0, 1], [3, 3]])
            ),
        )
    yield from of_sparse_and_ragged()
    yield (
        "categories boolean",
        lambda: layers.CategoryEncoding(3, "count")(np.array([[True, False]])),
    )
    for boundaries in ([2.0, 0.0, 1.0], [2.0, 1.0, 0.0], [0.0, 1.0, 1.0]):
        yield (
            f"bins between {boundaries}",
            lambda b=boundaries: layers.Discretization(b)(np.array([-1.0, 0.5, 1.0])),
        )
    values = np.array([[-1.5, 1.0, 3.4, 0.5], [0.0, 3.0, 1.3, 0.0]])
    for mode in ("int", "one_hot", "multi_hot", "count"):
        yield (
            f"bins {mode}",
            lambda m=mode: layers.Discretization(bin_boundaries=[0.0, 1.0, 2.0], output_mode=m)(
                values
            ),
        )
    yield "bins adapted", lambda: adapted(layers.Discretization(num_bins=4), values)(values)
    yield "saved", lambda: again(adapted(layers.TextVectorization(), TEXTS), OTHERS)
    yield (
        "saved length",
        lambda: again(adapted(layers.TextVectorization(output_sequence_length=2), TEXTS), OTHERS),
    )
    yield (
        "saved tf_idf",
        lambda: again(adapted(layers.TextVectorization(output_mode="tf_idf"), TEXTS), OTHERS),
    )
    yield "saved words", lambda: again(adapted(layers.StringLookup(), WORDS), np.array(["a", "q"]))
    yield (
        "saved vocabulary",
        lambda: again(layers.TextVectorization(vocabulary=["cat", "dog"]), OTHERS),
    )


def of_sparse_and_ragged():
    places = [[0, 1], [0, 2], [2, 0]]
    numbers = {
        "sparse": lambda: tf.SparseTensor(places, tf.constant([1, 1, 2], tf.int64), (3, 4)),
        "sparse row": lambda: tf.SparseTensor([[1], [3]], tf.constant([1, 2], tf.int64), (5,)),
        "sparse too large": lambda: tf.SparseTensor([[0, 1]], tf.constant([9], tf.int64), (1, 2)),
        "ragged": lambda: tf.ragged.constant([[1, 1], [], [2]], dtype=tf.int64),
        "ragged of rank 3": lambda: tf.ragged.constant([[[1, 0], [2]], [[0]]], dtype=tf.int64),
        "ragged too large": lambda: tf.ragged.constant([[1, 9], []], dtype=tf.int64),
        "ragged negative": lambda: tf.ragged.constant([[1, -1], []], dtype=tf.int64),
        "rows": lambda: np.array([[1, 2], [2, 2]]),
        "negative": lambda: np.array([[-1, 2]]),
        "too large": lambda: np.array([[1, 9]]),
    }
    made = {
        "categories": lambda **o: layers.CategoryEncoding(3, **o),
        "hashing": lambda **o: layers.Hashing(3, **o),
        "hashing mask": lambda **o: layers.Hashing(3, mask_value=1, **o),
        "bins": lambda **o: layers.Discretization([0.5, 1.5], **o),
        "numbers": lambda **o: layers.IntegerLookup(vocabulary=[1, 2], **o),
    }
    for (layer, make), (kind, given), mode, sparse in product(
        made.items(), numbers.items(), ("int", "one_hot", "multi_hot", "count"), (False, True)
    ):
        refused = layer == "numbers" and sparse  # sparse=True of lookups: on TensorFlow alone
        unread = mode == "one_hot" and sparse and kind == "too large"  # TensorFlow's is no tensor
        if not (refused or unread or (mode == "int" and (sparse or layer == "categories"))):
            yield (
                f"{layer} {kind} {mode} sparse={sparse}",
                lambda m=make, g=given, o=mode, s=sparse: m(output_mode=o, sparse=s)(g()),
            )
    words = {
        "sparse": lambda: tf.SparseTensor(places, ["a", "q", "b"], (3, 4)),
        "ragged": lambda: tf.ragged.constant([["a", "q"], ["b"], []]),
    }
    for (kind, given), mode in product(words.items(), ("one_hot", "multi_hot", "count", "tf_idf")):
        options = {"idf_weights": [0.5, 0.7]} if mode == "tf_idf" else {}
        yield (
            f"words {kind} {mode}",
            lambda g=given, m=mode, o=options: layers.StringLookup(
                vocabulary=["a", "b"], output_mode=m, **o
            )(g()),
        )
    for mode in ("multi_hot", "count", "tf_idf"):
        options = {"idf_weights": [0.5, 0.7]} if mode == "tf_idf" else {}
        yield (
            f"text of rank 3 {mode}",
            lambda m=mode, o=options: layers.TextVectorization(
                vocabulary=["a", "b"], output_mode=m, **o
            )([[["a b"], ["b"]]]),
        )


def outcome(call):
    try:
        return plain(call())
    except (TypeError, ValueError, RuntimeError, tf.errors.OpError):
        return "raises"


sys.stdout.write(json.dumps({name: outcome(call) for name, call in cases()}))
