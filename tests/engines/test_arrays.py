"""Sums of plain arrays: whatever way is taken, the numbers of NumPy's own sum, in every layout."""

import numpy as np
import pytest

from gradtape.engines import arrays

rng = np.random.default_rng(0)

SHAPES = [
    ((), ()), ((3,), ()), ((3,), (3,)), ((3,), (1,)), ((4, 3), (3,)), ((4, 3), (4, 1)),
    ((4, 3), (1, 1)), ((4, 3), (1, 3)), ((2, 4, 3), (4, 3)), ((2, 4, 3), (4, 1)), ((2, 4, 3), (3,)),
    ((2, 4, 3), ()), ((2, 1, 3), (1, 3)), ((0, 3), (3,)), ((3, 0), (0,)), ((5000, 3), (3,)),
    ((5000, 1), (1,)), ((2, 3000, 2), (2,)), ((10, 600), (600,)), ((9001, 7), (7,)),
    ((3, 5000), (3, 1)),
]  # fmt: skip
LAYOUTS = {
    "contiguous": lambda a: a,
    "transposed": lambda a: np.ascontiguousarray(a.T).T,
    "strided": lambda a: np.repeat(a, 2, -1)[..., ::2] if a.ndim else a,
    "broadcast": lambda a: np.broadcast_to(a[:1], a.shape) if a.ndim and len(a) else a,
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64"])
@pytest.mark.parametrize(("found", "shape"), SHAPES)
def test_summing_to_a_shape_undoes_broadcasting(found, shape, dtype, layout):
    array = LAYOUTS[layout]((rng.standard_normal(found) * 4).astype(dtype))
    before = array.copy()
    added = len(found) - len(shape)
    stretched = tuple(i + added for i, size in enumerate(shape) if size == 1)
    wide = array.astype({"float32": "float64", "complex64": "complex128"}.get(dtype, dtype))
    expected = wide.sum((*range(added), *stretched), keepdims=True).reshape(shape)
    summed = arrays.sum_array_to(array, shape)
    assert summed.shape == shape
    assert summed.dtype == dtype
    bound = (
        np.finfo(dtype).eps * max(1, array.size // max(1, expected.size)) * np.abs(wide).sum()
    )  # of adding one after the other
    np.testing.assert_allclose(summed, expected, rtol=0, atol=bound)
    np.testing.assert_array_equal(array, before)


@pytest.mark.parametrize("count", [4096, 4097, 100_000, 1_000_000])
def test_sums_of_many_rows_are_as_exact_as_those_of_few(count):
    rows = np.full((count, 2), 0.1, np.float32)
    np.testing.assert_allclose(
        arrays.sum_array_to(rows, (2,)), np.full(2, count * np.float64(np.float32(0.1))), rtol=3e-5
    )


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape", [(64, 64), (5, 100, 20), (4096, 1)])
def test_sums_over_the_last_axis(shape, dtype):
    array = rng.standard_normal(shape).astype(dtype)
    expected = array.astype("float64").sum(-1, keepdims=True)
    np.testing.assert_allclose(arrays.sum_last_axis(array), expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    "array",
    [
        np.ones((4, 4), "f"),
        np.ones((64, 300), "f"),
        np.ones((64, 64), "i"),
        np.ones((64, 64), "F"),
        np.ones((64, 64), "f").T[::-1],
    ],
    ids=["few", "long rows", "integers", "complex", "other layout"],
)
def test_which_sums_are_left_to_numpy(array):
    assert arrays.sum_last_axis(array) is None


def test_an_array_that_is_one_number_everywhere_is_known_by_its_strides():
    assert arrays.spread_number(np.broadcast_to(np.float32(3.0), (400, 50))) == 3.0
    assert arrays.spread_number(np.broadcast_to(np.float32(3.0), (4, 5))) is None  # a small one
    assert arrays.spread_number(np.float32(3.0) * np.ones((400, 50), np.float32)) is None
    assert arrays.spread_number(np.broadcast_to(np.arange(50.0), (400, 50))) is None
    assert arrays.spread_number(np.broadcast_to(np.float32(3.0), (0, 5))) is None
