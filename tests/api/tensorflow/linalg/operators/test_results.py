"""The classes of products, quotients, inverses and factors, what blocks take, what is refused."""

import numpy as np
import pytest

import gradtape as tf
from gradtape.api.tensorflow.linalg.operators.sums import sum_of

L = tf.linalg
N = 2


def made():
    """An operator of each class, 2 by 2, by a short name."""
    full = L.LinearOperatorFullMatrix([[2.0, 1.0], [1.0, 3.0]])
    one = L.LinearOperatorDiag([4.0])
    return {
        "identity": L.LinearOperatorIdentity(N),
        "scaled": L.LinearOperatorScaledIdentity(N, 3.0),
        "diag": L.LinearOperatorDiag([1.0, 2.0]),
        "tril": L.LinearOperatorLowerTriangular([[1.0, 0.0], [2.0, 3.0]]),
        "full": full,
        "zeros": L.LinearOperatorZeros(N),
        "blocks": L.LinearOperatorBlockDiag([one, one]),
        "circulant": L.LinearOperatorCirculant([2.0, 1.0], input_output_dtype=tf.float32),
        "kronecker": L.LinearOperatorKronecker([full, one]),
        "householder": L.LinearOperatorHouseholder([1.0, 2.0]),
        "inversion": L.LinearOperatorInversion(full),
        "permutation": L.LinearOperatorPermutation([1, 0]),
    }


NAMES = list(made())
PRODUCTS = {
    ("scaled", "scaled"): "ScaledIdentity", ("scaled", "diag"): "Diag",
    ("diag", "scaled"): "Diag", ("diag", "diag"): "Diag", ("diag", "tril"): "LowerTriangular",
    ("tril", "diag"): "LowerTriangular", ("blocks", "blocks"): "BlockDiag",
    ("circulant", "circulant"): "Circulant",
}  # fmt: skip
QUOTIENTS = {pair: name for pair, name in PRODUCTS.items() if pair != ("tril", "diag")}


def class_of(operator):
    return type(operator).__name__.removeprefix("LinearOperator")


def expected(left, right, table):
    found = made()
    if left == "identity":
        return class_of(found[right])
    if (left, right) in table:
        return table[left, right]
    if table is PRODUCTS and "zeros" in (left, right):
        return "Zeros"
    if right == "identity":
        return class_of(found[left] if table is PRODUCTS else found[left].inverse())
    if table is QUOTIENTS and left == "inversion":
        return expected("full", right, PRODUCTS)
    return "Composition"


@pytest.mark.parametrize("right", NAMES)
@pytest.mark.parametrize("left", NAMES)
def test_products(left, right):
    a, b = made()[left], made()[right]
    found = a @ b
    assert class_of(found) == expected(left, right, PRODUCTS)
    np.testing.assert_allclose(found.to_dense(), a.to_dense() @ b.to_dense(), atol=1e-5)


@pytest.mark.parametrize("right", NAMES)
@pytest.mark.parametrize("left", [name for name in NAMES if name != "zeros"])
def test_quotients(left, right):
    a, b = made()[left], made()[right]
    found = a.solve(b)
    assert class_of(found) == expected(left, right, QUOTIENTS)
    wanted = tf.linalg.inv(a.to_dense()) @ b.to_dense()
    np.testing.assert_allclose(found.to_dense(), wanted, atol=1e-5)


@pytest.mark.parametrize("adjoint_arg", [False, True])
@pytest.mark.parametrize("adjoint", [False, True])
def test_operators_may_be_adjoint_in_products_and_quotients(adjoint, adjoint_arg):
    a, b = made()["tril"], made()["full"]
    left = tf.linalg.adjoint(a.to_dense()) if adjoint else a.to_dense()
    right = tf.linalg.adjoint(b.to_dense()) if adjoint_arg else b.to_dense()
    product = a.matmul(b, adjoint=adjoint, adjoint_arg=adjoint_arg).to_dense()
    np.testing.assert_allclose(product, left @ right, atol=1e-5)
    quotient = a.solve(b, adjoint=adjoint, adjoint_arg=adjoint_arg).to_dense()
    np.testing.assert_allclose(quotient, tf.linalg.inv(left) @ right, atol=1e-5)
    product = tf.matmul(a, b, adjoint_a=adjoint, adjoint_b=adjoint_arg).to_dense()
    np.testing.assert_allclose(product, left @ right, atol=1e-5)


INVERSES = {
    "identity": "Identity", "scaled": "ScaledIdentity", "diag": "Diag", "blocks": "BlockDiag",
    "circulant": "Circulant", "kronecker": "Kronecker", "householder": "Householder",
    "inversion": "FullMatrix",
}  # fmt: skip
ADJOINTS = {"tril", "full", "inversion", "permutation"}


