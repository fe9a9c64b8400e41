"""Every function of the standard, on every dtype it takes: values, dtypes, shapes, and that
gradients flow through it.
"""

import numpy as np
import pytest

import gradtape as tf
import gradtape.array_api as xp

from . import rows, standard

ALL = [*rows.ROWS, *rows.LINALG, *rows.FFT]
CASES = [
    (row, dtype)
    for row in ALL
    for dtype in ([d for kind in row.kinds for d in rows.KINDS[kind]] or [""])
]

# What these give is checked below: they have several outputs, or talk about dtypes.
CHECKED_APART = {
    "astype", "can_cast", "finfo", "iinfo", "isdtype", "result_type",
    "unique_all", "unique_counts", "unique_inverse", "eigh", "qr", "slogdet", "svd",
}  # fmt: skip


def flat(result):
    return list(result) if isinstance(result, (list, tuple)) else [result]


@pytest.mark.parametrize(
    ("row", "dtype"), CASES, ids=[f"{row.name}-{dtype}" for row, dtype in CASES]
)
def test_values_and_dtypes(row, dtype):
    arrays = [np.asarray(array).astype(dtype) for array in row.arrays]
    if np.dtype(dtype or bool).kind == "c":
        arrays = [
            array + array.dtype.type(0.25j) if row.name not in ("cholesky", "eigvalsh") else array
            for array in arrays
        ]
    found = row.call(xp, *[tf.constant(array) for array in arrays])
    expected = row.call(np, *arrays) if row.reference is None else row.reference(*arrays)
    exact = dtype and np.dtype(dtype).kind in "biu"
    for one, wanted in zip(flat(found), flat(expected), strict=True):
        assert isinstance(one, tf.Tensor)
        assert one.dtype.name == rows.expected_dtype(row.gives, dtype)
        assert one.shape == np.shape(wanted)
        np.testing.assert_allclose(
            one.numpy(), wanted, rtol=0 if exact else 2e-5, atol=0 if exact else 1e-6
        )


def names(text):
    return {line.strip().partition("(")[0] for line in text.splitlines() if line.strip()}


def test_every_function_has_a_row():
    main = set.union(*(names(text) for text in standard.FUNCTIONS.values()))
    assert main - CHECKED_APART == {row.name for row in rows.ROWS}
    assert names(standard.LINALG) - CHECKED_APART == {row.name for row in rows.LINALG}
    assert names(standard.FFT) == {row.name for row in rows.FFT}


STEPS = {
    "argmax", "argmin", "argsort", "ceil", "count_nonzero", "floor", "floor_divide", "imag",
    "isfinite", "isinf", "isnan", "nextafter", "nonzero", "round", "searchsorted", "sign",
    "signbit", "trunc", "matrix_rank", "unique_values", "equal", "not_equal", "greater",
    "greater_equal", "less", "less_equal", "all", "any", "empty_like", "full_like", "ones_like",
    "zeros_like",
}  # fmt: skip
SMOOTH = [row for row in ALL if "f" in row.kinds and row.arrays and row.name not in STEPS]


@pytest.mark.parametrize("row", SMOOTH, ids=[row.name for row in SMOOTH])
def test_gradients_flow(row):
    """The gradient of every output against a central difference."""
    rng = np.random.default_rng(0)
    arrays = [
        np.asarray(array, np.float64) + rng.uniform(0.01, 0.1, np.shape(array))
        for array in row.arrays
    ]
    if row.name in ("cholesky", "eigvalsh"):
        arrays = [array + array.T for array in arrays]
    steps = [rng.normal(size=array.shape) for array in arrays]
    steps = [step + step.T if row.name in ("cholesky", "eigvalsh") else step for step in steps]

    def total(xs):
        return sum(
            xp.sum(xp.real(part * (1 + 1j * i)) ** 2)
            for i, part in enumerate(flat(row.call(xp, *xs)))
        )

    tensors = [tf.constant(array) for array in arrays]
    with tf.GradientTape(strict=True) as tape:
        tape.watch(tensors)
        y = total(tensors)
    gradients = tape.gradient(y, tensors)
    assert any(g is not None for g in gradients)
    along = sum(
        float(tf.reduce_sum(g * step))
        for g, step in zip(gradients, steps, strict=True)
        if g is not None
    )
    h = 1e-6
    ends = [
        float(total([tf.constant(a + s * h * step) for a, step in zip(arrays, steps, strict=True)]))
        for s in (1, -1)
    ]
    np.testing.assert_allclose(along, (ends[0] - ends[1]) / (2 * h), rtol=1e-5, atol=1e-6)


# Functions with several outputs: named tuples, as the standard asks


