"""The workloads in JAX on the CPU, each compiled as one program."""

import jax
import jax.numpy as jnp

from benchmarks.libraries import Step
from benchmarks.libraries.networks_in_jax import calls, cnn, elementwise, lstm, transformer, update  # noqa: F401
from benchmarks.workloads import CHAIN_FACTOR, CHAIN_LENGTH, CHAIN_SUMMAND, HIDDEN, VISCOSITY, Inputs


def small_mlp(inputs: Inputs) -> Step:
    def loss(weights, x, y):
        w1, b1, w2, b2, w3, b3 = weights
        h = jnp.tanh(x @ w1 + b1)
        h = jnp.tanh(h @ w2 + b2)
        return jnp.mean(jnp.square(h @ w3 + b3 - y))

    return _compiled(loss, inputs.weights, inputs.x, inputs.y)


def chain(inputs: Inputs) -> Step:
    def total(weights):
        (z,) = weights
        for _ in range(CHAIN_LENGTH):
            z = jnp.tanh(z * CHAIN_FACTOR + CHAIN_SUMMAND)
        return jnp.sum(z)

    return _compiled(total, [inputs.x])


def large_mlp(inputs: Inputs) -> Step:
    def loss(weights, x, labels):
        w1, b1, w2, b2, w3, b3 = weights
        h = jax.nn.relu(x @ w1 + b1)
        h = jax.nn.relu(h @ w2 + b2)
        log_probabilities = jax.nn.log_softmax(h @ w3 + b3)
        return -jnp.mean(jnp.take_along_axis(log_probabilities, labels[:, None], axis=1))

    return _compiled(loss, inputs.weights, inputs.x, inputs.y)


def _compiled(loss, weights, *data) -> Step:
    gradient = jax.jit(jax.grad(loss))
    weights, data = [jnp.asarray(weight) for weight in weights], [jnp.asarray(part) for part in data]
    return lambda: jax.block_until_ready(gradient(weights, *data))


def jacobian(inputs: Inputs) -> Step:
    w1, w2 = (jnp.asarray(weight) for weight in inputs.weights)
    return _ready(jax.jacrev(lambda x: jnp.tanh(x @ w1) @ w2), inputs.x)


def batch_jacobian(inputs: Inputs) -> Step:
    w1, w2 = (jnp.asarray(weight) for weight in inputs.weights)
    return _ready(jax.vmap(jax.jacrev(lambda x: jnp.tanh(x @ w1) @ w2)), inputs.x)


def hessian(inputs: Inputs) -> Step:
    x, y = (jnp.asarray(part) for part in inputs.y)

    def loss(theta):
        w1 = theta[: 8 * HIDDEN].reshape(8, HIDDEN)
        b1, w2 = theta[8 * HIDDEN : 9 * HIDDEN], theta[9 * HIDDEN :].reshape(HIDDEN, 1)
        return jnp.mean(jnp.square(jnp.tanh(x @ w1 + b1) @ w2 - y))

    return _ready(jax.hessian(loss), inputs.x)


def curves(inputs: Inputs) -> Step:
    return _ready(_curve(inputs), inputs.x)


def tall_jacobian(inputs: Inputs) -> Step:
    return _ready(jax.jacfwd(_curve(inputs)), inputs.x)


def burgers(inputs: Inputs) -> Step:
    x, t = jnp.asarray(inputs.x[:, :1]), jnp.asarray(inputs.x[:, 1:])

    def loss(weights):
        def u(x, t):
            h = jnp.concatenate([x, t], axis=1)
            *layers, w, b = weights
            for i in range(0, len(layers), 2):
                h = jnp.tanh(h @ layers[i] + layers[i + 1])
            return h @ w + b

        ones = jnp.ones_like(x)
        along_x = lambda x: jax.jvp(lambda x: u(x, t), (x,), (ones,))
        (value, u_x), (_, u_xx) = jax.jvp(along_x, (x,), (ones,))
        u_t = jax.jvp(lambda t: u(x, t), (t,), (ones,))[1]
        return jnp.mean(jnp.square(u_t + value * u_x - VISCOSITY * u_xx))

    return _compiled(loss, inputs.weights)


def _curve(inputs: Inputs):
    times = jnp.asarray(inputs.y)
    return lambda rates: rates[0] * jnp.exp(-rates[1] * times) * jnp.sin(rates[2] * times)


def _ready(function, x) -> Step:
    compiled, x = jax.jit(function), jnp.asarray(x)
    return lambda: [jax.block_until_ready(compiled(x))]
