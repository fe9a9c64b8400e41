"""Interpolation, polynomials, Fourier transforms and windows beyond the table: knots,
kinks, windows, bad arguments.
"""

from __future__ import annotations

import re

import numpy as np
import pytest

import gradtape as tf
import gradtape.numpy as tnp

POINTS = tf.constant([0.5, 1.0, 1.5])


def gradient(function, x):
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = function(x)
    return tape.gradient(y, x).numpy().tolist()


def test_interpolation_at_knots_jumps_and_beyond():
    knots, values = [0.0, 1.0, 1.0, 2.0], [0.0, 1.0, 5.0, 7.0]
    at = np.array([-1.0, 0.0, 0.5, 1.0, 1.5, 2.0, 3.0, np.nan], np.float32)
    np.testing.assert_array_equal(
        np.interp(tf.constant(at), knots, values).numpy(), np.interp(at, knots, values)
    )
    assert gradient(
        lambda x: np.interp(x, knots, values), tf.constant([-1.0, 0.5, 1.5, 2.0, 3.0])
    ) == [0, 1, 2, 2, 0]


def test_interpolation_has_finite_gradients_where_knots_coincide():
    knots = tf.constant([0.0, 1.0, 1.0])
    assert np.isfinite(
        gradient(lambda k: np.interp([0.5, 1.0], k, tf.constant([1.0, 2.0, 3.0])), knots)
    ).all()


def test_a_recorded_period():
    at, knots, values = np.array([2.3, -0.4]), np.array([0.1, 0.7, 1.2]), np.array([1.0, 3.0, 2.0])
    period = tf.constant(1.9, tf.float64)
    found = gradient(lambda p: np.sum(np.interp(tf.constant(at), knots, values, period=p)), period)
    step = 1e-6
    moved = [np.interp(at, knots, values, period=1.9 + s).sum() for s in (step, -step)]
    assert abs(found - (moved[0] - moved[1]) / (2 * step)) < 1e-7


def test_numerical_gradients_of_even_coordinates_are_those_of_a_spacing():
    f = tf.constant(np.random.default_rng(0).normal(size=6))
    for edge_order in (1, 2):
        even = np.gradient(f, 0.5, edge_order=edge_order).numpy()
        np.testing.assert_allclose(
            np.gradient(f, np.arange(6) * 0.5, edge_order=edge_order).numpy(), even, rtol=1e-12
        )


def test_polynomials_without_terms():
    assert tnp.poly([]) == 1.0
    assert np.roots(tf.zeros(3)).shape == (0,)
    np.testing.assert_array_equal(np.roots(tf.constant([0.0, 2.0, 0.0, 0.0])).numpy(), [0, 0])
    np.testing.assert_array_equal(np.polymul(tf.zeros(2), tf.ones(2)).numpy(), [0, 0])
    np.testing.assert_array_equal(np.polyval(tf.zeros(0), tf.ones(2)).numpy(), [0, 0])


def test_the_roots_and_their_polynomial_are_inverse():
    zeros = tf.constant([3.0, -1.0, 0.5], tf.float64)
    with tf.GradientTape() as tape:
        tape.watch(zeros)
        again = np.sort(np.roots(np.poly(zeros)))
    np.testing.assert_allclose(
        tape.jacobian(again, zeros).numpy(), [[0, 1, 0], [0, 0, 1], [1, 0, 0]], atol=1e-9
    )


def test_a_fit_of_too_high_a_degree_warns():
    with pytest.warns(np.exceptions.RankWarning, match="polyfit"):
        np.polyfit(tf.constant([1.0, 1.0, 1.0]), tf.constant([1.0, 2.0, 3.0]), 2)


@pytest.mark.parametrize("name", ["bartlett", "blackman", "hamming", "hanning"])
def test_windows(name):
    for length in (-1, 0, 1, 2, 5, 8):
        window = getattr(tnp, name)(length)
        assert window.dtype == tf.float32
        np.testing.assert_array_equal(window.numpy(), getattr(np, name)(length).astype(np.float32))