@pytest.mark.parametrize("name", [name for name in NAMES if name != "zeros"])
def test_inverses_and_adjoints(name):
    operator = made()[name]
    assert class_of(operator.inverse()) == INVERSES.get(name, "Inversion")
    wanted = "Adjoint" if name in ADJOINTS else class_of(operator)
    assert class_of(operator.adjoint()) == class_of(operator.H) == wanted
    assert class_of(operator.adjoint().adjoint()) == class_of(operator)


def positive(operator, *args):
    return operator(*args, is_self_adjoint=True, is_positive_definite=True)


FACTORS = {
    "Identity": lambda: L.LinearOperatorIdentity(2),
    "ScaledIdentity": lambda: L.LinearOperatorScaledIdentity(2, 4.0, is_positive_definite=True),
    "Diag": lambda: positive(L.LinearOperatorDiag, [1.0, 4.0]),
    "LowerTriangular": lambda: positive(L.LinearOperatorFullMatrix, [[2.0, 1.0], [1.0, 2.0]]),
    "Kronecker": lambda: L.LinearOperatorKronecker(
        [FACTORS["Diag"](), FACTORS["LowerTriangular"]()]
    ),
    "BlockDiag": lambda: L.LinearOperatorBlockDiag(
        [FACTORS["Diag"](), FACTORS["LowerTriangular"]()]
    ),
}


@pytest.mark.parametrize("name", FACTORS)
def test_cholesky_factors(name):
    operator = FACTORS[name]()
    factor = operator.cholesky()
    assert class_of(factor) == name
    dense = factor.to_dense()
    np.testing.assert_allclose(dense @ tf.transpose(dense), operator.to_dense(), atol=1e-6)


def test_the_cholesky_factor_of_a_product_with_its_adjoint_is_its_first_factor():
    factor = L.LinearOperatorLowerTriangular([[-1.0, 0.0], [2.0, 3.0]], is_non_singular=True)
    gram = L.LinearOperatorComposition([factor, factor.H])
    assert gram.is_self_adjoint
    assert gram.is_positive_definite
    found = gram.cholesky()
    np.testing.assert_allclose(found.to_dense(), np.linalg.cholesky(gram.to_dense()))
    sure = L.LinearOperatorLowerTriangular([[1.0, 0.0], [2.0, 3.0]], is_positive_definite=True)
    assert L.LinearOperatorComposition([sure, sure.H]).cholesky() is sure


# Batches


def test_a_product_has_the_batch_axes_of_both_factors():
    batch = L.LinearOperatorIdentity(2, batch_shape=[3])
    one = L.LinearOperatorDiag([1.0, 2.0])
    for found in (batch @ one, one @ batch, batch.solve(one), one.solve(batch)):
        assert found.shape == (3, 2, 2)
    assert (L.LinearOperatorZeros(2) @ batch).shape == (3, 2, 2)
    scaled = L.LinearOperatorScaledIdentity(2, tf.ones([3]))
    assert (scaled @ one).shape == (one @ scaled).shape == (3, 2, 2)
    many = L.LinearOperatorDiag(tf.ones([4, 1, 2]))
    triangles = L.LinearOperatorLowerTriangular(tf.ones([3, 2, 2]))
    assert (many @ triangles).shape == (triangles @ many).shape == (4, 3, 2, 2)


def test_products_of_zeros_that_are_not_square():
    zeros = L.LinearOperatorZeros(2, 3, is_square=False, is_self_adjoint=False)
    tall = L.LinearOperatorFullMatrix(tf.ones([3, 2]))
    assert (zeros @ tall).shape == (2, 2)
    assert (tall @ zeros).shape == (3, 3)
    assert class_of(zeros @ tall) == class_of(tall @ zeros) == "Zeros"
    assert zeros.matmul(tf.ones([3, 4])).shape == (2, 4)
    assert zeros.H.matmul(tf.ones([2, 4])).shape == (3, 4)


# Sums, which inverses of block triangular operators are made of


@pytest.mark.parametrize(
    ("names", "wanted"),
    [
        ("identity identity", "ScaledIdentity"), ("scaled identity", "ScaledIdentity"),
        ("diag identity", "Diag"), ("diag diag", "Diag"), ("tril diag", "LowerTriangular"),
        ("full scaled", "FullMatrix"), ("tril full identity", "FullMatrix"),
        ("full diag", "FullMatrix"), ("tril", "LowerTriangular"),
    ],
)  # fmt: skip
def test_sums(names, wanted):
    operators = [made()[name] for name in names.split()]
    found = sum_of(operators)
    assert class_of(found) == wanted
    np.testing.assert_allclose(found.to_dense(), sum(o.to_dense() for o in operators))


def test_the_inverse_of_a_block_lower_triangular_operator_is_one():
    found = made()
    operator = L.LinearOperatorBlockLowerTriangular(
        [[found["diag"]], [found["full"], found["tril"]],
         [found["permutation"], found["full"], found["scaled"]]]
    )  # fmt: skip
    inverse = operator.inverse()
    assert class_of(inverse) == "BlockLowerTriangular"
    np.testing.assert_allclose(inverse.to_dense(), tf.linalg.inv(operator.to_dense()), atol=1e-5)


