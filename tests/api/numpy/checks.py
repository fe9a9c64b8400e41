"""The checkers of the table of NumPy functions.

Each takes a row and raises AssertionError; `test_checks` tests them.

What `tests/ops/checks.py` knows of derivatives is used here too.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

import gradtape.numpy as tnp
from gradtape.api.numpy.operands import with_defaults
from gradtape.core.tape import GradientTape
from gradtape.core.tensor import Tensor
from gradtape.core.variable import Variable
from gradtape.dtypes import TRAINABLE
from tests.ops import checks as op_checks

from .table import Row

TOLERANCE = {"float32": 3e-5, "complex64": 3e-5}


def leaves(result: Any) -> list[Any]:
    """The values in a result, those of tuples and lists one by one."""
    if isinstance(result, (list, tuple)):
        return [leaf for entry in result for leaf in leaves(entry)]
    return [result]


def is_array(value: Any) -> bool:
    return isinstance(value, (np.ndarray, np.generic))


# Values and dtypes


def check_values(row: Row, dtype: str, xp: Any) -> None:
    """The function of `xp` on Tensors gives what NumPy gives on arrays,
    in Tensors of the dtype that the rule says.
    """
    args = row.make(dtype)
    expected = _by_numpy(row, args)
    _compare(row.call(xp, *op_checks.as_tensors(args)), expected, row, args, dtype)


def check_variables(row: Row, dtype: str, xp: Any) -> None:
    """The same for Variables."""
    args = row.make(dtype)
    expected = _by_numpy(row, args)
    _compare(row.call(xp, *[Variable(arg) for arg in args]), expected, row, args, dtype)


def _by_numpy(row: Row, args: list[Any]) -> Any:
    """What NumPy gives, which may warn that it will not have the function for ever."""
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        return row.call(np, *args)


def _compare(actual: Any, expected: Any, row: Row, args: list[Any], dtype: str) -> None:
    assert _form(actual) == _form(expected), (
        f"{row.name} gave {_form(actual)}, NumPy gives {_form(expected)}"
    )
    for i, (found, reference) in enumerate(zip(leaves(actual), leaves(expected), strict=True)):
        what = f"output {i} of {row.name}"
        if not is_array(reference):
            assert type(found) is type(reference), (
                f"{what} is a {type(found).__name__}, NumPy gives {type(reference).__name__}"
            )
            assert found == reference, f"{what} is {found!r}, NumPy gives {reference!r}"
            continue
        assert type(found) is Tensor, f"{what} is a {type(found).__name__}, not a Tensor"
        wanted = (
            np.dtype(row.result)
            if row.result
            else with_defaults(reference.dtype, [arg.dtype for arg in args])
        )
        assert found.array.dtype == wanted, (
            f"{what} has dtype {found.array.dtype}, expected {wanted}"
        )
        tolerance = TOLERANCE.get(str(wanted), TOLERANCE.get(dtype, 1e-9))
        finite = (
            np.abs(reference[np.isfinite(reference)])
            if reference.dtype.kind in "fc"
            else np.zeros(0)
        )
        op_checks.assert_close(
            found.array,
            reference,
            what,
            rtol=tolerance,
            atol=tolerance * float(np.max(finite, initial=1.0)),
        )


def _form(result: Any) -> Any:
    """The nesting of a result: the types of its tuples and lists, and None for each value."""
    if isinstance(result, (list, tuple)):
        return type(result).__name__, [_form(entry) for entry in result]
    return None


# Derivatives


class Connected:
    """A row's call as a function of Tensors that gives the outputs which a tape follows,
    as the checkers of ops take it.
    """

    def __init__(self, row: Row, xp: Any) -> None:
        self.row, self.xp = row, xp
        self.args = row.make()
        tensors = op_checks.as_tensors(self.args)
        with GradientTape(persistent=True, watch_accessed_variables=False) as tape:
            tape.watch([tensors[i] for i in row.by])
            found = leaves(row.call(xp, *tensors))
        self.picked = [
            i
            for i, out in enumerate(found)
            if isinstance(out, Tensor) and out.node is not None and out.node.scope.any_open()
        ]
        for i in row.by:
            gradient = tape.gradient([found[k] for k in self.picked], tensors[i])
            assert gradient is not None, (
                f"{row.name}: the gradient by argument {i} is None, so the call is not recorded"
            )

    def __call__(self, *tensors: Any) -> list[Any]:
        found = leaves(self.row.call(self.xp, *tensors))
        return [found[i] for i in self.picked]


def check_recorded(row: Row, xp: Any) -> None:
    """The gradient by every argument is there."""
    Connected(row, xp)


def check_not_recorded(row: Row, xp: Any) -> None:
    """No derivative is declared: the gradient is None."""
    tensors = op_checks.as_tensors(row.make(row.dtypes[0]))
    watched = [tensor for tensor in tensors if tensor.array.dtype in TRAINABLE]
    with GradientTape(watch_accessed_variables=False) as tape:
        tape.watch(watched)
        found = [out for out in leaves(row.call(xp, *tensors)) if isinstance(out, Tensor)]
    assert all(g is None for g in tape.gradient(found, watched)), (
        f"{row.name} has a gradient, but its row says it has none"
    )


def check_derivatives(row: Row, xp: Any) -> None:
    """Tangents against a central difference, the adjoint identity,
    and the gradient by Variables.
    """
    function = Connected(row, xp)
    alone = len(function.picked) == 1  # several outputs may have arguments of their own
    op_checks.check_jvp(function, function.args, row.by, connected=alone)
    op_checks.check_adjoint(function, function.args, row.by)
    op_checks.check_other_kinds(function, function.args, row.by)


def check_second_order(row: Row, xp: Any) -> None:
    """The tangent of the gradient."""
    function = Connected(row, xp)
    op_checks.check_second_order(
        function, function.args, row.by, outer="forward", inner_mode="reverse"
    )


NAMESPACES = {"numpy": np, "gradtape.numpy": tnp}
