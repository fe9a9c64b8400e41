"""Keras's layers for text and categories without TensorFlow: what they give, saving, and training;
`tests_tf/keras_text.py` compares them with what they give on TensorFlow.
"""

import ast
import subprocess
import sys

import numpy as np
import pytest

import gradtape as tf
from keras_gradtape.changes import on_gradtape, taking_strings

keras = tf.keras
layers = keras.layers

TEXTS = ["The cat sat on the mat.", "the dog", "A cat and a dog!"]
LABELS = np.array([1.0, 0.0, 1.0])


@pytest.fixture
def words():
    layer = layers.TextVectorization(output_sequence_length=4)
    layer.adapt(TEXTS)
    return layer


def test_text_becomes_numbers(words):
    assert list(words.get_vocabulary())[:4] == ["", "[UNK]", "the", "dog"]
    assert words(["the zebra"]).numpy().tolist() == [[2, 1, 0, 0]]


@pytest.mark.parametrize("mode", ["multi_hot", "count", "tf_idf"])
def test_words_are_counted_in_rows_of_their_own(mode):
    layer = layers.TextVectorization(output_mode=mode)
    layer.adapt(TEXTS)
    found = layer(["cat cat dog", "zebra"]).numpy()
    assert found.shape == (2, layer.vocabulary_size())
    assert (found > 0).sum(1).tolist() == [2, 1]


def test_callables_see_arrays_and_may_give_tensors():
    layer = layers.TextVectorization(
        standardize=lambda x: tf.strings.regex_replace(tf.strings.lower(x), "[^a-z ]", ""),
        split=lambda x: tf.strings.split(x, " "),
        vocabulary=["cat", "dog"],
    )
    assert layer(["CAT, dog"]).numpy().tolist() == [[2, 3]]


def test_words_of_a_ragged_tensor():
    layer = layers.StringLookup(vocabulary=["a", "b"])
    assert layer(tf.ragged.constant([["a"], ["b", "q"]])).to_list() == [[1], [2, 0]]


def test_a_word_that_must_be_known():
    layer = layers.StringLookup(vocabulary=["a", "b"], num_oov_indices=0)
    with pytest.raises((ValueError, RuntimeError, tf.errors.InvalidArgumentError), match="OOV"):
        layer(["a", "q"])


@pytest.mark.parametrize(
    ("make", "given"),
    [
        (layers.TextVectorization, ["a b"]),
        (layers.StringLookup, ["a"]),
        (layers.IntegerLookup, [1]),
    ],
)
def test_a_layer_without_a_vocabulary_says_so(make, given):
    with pytest.raises(tf.errors.FailedPreconditionError, match=r"adapt\(\) or set_vocabulary"):
        make()(given)


@pytest.mark.parametrize("option", ["ragged", "sparse"])
def test_what_keras_allows_on_tensorflow_alone(option):
    with pytest.raises(ValueError, match="TensorFlow backend"):
        layers.TextVectorization(
            output_mode="int" if option == "ragged" else "count", **{option: True}
        )


def model_of(words):
    model = keras.Sequential(
        [
            keras.Input(shape=(1,), dtype="string"),
            words,
            layers.Embedding(words.vocabulary_size(), 4),
            layers.GlobalAveragePooling1D(),
            layers.Dense(1),
        ]
    )
    model.compile(keras.optimizers.SGD(0.5), "mse")
    return model


@pytest.mark.parametrize(
    "given",
    [np.array(TEXTS)[:, None], np.array(TEXTS, object)[:, None], tf.constant(TEXTS)[:, None]],
    ids=["text", "objects", "tensor"],
)
def test_a_model_of_strings_is_trained(words, given):
    model = model_of(words)
    losses = model.fit(given, LABELS, epochs=8, verbose=0).history["loss"]
    assert losses[-1] < losses[0]
    assert model.evaluate(given, LABELS, verbose=0) < losses[0]


def test_a_model_of_strings_is_saved_and_loaded(words, tmp_path):
    model = model_of(words)
    given = np.array(TEXTS)[:, None]
    before = model.predict(given, verbose=0)
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    assert np.allclose(loaded.predict(given, verbose=0), before)
    assert loaded.layers[0].get_vocabulary() == words.get_vocabulary()


def test_numbers_made_before_a_compiled_training(words):
    model = keras.Sequential([layers.Embedding(words.vocabulary_size(), 4), layers.Flatten(),
                              layers.Dense(1)])  # fmt: skip
    model.compile("sgd", "mse")
    losses = model.fit(words(TEXTS), LABELS, epochs=5, verbose=0).history["loss"]
    assert losses[-1] < losses[0]


def test_categories():
    assert layers.Hashing(num_bins=3)([["A"], ["B"], ["E"]]).numpy().tolist() == [[1], [0], [2]]
    crossing = layers.HashedCrossing(num_bins=5)
    assert crossing((np.array(["A", "B"]), np.array([101, 102]))).numpy().tolist() == [1, 1]
    numbers = layers.IntegerLookup()
    numbers.adapt(np.array([5, 5, 7]))
    assert numbers([5, 7, 8]).numpy().tolist() == [1, 2, 0]
    bins = layers.Discretization(num_bins=4)
    bins.adapt(np.array([[0.0], [1.0], [2.0], [3.0]]))
    assert bins(np.array([[-5.0], [9.0]])).numpy().tolist() == [[0], [3]]


def test_tensorflow_is_not_imported():
    code = """
import sys
import gradtape as tf
layer = tf.keras.layers.TextVectorization()
layer.adapt(["a b"])
layer(["a"])
assert not [name for name in sys.modules if name.partition(".")[0] == "tensorflow"]
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


# The hook


def test_imports_of_tensorflow_are_changed():
    source = """
from keras.src.utils.module_utils import tensorflow as tf
from keras.src.utils import tf_utils
def call():
    from keras.src.backend import tensorflow as tf_backend
"""
    text = ast.unparse(on_gradtape(source, "some.module"))
    assert "from keras_gradtape.as_tensorflow import tf as tf" in text
    assert "from keras_gradtape.as_tensorflow import backend as tf_backend" in text
    assert "from keras.src.utils import tf_utils" in text


@pytest.mark.parametrize("change", [on_gradtape, taking_strings])
def test_a_module_that_has_changed_is_refused(change):
    with pytest.raises(ImportError, match="this version of Keras is not supported"):
        change("x = 1", "some.module")
