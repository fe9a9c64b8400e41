"""Models over several devices, which XLA makes of the CPU: what they compute is what one device
computes, also where the last batch has fewer rows than there are devices.
"""

import numpy as np
import pytest

from tests.many_devices import COMPILED, run

MODELS = (
    COMPILED
    + """
import keras
from keras import distribution, layers

random = np.random.default_rng(0)


def chosen(name):
    if name == "alone":
        return None
    if name == "copies":
        return distribution.DataParallel()
    mesh = distribution.DeviceMesh((4, 2), ["batch", "model"], distribution.list_devices("cpu"))
    layout = distribution.LayoutMap(mesh)
    layout[".*first.*kernel"] = (None, "model")
    layout[".*first.*embeddings"] = (None, "model")
    layout[".*images.*kernel"] = (None, None, None, "model")
    return distribution.ModelParallel(layout_map=layout, batch_dim_name="batch")


def on_all(run, names=("alone", "copies", "shards")):
    results = []
    for name in names:
        distribution.set_distribution(chosen(name))
        try:
            keras.utils.set_random_seed(0)
            results.append(run())
        finally:
            distribution.set_distribution(None)
    return results


def dense(policy="float32", optimizer="adam"):
    keras.mixed_precision.set_dtype_policy(policy)
    try:
        model = keras.Sequential([
            keras.Input((8,)),
            layers.Dense(16, activation="relu", name="first"),
            layers.Dropout(0.3),
            layers.BatchNormalization(),
            layers.Dense(1),
        ])
    finally:
        keras.mixed_precision.set_dtype_policy("float32")
    model.compile(optimizer, "mse", metrics=["mae"])
    return model


def weights(model):
    return [w.ravel().tolist() for w in model.get_weights()]


x = random.normal(size=(45, 8)).astype("float32")  # the last batch has 13 rows
y = x.sum(axis=1, keepdims=True)
"""
)

UNEVEN = (
    MODELS
    + """
def run():
    model = dense()
    compiled.clear()
    history = model.fit(
        x, y, epochs=2, batch_size=16, shuffle=False, verbose=0, validation_data=(x[:21], y[:21])
    ).history
    steps = [
        len(f._concrete) for f in model.train_function.step._functions.values()
    ]
    kernel = model.layers[0].kernel.__gradtape_variable__.held
    return {
        "history": history,
        "weights": weights(model),
        "evaluated": model.evaluate(x[:43], y[:43], batch_size=16, verbose=0),
        "predicted": model.predict(x[:43], batch_size=16, verbose=0).tolist(),
        "parts": [list(shard.data.shape) for shard in kernel.addressable_shards],
        "programs": steps,
        "compiled": len(compiled),
    }


found["models"] = on_all(run)
"""
)


@pytest.fixture(scope="module")
def uneven():
    return run(UNEVEN)["models"]


def close(found, expected, rtol=1e-5, atol=1e-6):
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=rtol, atol=atol)


@pytest.mark.parametrize("number", [1, 2], ids=["DataParallel", "ModelParallel"])
def test_rows_that_do_not_divide_count_once(uneven, number):
    alone, spread = uneven[0], uneven[number]
    for name, values in alone["history"].items():
        close(spread["history"][name], values)
    close(spread["weights"], alone["weights"])
    close(spread["evaluated"], alone["evaluated"])
    close(spread["predicted"], alone["predicted"])


def test_variables_are_divided_as_the_layouts_say(uneven):
    assert [model["parts"] for model in uneven] == [[[8, 16]], [[8, 16]] * 8, [[8, 8]] * 8]


def test_steps_are_compiled_once_for_each_shape(uneven):
    # Two shapes for training, two for validation, another one for `evaluate`, two for `predict`.
    assert [model["programs"] for model in uneven] == [[2]] * 3
    assert [model["compiled"] for model in uneven] == [7] * 3


PRECISION = (
    MODELS
    + """
def run():
    found = []
    for policy in ("mixed_float16", "mixed_bfloat16"):
        model = dense(policy, keras.optimizers.SGD(0.05))
        losses = model.fit(x, y, epochs=3, batch_size=16, shuffle=False, verbose=0).history["loss"]
        evaluated = model.evaluate(x, y, batch_size=16, verbose=0)
        predicted = model.predict(x, batch_size=16, verbose=0)
        found.append([losses, evaluated, predicted.astype("float32").ravel().tolist()])
    return found


found["models"] = on_all(run)
"""
)


@pytest.mark.slow
def test_mixed_precision_on_many_devices():
    alone, *others = run(PRECISION)["models"]
    for spread in others:
        for policy, expected in zip(spread, alone, strict=True):
            close(policy, expected, rtol=0.03, atol=0.03)


