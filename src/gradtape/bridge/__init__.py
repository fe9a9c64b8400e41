"""Derivatives of functions that are written in something else: JAX, PyTorch, SymPy, or anything
that Python can call.
"""

# Written by `make names`: the decorators at the definitions say what is public.

import typing as _typing

from gradtape.bridge.as_jax import to_jax
from gradtape.bridge.as_torch import to_torch
from gradtape.bridge.black_boxes import black_box
from gradtape.bridge.jax_functions import from_jax
from gradtape.bridge.sympy_expressions import from_sympy
from gradtape.bridge.torch_functions import from_torch
from gradtape.bridge.torch_variables import variables

if not _typing.TYPE_CHECKING:  # a type checker would take any name to be there
    from gradtape.absent import absent_from as _absent_from

    __getattr__ = _absent_from(__name__)

__all__ = ["black_box", "from_jax", "from_sympy", "from_torch", "to_jax", "to_torch", "variables"]
