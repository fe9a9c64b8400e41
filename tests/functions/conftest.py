"""On an accelerator these tests compare with NumPy, so that products are computed with all bits of
float32 there, as on a CPU.
"""

from __future__ import annotations

import pytest

import gradtape as tf
from gradtape.engines.xla.loading import load


@pytest.fixture(autouse=True, scope="package")
def all_bits_of_float32():
    jax = load()
    if jax.default_backend() == "cpu":
        yield
        return
    before = jax.config.jax_default_matmul_precision
    jax.config.update("jax_default_matmul_precision", "highest")
    yield
    jax.config.update("jax_default_matmul_precision", before)


@pytest.fixture
def every_shape_is_compiled():
    """For tests of what happens when a shape is compiled, or traced."""
    tf.config.set_compile_every_shape(True)
    yield
    tf.config.set_compile_every_shape(False)