KINDS = (
    MODELS
    + """
images = random.normal(size=(27, 8, 8, 3)).astype("float32")
words = random.integers(0, 20, size=(27, 6))
classes = random.integers(0, 3, size=27)
importance = random.uniform(0.5, 2, size=27).astype("float32")


class Own(keras.Model):
    def __init__(self):
        super().__init__()
        self.first = layers.Dense(6, name="first", activity_regularizer="l2")
        self.last = layers.Dense(3)

    def call(self, x):
        hidden = self.first(keras.ops.reshape(x, (-1, 192)))
        self.add_loss(keras.ops.mean(hidden))
        return self.last(hidden)

    def train_step(self, data):
        x, y, weight = keras.utils.unpack_x_y_sample_weight(data)
        with tf.GradientTape() as tape:
            predicted = self(x, training=True)
            loss = self.compute_loss(x, y, predicted, weight)
        self.optimizer.apply(tape.gradient(loss, self.trainable_weights), self.trainable_weights)
        return self.compute_metrics(x, y, predicted, weight)


def convolution():
    return images, keras.Sequential([
        layers.Conv2D(4, 3, padding="same", activation="relu", name="images"),
        layers.BatchNormalization(), layers.MaxPooling2D(), layers.Flatten(), layers.Dense(3),
    ])


def recurrent():
    return words, keras.Sequential([
        layers.Embedding(20, 8, mask_zero=True, name="first"), layers.LSTM(6), layers.Dense(3),
    ])


def attention():
    entry = keras.Input((6,), dtype="int32")
    hidden = layers.Embedding(20, 8, name="first")(entry)
    hidden = layers.MultiHeadAttention(2, 4)(hidden, hidden)
    hidden = layers.LayerNormalization()(hidden)
    return words, keras.Model(entry, layers.Dense(3)(layers.GlobalAveragePooling1D()(hidden)))


def own():
    return images, Own()


def trained(make, how):
    def run():
        data, model = make()
        model.compile(
            "adam",
            keras.losses.SparseCategoricalCrossentropy(from_logits=True),
            weighted_metrics=["accuracy"],
        )
        history = model.fit(
            data, classes, batch_size=10, epochs=2, shuffle=False, verbose=0, **how
        ).history
        evaluated = model.evaluate(data, classes, batch_size=10, verbose=0)
        return [
            *history.values(), evaluated, *weights(model),
            model.predict(data, batch_size=10, verbose=0).ravel().tolist(),
        ]

    return run


weighted = {"sample_weight": importance}
by_class = {"class_weight": {0: 1.0, 1: 2.0, 2: 0.5}}
for make, how in (
    (convolution, weighted), (recurrent, by_class), (attention, weighted), (own, weighted),
):
    found[make.__name__] = on_all(trained(make, how))
"""
)


@pytest.fixture(scope="module")
def kinds():
    return run(KINDS, timeout=600)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["convolution", "recurrent", "attention", "own"])
def test_layers_of_all_kinds_on_many_devices(kinds, kind):
    alone, *others = kinds[kind]
    for spread in others:
        close(spread, alone, rtol=1e-4, atol=1e-5)


LONG = (
    MODELS
    + """
def run():
    model = dense(optimizer=keras.optimizers.SGD(0.01))
    history = model.fit(x, y, epochs=17, batch_size=16, verbose=0).history  # 51 steps
    return [*history.values(), *weights(model)]


found["models"] = on_all(run)
"""
)


@pytest.mark.slow
def test_fifty_steps_with_dropout_and_normalization():
    alone, *others = run(LONG)["models"]
    for spread in others:
        close(spread, alone, rtol=1e-5, atol=1e-5)


CUSTOM = (
    MODELS
    + """
def run():
    model, optimizer = dense(), keras.optimizers.SGD(0.01)

    @tf.function
    def step(x, y):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((model(x, training=True) - y) ** 2)
        weights = model.trainable_weights
        optimizer.apply(tape.gradient(loss, weights), weights)
        return loss

    compiled.clear()
    losses = [float(step(tf.constant(x[i:i + 16]), tf.constant(y[i:i + 16])))
              for _ in range(17) for i in (0, 16, 32)]
    return losses, weights(model), len(compiled)


found["models"] = on_all(run)
"""
)


def test_a_loop_of_ones_own_on_host_batches():
    alone, *others = run(CUSTOM)["models"]
    assert alone[2] == 2
    for spread in others:
        close([spread[0]], [alone[0]], atol=1e-5)
        close(spread[1], alone[1], atol=1e-5)
        assert spread[2] == 2  # a full batch, and the last one
