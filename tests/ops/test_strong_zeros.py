"""The column "strong zeros" of the op test table: every op with a derivative, at its poles,
at infinities and at NaN.
"""

from __future__ import annotations

import numpy as np
import pytest

import gradtape as tf
from gradtape.core.tape import GradientTape
from gradtape.ops import declare
from gradtape.ops.elementary import sqrt
from gradtape.ops.registry import registry

from . import checks
from . import strong_zeros as zeros
from .table import all_cases

CONTRACTION = "a sum of products: zero times infinity in it is NaN, as in the product itself"
MATRIX = "made of products of whole matrices"

EXCEPTED = {
    **dict.fromkeys(("matmul", "einsum", "conv", "conv_by_input", "conv_by_filter", "convolve",
        "sparse_matmul", "dots_at", "attention", "attention_pull"), CONTRACTION),
    **dict.fromkeys(
        (
            "cholesky", "det", "eig", "eigh", "eigvals", "eigvalsh", "expm", "inverse", "logm",
            "lu", "pseudoinverse", "qr", "singular_values", "slogdet", "solve", "sqrtm", "svd",
            "sylvester", "triangular_solve", "tridiagonal_solve",
        ),
        MATRIX,
    ),
}  # fmt: skip

ENDLESS = {"hyp1f1": "scipy's function does not come back from an infinity"}

SLOW = {"betainc_by"}  # by numerical integration

EVERY_DAY_ON_XLA = {
    "abs", "acos", "acosh", "asin", "atan2", "atanh", "cumprod", "divide", "exp", "expint", "log",
    "log1p", "log_softmax", "multiply", "pow", "reciprocal", "reduce_logsumexp", "reduce_max",
    "reduce_prod", "reduce_variance", "rsqrt", "softmax", "sqrt", "tan", "tanh", "xlogy",
}  # fmt: skip

CASES = [case for case in all_cases() if case.orders]


def rows(*, everyday=lambda case: True, samples: int = 3):
    """The first samples of every op: one each day, others on occasion."""
    return [
        pytest.param(
            case,
            one,
            id=f"{case.name}:{one.label}",
            marks=() if not i and everyday(case) and case.name not in SLOW else pytest.mark.slow,
        )
        for case in CASES
        if case.name not in EXCEPTED and case.name not in ENDLESS
        for i, one in enumerate(case.samples[:samples])
        if one.wanted and "float64" in case.dtypes_of(one)
    ]


def dangers_of(case, one, dtype="float64"):
    return zeros.dangers(case.function(one), case.make(one, dtype), one.wanted)


def test_exceptions_are_ops():
    assert (EXCEPTED.keys() | ENDLESS.keys()) <= registry.keys()


def test_nearly_every_op_is_tried():
    """A value that the op refuses is no danger; what has none at all is listed here."""
    without = {
        case.name for case in CASES if case.name not in ENDLESS and case.name not in SLOW
    } - {
        case.name
        for case in CASES
        if case.name not in ENDLESS and case.name not in SLOW
        for one in case.samples[:2]
        if one.wanted and "float64" in case.dtypes_of(one) and dangers_of(case, one)
    }
    assert without <= {
        "check_numerics",
        "cast",
        "real",
        "imag",
        "conj",
        "ifft",
        "irfft",
        "fft",
        "identity",
    }, without


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("case", "one"), rows())
def test_backward(case, one):
    function = case.function(one)
    for danger in dangers_of(case, one):
        for way in zeros.BACKWARD.values():
            zeros.check_backward(function, danger, one.wanted, way)
            zeros.check_nothing(function, danger, one.wanted, way)


@pytest.mark.parametrize(("case", "one"), rows())
def test_forward(case, one):
    push = zeros.pushed(case.function(one), one.wanted)
    for danger in dangers_of(case, one):
        zeros.check_forward(push, danger)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("outer", ["reverse", "forward"])
@pytest.mark.parametrize(("case", "one"), [p for p in rows() if p.values[0].orders > 1])
def test_second_order(case, one, outer):
    for danger in dangers_of(case, one):
        zeros.check_second_order(case.function(one), danger, one.wanted, outer=outer)