# Blocks


def blocks():
    found = made()
    diagonal = L.LinearOperatorBlockDiag([found["full"], L.LinearOperatorDiag([1.0, 2.0, 3.0])])
    tall = L.LinearOperatorFullMatrix(tf.reshape(tf.range(6.0), [3, 2]))
    return {
        "diag": diagonal,
        "triangular": L.LinearOperatorBlockLowerTriangular(
            [[found["full"]], [tall, L.LinearOperatorDiag([1.0, 2.0, 3.0])]]
        ),
    }


@pytest.mark.parametrize("adjoint", [False, True])
@pytest.mark.parametrize("name", ["diag", "triangular"])
def test_blocks_take_lists(name, adjoint):
    operator = blocks()[name]
    x = tf.reshape(tf.range(10.0), [5, 2]) - 4.0
    parts = [x[:2], x[2:]]
    for method in (operator.matmul, operator.solve):
        whole = method(x, adjoint=adjoint)
        for given in (parts, tuple(parts), [part.numpy() for part in parts]):
            found = method(given, adjoint=adjoint)
            assert isinstance(found, list)
            np.testing.assert_allclose(tf.concat(found, 0), whole, atol=1e-5)
        turned = [tf.transpose(part) for part in parts]
        found = method(turned, adjoint=adjoint, adjoint_arg=True)
        np.testing.assert_allclose(tf.concat(found, 0), whole, atol=1e-5)
    for method in (operator.matvec, operator.solvevec):
        whole = method(x[:, 0], adjoint=adjoint)
        found = method([part[:, 0] for part in parts], adjoint=adjoint)
        np.testing.assert_allclose(tf.concat(found, 0), whole, atol=1e-5)
        np.testing.assert_allclose(method(x[:, 0].numpy().tolist(), adjoint=adjoint), whole)
    assert parts[0] is not x  # the list that was given is as it was
    assert [part.shape for part in parts] == [(2, 2), (3, 2)]


def test_blocks_that_are_operators():
    operator = blocks()["diag"]
    found = operator.matmul([made()["diag"], L.LinearOperatorIdentity(3)])
    assert [class_of(each) for each in found] == ["Composition", "Diag"]
    ones = L.LinearOperatorBlockDiag([L.LinearOperatorDiag([2.0]), L.LinearOperatorDiag([3.0])])
    np.testing.assert_allclose(ones.matvec([1.0, 1.0]), [2.0, 3.0])  # a vector, not two blocks
    np.testing.assert_allclose(ones.matmul([[1.0], [1.0]]), [[2.0], [3.0]])


def test_blocks_have_gradients():
    operator = blocks()["triangular"]
    parts = [tf.Variable([1.0, 2.0]), tf.Variable([3.0, 4.0, 5.0])]
    with tf.GradientTape() as tape:
        result = sum(tf.reduce_sum(part) for part in operator.matvec(parts))
    found = tf.concat(tape.gradient(result, parts), 0)
    np.testing.assert_allclose(found, tf.reduce_sum(operator.to_dense(), 0))


# Assertions

WRONG_ASSERTIONS = {
    "diag singular": lambda: L.LinearOperatorDiag([1.0, 0.0]).assert_non_singular(),
    "diag positive": lambda: L.LinearOperatorDiag([1.0, -1.0]).assert_positive_definite(),
    "diag self-adjoint": lambda: L.LinearOperatorDiag([1j]).assert_self_adjoint(),
    "scaled singular": lambda: L.LinearOperatorScaledIdentity(2, 0.0).assert_non_singular(),
    "scaled positive": lambda: L.LinearOperatorScaledIdentity(2, -1.0).assert_positive_definite(),
    "scaled self-adjoint": lambda: L.LinearOperatorScaledIdentity(2, 1j).assert_self_adjoint(),
    "tril": lambda: L.LinearOperatorLowerTriangular([[0.0]]).assert_non_singular(),
    "full": lambda: L.LinearOperatorFullMatrix(tf.ones([2, 2])).assert_non_singular(),
    "full self-adjoint": lambda: L.LinearOperatorFullMatrix(
        [[1.0, 2.0], [0.0, 1.0]]).assert_self_adjoint(),
    "full positive": lambda: L.LinearOperatorFullMatrix(
        [[1.0, 2.0], [2.0, 1.0]], is_self_adjoint=True).assert_positive_definite(),
    "positive, singular": lambda: positive(
        L.LinearOperatorFullMatrix, [[1.0, 1.0], [1.0, 1.0]]).assert_non_singular(),
    "circulant": lambda: L.LinearOperatorCirculant([1.0, 0.0]).assert_non_singular(),
    "circulant positive": lambda: L.LinearOperatorCirculant([1.0, -1.0]).assert_positive_definite(),
    "circulant self-adjoint": lambda: L.LinearOperatorCirculant([1j, 1.0]).assert_self_adjoint(),
    "hermitian": lambda: L.LinearOperatorCirculant([1j, 1.0]).assert_hermitian_spectrum(),
    "toeplitz": lambda: L.LinearOperatorToeplitz([1.0, 2.0], [1.0, 3.0]).assert_self_adjoint(),
    "tridiag": lambda: L.LinearOperatorTridiag(
        [[1.0, 0.0], [1.0, 1.0], [0.0, 2.0]]).assert_self_adjoint(),
    "householder": lambda: L.LinearOperatorHouseholder([1.0]).assert_positive_definite(),
    "zeros": lambda: L.LinearOperatorZeros(2).assert_non_singular(),
    "zeros positive": lambda: L.LinearOperatorZeros(2).assert_positive_definite(),
    "kronecker": lambda: L.LinearOperatorKronecker(
        [L.LinearOperatorFullMatrix(tf.ones([2, 3]))] * 2).assert_non_singular(),
    "composition": lambda: L.LinearOperatorComposition(
        [L.LinearOperatorDiag([1.0, 0.0])] * 2).assert_non_singular(),
    "low rank": lambda: L.LinearOperatorLowRankUpdate(
        L.LinearOperatorDiag([1.0, 1.0]), [[1.0], [0.0]], v=[[0.0], [1.0]]).assert_self_adjoint(),
    "block triangular": lambda: L.LinearOperatorBlockLowerTriangular(
        [[L.LinearOperatorDiag([0.0])]]).assert_non_singular(),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG_ASSERTIONS)
