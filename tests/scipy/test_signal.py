"""`gradtape.scipy.signal` against SciPy and differences."""

import numpy as np
import pytest
import scipy.signal

import gradtape as tf
from gradtape.scipy import signal
from tests.scipy.checking import Row, check, values

B, A = np.array([0.5, 0.3, -0.2]), np.array([1.5, -0.4, 0.2, 0.1])
X, Y = values(3, 7), values(2, 4, seed=1)


def sections(sos, *rest):
    """SciPy's, which wants leading ones where gradtape divides."""
    halves = [sos[:, :3] / sos[:, 3:4], sos[:, 3:] / sos[:, 3:4]]
    return scipy.signal.sosfilt(np.concatenate(halves, axis=1), *rest)


SOS = np.array([[1.0, 0.5, 0.2, 1.0, -0.3, 0.1], [0.7, 0.1, -0.2, 1.0, 0.2, -0.3]])


def lfilter_row(axis, b=B, a=A, x=X):
    return Row(
        lambda *args: signal.lfilter(*args, axis=axis),
        lambda *args: scipy.signal.lfilter(*args, axis=axis),
        (b, a, x),
    )


def lfilter_state_row(axis, part, x=X):
    shape = list(x.shape)
    shape[axis] = 3
    return Row(
        lambda b, a, x, zi: signal.lfilter(b, a, x, axis, zi)[part],
        lambda b, a, x, zi: scipy.signal.lfilter(b, a, x, axis, zi)[part],
        (B, A, x, values(*shape, seed=3)),
    )


ROWS = {
    "lfilter": lfilter_row(-1),
    "lfilter, axis 0": lfilter_row(0),
    "lfilter, one signal": lfilter_row(0, x=values(9, seed=2)),
    "lfilter, all zeros": lfilter_row(-1, a=np.array([2.0])),
    "lfilter, all poles": lfilter_row(-1, b=np.array([2.0])),
    "lfilter, state": lfilter_state_row(-1, 0),
    "lfilter, axis 0, last state": lfilter_state_row(0, 1),
    "lfilter, short signal, last state": lfilter_state_row(0, 1, values(2, 3)),
    "lfilter, short signal": lfilter_state_row(0, 0, values(2, 3)),
    "sosfilt": Row(signal.sosfilt, sections, (SOS, X)),
    "sosfilt, axis 0": Row(
        lambda s, x: signal.sosfilt(s, x, 0), lambda s, x: sections(s, x, 0), (SOS, X)
    ),
    "sosfilt, state": Row(
        lambda s, x, z: signal.sosfilt(s, x, 1, z)[0],
        lambda s, x, z: sections(s, x, 1, z)[0],
        (SOS, X, values(2, 3, 2)),
    ),
    "sosfilt, last state": Row(
        lambda s, x, z: signal.sosfilt(s, x, 1, z)[1],
        lambda s, x, z: sections(s, x, 1, z)[1],
        (SOS, X, values(2, 3, 2)),
    ),
    "fftconvolve, one axis": Row(
        lambda x, y: signal.fftconvolve(x, y, "same", axes=1),
        lambda x, y: scipy.signal.fftconvolve(x, y, "same", axes=1),
        (X, values(1, 4, seed=5)),
    ),
}
for mode in ("full", "same", "valid"):
    for name, pair in {
        "": (X, Y),
        ", turned": (Y, X),
        ", vectors": (values(5), values(8, seed=4)),
        ", 3 axes": (values(2, 3, 4), values(2, 2, 3)),
    }.items():
        for function in ("convolve", "correlate", "fftconvolve"):
            ours, theirs = getattr(signal, function), getattr(scipy.signal, function)
            ROWS[f"{function}, {mode}{name}"] = Row(
                lambda x, y, f=ours, m=mode: f(x, y, m),
                lambda x, y, f=theirs, m=mode: f(x, y, m),
                pair,
            )
for method in ("direct", "fft"):
    ROWS[f"convolve by {method}"] = Row(
        lambda x, y, m=method: signal.convolve(x, y, method=m),
        lambda x, y, m=method: scipy.signal.convolve(x, y, method=m),
        (X, Y),
    )


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", ROWS)
def test_signal(name):
    check(ROWS[name])


