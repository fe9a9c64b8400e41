"""`ExplainNonFinite`: in `fit`, the op, its line and its layer, and nothing changed."""

import math
import subprocess
import sys

import numpy as np
import pytest

import gradtape as tf
from gradtape import keras
from tests.inspect.test_every_op import marked_line


def data(rows=32, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(rows, 4)).astype("float32")
    return x, np.eye(3, dtype="float32")[rng.integers(0, 3, rows)]


def log_loss(y, p):
    return -tf.reduce_mean(tf.math.log(tf.reduce_sum(p * y, -1)))  # here


def classifier(loss=log_loss, rate=50.0, built=True, **options):
    keras.utils.set_random_seed(1)
    model = keras.Sequential([
        *([keras.Input([4])] if built else []),
        keras.layers.Dense(8, activation="relu"),
        keras.layers.Dropout(0.3),
        keras.layers.Dense(3, activation="softmax"),
    ])  # fmt: skip
    model.compile(keras.optimizers.Adam(rate), loss=loss, metrics=["accuracy"], **options)
    return model


def state_of(model):
    variables = [*model.variables, *model.optimizer.variables, *model.metrics_variables]
    return [np.array(v) for v in variables]


OPTIONS = [{}, {"run_eagerly": True}, {"steps_per_execution": 2}]


@pytest.mark.parametrize("options", OPTIONS, ids=["compiled", "eager", "two steps"])
def test_the_op_and_the_line(options, capsys):
    model, watcher = classifier(**options), tf.callbacks.ExplainNonFinite()
    x, y = data()
    history = model.fit(x * 20, y, epochs=9, batch_size=8, verbose=0, callbacks=[watcher])
    why = watcher.found
    assert (why.op, why.phase, why.location.file) == ("log", "forward", __file__)
    assert why.location.line == marked_line(log_loss)
    assert why.layer is None  # it is in the loss
    assert not math.isfinite(history.history["loss"][-1])
    assert len(history.epoch) < 9
    printed = capsys.readouterr().out
    assert "the loss is" in printed
    assert str(why) in printed
    assert model.batches_now == ()


@pytest.mark.parametrize("built", [True, False])
def test_everything_is_as_without_it(built):
    states, losses = [], []
    for callbacks in ([], [tf.callbacks.ExplainNonFinite(stop=False, report=lambda found: None)]):
        model = classifier(built=built)
        x, y = data()
        losses.append(
            model.fit(x * 20, y, epochs=3, batch_size=8, verbose=0, callbacks=callbacks).history
        )
        states.append([*state_of(model), keras.random.normal([3]), tf.random.normal([3])])
    np.testing.assert_equal(losses[0], losses[1])
    assert not math.isfinite(losses[0]["loss"][-1])
    for plain, watched in zip(*(s[:-1] for s in states), strict=True):
        np.testing.assert_array_equal(plain, watched)
    assert callbacks[0].found


class Root(keras.layers.Layer):
    def call(self, x):
        return tf.sqrt(tf.square(x))


def test_a_gradient_is_found_at_the_step_that_made_it():
    """The loss of that step is finite; its gradient spoils the weights of the next one."""
    keras.utils.set_random_seed(1)
    model = keras.Sequential([keras.Input([4]), keras.layers.Dense(6), Root(name="root")])
    model.compile("sgd", "mse")
    watcher = tf.callbacks.ExplainNonFinite(report=lambda found: None)
    x, _ = data()
    x[3] = 0.0
    model.layers[0].bias.assign(np.zeros(6))
    model.fit(x, np.ones([32, 6]), epochs=2, batch_size=8, verbose=0, callbacks=[watcher])
    why = watcher.found
    assert (why.op, why.phase) == ("sqrt", "backward")
    assert why.layer.endswith("root")
    assert why.location.function == "Root.call"
    assert f"In the Keras layer {why.layer}." in str(why)
    assert "call" not in model.layers[1].__dict__


def test_a_batch_that_is_not_finite():
    model = classifier(loss="categorical_crossentropy", rate=0.01)
    x, y = data()
    x[20, 2] = np.nan
    watcher = tf.callbacks.ExplainNonFinite(report=lambda found: None)
    model.fit(x, y, batch_size=8, shuffle=False, verbose=0, callbacks=[watcher])
    why = watcher.found
    assert (why.kind, why.op, why.index) == ("source", "tensor 0 of the batch", (4, 2))