def test_assertions_fail(name):
    with pytest.raises(tf.errors.InvalidArgumentError):
        WRONG_ASSERTIONS[name]()


def test_assertions_pass():
    L.LinearOperatorCirculant([2.0, 1.0]).assert_hermitian_spectrum()
    L.LinearOperatorToeplitz([1.0, 2.0], [1.0, 2.0]).assert_self_adjoint()
    L.LinearOperatorTridiag([[1.0, 9.0], [1.0, 1.0], [9.0, 1.0]]).assert_self_adjoint()
    update = L.LinearOperatorLowRankUpdate(L.LinearOperatorDiag([1.0, 1.0]), [[1.0], [0.0]])
    update.assert_self_adjoint()
    L.LinearOperatorPermutation([1, 0]).assert_non_singular()


# Errors

DIAG = L.LinearOperatorDiag([1.0, 2.0])
WIDE = L.LinearOperatorFullMatrix(tf.ones([2, 3]))
DOUBLE = L.LinearOperatorDiag(np.ones(2))
ERRORS = {
    "matmul rows": (lambda: DIAG.matmul(tf.ones([3, 2])), ValueError, "matmul: x must have 2 rows"),
    "matmul columns": (
        lambda: DIAG.matmul(tf.ones([2, 3]), adjoint_arg=True), ValueError, "must have 2 columns"),
    "matmul vector": (lambda: DIAG.matmul(tf.ones([2])), ValueError, r"got shape \(2,\)"),
    "matmul dtype": (
        lambda: DIAG.matmul(tf.ones([2, 2], tf.float64)), TypeError, "dtype float32, got float64"),
    "matmul complex array": (lambda: DIAG.matmul(1j * np.ones((2, 2))), TypeError, "complex"),
    "matmul operator": (lambda: DIAG @ WIDE.H, ValueError, "matmul: x must have 2 rows"),
    "matvec": (lambda: DIAG.matvec(tf.ones([3])), ValueError, "matvec: x must have 2 entries"),
    "matvec scalar": (lambda: DIAG.matvec(1.0), ValueError, "matvec: x"),
    "solve rows": (lambda: DIAG.solve(tf.ones([3, 1])), ValueError, "solve: rhs must have 2 rows"),
    "solve wide": (lambda: WIDE.solve(tf.ones([2, 1])), NotImplementedError, "not square"),
    "solve singular": (
        lambda: L.LinearOperatorDiag([1.0], is_non_singular=False).solve([[1.0]]),
        NotImplementedError, "is_non_singular=False"),
    "solvevec singular": (
        lambda: L.LinearOperatorZeros(2).solvevec([1.0, 1.0]), NotImplementedError, "singular"),
    "solve operator": (lambda: DIAG.solve(WIDE.H), ValueError, "solve: rhs"),
    "solvevec": (lambda: DIAG.solvevec(tf.ones([3])), ValueError, "solvevec: rhs"),
    "determinant": (lambda: WIDE.determinant(), NotImplementedError, "determinant: .* not square"),
    "log": (lambda: WIDE.log_abs_determinant(), NotImplementedError, "not square"),
    "inverse": (lambda: WIDE.inverse(), ValueError, "inverse: .* not square"),
    "inverse singular": (lambda: L.LinearOperatorZeros(2).inverse(), ValueError, "non_singular"),
    "eigvals": (
        lambda: L.LinearOperatorFullMatrix(tf.eye(2)).eigvals(), NotImplementedError,
        "is_self_adjoint=True"),
    "cholesky": (lambda: DIAG.cholesky(), ValueError, "is_positive_definite=True"),
    "assert_positive_definite": (
        lambda: L.LinearOperatorFullMatrix(tf.eye(2)).assert_positive_definite(),
        NotImplementedError, "self-adjoint"),
    "add_to_tensor": (lambda: DIAG.add_to_tensor(tf.ones([3, 3])), ValueError, "2 by 2"),
    "add_to_tensor vector": (lambda: DIAG.add_to_tensor(tf.ones([2])), ValueError, "2 by 2"),
    "convert": (lambda: tf.convert_to_tensor(DIAG), ValueError, "cannot convert"),
    "transpose_a": (
        lambda: tf.matmul(DIAG, tf.eye(2), transpose_a=True), ValueError, "not transposed"),
    "solve tensor": (lambda: tf.linalg.solve(tf.eye(2), DIAG), ValueError, "to_dense"),
    "logdet": (lambda: tf.linalg.logdet(DIAG), ValueError, "logdet: "),
    "abstract": (lambda: L.LinearOperator(tf.float32), TypeError, "abstract"),
    "hints positive": (
        lambda: L.LinearOperatorDiag([1.0], is_non_singular=False, is_positive_definite=True),
        ValueError, "is_non_singular=False contradicts"),
    "hints square": (
        lambda: L.LinearOperatorFullMatrix(tf.eye(2), is_square=False, is_self_adjoint=True),
        ValueError, "is_square=False contradicts is_self_adjoint=True"),
    "hints not square": (
        lambda: L.LinearOperatorFullMatrix(tf.eye(2), is_square=False).is_square, ValueError,
        "is_square=False is wrong"),
    "diag": (lambda: L.LinearOperatorDiag(1.0), ValueError, "diag must have at least 1 axis"),
    "diag hint": (
        lambda: L.LinearOperatorDiag([1.0], is_self_adjoint=False), ValueError,
        "always self adjoint"),
    "diag square": (
        lambda: L.LinearOperatorDiag([1.0], is_square=False), ValueError, "always square"),
    "full rank": (lambda: L.LinearOperatorFullMatrix([1.0]), ValueError, "at least 2 axes"),
    "full dtype": (lambda: L.LinearOperatorFullMatrix([[1]]), TypeError, "floating-point"),
    "full square": (
        lambda: L.LinearOperatorFullMatrix(tf.ones([2, 3]), is_square=True), ValueError, "square"),
    "tril": (
        lambda: L.LinearOperatorLowerTriangular(tf.ones([2, 3])), ValueError, "tril must be"),
    "identity": (lambda: L.LinearOperatorIdentity(-1), ValueError, "num_rows must be at least 0"),
    "identity float": (lambda: L.LinearOperatorIdentity(2.0), TypeError, "must be an integer"),
    "identity vector": (lambda: L.LinearOperatorIdentity([2]), ValueError, "one integer"),
    "identity Variable": (
        lambda: L.LinearOperatorIdentity(tf.Variable(2)), TypeError, "not be a Variable"),
    "identity batch": (
        lambda: L.LinearOperatorIdentity(2, batch_shape=2), ValueError, "a list of sizes"),
    "identity batch size": (
        lambda: L.LinearOperatorIdentity(2, batch_shape=[-1]), ValueError, "at least 0"),
    "identity hint": (
        lambda: L.LinearOperatorIdentity(2, is_self_adjoint=False), ValueError, "always"),
    "scaled": (
        lambda: L.LinearOperatorScaledIdentity(2, 1.0, is_square=False), ValueError, "square"),
    "zeros": (lambda: L.LinearOperatorZeros(2, 3), ValueError, "is_square=False"),
    "zeros hint": (
        lambda: L.LinearOperatorZeros(2, is_non_singular=True), ValueError, "never non singular"),
    "householder": (
        lambda: L.LinearOperatorHouseholder([1.0], is_positive_definite=True), ValueError, "never"),
    "permutation": (lambda: L.LinearOperatorPermutation([1, 1]), ValueError, "each integer"),
    "permutation dtype": (lambda: L.LinearOperatorPermutation([1.0, 0.0]), TypeError, "integers"),
    "permutation hint": (
        lambda: L.LinearOperatorPermutation([0], is_non_singular=False), ValueError, "always"),
    "toeplitz": (
        lambda: L.LinearOperatorToeplitz([1.0], [1.0, 2.0]), ValueError, "same last axis"),
    "toeplitz dtype": (
        lambda: L.LinearOperatorToeplitz([1.0], np.ones(1)), TypeError, "same dtype"),
    "tridiag format": (
        lambda: L.LinearOperatorTridiag([[1.0]], diagonals_format="x"), ValueError, "'compact'"),
    "tridiag rows": (lambda: L.LinearOperatorTridiag([[1.0]]), ValueError, "three rows"),
    "tridiag matrix": (
        lambda: L.LinearOperatorTridiag(tf.ones([2, 3]), diagonals_format="matrix"), ValueError,
        "square"),
    "tridiag sequence": (
        lambda: L.LinearOperatorTridiag([[1.0], [1.0]], diagonals_format="sequence"), ValueError,
        "three vectors"),
    "circulant": (lambda: L.LinearOperatorCirculant(1.0), ValueError, "at least 1 axis"),
    "circulant 2d": (lambda: L.LinearOperatorCirculant2D([1.0]), ValueError, "at least 2 axes"),
    "circulant dtype": (
        lambda: L.LinearOperatorCirculant([1.0]).matvec(tf.ones([1])), TypeError, "complex64"),
    "circulant hint": (
        lambda: L.LinearOperatorCirculant([1.0], is_self_adjoint=False), ValueError, "always"),
    "low rank rows": (
        lambda: L.LinearOperatorLowRankUpdate(DIAG, tf.ones([3, 1])), ValueError, "u must have 2"),
    "low rank diag": (
        lambda: L.LinearOperatorLowRankUpdate(DIAG, tf.ones([2, 1]), tf.ones([3])), ValueError,
        "same last axis"),
    "low rank dtype": (
        lambda: L.LinearOperatorLowRankUpdate(DIAG, np.ones((2, 1))), TypeError, "u must have"),
    "low rank positive": (
        lambda: L.LinearOperatorLowRankUpdate(
            DIAG, tf.ones([2, 1]), is_diag_update_positive=False), ValueError, "is_diag_update"),
    "low rank hint": (
        lambda: L.LinearOperatorLowRankUpdate(DIAG, tf.ones([2, 1]), is_self_adjoint=False),
        ValueError, "always self adjoint"),
    "low rank singular": (
        lambda: L.LinearOperatorLowRankUpdate(
            L.LinearOperatorDiag([1.0], is_non_singular=False), [[1.0]]).solve([[1.0]]), ValueError,
        "base_operator"),
    "kronecker": (lambda: L.LinearOperatorKronecker([]), ValueError, "at least one"),
    "kronecker dtype": (
        lambda: L.LinearOperatorKronecker([DIAG, DOUBLE]), TypeError, "same dtype"),
    "block diag operator": (lambda: L.LinearOperatorBlockDiag(DIAG), TypeError, "a list of"),
    "block diag tensor": (lambda: L.LinearOperatorBlockDiag([tf.eye(2)]), TypeError, "operators"),
    "block diag count": (
        lambda: L.LinearOperatorBlockDiag([DIAG, DIAG]) @ L.LinearOperatorBlockDiag(
            [L.LinearOperatorIdentity(4)]), ValueError, "as many blocks"),
    "block diag sizes": (
        lambda: L.LinearOperatorBlockDiag([DIAG, L.LinearOperatorIdentity(1)])
        @ L.LinearOperatorBlockDiag([L.LinearOperatorIdentity(1), DIAG]), ValueError, "block 0"),
    "blocks size": (
        lambda: L.LinearOperatorBlockDiag([DIAG, DIAG]).matvec([tf.ones([2]), tf.ones([3])]),
        ValueError, r"matvec: x\[1\] must have 2"),
    "blocks dtype": (
        lambda: L.LinearOperatorBlockDiag([DIAG, DIAG]).matvec(
            [tf.ones([2]), tf.ones([2], tf.float64)]), TypeError, r"x\[1\] must have"),
    "blocks lists": (
        lambda: L.LinearOperatorBlockDiag([DIAG, DIAG]).matvec([[1.0, 2.0], [1.0, 2.0, 3.0]]),
        ValueError, "the blocks must have sizes"),
    "block triangular rows": (
        lambda: L.LinearOperatorBlockLowerTriangular([[DIAG], [DIAG]]), ValueError, "2 blocks"),
    "block triangular sizes": (
        lambda: L.LinearOperatorBlockLowerTriangular([[DIAG], [WIDE, DIAG]]), ValueError, "2 by 2"),
    "block triangular square": (
        lambda: L.LinearOperatorBlockLowerTriangular([[WIDE]]), ValueError, "must be square"),
    "block triangular hint": (
        lambda: L.LinearOperatorBlockLowerTriangular([[DIAG]], is_square=False), ValueError,
        "always square"),
    "block triangular singular": (
        lambda: L.LinearOperatorBlockLowerTriangular(
            [[L.LinearOperatorZeros(2)]], is_non_singular=True), ValueError, "never"),
    "block triangular list": (
        lambda: L.LinearOperatorBlockLowerTriangular(DIAG), TypeError, "a list of rows"),
    "composition": (
        lambda: L.LinearOperatorComposition([WIDE, DIAG]), ValueError, "has 2 rows"),
    "composition hint": (
        lambda: L.LinearOperatorComposition([L.LinearOperatorIdentity(2)], is_non_singular=False),
        ValueError, "always non singular"),
    "inversion": (lambda: L.LinearOperatorInversion(WIDE), ValueError, "only a square"),
    "inversion singular": (
        lambda: L.LinearOperatorInversion(L.LinearOperatorZeros(2)), ValueError, "singular"),
    "adjoint hint": (
        lambda: L.LinearOperatorAdjoint(DIAG, is_self_adjoint=False), ValueError, "contradicts"),
    "batch": (
        lambda: L.LinearOperatorComposition(
            [L.LinearOperatorDiag(tf.ones([2, 2])), L.LinearOperatorDiag(tf.ones([3, 2]))]).shape,
        ValueError, "must broadcast"),
    "index": (
        lambda: L.LinearOperatorDiag(tf.ones([2, 3]))[2], tf.errors.InvalidArgumentError, "index"),
    "index too many": (lambda: DIAG[0], tf.errors.InvalidArgumentError, "0 axes to index"),
    "index list": (lambda: L.LinearOperatorDiag(tf.ones([2, 3]))[[0]], TypeError, "integers"),
    "index dots": (
        lambda: L.LinearOperatorDiag(tf.ones([2, 3]))[..., ...], ValueError, "at most one"),
}  # fmt: skip


