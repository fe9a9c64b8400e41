"""`tf.signal`: values by their definitions, shapes and dtypes as TensorFlow's, derivatives,
and what is refused.
"""

import numpy as np
import pytest
import scipy.fft
import scipy.signal.windows

import gradtape as tf
from gradtape import signal
from gradtape.errors import InvalidArgumentError
from tests.ops import checks

RNG = np.random.default_rng(0)


def reals(*shape):
    return RNG.normal(size=shape)


def complexes(*shape):
    return RNG.normal(size=shape) + 1j * RNG.normal(size=shape)


def close(actual, expected, rtol=1e-10):
    assert actual.shape == np.shape(expected)
    np.testing.assert_allclose(actual.numpy(), expected, rtol=rtol, atol=rtol)


# Fourier transforms


@pytest.mark.parametrize(("rank", "suffix"), [(1, ""), (2, "2d"), (3, "3d")])
@pytest.mark.parametrize("inverse", ["", "i"])
def test_complex_transforms(rank, suffix, inverse):
    x = complexes(2, 3, 4, 5)
    expected = getattr(np.fft, f"{inverse}fftn")(x, axes=range(-rank, 0))
    close(getattr(signal, f"{inverse}fft{suffix}")(tf.constant(x)), expected)


@pytest.mark.parametrize(("rank", "suffix"), [(1, ""), (2, "2d"), (3, "3d")])
@pytest.mark.parametrize("length", [None, 3, 4, 9])
def test_real_transforms_with_fft_length(rank, suffix, length):
    sizes = None if length is None else [length] * rank
    x, spectrum = reals(3, 4, 5, 6), complexes(3, 4, 5, 6)
    axes = tuple(range(-rank, 0))
    close(getattr(signal, f"rfft{suffix}")(tf.constant(x), sizes), np.fft.rfftn(x, sizes, axes))
    close(
        getattr(signal, f"irfft{suffix}")(tf.constant(spectrum), sizes),
        np.fft.irfftn(spectrum, sizes, axes),
    )


@pytest.mark.parametrize("norm", [None, "backward", "ortho", "forward"])
@pytest.mark.parametrize(
    ("axes", "sizes"), [(None, None), ([0, 2], [5, 2]), ([-1], None), ([1, 0], [2, 6])]
)
def test_transforms_over_axes(norm, axes, sizes):
    x, spectrum = reals(3, 4, 5), complexes(3, 4, 5)
    given = {"s": sizes, "axes": axes if axes is not None else (0, 1, 2), "norm": norm}
    for function in ("fftn", "ifftn", "irfftn"):
        close(
            getattr(signal, f"{function}d")(tf.constant(spectrum), sizes, axes, norm),
            getattr(np.fft, function)(spectrum, **given),
        )
    close(signal.rfftnd(tf.constant(x), sizes, axes, norm), np.fft.rfftn(x, **given))


@pytest.mark.parametrize(
    ("given", "wanted"), [(np.float32, np.complex64), (np.float64, np.complex128)]
)
def test_tensors_keep_their_precision(given, wanted):
    x = tf.constant(np.ones(4, given))
    spectrum = signal.rfft(x)
    assert spectrum.numpy().dtype == wanted
    assert signal.fft(tf.cast(x, spectrum.dtype)).numpy().dtype == wanted
    assert signal.irfft(spectrum).numpy().dtype == given
    assert signal.stft(x, 4, 2).numpy().dtype == wanted


def test_plain_values_become_single_precision():
    assert signal.rfft(np.ones(4)).dtype == tf.complex64
    assert signal.rfft([1, 2]).dtype == tf.complex64
    assert signal.irfft(np.ones(3, complex)).dtype == tf.float32
    assert signal.fft(np.ones(3, complex)).dtype == tf.complex64
    assert signal.fft([1.0, 2.0]).dtype == tf.complex64
    assert signal.fft([1j, 2.0]).dtype == tf.complex128


