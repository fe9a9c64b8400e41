"""`scipy.optimize` for functions of tensors: roots, minima and fits with their derivatives."""

# Written by `make names`: the decorators at the definitions say what is public.

import typing as _typing

from gradtape.scipy.optimize.fits import curve_fit, least_squares
from gradtape.scipy.optimize.minima import minimize
from gradtape.scipy.optimize.programs import linprog, milp
from gradtape.scipy.optimize.roots import fsolve, root
from gradtape.scipy.optimize.scalars import brentq, newton, root_scalar

if not _typing.TYPE_CHECKING:  # a type checker would take any name to be there
    from gradtape.absent import absent_from as _absent_from

    __getattr__ = _absent_from(__name__)

__all__ = [
    "brentq", "curve_fit", "fsolve", "least_squares", "linprog", "milp", "minimize", "newton",
    "root", "root_scalar",
]  # fmt: skip
