"""Layouts of single Variables and tensors: with eight devices, which XLA makes of the CPU, the
numbers are those of one device, and each device computes and keeps its own part.
"""

import numpy as np
import pytest

import gradtape as tf
from tests.many_devices import COMPILED, run

dtensor = tf.experimental.dtensor

BEGIN = (
    COMPILED
    + """
import copy
import tempfile

import jax

dtensor = tf.experimental.dtensor
mesh = dtensor.create_mesh([("batch", 4), ("model", 2)])
row = dtensor.create_mesh([("batch", 8)])
layout = lambda *axes: dtensor.Layout(axes, mesh)


def parts(variable):
    return [list(shard.data.shape) for shard in variable.held.addressable_shards]
"""
)

TRAINING = (
    BEGIN
    + """
WIDTH = 64
random = np.random.default_rng(0)
rows = random.normal(size=(64, WIDTH)).astype("float32")
wanted = np.tanh(rows.sum(1, keepdims=True))
values = [
    random.normal(size=shape).astype("float32") / 8
    for shape in ((WIDTH, 2 * WIDTH), (2 * WIDTH,), (2 * WIDTH, WIDTH), (WIDTH, 1))
]
replicated = [dtensor.Layout.replicated(row, rank=v.ndim) for v in values]
LAYOUTS = {
    "one device": [None] * 4,
    "data": replicated,
    "fully sharded": [
        *[dtensor.Layout.batch_sharded(row, "batch", rank=v.ndim) for v in values]
    ],
    "tensor": [layout(None, "model"), layout("model"), layout("model", None), layout(None, None)],
    "both": [
        layout("batch", "model"), layout("model"), layout("model", "batch"), layout("batch", None),
    ],
}


def trained(layouts):
    weights = [tf.Variable(v, layout=one) for v, one in zip(values, layouts)]
    speeds = [tf.Variable(lambda: tf.zeros_like(v), layout=one) for v, one in zip(weights, layouts)]

    @tf.function
    def step(x, y):
        first, bias, second, last = weights
        with tf.GradientTape() as tape:
            hidden = tf.tanh(tf.tanh(x @ first + bias) @ second)
            loss = tf.reduce_mean((hidden @ last - y) ** 2)
        for weight, speed, gradient in zip(weights, speeds, tape.gradient(loss, weights)):
            speed.assign(0.9 * speed + gradient)
            weight.assign_sub(0.05 * speed)
        return loss

    x, y = tf.constant(rows), tf.constant(wanted)
    compiled.clear()
    losses = [float(step(x, y)) for _ in range(20)]
    programs = len(compiled)
    concrete = step.get_concrete_function(x, y)
    program = concrete.program.compiled_plain()
    given = [*map(np.asarray, (rows, wanted))]
    if layouts[0] is not None:
        given = [jax.device_put(a, weights[0].divided_as.of_batches()) for a in given]
    held = {id(v): v.held for v in (*weights, *speeds)}
    taken = [held[id(v)] for v in concrete._outside]
    executable = program.compiled.lower(*given, *taken).compile()
    memory = executable.memory_analysis()
    return {
        "losses": losses,
        "weights": [w.numpy().ravel().tolist() for w in (*weights, *speeds)],
        "parts": [parts(w)[0] for w in (*weights, *speeds)],
        "flops": executable.cost_analysis()["flops"],
        "bytes": memory.argument_size_in_bytes,
        "compiled": programs,
    }


found.update({name: trained(layouts) for name, layouts in LAYOUTS.items()})
"""
)


@pytest.fixture(scope="module")
def training():
    return run(TRAINING)


NAMES = ["data", "fully sharded", "tensor", "both"]


@pytest.mark.parametrize("name", NAMES)
def test_layouts_change_no_number(training, name):
    for part in ("losses", "weights"):
        for one, other in zip(training[name][part], training["one device"][part], strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-5)
    assert training[name]["losses"][-1] < training[name]["losses"][0] / 2
    assert training[name]["compiled"] == 1


def test_variables_keep_their_layouts(training):
    assert training["data"]["parts"] == [[64, 128], [128], [128, 64], [64, 1]] * 2
    assert training["fully sharded"]["parts"] == [[8, 128], [16], [16, 64], [8, 1]] * 2
    assert training["tensor"]["parts"] == [[64, 64], [64], [64, 64], [64, 1]] * 2
    assert training["both"]["parts"] == [[16, 64], [64], [64, 16], [16, 1]] * 2