def test_random_numbers_of_layers_are_those_of_the_step():
    """Only what the layer drew in that step leads to the error."""
    drawn = []

    class Noise(keras.layers.Layer):
        def call(self, x):
            noise = tf.random.uniform([])
            tf.py_function(lambda n: drawn.append(float(n)), [noise], [])
            return tf.math.log(x * 0.0 + noise - 0.6)

    tf.random.set_seed(5)
    model = keras.Sequential([keras.Input([1]), keras.layers.Dense(1), Noise()])
    model.compile(loss="mse", run_eagerly=False)
    watcher = tf.callbacks.ExplainNonFinite(report=lambda found: None)
    ones = np.ones([64, 1])
    model.fit(ones, ones, batch_size=1, verbose=0, callbacks=[watcher])
    assert watcher.found.op == "log"
    assert drawn[-1] == drawn[-2] < 0.6
    assert min(drawn[:-2], default=1.0) > 0.6


COUNT = tf.Variable(0.0, trainable=False, name="count")
OUTSIDE = keras.metrics.Mean(name="outside")
SEEDS = keras.random.SeedGenerator(3)


class Counting(keras.Model):
    """Its step assigns Variables that are not the model's; at the third, the loss turns."""

    def __init__(self, key="loss"):
        super().__init__()
        self.dense = keras.layers.Dense(1)
        self.key = key

    def call(self, x):
        return self.dense(x)

    def train_step(self, data):
        x, _ = data
        COUNT.assign_add(1.0)
        noise = keras.random.normal([1], seed=SEEDS)
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.math.log(self(x) * 0.0 + 3.0 - COUNT)) + 0.0 * noise[0]
        OUTSIDE.update_state(COUNT)
        weights = self.trainable_weights
        self.optimizer.apply(tape.gradient(loss, weights), weights)
        return {self.key: loss}


ALL_OPTIONS = [
    {},
    {"run_eagerly": True},
    {"jit_compile": True},
    {"steps_per_execution": 2},
    {"steps_per_execution": 3, "run_eagerly": True},
]


@pytest.mark.parametrize("options", ALL_OPTIONS, ids=str)
def test_variables_that_are_not_the_model_s_are_as_without_it(options):
    states = []
    for callbacks in ([], [tf.callbacks.ExplainNonFinite(stop=False, report=lambda found: None)]):
        keras.utils.set_random_seed(1)
        COUNT.assign(0.0)
        OUTSIDE.reset_state()
        SEEDS.state.assign([3, 0])
        model = Counting()
        model.compile("sgd", **options)
        x, _ = data(24)
        model.fit(x, x, batch_size=4, verbose=0, shuffle=False, callbacks=callbacks)
        states.append([
            COUNT.numpy(), OUTSIDE.result().numpy(), np.array(SEEDS.state), *state_of(model),
        ])  # fmt: skip
    for plain, watched in zip(*states, strict=True):
        np.testing.assert_array_equal(plain, watched)
    found = callbacks[0].found
    assert found.op == "log"
    knows = not options.get("run_eagerly")  # a program shows what it writes
    assert any("'count" in note for note in found.notes) != knows
    if knows:  # the step that turned it, not what a step after it would do
        assert found.value == -math.inf


@pytest.mark.parametrize("key", ["loss", "my_loss", "objective"])
def test_losses_by_other_names(key, capsys):
    COUNT.assign(0.0)
    model, watcher = Counting(key), tf.callbacks.ExplainNonFinite()
    model.compile("sgd")
    x, _ = data(24)
    model.fit(x, x, batch_size=4, verbose=0, callbacks=[watcher])
    assert watcher.found.op == "log"
    assert f"the {key} is -inf" in capsys.readouterr().out


class Penalty(keras.layers.Layer):
    def call(self, x):
        self.add_loss(tf.math.log(tf.reduce_min(tf.square(x)) * 0.0))
        return x


@pytest.mark.parametrize("options", ALL_OPTIONS, ids=str)
def test_a_loss_that_a_layer_adds(options):
    model = keras.Sequential([keras.Input([4]), keras.layers.Dense(3), Penalty(name="penalty")])
    model.compile("sgd", "mse", **options)
    watcher = tf.callbacks.ExplainNonFinite(report=lambda found: None)
    model.fit(*data(), batch_size=8, verbose=0, callbacks=[watcher])
    assert watcher.found.op == "log"
    assert watcher.found.layer.endswith("penalty")
    assert len(model.losses) == 1


