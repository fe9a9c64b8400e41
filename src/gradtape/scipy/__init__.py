"""SciPy's solvers and functions on Tensors: their results have derivatives, by `args` and by all
that the functions close over.
"""

# Written by `make names`: the decorators at the definitions say what is public.

import typing as _typing

from gradtape.scipy import (
    fft,
    integrate,
    interpolate,
    linalg,
    ndimage,
    optimize,
    signal,
    sparse,
    special,
    stats,
)

if not _typing.TYPE_CHECKING:  # a type checker would take any name to be there
    from gradtape.absent import absent_from as _absent_from

    __getattr__ = _absent_from(__name__)

__all__ = [
    "fft", "integrate", "interpolate", "linalg", "ndimage", "optimize", "signal", "sparse",
    "special", "stats",
]  # fmt: skip
