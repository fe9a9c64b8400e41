"""The checkers of the op test table, tested with wrong rules:
each must be rejected by the checker that is meant for it.
"""

from __future__ import annotations

import operator

import numpy as np
import pytest

from gradtape.core.batching import BatchedTensor
from gradtape.core.tensor import Tensor
from gradtape.errors import InvalidArgumentError
from gradtape.ops import batching, declare
from gradtape.ops.arithmetic import add, multiply
from gradtape.ops.broadcasting import broadcast_to, real, stop_gradient, sum_to_shape
from gradtape.ops.elementary import cos, exp, tanh
from gradtape.ops.matrix import matmul
from gradtape.ops.registry import registry

from . import checks

X = np.array([[0.3, -0.7, 1.1], [0.9, 0.2, -0.4]])
Y = np.array([0.5, -1.5, 0.8])
Z = X + 1j * X[::-1]


@pytest.fixture
def op():
    """Declares throw-away ops, which leave the registry after the test."""
    before = set(registry)

    def declared(kernel, pulls, **options):
        return declare.op(f"throw_away_{len(registry)}", kernel, pulls, **options)

    yield declared
    for name in set(registry) - before:
        del registry[name]


@pytest.fixture
def square(op):
    """The square of x, with a pull that may be wrong."""
    return lambda pull, **options: op(lambda xp, x: x * x, [pull], **options)


def rejected(says: str):
    return pytest.raises(AssertionError, match=says)


SECOND_ORDER = [
    (outer, inner_mode) for outer in ("reverse", "forward") for inner_mode in ("reverse", "forward")
]


@pytest.mark.parametrize("elementwise", [True, False])
def test_a_right_rule_passes_everything(square, elementwise):
    right = square(lambda g, x: g * (x + x), elementwise=elementwise)
    for args in ([X], [Z], [np.array(0.7)], [np.zeros((0, 3))]):
        checks.check_gradient(right, args, [0])
        checks.check_jvp(right, args, [0])
        checks.check_adjoint(right, args, [0])
        for outer, inner_mode in SECOND_ORDER:
            checks.check_second_order(right, args, [0], outer=outer, inner_mode=inner_mode)
        checks.check_layouts(right, args, [0])
        checks.check_unmodified(right, args, [0])
        checks.check_other_kinds(right, args, [0])
    checks.check_gradient_dtype(right, [X.astype(np.float32)], [0], rtol=1e-5)
    checks.check_kept_alive(right.op, right, [X], [0])
    checks.check_saved_is_needed(right.op, right, [X], [0])


# First order


@pytest.mark.parametrize(
    "pull",
    [
        pytest.param(lambda g, x: -g * (x + x), id="wrong sign"),
        pytest.param(lambda g, x: g * x, id="missing factor"),
        pytest.param(lambda g, x: g * (x + x) + 1, id="not linear in the cotangent"),
        pytest.param(lambda g, x: (g * (x + x))[:1], id="wrong shape"),
    ],
)
def test_wrong_gradient(square, pull):
    with rejected("gradient of argument 0"):
        checks.check_gradient(square(pull), [X], [0])


@pytest.mark.parametrize("pull", [lambda g, x: -g * (x + x), lambda g, x: g * x])
def test_wrong_rule_gives_a_wrong_jvp(square, pull):
    with rejected("tangent of output 0"):
        checks.check_jvp(square(pull, elementwise=True), [X], [0])
    with rejected("tangent of output 0"):
        checks.check_jvp(square(pull), [X], [0])


def test_missing_path(square):
    with rejected("no path"):
        checks.check_gradient(square(None), [X], [0])
    with rejected("no path"):
        checks.check_jvp(square(None), [X], [0])


def test_forgotten_unbroadcast(op):
    wrong = op(lambda xp, x, y: x + y, [lambda g: g, lambda g: g])
    checks.check_gradient(wrong, [X, X], [0, 1])
    with rejected("gradient of argument 1: shape"):
        checks.check_gradient(wrong, [X, Y], [0, 1])


