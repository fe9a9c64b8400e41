"""Gradients with a memory limit are those without, to the last bit."""

import numpy as np
import pytest

import gradtape as tf
from tests.core.limit.programs import COLUMNS, ONE, ROWS, TWO, Program

ARRAY = ROWS * COLUMNS * 4
LIMITS = [1, 3 * ARRAY, 10 * ARRAY, 40 * ARRAY, 10**9]


def gradients(program, limit, **options):
    program.prepared()
    with tf.GradientTape(memory_limit=limit, **options) as tape:
        loss = program.loss(tape)
    return loss, tape


def same(found, expected):
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        assert (one is None) == (other is None)
        if one is not None:
            np.testing.assert_array_equal(
                tf.convert_to_tensor(one).numpy(), tf.convert_to_tensor(other).numpy()
            )


@pytest.mark.parametrize("seed", range(40))
def test_of_programs_made_by_chance(seed):
    program = Program(seed)
    loss, tape = gradients(program, None)
    expected = [loss, *tape.gradient(loss, [program.x, *program.variables])]
    for limit in LIMITS:
        loss, tape = gradients(program, limit)
        same([loss, *tape.gradient(loss, [program.x, *program.variables])], expected)


@pytest.mark.parametrize("function", [*ONE, *TWO])
@pytest.mark.parametrize("limit", [1, 6 * ARRAY])
def test_of_each_kind_of_op(function, limit):
    class Repeated(Program):
        def loss(self, tape):
            tape.watch(self.x)
            x = self.x
            for _ in range(6):
                x = tf.tanh(x) + 0.1
                x = function(x) if function in ONE else function(x, x * 0.5)
            return tf.reduce_mean(x)

    program = Repeated(3)
    loss, tape = gradients(program, None)
    expected = tape.gradient(loss, [program.x])
    loss, tape = gradients(program, limit)
    same(tape.gradient(loss, [program.x]), expected)
