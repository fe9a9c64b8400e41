"""`gradtape.array_api.fft`: the discrete Fourier transforms of the Array API standard on
Tensors.
"""

# Written by `make names`: the decorators at the definitions say what is public.

from gradtape.api.array_api.functions import fftfreq, rfftfreq
from gradtape.api.numpy.fft import (
    fft,
    fftn,
    fftshift,
    hfft,
    ifft,
    ifftn,
    ifftshift,
    ihfft,
    irfft,
    irfftn,
    rfft,
    rfftn,
)

__all__ = [
    "fft", "fftfreq", "fftn", "fftshift", "hfft", "ifft", "ifftn", "ifftshift", "ihfft", "irfft",
    "irfftn", "rfft", "rfftfreq", "rfftn",
]  # fmt: skip
