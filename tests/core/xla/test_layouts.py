"""Variables that are divided among eight devices: where their values are, what is fetched, how
often XLA compiles, and which device computes what.
"""

import numpy as np
import pytest

from tests.many_devices import COMPILED, run

CODE = (
    COMPILED
    + """
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P

from gradtape.engines.xla import engine
from gradtape.extend import HeldTensor, Layout, lay_out

mesh = Mesh(np.array(jax.devices()), ("rows",))
whole, rows = (Layout(NamedSharding(mesh, spec), "rows") for spec in (P(), P("rows")))

fetched = []
fetch = engine.to_numpy
engine.to_numpy = lambda array: fetched.append(array.shape) or fetch(array)


def spec(variable):
    held = vars(variable).get("held")
    return None if held is None else list(held.sharding.spec)


# What is asked of a value without its numbers.
v = tf.Variable(np.arange(16, dtype=np.float32), name="v")
lay_out(v, rows)
t = HeldTensor(v.held)
described = [str(v.shape), v.dtype.name, v.ndim, str(t.shape), t.dtype.name, t.ndim]
found["described"] = described, list(fetched), type(t).__name__, "array" in v.__dict__


@tf.function
def read(x):
    return v * x


doubled = read(tf.constant(2.0))
found["read"] = list(doubled.outline.sharding.spec), list(fetched), doubled.numpy().tolist()

# Writes: by a program, by eager code, by a restored checkpoint.
w = tf.Variable(np.zeros(16, np.float32))
lay_out(w, rows)


@tf.function
def write(x):
    w.assign(x)
    return tf.reduce_sum(w)


ones = np.ones(16, np.float32)
compiled.clear()
found["written"] = [float(write(tf.constant(ones * i))) for i in range(4)], spec(w)
found["compiled"] = len(compiled)
w.assign(ones * 7)
eager = w.numpy().tolist()
found["after eager"] = float(write(tf.constant(ones))), spec(w), eager
w.assign_add(ones)
found["added"] = w.numpy().tolist()
checkpoint = tf.train.Checkpoint(w=w)
import tempfile
with tempfile.TemporaryDirectory() as folder:
    path = checkpoint.save(folder + "/c")
    w.assign(ones * 3)
    checkpoint.restore(path)


@tf.function
def total():
    return tf.reduce_sum(w)


found["restored"] = float(total()), spec(w), w.numpy().tolist()
found["compiled after all"] = len(compiled)

# What XLA would leave divided in another way stays as its layout says, and is compiled for once.
kernel, bias = tf.Variable(np.ones((8, 8), np.float32)), tf.Variable(np.zeros(8, np.float32))
lay_out(kernel, Layout(NamedSharding(mesh, P(None, "rows")), "rows"))
lay_out(bias, whole)
compiled.clear()


@tf.function
def step(x):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((x @ kernel + bias) ** 2)
    for variable, gradient in zip((kernel, bias), tape.gradient(loss, (kernel, bias))):
        variable.assign_sub(0.1 * gradient)
    return loss, tf.random.uniform([])


for _ in range(5):
    step(tf.constant(np.ones((16, 8), np.float32)))
found["step"] = len(compiled), spec(kernel), spec(bias)

# Another layout, after programs were made.
lay_out(bias, rows)
step(tf.constant(np.ones((16, 8), np.float32)))
step(tf.constant(np.ones((16, 8), np.float32)))
found["relaid"] = spec(bias)
lay_out(bias, None)
found["no layout"] = bias.divided_as is None, spec(bias)

# A tape outside.
with tf.GradientTape() as tape:
    loss = read(tf.constant(2.0))
found["tape outside"] = tape.gradient(loss, v).numpy().tolist(), list(loss.outline.sharding.spec)
"""
)


@pytest.fixture(scope="module")
def found():
    return run(CODE)


def test_shape_and_dtype_fetch_no_values(found):
    described, fetched, kind, has_array = found["described"]
    assert described == ["(16,)", "float32", 1, "(16,)", "float32", 1]
    assert fetched == []
    assert kind == "HeldTensor"
    assert not has_array


def test_results_of_functions_stay_divided(found):
    spec, fetched, values = found["read"]
    assert spec == ["rows"]
    assert fetched == []
    assert values == [2.0 * i for i in range(16)]


def test_what_a_program_writes_stays_divided(found):
    values, spec = found["written"]
    assert values == [0.0, 16.0, 32.0, 48.0]
    assert spec == ["rows"]
    assert found["compiled"] == 1


def test_what_eager_code_writes_is_divided_again(found):
    total, spec, values = found["after eager"]
    assert values == [7.0] * 16
    assert (total, spec) == (16.0, ["rows"])
    assert found["added"] == [2.0] * 16


def test_what_is_restored_is_divided_again(found):
    total, spec, values = found["restored"]
    assert (total, spec) == (32.0, ["rows"])
    assert values == [2.0] * 16
    assert found["compiled after all"] == 2


def test_a_step_is_compiled_once_whatever_the_layout(found):
    assert found["step"] == [1, [None, "rows"], []]


def test_another_layout_is_that_of_programs_too(found):
    assert found["relaid"] == ["rows"]
    assert found["no layout"] == [True, None]