def test_gradients_swapped(op):
    wrong = op(lambda xp, x, y: x * y, [lambda g, x: g * x, lambda g, y: g * y])
    with rejected("gradient of argument 0"):
        checks.check_gradient(wrong, [X, X + 1], [0, 1])


def test_gradient_that_depends_on_what_else_is_asked_for(op):
    def pull(g, wanted, args):
        both = None not in wanted
        return [None if parent is None else g * (1 if both else 2) for parent in wanted]

    wrong = op(lambda xp, *arrays: arrays[0] + arrays[1], pull_all=pull, pulls=(), arguments=())
    with rejected("alone"):
        checks.check_gradient(wrong, [X, X], [0, 1])


def test_forgotten_conjugate(square):
    """`conjugate=False` declares that the pull is the adjoint already, which this one is not."""
    wrong = square(lambda g, x: g * (x + x), conjugate=False)
    checks.check_gradient(wrong, [X], [0])
    with rejected("gradient of argument 0"):
        checks.check_gradient(wrong, [Z], [0])


def test_wrong_jvp(square):
    """A square that says it is linear has the right gradient,
    but pushes tangents through itself.
    """
    wrong = square(lambda g, x: g * (x + x), linear=True)
    checks.check_gradient(wrong, [X], [0])
    with rejected("tangent of output 0"):
        checks.check_jvp(wrong, [X], [0])
    with rejected("<J"):
        checks.check_adjoint(wrong, [X], [0])


def test_push_that_is_not_the_transpose(op):
    """A sum that says it is elementwise: its pull is no push."""
    wrong = op(
        lambda xp, x: x.sum(), [lambda g, x_shape: broadcast_to(g, shape=x_shape)], elementwise=True
    )
    checks.check_gradient(wrong, [X], [0])
    with pytest.raises((AssertionError, InvalidArgumentError)):
        checks.check_adjoint(wrong, [X], [0])


def test_gradient_where_there_should_be_none(square):
    checks.check_without_gradient(square(None), [X], 0)
    with rejected("argument 0 has a gradient"):
        checks.check_without_gradient(square(lambda g: g * 0), [X], 0)


# Second order


@pytest.mark.parametrize(("outer", "inner_mode"), SECOND_ORDER)
@pytest.mark.parametrize("elementwise", [True, False])
def test_right_at_first_order_but_wrong_at_second(square, outer, inner_mode, elementwise):
    wrong = square(lambda g, x: g * (2 * stop_gradient(x)), elementwise=elementwise)
    checks.check_gradient(wrong, [X], [0])
    checks.check_jvp(wrong, [X], [0])
    checks.check_adjoint(wrong, [X], [0])
    with rejected("(gradient|tangent) of"):
        checks.check_second_order(wrong, [X], [0], outer=outer, inner_mode=inner_mode)


def test_gradient_that_cuts_its_cotangent(square):
    wrong = square(lambda g, x: stop_gradient(g) * (x + x))
    checks.check_gradient(wrong, [X], [0])
    with rejected("(gradient|tangent) of"):
        checks.check_second_order(wrong, [X], [0], outer="reverse", inner_mode="reverse")


# Dtypes, layouts, kinds of arguments


@pytest.mark.parametrize("dtype", [np.float32, np.complex64])
def test_gradient_of_another_dtype(square, dtype):
    wide = np.ones(3, np.complex128 if dtype is np.complex64 else np.float64)
    wrong = square(lambda g, x: g * (x + x) * Tensor(wide))
    with rejected("dtype"):
        checks.check_gradient_dtype(wrong, [Y.astype(dtype)], [0], rtol=1e-5)


def test_gradient_that_loses_precision(square):
    wrong = square(lambda g, x: g * (x + x + 1e3 - 1e3))
    with rejected("gradient of argument 0"):
        checks.check_gradient_dtype(wrong, [X.astype(np.float32)], [0], rtol=1e-6)