def test_transforms_of_nothing():
    assert signal.fft(tf.zeros([3, 0], tf.complex64)).shape == (3, 0)
    assert signal.rfft(tf.zeros([0, 4])).shape == (0, 3)
    assert signal.rfft(tf.zeros([3, 0])).shape == (3, 0)
    assert signal.rfft(tf.zeros([0]), [4]).shape == (3,)
    assert signal.rfft2d(tf.zeros([0, 3])).shape == (0, 2)
    assert signal.irfft(tf.zeros([0], tf.complex64)).shape == (0,)


@pytest.mark.parametrize(
    ("error", "call"),
    [
        (InvalidArgumentError, lambda: signal.fft(tf.ones(3))),
        (InvalidArgumentError, lambda: signal.fft(tf.constant(1j))),
        (InvalidArgumentError, lambda: signal.fft2d(tf.constant([1j]))),
        (ValueError, lambda: signal.rfft(tf.constant([1, 2]))),
        (ValueError, lambda: signal.rfft(tf.cast([1.0], tf.float16))),
        (ValueError, lambda: signal.rfft(tf.constant([1j]))),
        (ValueError, lambda: signal.rfft(1.0)),
        (ValueError, lambda: signal.rfft2d(tf.ones(3))),
        (ValueError, lambda: signal.irfft(tf.ones(3))),
        (InvalidArgumentError, lambda: signal.irfft(tf.constant([1j]))),
        (TypeError, lambda: signal.rfft(tf.ones(3), 4)),
        (TypeError, lambda: signal.rfft(tf.ones(3), [4.0])),
        (InvalidArgumentError, lambda: signal.rfft(tf.ones(3), [4, 4])),
        (InvalidArgumentError, lambda: signal.rfft(tf.ones(3), [0])),
        (InvalidArgumentError, lambda: signal.rfftnd(tf.ones(3), axes=[])),
        (InvalidArgumentError, lambda: signal.fftnd(tf.constant([1j]), axes=[1])),
        (ValueError, lambda: signal.fftnd(tf.constant([1j]), norm="half")),
        (InvalidArgumentError, lambda: signal.fftshift(tf.ones(3), axes=3)),
    ],
)
def test_wrong_arguments_of_transforms(error, call):
    with pytest.raises(error) as raised:
        call()
    assert raised.type is error


@pytest.mark.parametrize("axes", [None, 1, [0, -1]])
def test_shifts(axes):
    x = reals(3, 4, 5)
    close(signal.fftshift(x, axes), np.fft.fftshift(x, axes))
    close(signal.ifftshift(x, axes), np.fft.ifftshift(x, axes))


# Frames and what is built on them


