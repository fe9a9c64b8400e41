"""What transformations need to know of an op is derived from its declaration, or stands in it."""

import numpy as np
import pytest

import gradtape as tf
from gradtape.ops.declare import unary
from gradtape.ops.registry import forget, registry
from gradtape.ops.rows import RowRule


@pytest.fixture
def cube():
    """An elementwise op with nothing declared but its derivative."""
    yield unary("cube_for_a_test", lambda xp, x: x * x * x, lambda g, x: g * x * x * 3)
    forget("cube_for_a_test")


def test_an_elementwise_op_has_taylor_mode_and_sparsity_from_its_pull(cube):
    x = tf.constant([1.0, 2.0, -3.0])
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = cube(x)
    found = tape.derivatives(y, {"x": x}, ["xxx"])
    np.testing.assert_allclose(found["xxx"].numpy(), [6.0, 6.0, 6.0])
    sparse = tape.jacobian(y, x, sparse=True)
    assert sparse.data.shape == (3,)
    np.testing.assert_allclose(tape.jacobian(y, x).numpy(), np.diag([3.0, 12.0, 27.0]))


@pytest.mark.parametrize(
    "op", [op for op in registry.values() if op.rows is not None], ids=lambda op: op.name
)
def test_pulls_of_rows_take_what_the_pulls_save(op):
    """By name: a pull that saves something else has to be followed here."""
    assert isinstance(op.rows, RowRule)
    assert len(op.rows.pulls) == len(op.arguments)
    for pull, names in zip(op.rows.pulls, op.saves, strict=True):
        given = pull.__code__.co_varnames[1 : pull.__code__.co_argcount]
        assert set(given) == set(names)


@pytest.mark.parametrize("name", ["lu", "qr", "svd", "eigh", "eig"])
def test_decompositions_are_not_unique(name):
    assert not registry[name].unique


def test_most_ops_are_unique():
    assert sum(not op.unique for op in registry.values()) == 5
