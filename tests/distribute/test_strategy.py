"""Strategies with eight devices, which XLA makes of the CPU: what replicas compute together, in
eager code and in functions, and what a loop in the style of TensorFlow's guide gives.
"""

import numpy as np
import pytest

from tests.many_devices import COMPILED, run

LOOP = """
from gradtape.distribute import ReduceOp

strategy = tf.distribute.MirroredStrategy()
random = np.random.default_rng(0)
x = random.normal(size=(45, 4)).astype(np.float32)
y = np.sin(3 * x.sum(1, keepdims=True)) + 1
BATCH = 16

with strategy.scope():
    w = tf.Variable(np.ones((4, 1), np.float32))
    mean = tf.Variable([0.0], aggregation=tf.VariableAggregation.MEAN)
    total = tf.Variable(
        0.0,
        trainable=False,
        synchronization=tf.VariableSynchronization.ON_READ,
        aggregation=tf.VariableAggregation.SUM,
    )
    count = tf.Variable(0.0, trainable=False, aggregation=tf.VariableAggregation.SUM)
    last = tf.Variable(-1, trainable=False, aggregation=tf.VariableAggregation.SUM)
    own = tf.Variable(-1, trainable=False)
variables = [w, mean, total, count, last, own]


def step(x, y):
    context = tf.distribute.get_replica_context()
    with tf.GradientTape() as tape:
        errors = tf.reduce_sum((x @ w + mean - y) ** 2, -1)
        loss = tf.nn.compute_average_loss(errors, global_batch_size=BATCH)
    gradient, other = tape.gradient(loss, [w, mean])
    w.assign_sub(0.01 * context.all_reduce(ReduceOp.SUM, gradient))
    mean.assign_sub(0.01 * other)
    total.assign(total + loss)
    count.assign_add(1.0)
    last.assign(context.replica_id_in_sync_group)
    own.assign(context.replica_id_in_sync_group + 5)
    return {"loss": loss, "rows": tf.shape(x)[0], "number": context.replica_id_in_sync_group}


traced_step = tf.function(step)
dataset = strategy.experimental_distribute_dataset(
    tf.data.Dataset.from_tensor_slices((x, y)).batch(BATCH)
)


def trained(run):
    w.assign(np.ones((4, 1), np.float32))
    mean.assign([0.0])
    total.assign(0.0)
    count.assign(0.0)
    losses, rows = [], []
    for batch in dataset:
        result = run(batch)
        losses.append(float(strategy.reduce("sum", result["loss"], axis=None)))
        rows.append([int(n) for n in strategy.experimental_local_results(result["rows"])])
    numbers = [int(n) for n in strategy.experimental_local_results(result["number"])]
    return losses, rows, numbers, [v.numpy().tolist() for v in variables]


def eager(batch):
    return strategy.run(step, args=batch)


found["count"] = strategy.num_replicas_in_sync
found["eager"] = trained(eager)
found["function"] = trained(tf.function(eager))
found["function in run"] = trained(lambda batch: strategy.run(traced_step, args=batch))
found["keywords"] = trained(tf.function(
    lambda batch: strategy.run(step, kwargs={"x": batch[0], "y": batch[1]})
))
"""


@pytest.fixture(scope="module")
def loop():
    return run(LOOP)


def by_hand():
    random = np.random.default_rng(0)
    x = random.normal(size=(45, 4)).astype(np.float32)
    y = np.sin(3 * x.sum(1, keepdims=True)) + 1
    w, mean, losses = np.ones((4, 1)), np.zeros(1), []
    for i in range(0, 45, 16):
        part, wanted = x[i : i + 16], y[i : i + 16]
        errors = part @ w + mean - wanted
        losses.append((errors**2).sum() / 16)
        w = w - 0.01 * 2 * part.T @ errors / 16
        mean = mean - 0.01 * 2 * errors.sum() / 16 / 8
    return losses, w, mean