@pytest.mark.parametrize(
    ("structure", "options"), [(list, {}), *((dict, options) for options in ALL_OPTIONS)], ids=str
)
def test_a_model_with_several_outputs(structure, options):
    x, y = data()
    entry = keras.Input([4])
    ends = {name: keras.layers.Dense(3, name=name)(entry) for name in ("first", "second")}
    losses = {"first": "mse", "second": lambda y, p: tf.math.log(p * 0.0 - y - 1.0)}
    targets = {"first": y, "second": y}
    if structure is list:
        ends, losses, targets = (list(part.values()) for part in (ends, losses, targets))
    model = keras.Model(entry, ends)
    model.compile("sgd", losses, **options)
    watcher = tf.callbacks.ExplainNonFinite(report=lambda found: None)
    model.fit(x, targets, batch_size=8, verbose=0, callbacks=[watcher])
    why = watcher.found
    assert (why.op, why.location.file) == ("log", __file__)


def test_validation_is_no_training_step():
    model = classifier(loss="categorical_crossentropy", rate=0.01)
    watcher = tf.callbacks.ExplainNonFinite()
    x, y = data()
    history = model.fit(
        x, y, epochs=2, verbose=0, callbacks=[watcher], validation_data=(x * np.nan, y)
    ).history
    assert np.isnan(history["val_loss"]).all()
    assert watcher.found is None
    model.evaluate(x * np.nan, y, verbose=0, callbacks=[watcher])
    assert watcher.found is None


@pytest.mark.parametrize("steps", [1, 2, 4])
def test_the_batch_of_an_execution(steps):
    model = classifier(loss="categorical_crossentropy", rate=0.01, steps_per_execution=steps)
    x, y = data()
    x[20, 2] = np.nan
    watcher = tf.callbacks.ExplainNonFinite(report=lambda found: None)
    model.fit(x, y, batch_size=8, shuffle=False, verbose=0, callbacks=[watcher])
    why = watcher.found
    name = "the batch" if steps == 1 else "batch 2"  # as `fit` counts them
    assert why.location is None
    assert (why.kind, why.op, why.index) == ("source", f"tensor 0 of {name}", (4, 2))


class Once(keras.layers.Layer):
    """Depends on a Python object, which no replay can set back."""

    failing = False

    def call(self, x):
        if not tf.executing_eagerly():
            return tf.math.log(x * 0.0)
        if self.failing:
            raise ArithmeticError("not again")
        return x


@pytest.mark.parametrize(
    ("failing", "says"), [(True, "failed with ArithmeticError"), (False, "is finite")]
)
def test_a_step_that_does_not_run_again_as_it_did(failing, says):
    model = keras.Sequential([keras.Input([4]), keras.layers.Dense(3), Once()])
    model.compile("sgd", "mse")
    watcher = tf.callbacks.ExplainNonFinite(stop=False, report=lambda found: None)
    x, y = data()
    model.layers[1].failing = failing
    before = [np.array(v) for v in model.layers[0].variables]
    model.fit(x, y, batch_size=32, verbose=0, callbacks=[watcher])
    why = watcher.found
    assert (why.kind, why.op, why.certain) == ("unknown", "the loss", False)
    assert says in why.notes[0]
    assert str(why).startswith("The loss is Inf.")
    assert len(before) == 2
    assert np.isnan(np.array(model.layers[0].kernel)).any()


def test_it_is_for_fit_alone():
    watcher = tf.callbacks.ExplainNonFinite()
    watcher.set_model(classifier())
    watcher.on_train_begin()
    with pytest.raises(RuntimeError, match="callback for fit"):
        watcher.on_train_batch_begin(0)


def test_training_that_stays_finite():
    model = classifier(loss="categorical_crossentropy", rate=0.01)
    watcher = tf.callbacks.ExplainNonFinite()
    x, y = data()
    history = model.fit(x, y, epochs=2, verbose=0, callbacks=[watcher])
    assert watcher.found is None
    assert len(history.epoch) == 2


def test_gradtape_does_not_import_keras_for_it():
    code = (
        "import sys, gradtape as tf\n"
        "tf.callbacks\n"
        "assert 'keras' not in sys.modules\n"
        "import keras\n"
        "assert issubclass(tf.callbacks.ExplainNonFinite, keras.callbacks.Callback)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