@pytest.mark.parametrize("name", ERRORS)
def test_errors(name):
    call, error, says = ERRORS[name]
    with pytest.raises(error, match=says):
        call()


# What libraries do with them


class Weighted(L.LinearOperator):
    """A user's operator: a Variable times a shift."""

    def __init__(self, size, weight):
        self._size, self._weight = size, weight
        super().__init__(weight.dtype, parameters={"size": size, "weight": weight})

    def _shape(self):
        return tf.TensorShape([self._size, self._size])

    def _matmul(self, x, adjoint=False, adjoint_arg=False):
        x = tf.linalg.adjoint(x) if adjoint_arg else x
        return self._weight * tf.roll(x, -1 if adjoint else 1, -2)


def test_a_users_operator():
    weight = tf.Variable(2.0)
    operator = Weighted(3, weight)
    assert operator.trainable_variables == (weight,)
    assert operator.is_square
    with tf.GradientTape() as tape:
        result = tf.reduce_sum(operator.solvevec([1.0, 2.0, 3.0]))
    np.testing.assert_allclose(tape.gradient(result, weight), -6 / 4)
    np.testing.assert_allclose(operator.determinant(), 8.0)
    np.testing.assert_allclose((operator @ operator.H).to_dense(), 4 * np.eye(3))
    compiled = tf.function(lambda one, x: one.matvec(x))
    np.testing.assert_allclose(compiled(operator, [1.0, 2.0, 3.0]), [6.0, 2.0, 4.0])
    weight.assign(3.0)
    np.testing.assert_allclose(compiled(operator, [1.0, 2.0, 3.0]), [9.0, 3.0, 6.0])
    with tf.GradientTape() as tape:
        result = tf.reduce_sum(compiled(operator, [1.0, 2.0, 3.0]))
    np.testing.assert_allclose(tape.gradient(result, weight), 6.0)


