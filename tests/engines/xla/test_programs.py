"""What XLA's compiler is told about a program: options that are there, known,
and not the user's own to set; and programs that run only if JAX is prepared for them.
"""

import os
import subprocess
import sys

import numpy as np
import pytest

import gradtape as tf
from gradtape.engines.xla import engine as xla_engine
from gradtape.engines.xla import programs as xla_programs
from gradtape.engines.xla.loading import load


def _jaxpr_of(function, *arrays):
    return load().make_jaxpr(function)(*arrays).jaxpr


def _conv(x):
    w = np.ones((3, 3, 4, 4), np.float32)
    lax = load().lax
    return lax.conv_general_dilated(
        x, w, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")
    )


def _options(function):
    return (
        xla_programs.compiler_options(_jaxpr_of(function, np.ones((1, 8, 8, 4), np.float32))) or {}
    )


@pytest.fixture
def an_old_processor(monkeypatch):
    monkeypatch.setattr(xla_programs, "_has_long_vectors", lambda: False)
    monkeypatch.setattr(xla_programs, "cores", lambda: 2)


def test_programs_with_convolutions_have_an_option_on_few_cores(monkeypatch, an_old_processor):
    jax = load()
    name, value = xla_programs._PRODUCTS_ALONE
    on_cpu = jax.default_backend() == "cpu"
    expected = {name: value} if on_cpu and xla_programs._is_known(name, value) else {}
    assert _options(lambda x: x + 1) == {}
    assert _options(_conv) == expected
    assert _options(lambda x: jax.lax.fori_loop(0, 3, lambda _, x: _conv(x), x)) == expected
    monkeypatch.setattr(xla_programs, "cores", lambda: 16)
    assert _options(_conv) == {}


def test_long_vectors_where_the_processor_has_them(monkeypatch, an_old_processor):
    name, value = xla_programs._LONG_VECTORS
    monkeypatch.setattr(xla_programs, "_has_long_vectors", lambda: True)
    on_cpu = load().default_backend() == "cpu"
    assert _options(lambda x: x + 1) == (
        {name: value} if on_cpu and xla_programs._is_known(name, value) else {}
    )
    monkeypatch.setenv("XLA_FLAGS", f"--{name}=256")
    assert _options(lambda x: x + 1) == {}


def test_an_option_that_xla_does_not_know_is_left_out():
    assert not xla_programs._is_known("xla_cpu_no_such_option", "1")
    # The versions that these options were tried with.
    if (0, 10) <= load().__version_info__ < (0, 11):
        assert xla_programs._is_known(*xla_programs._PRODUCTS_ALONE)
        assert xla_programs._is_known(*xla_programs._LONG_VECTORS)


def test_xla_flags_of_the_user_win():
    source = (
        "import numpy as np, jax\n"
        "from gradtape.engines.xla import programs as xla_programs\n"
        "xla_programs.cores, xla_programs._has_long_vectors = lambda: 2, lambda: True\n"
        "x, w = np.ones((1, 8, 8, 4), 'f4'), np.ones((3, 3, 4, 4), 'f4')\n"
        "conv = lambda x: jax.lax.conv_general_dilated(x, w, (1, 1), 'SAME', "
        "dimension_numbers=('NHWC', 'HWIO', 'NHWC'))\n"
        "print(xla_programs.compiler_options(jax.make_jaxpr(conv)(x).jaxpr))\n"
    )
    given = ["--xla_cpu_prefer_vector_width=256"]
    # XLA ends a process whose flags it does not know.
    if xla_programs._is_known(*xla_programs._PRODUCTS_ALONE):
        given.append("--xla_cpu_experimental_ynn_fusion_type=+individual_convolution")
    flags = {"XLA_FLAGS": " ".join(given)}
    done = subprocess.run(
        [sys.executable, "-c", source],
        env={**os.environ, **flags},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == "None"


def test_a_program_with_options_becomes_part_of_one_that_jax_traces(monkeypatch):
    jax = load()
    monkeypatch.setattr(xla_programs, "_has_long_vectors", lambda: True)
    double = tf.function(lambda x: x * 2)
    x = tf.constant([1.0, 2.0])
    assert double(x).numpy().tolist() == [2.0, 4.0]

    def added(y):
        found = double(x)  # an XlaTensor, if there are several devices
        held = getattr(found, "held", None)
        return y + xla_engine.to_xla(found.array if held is None else held)

    program = jax.jit(added)
    assert program(np.float32(1)).tolist() == [3.0, 5.0]


def test_a_program_that_is_not_prepared_does_nothing():
    jax = load()
    add = lambda v, x: [v + x]
    guarded = xla_programs.Guarded(jax.jit(add, donate_argnums=(0,)), add)  # it writes over v
    v, x = jax.numpy.zeros(3), jax.numpy.ones(3)
    with pytest.raises(xla_programs.UnpreparedError):
        list(guarded.program(v, x))
    assert not v.is_deleted()
    (found,) = guarded.prepare(jax.numpy.zeros(3), x)
    (found,) = guarded.program(found, x)
    np.testing.assert_array_equal(found, [2.0, 2.0, 2.0])
    with jax.default_matmul_precision("highest"), pytest.raises(xla_programs.UnpreparedError):
        list(guarded.program(found, x))  # a setting that programs depend on has changed
    assert not found.is_deleted()
    list(guarded.program(found, x))
    assert found.is_deleted()
