"""`gradtape.scipy.integrate`: differential equations and integrals, with their derivatives."""

# Written by `make names`: the decorators at the definitions say what is public.

import typing as _typing

from gradtape.scipy.integrate.initial_values import odeint, solve_ivp
from gradtape.scipy.integrate.quadrature import quad, quad_vec

if not _typing.TYPE_CHECKING:  # a type checker would take any name to be there
    from gradtape.absent import absent_from as _absent_from

    __getattr__ = _absent_from(__name__)

__all__ = ["odeint", "quad", "quad_vec", "solve_ivp"]
