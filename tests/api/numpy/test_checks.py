"""The checkers of the table of NumPy functions, tested with wrong calls: each must be rejected by
the checker meant for it.
"""

from __future__ import annotations

from collections import namedtuple

import numpy as np
import pytest

from gradtape.core.operators import TensorOperators
from gradtape.core.tensor import Tensor
from gradtape.transforms.custom_gradient import custom_gradient

from . import checks
from .table import Row, elementwise

Pair = namedtuple("Pair", ["first", "second"])


def rejected(says):
    return pytest.raises(AssertionError, match=says)


def on_tensors(call, otherwise):
    """A row whose call on Tensors is `call`, and on arrays `otherwise`."""
    return Row(
        "tanh", lambda xp, x: (call if isinstance(x, TensorOperators) else otherwise)(x), [(2, 3)]
    )


RIGHT = Row("tanh", lambda xp, x: xp.tanh(x), [(2, 3)])


def test_a_right_row_passes_everything():
    for xp in checks.NAMESPACES.values():
        checks.check_values(RIGHT, "float32", xp)
        checks.check_values(RIGHT, "float64", xp)
        checks.check_variables(RIGHT, "float64", xp)
        checks.check_recorded(RIGHT, xp)
    checks.check_derivatives(RIGHT, np)
    checks.check_second_order(RIGHT, np)


@pytest.mark.parametrize(
    ("call", "otherwise", "says"),
    [
        (lambda x: np.tanh(x) + 1e-6, np.tanh, "Not equal to tolerance"),
        (lambda x: np.tanh(x)[:1], np.tanh, "shape"),
        (
            lambda x: Tensor(np.tanh(x.array).astype(np.float32)),
            np.tanh,
            "dtype float32, expected float64",
        ),
        (lambda x: np.tanh(x.array), np.tanh, "not a Tensor"),
        (lambda x: [np.tanh(x)], np.tanh, "NumPy gives"),
        (lambda x: (np.tanh(x), x), lambda x: Pair(np.tanh(x), x), "NumPy gives"),
        (lambda x: np.tanh(x).shape[0], np.tanh, "not a Tensor"),
        (lambda x: 3, lambda x: 2, "is 3, NumPy gives 2"),
        (lambda x: 1, lambda x: True, "is a int, NumPy gives bool"),
    ],
)
def test_a_wrong_value_is_found(call, otherwise, says):
    with rejected(says):
        checks.check_values(on_tensors(call, otherwise), "float64", np)
    variables = on_tensors(lambda x: call(x.value()) if hasattr(x, "value") else call(x), otherwise)
    with rejected(says):
        checks.check_variables(variables, "float64", np)


def test_a_dtype_that_the_row_states_is_checked():
    with rejected("expected int32"):
        checks.check_values(
            Row("argmax", lambda xp, x: xp.argsort(x), [(3,)], dtype="int64", result="int32"),
            "int64",
            np,
        )


def test_a_call_that_leaves_the_tape_is_found():
    row = on_tensors(lambda x: Tensor(np.tanh(x.array)), np.tanh)
    with rejected("the gradient by argument 0 is None"):
        checks.check_recorded(row, np)
    with rejected("the gradient by argument 0 is None"):
        checks.check_derivatives(row, np)
    second_unused = Row(
        "add", lambda xp, x, y: xp.add(x, y.array if isinstance(y, Tensor) else y), [(2,), (2,)]
    )
    with rejected("the gradient by argument 1 is None"):
        checks.check_recorded(second_unused, np)


def test_a_gradient_that_should_not_be_there_is_found():
    with rejected("has a gradient"):
        checks.check_not_recorded(RIGHT, np)


def wrong_tanh(slope):
    @custom_gradient
    def tanh(x):
        out = Tensor(np.tanh(x.array))
        return out, lambda g: g * slope(x)

    return on_tensors(tanh, np.tanh)


def test_a_wrong_derivative_is_found():
    with rejected("tangent of output 0"):
        checks.check_derivatives(wrong_tanh(lambda x: 1 - np.tanh(x)), np)


def test_a_wrong_second_derivative_is_found():
    frozen = wrong_tanh(lambda x: Tensor(1 - np.tanh(x.array) ** 2))
    checks.check_derivatives(frozen, np)
    with rejected("tangent of output 0"):
        checks.check_second_order(frozen, np)


def test_arguments_lie_in_their_domain_and_repeat():
    row = Row(
        "f",
        lambda xp, *args: args,
        [(4, 4), (5,), (), (3, 3)],
        domain=["spd", "apart", "above_one", "complex"],
    )
    spd, apart, above, complex_ = row.make()
    assert np.linalg.eigvalsh(spd).min() > 0
    assert np.diff(np.sort(apart)).min() > 0.1
    assert above > 1
    assert complex_.dtype == np.complex128
    assert row.make("float32")[3].dtype == np.complex64
    assert all(np.array_equal(a, b) for a, b in zip(row.make(), row.make(), strict=True))


def test_elementwise_rows_have_every_kind_of_shape():
    assert [row.shapes for row in elementwise("sin")] == [[(2, 3)], [()], [(0, 3)]]
    assert [(2, 1), (3,)] in [row.shapes for row in elementwise("add", "real", "real")]
