"""`scipy.sparse.linalg` for SparseTensors: solutions and eigenvalues with their derivatives."""

# Written by `make names`: the decorators at the definitions say what is public.

import typing as _typing

from gradtape.scipy.sparse.linalg.eigenvalues import eigsh
from gradtape.scipy.sparse.linalg.systems import cg, gmres, spsolve

if not _typing.TYPE_CHECKING:  # a type checker would take any name to be there
    from gradtape.absent import absent_from as _absent_from

    __getattr__ = _absent_from(__name__)

__all__ = ["cg", "eigsh", "gmres", "spsolve"]
