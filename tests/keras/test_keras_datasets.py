"""A tf.data.Dataset in fit, evaluate and predict, and the functions of Keras that make datasets."""

import threading

import numpy as np
import pytest

import gradtape as tf
import keras
from keras import layers

RNG = np.random.default_rng(7)
X = RNG.normal(size=(20, 3)).astype("float32")
Y = (X @ RNG.normal(size=(3, 1))).astype("float32")
LABELS = (RNG.random(20) > 0.5).astype("int32")


def linear(**how):
    keras.utils.set_random_seed(6)
    model = keras.Sequential([keras.Input((3,)), layers.Dense(1)])
    model.compile(keras.optimizers.SGD(0.1), "mse", **how)
    return model


def pairs(x=X, y=Y):
    return tf.data.Dataset.from_tensor_slices((x, y))


@pytest.mark.parametrize("how", [{"run_eagerly": True}, {}])
def test_fit_on_a_dataset_is_fit_on_its_batches(how):
    one, two = linear(**how), linear(**how)
    one.fit(X, Y, batch_size=8, epochs=3, shuffle=False, verbose=0)
    two.fit(pairs().batch(8), epochs=3, verbose=0)
    np.testing.assert_allclose(one.get_weights()[0], two.get_weights()[0], rtol=1e-5)
    assert one.evaluate(X, Y, verbose=0) == pytest.approx(
        two.evaluate(pairs().batch(8), verbose=0), rel=1e-4
    )
    np.testing.assert_allclose(
        one.predict(X, verbose=0), two.predict(pairs().batch(8), verbose=0), rtol=1e-4
    )
    only_inputs = tf.data.Dataset.from_tensor_slices(X).batch(8)
    np.testing.assert_allclose(
        one.predict(X, verbose=0), two.predict(only_inputs, verbose=0), rtol=1e-4
    )


def test_the_number_of_batches_is_known_or_found():
    model = linear()
    seen = []
    count = keras.callbacks.LambdaCallback(
        on_train_batch_end=lambda batch, logs: seen.append(batch)
    )
    model.fit(pairs().batch(8), verbose=0, callbacks=[count])
    assert seen == [0, 1, 2]
    unknown = pairs().filter(lambda x, y: True).batch(8)
    with pytest.warns(UserWarning, match="ran out of data"):  # as with TensorFlow, in epoch 1
        model.fit(unknown, epochs=2, verbose=0, callbacks=[count])
    assert len(seen) == 9


@pytest.mark.filterwarnings("ignore:Your input ran out of data")
@pytest.mark.parametrize("how", [{"run_eagerly": True}, {}, {"metrics": ["mae"]}])
def test_a_dataset_without_elements(how):
    none, model = pairs().take(0).batch(8), linear(**how)
    before = model.get_weights()
    assert model.fit(none, epochs=2, verbose=0).history == {}
    assert model.evaluate(none, verbose=0) == []
    with pytest.raises(ValueError, match="predict: the data has no batches"):
        model.predict(none, verbose=0)
    np.testing.assert_equal(model.get_weights(), before)
    assert len(model.fit(pairs().batch(8), epochs=2, verbose=0).history["loss"]) == 2


@pytest.mark.filterwarnings("ignore:Your input ran out of data")
def test_a_generator_that_fails_leaves_a_model_that_goes_on():
    def batches(fails_at):
        for place in range(5):
            if place == fails_at:
                raise RuntimeError("broken here")
            yield X[place * 4 : place * 4 + 4], Y[place * 4 : place * 4 + 4]

    def dataset(fails_at):
        specs = tf.TensorSpec([None, 3]), tf.TensorSpec([None, 1])
        return tf.data.Dataset.from_generator(
            batches, output_signature=specs, args=(fails_at,)
        ).prefetch(2)

    for fails_at in range(5):
        one, two = linear(), linear()
        with pytest.raises(RuntimeError, match="broken here"):
            one.fit(dataset(fails_at), verbose=0)
        if fails_at:
            two.fit(dataset(-1).take(fails_at), verbose=0)
        assert int(one.optimizer.iterations) == fails_at
        one.fit(dataset(-1), verbose=0)
        two.fit(dataset(-1), verbose=0)
        for a, b in zip(one.get_weights(), two.get_weights(), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-6)
    assert not [t for t in threading.enumerate() if t.name.startswith("gradtape-")]