def test_each_device_does_its_part(training):
    alone = training["one device"]
    weights = 2 * 4 * (64 * 128 + 128 + 128 * 64 + 64)  # bytes, with what the optimizer keeps
    rows = 4 * (64 * 64 + 64)
    assert alone["bytes"] == weights + rows
    # Of data parallel training everything but the batch is everyone's, and so are the updates.
    assert training["data"]["bytes"] == weights + rows / 8
    assert training["data"]["flops"] < alone["flops"] / 8 + weights
    assert training["fully sharded"]["bytes"] == alone["bytes"] / 8
    assert training["fully sharded"]["flops"] < 1.1 * alone["flops"] / 8
    # `last`, of 64 elements, is not divided.
    assert training["tensor"]["bytes"] == (weights - 512) / 2 + 512 + rows / 4
    assert training["tensor"]["flops"] < 1.1 * alone["flops"] / 8 + weights / 2
    biases = 2 * 4 * 128
    assert training["both"]["bytes"] == (weights - biases - 512) / 8 + biases / 2 + (512 + rows) / 4


KEEPING = (
    BEGIN
    + """
sharded = layout("batch", "model")
v = tf.Variable(np.arange(32.0).reshape(8, 4).astype("float32"), layout=sharded)
add = tf.function(lambda x: v.assign_add(x, read_value=False))
read = tf.function(lambda: v * 1.0)
ones = np.ones((8, 4), "float32")
folder = tempfile.mkdtemp()
saved = tf.train.Checkpoint(v=v).save(folder + "/saved")
other = tf.Variable(ones)
dtensor.lay_out(other, sharded)


def restore():
    tf.train.Checkpoint(v=v).restore(saved)


def scatter():
    v.scatter_nd_add([[0]], ones[:1])


kept = {}
for name, write in {
    "function": lambda: add(ones),
    "assign": lambda: v.assign(ones),
    "assign_sub": lambda: v.assign_sub(ones),
    "slice": lambda: v[1:2].assign(ones[:1]),
    "scatter": scatter,
    "restore": restore,
}.items():
    before = v.numpy()
    write()
    values = v.numpy().tolist()
    assert not (v.numpy() == before).all(), name
    kept[name] = [parts(v) if "held" in vars(v) else None, read().numpy().tolist() == values,
                  parts(v), dtensor.fetch_layout(v) == sharded]
found["kept"] = kept
found["restored"] = v.numpy().tolist() == np.arange(32.0).reshape(8, 4).tolist()

copied = copy.deepcopy(v)
tf.function(lambda: copied.assign_add(ones))()
found["copied"] = parts(copied), (copied.numpy() - v.numpy()).tolist() == ones.tolist()

tf.function(lambda: other.assign_add(ones))()
found["laid out"] = parts(other)
dtensor.lay_out(other, None)
tf.function(lambda: other.assign_add(ones))()
found["taken back"] = parts(other), float(other[0, 0])

# Each device makes its own part, and no array is whole.
drawn = tf.Variable(lambda: tf.random.stateless_normal((80, 4), (1, 2)), layout=sharded)
found["lazy"] = parts(drawn), "array" in vars(drawn), str(drawn.dtype.name), drawn.trainable
found["drawn"] = np.allclose(
    drawn.numpy(), tf.function(tf.random.stateless_normal)((80, 4), (1, 2)).numpy()
)
found["plain"] = tf.Variable(lambda: np.ones((8, 4)), dtype="float64", layout=sharded).dtype.name
"""
)


@pytest.fixture(scope="module")
def keeping():
    return run(KEEPING)


@pytest.mark.parametrize(
    "write", ["function", "assign", "assign_sub", "slice", "scatter", "restore"]
)
def test_a_layout_survives_writes(keeping, write):
    now, reads_the_same, after, is_same = keeping["kept"][write]
    assert reads_the_same
    assert after == [[2, 2]] * 8
    assert is_same
    if write == "function":
        assert now == after


def test_copies_have_the_layout_and_it_can_be_taken_back(keeping):
    assert keeping["restored"]
    assert keeping["copied"] == [[[2, 2]] * 8, True]
    assert keeping["laid out"] == [[2, 2]] * 8
    assert keeping["taken back"] == [[[8, 4]], 3.0]


def test_a_function_makes_the_first_value_in_parts(keeping):
    assert keeping["lazy"] == [[[20, 2]] * 8, False, "float32", True]
    assert keeping["drawn"]
    assert keeping["plain"] == "float64"