def test_a_function_is_traced_once_for_operators_of_one_kind():
    traces = []

    @tf.function
    def product(operator, x):
        traces.append(type(operator))
        return operator.matvec(x)

    for scale in (1.0, 2.0, 3.0):
        found = product(L.LinearOperatorDiag([scale, scale]), tf.constant([1.0, 1.0]))
        np.testing.assert_allclose(found, [scale, scale])
    assert len(traces) == 1
    product(L.LinearOperatorDiag([1.0, 2.0], is_positive_definite=True), tf.constant([1.0, 1.0]))
    product(L.LinearOperatorScaledIdentity(2, 1.0), tf.constant([1.0, 1.0]))
    assert len(traces) == 3


@pytest.mark.parametrize("first", [True, False])
def test_a_branch_gives_an_operator(first):
    @tf.function
    def choose(condition, x, y):
        one, other = L.LinearOperatorDiag(x), L.LinearOperatorDiag(y)
        return tf.cond(condition, lambda: one.to_dense(), lambda: other.to_dense())

    found = choose(tf.constant(first), tf.constant([1.0]), tf.constant([2.0]))
    np.testing.assert_allclose(found, [[1.0 if first else 2.0]])


def test_tensors_arrays_and_lists_stand_on_the_left_of_an_operator():
    x = np.array([[1.0, 2.0]], np.float32)
    for left in (x, x.tolist(), tf.constant(x), tf.Variable(x)):
        found = left @ DIAG
        assert isinstance(found, tf.Tensor)
        np.testing.assert_allclose(found, [[1.0, 4.0]])


