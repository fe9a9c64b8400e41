"""`gradtape.scipy.interpolate`: interpolation, differentiable by the values that are interpolated
and by where it is evaluated.
"""

# Written by `make names`: the decorators at the definitions say what is public.

import typing as _typing

from gradtape.scipy.interpolate.grids import RegularGridInterpolator, interpn
from gradtape.scipy.interpolate.monotone import PchipInterpolator
from gradtape.scipy.interpolate.splines import CubicSpline, make_interp_spline

if not _typing.TYPE_CHECKING:  # a type checker would take any name to be there
    from gradtape.absent import absent_from as _absent_from

    __getattr__ = _absent_from(__name__)

__all__ = [
    "CubicSpline", "PchipInterpolator", "RegularGridInterpolator", "interpn", "make_interp_spline",
]  # fmt: skip
