"""`keras.utils.FeatureSpace` without TensorFlow: the numbers are those of Keras on TensorFlow."""

import subprocess
import sys

import numpy as np
import pytest

import gradtape as tf

keras = tf.keras
FeatureSpace = keras.utils.FeatureSpace

RAW = {
    "plain": [0.0, 0.1, 0.2, 0.3],
    "scaled": [1.0, 2.0, 3.0, 4.0],
    "normal": [0.0, 1.0, 2.0, 5.0],
    "bins": [0.0, 0.1, 0.2, 0.3],
    "word": ["zero", "one", "two", "one"],
    "number": [0, 1, 2, 1],
    "word_hash": ["a", "b", "c", "d"],
    "number_hash": [5, 6, 7, 8],
}
NUMBERS = {
    "plain": [0, 0.1, 0.2, 0.3],
    "scaled": [3, 5, 7, 9],
    "normal": [-1.0690, -0.5345, 0, 1.6036],
    "bins": [0, 1, 2, 2],
    "word": [2, 1, 3, 1],
    "number": [0, 1, 2, 1],
    "word_hash": [3, 2, 0, 1],
    "number_hash": [3, 3, 0, 3],
    "word_X_number": [1, 1, 3, 1],
}
"""What each feature becomes as a number."""
SIZES = {"bins": 3, "word": 4, "number": 3, "word_hash": 4, "number_hash": 4, "word_X_number": 8}


def dataset():
    return tf.data.Dataset.from_tensor_slices(RAW)


def space(output_mode="concat", encoding="one_hot"):
    made = FeatureSpace(
        {
            "plain": "float",
            "scaled": FeatureSpace.float_rescaled(scale=2.0, offset=1.0),
            "normal": "float_normalized",
            "bins": FeatureSpace.float_discretized(num_bins=3, output_mode=encoding),
            "word": FeatureSpace.string_categorical(output_mode=encoding),
            "number": FeatureSpace.integer_categorical(max_tokens=3, output_mode=encoding),
            "word_hash": FeatureSpace.string_hashed(num_bins=4, output_mode=encoding),
            "number_hash": FeatureSpace.integer_hashed(num_bins=4, output_mode=encoding),
        },
        crosses=[FeatureSpace.cross(("word", "number"), 8, output_mode=encoding)],
        output_mode=output_mode,
    )
    made.adapt(dataset())
    return made


def one_hot(name):
    numbers = np.array(NUMBERS[name])
    return np.eye(SIZES[name])[numbers] if name in SIZES else numbers[:, None]


CROSS = "word_X_number"
CONCATENATED = np.concatenate(
    [one_hot(name) for name in [*sorted(RAW), CROSS]], axis=1
)  # the features in the order of their names, then the crosses


def test_one_vector_of_all_features():
    found = space()(RAW)
    assert isinstance(found, tf.Tensor)
    assert found.dtype == tf.float32
    assert np.allclose(found, CONCATENATED, atol=1e-4)


@pytest.mark.parametrize("encoding", ["int", "one_hot"])
def test_a_dict_of_features(encoding):
    found = space("dict", encoding)(RAW)
    assert set(found) == set(NUMBERS)
    for name, numbers in NUMBERS.items():
        expected = one_hot(name) if encoding == "one_hot" else np.array(numbers)[:, None]
        assert np.allclose(found[name], expected, atol=1e-4), name
        if encoding == "int" and name in SIZES:
            assert found[name].dtype.is_integer, name


@pytest.mark.parametrize(
    "given",
    [
        {name: np.array(values) for name, values in RAW.items()},
        {name: np.array(values)[:, None] for name, values in RAW.items()},
        {name: tf.constant(values) for name, values in RAW.items()},
    ],
    ids=["arrays", "columns", "tensors"],
)
def test_kinds_of_data(given):
    assert np.allclose(space()(given), CONCATENATED, atol=1e-4)


def test_one_example():
    example = {name: values[1] for name, values in RAW.items()}
    assert np.allclose(space()(example), CONCATENATED[1], atol=1e-4)
    found = space("dict", "int")(example)
    assert {name: tuple(value.shape) for name, value in found.items()} == dict.fromkeys(
        NUMBERS, (1,)
    )