def test_a_tape_outside_leaves_results_divided(found):
    gradient, spec = found["tape outside"]
    assert gradient == [2.0] * 16
    assert spec == ["rows"]


BATCHES = (
    COMPILED
    + """
import gc

from jax.sharding import Mesh, NamedSharding, PartitionSpec as P

from gradtape.extend import Layout, lay_out

said = []
logging.getLogger("gradtape").addFilter(lambda record: bool(said.append(record.getMessage())))
layout = Layout(NamedSharding(Mesh(np.array(jax.devices()), ("batch",)), P()), "batch")
random = np.random.default_rng(0)
x, y = (random.normal(size=(48, n)).astype(np.float32) for n in (32, 8))


def trained(spread, sizes, steps=6):
    kernel = tf.Variable(np.full((32, 256), 0.01, np.float32))
    last = tf.Variable(np.full((256, 8), 0.01, np.float32))
    if spread:
        lay_out(kernel, layout)
        lay_out(last, layout)

    @tf.function
    def step(x, y):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((tf.tanh(x @ kernel) @ last - y) ** 2)
        for variable, gradient in zip((kernel, last), tape.gradient(loss, (kernel, last))):
            variable.assign_sub(0.1 * gradient)
        return loss

    losses = [float(step(tf.constant(x[:n]), tf.constant(y[:n]))) for n in sizes]
    return losses, last.numpy().tolist(), step


def costs():
    return [
        found.cost_analysis().get("flops", 0.0)
        for found in jax.devices()[0].client.live_executables()
    ]


alone = trained(False, [48] * 6)
found["alone"], cost = alone[:2], max(costs())
del alone
gc.collect()
shared = trained(True, [48] * 6)
found["shared"] = shared[:2]
found["flops"] = cost, max(costs())
del shared
gc.collect()
sizes = [48, 45, 48, 45, 13, 1]
found["uneven alone"] = trained(False, sizes)[:2]
found["uneven"] = trained(True, sizes)[:2]
found["uneven flops"] = max(costs())
found["said nothing"] = list(said)

v = tf.Variable(np.ones(512, np.float32))
lay_out(v, layout)


@tf.function
def with_a_table(x, table):
    return tf.reduce_sum(x @ table) + tf.reduce_sum(v)


wide = tf.constant(np.ones((4096, 512), np.float32))
table = tf.constant(np.ones((512, 256), np.float32))
for _ in range(3):
    value = with_a_table(wide, table)
found["note"] = float(value), list(said)


@tf.function
def seen_from_outside(x):
    return tf.reduce_sum(tf.tanh(x) * v[:3])


gradients = []
for n in (16, 13):
    with tf.GradientTape() as tape:
        loss = seen_from_outside(tf.constant(np.ones((n, 3), np.float32)))
    gradients.append(tape.gradient(loss, v).numpy()[:4].tolist())
found["outside"] = gradients
"""
)


@pytest.fixture(scope="module")
def batches():
    return run(BATCHES)


def test_host_batches_are_divided_among_devices(batches):
    np.testing.assert_allclose(batches["shared"][0], batches["alone"][0], rtol=1e-5)
    np.testing.assert_allclose(batches["shared"][1], batches["alone"][1], rtol=1e-5, atol=1e-6)
    whole, part = batches["flops"]
    # Updates of weights are everyone's.
    assert part < whole / 8 + 3 * (32 * 256 + 256 * 8)


def test_rows_that_do_not_divide_count_once(batches):
    np.testing.assert_allclose(batches["uneven"][0], batches["uneven alone"][0], rtol=1e-5)
    np.testing.assert_allclose(
        batches["uneven"][1], batches["uneven alone"][1], rtol=1e-5, atol=1e-6
    )
    assert batches["said nothing"] == []


def test_the_log_says_once_what_goes_whole_to_every_device(batches):
    value, said = batches["note"]
    assert value == 4096 * 512 * 256 + 512
    (message,) = said
    assert "with_a_table: an argument of shape [512, 256] goes whole to each of the 8" in message


def test_batches_for_a_tape_outside(batches):
    for n, gradient in zip((16, 13), batches["outside"], strict=True):
        np.testing.assert_allclose(gradient, [np.tanh(1) * n] * 3 + [0], rtol=1e-5)


IN_FLIGHT = """
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P
import jax

from gradtape.extend import Layout, lay_out

layout = Layout(NamedSharding(Mesh(np.array(jax.devices()), ("batch",)), P()), "batch")
v = tf.Variable(np.zeros((64, 8), np.float32))
lay_out(v, layout)


@tf.function
def step(x):
    v.assign_add(tf.matmul(x, tf.tanh(x @ v) + 1.0, transpose_a=True) / 64.0)


@tf.function
def loss(x):
    return tf.reduce_sum(tf.tanh(x @ v))


x = tf.constant(np.ones((64, 64), np.float32) / 64)
for _ in range(300):
    step(x)
    result = loss(x)
found["loss"] = float(result)
"""


def test_many_steps_without_looking_at_results():
    assert np.isfinite(run(IN_FLIGHT, timeout=120)["loss"])
