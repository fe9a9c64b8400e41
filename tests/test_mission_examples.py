"""What the written descriptions of GradientTape promise,
as the programs that their readers would write.

Each test is one promise: gradients and Jacobians, tensors that are watched, persistent and nested
tapes, several models at once, gradients that are processed before they are applied, `minimize`,
Keras's optimizers, compiled steps and half precision.
"""

import gc
import weakref

import numpy as np
import pytest

import gradtape as tf

INPUTS = np.linspace(-1.0, 1.0, 20, dtype="float32").reshape(-1, 1)
TARGETS = 3.0 * INPUTS + 2.0


def line():
    """A linear regression."""
    tf.keras.utils.set_random_seed(0)
    return tf.keras.Sequential([tf.keras.Input((1,)), tf.keras.layers.Dense(1)])


def squared_error(model):
    return tf.reduce_mean(tf.square(model(INPUTS) - TARGETS))


def test_the_gradient_of_a_list_of_variables():
    x = tf.Variable(3.0)
    y = tf.Variable(4.0)
    with tf.GradientTape() as tape:
        z = x * x + y * y
    grad = tape.gradient(z, [x, y])
    assert [g.numpy() for g in grad] == [6.0, 8.0]


def test_variables_of_many_shapes_need_no_concatenation():
    variables = [tf.Variable(2.0), tf.Variable(tf.ones([3])), tf.Variable(tf.ones([2, 2]))]
    with tf.GradientTape() as tape:
        loss = variables[0] * tf.reduce_sum(variables[1]) + tf.reduce_sum(variables[2] ** 3)
    gradients = tape.gradient(loss, variables)
    assert [tuple(g.shape) for g in gradients] == [(), (3,), (2, 2)]
    for gradient, expected in zip(gradients, [3.0, 2.0, 3.0], strict=True):
        np.testing.assert_array_equal(gradient, np.full(gradient.shape, expected))


def test_variables_are_followed_and_tensors_when_they_are_watched():
    x, constant = tf.constant(3.0), tf.Variable(2.0, trainable=False)
    with tf.GradientTape() as tape:
        y = x * x
    assert tape.gradient(y, x) is None
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x * x * constant
    assert tape.gradient(y, [x, constant])[0].numpy() == 12.0
    assert tape.watched_variables() == ()


def test_a_constant_made_a_variable_is_followed():
    x = tf.Variable(tf.constant([1.0, 2.0]))
    with tf.GradientTape() as tape:
        y = tf.reduce_sum(x**2)
    np.testing.assert_array_equal(tape.gradient(y, x), [2.0, 4.0])


def test_a_tape_gives_one_gradient_and_a_persistent_one_many():
    x = tf.Variable(2.0)
    with tf.GradientTape() as tape:
        y = x**2
    assert tape.gradient(y, x).numpy() == 4.0
    with pytest.raises(RuntimeError, match="persistent"):
        tape.gradient(y, x)

    with tf.GradientTape(persistent=True) as tape:
        y = x**2
        z = y * y
    assert [
        tape.gradient(target, source).numpy() for target, source in ((z, x), (y, x), (z, x))
    ] == [32.0, 4.0, 32.0]
    gone = weakref.ref(tape)
    del tape
    gc.collect()
    assert gone() is None


def test_nested_tapes_give_higher_derivatives():
    x = tf.Variable(3.0)
    with tf.GradientTape() as outer:
        with tf.GradientTape() as inner:
            y = x**3
        first = inner.gradient(y, x)
    second = outer.gradient(first, x)
    assert (first.numpy(), second.numpy()) == (27.0, 18.0)


def test_only_what_runs_inside_the_context_is_recorded():
    x = tf.Variable(3.0)
    before = x * x
    with tf.GradientTape() as tape:
        inside = x * 2.0
    after = inside * 5.0
    assert tape.gradient(inside + before * 0.0, x) is None  # this sum was not recorded either
    with tf.GradientTape() as tape:
        inside = x * 2.0
    assert float(after) == 30.0
    assert tape.gradient(inside, x).numpy() == 2.0


