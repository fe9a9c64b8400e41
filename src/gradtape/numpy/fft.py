"""`gradtape.numpy.fft`: NumPy's discrete Fourier transforms on Tensors."""

# ruff: noqa: F401 - everything that is imported here is public; a test pins the names

from gradtape.api.numpy.fft import (
    fft,
    fft2,
    fftfreq,
    fftn,
    fftshift,
    hfft,
    ifft,
    ifft2,
    ifftn,
    ifftshift,
    ihfft,
    irfft,
    irfft2,
    irfftn,
    rfft,
    rfft2,
    rfftfreq,
    rfftn,
)

__all__ = [name for name in sorted(globals()) if not name.startswith("_")]
