"""`tf.test.TestCase`: unittest's, with assertions on tensors."""
# ruff: noqa: N802, PT009, PT027 - the names are TensorFlow's, and it is a TestCase of unittest's

from __future__ import annotations

import os
import random
import tempfile
import unittest
from collections.abc import Mapping
from contextlib import nullcontext
from typing import Any

import numpy as np

from gradtape import errors, nest
from gradtape.api.tensorflow.random.sequence import set_seed
from gradtape.core.sparse_tensor import SparseTensor
from gradtape.published import published


@published("test.TestCase")
class TestCase(unittest.TestCase):
    """unittest's, with assertions that compare tensors, arrays, numbers and structures of them.

    >>> import gradtape as tf
    >>> case = tf.test.TestCase()
    >>> case.assertAllClose(tf.constant([1.0, 2.0]), [1.0, 2.0 + 1e-7])
    >>> try:
    ...     case.assertAllEqual([1, 2], tf.constant([1, 3]))
    ... except AssertionError as error:
    ...     print("differs" in str(error))
    True
    """

    __test__ = False  # pytest collects subclasses only

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        if "__test__" not in vars(cls):
            cls.__test__ = True

    def __init__(self, methodName: str = "runTest") -> None:
        super().__init__(methodName)
        self._folder: tempfile.TemporaryDirectory[str] | None = None

    def setUp(self) -> None:
        """Begins each test with the same random numbers."""
        random.seed(87654321)
        np.random.seed(87654321)  # noqa: NPY002 - what tests draw from it is to be the same
        set_seed(87654321)
        super().setUp()

    def get_temp_dir(self) -> str:
        """A folder that goes with the test."""
        if self._folder is None:
            self._folder = tempfile.TemporaryDirectory()
            self.addCleanup(self._folder.cleanup)
        return os.path.realpath(self._folder.name)

    def evaluate(self, tensors: Any) -> Any:
        """The values of tensors, in their structure."""
        return nest.map_structure(_value, tensors)

    def session(self, *args: Any, **keywords: Any) -> Any:
        """A block in which tests of TensorFlow 1 ran: nothing changes."""
        return nullcontext(Evaluating(self))

    cached_session = session

    def test_session(self, *args: Any, **keywords: Any) -> Any:
        """The same; nothing where it is taken for a test, because of its name."""
        return None if self._testMethodName == "test_session" else self.session()

    # Assertions; their names and parameters are TensorFlow's.

    def assertAllClose(
        self, a: Any, b: Any, rtol: float = 1e-6, atol: float = 1e-6, msg: Any = None
    ) -> None:
        """Structures of the same nesting whose values are close."""
        if isinstance(a, Mapping) or isinstance(b, Mapping):
            self.assertIsInstance(a, Mapping, msg)
            self.assertCountEqual(a.keys(), b.keys(), msg)
            for key in a:
                self.assertAllClose(a[key], b[key], rtol, atol, f"[{key!r}] {msg or ''}")
            return
        if _is_structure(a) and _is_structure(b):
            try:
                np.testing.assert_equal(len(a), len(b))
                for i, (one, other) in enumerate(zip(a, b, strict=True)):
                    self.assertAllClose(one, other, rtol, atol, f"[{i}] {msg or ''}")
            except (TypeError, ValueError):
                pass
            else:
                return
        x, y = _array(a), _array(b)
        for array in (x, y):
            if array.dtype.name in ("float16", "bfloat16"):
                rtol, atol = max(rtol, 1e-3 if array.dtype == np.float16 else 1e-2), max(atol, 1e-3)
        self.assertEqual(x.shape, y.shape, f"The shapes differ. {msg or ''}")
        np.testing.assert_allclose(
            _wide(x), _wide(y), rtol=rtol, atol=atol, equal_nan=True, err_msg=str(msg or "")
        )

    def assertAllCloseAccordingToType(
        self,
        a: Any,
        b: Any,
        rtol: float = 1e-6,
        atol: float = 1e-6,
        float_rtol: float = 1e-6,
        float_atol: float = 1e-6,
        half_rtol: float = 1e-3,
        half_atol: float = 1e-3,
        bfloat16_rtol: float = 1e-2,
        bfloat16_atol: float = 1e-2,
        msg: Any = None,
    ) -> None:
        """Values that are close for their dtypes."""
        x, y = _array(a), _array(b)
        tolerances = {
            "float32": (float_rtol, float_atol),
            "complex64": (float_rtol, float_atol),
            "float16": (half_rtol, half_atol),
            "bfloat16": (bfloat16_rtol, bfloat16_atol),
        }
        for array in (x, y):
            more = tolerances.get(array.dtype.name, (0.0, 0.0))
            rtol, atol = max(rtol, more[0]), max(atol, more[1])
        self.assertAllClose(x, y, rtol, atol, msg)

    def assertNotAllClose(
        self, a: Any, b: Any, rtol: float = 1e-6, atol: float = 1e-6, msg: Any = None
    ) -> None:
        """Values that are not close."""
        try:
            self.assertAllClose(a, b, rtol, atol, msg)
        except AssertionError:
            return
        raise AssertionError(msg or "The two values are close at all elements.")

    def assertAllEqual(self, a: Any, b: Any, msg: Any = None) -> None:
        """Arrays of the same shape and values."""
        if hasattr(a, "to_list") or hasattr(b, "to_list"):
            lists = [v.to_list() if hasattr(v, "to_list") else _array(v).tolist() for v in (a, b)]
            self.assertEqual(lists[0], lists[1], msg)
            return
        x, y = _array(a), _array(b)
        self.assertEqual(x.shape, y.shape, f"The shapes differ. {msg or ''}")
        same = (x == y) | ((x != x) & (y != y))  # noqa: PLR0124 - NaN equals NaN here
        if not np.all(same):
            raise AssertionError(f"A value differs: {x!r} and {y!r}. {msg or ''}")

    def assertNotAllEqual(self, a: Any, b: Any, msg: Any = None) -> None:
        """Arrays that differ somewhere."""
        try:
            self.assertAllEqual(a, b)
        except AssertionError:
            return
        raise AssertionError(msg or "The two values are equal at all elements.")

    def assertAllGreater(self, a: Any, comparison_target: Any) -> None:
        """Elements that are all greater."""
        self._assert_all(a, _array(a) > comparison_target, f"greater than {comparison_target}")

    def assertAllLess(self, a: Any, comparison_target: Any) -> None:
        """Elements that are all less."""
        self._assert_all(a, _array(a) < comparison_target, f"less than {comparison_target}")

    def assertAllGreaterEqual(self, a: Any, comparison_target: Any) -> None:
        """Elements that are all greater or equal."""
        self._assert_all(a, _array(a) >= comparison_target, f"at least {comparison_target}")

    def assertAllLessEqual(self, a: Any, comparison_target: Any) -> None:
        """Elements that are all less or equal."""
        self._assert_all(a, _array(a) <= comparison_target, f"at most {comparison_target}")

    def assertAllInRange(
        self,
        target: Any,
        lower_bound: Any,
        upper_bound: Any,
        open_lower_bound: bool = False,
        open_upper_bound: bool = False,
    ) -> None:
        """Elements that are all between bounds."""
        x = _array(target)
        above = x > lower_bound if open_lower_bound else x >= lower_bound
        below = x < upper_bound if open_upper_bound else x <= upper_bound
        self._assert_all(target, above & below, f"between {lower_bound} and {upper_bound}")

    def assertAllInSet(self, target: Any, expected_set: Any) -> None:
        """Elements that are all among some values."""
        self._assert_all(target, np.isin(_array(target), list(expected_set)), f"in {expected_set}")

    def _assert_all(self, value: Any, holds: Any, what: str) -> None:
        if not np.all(holds):
            raise AssertionError(f"Not all elements are {what}: {_array(value)!r}.")

    def assertNear(self, f1: Any, f2: Any, err: Any, msg: Any = None) -> None:
        """Two numbers that are at most `err` apart."""
        if not (f1 == f2 or abs(f1 - f2) <= err):
            raise AssertionError(f"{f1!r} and {f2!r} are more than {err!r} apart. {msg or ''}")

    def assertArrayNear(self, farray1: Any, farray2: Any, err: Any, msg: Any = None) -> None:
        """Numbers that are at most `err` apart."""
        self.assertEqual(len(farray1), len(farray2), msg)
        for one, other in zip(farray1, farray2, strict=True):
            self.assertNear(float(one), float(other), err, msg)

    def assertShapeEqual(self, input_a: Any, input_b: Any, msg: Any = None) -> None:
        """Two tensors or arrays of the same shape."""
        self.assertEqual(tuple(input_a.shape), tuple(input_b.shape), msg)

    def assertDTypeEqual(self, target: Any, expected_dtype: Any) -> None:
        """A tensor or an array of a dtype."""
        self.assertEqual(_array(target).dtype, np.dtype(expected_dtype))

    def assertRaisesOpError(self, expected_err_re_or_predicate: Any) -> Any:
        """A block that raises an error of an op, with a message."""
        return self.assertRaisesRegex(errors.OpError, expected_err_re_or_predicate)

    def assertRaisesWithPredicateMatch(
        self, exception_type: Any, expected_err_re_or_predicate: Any
    ) -> Any:
        """A block that raises an error whose message matches."""
        if callable(expected_err_re_or_predicate):
            return self.assertRaises(exception_type)
        return self.assertRaisesRegex(exception_type, expected_err_re_or_predicate)

    def assertStartsWith(self, actual: str, expected_start: str, msg: Any = None) -> None:
        """A text that begins with another one."""
        if not actual.startswith(expected_start):
            raise AssertionError(f"{actual!r} does not start with {expected_start!r}. {msg or ''}")


@published("test.main")
def main(argv: Any = None) -> None:
    """Runs the tests of the program, as `unittest.main` does.

    >>> import gradtape as tf
    >>> callable(tf.test.main)
    True
    """
    unittest.main(argv=argv)


class Evaluating:
    """What stands for a session in a test: it gives the values of tensors."""

    def __init__(self, case: TestCase) -> None:
        self._case = case

    def run(self, fetches: Any, feed_dict: Any = None) -> Any:
        """The values of tensors; nothing can be fed, since there are no placeholders."""
        return self._case.evaluate(fetches)


def _is_structure(value: Any) -> bool:
    return isinstance(value, (list, tuple))


def _value(leaf: Any) -> Any:
    if isinstance(leaf, SparseTensor):
        return leaf
    return leaf.numpy() if hasattr(leaf, "numpy") else leaf


def _array(value: Any) -> Any:
    found = nest.map_structure(_value, value) if _is_structure(value) else _value(value)
    return np.asarray(found)


def _wide(array: Any) -> Any:
    """An array that NumPy can compare: of float64 in place of half the width."""
    return array.astype(np.float64) if array.dtype.kind == "V" or array.itemsize == 2 else array