@pytest.mark.parametrize("how", ["eager", "function", "function in run", "keywords"])
def test_replicas_together_compute_the_batch(loop, how):
    losses, rows, numbers, (w, mean, total, count, last, own) = loop[how]
    expected, weights, bias = by_hand()
    np.testing.assert_allclose(losses, expected, rtol=1e-5)
    assert loop["count"] == 8
    assert rows == [[2] * 8, [2] * 8, [2, 2, 2, 2, 2, 1, 1, 1]]
    assert numbers == list(range(8))
    np.testing.assert_allclose(w, weights, rtol=1e-5)
    np.testing.assert_allclose(mean, bias, rtol=1e-4)
    np.testing.assert_allclose(total, sum(expected), rtol=1e-5)
    assert count == 3 * 8  # the sum of what replicas added
    assert last == sum(range(8))  # the sum of what they assigned
    assert own == 5  # that of the first


VALUES = """
strategy = tf.distribute.MirroredStrategy()
values = strategy.experimental_distribute_values_from_function(
    lambda context: tf.constant([float(context.replica_id_in_sync_group)] * 2)
)
each = strategy.experimental_local_results(values)
found["values"] = [v.numpy().tolist() for v in each]
found["repr"] = repr(values).splitlines()[:2]
found["reduce"] = [
    strategy.reduce("sum", values, axis=None).numpy().tolist(),
    strategy.reduce(tf.distribute.ReduceOp.MEAN, values, axis=None).numpy().tolist(),
    float(strategy.reduce("SUM", values, axis=0)),
    float(strategy.reduce("mean", values, axis=0)),
    float(strategy.reduce("mean", tf.constant(3.0), axis=None)),
]
found["gather"] = strategy.gather(values, axis=0).numpy().tolist()
try:
    strategy.reduce("sum", tf.constant(3.0), axis=None)
except ValueError as error:
    found["sum of one"] = str(error)


def replica(x, scale):
    context = tf.distribute.get_replica_context()
    several = context.all_reduce("mean", {"a": x, "b": (tf.reduce_sum(x) * scale, tf.constant(2))})
    gathered = context.all_gather(x, axis=0)
    assert tf.distribute.has_strategy() and not tf.distribute.in_cross_replica_context()
    assert tf.distribute.get_strategy() is strategy is context.strategy
    assert context.num_replicas_in_sync == 8
    with tf.GradientTape() as tape:
        tape.watch(x)
        together = context.all_reduce("sum", tf.reduce_sum(x * x * scale))
    gradient = tape.gradient(together, x)
    with tf.GradientTape() as tape:
        tape.watch(x)
        with tf.GradientTape() as inner:
            inner.watch(x)
            all_of_them = context.all_gather(x, axis=0)
            rest = tf.reduce_sum(all_of_them**3)
        first = inner.gradient(rest, x)
        again = tf.reduce_sum(first)
    second = tape.gradient(again, x)
    return several, gathered, gradient, (first, second), None


def look(run):
    several, gathered, gradient, orders, nothing = run()
    local = strategy.experimental_local_results
    return [
        local(several["a"])[3].numpy().tolist(), float(local(several["b"][0])[3]),
        int(local(several["b"][1])[0]), local(gathered)[5].numpy().tolist(),
        [g.numpy().tolist() for g in local(gradient)],
        [[g.numpy().tolist() for g in local(order)] for order in orders], nothing,
    ]


def together():
    return strategy.run(replica, args=(values,), kwargs={"scale": tf.constant(2.0)})


found["function"] = look(tf.function(together))


found["eager"] = look(together)
local = strategy.experimental_local_results


def others():
    context = tf.distribute.get_replica_context()
    x = tf.constant([[1.0, 2.0]] * (context.replica_id_in_sync_group % 2 + 1))
    with tf.GradientTape() as tape:
        tape.watch(x)
        rows = context.all_gather(x, axis=-2)
        y = tf.reduce_sum(rows**2) * (context.replica_id_in_sync_group + 1.0)
    gradient = tape.gradient(y, x)
    with tf.autodiff.ForwardAccumulator(x, tf.ones_like(x)) as accumulator:
        mean = context.all_reduce("mean", tf.reduce_sum(tf.tanh(x)))
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.reduce_sum(context.all_gather(x**2, axis=0), 0)
    jacobian = tf.reduce_sum(tape.jacobian(y, x), 1)
    return tf.reduce_sum(gradient, 0), rows, accumulator.jvp(mean), jacobian


found["unequal rows"] = [
    [local(values)[i].numpy().tolist() for i in (0, 1)] for values in strategy.run(others)
]
merged = strategy.run(
    lambda x: tf.distribute.get_replica_context().merge_call(
        lambda strategy, x: strategy.reduce("sum", x, axis=None), args=(x,)
    ),
    args=(values,),
)
found["merged"] = local(merged)[2].numpy().tolist()


# Errors: of a replica, of one that speaks alone, of a run in a run.
def fails(x):
    if float(x[0]) == 3:
        raise KeyError("the third")
    return x


def speaks(x):
    context = tf.distribute.get_replica_context()
    return context.all_reduce("sum", x) if float(x[0]) == 3 else x


errors = []
for function in (
    fails,
    speaks,
    lambda x: strategy.run(fails, args=(x,)),
    lambda x: tf.distribute.get_replica_context().all_reduce("sum", x > 0),
    lambda x: tf.distribute.get_replica_context().all_gather(x, axis=1),
):
    try:
        strategy.run(function, args=(values,))
    except Exception as error:
        errors.append([type(error).__name__, str(error)])
import threading
found["errors"] = errors
found["threads"] = threading.active_count()
with strategy.scope():
    outside = [
        tf.distribute.has_strategy(), tf.distribute.in_cross_replica_context(),
        tf.distribute.get_replica_context() is None, tf.distribute.get_strategy() is strategy,
    ]
found["scope"] = outside, tf.distribute.has_strategy()
with strategy.scope() as entered:
    found["entered"] = entered is strategy


@tf.function
def outside_tape(x):
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = strategy.run(lambda x: x * 2, args=(x,))
        total = strategy.reduce("sum", y, axis=None)
    return tape.gradient(total, x)


try:
    outside_tape(tf.constant(1.0))
except ValueError as error:
    found["outside tape"] = str(error)

# Random numbers: each replica has its own; what each draws is new in every call.
draw = tf.function(lambda: strategy.run(lambda: tf.random.uniform([2])))
drawn = [[v.numpy().tolist() for v in local(draw())] for _ in range(2)]
found["drawn"] = drawn
with strategy.scope():
    generator = tf.random.Generator.from_seed(1)
own = lambda: strategy.run(lambda: generator.uniform([2]))
found["generated"] = [
    [v.numpy().tolist() for v in local(run())] for run in (own, tf.function(own))
]

# Control flow that replicas go through in their own way.
def collatz(x):
    n = 0
    while x > 1.0:
        x = tf.where(x % 2.0 == 0.0, x / 2.0, 3.0 * x + 1.0)
        n += 1
    return n

starts = strategy.experimental_distribute_values_from_function(
    lambda context: tf.constant(context.replica_id_in_sync_group + 1.0)
)
counted = tf.function(lambda x: strategy.run(tf.function(collatz), args=(x,)))(starts)
found["collatz"] = [int(n) for n in local(counted)]
from_function = strategy.distribute_datasets_from_function(
    lambda context: tf.data.Dataset.range(20).batch(context.get_per_replica_batch_size(16))
)
found["from function"] = [
    [v.numpy().tolist() for v in local(element)] for element in from_function
], len(from_function)
iterator = iter(from_function)
found["optional"] = [bool(iterator.get_next_as_optional().has_value()) for _ in range(3)]
try:
    iterator.get_next()
except tf.errors.OutOfRangeError as error:
    found["end"] = str(error)
words = strategy.experimental_distribute_dataset(
    tf.data.Dataset.from_tensor_slices([b"a", b"b"] * 8).batch(16)
)
found["words"] = [v.numpy().tolist()[0].decode() for v in local(next(iter(words)))]
"""


