"""`model.export` and `ExportArchive`: SavedModels that predict what the model does."""

import numpy as np
import pytest

import gradtape as tf
from gradtape import keras


def image_model():
    return keras.Sequential(
        [
            keras.Input((8, 8, 1)),
            keras.layers.Conv2D(4, 3, activation="relu"),
            keras.layers.BatchNormalization(),
            keras.layers.Dropout(0.5),
            keras.layers.Flatten(),
            keras.layers.Dense(2),
        ]
    )


IMAGES = np.random.default_rng(0).standard_normal((5, 8, 8, 1)).astype("float32")


def test_a_sequential_model(tmp_path, capsys):
    model = image_model()
    model.export(tmp_path)
    assert "endpoints are available: serve" in capsys.readouterr().out
    loaded = tf.saved_model.load(tmp_path)
    expected = model.predict(IMAGES, verbose=0)
    np.testing.assert_allclose(loaded.serve(IMAGES), expected, rtol=1e-5, atol=1e-6)
    for name in ("serve", "serving_default"):
        found = loaded.signatures[name](IMAGES)["output_0"]
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(loaded.serve(IMAGES[:1]), expected[:1], rtol=1e-4, atol=1e-6)


def test_a_functional_model_of_dicts(tmp_path):
    a, b = keras.Input((3,), name="a"), keras.Input((2,), name="b")
    joined = keras.layers.Concatenate()([a, b])
    model = keras.Model({"a": a, "b": b}, {"y": keras.layers.Dense(2)(joined), "z": joined})
    model.export(tmp_path, verbose=False)
    given = {"a": np.ones((4, 3), "float32"), "b": np.zeros((4, 2), "float32")}
    found = tf.saved_model.load(tmp_path).serve(given)
    expected = model.predict(given, verbose=0)
    assert found.keys() == expected.keys()
    for name in found:
        np.testing.assert_allclose(found[name], expected[name], rtol=1e-6)


def test_a_subclassed_model(tmp_path):
    class Doubled(keras.Model):
        def __init__(self):
            super().__init__()
            self.dense = keras.layers.Dense(3)

        def call(self, x):
            return 2 * self.dense(x)

    model = Doubled()
    with pytest.raises(ValueError, match=r"built|called"):
        model.export(tmp_path, verbose=False)
    x = np.ones((2, 4), "float32")
    expected = model(x)
    model.export(tmp_path, verbose=False)
    np.testing.assert_allclose(tf.saved_model.load(tmp_path).serve(x), expected, rtol=1e-6)


def test_a_model_given_to_save(tmp_path):
    model = image_model()
    tf.saved_model.save(model, tmp_path)
    found = tf.saved_model.load(tmp_path).signatures["serving_default"](IMAGES)["output_0"]
    np.testing.assert_allclose(found, model.predict(IMAGES, verbose=0), rtol=1e-5, atol=1e-6)


def test_what_is_loaded_can_be_trained(tmp_path):
    model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(1)])
    model.export(tmp_path, verbose=False)
    loaded = tf.saved_model.load(tmp_path)
    optimizer = keras.optimizers.SGD(0.1)
    x, losses = np.ones((4, 3), "float32"), []
    for _ in range(3):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((loaded.serve(x) - 1.0) ** 2)
        variables = loaded._all_variables
        optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables, strict=True))
        losses.append(float(loss))
    assert losses[-1] < losses[0]


class TestArchive:
    def test_endpoints_and_collections(self, tmp_path):
        model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(2)])
        archive = keras.export.ExportArchive()
        archive.track(model)
        spec = [keras.InputSpec(shape=(None, 3), dtype="float32")]
        archive.add_endpoint("call", model.call, spec)
        archive.add_endpoint("twice", lambda x: 2 * model(x), spec)
        archive.add_variable_collection("weights", model.variables)
        archive.write_out(tmp_path, verbose=False)
        loaded = tf.saved_model.load(tmp_path)
        x = np.ones((2, 3), "float32")
        np.testing.assert_allclose(loaded.twice(x), 2 * loaded.call(x))
        assert [v.numpy().shape for v in loaded.weights] == [(3, 2), (2,)]
        assert len(archive.variables) == len(archive.trainable_variables) == 2
        assert archive.non_trainable_variables == []

    def test_functions_that_have_been_called(self, tmp_path):
        model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(2)])
        serve = tf.function(lambda x: model(x))
        archive = keras.export.ExportArchive()
        with pytest.raises(ValueError, match="has never been called"):
            archive.add_endpoint("serve", serve)
        expected = serve(tf.ones([2, 3]))
        archive.add_endpoint("serve", serve)
        archive.write_out(tmp_path, verbose=False)
        np.testing.assert_allclose(tf.saved_model.load(tmp_path).serve(tf.ones([2, 3])), expected)

    @pytest.mark.parametrize(
        ("misuse", "said"),
        [
            (lambda a, m: a.track(3), "Invalid resource type"),
            (lambda a, m: a.track(keras.layers.Dense(2)), "has not yet been built"),
            (lambda a, m: a.add_endpoint("f", m.call), "you must provide an `input_signature`"),
            (
                lambda a, m: a.add_endpoint("variables", m.call, [tf.TensorSpec([1, 3])]),
                "attribute",
            ),
            (
                lambda a, m: a.add_endpoint("f", m, [], is_static=True),
                "only supported with the jax",
            ),
            (lambda a, m: a.add_variable_collection("v", m), "to be a list/tuple/set"),
            (lambda a, m: a.add_variable_collection("v", [1]), "`tf.Variable` instances"),
            (lambda a, m: a.write_out("nowhere"), "No endpoints have been set"),
        ],
    )
    def test_misuse(self, misuse, said):
        model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(2)])
        with pytest.raises(ValueError, match=said):
            misuse(keras.export.ExportArchive(), model)

    def test_a_name_twice(self):
        archive = keras.export.ExportArchive()
        archive.add_endpoint("f", lambda x: x, [tf.TensorSpec([2])])
        with pytest.raises(ValueError, match="already taken"):
            archive.add_endpoint("f", lambda x: x, [tf.TensorSpec([2])])


@pytest.mark.parametrize("kind", ["onnx", "openvino"])
def test_other_formats_are_refused_with_what_to_do(tmp_path, kind):
    unused = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)])
    for model in (image_model(), unused):
        with pytest.raises(NotImplementedError, match=f"format '{kind}'.*another backend"):
            model.export(tmp_path / "model", format=kind, verbose=False)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("kind", ["litert", "torch"])
def test_formats_that_keras_itself_refuses(tmp_path, kind):
    with pytest.raises(ValueError, match=r"requires .*PyTorch backend"):
        image_model().export(tmp_path / "model", format=kind, verbose=False)
