"""`tf.train.Checkpoint.restore` before Keras has made its variables: training goes on as if it had
never been interrupted.
"""

import gc
import itertools

import numpy as np
import pytest

import gradtape as tf
import gradtape.train
import keras
from keras import layers

RNG = np.random.default_rng(0)
X = RNG.normal(size=(6, 8, 3)).astype("float32")
Y = RNG.normal(size=(6, 8, 1)).astype("float32")


class Subclassed(keras.Model):
    def __init__(self):
        super().__init__()
        self.l1 = layers.Dense(4, activation="relu")
        self.blocks = [layers.Dense(4), layers.BatchNormalization()]
        self._hidden = [layers.Dense(4), layers.Dropout(0.2)]  # known by their paths alone
        self.dropout = layers.Dropout(0.2)
        self.l2 = layers.Dense(1)

    def call(self, x, training=False):
        x = self.dropout(self.l1(x), training=training)
        for layer in self.blocks + self._hidden:
            x = layer(x, training=training) if isinstance(layer, layers.Dropout) else layer(x)
        return self.l2(x)


class MakesLayers(layers.Layer):
    def build(self, shape):
        self.inner = layers.Dense(4)
        self.attention = layers.MultiHeadAttention(2, 3, dropout=0.1)
        self.scale = self.add_weight(shape=(4,))

    def call(self, x, training=False):
        y = self.inner(x) * self.scale
        pair = tf.stack([y, -y], axis=1)
        return y + self.attention(pair, pair, training=training)[:, 0]


class OfLayersThatMakeLayers(keras.Model):
    def __init__(self):
        super().__init__()
        self.one, self.two, self.out = MakesLayers(), MakesLayers(), layers.Dense(1)
        self._dropout = [layers.Dropout(0.1)]

    def call(self, x, training=False):
        x = self._dropout[0](self.one(x, training=training), training=training)
        return self.out(self.two(x, training=training))


class Recurrent(keras.Model):
    def __init__(self):
        super().__init__()
        self.rnn = layers.GRU(4, dropout=0.1, recurrent_dropout=0.1)
        self.both = layers.Bidirectional(layers.LSTM(2, return_sequences=True))
        self.each = layers.TimeDistributed(layers.Dense(3))
        self.out = layers.Dense(1)

    def call(self, x, training=False):
        x = self.each(self.both(x[:, None]))
        return self.out(self.rnn(x, training=training))


class BuiltOneByOne(keras.Model):
    """Keras cannot find out its shapes: each layer is built when it is called."""

    def __init__(self):
        super().__init__()
        self.first = layers.Dense(4)
        self.dropout = layers.Dropout(0.2)
        self._hidden = [layers.Dense(4), layers.Dense(1)]

    def call(self, x, training=False):
        x = self.dropout(self.first(x), training=training)
        if float(tf.reduce_sum(x)) > 1e9:
            return x
        for layer in self._hidden:
            x = layer(x)
        return x


def sequential():
    return keras.Sequential(
        [
            layers.Dense(4),
            layers.Dropout(0.1),
            layers.Dense(4),
            layers.Dropout(0.2),
            layers.Dense(1),
        ]
    )


def nested():
    return keras.Sequential([sequential(), layers.Dropout(0.2), Subclassed()])


def functional():
    inputs = keras.Input((3,))
    return keras.Model(inputs, layers.Dense(1)(layers.Dense(4)(inputs)))


MODELS = [
    Subclassed,
    OfLayersThatMakeLayers,
    Recurrent,
    sequential,
    nested,
    functional,
    BuiltOneByOne,
]
OPTIMIZERS = {
    "momentum": lambda: keras.optimizers.SGD(0.05, momentum=0.9),
    "Adam": lambda: keras.optimizers.Adam(0.05),
}
WAYS = ["eager", "function", "fit"]
CASES = [
    case
    for case in itertools.product(MODELS, OPTIMIZERS, WAYS)
    if case[0] is not BuiltOneByOne or case[2] == "eager"
]


def trained(model, optimizer, way, batches):
    """The losses of one step for each batch."""
    if way == "fit":
        if not model.compiled:
            model.compile(optimizer, "mse")
        return [
            model.fit(X[n], Y[n], batch_size=8, shuffle=False, verbose=0).history["loss"][0]
            for n in batches
        ]

    def step(x, y):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((model(x, training=True) - y) ** 2)
        variables = model.trainable_variables
        optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables, strict=True))
        return loss

    run = tf.function(step) if way == "function" else step
    return [float(run(tf.constant(X[n]), tf.constant(Y[n]))) for n in batches]


