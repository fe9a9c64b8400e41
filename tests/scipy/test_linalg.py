"""`gradtape.scipy.linalg`, `fft` and `special` against SciPy and differences."""

import numpy as np
import pytest
import scipy.fft
import scipy.linalg
import scipy.special

from gradtape.scipy import fft, linalg, special
from tests.scipy.checking import Row, check, values

A = values(3, 3) + 3 * np.eye(3)
B, COLUMNS = values(3), values(3, 2)
Q = values(3, 3, seed=4)


def positive(a):
    return a @ a.T


ROWS = {}
for trans in (0, 1, 2):
    for lower in (False, True):
        for unit in (False, True):
            options = (trans, lower, unit)
            ROWS[f"solve_triangular {options}"] = Row(
                lambda a, b, o=options: linalg.solve_triangular(a, b, *o),
                lambda a, b, o=options: scipy.linalg.solve_triangular(a, b, *o),
                (A, COLUMNS if lower else B),
            )
    ROWS[f"lu_solve, trans={trans}"] = Row(
        lambda a, b, t=trans: linalg.lu_solve(linalg.lu_factor(a), b, t),
        lambda a, b, t=trans: scipy.linalg.lu_solve(scipy.linalg.lu_factor(a), b, t),
        (A[::-1], B if trans else COLUMNS),
    )
for lower in (False, True):
    ROWS[f"cholesky, lower={lower}"] = Row(
        lambda a, low=lower: linalg.cholesky(a @ a.mT, low),
        lambda a, low=lower: scipy.linalg.cholesky(positive(a), low),
        (A,),
    )
    ROWS[f"cho_solve, lower={lower}"] = Row(
        lambda a, b, low=lower: linalg.cho_solve(linalg.cho_factor(a @ a.mT, low), b),
        lambda a, b, low=lower: scipy.linalg.cho_solve(
            scipy.linalg.cho_factor(positive(a), low), b
        ),
        (A, B if lower else COLUMNS),
    )
for name, args in {
    "solve": (A, COLUMNS),
    "inv": (A,),
    "det": (A,),
    "norm": (A,),
    "expm": (A,),
    "logm": (positive(A),),
    "sqrtm": (A,),
    "svdvals": (A,),
    "solve_sylvester": (A, positive(A), Q),
    "solve_continuous_lyapunov": (A, Q),
    "solve_lyapunov": (A, Q),
    "solve_discrete_lyapunov": (A * 0.2, Q),
}.items():
    ROWS[name] = Row(getattr(linalg, name), getattr(scipy.linalg, name), args)
for name in ("fft", "ifft", "rfft", "fft2", "fftn", "dct"):
    ROWS[f"fft.{name}"] = Row(getattr(fft, name), getattr(scipy.fft, name), (values(4, 6),))
HALF = np.array([0.5, 0.7])
for name, args in {
    "erf": (HALF,),
    "gammaln": (HALF,),
    "betainc": (HALF, HALF, HALF),
    "logsumexp": (HALF,),
    "softmax": (HALF,),
    "log_softmax": (HALF,),
    "zeta": (HALF + 1, HALF),
    "expit": (HALF,),
}.items():
    ROWS[f"special.{name}"] = Row(getattr(special, name), getattr(scipy.special, name), args)


ROWS["special.jv"] = Row(special.jv, scipy.special.jv, (np.array(1.5), HALF), fixed=(0,))


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", ROWS)
def test_linalg(name):
    check(ROWS[name])


def test_complex_matrices():
    a, q = A + 1j * Q, Q + 1j * A
    for name in ("solve_continuous_lyapunov", "solve_discrete_lyapunov"):
        expected = getattr(scipy.linalg, name)(a, q)
        np.testing.assert_allclose(getattr(linalg, name)(a, q), expected, rtol=1e-9)
    for trans in (0, 1, 2):
        expected = scipy.linalg.lu_solve(scipy.linalg.lu_factor(a), B, trans)
        np.testing.assert_allclose(linalg.lu_solve(linalg.lu_factor(a), B, trans), expected)
        expected = scipy.linalg.solve_triangular(a, B, trans)
        np.testing.assert_allclose(linalg.solve_triangular(a, B, trans), expected)
    hermitian = a @ a.conj().T
    found = linalg.cho_solve(linalg.cho_factor(hermitian), B)
    np.testing.assert_allclose(found, np.linalg.solve(hermitian, B), rtol=1e-9)


@pytest.mark.parametrize(
    ("call", "complaint"),
    [
        (lambda: linalg.solve_triangular(A, B, 3), "trans must be"),
        (lambda: linalg.solve_triangular(A, B[:2]), "b must be a vector or a matrix with 3 rows"),
        (lambda: linalg.cho_solve((A[:2], True), B), "must be square"),
        (lambda: linalg.solve_lyapunov(A[:2], Q), "a must be a square matrix"),
    ],
)
def test_bad_input(call, complaint):
    with pytest.raises(ValueError, match=complaint):
        call()


def test_names_that_are_not_there():
    assert "jv" in dir(special)
    with pytest.raises(AttributeError, match="has no 'lambertw'"):
        special.lambertw  # noqa: B018
    with pytest.raises(TypeError, match="argument 0 is complex"):
        special.erf(1j)
