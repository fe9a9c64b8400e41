"""Training by methods that take whole batches: `minimize` with L-BFGS and SciPy's others."""

# Written by `make names`: the decorators at the definitions say what is public.

import typing as _typing

from gradtape.optimize.history import History
from gradtape.optimize.training import minimize

if not _typing.TYPE_CHECKING:  # a type checker would take any name to be there
    from gradtape.absent import absent_from as _absent_from

    __getattr__ = _absent_from(__name__)

__all__ = ["History", "minimize"]
