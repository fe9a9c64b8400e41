"""Kernels that go another way for large arrays: the same results as by definition."""

from __future__ import annotations

import numpy as np
import pytest

from gradtape.ops import segments, selection
from gradtape.ops.indexing import scatter_rows


def by_definition(of, x, ids, size, empty):
    out = np.full((size, *x.shape[1:]), empty, np.result_type(x, np.float64))
    for number in np.unique(ids[ids >= 0]):
        out[number] = of.reduce(x[ids == number].astype(out.dtype), axis=0)
    return out


@pytest.mark.sampled(5)
@pytest.mark.parametrize("order", ["sorted", "in disorder"])
@pytest.mark.parametrize("least", [0, -1, -40_000], ids="least {}".format)
@pytest.mark.parametrize("dtype", ["float32", "float64", "int32"])
@pytest.mark.parametrize("shape", [(4096, 64), (4096,), (300, 2, 50)], ids=str)
@pytest.mark.parametrize("name", ["segment_sum", "segment_prod", "segment_max", "segment_min"])
def test_segments(name, shape, dtype, least, order):
    random = np.random.default_rng(0)
    x = random.uniform(0.5, 1.5 if dtype != "int32" else 2.5, shape).astype(dtype)
    ids = random.integers(least, 600, shape[0]).astype(np.int32)
    if order == "sorted":
        ids.sort()
    of = {"sum": np.add, "prod": np.multiply, "max": np.maximum, "min": np.minimum}[name[8:]]
    empty = {"sum": 0, "prod": 1}.get(name[8:], 7)
    options = {} if empty < 7 else {"empty": empty}
    for size in (600, 70_000):
        found = getattr(segments, name)(x, ids, size=size, **options)
        assert found.dtype == dtype
        np.testing.assert_allclose(found, by_definition(of, x, ids, size, empty), rtol=1e-5)


@pytest.mark.parametrize(
    "dtype", ["float32", "float64", "float16", "int32", "int64", "uint8", "bool", "complex64"]
)
@pytest.mark.parametrize(
    "shapes",
    [((80, 60), (80, 60), (80, 60)), ((80, 60), (60,), (80, 1)), ((80, 60), (), (80, 60)),
        ((80, 60), (80, 60), ()), ((80, 60), (2, 80, 60), (60,)), ((80, 60), (), ())],
    ids=str,
)  # fmt: skip
@pytest.mark.filterwarnings("ignore:invalid value")
def test_where(shapes, dtype):
    """By the bits of the numbers: infinities, NaN and the sign of zero too."""
    random = np.random.default_rng(0)
    condition, x, y = (random.integers(-3, 4, shape) for shape in shapes)
    x, y = (np.asarray(value).astype(dtype) for value in (x, y))
    if dtype.startswith(("float", "complex")):
        x, y = (np.asarray(value / value * value) for value in (x, y))
        y = np.asarray(np.where(y == 1, np.inf, np.negative(y)))
    found = selection.where_array(np, condition > 0, x.astype(dtype), y.astype(dtype))
    wanted = np.where(condition > 0, x.astype(dtype), y.astype(dtype))
    assert found.dtype == wanted.dtype
    assert found.tobytes() == wanted.tobytes()


@pytest.mark.parametrize("numbers", [(1.5, None), (None, 0), (0, None)], ids=str)
def test_where_with_a_number(numbers):
    array = np.linspace(-1, 1, 5000, dtype=np.float32)
    x, y = (array if number is None else number for number in numbers)
    found = selection.where_array(np, array > 0.2, x, y)
    np.testing.assert_array_equal(found, np.where(array > 0.2, x, y), strict=True)


@pytest.mark.parametrize("width", [1, 3, 8, 9, 128])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32, np.complex64])
@pytest.mark.parametrize("most", [20, 300])
def test_many_rows_are_added_up_where_indices_repeat(width, dtype, most):
    """Short rows, long ones, and an index that repeats more often than all others."""
    random = np.random.default_rng(0)
    indices = np.concatenate([random.integers(0, 300, 1500), np.full(most, 7)])
    random.shuffle(indices)
    values = random.integers(-50, 50, (len(indices), width)).astype(dtype)
    wanted = np.zeros((300, width), dtype)
    np.add.at(wanted, indices, values)
    found = scatter_rows(values, indices, shape=(300, width))
    assert found.dtype == dtype
    np.testing.assert_array_equal(found, wanted)


def test_what_is_not_finite_stays_in_its_row_and_column():
    values = np.ones((1200, 3), np.float32)
    values[5, 1], values[7, 2], values[9, 2] = np.nan, np.inf, -np.inf
    indices = np.arange(1200) % 400
    found = scatter_rows(values, indices, shape=(400, 3))
    assert np.isnan(found).sum() == 1
    assert np.isnan(found[5, 1])
    assert found[7, 2] == np.inf
    assert found[9, 2] == -np.inf