@pytest.fixture(scope="module")
def values():
    return run(VALUES)


def test_values_of_replicas(values):
    assert values["values"] == [[float(i)] * 2 for i in range(8)]
    assert values["repr"][0] == "PerReplica:{"
    assert values["reduce"] == [[28.0, 28.0], [3.5, 3.5], 56.0, 3.5, 3.0]
    assert values["gather"] == [float(i) for i in range(8) for _ in range(2)]
    assert "value is the same on all replicas" in values["sum of one"]


def test_replicas_speak_to_each_other(values):
    expected = [[3.5, 3.5], 14.0, 2, values["gather"]]
    for way in ("function", "eager"):
        assert values[way][:4] == expected
        # The gradient of what all have together is the sum of what all receive.
        assert values[way][4] == [[4.0 * i * 8] * 2 for i in range(8)]
        first, second = values[way][5]
        assert first == [[3.0 * i**2 * 8] * 2 for i in range(8)]
        assert second == [[6.0 * i * 8] * 2 for i in range(8)]
        assert values[way][6] is None
    assert values["merged"] == [28.0, 28.0]


def test_replicas_with_unequal_rows_speak_to_each_other(values):
    gradients, rows, pushed, jacobians = values["unequal rows"]
    factors = sum(range(1, 9))  # of what all replicas make of the rows
    assert gradients == [[2.0 * factors, 4.0 * factors], [4.0 * factors, 8.0 * factors]]
    assert rows == [[[1.0, 2.0]] * 12] * 2
    slopes = (1 - np.tanh([1.0, 2.0]) ** 2).sum()
    np.testing.assert_allclose(pushed, [slopes * 12 / 8] * 2, rtol=1e-6)
    assert jacobians == [[[16.0, 0.0], [0.0, 32.0]], [[32.0, 0.0], [0.0, 64.0]]]


