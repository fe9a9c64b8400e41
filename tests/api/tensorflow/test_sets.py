"""`tf.sets` against NumPy's functions of sets, row by row."""

import numpy as np
import pytest

import gradtape as tf

RNG = np.random.default_rng(0)
FUNCTIONS = {
    "difference": np.setdiff1d,
    "intersection": np.intersect1d,
    "union": np.union1d,
}


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("shape", [(1, 4), (3, 5), (2, 3, 4), (2, 0)])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_against_numpy(name, shape, sparse):
    a, b = (RNG.integers(1, 6, shape) for _ in range(2))
    given = [tf.sparse.from_dense(x) if sparse else x for x in (a, b)]
    found = getattr(tf.sets, name)(*given)
    rows = {}
    for index, value in zip(found.indices.numpy(), found.values.numpy(), strict=True):
        rows.setdefault(tuple(index[:-1]), []).append(value)
    for place in np.ndindex(*shape[:-1]):
        assert rows.get(place, []) == FUNCTIONS[name](a[place], b[place]).tolist()


def test_the_other_way_around():
    found = tf.sets.difference([[1, 2]], [[2, 3]], aminusb=False)
    assert found.values.numpy().tolist() == [3]


def test_sizes():
    a = RNG.integers(1, 4, (5, 6))
    assert tf.sets.size(tf.sparse.from_dense(a)).numpy().tolist() == [len(set(r)) for r in a]


def test_errors():
    with pytest.raises(ValueError, match="two axes"):
        tf.sets.union([1], [2])
    with pytest.raises(ValueError, match="as many rows"):
        tf.sets.union([[1]], [[2], [3]])
    with pytest.raises(TypeError, match="same dtype"):
        tf.sets.union([[1]], [[2.0]])
    with pytest.raises(TypeError, match="SparseTensor"):
        tf.sets.size([[1]])
