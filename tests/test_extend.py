"""`gradtape.extend`: what packages built on gradtape may use beside its public names."""

import functools

import numpy as np
import pytest

import gradtape as tf
from gradtape import extend
from gradtape.ops.computing import only_computes
from gradtape.ops.registry import registry

NAMES = [
    "ON_HOST", "Block", "DisturbedError", "HeldTensor", "Layout", "MadeBy", "binary", "block",
    "combine_rows", "forget", "hide_frames", "hold", "join_processes", "lay_out",
    "look_into", "of_the_first_process", "op",
    "outside_programs", "quietly", "random_states", "regions", "replica_context", "scan",
    "trace_again", "unary", "undisturbed", "variables_made", "why_none", "writing",
]  # fmt: skip


def test_its_names_are_pinned():
    assert sorted(extend.__all__) == sorted(NAMES)
    assert all(hasattr(extend, name) for name in NAMES)


@pytest.fixture
def declared():
    """Ops of a user's own: elementwise ones, and one with a rule by hand,
    parameters and two arguments.
    """
    yield {
        "cube": extend.unary("own_cube", lambda xp, x: x * x * x, lambda g, x: g * x * x * 3),
        "hypot": extend.binary(
            "own_hypot",
            lambda xp, x, y: xp.sqrt(x * x + y * y),
            lambda g, x, out: g * x / out,
            lambda g, y, out: g * y / out,
        ),
        "shift": extend.op(
            "own_shift",
            lambda xp, x, *, steps: xp.roll(x, steps, -1),
            [lambda g, steps: tf.roll(g, -steps, -1)],
            linear=True,
        ),
    }
    for name in ("own_cube", "own_hypot", "own_shift"):
        extend.forget(name)


def calls(ops):
    return {
        "cube": lambda x: ops["cube"](x),
        "hypot": lambda x: ops["hypot"](x, x[::-1] + 1.0),
        "shift": lambda x: ops["shift"](x, steps=1) * x,
    }


REFERENCES = {
    "cube": lambda x: x**3,
    "hypot": lambda x: np.hypot(x, x[::-1] + 1.0),
    "shift": lambda x: np.roll(x, 1, -1) * x,
}


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("name", REFERENCES)
def test_an_op_of_ones_own(declared, name, compiled):
    call = calls(declared)[name]
    function = tf.function(call) if compiled else call
    values = np.array([0.5, -1.5, 2.0])
    x = tf.constant(values)
    with tf.GradientTape(persistent=True) as outer:
        outer.watch(x)
        with tf.GradientTape(persistent=True) as tape:
            tape.watch(x)
            y = function(x)
        gradient = tape.gradient(y, x)
    reference = REFERENCES[name]
    np.testing.assert_allclose(y.numpy(), reference(values))
    step = 1e-6 * np.eye(3)
    jacobian = np.stack(
        [(reference(values + e) - reference(values - e)) / 2e-6 for e in step], axis=1
    )
    np.testing.assert_allclose(gradient.numpy(), jacobian.sum(0), rtol=1e-6)
    np.testing.assert_allclose(tape.jacobian(y, x).numpy(), jacobian, atol=1e-6)
    assert np.isfinite(outer.gradient(gradient, x).numpy()).all()
    with tf.autodiff.ForwardAccumulator(x, tf.ones_like(x)) as accumulator:
        z = function(x)
    np.testing.assert_allclose(accumulator.jvp(z).numpy(), jacobian.sum(1), rtol=1e-6)


@pytest.mark.parametrize("name", REFERENCES)
def test_it_runs_on_a_batch(declared, name):
    batch = np.array([[0.5, -1.5, 2.0], [1.0, 2.0, 3.0]])
    found = tf.vectorized_map(calls(declared)[name], tf.constant(batch))
    np.testing.assert_allclose(found.numpy(), np.stack([REFERENCES[name](row) for row in batch]))


def test_a_name_is_taken_once(declared):
    with pytest.raises(KeyError, match="an op named 'own_cube' already exists"):
        extend.unary("own_cube", "exp")


def test_only_what_is_there_can_be_forgotten():
    with pytest.raises(KeyError, match="there is no op named 'never'"):
        extend.forget("never")


def test_only_kernels_that_are_known_to_compute_may_run_again():
    @functools.wraps(np.tanh)
    def wrapped(x):
        return np.tanh(x)

    kernels = {
        "ufunc": (np.tanh, True),
        "wrapped": (wrapped, False),
        "random": (np.random.permutation, False),
        "generator": (np.random.default_rng(0).permutation, False),
        "python": (np.frompyfunc(abs, 1, 1), False),
    }
    for name, (kernel, pure) in kernels.items():
        assert only_computes(kernel) is pure, name
    assert registry["tanh"].pure