def test_errors_of_replicas(values):
    failed, alone, inside, booleans, axis = values["errors"]
    assert failed == ["KeyError", "'the third'"]
    assert alone[0] == "RuntimeError"
    assert "replicas [3] wait for the others" in alone[1]
    assert "in a function that it runs" in inside[1]
    assert "value has dtype bool" in booleans[1]
    assert "axis 1 is not an axis of a value of shape (2,)" in axis[1]
    assert values["threads"] == 1
    assert "open the tape, and ask it for gradients, inside" in values["outside tape"]


def test_scopes(values):
    assert values["scope"] == [[True] * 4, False]
    assert values["entered"]


def test_each_replica_draws_its_own_numbers(values):
    first, second = (np.array(drawn) for drawn in values["drawn"])
    assert len(np.unique(first)) == 16
    assert not np.intersect1d(first, second).size


def test_each_replica_draws_its_own_numbers_from_a_generator(values):
    assert len(np.unique(values["generated"])) == 32


def test_replicas_take_their_own_branches(values):
    assert values["collatz"] == [0, 1, 7, 2, 5, 8, 16, 3]


def test_datasets_of_replicas(values):
    elements, length = values["from function"]
    assert length == len(elements) == 2
    assert elements[0] == [[2 * i, 2 * i + 1] for i in range(8)]
    assert elements[1] == [[16, 17], [18, 19], *[[]] * 6]
    assert values["optional"] == [True, True, False]
    assert "the dataset has ended" in values["end"]
    assert values["words"] == ["a"] * 8


