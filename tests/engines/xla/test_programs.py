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
    jaxpr = _jaxpr_of(function, np.ones((1, 8, 8, 4), np.float32))
    return xla_programs.compiler_options(jaxpr, xla_programs.contents(jaxpr)[0]) or {}


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


def _kept(x):
    return (load().lax.optimization_barrier(x * 2) - 1).astype(x.dtype)


def _in_scan(x):
    return load().lax.scan(lambda c, e: (_kept(e), _kept(c)), x[0], x)[1]


def _in_while(x):
    def step(state):
        count, value = state
        return count + 1, _kept(value)

    return load().lax.while_loop(lambda state: state[0] < 3, step, (0, x))[1]


def _in_branch(x):
    return load().lax.cond(x.ravel()[:1].sum() > 0, _kept, lambda x: x, x)


def _in_branch_of_scan(x):
    return load().lax.scan(lambda c, e: (c, _in_branch(e)), 0, x)[1]


def _in_function(x):
    return load().jit(_kept)(x) + load().vmap(_kept)(x)


def _in_checkpoint(x):
    """JAX writes the barrier itself."""
    jax = load()
    again = jax.checkpoint(lambda c, e: (c * e).sum())
    slopes = jax.grad(lambda y: jax.lax.scan(lambda c, e: (c, again(c, e)), y[0], y)[1].sum())
    return _kept(x), slopes(x) if x.dtype.kind == "f" else x


def _in_loaded_program(x):
    """Nobody sees what is in it."""
    jax = load()
    exported = jax.export.export(jax.jit(_in_scan))(jax.ShapeDtypeStruct(x.shape, x.dtype))
    return _kept(x) + exported.call(x)


def _of_several(x):
    y, z = load().lax.optimization_barrier((x, x.sum(0)))
    return y + z


@pytest.mark.sampled(6)
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "bfloat16", "int32", "bool"])
@pytest.mark.parametrize(
    "function",
    [
        _kept,
        _in_scan,
        _in_while,
        _in_branch,
        _in_branch_of_scan,
        _in_function,
        _of_several,
        _in_checkpoint,
        _in_loaded_program,
    ],
)
def test_programs_with_barriers_compile_wherever_the_barriers_stand(function, dtype):
    """XLA has no code for a barrier in a loop that it writes as one function, as it does if all of
    the loop is small.
    """
    jax = load()
    of_its_own = function in (_kept, _in_branch, _in_function, _of_several)
    in_large_loops = function in (_in_scan, _in_while, _in_branch_of_scan)
    with jax.enable_x64(True):
        for shape in [(3, 1), (3, 4), (3, 64), (3, 256), (3, 2**11), (3, 2**13), (3, 0), (1, 5)]:
            x = (np.arange(np.prod(shape)).reshape(shape) % 5 - 2).astype(dtype)  # exact in all
            jaxpr = _jaxpr_of(function, x)
            options = xla_programs.compiler_options(jaxpr, xla_programs.contents(jaxpr)[0])
            found = jax.jit(function, compiler_options=options).lower(x).compile()(x)
            for one, other in zip(
                jax.tree.leaves(found), jax.tree.leaves(jax.jit(function)(x)), strict=True
            ):
                np.testing.assert_array_equal(one, other)
            stays = of_its_own or (in_large_loops and x[0].nbytes >= 2**14)
            if jax.default_backend() == "cpu" and stays:
                assert dict([xla_programs._BARRIERS_STAY]).items() <= options.items()


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
        "jaxpr = jax.make_jaxpr(conv)(x).jaxpr\n"
        "print(xla_programs.compiler_options(jaxpr, xla_programs.contents(jaxpr)[0]))\n"
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


def test_contents_are_those_of_all_parts():
    jax = load()

    def body(carry, x):
        return carry + x.astype(np.float32), jax.numpy.sin(x)

    jaxpr = _jaxpr_of(lambda xs: jax.lax.scan(body, np.float32(0), xs), np.ones(3, np.float16))
    names, kinds = xla_programs.contents(jaxpr)
    assert {"scan", "sin", "add", "convert_element_type"} <= names
    assert kinds == {np.dtype(np.float16), np.dtype(np.float32)}


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