RELAYOUT = (
    BEGIN
    + """
rows = layout("batch", None)
x = tf.constant(np.random.default_rng(0).normal(size=(8, 4)).astype("float32"))


def cubes(x):
    with tf.GradientTape() as outer:
        outer.watch(x)
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.reduce_sum(dtensor.relayout(x, rows) ** 3)
        first = tape.gradient(y, x)
        again = tf.reduce_sum(first)
    second = outer.gradient(again, x)
    with tf.autodiff.ForwardAccumulator(x, x) as accumulator:
        z = dtensor.relayout(x, rows) ** 2
    return y, first, second, accumulator.jvp(z), tf.vectorized_map(
        lambda row: dtensor.relayout(row, layout("model")) * 2, x
    )


found["eager"] = [t.numpy().tolist() for t in cubes(x)]
found["function"] = [t.numpy().tolist() for t in tf.function(cubes)(x)]
whole = tf.function(lambda x: dtensor.relayout(x * 2, rows))(x)
found["parts"] = [list(shard.data.shape) for shard in whole.array.addressable_shards]
made = dtensor.call_with_layout(lambda n: {"a": tf.ones((n, 4))}, rows, 16)
found["called"] = [list(shard.data.shape) for shard in made["a"].array.addressable_shards]

import keras

keras.utils.set_random_seed(0)
data = np.random.default_rng(0).normal(size=(45, 8)).astype("float32")
wanted = data.sum(1, keepdims=True)


def model(divide):
    keras.utils.set_random_seed(0)
    model = keras.Sequential([
        keras.Input((8,)), keras.layers.Dense(16, activation="tanh"), keras.layers.Dense(8),
        keras.layers.Dense(1),
    ])
    if divide:
        for weight in model.weights:
            if weight.shape[0] % 8 == 0:
                dtensor.lay_out(
                    weight, dtensor.Layout.batch_sharded(row, "batch", rank=len(weight.shape))
                )
    model.compile("adam", "mse")
    history = model.fit(data, wanted, batch_size=15, epochs=2, shuffle=False, verbose=0).history
    kernel = model.layers[1].kernel
    speed = next(v for v in model.optimizer.variables if v.shape == kernel.shape)
    return history["loss"], [w.ravel().tolist() for w in model.get_weights()], [
        parts(v.__gradtape_variable__) for v in (kernel, speed)
    ]


found["keras"] = model(False), model(True)
"""
)


@pytest.fixture(scope="module")
def relayouts():
    return run(RELAYOUT)


def test_relayout_is_the_identity_with_derivatives(relayouts):
    for one, other in zip(relayouts["eager"], relayouts["function"], strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6)
    x = np.random.default_rng(0).normal(size=(8, 4)).astype("float32")
    for found, expected in zip(
        relayouts["function"], [(x**3).sum(), 3 * x**2, 6 * x, 2 * x * x, 2 * x], strict=True
    ):
        np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_results_are_divided(relayouts):
    assert relayouts["parts"] == [[2, 4]] * 8
    assert relayouts["called"] == [[4, 4]] * 8


def test_a_keras_model_by_layouts_alone(relayouts):
    alone, divided = relayouts["keras"]
    np.testing.assert_allclose(divided[0], alone[0], rtol=1e-5)
    for one, other in zip(divided[1], alone[1], strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)
    assert divided[2] == [[[2, 8]] * 8] * 2  # the optimizer's part too


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda mesh: dtensor.Layout(["model"], mesh), "must be different axes of the mesh"),
        (lambda mesh: dtensor.Layout(["batch", "batch"], mesh), "must be different axes"),
        (lambda mesh: dtensor.Layout(["batch"], "cpu"), "mesh must be a Mesh"),
        (lambda mesh: tf.Variable(1.0, layout=dtensor.Layout(["batch"], mesh)), "does not fit"),
        (lambda mesh: tf.Variable(["a"], layout=dtensor.Layout(["batch"], mesh)), "on the host"),
        (lambda mesh: tf.Variable(1.0, layout="batch"), "layout must be a gradtape.experimental"),
        (lambda mesh: dtensor.lay_out(tf.constant(1.0), None), "a Variable is expected"),
        (lambda mesh: dtensor.relayout([[1.0]], dtensor.Layout(["batch"], mesh)), "does not fit"),
        (
            lambda mesh: tf.Variable(lambda: [[1.0]], layout=dtensor.Layout(["batch"], mesh)),
            "a result: a layout of 1 axes",
        ),
    ],
)
def test_what_no_layout_divides(make, said):
    with pytest.raises((ValueError, TypeError)) as raised:
        make(dtensor.create_mesh())
    assert said in str(raised.value)


def test_layouts_are_compared_by_what_they_say():
    mesh = dtensor.create_mesh()
    layout = dtensor.Layout(["batch", None], mesh)
    assert layout == dtensor.Layout.batch_sharded(mesh, "batch", rank=2)
    assert len({layout, dtensor.Layout(["batch", dtensor.UNSHARDED], mesh)}) == 1
    assert layout != dtensor.Layout.replicated(mesh, rank=2)
    assert repr(layout) == "Layout(['batch', 'unsharded'], Mesh(batch=1))"
    assert dtensor.call_with_layout(lambda x: x + 1, None, 2) == 3
