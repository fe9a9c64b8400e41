"""Triangular systems and the derivative of Cholesky factors, block by block, equal what the whole
matrices give.
"""

import numpy as np
import pytest

from gradtape.engines.numpy import triangular

TOLERANCE = {"f": 1e-5, "d": 1e-13, "F": 1e-5, "D": 1e-13}
SIZES = (1, 2, 95, 96, 97, 192, 193, 250)


def random(rng, char, *shape):
    x = rng.normal(size=shape)
    return (x + 1j * rng.normal(size=shape) if char in "FD" else x).astype(char)


def matrix(rng, char, size):
    """Hermitian and positive definite."""
    x = random(rng, char, size, size)
    return x @ x.conj().T + size * np.eye(size, dtype=char)


def close(found, expected, char):
    assert found.dtype == np.dtype(char)
    np.testing.assert_allclose(
        found, expected, rtol=0, atol=TOLERANCE[char] * np.abs(expected).max()
    )


@pytest.mark.parametrize("char", TOLERANCE)
@pytest.mark.parametrize("large", [0, 2**27])
def test_solutions(monkeypatch, char, large):
    monkeypatch.setattr(triangular, "_LARGE", large)
    rng = np.random.default_rng(0)
    for size in SIZES:
        full, sides = matrix(rng, char, size), random(rng, char, size, 4)
        for a in (full, np.asfortranarray(full), np.stack([full, full], -1)[..., 0]):
            for b in (sides, np.asfortranarray(sides), sides[:, ::2], sides[:, :1]):
                for lower, part in ((True, np.tril), (False, np.triu)):
                    before = b.copy()
                    found = triangular.solve(a, b, lower=lower)
                    close(found, np.linalg.solve(part(full), b), char)
                    np.testing.assert_array_equal(b, before)


def by_the_formula(g, factor):
    inner = np.tril(factor.conj().T @ g)
    inner -= np.diag(np.diag(inner)) / 2
    inverse = np.linalg.inv(factor)
    whole = inverse.conj().T @ inner @ inverse
    return (whole + whole.conj().T) / 2


@pytest.mark.parametrize("char", TOLERANCE)
def test_cotangents_through_cholesky_factors(char):
    rng = np.random.default_rng(0)
    for size in SIZES:
        factor = np.linalg.cholesky(matrix(rng, char, size))
        g = np.tril(random(rng, char, size, size))
        expected = by_the_formula(g.astype(complex), factor.astype(complex))
        found = triangular.pulled_through_cholesky(g, factor)
        close(found, expected if char in "FD" else expected.real, char)
        np.testing.assert_array_equal(found, found.conj().T)
        # What is above the diagonal is not read.
        above = g + np.triu(np.full_like(g, np.nan), 1)
        other = triangular.pulled_through_cholesky(np.asfortranarray(above), factor)
        np.testing.assert_array_equal(other, found)


def test_batches_and_empty_ones():
    rng = np.random.default_rng(0)
    factors = np.linalg.cholesky(np.stack([matrix(rng, "d", 3) for _ in range(4)]))
    g = rng.normal(size=(4, 3, 3))
    found = triangular.pulled_through_cholesky(g, factors)
    for i in range(4):
        close(found[i], by_the_formula(np.tril(g[i]), factors[i]), "d")
    for shape in ((0, 3, 3), (2, 0, 0)):
        assert triangular.pulled_through_cholesky(np.ones(shape), np.ones(shape)).shape == shape


def test_other_arrays_are_left_to_the_formula():
    assert triangular.pulled_through_cholesky(np.float64(1), np.ones((1, 1))) is None
    assert triangular.pulled_through_cholesky(np.ones((1, 1), int), np.ones((1, 1), int)) is None