@pytest.mark.parametrize(("case", "one"), [p for p in rows() if p.values[0].orders > 1])
def test_zeros_that_move(case, one):
    zeros.check_moving_zeros(case.function(one), case.make(one, "float64"), one.wanted)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("way", zeros.ON_XLA)
@pytest.mark.parametrize(
    ("case", "one"), rows(everyday=lambda case: case.name in EVERY_DAY_ON_XLA, samples=2)
)
def test_compiled(case, one, way):
    function = case.function(one)
    compiled = zeros.ON_XLA[way](function, one.wanted)
    for danger in dangers_of(case, one):
        zeros.check_backward(function, danger, one.wanted, compiled)


@pytest.mark.parametrize(
    ("case", "one"), rows(everyday=lambda case: case.name in EVERY_DAY_ON_XLA, samples=1)
)
def test_compiled_forward(case, one):
    push = zeros.pushed(case.function(one), one.wanted, on_xla=True)
    for danger in dangers_of(case, one):
        zeros.check_forward(push, danger)


@pytest.mark.parametrize("dtype", ["float32", "complex128"])
@pytest.mark.parametrize(("case", "one"), rows(samples=1))
def test_other_dtypes(case, one, dtype):
    if dtype not in case.dtypes_of(one):
        return
    for danger in dangers_of(case, one, dtype):
        for way in (zeros.by_seeds, zeros.by_mask):
            zeros.check_nothing(case.function(one), danger, one.wanted, way)


@pytest.mark.parametrize(
    "case", [case for case in CASES if case.op.op.plain is True], ids=lambda case: case.name
)
def test_plain_ops_show_nan(case):
    """A NaN anywhere in an argument that has a derivative shows in the output,
    which walks rely on.
    """
    for one in case.samples:
        if "float64" not in case.dtypes_of(one):
            continue
        args = case.make(one, "float64")
        for i in one.wanted:
            for place in np.ndindex(args[i].shape):
                changed = [np.array(arg) if k == i else arg for k, arg in enumerate(args)]
                changed[i][place] = np.nan
                found = checks.values(case.function(one), changed)
                nothing = not any(value.size for value in found)
                assert nothing or any(np.isnan(value).any() for value in found), (
                    f"{one.label}: argument {i} at {place}"
                )


# Rows of Jacobians are cotangents with one element that is not zero


ELEMENTWISE = [
    case
    for case in CASES
    if case.op.op.elementwise and len(case.op.op.arguments) == 1 and "float64" in case.dtypes
]


@pytest.mark.parametrize("mode", ["reverse", "forward", "one by one", "compiled"])
@pytest.mark.parametrize("case", ELEMENTWISE, ids=lambda case: case.name)
def test_jacobians_are_diagonal(case, mode):
    if mode == "compiled" and case.name not in EVERY_DAY_ON_XLA:
        return
    options = (
        {"mode": "reverse", "experimental_use_pfor": False}
        if mode == "one by one"
        else {"mode": mode.replace("compiled", "auto")}
    )

    def jacobian(x):
        with GradientTape() as tape:
            tape.watch(x)
            y = case.op(x * 1.0, **case.samples[0].params) + 0.0
        return tape.jacobian(y, x, unconnected_gradients="zero", **options)

    x = tf.constant(np.array([0.5, *zeros.BAD]))
    found = (tf.function(jacobian) if mode == "compiled" else jacobian)(x).numpy()
    off_diagonal = found[~np.eye(len(found), dtype=bool)]
    np.testing.assert_array_equal(off_diagonal, np.zeros_like(off_diagonal))


# The checker itself


@pytest.fixture
def root():
    """The square root, with a pull and options that may be wrong."""
    before = set(registry)

    def declared(pull, **options):
        return declare.op("throw_away_root", lambda xp, x: xp.sqrt(x), [pull], **options)

    yield declared
    for name in set(registry) - before:
        del registry[name]


X = np.array([[0.3, 0.7, 1.1], [0.9, 0.2, 0.4]])


