"""Kernels that go another way for large arrays: the same results as by definition."""

from __future__ import annotations

import numpy as np
import pytest

from gradtape.ops import segments, selection


def by_definition(of, x, ids, size, empty):
    out = np.full((size, *x.shape[1:]), empty, np.result_type(x, np.float64))
    for number in np.unique(ids[ids >= 0]):
        out[number] = of.reduce(x[ids == number].astype(out.dtype), axis=0)
    return out


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
