"""What NumPy's protocols handle beyond a plain call: keywords, ufunc methods, functions without a
derivative, and refusals.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from gradtape import nest
from gradtape.api.numpy.operands import is_recorded, plain, refusal, tensors_of
from gradtape.api.numpy.ufunc_methods import METHODS
from gradtape.api.numpy.values import on_values
from gradtape.convert import is_tensor_like, operand
from gradtape.core.array_methods import COUNTERPARTS
from gradtape.core.operators import TensorOperators
from gradtape.core.tensor import Tensor
from gradtape.core.variable import Variable

REFUSED: dict[Any, str] = {
    np.copyto: "write x = np.where(mask, source, x)",
    np.fill_diagonal: (
        "write x = np.where(np.eye(n, dtype=bool), value, x), or use gradtape.linalg.set_diag"
    ),
    np.place: "write x = np.where(mask, values, x)",
    np.put: "use x = gradtape.tensor_scatter_nd_update(x, indices, values)",
    np.put_along_axis: "use x = gradtape.tensor_scatter_nd_update(x, indices, values)",
    np.putmask: "write x = np.where(mask, values, x)",
}
"""Functions that write into their first argument, and what to write instead."""

_BY_PYTHON = " (vectorized)"
"""How NumPy marks the name of what `np.frompyfunc` made."""

_AT = {np.add: "add", np.subtract: "sub", np.maximum: "max", np.minimum: "min"}


def function(called: Any, args: Any, keywords: Any) -> Any:
    """A function that is not a ufunc."""
    found = COUNTERPARTS.get(called)
    if found is not None:
        return found(*args, **keywords)
    if called in REFUSED and _must_not_write(args):
        raise TypeError(
            f"{called.__name__}: Tensors are immutable, and no tape sees a write into an array; "
            f"{REFUSED[called]}."
        )
    return on_values(called, args, keywords)


def ufunc(called: Any, method: str, inputs: Any, keywords: Any) -> Any:
    """A ufunc with keywords, one of its methods, or one that has no derivative."""
    if any(_asks_in_its_turn(value) for value in inputs):
        return NotImplemented
    found = _find(called)
    if method == "at":
        return _write_at(called, inputs)
    if found is None:
        return _value_of_ufunc(called, method, inputs, keywords)
    if method == "__call__":
        return getattr(found, "call", found)(*inputs, **keywords)
    return METHODS[method](called, found, *inputs, **keywords)


def _find(called: Any) -> Callable[..., Any] | None:
    """gradtape's function; those for `scipy.special` join the table when a ufunc is looked for in
    vain.
    """
    found = COUNTERPARTS.get(called)
    scipy_special = sys.modules.get("scipy.special")
    if found is None and scipy_special is not None:
        from gradtape.api.numpy.special import fill_table  # noqa: PLC0415 - few programs use it

        fill_table(scipy_special)
        found = COUNTERPARTS.get(called)
    return found


def _asks_in_its_turn(value: Any) -> bool:
    """Whether a value is of another library's array type,
    which may know what to do with a Tensor.
    """
    return not isinstance(value, (TensorOperators, np.ndarray, np.generic)) and hasattr(
        type(value), "__array_ufunc__"
    )


def _value_of_ufunc(called: Any, method: str, inputs: Any, keywords: Any) -> Any:
    name = called.__name__
    if name.endswith(_BY_PYTHON):
        name = f"frompyfunc({name.removesuffix(_BY_PYTHON)})"
    if any(isinstance(target, (Tensor, Variable)) for target in keywords.get("out") or ()):
        raise refusal(name, "out", f"Tensors are immutable: write x = {name}(...)")
    read = tensors_of(inputs, name, [f"argument {i}" for i in range(len(inputs))])
    # Plain integers stay what they are: some ufuncs take nothing else, such as the branch of
    # scipy.special.lambertw.
    operands = [
        given if _is_integral(given) else tensor for given, tensor in zip(inputs, read, strict=True)
    ]
    return on_values(
        called if method == "__call__" else getattr(called, method), operands, keywords, name
    )


def _is_integral(value: Any) -> bool:
    return type(value) is int or (
        isinstance(value, (np.ndarray, np.generic)) and value.dtype.kind in "iu"
    )


def _write_at(called: Any, inputs: Any) -> None:
    """`called.at(array, indices, values)`, which writes into its first argument: into an array,
    while nothing is recorded.
    """
    if _must_not_write(inputs):
        word = _AT.get(called, "update")
        raise TypeError(
            f"{called.__name__}.at: Tensors are immutable, and no tape sees a write into an "
            f"array; use x = gradtape.tensor_scatter_nd_{word}(x, indices, values)."
        )
    called.at(*plain(list(inputs)))


def _must_not_write(args: Any) -> bool:
    """True if the destination, which is the first argument, is immutable, or if one of the
    values is recorded.
    """
    if isinstance(args[0], (Tensor, Variable)):
        return True
    return any(
        is_recorded(operand(value)) for value in nest.flatten(list(args)) if is_tensor_like(value)
    )