def checked(function, ways):
    for danger in zeros.dangers(function, [X], [0]):
        for way in ways:
            zeros.check_backward(function, danger, [0], way)
            zeros.check_nothing(function, danger, [0], way)


def test_a_right_rule_passes(root):
    right = root(lambda g, out: g / (out + out), elementwise=True, plain=True)
    dangers = zeros.dangers(right, [X], [0])
    assert [danger.what.split()[3] for danger in dangers] == [
        "nan",
        "inf",
        "-inf",
        "0.0",
        "1.0",
        "-1.0",
    ]
    assert all(not danger.tangents[0].all() and danger.tangents[0].any() for danger in dangers)
    checked(right, [*zeros.BACKWARD.values(), *[way(right, [0]) for way in zeros.ON_XLA.values()]])
    for danger in dangers:
        zeros.check_forward(zeros.pushed(right, [0]), danger)
        for outer in ("reverse", "forward"):
            zeros.check_second_order(right, danger, [0], outer=outer)


@pytest.mark.parametrize("way", [*zeros.BACKWARD, *zeros.ON_XLA])
def test_a_rule_without_zeros_is_rejected(root, way):
    wrong = root(lambda g, out: g / (out + out), elementwise=True, selects=True)
    with pytest.raises(AssertionError, match="strong zeros"):
        checked(
            wrong, [zeros.BACKWARD[way] if way in zeros.BACKWARD else zeros.ON_XLA[way](wrong, [0])]
        )


def test_a_rule_without_zeros_is_rejected_forward(root):
    wrong = root(lambda g, out: g / (out + out), elementwise=True, selects=True)
    with pytest.raises(AssertionError, match="strong zeros"):
        for danger in zeros.dangers(wrong, [X], [0]):
            zeros.check_forward(zeros.pushed(wrong, [0]), danger)


@pytest.mark.parametrize("outer", ["reverse", "forward"])
def test_zeros_that_plain_arrays_alone_have_are_rejected(root, outer):
    def pull(g, out):
        pulled = g / (out + out)
        return pulled if isinstance(g, tf.Tensor) else np.where(g == 0, 0, pulled)

    wrong = root(pull, elementwise=True, selects=True)
    with pytest.raises(AssertionError, match="strong zeros"):
        for danger in zeros.dangers(wrong, [X], [0]):
            zeros.check_second_order(wrong, danger, [0], outer=outer)


def test_zeros_that_do_not_move_with_the_cotangent_are_rejected(root):
    def pull(g, out):
        partial = 1 / (out + out)
        return (
            tf.where(g == 0, tf.zeros_like(g), g * partial)
            if isinstance(g, tf.Tensor)
            else np.where(g == 0, 0, g * partial)
        )

    wrong = root(pull, elementwise=True, selects=True)
    with pytest.raises(AssertionError, match="strong zeros"):
        zeros.check_moving_zeros(wrong, [X], [0])
    zeros.check_moving_zeros(sqrt, [X], [0])


def test_an_op_that_hides_nan_and_does_not_say_so_is_rejected(root):
    """What comes before it, here a product, finds its own NaN only if it is told to look."""
    honest = root(lambda g, x: tf.where(tf.math.is_nan(x), tf.zeros_like(g), g), elementwise=True)
    del registry["throw_away_root"]
    kernel = lambda xp, x: xp.where(xp.isnan(x), 0.0, x)
    pull = lambda g, x: checks.operand(tf.where(tf.math.is_nan(x), tf.zeros_like(g), g)).array
    assert honest.op.plain is False
    found = []
    for plain in (False, True):
        hides = declare.op("throw_away_root", kernel, [pull], elementwise=True, plain=plain)
        del registry["throw_away_root"]
        w, x = tf.constant([2.0, 3.0]), tf.constant([np.nan, 1.0])
        with GradientTape() as tape:
            tape.watch(w)
            y = tf.reduce_sum(hides(w * x))
        found.append(tape.gradient(y, w).numpy())
    np.testing.assert_array_equal(found[0], [0.0, 1.0])
    np.testing.assert_array_equal(found[1], [np.nan, 1.0])