def test_kernel_that_reads_memory_order(op):
    wrong = op(lambda xp, x: x.ravel("K").reshape(x.shape), [lambda g: g])
    checks.check_gradient(wrong, [X], [0])
    with rejected("strided"):
        checks.check_layouts(wrong, [X], [0])


@pytest.mark.parametrize("layout", checks.LAYOUTS, ids=lambda layout: layout.__name__)
def test_a_layout_has_the_same_numbers_in_other_places(layout):
    for array in (
        X,
        np.arange(24.0).reshape(2, 3, 4),
        np.zeros((2, 0, 3)),
        np.float64(1.0),
        np.arange(3),
    ):
        assert np.array_equal(layout(array), array)
        assert layout(array).dtype == array.dtype
    found = layout(np.arange(24.0).reshape(2, 3, 4))
    assert not found.flags.c_contiguous or not (found.flags.writeable or found.flags.aligned)


def test_rule_that_needs_a_whole_cotangent(op):
    wrong = op(
        lambda xp, x: x * 2.0, [lambda g: g * (2.0 if all(getattr(g, "array", g).strides) else 3.0)]
    )
    checks.check_gradient(wrong, [X], [0])
    with rejected("repeated cotangent"):
        checks.check_layouts(wrong, [X], [0])


@pytest.mark.parametrize(
    "layout",
    [checks.in_columns, checks.backwards, checks.sparse_rows],
    ids=lambda layout: layout.__name__,
)
def test_kernel_that_knows_one_layout(op, layout):
    wrong = op(lambda xp, x: x * (1.0 if x.flags.c_contiguous else 2.0), [lambda g: g])
    with rejected(layout.__name__):
        checks.check_layouts(wrong, [X], [0], [layout])


def test_kernel_that_writes_into_its_argument(op):
    def kernel(xp, x):
        x *= 2
        return x + 0

    with rejected("written into"):
        checks.check_unmodified(op(kernel, [lambda g: g * 2]), [X], [0])
    assert X[0, 0] == 0.3


def test_pull_that_writes_into_its_cotangent(square):
    def pull(g, x):
        (g.array if isinstance(g, Tensor) else g)[...] *= 2
        return g * x

    with rejected("written into"):
        checks.check_unmodified(square(pull), [X], [0])


def test_array_that_becomes_a_tensor():
    with rejected("arrays gave a Tensor"):
        checks.check_other_kinds(lambda x: exp(x if isinstance(x, Tensor) else Tensor(x)), [X], [])


def test_variable_that_is_not_followed():
    def reads_quietly(x):
        return exp(x if isinstance(x, np.ndarray) else Tensor(x.array, getattr(x, "node", None)))

    with rejected("not followed"):
        checks.check_other_kinds(reads_quietly, [X], [0])


# Batching


def test_right_batching_rules(op):
    for batch in (None, batching.as_it_is):
        right = op(lambda xp, x: x[..., ::-1], [lambda g: g[..., ::-1]], batch=batch)
        checks.check_batching(right, [[X], [X + 1]])
        checks.check_batched_gradient(right, [[X], [X + 1]], [0])


def test_batching_rule_that_forgets_the_batch_axis(op):
    wrong = op(lambda xp, x: xp.cumsum(x, axis=0), [lambda g: g], batch=batching.as_it_is)
    with rejected("output 0 of a batch of arguments .0."):
        checks.check_batching(wrong, [[X], [X + 1]])


def test_batching_rule_that_is_wrong_if_one_argument_is_the_same_for_all(op):
    wrong = op(lambda xp, x, y: x + y, [lambda g: g, lambda g: g], batch=batching.as_it_is)
    square = X[:, :2]
    with rejected("output 0 of a batch of arguments .0."):
        checks.check_batching(wrong, [[square, Y[:2]], [square + 1, Y[1:]]])


