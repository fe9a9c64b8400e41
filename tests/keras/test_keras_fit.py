"""What fit, evaluate and predict take, and what callbacks see of them."""

import csv
import inspect
import math

import numpy as np
import pytest

import gradtape as tf
import keras
from keras import layers

RNG = np.random.default_rng(7)
X = RNG.normal(size=(20, 3)).astype("float32")
Y = (X @ RNG.normal(size=(3, 1))).astype("float32")


@pytest.fixture(autouse=True)
def seed():
    keras.utils.set_random_seed(6)


def linear(rate=0.1, **how):
    keras.utils.set_random_seed(6)
    model = keras.Sequential([keras.Input((3,)), layers.Dense(1)])
    model.compile(keras.optimizers.SGD(rate), "mse", **{"run_eagerly": True, **how})
    return model


class Pieces(keras.utils.PyDataset):
    """Batches of four, by number."""

    def __len__(self):
        return 5

    def __getitem__(self, index):
        return X[4 * index : 4 * index + 4], Y[4 * index : 4 * index + 4]


def pieces():
    yield from (Pieces()[i] for i in range(5))


def again_and_again():
    while True:
        yield from pieces()


class Again:
    """An object that Keras knows nothing of, which begins anew each time."""

    def __len__(self):
        return 5

    def __iter__(self):
        return pieces()


def by_hand(epochs=2, batch=4, weights=None):
    """The weights of `linear` after batches in order, in NumPy."""
    kernel, bias = (w.astype(np.float64) for w in linear().get_weights())
    weights = np.ones(len(X)) if weights is None else weights
    for _ in range(epochs):
        for i in range(0, len(X), batch):
            x, w = X[i : i + batch], weights[i : i + batch, None]
            slope = 2 * w * (x @ kernel + bias - Y[i : i + batch]) / len(x)
            kernel, bias = kernel - 0.1 * x.T @ slope, bias - 0.1 * slope.sum(0)
    return kernel, bias