def test_steps_of_a_dataset_without_end():
    model = linear()
    seen = []
    count = keras.callbacks.LambdaCallback(
        on_train_batch_end=lambda batch, logs: seen.append(batch)
    )
    endless = pairs().shuffle(20, seed=1).repeat().batch(6).prefetch(2)
    model.fit(endless, steps_per_epoch=5, epochs=2, verbose=0, callbacks=[count])
    assert seen == [0, 1, 2, 3, 4] * 2


def test_validation_data_and_weights():
    model = linear()
    weights = np.linspace(0.1, 1, 20).astype("float32")
    weighted = tf.data.Dataset.from_tensor_slices((X, Y, weights)).batch(20)
    history = model.fit(pairs().batch(5), validation_data=weighted, epochs=2, verbose=0)
    wanted = model.evaluate(X, Y, sample_weight=weights, batch_size=20, verbose=0)
    assert history.history["val_loss"][-1] == pytest.approx(wanted, rel=1e-4)


def test_class_weights():
    def classifier():
        keras.utils.set_random_seed(6)
        model = keras.Sequential([keras.Input((3,)), layers.Dense(2, activation="softmax")])
        model.compile("sgd", "sparse_categorical_crossentropy")
        return model

    one, two = classifier(), classifier()
    how = {"class_weight": {0: 0.3, 1: 4.0}, "verbose": 0}
    one.fit(X, LABELS, batch_size=5, shuffle=False, **how)
    two.fit(pairs(y=LABELS).batch(5), **how)
    np.testing.assert_allclose(one.get_weights()[0], two.get_weights()[0], rtol=1e-5)


def test_what_belongs_into_the_dataset_is_refused_beside_it():
    with pytest.raises(ValueError, match="`y` should not be passed"):
        linear().fit(pairs().batch(5), Y, verbose=0)
    with pytest.raises(ValueError, match="`sample_weight` should not be passed"):
        linear().fit(pairs().batch(5), sample_weight=np.ones(20), verbose=0)


def test_a_dict_of_inputs():
    a, b = keras.Input((2,), name="a"), keras.Input((1,), name="b")
    model = keras.Model({"a": a, "b": b}, layers.Dense(1)(layers.Concatenate()([a, b])))
    model.compile("sgd", "mse")
    data = tf.data.Dataset.from_tensor_slices(({"a": X[:, :2], "b": X[:, 2:]}, Y)).batch(4)
    assert np.isfinite(model.fit(data, verbose=0).history["loss"][0])


def test_no_thread_is_left_after_fit():
    slow = pairs().map(lambda x, y: (x, y), num_parallel_calls=2).batch(4).prefetch(2)
    before = threading.active_count()
    linear().fit(slow, epochs=2, verbose=0)
    assert threading.active_count() <= before


# Functions that make datasets


def test_timeseries():
    data = np.arange(20, dtype="float32")
    found = keras.utils.timeseries_dataset_from_array(
        data, data[10:], sequence_length=10, batch_size=4
    )
    batches = list(found.as_numpy_iterator())
    assert isinstance(found, tf.data.Dataset)
    assert [x.shape for x, _ in batches] == [(4, 10), (4, 10), (2, 10)]
    for x, y in batches:
        np.testing.assert_array_equal(x[:, 0] + 10, y)
        np.testing.assert_array_equal(np.diff(x), 1)


def test_split_dataset():
    left, right = keras.utils.split_dataset(pairs(), left_size=0.75)
    assert (len(left), len(right)) == (15, 5)
    np.testing.assert_array_equal(next(right.as_numpy_iterator())[0], X[15])
    left, right = keras.utils.split_dataset(pairs().batch(4), left_size=0.75)
    assert next(left.as_numpy_iterator())[0].shape == (4, 3)


def test_normalization_adapts_to_a_dataset():
    layer = layers.Normalization()
    layer.adapt(tf.data.Dataset.from_tensor_slices(X).batch(7))
    np.testing.assert_allclose(np.asarray(layer(X)).mean(0), np.zeros(3), atol=1e-5)
    np.testing.assert_allclose(np.asarray(layer(X)).std(0), np.ones(3), atol=1e-4)


def test_layers_in_map():
    rescale = layers.Rescaling(2.0)
    found = pairs().batch(4).map(lambda x, y: (rescale(x), y))
    np.testing.assert_allclose(next(found.as_numpy_iterator())[0], 2 * X[:4], rtol=1e-6)
