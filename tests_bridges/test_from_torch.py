"""`bridge.from_torch` and `bridge.variables`: PyTorch's functions and modules are ops."""

import gc
import weakref

import numpy as np
import pytest
import torch

import gradtape as tf
from gradtape.bridge import from_torch, variables

X, Y = (tf.constant(np.random.default_rng(i).uniform(0.5, 2.0, 3)) for i in (0, 1))


def close(found, expected, rtol=1e-12):
    np.testing.assert_allclose(np.asarray(found), np.asarray(expected), rtol=rtol, atol=1e-12)


def in_torch(x, y):
    return torch.sin(x) * y**2 + x.sum() / y


def here(x, y):
    return tf.sin(x) * y**2 + tf.reduce_sum(x) / y


def derivatives(f, x, y):
    rows = tf.stack([x, y])
    with tf.GradientTape(persistent=True) as second:
        second.watch([x, y])
        with tf.GradientTape(persistent=True) as first:
            first.watch([x, y, rows])
            out = f(x, y)
            mapped = tf.vectorized_map(lambda row: f(row, y), rows)
        gradient = first.gradient(out, [x, y])
    found = {"out": out, "by x": gradient[0], "by y": gradient[1], "map": mapped}
    found["jacobian"] = first.jacobian(out, x)
    found["gradient of map"] = first.gradient(mapped, rows)
    found["second"] = second.gradient(gradient[0], x)
    found["mixed"] = second.gradient(gradient[0], y)
    with tf.autodiff.ForwardAccumulator([x, y], [y, x]) as accumulator:
        out = f(x, y)
    found["jvp"] = accumulator.jvp(out)
    with tf.GradientTape() as tape:
        tape.watch(x)
        with tf.autodiff.ForwardAccumulator(x, y) as accumulator:
            out = f(x, y)
        tangent = accumulator.jvp(out)
    found["gradient of jvp"] = tape.gradient(tangent, x)
    return found


EXPECTED = {name: np.asarray(value) for name, value in derivatives(here, X, Y).items()}


@pytest.mark.parametrize("way", ["eager", "function", "around"])
def test_derivatives(way):
    f = from_torch(in_torch)
    if way == "function":
        found = tf.function(lambda x, y: derivatives(f, x, y))(X, Y)
    else:
        found = derivatives(f if way == "eager" else tf.function(f), X, Y)
    for name, value in EXPECTED.items():
        close(found[name], value)


def test_structures_integers_and_what_is_not_connected():
    def f(d, scale, flag, *, more):
        kept = d["a"] * scale if flag == "yes" else d["a"]
        return {"x": kept, "n": [d["n"] + 1, None, "text"], "y": more.detach() * d["a"]}

    v, w = tf.Variable([1.0, 2.0]), tf.Variable(3.0)
    with tf.GradientTape(persistent=True) as tape:
        found = from_torch(f)({"a": v, "n": tf.constant([1, 2])}, 2, "yes", more=w)
    assert found["x"].numpy().tolist() == [2, 4]
    assert found["n"][0].numpy().tolist() == [2, 3]
    assert found["n"][1:] == [None, "text"]
    assert tape.gradient(found["x"], [v, w])[0].numpy().tolist() == [2, 2]
    assert tape.gradient(found["x"], w) is None
    assert tape.gradient(found["y"], v).numpy().tolist() == [3, 3]
    assert tape.gradient(found["y"], w) is None
    assert tape.gradient(found["n"][0], v) is None


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64", "complex64"])
def test_dtypes(dtype):
    x = tf.cast(tf.constant([1.0, 2.0]), dtype)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = from_torch(lambda x: x * x)(x)
    gradient = tape.gradient(y, x)
    assert y.dtype == gradient.dtype == dtype
    assert gradient.numpy().astype("complex64").tolist() == [2, 4]


def test_complex_gradients_are_adjoints():
    z = tf.constant([1 + 2j, 3 - 1j])
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(z)
        mine, found = z * z * tf.math.conj(z), from_torch(lambda z: z * z * z.conj())(z)
    close(found, mine)
    close(tape.gradient(found, z), tape.gradient(mine, z))


def test_memory_is_shared():
    addresses = []

    def f(x):
        addresses.append(x.data_ptr())
        return x.view(2, 2)

    x = tf.constant([1.0, 2.0, 3.0, 4.0])
    y = from_torch(f)(x)
    assert addresses == [x.array.ctypes.data] == [y.array.ctypes.data]


def test_a_function_that_writes_to_its_argument_is_refused():
    with pytest.raises(ValueError, match="wrote to its argument 0"):
        from_torch(lambda x: x.add_(1))(tf.constant([1.0]))


def test_the_backward_step_does_not_run_it_again_and_lets_go_of_the_graph():
    runs = []

    def f(x):
        runs.append(1)
        out = x.exp()
        graphs.append(weakref.ref(out))  # which the graph holds
        return out

    graphs = []
    x = tf.Variable([1.0])
    with tf.GradientTape() as tape:
        y = from_torch(f)(x)
    assert graphs[0]() is not None
    close(tape.gradient(y, x), np.exp([1.0]), rtol=1e-6)
    gc.collect()
    assert len(runs) == 1
    assert graphs[0]() is None
    assert y is not None