COMPLEX = values(6) + 1j * values(6, seed=1)


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (lambda x: signal.lfilter(B, A, x), lambda x: scipy.signal.lfilter(B, A, x)),
        (lambda x: signal.lfilter(x[:2], A, x), lambda x: scipy.signal.lfilter(x[:2], A, x)),
        (lambda x: signal.convolve(x, x[:2]), lambda x: np.convolve(x, x[:2])),
        (
            lambda x: signal.correlate(x, x[:2]),
            lambda x: scipy.signal.correlate(x, x[:2]),
        ),
        (lambda x: signal.fftconvolve(x, x[:2]), lambda x: np.convolve(x, x[:2])),
    ],
)
def test_complex_signals(ours, theirs):
    np.testing.assert_allclose(ours(COMPLEX).numpy(), theirs(COMPLEX), rtol=1e-12)
    x = tf.constant(COMPLEX)
    g = values(*theirs(COMPLEX).shape, seed=9) * (1 + 2j)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = ours(x)
    found = tape.gradient(y, x, output_gradients=g).numpy()
    for direction in (1, 1j):
        move = 1e-6 * direction * values(6, seed=5)
        change = (theirs(COMPLEX + move) - theirs(COMPLEX - move)) / 2
        expected = np.real(np.vdot(g, change))
        np.testing.assert_allclose(np.real(np.vdot(found, move)), expected, rtol=1e-6)


def test_float32_empty_and_strided_signals():
    assert signal.lfilter([1.0], [1.0, 0.5], np.ones(3, np.float32)).dtype == tf.float32
    assert signal.lfilter(B, A, np.zeros((2, 0))).shape == (2, 0)
    np.testing.assert_allclose(
        signal.lfilter(B, A, X.T[::2].T), scipy.signal.lfilter(B, A, X[:, ::2])
    )
    y, after = signal.lfilter(B, A, np.zeros(0), zi=np.array([1.0, 2.0, 3.0]))
    assert y.shape == (0,)
    np.testing.assert_allclose(after, [1.0, 2.0, 3.0])


def test_nan_spreads_as_in_scipy():
    x = np.array([1.0, np.nan, 0.0])
    np.testing.assert_array_equal(signal.lfilter([1.0], [1.0, 0.5], x), [1.0, np.nan, np.nan])


@pytest.mark.parametrize(
    ("call", "complaint"),
    [
        (lambda: signal.lfilter(B[:, None], A, X), "lfilter: b must be a vector"),
        (lambda: signal.lfilter(B, [], X), "lfilter: a must be a vector"),
        (lambda: signal.lfilter(B, A, X, zi=np.zeros(3)), "zi must have as many axes as x, 2"),
        (lambda: signal.lfilter(B, A, X, zi=np.zeros((3, 4))), "zi must have length 3"),
        (lambda: signal.sosfilt(B, X), r"sos must have shape \(sections, 6\)"),
        (lambda: signal.sosfilt(SOS, X, zi=np.zeros((2, 2))), r"zi must have shape \(2, 3, 2\)"),
        (lambda: signal.convolve(X, X[0]), "as many axes as each other"),
        (lambda: signal.convolve(X, Y, "most"), "mode must be"),
        (lambda: signal.convolve(X, Y, method="slow"), "method must be"),
        (lambda: signal.convolve(X, np.zeros((5, 1)), "valid"), "at least as large"),
        (lambda: signal.fftconvolve(X, Y, axes=1), "must broadcast along axis 0"),
        (lambda: signal.convolve(X, np.zeros((0, 1))), "there must be elements"),
    ],
)
def test_bad_input(call, complaint):
    with pytest.raises(ValueError, match=complaint):
        call()


def test_four_axes_have_no_direct_method():
    with pytest.raises(NotImplementedError, match="for up to 3 axes, got 4"):
        signal.convolve(np.ones((1, 1, 1, 1)), np.ones((1, 1, 1, 1)), method="direct")
