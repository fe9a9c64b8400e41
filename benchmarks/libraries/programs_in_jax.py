"""How a function becomes a step in JAX."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from benchmarks.libraries import Step
from benchmarks.workloads import Inputs


def program(function: Callable[..., Any], *arguments: Any) -> Step:
    """A compiled function, which returns when its results are there."""
    compiled = jax.jit(function)
    placed = jax.block_until_ready(tuple(jax.tree.map(jnp.asarray, arguments)))
    return Step(lambda *given: jax.block_until_ready(compiled(*given)), placed)


def gradients(loss: Callable[..., Any], inputs: Inputs) -> Step:
    """The gradients of `loss(weights, x, y)` by all weights."""
    return program(jax.grad(loss), list(inputs.weights), inputs.x, inputs.y)
