"""`gradtape.scipy.signal`: filters and convolutions, differentiable by signals and coefficients."""

# Written by `make names`: the decorators at the definitions say what is public.

import typing as _typing

from gradtape.scipy.signal.convolutions import convolve, correlate, fftconvolve
from gradtape.scipy.signal.filters import lfilter, sosfilt

if not _typing.TYPE_CHECKING:  # a type checker would take any name to be there
    from gradtape.absent import absent_from as _absent_from

    __getattr__ = _absent_from(__name__)

__all__ = ["convolve", "correlate", "fftconvolve", "lfilter", "sosfilt"]
