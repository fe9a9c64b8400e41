"""`tf.test.TestCase`: what each assertion lets pass, and what it does not."""

import numpy as np
import pytest

import gradtape as tf

CASE = tf.test.TestCase()
X = tf.constant([1.0, 2.0])

PASSES = {
    "assertAllClose": [(X, [1.0, 2.0]), ({"a": X}, {"a": [1.0, 2.0]}), ([X, 1], [X, 1.0])],
    "assertAllCloseAccordingToType": [(tf.cast(X, tf.float16), [1.0005, 2.0])],
    "assertNotAllClose": [(X, [1.0, 2.1])],
    "assertAllEqual": [(X, [1, 2]), ([np.nan], [np.nan]), ("a", "a")],
    "assertNotAllEqual": [(X, [1, 3])],
    "assertAllGreater": [(X, 0)],
    "assertAllLess": [(X, 3)],
    "assertAllGreaterEqual": [(X, 1)],
    "assertAllLessEqual": [(X, 2)],
    "assertAllInRange": [(X, 1, 2)],
    "assertAllInSet": [(X, {1, 2})],
    "assertNear": [(1.0, 1.1, 0.2)],
    "assertArrayNear": [([1.0], [1.1], 0.2)],
    "assertShapeEqual": [(X, np.ones(2))],
    "assertDTypeEqual": [(X, np.float32)],
    "assertStartsWith": [("abc", "ab")],
}
FAILS = {
    "assertAllClose": [(X, [1.0, 2.1]), (X, [1.0]), ({"a": 1}, {"b": 1}), ([X, 1], [X, 2])],
    "assertAllCloseAccordingToType": [(X, [1.0005, 2.0])],
    "assertNotAllClose": [(X, X)],
    "assertAllEqual": [(X, [1, 3]), (X, [[1, 2]]), ([np.nan], [1.0])],
    "assertNotAllEqual": [(X, X)],
    "assertAllGreater": [(X, 1)],
    "assertAllLess": [(X, 2)],
    "assertAllGreaterEqual": [(X, 2)],
    "assertAllLessEqual": [(X, 1)],
    "assertAllInRange": [(X, 1.5, 2)],
    "assertAllInSet": [(X, {1})],
    "assertNear": [(1.0, 1.3, 0.2)],
    "assertArrayNear": [([1.0], [1.3], 0.2)],
    "assertShapeEqual": [(X, np.ones(3))],
    "assertDTypeEqual": [(X, np.float64)],
    "assertStartsWith": [("abc", "b")],
}


@pytest.mark.parametrize("name", PASSES)
def test_what_passes(name):
    for arguments in PASSES[name]:
        getattr(CASE, name)(*arguments)


@pytest.mark.parametrize("name", FAILS)
def test_what_fails(name):
    for arguments in FAILS[name]:
        with pytest.raises(AssertionError):
            getattr(CASE, name)(*arguments)


def test_errors_are_expected():
    with CASE.assertRaisesOpError("bad"):
        raise tf.errors.InvalidArgumentError(None, None, "bad")
    with CASE.assertRaisesWithPredicateMatch(ValueError, "bad"):
        raise ValueError("bad")


class Drawing(tf.test.TestCase):
    def test_values(self):
        with self.session() as session:
            assert session.run({"x": X})["x"].tolist() == [1.0, 2.0]
        self.first = tf.random.uniform([]).numpy()
        self.setUp()
        assert tf.random.uniform([]).numpy() == self.first
        assert self.get_temp_dir() == self.get_temp_dir()