def test_adam_fits_a_line():
    model, optimizer = line(), tf.keras.optimizers.Adam(learning_rate=0.1)
    for _ in range(200):
        with tf.GradientTape() as tape:
            loss = squared_error(model)
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
    np.testing.assert_allclose(
        [float(v.numpy().item()) for v in model.trainable_variables], [3.0, 2.0], atol=0.01
    )


def test_the_jacobian_of_a_models_output_in_some_epochs():
    model, optimizer = line(), tf.keras.optimizers.SGD(0.1)
    seen = {}
    for epoch in range(6):
        with tf.GradientTape(persistent=True) as tape:
            output = model(INPUTS)
            loss = tf.reduce_mean(tf.square(output - TARGETS))
        if epoch % 3 == 0:
            seen[epoch] = tape.jacobian(output, model.trainable_variables)
        optimizer.apply_gradients(
            zip(
                tape.gradient(loss, model.trainable_variables),
                model.trainable_variables,
                strict=True,
            )
        )
        del tape
    assert sorted(seen) == [0, 3]
    # The model is linear: its Jacobian is its input, in every epoch.
    for by_kernel, by_bias in seen.values():
        np.testing.assert_allclose(by_kernel[:, 0, 0], INPUTS, rtol=1e-6)
        np.testing.assert_allclose(by_bias, np.ones((20, 1, 1)), rtol=1e-6)


def test_two_models_in_one_step():
    tf.keras.utils.set_random_seed(0)
    encoder = tf.keras.Sequential(
        [tf.keras.Input((1,)), tf.keras.layers.Dense(8, activation="tanh")]
    )
    decoder = tf.keras.Sequential([tf.keras.Input((8,)), tf.keras.layers.Dense(1)])
    variables = encoder.trainable_variables + decoder.trainable_variables
    optimizer = tf.keras.optimizers.Adam(0.05)
    losses = []
    for _ in range(60):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(decoder(encoder(INPUTS)) - TARGETS))
        gradients = tape.gradient(loss, variables)
        assert all(gradient is not None for gradient in gradients)
        optimizer.apply_gradients(zip(gradients, variables, strict=True))
        losses.append(float(loss))
    assert losses[-1] < 0.02 * losses[0]


def test_a_model_is_called_rather_than_asked_to_predict():
    model = line()
    with tf.GradientTape(persistent=True) as tape:
        called = tf.reduce_sum(model(INPUTS))
        predicted = tf.reduce_sum(tf.constant(model.predict(INPUTS, verbose=0)))
    np.testing.assert_allclose(called, predicted, rtol=1e-5)
    assert all(g is not None for g in tape.gradient(called, model.trainable_variables))
    assert tape.gradient(predicted, model.trainable_variables) == [None, None]


@pytest.mark.parametrize(
    "process",
    [
        lambda gradients: [tf.clip_by_norm(g, 0.5) for g in gradients],
        lambda gradients: tf.clip_by_global_norm(gradients, 0.5)[0],
        lambda gradients: [0.5 * g / tf.norm(g) for g in gradients],
        lambda gradients: [tf.clip_by_value(g, -0.5, 0.5) for g in gradients],
    ],
)
def test_gradients_are_processed_before_they_are_applied(process):
    model, optimizer = line(), tf.keras.optimizers.SGD(1.0)
    before = [v.numpy() for v in model.trainable_variables]
    with tf.GradientTape() as tape:
        loss = squared_error(model)
    gradients = tape.gradient(loss, model.trainable_variables)
    assert max(abs(float(tf.norm(g))) for g in gradients) > 1.0
    processed = process(gradients)
    optimizer.apply_gradients(zip(processed, model.trainable_variables, strict=True))
    for variable, start, step in zip(model.trainable_variables, before, processed, strict=True):
        np.testing.assert_allclose(variable, start - step.numpy(), rtol=1e-5)
        assert 0 < np.linalg.norm(step) <= 0.5 + 1e-6


