"""`tf.linalg.LinearOperator` in both libraries: the table of gradtape's own tests, the classes and
hints of results, slices, and errors.
"""

from __future__ import annotations

import itertools
from fnmatch import fnmatch

import numpy as np
import pytest
import tensorflow  # noqa: ICN001  # `tf` is the library that a call is given
from calls import CLEAR, outcome

import gradtape
from tests.api.tensorflow.linalg.operators.methods import METHODS
from tests.api.tensorflow.linalg.operators.rows import ROWS

pytestmark = pytest.mark.filterwarnings("ignore")  # some of TensorFlow's classes are deprecated

BETTER = (
    # Adjoints and products of circulant operators lose their dtype in TensorFlow.
    "circulant*-adjoint", "circulant*-square",
    # TensorFlow has no such numbers of blocks that are not square.
    "block diag tall-trace", "block diag tall-diag_part",
    # It takes the diagonal of a Kronecker product from those of factors that are not square.
    "kronecker tall-trace", "kronecker tall-diag_part",
    # It cannot add a batch of diagonals to one matrix.
    "low rank update symmetric-solve*", "low rank update symmetric-*determinant",
    "low rank update symmetric-inverse", "low rank update symmetric-quotient",
)  # fmt: skip
"""Cases in which TensorFlow gives an error, a wrong dtype or a wrong value."""
REAL_SPECTRA = ("circulant-adjoint", "circulant 3d-adjoint", "circulant positive-adjoint")

CASES = {
    f"{name}-{which}": (row, method)
    for (name, row), (which, method) in itertools.product(ROWS.items(), METHODS.items())
    if method.fits(row)
}


def is_better(case):
    return case not in REAL_SPECTRA and any(fnmatch(case, pattern) for pattern in BETTER)


def tensors(tf, row):
    return {name: tf.constant(value) for name, value in row.parameters.items()}


def of(tf, case):
    row, method = CASES[case]
    x = method.argument(row, tuple(row.matrix(gradtape, tensors(gradtape, row)).shape))
    operator = row.operator(tf, tensors(tf, row))
    return method.of_operator(tf, operator, None if x is None else tf.constant(x))


