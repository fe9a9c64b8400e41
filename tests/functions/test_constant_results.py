"""Results of bodies that depend on nothing: of branches, loops and inner functions, of every kind
of constant, however they are followed.

JAX hands such a result on as something that is neither an array of its own nor one of NumPy's; with
several devices it must be told where it is. `make test` runs these with one device and with two.
"""

from __future__ import annotations

import numpy as np
import pytest

import gradtape as tf

pytestmark = pytest.mark.devices

OUTSIDE = tf.constant([4.0, 5.0, 6.0])
KEPT = tf.Variable([7.0, 8.0, 9.0], trainable=False)

CONSTANTS = {
    "number": lambda: 2.0,
    "whole number": lambda: 3,
    "truth": lambda: True,
    "tensor": lambda: tf.constant([1.0, 2.0, 3.0]),
    "filled": lambda: tf.zeros([3]),
    "array": lambda: np.array([1.0, 2.0, 3.0], np.float32),
    "large": lambda: np.linspace(0.0, 1.0, 900, dtype=np.float32).reshape(300, 3),
    "wide": lambda: tf.constant([1.0, 2.0, 1 / 3], tf.float64),
    "half": lambda: tf.constant([1.0, 2.0, 3.0], tf.bfloat16),
    "complex": lambda: tf.constant([1.0 + 2.0j, 3.0, 4.0]),
    "computed": lambda: tf.sin(tf.constant([1.0, 2.0, 3.0])) * 2.0,
    "from outside": lambda: OUTSIDE,
    "read": lambda: KEPT.read_value(),
    "empty": lambda: tf.zeros([0, 3]),
    "structure": lambda: {"a": 1.0, "b": (tf.constant([1, 2]), 3.0)},
}


def by_cond(x, make):
    return tf.cond(x[0, 0] > 0, lambda: (x * x, make()), lambda: (tf.sin(x), make()))


def by_the_other_branch(x, make):
    return tf.cond(x[0, 0] < 0, lambda: (x * x, make()), lambda: (tf.sin(x), make()))


def by_case(x, make):
    return tf.case([(x[0, 0] > 9.0, lambda: (tf.sin(x), make()))], default=lambda: (x * x, make()))


def by_switch_case(x, make):
    return tf.switch_case(
        tf.cast(x[0, 0], tf.int32), [lambda: (tf.sin(x), make()), lambda: (x * x, make())]
    )


def by_map_fn(x, make):
    return tf.map_fn(lambda row: (row * row, make()), x, fn_output_signature=None)


def by_scan(x, make):
    total, rows = tf.scan(
        lambda state, row: (state[0] * row, make()), x, initializer=(x[0], make())
    )
    return total, rows


def by_foldl(x, make):
    return tf.foldl(lambda state, row: (state[0] * row, make()), x, initializer=(x[0], make()))


def by_foldr(x, make):
    return tf.foldr(lambda state, row: (state[0] * row, make()), x, initializer=(x[0], make()))


def by_while_loop(x, make):
    return tf.while_loop(
        lambda i, y, c: i < 2, lambda i, y, c: (i + 1, y * x, make()), (0, x, make())
    )[1:]


def by_open_loop(x, make):
    loop = tf.while_loop(
        lambda y, c: y[0, 0] < 9.0,
        lambda y, c: (y * x + 1.0, make()),
        (x, make()),
        maximum_iterations=5,
    )
    return tuple(loop)


def by_inner_function(x, make):
    return tf.function(lambda x: (x * x, make()))(x)


def by_inner_function_of_nothing(x, make):
    return x * x, tf.function(make)()


def by_function_in_a_branch(x, make):
    inner = tf.function(make)
    return tf.cond(x[0, 0] > 0, lambda: (x * x, inner()), lambda: (x, inner()))


def by_if(x, make):
    if x[0, 0] > 0:
        y, c = x * x, make()
    else:
        y, c = tf.sin(x), make()
    return y, c


def by_for(x, make):
    y, c = x[0], make()
    for row in x:
        y, c = y * row, make()
    return y, c


BODIES = [
    by_cond, by_the_other_branch, by_case, by_switch_case, by_map_fn, by_scan, by_foldl, by_foldr,
    by_while_loop, by_open_loop, by_inner_function, by_inner_function_of_nothing,
    by_function_in_a_branch, by_if, by_for,
]  # fmt: skip


def value(f, x):
    return f(x)


def with_a_tape_outside(f, x):
    with tf.GradientTape() as tape:
        tape.watch(x)
        y, c = f(x)
    return tape.gradient(y, x), c


def with_two_tapes(f, x):
    with tf.GradientTape() as outer:
        outer.watch(x)
        gradient, c = with_a_tape_outside(f, x)
    return outer.gradient(gradient, x), c


def with_an_accumulator(f, x):
    with tf.autodiff.ForwardAccumulator(x, tf.ones_like(x)) as accumulator:
        y, c = f(x)
    return accumulator.jvp(y), c


def of_a_batch(f, x):
    batch = tf.stack([x, x * 2.0])
    if hasattr(f, "get_concrete_function") or tf.inside_function():
        return tf.vectorized_map(lambda x: f(x)[0], batch), None
    return tf.stack([f(example)[0] for example in batch]), None


FOLLOWED = [with_a_tape_outside, with_two_tapes, with_an_accumulator, of_a_batch]
EXAMPLE = np.array([[1.0, 2.0, 3.0], [1.5, -1.0, 0.5]], np.float32)


def cases():
    """Every body with every constant; with two of them in every way of following.

    `make test` takes a sample.
    """
    for body in BODIES:
        for name in CONSTANTS:
            yield case(body, name, value, inside=False, often=name in ("number", "large"))
        for followed in FOLLOWED:
            for inside in (False, True):
                often = followed is with_a_tape_outside or (
                    followed is with_an_accumulator and not inside
                )
                yield case(body, "tensor", followed, inside=inside, often=often)
                yield case(body, "structure", followed, inside=inside, often=False)


def case(body, name, followed, *, inside, often):
    words = f"{body.__name__}-{name}-{followed.__name__}{'-inside' if inside else ''}"
    marks = [] if often else [pytest.mark.slow]
    return pytest.param(
        body, CONSTANTS[name], followed, inside, id=words.replace(" ", "_"), marks=marks
    )


def flat(structure):
    return [tf.convert_to_tensor(leaf) for leaf in tf.nest.flatten(structure) if leaf is not None]


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("body", "make", "followed", "inside"), list(cases()))
def test_compiled_equals_eager(body, make, followed, inside):
    x = tf.constant(EXAMPLE)
    expected = followed(lambda x: body(x, make), x)
    if inside:
        found = tf.function(lambda x: followed(lambda x: body(x, make), x))(x)
    else:
        found = followed(tf.function(lambda x: body(x, make)), x)
    tf.nest.assert_same_structure(found, expected)
    for ours, theirs in zip(flat(found), flat(expected), strict=True):
        assert ours.dtype == theirs.dtype
        assert ours.device
        values = [tf.cast(t, tf.complex128).numpy() for t in (ours, theirs)]
        np.testing.assert_allclose(*values, rtol=1e-5)