def test_minimize_computes_the_gradients_and_applies_them():
    """A function, or a loss and its tape: both do what the three steps do."""
    results = []
    for way in ("function", "tape", "steps"):
        model, optimizer = line(), tf.keras.optimizers.Adam(0.1)
        for _ in range(5):
            if way == "function":
                optimizer.minimize(
                    lambda model=model: squared_error(model), model.trainable_variables
                )
                continue
            with tf.GradientTape() as tape:
                loss = squared_error(model)
            if way == "tape":
                optimizer.minimize(loss, model.trainable_variables, tape=tape)
            else:
                gradients = tape.gradient(loss, model.trainable_variables)
                optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
        results.append([float(v.numpy().item()) for v in model.trainable_variables])
    assert results[0] == results[1] == results[2]


@pytest.mark.parametrize("compiled", [False, True])
def test_a_step_needs_no_function_around_it_and_may_have_one(compiled):
    model, optimizer = line(), tf.keras.optimizers.SGD(0.2)

    def train_step(inputs, targets):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(model(inputs, training=True) - targets))
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
        return loss

    step = tf.function(train_step) if compiled else train_step
    losses = [float(step(tf.constant(INPUTS), tf.constant(TARGETS))) for _ in range(40)]
    assert losses[-1] < 0.01 * losses[0]


def test_a_custom_training_step_for_fit():
    class Model(tf.keras.Model):
        def train_step(self, data):
            x, y = data
            with tf.GradientTape() as tape:
                loss = self.compute_loss(y=y, y_pred=self(x, training=True))
            gradients = tape.gradient(loss, self.trainable_variables)
            self.optimizer.apply_gradients(zip(gradients, self.trainable_variables, strict=True))
            return {"error": loss}

    tf.keras.utils.set_random_seed(0)
    inputs = tf.keras.Input((1,))
    model = Model(inputs, tf.keras.layers.Dense(1)(inputs))
    model.compile(optimizer=tf.keras.optimizers.SGD(0.2), loss="mse")
    losses = model.fit(INPUTS, TARGETS, batch_size=20, epochs=20, verbose=0).history["error"]
    assert losses[-1] < 0.1 * losses[0]


def test_half_precision_with_a_scaled_loss():
    """A gradient of 2e-8 is zero in float16; scaled, it arrives."""
    policy = tf.keras.mixed_precision.Policy("mixed_float16")
    layer = tf.keras.layers.Dense(1, use_bias=False, dtype=policy)
    layer.build((None, 1))
    optimizer = tf.keras.mixed_precision.LossScaleOptimizer(
        tf.keras.optimizers.SGD(1.0), initial_scale=2.0**14
    )
    inputs = tf.constant([[2e-4]])
    layer.kernel.assign([[0.0]])

    def gradient_of(scaled):
        with tf.GradientTape() as tape:
            loss = tf.cast(tf.reduce_sum(layer(inputs)), tf.float32) * 1e-4
            target = scaled(loss)
        return tape.gradient(target, layer.trainable_variables)

    assert float(gradient_of(lambda loss: loss)[0].numpy().item()) == 0.0
    gradients = gradient_of(optimizer.scale_loss)
    assert gradients[0].dtype == tf.float32
    optimizer.apply_gradients(zip(gradients, layer.trainable_variables, strict=True))
    np.testing.assert_allclose(layer.kernel, [[-2e-8]], rtol=0.01)


def test_a_device_may_be_named():
    x = tf.Variable(2.0)
    with tf.device("/CPU:0"), tf.GradientTape() as tape:
        y = x * x
    assert tape.gradient(y, x).numpy() == 4.0
    assert "CPU:0" in y.device