def test_functions_of_matrices_take_operators():
    full = positive(L.LinearOperatorFullMatrix, [[2.0, 1.0], [1.0, 2.0]])
    dense = full.to_dense()
    np.testing.assert_allclose(tf.linalg.det(full), tf.linalg.det(dense), rtol=1e-6)
    np.testing.assert_allclose(tf.linalg.logdet(full), tf.linalg.logdet(dense), rtol=1e-6)
    np.testing.assert_allclose(tf.linalg.trace(full), 4.0)
    np.testing.assert_allclose(tf.linalg.diag_part(full), [2.0, 2.0])
    np.testing.assert_allclose(tf.linalg.diag_part(full, k=1), [1.0])
    np.testing.assert_allclose(tf.linalg.matvec(full, [1.0, 0.0]), [2.0, 1.0])
    np.testing.assert_allclose(tf.linalg.matmul(full, tf.eye(2)), dense)
    np.testing.assert_allclose(tf.linalg.solve(full, dense), np.eye(2), atol=1e-6)
    assert isinstance(tf.linalg.cholesky(full), L.LinearOperatorLowerTriangular)
    assert isinstance(tf.linalg.inv(full), L.LinearOperatorInversion)
    assert tf.linalg.adjoint(full) is full
    assert not tf.is_tensor(full)


