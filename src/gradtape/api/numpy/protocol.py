"""NumPy's protocols on Tensor and Variable: `np.tanh(tensor)` calls gradtape's function of that name, and is recorded.

NumPy asks its arguments before it computes: `__array_ufunc__` for ufuncs and for an operator whose left side is an array,
`__array_function__` for its other functions. `TABLE` maps NumPy's function objects to gradtape's. It is filled when it is first
needed, so that `import gradtape` does not import the families.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from operator import attrgetter
from typing import Any

import numpy as np

from gradtape.core.tensor import Tensor, TensorOperators
from gradtape.core.variable import Variable

FAMILIES = {
    "": (
        "arithmetic", "elementary", "logic", "elementwise", "by_function", "bits",
        "shaping", "joining", "rearranging", "padding", "diagonals", "indexing", "creation", "sequences", "ordering", "sets", "histograms",
        "reductions", "nan_reductions", "statistics", "quantiles", "products", "calculus", "polynomials", "windows",
    ),
    "linalg": ("linalg", "linalg_norms", "linalg_decompositions"),
    "fft": ("fft",),
    "emath": ("emath",),
    "lib.stride_tricks": ("stride_tricks",),
}  # fmt: skip
"""The modules beside this one, by the namespace of NumPy that they spell."""

TABLE: dict[Any, Callable[..., Any]] = {}
"""gradtape's function for each of NumPy's that has one."""

_EASY = frozenset(
    (Tensor, Variable, np.ndarray, float, int, bool, complex, list, tuple, np.float32, np.float64, np.int32, np.int64)
)
"""Types of which it is known that they leave the answer to a Tensor beside them."""


def array_ufunc(self: Any, ufunc: Any, method: str, *inputs: Any, **keywords: Any) -> Any:
    """`__array_ufunc__`: a ufunc that was given a Tensor or a Variable."""
    if method == "__call__" and not keywords:
        found = TABLE.get(ufunc)
        easy = len(inputs) == 1 or (type(inputs[0]) in _EASY and type(inputs[1]) in _EASY)
        if found is not None and easy:
            return found(*inputs)
    return _dispatch().ufunc(ufunc, method, inputs, keywords)


def array_function(self: Any, function: Any, types: Any, args: Any, keywords: Any) -> Any:
    """`__array_function__`: any other function of NumPy's that was given one."""
    found = TABLE.get(function)
    if found is not None and (len(types) == 1 or not _foreign(types)):
        return found(*args, **keywords)
    return NotImplemented if _foreign(types) else _dispatch().function(function, args, keywords)


def _foreign(types: Any) -> bool:
    """Whether the array type of some other library is among the arguments, which is then asked in its turn."""
    return not all(issubclass(t, (TensorOperators, np.ndarray, np.generic)) for t in types)


def _dispatch() -> Any:
    """What to do where the table has no plain answer; the first call fills the table."""
    if not TABLE:
        TABLE.update(counterparts())
    return import_module("gradtape.api.numpy.dispatch")


def counterparts() -> dict[Any, Callable[..., Any]]:
    """NumPy's function for each public function of the families, as a table from the one to the other."""
    table = {}
    for namespace, families in FAMILIES.items():
        theirs = attrgetter(namespace)(np) if namespace else np
        for family in families:
            module = import_module(f"gradtape.api.numpy.{family}")
            for name, ours in vars(module).items():
                counterpart = getattr(theirs, name, None)
                if callable(counterpart) and getattr(ours, "__module__", None) == module.__name__:
                    table[counterpart] = getattr(ours, "bare", ours)
    return table


TensorOperators.__array_ufunc__ = array_ufunc  # type: ignore[attr-defined]
TensorOperators.__array_function__ = array_function  # type: ignore[attr-defined]
