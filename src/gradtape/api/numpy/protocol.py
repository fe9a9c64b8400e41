"""NumPy's protocols on Tensor and Variable: `np.tanh(tensor)` calls gradtape's function of that
name, and is recorded.

The methods are in `core.array_methods`, with the table that maps NumPy's function objects to
gradtape's. It is filled when it is first needed, so that `import gradtape` does not import all
families.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from operator import attrgetter
from typing import Any

import numpy as np

from gradtape.core.array_methods import COUNTERPARTS, EASY
from gradtape.core.operators import TensorOperators
from gradtape.core.tensor import Tensor
from gradtape.core.variable import Variable

FAMILIES = {
    "": (
        "arithmetic", "elementary", "logic", "elementwise", "by_function", "bits", "shaping",
        "joining", "rearranging", "padding", "diagonals", "indexing", "creation", "sequences",
        "ordering", "sets", "histograms", "reductions", "nan_reductions", "statistics", "quantiles",
        "products", "einstein_sums", "vector_convolution", "calculus", "polynomials", "windows",
    ),
    "linalg": ("linalg", "linalg_norms", "linalg_decompositions"),
    "fft": ("fft",),
    "emath": ("emath",),
    "lib.stride_tricks": ("stride_tricks",),
}  # fmt: skip
"""The modules beside this one, by the namespace of NumPy that they spell."""


def ufunc(ufunc: Any, method: str, inputs: Any, keywords: Any) -> Any:
    """A call of a ufunc for which the table has no plain answer."""
    return _dispatch().ufunc(ufunc, method, inputs, keywords)


def function(function: Any, types: Any, args: Any, keywords: Any) -> Any:
    """The same of another function; one that was given the arrays of some other library too leaves
    the answer to that.
    """
    if not all(issubclass(t, (TensorOperators, np.ndarray, np.generic)) for t in types):
        return NotImplemented
    dispatch = _dispatch()
    found = COUNTERPARTS.get(function)
    return (
        dispatch.function(function, args, keywords) if found is None else found(*args, **keywords)
    )


def _dispatch() -> Any:
    """What to do where the table has no plain answer; the first call fills the table."""
    if not COUNTERPARTS:
        EASY.update((Tensor, Variable))
        COUNTERPARTS.update(counterparts())
    return import_module("gradtape.api.numpy.dispatch")


def counterparts() -> dict[Any, Callable[..., Any]]:
    """NumPy's function for each public function of the families,
    as a table from the one to the other.
    """
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