GUIDE = (
    COMPILED
    + """
import sys

images = np.random.default_rng(0).normal(size=(52, 12, 12, 1)).astype("float32")
labels = np.random.default_rng(1).integers(0, 10, 52)


def trained(strategy, sized=48, compile=True, epochs=2):
    batch_size = 16
    tf.keras.utils.set_random_seed(0)
    dataset = tf.data.Dataset.from_tensor_slices((images[:sized], labels[:sized]))
    train_dataset = strategy.experimental_distribute_dataset(dataset.batch(batch_size))
    with strategy.scope():
        regularizer = tf.keras.regularizers.L2(1e-3)
        model = tf.keras.Sequential([
            tf.keras.layers.Conv2D(4, 3, activation="relu", kernel_regularizer=regularizer),
            tf.keras.layers.MaxPooling2D(),
            tf.keras.layers.Flatten(),
            tf.keras.layers.Dense(10),
        ])
        optimizer = tf.keras.optimizers.Adam(0.01)
        loss_object = tf.keras.losses.SparseCategoricalCrossentropy(
            from_logits=True, reduction=None
        )
        accuracy = tf.keras.metrics.SparseCategoricalAccuracy()
        test_loss = tf.keras.metrics.Mean()
        checkpoint = tf.train.Checkpoint(optimizer=optimizer, model=model)

    def compute_loss(labels, predictions, model_losses):
        loss = tf.nn.compute_average_loss(
            loss_object(labels, predictions), global_batch_size=batch_size
        )
        return loss + tf.nn.scale_regularization_loss(tf.add_n(model_losses))

    def train_step(inputs):
        images, labels = inputs
        with tf.GradientTape() as tape:
            predictions = model(images, training=True)
            loss = compute_loss(labels, predictions, model.losses)
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))
        accuracy.update_state(labels, predictions)
        return loss

    def test_step(inputs):
        images, labels = inputs
        test_loss.update_state(loss_object(labels, model(images, training=False)))

    def distributed_train_step(inputs):
        losses = strategy.run(train_step, args=(inputs,))
        return strategy.reduce(tf.distribute.ReduceOp.SUM, losses, axis=None)

    def distributed_test_step(inputs):
        return strategy.run(test_step, args=(inputs,))

    if compile:
        distributed_train_step = tf.function(distributed_train_step)
        distributed_test_step = tf.function(distributed_test_step)
    result = []
    for epoch in range(epochs):
        total = sum(distributed_train_step(x) for x in train_dataset)
        for x in train_dataset:
            distributed_test_step(x)
        result.append([float(v) for v in (total, accuracy.result(), test_loss.result())])
        accuracy.reset_state()
        test_loss.reset_state()
    import tempfile
    with tempfile.TemporaryDirectory() as folder:
        path = checkpoint.save(folder + "/c")
        before = model.get_weights()
        for v in model.weights:
            v.assign(tf.zeros_like(v))
        checkpoint.restore(path)
        same = all((a == b).all() for a, b in zip(before, model.get_weights()))
    placed = len(model.weights[0].__gradtape_variable__.divided_as.sharding.device_set) if (
        strategy.num_replicas_in_sync > 1) else 1
    distributed_train_step(next(iter(train_dataset)))
    weights = [w.ravel().tolist() for w in model.get_weights()]
    return result, weights, int(optimizer.iterations.numpy()), same, placed


one, mirrored = tf.distribute.OneDeviceStrategy("/cpu:0"), tf.distribute.MirroredStrategy()
"""
)

SHORT = (
    GUIDE
    + """
found["one"] = trained(one)
compiled.clear()
found["mirrored"] = trained(mirrored)
found["compiled"] = len(compiled)
"""
)


def equal(found, expected, rtol=1e-5, atol=1e-5):
    np.testing.assert_allclose(found[0], expected[0], rtol=rtol, atol=atol)
    for one, other in zip(found[1], expected[1], strict=True):
        np.testing.assert_allclose(one, other, rtol=rtol, atol=atol)
    assert found[2:4] == expected[2:4]