def test_the_kaiser_window_is_recorded_by_its_shape():
    beta = tf.constant(3.0, tf.float64)
    for length in (0, 1, 2, 7):
        np.testing.assert_allclose(
            tnp.kaiser(length, beta).numpy(), np.kaiser(length, 3.0), rtol=1e-12
        )
        np.testing.assert_array_equal(
            tnp.kaiser(length, 3.0).numpy(), np.kaiser(length, 3.0).astype(np.float32)
        )
    found = gradient(lambda b: np.sum(tnp.kaiser(7, b)), beta)
    assert abs(found - (np.kaiser(7, 3 + 1e-6).sum() - np.kaiser(7, 3 - 1e-6).sum()) / 2e-6) < 1e-8


FAILURES = [
    (ValueError, "interp: xp and fp must be non-empty vectors",
        lambda: np.interp(POINTS, [1.0, 2.0], [1.0])),
    (ValueError, "interp: xp and fp must be non-empty vectors",
        lambda: np.interp(POINTS, [], [])),
    (ValueError, "interp: period must not be zero",
        lambda: np.interp(POINTS, [1.0, 2.0], [1.0, 2.0], period=0)),
    (ValueError, "diff: n must not be negative, got -1", lambda: np.diff(POINTS, n=-1)),
    (ValueError, "diff: a must have at least one axis", lambda: np.diff(tf.constant(1.0))),
    (TypeError, "ediff1d: to_end has dtype float32",
        lambda: np.ediff1d(tf.constant([1, 2]), to_end=0.5)),
    (ValueError, "gradient: the coordinates of axis 0 must be 3 numbers",
        lambda: np.gradient(POINTS, [1.0, 2.0])),
    (TypeError, "gradient: give one spacing for all axes", lambda: np.gradient(POINTS, 1.0, 2.0)),
    (ValueError, "gradient: edge_order must be 1 or 2, got 3",
        lambda: np.gradient(POINTS, edge_order=3)),
    (ValueError, "gradient: edge_order=1 needs 2 points along axis 0, got 1",
        lambda: np.gradient(tf.ones(1))),
    (ValueError, "polyval: p must be a vector", lambda: np.polyval(tf.ones([2, 2]), POINTS)),
    (ValueError, "polyder: m must not be negative", lambda: np.polyder(POINTS, -1)),
    (ValueError, "polyint: k must be one number, or one for each of 3",
        lambda: np.polyint(POINTS, 3, [1.0, 2.0])),
    (TypeError, "polyfit: y must be a vector or matrix with as many rows",
        lambda: np.polyfit(POINTS, tf.ones(2), 1)),
    (ValueError, "polyfit: cov needs more than 3 points",
        lambda: np.polyfit(POINTS, POINTS, 2, cov=True)),
    (ValueError, "fft: every transformed axis must have", lambda: np.fft.fft(POINTS, n=0)),
    (ValueError, "irfft: every transformed axis must have", lambda: np.fft.irfft(tf.ones(1))),
    (np.exceptions.AxisError, "fft: axes", lambda: np.fft.fft(POINTS, axis=1)),
    (TypeError, "rfft: a must be real, got", lambda: np.fft.rfft(tf.constant([1j]))),
    (ValueError, "fft: norm must be 'backward', 'ortho' or 'forward'",
        lambda: np.fft.fft(POINTS, norm="both")),
    (ValueError, "fftn: s has 2 entries, but there are 1 axes",
        lambda: np.fft.fftn(POINTS, s=(1, 2), axes=(0,))),
    (ValueError, "fftfreq: n must be an integer", lambda: tnp.fft.fftfreq(2.5)),
    (TypeError, "hanning: M must be an integer", lambda: tnp.hanning(2.5)),
]  # fmt: skip


@pytest.mark.parametrize(
    ("error", "says", "call"),
    FAILURES,
    ids=[f"{i} {says}" for i, (_, says, _) in enumerate(FAILURES)],
)
def test_bad_arguments_are_named(error, says, call):
    with pytest.raises(error, match=re.escape(says)):
        call()
