"""Jacobians and higher derivatives in JAX."""

import jax
import jax.numpy as jnp

from benchmarks.libraries import Step, named
from benchmarks.libraries.programs_in_jax import program
from benchmarks.workloads import HIDDEN, VISCOSITY, Inputs


def _network(x, w1, w2):
    return jnp.tanh(x @ w1) @ w2


def jacobian(inputs: Inputs) -> Step:
    return program(lambda x, w1, w2: [jax.jacrev(_network)(x, w1, w2)], inputs.x, *inputs.weights)


def batch_jacobian(inputs: Inputs) -> Step:
    each = jax.vmap(jax.jacrev(_network), in_axes=(0, None, None))
    return program(lambda x, w1, w2: [each(x, w1, w2)], inputs.x, *inputs.weights)


def hessian(inputs: Inputs) -> Step:
    def loss(theta, x, y):
        w1 = theta[: 8 * HIDDEN].reshape(8, HIDDEN)
        b1, w2 = theta[8 * HIDDEN : 9 * HIDDEN], theta[9 * HIDDEN :].reshape(HIDDEN, 1)
        return jnp.mean(jnp.square(jnp.tanh(x @ w1 + b1) @ w2 - y))

    return program(lambda theta, x, y: [jax.hessian(loss)(theta, x, y)], inputs.x, *inputs.y)


def _curve(rates, times):
    return rates[0] * jnp.exp(-rates[1] * times) * jnp.sin(rates[2] * times)


def curves(inputs: Inputs) -> Step:
    return program(lambda rates, times: [_curve(rates, times)], inputs.x, inputs.y)


def tall_jacobian(inputs: Inputs) -> Step:
    return program(lambda rates, times: [jax.jacfwd(_curve)(rates, times)], inputs.x, inputs.y)


def burgers(inputs: Inputs) -> Step:
    def loss(weights, x, t):
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

    return program(jax.grad(loss), list(inputs.weights), inputs.x[:, :1], inputs.x[:, 1:])


DERIVATIVES = named(jacobian, batch_jacobian, hessian, curves, tall_jacobian, burgers)