@pytest.mark.parametrize(("length", "step"), [(3, 2), (2, 3), (4, 1), (11, 1)])
@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("pad_end", [False, True])
def test_frame(length, step, axis, pad_end):
    x = np.moveaxis(reals(9, 9, 9), 0, 1)
    moved = np.moveaxis(x, axis, -1)
    count = -(-9 // step) if pad_end else max(0, 1 + (9 - length) // step)
    filled = np.concatenate([moved, np.full((9, 9, length + step), 0.5)], -1)
    rows = [filled[..., i * step : i * step + length] for i in range(count)]
    expected = np.stack(rows, -2) if rows else np.zeros((9, 9, 0, length))
    place = axis % 3
    close(
        signal.frame(x, length, step, pad_end, 0.5, axis),
        np.moveaxis(expected, (-2, -1), (place, place + 1)),
    )


def test_frame_of_other_dtypes():
    assert signal.frame(tf.range(5), 2, 2, pad_end=True).numpy().tolist() == [
        [0, 1],
        [2, 3],
        [4, 0],
    ]
    assert signal.frame(tf.constant(["a", "b", "c"]), 2, 1).numpy().tolist() == [
        [b"a", b"b"],
        [b"b", b"c"],
    ]
    assert signal.frame(tf.zeros([0]), 2, 1, pad_end=True).shape == (0, 2)
    assert signal.frame(tf.ones(4), tf.constant(2), tf.constant(2)).shape == (2, 2)


@pytest.mark.parametrize("step", [1, 2, 3, 5, 7])
def test_overlap_and_add_is_the_sum_of_the_frames_at_their_places(step):
    x = reals(2, 4, 5)
    expected = np.zeros((2, 3 * step + 5))
    for i in range(4):
        expected[:, i * step : i * step + 5] += x[:, i]
    close(signal.overlap_and_add(x, step), expected)


def test_stft_and_back():
    x = reals(2, 32)
    spectra = signal.stft(x, 6, 3)
    frames = np.stack([x[:, i : i + 6] for i in range(0, 27, 3)], 1)
    window = signal.hann_window(6, dtype=tf.float64).numpy()
    close(spectra, np.fft.rfft(frames * window, 8))
    back = signal.inverse_stft(spectra, 6, 3, window_fn=signal.inverse_stft_window_fn(3))
    close(back[:, 3:27], x[:, 3:27])


def test_stft_pads_the_end_and_takes_the_next_power_of_2():
    assert signal.stft(tf.ones(10), 5, 4).shape == (2, 5)
    assert signal.stft(tf.ones(10), 5, 4, pad_end=True).shape == (3, 5)
    assert signal.stft(tf.ones(10), 5, 4, fft_length=3).shape == (2, 2)


@pytest.mark.parametrize(
    "window", [None, signal.vorbis_window, signal.kaiser_bessel_derived_window]
)
@pytest.mark.parametrize("norm", [None, "ortho"])
def test_mdct_and_back(window, norm):
    x = reals(2, 32)
    coefficients = signal.mdct(x, 8, window, norm=norm)
    assert coefficients.shape == (2, 7, 4)
    back = signal.inverse_mdct(coefficients, window, norm)
    close(back[:, 4:28], x[:, 4:28], rtol=1e-6)


def test_mdct_by_its_definition():
    x = reals(8)
    n = np.arange(8)
    expected = [
        2 * np.sum(x * np.sqrt(0.5) * np.cos(np.pi / 4 * (n + 0.5 + 2) * (k + 0.5)))
        for k in range(4)
    ]
    close(signal.mdct(x, 8, window_fn=None)[0], expected)


@pytest.mark.parametrize(
    ("error", "call"),
    [
        (ValueError, lambda: signal.frame(1.0, 2, 1)),
        (ValueError, lambda: signal.frame(tf.ones(5), [2], 1)),
        (InvalidArgumentError, lambda: signal.frame(tf.ones(5), 2, 0)),
        (InvalidArgumentError, lambda: signal.frame(tf.ones(5), -1, 1)),
        (InvalidArgumentError, lambda: signal.frame(tf.ones(5), 2, 1.0)),
        (ValueError, lambda: signal.frame(tf.ones(5), 2, 1, True, [1.0, 2.0])),
        (ValueError, lambda: signal.overlap_and_add(tf.ones(5), 1)),
        (ValueError, lambda: signal.overlap_and_add(tf.ones([2, 5]), 1.0)),
        (InvalidArgumentError, lambda: signal.overlap_and_add(tf.ones([2, 5]), 0)),
        (ValueError, lambda: signal.stft(tf.range(10), 3, 2)),
        (ValueError, lambda: signal.stft(1.0, 3, 2)),
        (ValueError, lambda: signal.inverse_stft(tf.ones([2, 3]), 4, 2)),
        (ValueError, lambda: signal.inverse_stft(tf.constant([1j]), 4, 2)),
        (ValueError, lambda: signal.mdct(tf.ones(10), 6)),
        (ValueError, lambda: signal.mdct(tf.ones(10), 4, norm="a")),
        (ValueError, lambda: signal.mdct(tf.range(10), 4)),
        (ValueError, lambda: signal.inverse_mdct(tf.ones(10))),
        (InvalidArgumentError, lambda: signal.inverse_mdct(tf.ones([3, 1]))),
    ],
)
def test_wrong_arguments_of_frames(error, call):
    with pytest.raises(error) as raised:
        call()
    assert raised.type is error


# Cosine transforms


@pytest.mark.parametrize(
    ("kind", "norm"),
    [(1, None), (2, None), (3, None), (4, None), (2, "ortho"), (3, "ortho"), (4, "ortho")],
)
@pytest.mark.parametrize("n", [None, 3, 8])
@pytest.mark.parametrize("axis", [-1, 0])
def test_dct(kind, norm, n, axis):
    x = reals(5, 6)
    size = n or x.shape[axis]
    scale = 1 if norm else 2 * (size - (kind == 1))
    close(signal.dct(x, kind, n, axis, norm), scipy.fft.dct(x, kind, n, axis, norm))
    close(signal.idct(x, kind, n, axis, norm), scipy.fft.idct(x, kind, n, axis, norm) * scale)


@pytest.mark.parametrize(
    ("error", "call"),
    [
        (ValueError, lambda: signal.dct(tf.ones(5), 5)),
        (ValueError, lambda: signal.idct(tf.ones(5), 5)),
        (ValueError, lambda: signal.dct(tf.ones(5), norm="half")),
        (ValueError, lambda: signal.dct(tf.ones(5), 1, norm="ortho")),
        (ValueError, lambda: signal.dct(tf.ones(1), 1)),
        (ValueError, lambda: signal.dct(tf.ones(5), n=0)),
        (TypeError, lambda: signal.dct(tf.ones(5), n=2.0)),
        (TypeError, lambda: signal.dct(tf.range(5))),
        (TypeError, lambda: signal.dct(tf.cast(tf.ones(5), tf.float16))),
        (ValueError, lambda: signal.mfccs_from_log_mel_spectrograms(tf.zeros([2, 0]))),
    ],
)
def test_wrong_arguments_of_cosine_transforms(error, call):
    with pytest.raises(error) as raised:
        call()
    assert raised.type is error


def test_cosine_transforms_of_nothing():
    assert signal.dct(tf.zeros([0, 5])).shape == (0, 5)
    assert signal.dct(tf.zeros([2, 0])).shape == (2, 0)


def test_mfccs():
    x = reals(2, 6)
    close(signal.mfccs_from_log_mel_spectrograms(x), scipy.fft.dct(x) / np.sqrt(12))


# Windows and the mel scale


@pytest.mark.parametrize("length", [2, 3, 4, 7, 8])
def test_windows(length):
    periodic = length % 2 == 0  # TensorFlow's periodic windows of odd lengths are symmetric
    for ours, theirs in (
        (signal.hann_window, scipy.signal.windows.hann),
        (signal.hamming_window, scipy.signal.windows.hamming),
    ):
        close(ours(length, dtype=tf.float64), theirs(length, sym=not periodic))
        close(ours(length, periodic=False, dtype=tf.float64), theirs(length))
    close(signal.kaiser_window(length, 3.5, tf.float64), scipy.signal.windows.kaiser(length, 3.5))
    if not length % 2:
        expected = scipy.signal.windows.kaiser_bessel_derived(length, np.pi)
        close(signal.kaiser_bessel_derived_window(length, np.float64(np.pi), tf.float64), expected)


@pytest.mark.parametrize(
    "window",
    [signal.hann_window, signal.hamming_window, signal.vorbis_window, signal.kaiser_window],
)
def test_short_windows_and_dtypes(window):
    assert window(0).shape == (0,)
    assert window(1).numpy().tolist() == [1.0]
    for dtype in (tf.float16, tf.bfloat16, tf.float32, tf.float64):
        assert window(tf.constant(4), dtype=dtype).dtype == dtype
    with pytest.raises(ValueError, match="floating"):
        window(4, dtype=tf.int32)
    with pytest.raises(ValueError, match="one integer"):
        window([4])
    with pytest.raises(InvalidArgumentError):
        window(-1)
    with pytest.raises(TypeError):
        window(4.0)


def test_the_inverse_window_makes_overlapping_windows_add_up_to_1():
    forward, backward = (
        signal.hamming_window(8, dtype=tf.float64),
        signal.inverse_stft_window_fn(2, signal.hamming_window),
    )
    product = (forward * backward(8, tf.float64)).numpy()
    np.testing.assert_allclose(product.reshape(4, 2).sum(0), 1)


def test_mel_bands_are_triangles():
    weights = signal.linear_to_mel_weight_matrix(6, 65, 8000, 100.0, 3500.0, tf.float64).numpy()
    assert weights.shape == (65, 6)
    assert (weights >= 0).all()
    assert (weights[0] == 0).all()
    inside = weights[(weights[:, 0] == 0) & (weights[:, 1:5].sum(1) > 0) & (weights[:, 5] == 0)]
    np.testing.assert_allclose(inside.sum(1), 1)


@pytest.mark.parametrize(
    "wrong",
    [
        {"num_mel_bins": 0}, {"lower_edge_hertz": -1.0}, {"lower_edge_hertz": 4000.0},
        {"upper_edge_hertz": 5000.0}, {"sample_rate": 0.0}, {"dtype": tf.int32},
    ],
)  # fmt: skip
def test_wrong_mel_bands(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        signal.linear_to_mel_weight_matrix(**wrong)


# Derivatives: every function is checked in both modes and to the second order, and in batches


DERIVATIVES = {
    "rfft2d": (lambda x: signal.rfft2d(x, [2, 5]), reals(3, 4)),
    "rfft3d": (signal.rfft3d, reals(2, 3, 3)),
    "irfft2d": (lambda x: signal.irfft2d(x, [2, 5]), complexes(3, 4)),
    "irfft3d": (signal.irfft3d, complexes(2, 2, 3)),
    "fftnd": (lambda x: signal.fftnd(x, [3], [0], "ortho"), complexes(2, 3)),
    "frame": (lambda x: signal.frame(x, 3, 2, pad_end=True, axis=0), reals(4, 2)),
    "stft": (lambda x: signal.stft(x, 4, 2), reals(8)),
    "inverse_stft": (lambda x: signal.inverse_stft(x, 4, 2), complexes(2, 3)),
    "dct1": (lambda x: signal.dct(x, 1), reals(4)),
    "dct2": (lambda x: signal.dct(x, norm="ortho"), reals(2, 3)),
    "dct3": (lambda x: signal.dct(x, 3, axis=0), reals(3, 2)),
    "dct4": (lambda x: signal.dct(x, 4, n=3), reals(4)),
    "mdct": (lambda x: signal.mdct(x, 4), reals(8)),
    "inverse_mdct": (signal.inverse_mdct, reals(3, 2)),
    "mfccs": (signal.mfccs_from_log_mel_spectrograms, reals(2, 3)),
    "kaiser": (lambda beta: signal.kaiser_window(4, beta, tf.float64), np.array(2.5)),
    "kaiser_bessel_derived": (lambda beta: signal.kaiser_bessel_derived_window(6, beta, tf.float64),
        np.array(2.5)),
    "mel": (lambda edge: signal.linear_to_mel_weight_matrix(3, 9, lower_edge_hertz=edge,
        dtype=tf.float64), np.array(90.0)),
}  # fmt: skip


@pytest.mark.parametrize("name", DERIVATIVES)
def test_derivatives(name):
    function, x = DERIVATIVES[name]
    checks.check_gradient(function, [x], [0])
    checks.check_jvp(function, [x], [0])
    checks.check_adjoint(function, [x], [0])
    checks.check_second_order(function, [x], [0], outer="reverse", inner_mode="reverse")
    checks.check_second_order(function, [x], [0], outer="forward", inner_mode="reverse")


@pytest.mark.parametrize("name", DERIVATIVES)
def test_batches(name):
    function, x = DERIVATIVES[name]
    checks.check_batching(function, [[x * factor] for factor in (1.0, 0.5, 1.25)])


def test_the_gradient_of_a_power_spectrum():
    """Parseval: the sum of the squared spectrum is n times that of the signal,
    so the gradient is 2 n x.
    """
    x = tf.constant(reals(5))
    with tf.GradientTape() as tape:
        tape.watch(x)
        power = tf.reduce_sum(tf.abs(signal.fft(tf.cast(x, tf.complex128))) ** 2)
    close(tape.gradient(power, x), 2 * 5 * x.numpy())
