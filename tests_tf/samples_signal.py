"""Rows of tf.signal."""

from table import COMPLEX, real, row, rows_of

ROWS = [
    *rows_of("tf.signal.fft tf.signal.ifft", real(2, 5), dtypes=COMPLEX),
    *rows_of("tf.signal.fft2d tf.signal.ifft2d", real(2, 4, 3), dtypes=COMPLEX),
    *rows_of("tf.signal.fft3d tf.signal.ifft3d", real(2, 4, 3), dtypes=COMPLEX),
    row("tf.signal.rfft", real(2, 5)),
    row("tf.signal.rfft", real(2, 6), note="even"),
    row("tf.signal.rfft", real(2, 6), note="length", fft_length=[4]),
    row("tf.signal.rfft2d", real(4, 6)),
    row("tf.signal.rfft3d", real(3, 4, 6)),
    row("tf.signal.irfft", real(2, 4), dtypes=COMPLEX),
    row("tf.signal.irfft", real(2, 4), note="odd", fft_length=[7], dtypes=COMPLEX),
    row("tf.signal.irfft", real(2, 4), note="length", fft_length=[4], dtypes=COMPLEX),
    row("tf.signal.irfft2d", real(4, 3), dtypes=COMPLEX),
    row("tf.signal.irfft3d", real(3, 4, 3), dtypes=COMPLEX),
    *rows_of("tf.signal.fftshift tf.signal.ifftshift", real(4, 5)),
    *rows_of("tf.signal.fftshift tf.signal.ifftshift", real(4, 5), note="axes", axes=[1]),
    *[row("tf.signal.dct", real(2, 6), type=kind, note=f"type {kind}") for kind in (1, 2, 3, 4)],
    *[row("tf.signal.idct", real(2, 6), type=kind, note=f"type {kind}") for kind in (1, 2, 3, 4)],
    row("tf.signal.dct", real(2, 6), note="ortho", norm="ortho", n=8),
    row("tf.signal.idct", real(2, 6), note="ortho", norm="ortho"),
    row("tf.signal.frame", real(2, 10), 4, 3),
    row("tf.signal.frame", real(2, 10), 4, 3, note="pad", pad_end=True, pad_value=1.0),
    row("tf.signal.overlap_and_add", real(2, 3, 4), 2),
    *rows_of("tf.signal.hamming_window tf.signal.hann_window", 8),
    row("tf.signal.hamming_window", call=lambda tf: tf.signal.hamming_window(7, periodic=False, dtype=tf.float64), note="symmetric"),
    row("tf.signal.hann_window", call=lambda tf: tf.signal.hann_window(7, periodic=False, dtype=tf.float64), note="symmetric"),
    row("tf.signal.stft", real(2, 20), 8, 4),
    row("tf.signal.stft", real(20), 6, 4, note="pad", fft_length=8, pad_end=True),
    row("tf.signal.inverse_stft", real(3, 5), 8, 4, dtypes=COMPLEX),
]  # fmt: skip
