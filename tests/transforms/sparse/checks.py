"""What the tests of sparse Jacobians share: a recording,
and its sparse Jacobian against the dense one.
"""

from __future__ import annotations

import numpy as np

import gradtape as tf


def record(f, x, *, persistent=True):
    """A tape that has recorded y = f(x), with x and y."""
    x = x if isinstance(x, (tf.Tensor, tf.Variable)) else tf.constant(x)
    with tf.GradientTape(persistent=persistent) as tape:
        tape.watch(x)
        y = f(x)
    return tape, x, y


def check(tape, y, x):
    """The pattern covers the dense Jacobian, and the sparse one equals it;
    gives the pattern as an array.
    """
    pattern = tape.sparsity(y, x)
    assert pattern.format == "csr"
    assert pattern.dtype == bool
    shape = (int(tf.size(y)), int(tf.size(x)))
    assert pattern.shape == shape
    expected = tape.jacobian(y, x)
    found = tape.jacobian(y, x, sparse=True)
    if expected is None:
        assert found is None
        assert not pattern.nnz
        return pattern.toarray()
    expected = np.asarray(tf.convert_to_tensor(expected)).reshape(shape)
    assert not (expected != 0)[~pattern.toarray()].any()
    assert found.format == "csr"
    assert found.dtype == expected.dtype
    assert found.nnz == pattern.nnz
    np.testing.assert_allclose(
        found.toarray(), expected, rtol=1e-5 if expected.dtype.itemsize < 8 else 1e-10, atol=1e-12
    )
    return pattern.toarray()


def band(n, low, high, m=None):
    """Where an n by m matrix with diagonals from `low` to `high` is not zero."""
    steps = np.arange(n if m is None else m) - np.arange(n)[:, None]
    return (low <= steps) & (steps <= high)


def five_points(x):
    """A stencil on a grid: each result depends on a point and its four neighbours."""
    return -4 * x[1:-1, 1:-1] + x[2:, 1:-1] ** 2 + x[:-2, 1:-1] + x[1:-1, 2:] * x[1:-1, :-2]