def test_unique():
    x = tf.constant([2, 1, 2, 3])
    everything = xp.unique_all(x)
    np.testing.assert_array_equal(everything.values.numpy(), [1, 2, 3])
    np.testing.assert_array_equal(everything.indices.numpy(), [1, 0, 3])
    np.testing.assert_array_equal(everything.inverse_indices.numpy(), [1, 0, 1, 2])
    np.testing.assert_array_equal(everything.counts.numpy(), [1, 2, 1])
    assert [part.dtype for part in everything] == [tf.int32, tf.int64, tf.int64, tf.int64]
    assert xp.unique_counts(x)._fields == ("values", "counts")
    assert xp.unique_inverse(x)._fields == ("values", "inverse_indices")
    np.testing.assert_array_equal(
        xp.unique_inverse(tf.reshape(x, [2, 2])).inverse_indices.numpy(), [[1, 0], [1, 2]]
    )
    # Each NaN is a value of its own.
    assert xp.unique_values(tf.constant([np.nan, np.nan, 1.0])).shape == (3,)


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
def test_decompositions(dtype):
    x = tf.constant(np.array([[[4, 1], [1, 3]], [[2, 0], [0, 5]]], dtype))
    real = {"complex64": "float32", "complex128": "float64"}.get(dtype, dtype)

    def same(found, expected=x):
        np.testing.assert_allclose(found.numpy(), expected.numpy(), rtol=1e-4, atol=1e-5)

    eigh = xp.linalg.eigh(x)
    assert (eigh.eigenvalues.dtype, eigh.eigenvectors.dtype) == (real, dtype)
    same(
        xp.matmul(
            eigh.eigenvectors * xp.astype(eigh.eigenvalues, x.dtype)[:, None, :],
            xp.conj(eigh.eigenvectors).mT,
        )
    )
    for mode in ("reduced", "complete"):
        qr = xp.linalg.qr(x, mode=mode)
        assert (qr.Q.dtype, qr.R.dtype) == (dtype, dtype)
        same(xp.matmul(qr.Q, qr.R))
    slogdet = xp.linalg.slogdet(x)
    assert (slogdet.sign.dtype, slogdet.logabsdet.dtype) == (dtype, real)
    same(slogdet.sign * xp.astype(xp.exp(slogdet.logabsdet), x.dtype), xp.linalg.det(x))
    svd = xp.linalg.svd(x, full_matrices=False)
    assert (svd.U.dtype, svd.S.dtype, svd.Vh.dtype) == (dtype, real, dtype)
    same(xp.matmul(svd.U * xp.astype(svd.S, x.dtype)[:, None, :], svd.Vh))


@pytest.mark.parametrize("name", ["zeros", "ones", "empty"])
def test_creation_takes_dtype_and_device(name):
    x = tf.constant(1.0)
    for dtype in standard.DTYPES:
        made = getattr(xp, name)((2, 3), dtype=getattr(xp, dtype), device=x.device)
        assert (made.dtype.name, made.shape, made.device) == (dtype, (2, 3), x.device)
        like = getattr(xp, f"{name}_like")(x, dtype=getattr(xp, dtype), device=x.device)
        assert (like.dtype.name, like.shape) == (dtype, ())


@pytest.mark.parametrize(
    "call",
    [
        lambda device: xp.asarray([1.0], device=device),
        lambda device: xp.arange(3, device=device),
        lambda device: xp.eye(2, device=device),
        lambda device: xp.full(2, 1.0, device=device),
        lambda device: xp.full_like(tf.constant(1.0), 2.0, device=device),
        lambda device: xp.linspace(0.0, 1.0, 3, device=device),
        lambda device: xp.zeros(2, device=device),
        lambda device: xp.from_dlpack(np.ones(2), device=device),
        lambda device: xp.fft.fftfreq(3, device=device),
        lambda device: xp.fft.rfftfreq(3, device=device),
        lambda device: tf.constant(1.0).to_device(device),
    ],
)
def test_devices(call):
    here = tf.constant(1.0).device
    assert call(here).device == here
    with pytest.raises((ValueError, tf.errors.InvalidArgumentError), match="device"):
        call("/GPU:0")


def test_python_numbers_beside_arrays():
    x = tf.constant([1.0, 2.0])
    for found in (
        xp.add(x, 1),
        xp.maximum(1.5, x),
        xp.where(x > 1, x, 0.0),
        xp.atan2(x, 1),
        xp.pow(2, x),
    ):
        assert found.dtype == tf.float32


def test_dtype_of_sums():
    x = tf.constant([1, 2], tf.int8)
    assert xp.sum(x, dtype=xp.int8).dtype == tf.int8
    assert xp.prod(x, dtype=xp.float64).dtype == tf.float64
    assert xp.cumulative_sum(x, dtype=xp.int16).dtype == tf.int16
    assert xp.linalg.trace(tf.ones([2, 2], tf.int8), dtype=xp.int64).dtype == tf.int64


def test_frequencies_are_real():
    assert xp.fft.fftfreq(4, dtype=xp.float64).dtype == tf.float64
    with pytest.raises(
        TypeError, match=r"rfftfreq: dtype must be a real floating-point dtype.*complex64"
    ):
        xp.fft.rfftfreq(4, dtype=xp.complex64)


def test_the_ends_of_a_row_of_numbers_are_not_rounded_on_the_way():
    np.testing.assert_array_equal(
        xp.linspace(16777217.0, 0.0, 2, dtype=xp.float64).numpy(), [16777217.0, 0.0]
    )
    np.testing.assert_array_equal(
        xp.arange(0.1, 0.4, 0.1, dtype=xp.float64).numpy(), np.arange(0.1, 0.4, 0.1)
    )
    assert xp.arange(0.0, 0.3, 0.1).shape == (3,)  # in float32, 0.3 / 0.1 is more than 3
