"""Reductions and statistics beyond the table: NaN, ties, nothing to reduce, precision,
`out` and `where`, bad arguments.
"""

from __future__ import annotations

import re

import numpy as np
import pytest

import gradtape as tf
import gradtape.numpy as tnp

NAN = float("nan")
MATRIX = tf.constant([[1.0, 2.0], [3.0, 5.0]])


def gradient(function, x):
    x = tf.constant(x)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = function(x)
    return tape.gradient(y, x).numpy().tolist()


@pytest.mark.parametrize("name", ["median", "quantile", "percentile"])
def test_a_nan_is_passed_on_to_its_row_alone(name):
    rest = () if name == "median" else (0.5 if name == "quantile" else 50,)
    found = getattr(np, name)(tf.constant([[1.0, NAN, 3.0], [1.0, 2.0, 4.0]]), *rest, axis=1)
    np.testing.assert_array_equal(found.numpy(), [NAN, 2])


@pytest.mark.parametrize("name", ["nanmax", "nanmin", "nanmean", "nanmedian", "nanvar", "nanstd"])
def test_nothing_but_nan_gives_nan(name):
    found = getattr(np, name)(tf.constant([[NAN, NAN], [4.0, 4.0]]), axis=1).numpy()
    assert np.isnan(found[0])
    assert found[1] == (0 if name in ("nanvar", "nanstd") else 4)


@pytest.mark.parametrize(
    "name", ["nansum", "nanprod", "nanmean", "nanmax", "nanmin", "nanmedian", "nanvar"]
)
def test_nan_gets_no_gradient(name):
    found = gradient(getattr(np, name), [2.0, NAN, 3.0, 5.0])
    assert found[1] == 0
    assert np.isfinite(found).all()


def test_elements_that_tie_share_the_gradient():
    assert gradient(np.max, [1.0, 3.0, 3.0]) == [0, 0.5, 0.5]
    assert gradient(np.nanmin, [1.0, NAN, 1.0, 3.0]) == [0.5, 0, 0.5, 0]


def test_a_quantile_at_the_ends_and_of_one_element():
    assert gradient(lambda x: np.quantile(x, 1.0), [4.0, 1.0, 2.0]) == [1, 0, 0]
    assert gradient(lambda x: np.quantile(x, 0.0, method="weibull"), [4.0, 1.0, 2.0]) == [0, 1, 0]
    assert float(np.quantile(tf.constant([7.0]), 0.3)) == 7


INFINITE = float("inf")


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    "row",
    [
        [INFINITE, INFINITE],
        [INFINITE, NAN],
        [1.0, INFINITE],
        [-INFINITE, 1.0],
        [1.0, 2.0, INFINITE],
        [-INFINITE, -INFINITE, 3.0, 4.0],
    ],
)
@pytest.mark.parametrize(
    "way", [lambda x: x, tf.function, tf.vmap], ids=["eager", "compiled", "batch"]
)
def test_medians_of_infinities(row, way):
    x = np.array([row, row[::-1]], np.float32)
    whole = way is tf.vmap
    for name in ("median", "nanmedian"):
        function = way(lambda x, name=name: getattr(tnp, name)(x, axis=None if whole else 1))
        np.testing.assert_array_equal(function(tf.constant(x)), getattr(np, name)(x, axis=1))


def test_a_quantile_beside_an_infinity():
    x = tf.constant([1.0, 2.0, INFINITE])
    np.testing.assert_array_equal(
        tnp.quantile(x, [0.0, 0.25, 0.5, 0.75, 1.0]), [1.0, 1.5, 2.0, INFINITE, INFINITE]
    )
    assert gradient(np.median, [2.0, INFINITE, 1.0]) == [1, 0, 0]


def test_the_variance_with_no_degree_of_freedom_left():
    assert np.isinf(np.var(MATRIX, ddof=4).numpy())
    assert np.isnan(np.nanvar(MATRIX, ddof=4).numpy())


def test_integers_are_averaged_in_double_precision():
    many = np.full(3, 2**24 + 1, np.int32)
    assert float(np.mean(tf.constant(many))) == float(np.float32(2**24 + 1))
    assert np.mean(tf.constant(np.ones(2**24 + 8, bool))).numpy() == 1


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_half_precision_counts_further_than_it_can_tell(dtype):
    x = tf.cast(tf.ones([5000]), dtype)
    assert float(np.nanmean(x)) == 1
    rising = tf.cast(tf.range(5000) % 2000, dtype)
    assert float(np.quantile(rising, tf.cast(0.5, dtype))) == float(np.median(rising))
    assert np.mean(x).dtype.name == np.std(x).dtype.name == np.nanvar(x).dtype.name == dtype


def test_out_is_filled_while_nothing_records_and_refused_otherwise():
    target = np.zeros(2, np.float32)
    assert np.sum(MATRIX, axis=0, out=target) is target
    np.testing.assert_array_equal(target, [4, 7])
    with tf.GradientTape() as tape:
        tape.watch(MATRIX)
        with pytest.raises(TypeError, match=r"mean: out= .*write x = mean"):
            np.mean(MATRIX, axis=0, out=target)
    with pytest.raises(TypeError, match=r"max: out= .*Tensors are immutable"):
        tnp.max(MATRIX, axis=0, out=tf.zeros(2))


def test_what_a_mask_leaves_out_has_no_gradient():
    x = tf.constant([1.0, float("nan"), 3.0])
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        mean, largest = np.mean(x, where=~np.isnan(x)), np.max(x, where=x > 2, initial=0)
    np.testing.assert_array_equal(tape.gradient(mean, x), [0.5, 0, 0.5])
    np.testing.assert_array_equal(tape.gradient(largest, x), [0, 0, 1])


