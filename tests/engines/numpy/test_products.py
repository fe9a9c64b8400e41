"""Matrix products take other ways through BLAS for some shapes: the results are those of NumPy."""

import numpy as np
import pytest

import gradtape as tf
from gradtape.engines.numpy import products


def arrays(*shapes, dtype=np.float64):
    rng = np.random.default_rng(0)
    return [rng.standard_normal(shape).astype(dtype) for shape in shapes]


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ((3, 4), (4, 5)),
        ((5, 3, 4), (4, 6)),
        ((2, 5, 3, 4), (4, 6)),
        ((0, 3, 4), (4, 6)),
        ((5, 0, 4), (4, 6)),
        ((5, 3, 0), (0, 6)),
        ((16, 256), (256, 256)),
        ((100, 256), (256, 256)),
        ((4, 8, 256), (256, 256)),
        ((5, 3, 4), (5, 4, 2)),
        ((0, 256), (256, 256)),
    ],
)
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex128, np.int64])
def test_every_way_gives_numpys_product(left, right, dtype):
    a, b = arrays(left, right, dtype=dtype)
    tolerance = 1e-4 if dtype == np.float32 else 1e-10
    # As it is, and as the transpose of what lies in memory.
    for other in (b, np.ascontiguousarray(b.mT).mT):
        for one in (a, np.ascontiguousarray(a.mT).mT):
            found = products.matmul(one, other)
            np.testing.assert_allclose(found, np.matmul(one, other), rtol=tolerance, atol=tolerance)
            assert found.dtype == dtype
            assert found.flags.c_contiguous or found.size <= 1


@pytest.mark.parametrize(("left", "right"), [((2, 3, 4), (5, 6)), ((3, 200), (201, 200))])
def test_shapes_that_do_not_fit_are_refused_with_their_names(left, right):
    a, b = map(tf.constant, arrays(left, right))
    with pytest.raises(
        tf.errors.InvalidArgumentError, match=r"matmul\(float64\[.*\], float64\[.*\]\)"
    ):
        tf.matmul(a, b)


def test_gradients_of_a_wide_layer():
    x, w, g = arrays((4, 8, 256), (256, 256), (4, 8, 256))
    a, b = tf.constant(x), tf.constant(w)
    with tf.GradientTape() as tape:
        tape.watch([a, b])
        y = tf.matmul(a, b)
    by_a, by_b = tape.gradient(y, [a, b], output_gradients=tf.constant(g))
    np.testing.assert_allclose(by_a, g @ w.T, rtol=1e-10)
    np.testing.assert_allclose(by_b, np.einsum("bij,bik->jk", x, g), rtol=1e-10)