def assert_trained(model, expected):
    for found, wanted in zip(model.get_weights(), expected, strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("compiled", [False, True])
def test_arrays_generators_datasets_and_iterables_are_the_same_to_fit(compiled):
    expected = by_hand()
    ways = [
        (lambda: {"x": X, "y": Y, "batch_size": 4}),
        (lambda: {"x": X.astype("float64"), "y": Y.astype("float64"), "batch_size": 4}),
        (lambda: {"x": tf.constant(X), "y": tf.constant(Y), "batch_size": 4}),
        (lambda: {"x": Pieces()}),
        (lambda: {"x": Pieces(workers=2)}),
        (lambda: {"x": again_and_again(), "steps_per_epoch": 5}),
        (lambda: {"x": Pieces(), "steps_per_epoch": 5}),
        (lambda: {"x": Again()}),
        (lambda: {"x": iter(list(pieces()) * 2), "steps_per_epoch": 5}),
    ]
    for way in ways:
        model = linear(run_eagerly=not compiled)
        model.fit(**way(), epochs=2, shuffle=False, verbose=0)
        assert_trained(model, expected)


def test_a_generator_that_ends_ends_the_epoch():
    model = linear()
    with pytest.warns(UserWarning, match="ran out of data"):
        model.fit(pieces(), epochs=1, shuffle=False, verbose=0)
    assert_trained(model, by_hand(epochs=1))
    np.testing.assert_allclose(
        model.evaluate(Again(), verbose=0), model.evaluate(X, Y, verbose=0), rtol=1e-5
    )
    history = model.fit(X, Y, validation_data=Again(), verbose=0).history
    np.testing.assert_allclose(history["val_loss"][0], model.evaluate(X, Y, verbose=0), rtol=1e-5)


def test_pandas():
    pandas = pytest.importorskip("pandas")
    model = linear()
    model.fit(
        pandas.DataFrame(X), pandas.DataFrame(Y), batch_size=4, epochs=2, shuffle=False, verbose=0
    )
    assert_trained(model, by_hand())
    assert model.predict(pandas.DataFrame(X), verbose=0).shape == (20, 1)


def test_weights_of_samples_and_of_classes():
    weights = np.linspace(0, 1, 20).astype("float32")
    model = linear()
    model.fit(X, Y, sample_weight=weights, batch_size=4, epochs=2, shuffle=False, verbose=0)
    assert_trained(model, by_hand(weights=weights))

    labels = (Y[:, 0] > 0).astype("int32")

    def classifier(**given):
        keras.utils.set_random_seed(6)
        made = keras.Sequential([keras.Input((3,)), layers.Dense(2)])
        made.compile(
            "sgd", keras.losses.SparseCategoricalCrossentropy(from_logits=True), run_eagerly=True
        )
        made.fit(X, labels, shuffle=False, epochs=2, verbose=0, **given)
        return made.get_weights()

    expected = classifier(sample_weight=np.where(labels == 1, 3.0, 0.5))
    for a, b in zip(classifier(class_weight={0: 0.5, 1: 3.0}), expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5)


@pytest.mark.parametrize("compiled", [False, True])
def test_dictionaries_lists_and_several_outputs(compiled):
    a, b = keras.Input((3,), name="a"), keras.Input((3,), name="b")
    both = layers.Concatenate()([a, b])
    one, two = layers.Dense(1, name="one")(both), layers.Dense(2, name="two")(both)
    model = keras.Model([a, b], {"one": one, "two": two})
    model.compile(
        "sgd", {"one": "mse", "two": "mae"}, metrics={"two": ["mse"]}, run_eagerly=not compiled
    )
    targets = {"one": Y, "two": np.concatenate([Y, Y], 1)}
    history = model.fit({"a": X, "b": X}, targets, batch_size=8, epochs=2, verbose=0).history
    assert set(history) == {"loss", "one_loss", "two_loss", "two_mse"}
    model.fit([X, X], targets, sample_weight={"one": np.ones(20), "two": np.zeros(20)}, verbose=0)
    found = model.predict([X, X], batch_size=8, verbose=0)
    assert {name: value.shape for name, value in found.items()} == {"one": (20, 1), "two": (20, 2)}
    assert set(model.evaluate([X, X], targets, return_dict=True, verbose=0)) == set(history)


@pytest.mark.parametrize("compiled", [False, True])
def test_a_last_batch_that_is_smaller_counts_by_its_size(compiled):
    model = linear(run_eagerly=not compiled)
    loss = model.evaluate(X, Y, batch_size=8, verbose=0)  # 8, 8 and 4
    np.testing.assert_allclose(
        loss, np.mean((model.predict(X, batch_size=7, verbose=0) - Y) ** 2), rtol=1e-5
    )


def test_a_part_of_the_data_validates():
    model = linear()
    history = model.fit(
        X, Y, batch_size=4, epochs=2, validation_split=0.25, validation_freq=2, verbose=0
    ).history
    assert [len(history[name]) for name in ("loss", "val_loss")] == [2, 1]
    predicted = model.predict(X[15:], verbose=0)
    np.testing.assert_allclose(
        history["val_loss"][0], np.mean((predicted - Y[15:]) ** 2), rtol=1e-5
    )


def test_no_samples():
    model = linear()
    assert model(np.zeros((0, 3), "float32")).shape == (0, 1)
    assert model.predict_on_batch(np.zeros((0, 3), "float32")).shape == (0, 1)


def test_data_that_is_changed_after_it_was_given():
    """A dataset may fill one buffer again and again: a step has its own copy,
    also if it runs while the next one is filled.
    """
    x, y = np.empty((4, 3), "float32"), np.empty((4, 1), "float32")

    class Reusing(Pieces):
        def __getitem__(self, index):
            x[:], y[:] = super().__getitem__(index)
            return x, y

    model = linear(run_eagerly=False)
    model.fit(Reusing(), epochs=2, shuffle=False, verbose=0)
    assert_trained(model, by_hand())


def test_callbacks_see_every_batch_with_numbers():
    seen = []
    callback = keras.callbacks.LambdaCallback(
        on_train_batch_begin=lambda batch, logs: seen.append(("begin", batch)),
        on_train_batch_end=lambda batch, logs: seen.append(("end", batch, type(logs["loss"]))),
    )
    linear(run_eagerly=False).fit(X, Y, batch_size=10, verbose=0, callbacks=[callback])
    assert seen == [("begin", 0), ("end", 0, float), ("begin", 1), ("end", 1, float)]


def test_a_callback_written_for_batches_of_any_kind():
    class Counting(keras.callbacks.Callback):
        ended = 0

        def on_batch_end(self, batch, logs=None):
            self.ended += 1

    callback = Counting()
    linear().fit(X, Y, batch_size=5, verbose=0, callbacks=[callback])
    assert callback.ended == 4


def test_training_stops_early_and_gives_the_best_weights_back():
    model = linear(rate=3.0)  # it diverges, so that the first epoch is the best
    stop = keras.callbacks.EarlyStopping(monitor="loss", patience=2, restore_best_weights=True)
    after_first = []
    keep = keras.callbacks.LambdaCallback(
        on_epoch_end=lambda epoch, logs: after_first.append(model.get_weights())
    )
    history = model.fit(X, Y, epochs=9, verbose=0, callbacks=[keep, stop])
    assert len(history.history["loss"]) == 3
    np.testing.assert_array_equal(model.get_weights()[0], after_first[0][0])


def test_rates_fall_on_plateaus_and_by_schedule():
    model = linear(rate=3.0)
    plateau = keras.callbacks.ReduceLROnPlateau(monitor="loss", factor=0.5, patience=1)
    rates = model.fit(X, Y, epochs=3, verbose=0, callbacks=[plateau]).history["learning_rate"]
    assert rates[-1] < rates[0]
    model = linear()
    model.fit(
        X,
        Y,
        epochs=2,
        verbose=0,
        callbacks=[keras.callbacks.LearningRateScheduler(lambda epoch: 0.5 / (1 + epoch))],
    )
    assert float(model.optimizer.learning_rate) == 0.25


@pytest.mark.parametrize("compiled", [False, True])
def test_nan_ends_training(compiled):
    model = linear(run_eagerly=not compiled)
    spoilt = X.copy()
    spoilt[6] = np.nan
    logs = model.fit(
        spoilt,
        Y,
        batch_size=4,
        shuffle=False,
        epochs=3,
        verbose=0,
        callbacks=[keras.callbacks.TerminateOnNaN()],
    )
    (loss,) = logs.history["loss"]
    assert math.isnan(loss)


class Logarithm(layers.Layer):
    def call(self, x):
        return tf.math.log(x)  # the layer's op


@pytest.mark.parametrize("optimizer", ["sgd", "adam"])
def test_check_numerics_ends_training_before_the_step_is_made(optimizer):
    """The third of five batches is refused: the model is as it was after the second."""
    spoilt = np.abs(X) + 1
    spoilt[9] = 0

    def model():
        keras.utils.set_random_seed(6)
        made = keras.Sequential(
            [keras.Input((3,)), Logarithm(), layers.Dense(4, "tanh"), layers.Dense(1)]
        )
        made.compile(optimizer, "mse")
        return made

    def state(made):
        return [variable.numpy() for variable in (*made.variables, *made.optimizer.variables)]

    expected, found = model(), model()
    expected.fit(spoilt[:8], Y[:8], batch_size=4, shuffle=False, verbose=0)
    tf.debugging.enable_check_numerics()
    try:
        with pytest.raises(
            tf.errors.InvalidArgumentError,
            match=r"log\(float32\[4, 3\]\): the result has Inf values",
        ) as raised:
            found.fit(spoilt, Y, batch_size=4, shuffle=False, verbose=0)
    finally:
        tf.debugging.disable_check_numerics()
    line = inspect.getsourcelines(Logarithm.call)[1] + 1
    assert f"{__file__}:{line}, in Logarithm.call" in str(raised.value)
    for ours, theirs in zip(state(found), state(expected), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-6)
    found.fit(spoilt[:8], Y[:8], batch_size=4, shuffle=False, verbose=0)
    expected.fit(spoilt[:8], Y[:8], batch_size=4, shuffle=False, verbose=0)
    for ours, theirs in zip(state(found), state(expected), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-6)


def test_check_numerics_names_the_gradient_in_a_training_step():
    class Root(layers.Layer):
        def call(self, x):
            return tf.sqrt(x * 0.0)

    model = keras.Sequential([keras.Input((3,)), layers.Dense(2), Root(), layers.Dense(1)])
    model.compile("sgd", "mse")
    before = model.get_weights()
    tf.debugging.enable_check_numerics()
    try:
        with pytest.raises(
            tf.errors.InvalidArgumentError,
            match=r"The gradient of sqrt by its argument 0 has (NaN|Inf|NaN and Inf) values",
        ):
            model.fit(X, Y, verbose=0)
    finally:
        tf.debugging.disable_check_numerics()
    for ours, theirs in zip(model.get_weights(), before, strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_logs_in_a_table(tmp_path):
    linear().fit(
        X, Y, epochs=2, verbose=0, callbacks=[keras.callbacks.CSVLogger(tmp_path / "log.csv")]
    )
    with (tmp_path / "log.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [row["epoch"] for row in rows] == ["0", "1"]
    assert float(rows[1]["loss"]) < float(rows[0]["loss"])


def test_checkpoints_hold_the_best_model(tmp_path):
    model, path = linear(), tmp_path / "best.keras"
    model.fit(
        X,
        Y,
        epochs=2,
        verbose=0,
        callbacks=[keras.callbacks.ModelCheckpoint(path, monitor="loss", save_best_only=True)],
    )
    np.testing.assert_array_equal(
        keras.models.load_model(path).get_weights()[0], model.get_weights()[0]
    )


def test_training_that_broke_off_goes_on_to_the_same_numbers(tmp_path):
    def trained(*callbacks):
        keras.utils.set_random_seed(6)
        model = keras.Sequential([keras.Input((3,)), layers.Dense(1)])
        model.compile("adam", "mse", run_eagerly=True)
        model.fit(X, Y, epochs=4, shuffle=False, verbose=0, callbacks=list(callbacks))
        return model.get_weights()

    class Breaking(keras.callbacks.Callback):
        def on_epoch_end(self, epoch, logs=None):
            if epoch == 1:
                raise InterruptedError

    backup = keras.callbacks.BackupAndRestore(tmp_path / "backup")
    with pytest.raises(InterruptedError):
        trained(backup, Breaking())
    for a, b in zip(
        trained(keras.callbacks.BackupAndRestore(tmp_path / "backup")), trained(), strict=True
    ):
        np.testing.assert_allclose(a, b, rtol=1e-6)


def test_a_bar_shows_progress(capsys):
    linear().fit(X, Y, batch_size=4, epochs=2, verbose=1)
    shown = capsys.readouterr().out
    assert all(text in shown for text in ("Epoch 2/2", "5/5", "loss:"))
    linear().fit(X, Y, batch_size=4, verbose=2)
    assert "5/5 - " in capsys.readouterr().out


def test_what_predict_tells_callbacks():
    shapes = []
    callback = keras.callbacks.LambdaCallback()
    callback.on_predict_batch_end = lambda batch, logs: shapes.append(logs["outputs"].shape)
    linear().predict(X, batch_size=8, verbose=0, callbacks=[callback])
    assert shapes == [(8, 1), (8, 1), (4, 1)]


# Batches of many shapes


def batches_of_all_lengths(count):
    rng = np.random.default_rng(0)
    for length in range(3, 3 + count):
        size = 4 + length % 3
        words = rng.integers(1, 20, (size, length)).astype(np.int32)
        yield words, rng.integers(0, 2, size).astype(np.float32)


def trained_on_all_lengths(**options):
    keras.utils.set_random_seed(0)
    model = keras.Sequential(
        [
            layers.Embedding(20, 8),
            layers.LSTM(6, return_sequences=True),
            layers.Conv1D(4, 3, padding="same", activation="relu"),
            layers.BatchNormalization(),
            layers.GlobalAveragePooling1D(),
            layers.Dense(1),
        ]
    )
    model.build((None, None))
    loss = keras.losses.BinaryCrossentropy(from_logits=True)
    model.compile("adam", loss, metrics=["accuracy"], **options)
    logs = model.fit(batches_of_all_lengths(12), steps_per_epoch=12, verbose=0, shuffle=False)
    predicted = [model.predict(x, batch_size=3, verbose=0) for x, _ in batches_of_all_lengths(7)]
    return [*model.get_weights(), *predicted, np.array(list(logs.history.values()))]


def test_batches_of_many_shapes_train_as_in_eager_code():
    for a, b in zip(
        trained_on_all_lengths(), trained_on_all_lengths(run_eagerly=True), strict=True
    ):
        np.testing.assert_allclose(a, b, rtol=2e-3, atol=2e-4)


def test_many_predictions_of_other_lengths_are_as_in_eager_code():
    model = keras.Sequential([layers.Dense(4, activation="tanh"), layers.LayerNormalization()])
    model.build((None, None, 5))
    for length in range(1, 12):
        x = np.random.default_rng(length).normal(size=(3, length, 5)).astype(np.float32)
        expected = model(x).numpy()
        for _ in range(2):
            np.testing.assert_allclose(model.predict(x, verbose=0), expected, rtol=1e-4, atol=1e-5)