def test_pull_that_is_wrong_for_a_batch(op):
    """One that gives every example the gradient of the first."""

    def pull(g):
        return 2 * Tensor(g.inner.array[0]) if isinstance(g, BatchedTensor) else 2 * g

    wrong = op(lambda xp, x: x * 2, [pull], batch=batching.as_it_is)
    checks.check_batching(wrong, [[X], [X + 1]])
    with rejected("output 0 of a batch"):
        checks.check_batched_gradient(wrong, [[X], [X + 1]], [0])


# What stays alive


def test_rule_that_names_what_it_does_not_need(op):
    wrong = op(lambda xp, x: x.sum(), [lambda g, x: broadcast_to(g, shape=x.shape)])
    checks.check_kept_alive(wrong.op, wrong, [X], [0])
    with rejected("saves x, but the gradient"):
        checks.check_saved_is_needed(wrong.op, wrong, [X], [0])


def test_rule_of_many_arguments_that_names_what_it_does_not_need(op):
    wrong = op(
        lambda xp, *arrays: arrays[0] + arrays[1],
        pull_all=lambda g, wanted, args: [g for _ in wanted],
        pulls=(),
        arguments=(),
    )
    with rejected("saves args"):
        checks.check_saved_is_needed(wrong.op, wrong, [X, X], [0, 1])


def test_output_that_keeps_the_input_alive(op):
    """A saved output that is a view of the input keeps that alive too,
    though the rule does not name it.
    """
    wrong = op(lambda xp, x: x[0], [lambda g, out: sum_to_shape(g * out, shape=(2, 3))])
    with rejected("keeps .*argument 0"):
        checks.check_kept_alive(wrong.op, wrong, [X], [0])


def test_rule_with_a_memory_of_its_own(op):
    """A kernel that hoards its arguments."""
    hoard = []
    wrong = op(lambda xp, x: hoard.append(x) or x + 1, [lambda g: g])
    with rejected("keeps .*argument 0"):
        checks.check_kept_alive(wrong.op, wrong, [X], [0])


@pytest.mark.parametrize(
    ("function", "args", "connected", "kept"),
    [
        pytest.param(add, [X, X], [0, 1], set(), id="x + y keeps no array"),
        pytest.param(add, [X, Y], [0, 1], set(), id="x + y with broadcasting keeps no array"),
        pytest.param(tanh, [X], [0], {"output 0"}, id="tanh keeps its output"),
        pytest.param(cos, [X], [0], {"argument 0"}, id="cos keeps its argument"),
        pytest.param(multiply, [X, X], [0], {"argument 1"}, id="x * y keeps y for x"),
        pytest.param(multiply, [X, X], [1], {"argument 0"}, id="x * y keeps x for y"),
        pytest.param(
            matmul, [X, X.T], [0], {"argument 1"}, id="matmul keeps an operand for the other"
        ),
        pytest.param(
            matmul, [X, X.T], [0, 1], {"argument 0", "argument 1"}, id="matmul keeps both for both"
        ),
        pytest.param(real, [Z], [0], set(), id="real keeps no array"),
    ],
)
def test_what_ops_keep_alive(function, args, connected, kept):
    alive, _ = checks.alive_after(function, args, connected)
    assert alive == kept


# The tools of the checkers


def test_values_of_unlike_shape_or_kind_are_not_close():
    with rejected("shape"):
        checks.assert_close(np.ones(3), np.ones(()), "values", rtol=1, atol=1)
    with rejected("nan location"):
        checks.assert_close(np.array([np.nan]), np.array([1.0]), "values", rtol=1, atol=1)
    checks.assert_close(
        np.array([np.nan, np.inf]), np.array([np.nan, np.inf]), "values", rtol=0, atol=0
    )


def test_throw_away_ops_leave_the_registry(op):
    name = op(operator.neg, [lambda g: -g], arguments=["x"]).op.name
    assert name in registry


def test_no_throw_away_op_is_left():
    assert not [name for name in registry if name.startswith("throw_away")]