@pytest.mark.sampled(5)
@pytest.mark.parametrize(("make", "optimizer", "way"), CASES)
@pytest.mark.parametrize("root", [False, True])
def test_training_goes_on(tmp_path, make, optimizer, way, root):
    def program():
        model, made = make(), OPTIMIZERS[optimizer]()
        if root:
            return model, made, tf.train.Checkpoint(model, optimizer=made)
        return model, made, tf.train.Checkpoint(model=model, optimizer=made)

    model, made, checkpoint = program()
    trained(model, made, way, range(2))
    path = checkpoint.save(tmp_path / "ckpt")
    expected = trained(model, made, way, range(2, 4))

    model, made, checkpoint = program()  # its layers have other numbers
    status = checkpoint.restore(path)
    status.assert_existing_objects_matched()
    with pytest.raises(AssertionError, match="Values in the file without a Variable"):
        status.assert_consumed()
    np.testing.assert_allclose(trained(model, made, way, range(2, 4)), expected, rtol=1e-5)
    status.assert_consumed()


def test_an_optimizer_that_the_model_is_compiled_with_after_restore(tmp_path):
    def program():
        model = Subclassed()
        return model, tf.train.Checkpoint(model=model)

    model, checkpoint = program()
    trained(model, keras.optimizers.Adam(0.05), "fit", range(2))
    path = checkpoint.save(tmp_path / "ckpt")
    expected = trained(model, None, "fit", range(2, 4))
    model, checkpoint = program()
    status = checkpoint.restore(path)
    got = trained(model, keras.optimizers.Adam(0.05), "fit", range(2, 4))
    np.testing.assert_allclose(got, expected, rtol=1e-5)
    status.assert_consumed()


def test_a_layer_of_another_shape_is_refused_when_it_is_built(tmp_path):
    def program(units):
        return tf.train.Checkpoint(model=keras.Sequential([layers.Dense(units)]))

    saved, other = program(3), program(4)
    saved.model(X[0])
    other.restore(saved.write(tmp_path / "ckpt"))
    with pytest.raises(ValueError, match=r"has shape \(\d.*create the variable"):
        other.model(X[0])


class Growing(keras.Model):
    """Its layers have no attributes of their own, and one is made after the other."""

    def __init__(self):
        super().__init__()
        self._hidden = []

    def grow(self):
        self._hidden.append(layers.Dense(3))
        self._hidden[-1].build((None, 3))


def test_what_has_changed_since_restore_is_left_alone(tmp_path):
    saved, model = Growing(), Growing()
    saved.grow()
    saved.grow()
    path = tf.train.Checkpoint(model=saved).write(tmp_path / "ckpt")
    status = tf.train.Checkpoint(model=model).restore(path)
    model.grow()  # which of the two it is, is not known before there are two
    first = model._hidden[0]
    assert not np.array_equal(first.kernel, saved._hidden[0].kernel)
    first.bias.assign([5.0, 6.0, 7.0])
    model.grow()
    for mine, other in zip(model._hidden, saved._hidden, strict=True):
        np.testing.assert_array_equal(mine.kernel, other.kernel)
    assert first.bias.numpy().tolist() == [5.0, 6.0, 7.0]
    with pytest.raises(AssertionError, match="bias"):
        status.assert_consumed()


def test_the_later_of_two_restores_is_that_which_counts(tmp_path):
    def program():
        return tf.train.Checkpoint(model=sequential())

    saved = program()
    saved.model(X[0])
    first = saved.write(tmp_path / "first")
    for variable in saved.model.trainable_variables:
        variable.assign(variable + 1.0)
    second = saved.write(tmp_path / "second")
    late = program()
    late.restore(first).expect_partial()
    late.restore(second)
    np.testing.assert_array_equal(late.model(X[0]), saved.model(X[0]))


@pytest.mark.parametrize("expected", [False, True])
def test_values_that_nothing_received_are_named_at_the_end(tmp_path, caplog, expected):
    model = sequential()
    model(X[0])
    path = tf.train.Checkpoint(model=model, step=tf.Variable(1)).write(tmp_path / "ckpt")

    def program():
        status = tf.train.Checkpoint(model=sequential()).restore(path)
        if expected:
            status.expect_partial()

    program()
    gc.collect()
    said = [r.getMessage() for r in caplog.records if str(tmp_path) in r.getMessage()]
    assert len(said) == (not expected)
    assert expected or ("step" in said[0] and "kernel" in said[0])