def agree(case):
    ours, theirs = of(gradtape, case), of(tensorflow, case)
    assert ours.shape == tuple(theirs.shape)
    assert ours.dtype.name == theirs.dtype.name
    np.testing.assert_allclose(ours.numpy(), theirs.numpy(), rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("case", [case for case in CASES if not is_better(case)])
def test_values(case):
    agree(case)


@pytest.mark.parametrize("case", [case for case in CASES if is_better(case)])
def test_values_that_are_better_here(case):
    with pytest.raises((AssertionError, NotImplementedError, tensorflow.errors.OpError)):
        agree(case)


@pytest.mark.parametrize("row", ROWS.values(), ids=ROWS)
def test_hints_and_shapes(row):
    def known(tf):
        operator = row.operator(tf, tensors(tf, row))
        # TensorFlow takes the adjoints of these for square ones.
        wrong = row in (ROWS["kronecker tall"], ROWS["block diag tall"])
        other = operator if wrong else operator.adjoint()
        return [
            (
                type(each).__name__, tuple(each.shape), tuple(each.batch_shape), each.tensor_rank,
                int(each.domain_dimension), int(each.range_dimension), each.is_non_singular,
                each.is_self_adjoint, each.is_positive_definite, each.is_square,
                each.shape_tensor().numpy().tolist(), int(each.domain_dimension_tensor()),
            )
            for each in (operator, other)
        ]  # fmt: skip

    assert known(gradtape) == known(tensorflow)


@pytest.mark.parametrize("row", ROWS.values(), ids=ROWS)
def test_parameters_and_names(row):
    ours = row.operator(gradtape, tensors(gradtape, row))
    theirs = row.operator(tensorflow, tensors(tensorflow, row))
    assert list(ours.parameters) == list(theirs.parameters)
    assert ours.name == theirs.name
    assert ours._composite_tensor_fields == theirs._composite_tensor_fields
    assert dict(ours._experimental_parameter_ndims_to_matrix_ndims) == dict(
        theirs._experimental_parameter_ndims_to_matrix_ndims
    )
    # TensorFlow lists the one matrix of a symmetric update twice.
    parts = [
        {id(part) for part in tf.nest.flatten(operator, expand_composites=True)}
        for tf, operator in ((gradtape, ours), (tensorflow, theirs))
    ]
    assert len(parts[0]) == len(parts[1])


@pytest.mark.parametrize("name", [n for n in dir(gradtape.linalg) if n.startswith("LinearOp")])
def test_signatures_and_public_members(name):
    ours, theirs = (getattr(tf.linalg, name) for tf in (gradtape, tensorflow))
    code = theirs.__init__
    while hasattr(code, "__wrapped__"):
        code = code.__wrapped__
    names = code.__code__.co_varnames[: code.__code__.co_argcount]
    assert ours.__init__.__code__.co_varnames[: len(names)] == names
    assert ours.__init__.__defaults__ is not None or code.__defaults__ is None
    assert {n for n in dir(theirs) if not n.startswith("_")} <= set(dir(ours))


# Classes of results


def made(tf):
    """An operator of each class, 2 by 2."""
    linalg = tf.linalg
    full = linalg.LinearOperatorFullMatrix([[2.0, 1.0], [1.0, 3.0]])
    one = linalg.LinearOperatorDiag([4.0], is_positive_definite=True)
    positive = linalg.LinearOperatorFullMatrix(
        [[2.0, 1.0], [1.0, 3.0]], is_self_adjoint=True, is_positive_definite=True
    )
    return {
        "identity": linalg.LinearOperatorIdentity(2),
        "scaled": linalg.LinearOperatorScaledIdentity(2, 3.0, is_positive_definite=True),
        "scaled unknown": linalg.LinearOperatorScaledIdentity(2, 3.0),
        "diag": linalg.LinearOperatorDiag([1.0, 2.0]),
        "diag positive": linalg.LinearOperatorDiag([1.0, 2.0], is_positive_definite=True),
        "tril": linalg.LinearOperatorLowerTriangular([[1.0, 0.0], [2.0, 3.0]]),
        "tril regular": linalg.LinearOperatorLowerTriangular(
            [[1.0, 0.0], [2.0, 3.0]], is_non_singular=True, is_self_adjoint=False
        ),
        "full": full,
        "full positive": positive,
        "zeros": linalg.LinearOperatorZeros(2),
        "blocks": linalg.LinearOperatorBlockDiag([one, one]),
        "triangular blocks": linalg.LinearOperatorBlockLowerTriangular([[one], [one, one]]),
        "circulant": linalg.LinearOperatorCirculant([2.0, 1.0], input_output_dtype=tf.float32),
        "kronecker": linalg.LinearOperatorKronecker([full, one]),
        "kronecker positive": linalg.LinearOperatorKronecker([positive, one]),
        "householder": linalg.LinearOperatorHouseholder([1.0, 2.0]),
        "inversion": linalg.LinearOperatorInversion(full),
        "permutation": linalg.LinearOperatorPermutation([1, 0]),
        "update": linalg.LinearOperatorLowRankUpdate(one.__class__([1.0, 2.0]), [[1.0], [1.0]]),
        "toeplitz": linalg.LinearOperatorToeplitz([2.0, 1.0], [2.0, 0.0]),
        "tridiag": linalg.LinearOperatorTridiag([[1.0, 0.0], [2.0, 2.0], [0.0, 1.0]]),
        "composition": linalg.LinearOperatorComposition([full, full.H]),
    }


NAMES = list(made(gradtape))
PAIRS = list(itertools.product(NAMES, NAMES))


def described(operator):
    if not hasattr(operator, "is_square"):
        return operator
    return (
        type(operator).__name__, operator.is_non_singular, operator.is_self_adjoint,
        operator.is_positive_definite, operator.is_square, tuple(operator.shape),
    )  # fmt: skip


def compared(call):
    """Both libraries give an operator of the same class with the same hints, or both refuse."""
    ours, theirs = (
        outcome(tf, lambda tf: described(call(tf, made(tf)))) for tf in (gradtape, tensorflow)
    )
    if isinstance(theirs, Exception):
        assert isinstance(ours, CLEAR), ours
    else:
        assert ours == theirs


@pytest.mark.parametrize(("left", "right"), PAIRS)
def test_products(left, right):
    compared(lambda tf, found: found[left].matmul(found[right]))


@pytest.mark.parametrize(("left", "right"), PAIRS)
def test_quotients(left, right):
    compared(lambda tf, found: found[left].solve(found[right]))


@pytest.mark.parametrize("method", ["inverse", "adjoint", "cholesky"])
@pytest.mark.parametrize("name", NAMES)
def test_other_operators(name, method):
    compared(lambda tf, found: getattr(found[name], method)())


@pytest.mark.parametrize("key", [0, slice(1, None), Ellipsis, (slice(None), 0)], ids=str)
@pytest.mark.parametrize("name", ["diag", "tril", "full", "blocks", "scaled"])
def test_slices(name, key):
    def call(tf):
        x = tf.reshape(tf.range(1.0, 25.0), [2, 3, 2, 2])
        operator = {
            "diag": lambda: tf.linalg.LinearOperatorDiag(x[..., 0]),
            "tril": lambda: tf.linalg.LinearOperatorLowerTriangular(x),
            "full": lambda: tf.linalg.LinearOperatorFullMatrix(x),
            "blocks": lambda: tf.linalg.LinearOperatorBlockDiag(
                [
                    tf.linalg.LinearOperatorFullMatrix(x[:, :1]),
                    tf.linalg.LinearOperatorDiag(x[0, :, 0]),
                ]
            ),
            "scaled": lambda: tf.linalg.LinearOperatorScaledIdentity(2, x[..., 0, 0]),
        }[name]()
        return operator[key].to_dense()

    ours, theirs = call(gradtape), call(tensorflow)
    np.testing.assert_allclose(ours.numpy(), theirs.numpy())


# Errors

WRONG = {
    "matmul rows": lambda tf, diag: diag.matmul(tf.ones([3, 2])),
    "matmul dtype": lambda tf, diag: diag.matmul(tf.ones([2, 2], tf.float64)),
    "matmul operator": lambda tf, diag: diag @ tf.linalg.LinearOperatorIdentity(3),
    "matvec": lambda tf, diag: diag.matvec(tf.ones([3])),
    "solve rows": lambda tf, diag: diag.solve(tf.ones([3, 1])),
    "solve singular": lambda tf, diag: tf.linalg.LinearOperatorDiag(
        [1.0], is_non_singular=False).solve([[1.0]]),
    "solve wide": lambda tf, diag: tf.linalg.LinearOperatorFullMatrix(
        tf.ones([2, 3])).solve(tf.ones([2, 1])),
    "determinant": lambda tf, diag: tf.linalg.LinearOperatorFullMatrix(
        tf.ones([2, 3])).determinant(),
    "inverse wide": lambda tf, diag: tf.linalg.LinearOperatorFullMatrix(tf.ones([2, 3])).inverse(),
    "inverse singular": lambda tf, diag: tf.linalg.LinearOperatorZeros(2).inverse(),
    "eigvals": lambda tf, diag: tf.linalg.LinearOperatorFullMatrix(tf.eye(2)).eigvals(),
    "cholesky": lambda tf, diag: diag.cholesky(),
    "full dtype": lambda tf, diag: tf.linalg.LinearOperatorFullMatrix([[1]]),
    "diag scalar": lambda tf, diag: tf.linalg.LinearOperatorDiag(1.0),
    "diag hint": lambda tf, diag: tf.linalg.LinearOperatorDiag([1.0], is_self_adjoint=False),
    "hints": lambda tf, diag: tf.linalg.LinearOperatorDiag(
        [1.0], is_non_singular=False, is_positive_definite=True),
    "not square": lambda tf, diag: tf.linalg.LinearOperatorFullMatrix(
        tf.eye(2), is_square=False).is_square,
    "identity": lambda tf, diag: tf.linalg.LinearOperatorIdentity(-1),
    "identity dtype": lambda tf, diag: tf.linalg.LinearOperatorIdentity(2.0),
    "permutation": lambda tf, diag: tf.linalg.LinearOperatorPermutation([1, 1]),
    "permutation dtype": lambda tf, diag: tf.linalg.LinearOperatorPermutation([1.0, 0.0]),
    "zeros": lambda tf, diag: tf.linalg.LinearOperatorZeros(2, 3),
    "zeros solve": lambda tf, diag: tf.linalg.LinearOperatorZeros(2).solve(tf.ones([2, 1])),
    "zeros hints": lambda tf, diag: tf.linalg.LinearOperatorZeros(2, 3, is_square=False),
    "assert non-singular": lambda tf, diag: tf.linalg.LinearOperatorDiag(
        [0.0]).assert_non_singular(),
    "assert positive": lambda tf, diag: tf.linalg.LinearOperatorDiag(
        [-1.0]).assert_positive_definite(),
    "assert self-adjoint": lambda tf, diag: tf.linalg.LinearOperatorFullMatrix(
        [[1.0, 2.0], [3.0, 4.0]]).assert_self_adjoint(),
    "assert positive unknown": lambda tf, diag: tf.linalg.LinearOperatorFullMatrix(
        tf.eye(2)).assert_positive_definite(),
    "householder": lambda tf, diag: tf.linalg.LinearOperatorHouseholder(
        [1.0]).assert_positive_definite(),
    "toeplitz": lambda tf, diag: tf.linalg.LinearOperatorToeplitz([1.0], [1.0, 2.0]),
    "tridiag format": lambda tf, diag: tf.linalg.LinearOperatorTridiag(
        [[1.0]], diagonals_format="x"),
    "kronecker empty": lambda tf, diag: tf.linalg.LinearOperatorKronecker([]),
    "kronecker dtype": lambda tf, diag: tf.linalg.LinearOperatorKronecker(
        [diag, tf.linalg.LinearOperatorIdentity(2, dtype=tf.float64)]),
    "block diag": lambda tf, diag: tf.linalg.LinearOperatorBlockDiag(diag),
    "blocks": lambda tf, diag: tf.linalg.LinearOperatorBlockDiag([diag, diag]).matvec(
        [tf.ones([2]), tf.ones([3])]),
    "block triangular": lambda tf, diag: tf.linalg.LinearOperatorBlockLowerTriangular(
        [[diag], [diag]]),
    "low rank": lambda tf, diag: tf.linalg.LinearOperatorLowRankUpdate(diag, tf.ones([3, 1])),
    "composition": lambda tf, diag: tf.linalg.LinearOperatorComposition(
        [tf.linalg.LinearOperatorFullMatrix(tf.ones([2, 3])), diag]).shape,
    "inversion": lambda tf, diag: tf.linalg.LinearOperatorInversion(
        tf.linalg.LinearOperatorFullMatrix(tf.ones([2, 3]))),
    "adjoint hint": lambda tf, diag: tf.linalg.LinearOperatorAdjoint(diag, is_self_adjoint=False),
    "convert": lambda tf, diag: tf.convert_to_tensor(diag),
    "sum": lambda tf, diag: diag + diag,
    "transpose": lambda tf, diag: tf.matmul(diag, tf.eye(2), transpose_a=True),
    "solve tensor": lambda tf, diag: tf.linalg.solve(tf.eye(2), diag),
    "logdet": lambda tf, diag: tf.linalg.logdet(diag),
    "abstract": lambda tf, diag: tf.linalg.LinearOperator(tf.float32),
    "index": lambda tf, diag: diag[0],
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_errors_are_of_the_same_kind(name):
    ours, theirs = (
        outcome(tf, lambda tf: WRONG[name](tf, tf.linalg.LinearOperatorDiag([1.0, 2.0])))
        for tf in (gradtape, tensorflow)
    )
    assert isinstance(theirs, Exception)
    assert type(ours).__name__ == type(theirs).__name__, ours
