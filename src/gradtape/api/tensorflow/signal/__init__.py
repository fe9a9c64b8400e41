"""Signals: Fourier transforms, short-time spectra and windows."""