def test_what_is_not_read_may_be_anything():
    upper = np.array([[1.0, np.nan], [2.0, 2.0], [np.inf, 1.0]], np.float32)
    np.testing.assert_allclose(L.LinearOperatorTridiag(upper).matvec([1.0, 1.0]), [3.0, 3.0])
    above = np.array([[1.0, np.nan], [1.0, 1.0]], np.float32)
    np.testing.assert_allclose(
        L.LinearOperatorLowerTriangular(above).solvevec([1.0, 1.0]), [1.0, 0.0]
    )


def test_a_low_rank_update_by_nothing():
    """D need not have an inverse."""
    base = L.LinearOperatorDiag([1.0, 2.0])
    operator = L.LinearOperatorLowRankUpdate(base, [[1.0], [1.0]], diag_update=[0.0])
    np.testing.assert_allclose(operator.solvevec([1.0, 1.0]), [1.0, 0.5])
    np.testing.assert_allclose(operator.determinant(), 2.0)


def test_circulant_operators():
    kernel = tf.constant([4.0, 1.0, 0.5, 1.0])
    operator = L.LinearOperatorCirculant(
        tf.signal.fft(tf.cast(kernel, tf.complex64)), input_output_dtype=tf.float32
    )
    np.testing.assert_allclose(operator.convolution_kernel(), kernel, atol=1e-6)
    np.testing.assert_allclose(operator.to_dense()[:, 0], kernel, atol=1e-6)
    assert operator.block_depth == 1
    assert operator.block_shape == (4,)
    plane = L.LinearOperatorCirculant2D(tf.ones([5, 2, 3]))
    assert plane.block_shape_tensor().numpy().tolist() == [2, 3]
    assert plane.dtype == tf.complex64
    assert (plane @ plane).dtype == plane.inverse().dtype == tf.complex64


def test_nothing_is_made_dense():
    """Products and solutions with a large operator take no matrix of its size."""
    size = 100_000
    d = tf.fill([size], 2.0)
    x = tf.ones([size, 1])
    base = L.LinearOperatorDiag(d, is_positive_definite=True)
    small = L.LinearOperatorDiag(tf.fill([100], 2.0))
    for operator in (
        base,
        L.LinearOperatorIdentity(size),
        L.LinearOperatorScaledIdentity(size, 2.0),
        L.LinearOperatorLowRankUpdate(base, x / 100.0),
        L.LinearOperatorKronecker([small, L.LinearOperatorIdentity(1000)]),
        L.LinearOperatorBlockDiag([L.LinearOperatorDiag(d[:10]), L.LinearOperatorDiag(d[10:])]),
        L.LinearOperatorHouseholder(tf.ones([size])),
        L.LinearOperatorTridiag([d * 0.1, d, d * 0.1], diagonals_format="sequence"),
        L.LinearOperatorCirculant(d, input_output_dtype=tf.float32),
        L.LinearOperatorPermutation(tf.range(size - 1, -1, -1)),
        L.LinearOperatorComposition([base, base]),
        base.inverse() @ L.LinearOperatorHouseholder(tf.ones([size])),
    ):
        there = operator.matmul(x)
        np.testing.assert_allclose(operator.solve(there), x, rtol=1e-3)
        assert operator.matmul(x, adjoint=True).shape == (size, 1)
        assert operator.adjoint().shape == (size, size)
    for operator in (base, L.LinearOperatorLowRankUpdate(base, x / 100.0)):
        assert np.isfinite(operator.log_abs_determinant())
        assert operator.trace() > 0
    toeplitz = L.LinearOperatorToeplitz(d, d)
    assert toeplitz.matmul(x).shape == (size, 1)