def test_random_numbers_are_the_same_in_every_derivative():
    drop = from_torch(lambda x: torch.nn.functional.dropout(x * x, 0.5))
    x = tf.constant(np.ones(100))
    with tf.GradientTape() as second:
        second.watch(x)
        with tf.GradientTape() as first:
            first.watch(x)
            y = drop(x)
        gradient = first.gradient(y, x)
    close(gradient, 2 * y.numpy())
    close(second.gradient(gradient, x), 2 * y.numpy())


def module():
    return torch.nn.Sequential(
        torch.nn.Linear(3, 8), torch.nn.BatchNorm1d(8), torch.nn.Tanh(), torch.nn.Linear(8, 1)
    )


def test_the_gradients_of_a_module_are_pytorchs():
    net = module()
    x = np.random.default_rng(0).normal(size=(16, 3)).astype(np.float32)
    (net(torch.from_numpy(x)) ** 2).mean().backward()
    f, sources = from_torch(net), variables(net)
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(f(x) ** 2)
    gradients = tape.gradient(loss, sources)
    for found, parameter in zip(gradients, net.parameters(), strict=True):
        close(found, parameter.grad.numpy(), rtol=1e-4)
    assert [v.name for v in sources] == [f"{n}:0" for n, _ in net.named_parameters()]
    assert all(a is b for a, b in zip(sources, variables(net), strict=True))


def test_what_a_module_counts_is_counted_once():
    net = module()
    f = from_torch(net)
    x = tf.constant(np.random.default_rng(0).normal(size=(16, 3)).astype(np.float32))
    with tf.GradientTape() as outer:
        outer.watch(x)
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = f(x)
        gradient = tape.gradient(y, x)
    assert outer.gradient(gradient, x) is not None
    assert net[1].num_batches_tracked == 1


def test_updates_in_both_directions():
    net = torch.nn.Linear(2, 1)
    weight, bias = variables(net)
    weight.assign([[1.0, 2.0]])
    bias.assign_add([1.0])
    weight[0, 1].assign(5.0)
    assert net.weight.tolist() == [[1, 5]]
    assert net.bias.item() == bias.numpy()[0]
    with torch.no_grad():
        net.weight.mul_(2)
    assert weight.numpy().tolist() == [[2, 10]]
    net.weight.data = torch.tensor([[3.0, 4.0]])
    assert weight.numpy().tolist() == [[3, 4]]
    net.weight = torch.nn.Parameter(torch.tensor([[7.0, 8.0]]))
    assert weight.numpy().tolist() == [[7, 8]]
    net.load_state_dict({"weight": torch.tensor([[1.0, 1.0]]), "bias": torch.tensor([0.0])})
    assert from_torch(net)(tf.constant([[2.0, 3.0]])).numpy() == [[5]]


def test_what_a_tape_has_saved_stays():
    net = torch.nn.Linear(1, 1, bias=False)
    f, (w,) = from_torch(net), variables(net)
    w.assign([[3.0]])
    x = tf.Variable([[2.0]])
    with tf.GradientTape(persistent=True) as tape:
        y = f(x) * w
    with torch.no_grad():
        net.weight.fill_(100)
    assert tape.gradient(y, x).numpy() == 9
    assert w.numpy() == 100


@pytest.mark.parametrize("compiled", [False, True])
def test_training_by_either_optimizer(compiled):
    net = torch.nn.Sequential(torch.nn.Linear(2, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
    f, sources = from_torch(net), variables(net)
    x = np.random.default_rng(0).normal(size=(64, 2)).astype(np.float32)
    target = np.sin(x[:, :1]) + x[:, 1:]
    optimizer = tf.keras.optimizers.Adam(0.05)
    optimizer.build(sources)

    def step():
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((f(x) - target) ** 2)
        optimizer.apply_gradients(zip(tape.gradient(loss, sources), sources, strict=True))
        return loss

    run = tf.function(step) if compiled else step
    first = run().numpy()
    for _ in range(60):
        last = run().numpy()
    assert last < first / 10
    close(f(x), net(torch.from_numpy(x)).detach().numpy(), rtol=1e-5)
    theirs = torch.optim.SGD(net.parameters(), 0.05)
    for _ in range(20):
        theirs.zero_grad()
        ((net(torch.from_numpy(x)) - torch.from_numpy(target)) ** 2).mean().backward()
        theirs.step()
    assert run().numpy() < last


def test_parameters_that_are_frozen():
    net = torch.nn.Linear(2, 1)
    net.bias.requires_grad_(False)
    weight, bias = variables(net)
    assert (weight.trainable, bias.trainable) == (True, False)


def test_one_tape_over_a_keras_a_torch_and_a_jax_part():
    import jax.numpy as jnp

    net = torch.nn.Linear(4, 4)
    dense = tf.keras.layers.Dense(4, "tanh")
    dense.build((None, 3))
    last = tf.bridge.from_jax(lambda w, x: jnp.tanh(x @ w).sum())
    w = tf.Variable(tf.ones([4, 2]) / 4)
    x = tf.random.normal([5, 3])
    with tf.GradientTape() as tape:
        y = last(w, from_torch(net)(dense(x)))
    sources = [*dense.trainable_variables, *variables(net), w]
    assert all(g is not None for g in tape.gradient(y, sources))


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: from_torch(3), TypeError, "f must be a PyTorch function or a module, got 3"),
        (lambda: from_torch(torch.sin)(tf.constant("a")), TypeError, "an argument holds strings"),
        (lambda: variables(torch.sin), TypeError, "module must be a torch.nn.Module"),
    ],
)
def test_errors(call, error, words):
    with pytest.raises(error, match=words):
        call()