def test_adapted_to_batches_and_to_a_dict():
    for data in (dataset().batch(2), RAW):
        made = space()
        made.adapt(data)
        assert np.allclose(made(RAW), CONCATENATED, atol=1e-4)


def test_a_dataset_is_mapped():
    made = space()
    assert np.allclose(list(dataset().map(made)), CONCATENATED, atol=1e-4)
    batches = dataset().batch(3).map(made)
    assert batches.element_spec.shape.as_list() == [None, CONCATENATED.shape[1]]
    assert [len(batch) for batch in batches] == [3, 1]
    labelled = tf.data.Dataset.zip((dataset(), tf.data.Dataset.range(4))).batch(2)
    found = list(labelled.map(lambda x, y: (made(x), y)))
    assert np.allclose(np.concatenate([x for x, _ in found]), CONCATENATED, atol=1e-4)


def test_in_a_function():
    floats = FeatureSpace({"plain": "float", "bins": FeatureSpace.float_discretized(3)})
    floats.adapt(dataset())
    given = {name: tf.constant(RAW[name]) for name in ("plain", "bins")}
    found = tf.function(lambda data: floats(data), jit_compile=True)(given)
    assert np.allclose(found, floats(given))


def test_saved_and_loaded(tmp_path):
    space().save(tmp_path / "space.keras")
    loaded = keras.models.load_model(tmp_path / "space.keras")
    assert type(loaded) is FeatureSpace
    assert np.allclose(loaded(RAW), CONCATENATED, atol=1e-4)


def test_a_model_of_encoded_features_and_one_of_raw_ones():
    made = space()
    encoded = made.get_encoded_features()
    assert encoded.shape == (None, CONCATENATED.shape[1])
    output = keras.layers.Dense(1)(encoded)
    trained, whole = keras.Model(encoded, output), keras.Model(dict(made.get_inputs()), output)
    trained.compile("sgd", "mse")
    labels = tf.data.Dataset.from_tensor_slices([1.0, 0.0, 1.0, 0.0])
    data = tf.data.Dataset.zip((dataset(), labels)).batch(2)
    losses = trained.fit(data.map(lambda x, y: (made(x), y)), epochs=4, verbose=0).history["loss"]
    assert losses[-1] < losses[0]
    expected = CONCATENATED @ trained.layers[-1].kernel.numpy() + trained.layers[-1].bias.numpy()
    assert np.allclose(whole.predict(dataset().batch(2), verbose=0), expected, atol=1e-3)


def test_a_layer_of_ones_own():
    texts = {"text": ["1st string", "2nd string", "3rd string"]}
    words = keras.layers.TextVectorization(output_mode="count")
    made = FeatureSpace({"text": FeatureSpace.feature("string", words, "float")})
    made.adapt(tf.data.Dataset.from_tensor_slices(texts))
    assert made(texts).numpy().sum(1).tolist() == [2, 2, 2]


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: FeatureSpace({"a": "float_normalized"})({"a": [1.0]}), "adapt"),
        (lambda: FeatureSpace({"a": "nonsense"}), "Invalid feature type: nonsense"),
        (lambda: FeatureSpace({"a": "float"})([1.0]), "only be called with a dict"),
        (lambda: space("concat", "int"), "Cannot concatenate features"),
    ],
)
def test_what_is_refused(call, says):
    with pytest.raises(ValueError, match=says):
        call()


def test_layers_that_prepare_data_where_tensorflow_means_gradtape(tmp_path):
    program = tmp_path / "program.py"
    program.write_text("""
import numpy as np
import keras
import tensorflow as tf
space = keras.utils.FeatureSpace({"a": "float", "b": "float_normalized"})
space.adapt({"a": [1.0, 2.0], "b": [0.0, 2.0]})
print(tf.function(lambda data: space(data))({"a": tf.ones(2), "b": tf.ones(2)}).numpy().tolist())
model = keras.Sequential([keras.layers.Rescaling(2.0), keras.layers.Dense(1)])
model.compile("sgd", "mse")
model.fit(np.ones((4, 2)), np.ones((4, 1)), verbose=0)
""")
    done = subprocess.run(
        [sys.executable, "-m", "gradtape", str(program)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == "[[1.0, 0.0], [1.0, 0.0]]\n"