def test_the_loop_of_the_guide_gives_the_same_on_one_device_and_on_eight():
    found = run(SHORT)
    equal(found["mirrored"], found["one"])
    assert found["one"][2:] == [7, True, 1]
    assert found["mirrored"][4] == 8
    assert found["compiled"] == 2  # a step for training, and one for evaluation


MORE = (
    GUIDE
    + """
found["one"] = trained(one, 52)
found["uneven"] = trained(mirrored, 52)
found["eager one"] = trained(one, 52, compile=False, epochs=1)
found["eager"] = trained(mirrored, 52, compile=False, epochs=1)
found["one for long"] = trained(one, 48, epochs=17)
found["for long"] = trained(mirrored, 48, epochs=17)
"""
)


@pytest.mark.slow
def test_the_loop_of_the_guide_on_uneven_batches_in_eager_code_and_for_fifty_steps():
    found = run(MORE, timeout=600)
    equal(found["uneven"], found["one"])
    equal(found["eager"], found["eager one"])
    equal(found["for long"], found["one for long"], rtol=1e-4, atol=1e-4)


FIT = """
import keras

x = np.random.default_rng(0).normal(size=(45, 8)).astype("float32")
y = x.sum(axis=1, keepdims=True)


def trained(strategy):
    keras.utils.set_random_seed(0)
    with strategy.scope():
        model = keras.Sequential([
            keras.Input((8,)), keras.layers.Dense(16, activation="relu"), keras.layers.Dropout(0.2),
            keras.layers.BatchNormalization(), keras.layers.Dense(1),
        ])
        model.compile("adam", "mse", metrics=["mae"])
    history = model.fit(x, y, batch_size=16, epochs=2, shuffle=False, verbose=0).history
    kernel = model.layers[0].kernel.__gradtape_variable__
    return [
        *history.values(), model.evaluate(x, y, verbose=0, batch_size=16),
        model.predict(x, verbose=0, batch_size=16).ravel().tolist(),
    ], len(kernel.held.sharding.device_set)


found["one"] = trained(tf.distribute.get_strategy())
found["mirrored"] = trained(tf.distribute.MirroredStrategy())

# The costs of a step: what XLA counts for one device.
import jax


def costs():
    return max(
        [found.cost_analysis().get("flops", 0.0)
         for found in jax.devices()[0].client.live_executables()], default=0.0,
    )


import gc
gc.collect()
jax.clear_caches()
gc.collect()
rows = np.ones((512, 64), np.float32)


def step_of(strategy):
    with strategy.scope():
        v = tf.Variable(np.full((64, 64), 0.1, np.float32))

    def replica(x):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(tf.tanh(x @ v))
        gradient = tape.gradient(loss, v)
        gradient = tf.distribute.get_replica_context().all_reduce("sum", gradient)
        v.assign_sub(1e-3 * gradient)
        return loss

    step = tf.function(lambda x: strategy.run(replica, args=(x,)))
    dataset = strategy.experimental_distribute_dataset(
        tf.data.Dataset.from_tensors(tf.constant(rows))
    )
    step(next(iter(dataset)))
    return step


def cost_of(strategy):
    step = step_of(strategy)
    found = costs()
    del step
    gc.collect()
    jax.clear_caches()
    gc.collect()
    return found


found["flops"] = cost_of(tf.distribute.OneDeviceStrategy("/cpu:0")), cost_of(
    tf.distribute.MirroredStrategy()
)
"""


def test_fit_in_the_scope_of_a_strategy_and_the_work_of_a_device():
    found = run(FIT)
    for one, other in zip(found["mirrored"][0], found["one"][0], strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-5)
    assert (found["one"][1], found["mirrored"][1]) == (1, 8)
    one, part = found["flops"]
    assert part < one / 8 + 4 * 64 * 64  # the update of the weights is everyone's
