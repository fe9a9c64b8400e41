"""Kernels that go another way for large arrays: the same results as by definition."""

from __future__ import annotations

import numpy as np
import pytest

from gradtape.ops import segments


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