def test_a_mask_may_be_a_tensor_a_list_or_one_value():
    assert np.sum(MATRIX, where=MATRIX > 2).array == 8
    assert np.sum(MATRIX, where=[True, False]).array == 4
    assert MATRIX.mean(where=True).array == 2.75
    assert np.prod(MATRIX, where=False).array == 1
    assert np.add.reduce(MATRIX, axis=1, where=MATRIX > 1).array.tolist() == [2, 8]


@pytest.mark.parametrize(
    ("call", "error", "says"),
    [
        (
            lambda: np.sum(MATRIX, where=np.ones((2, 2))),
            TypeError,
            "^sum: where must be boolean, got dtype float64",
        ),
        (
            lambda: np.mean(MATRIX, where=np.ones(3, bool)),
            ValueError,
            r"^mean: where of shape \(3,\) does not broadcast",
        ),
        (
            lambda: np.std(MATRIX, where=np.ones((1, 2, 2), bool)),
            ValueError,
            "^std: where of shape .* does not broadcast",
        ),
        (lambda: np.max(MATRIX, where=MATRIX > 1), ValueError, "^max: give initial= beside where="),
        (
            lambda: np.nanmin(MATRIX, where=MATRIX > 1),
            ValueError,
            "^nanmin: give initial= beside where=",
        ),
    ],
)
def test_a_mask_that_does_not_fit_is_refused(call, error, says):
    with pytest.raises(error, match=says):
        call()


def test_batches():
    x = tf.constant(np.random.default_rng(0).normal(size=(3, 7)))
    for function in (
        np.median,
        np.nanargmax,
        np.argmin,
        lambda r: np.nanquantile(r, 0.3),
        lambda r: np.average(r, weights=r * r),
    ):
        loop = [function(row).numpy() for row in x]
        np.testing.assert_allclose(tf.vectorized_map(function, x).numpy(), loop, rtol=1e-12)


FAILURES = [
    (np.exceptions.AxisError, "mean: axis", lambda: np.mean(MATRIX, axis=2)),
    (ValueError, "repeated axis in `mean: axis`", lambda: np.mean(MATRIX, axis=(0, 0))),
    (TypeError, "mean: axis must be an integer, got 1.5", lambda: np.mean(MATRIX, axis=1.5)),
    (ValueError, "max: a of shape (0, 2) has no elements",
        lambda: np.max(tf.zeros([0, 2]), axis=0)),
    (ValueError, "nanmax: a of shape (0,) has no elements", lambda: np.nanmax(tf.zeros([0]))),
    (ValueError, "argmax: a of shape (0,) has no elements", lambda: np.argmax(tf.zeros([0]))),
    (ValueError, "quantile: a of shape (0,) has no elements",
        lambda: np.quantile(tf.zeros([0]), 0.5)),
    (ValueError, "nanargmin: a slice of a contains", lambda: np.nanargmin(tf.constant([NAN]))),
    (ValueError, "cumulative_sum: axis must be given", lambda: np.cumulative_sum(MATRIX)),
    (ValueError, "cumulative_prod: x must have at least one axis",
        lambda: np.cumulative_prod(tf.constant(1.0))),
    (ValueError, "var: ddof=1 and correction=1 mean the same",
        lambda: np.var(MATRIX, ddof=1, correction=1)),
    (ValueError, "quantile: q must be from 0 to 1, got 1.5", lambda: np.quantile(MATRIX, 1.5)),
    (ValueError, "percentile: q must be from 0 to 100, got -1", lambda: np.percentile(MATRIX, -1)),
    (ValueError, "quantile: method must be one of 'inverted_cdf'",
        lambda: np.quantile(MATRIX, 0.5, method="middle")),
    (TypeError, "quantile: a must be real, got", lambda: np.quantile(tf.constant([1j]), 0.5)),
    (ValueError, "quantile: weights are only supported with method='inverted_cdf'",
        lambda: np.quantile(MATRIX, 0.5, weights=MATRIX)),
    (ValueError, "quantile: weights must not be negative",
        lambda: np.quantile(MATRIX, 0.5, weights=-MATRIX,
        method="inverted_cdf")),
    (ValueError, "quantile: weights must have a positive sum",
        lambda: np.quantile(MATRIX, 0.5, weights=MATRIX * 0, method="inverted_cdf")),
    (ZeroDivisionError, "average: weights add up to zero",
        lambda: np.average(MATRIX, weights=MATRIX * 0)),
    (TypeError, "average: weights have shape (2,) but a has (2, 2)",
        lambda: np.average(MATRIX, weights=[1.0, 2.0])),
    (ValueError, "average: weights of shape (3,) do not fit axes (0,)",
        lambda: np.average(MATRIX, 0, [1.0, 2.0, 3.0])),
    (ValueError, "cov: m must have at most two axes", lambda: np.cov(tf.ones([2, 2, 2]))),
    (ValueError, "cov: ddof must be an integer", lambda: np.cov(MATRIX, ddof=0.5)),
    (RuntimeError, "cov: aweights must be 2 numbers", lambda: np.cov(MATRIX, aweights=[1.0])),
    (ValueError, "cov: aweights must not be negative",
        lambda: np.cov(MATRIX, aweights=[-1.0, 2.0])),
    (TypeError, "cov: fweights must be integers", lambda: np.cov(MATRIX, fweights=[1.5, 2.0])),
]  # fmt: skip


@pytest.mark.parametrize(("error", "says", "call"), FAILURES, ids=[says for _, says, _ in FAILURES])
def test_bad_arguments_are_named(error, says, call):
    with pytest.raises(error, match=re.escape(says)):
        call()
