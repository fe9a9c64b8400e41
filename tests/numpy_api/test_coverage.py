"""docs/numpy-coverage.md says what is there: write it anew with `PYTHONPATH=src:tests python -m numpy_api.coverage_page`."""

import numpy as np
import pytest

import gradtape as tf
import gradtape.numpy as tnp

from . import coverage_page
from .table import all_rows

# What Keras calls in the numpy namespace of a backend, beyond what NumPy's own namespace has.
OF_KERAS = ("divide_no_nan", "slogdet", "view", "vectorize")


def test_the_page_is_true():
    assert coverage_page.PAGE.read_text(encoding="utf-8") == coverage_page.page(), "see this file's docstring"


def test_every_function_with_a_derivative_is_recorded():
    assert coverage_page.of_state(coverage_page.MISSING) == []
    assert len(coverage_page.of_state(coverage_page.RECORDED)) > 250


def test_every_reason_is_that_of_a_function_which_is_not_recorded():
    listed = [name for names in coverage_page.REASONS.values() for name in names.split()]
    assert len(set(listed)) == len(listed)
    assert sorted(listed) == sorted(coverage_page.of_state(coverage_page.NO_DERIVATIVE, coverage_page.ON_VALUES))


@pytest.mark.parametrize("name", coverage_page.of_state(coverage_page.NO_DERIVATIVE))
def test_what_has_no_derivative_has_a_row_or_a_test_of_its_own(name):
    elsewhere = {"packbits", "unpackbits", "result_type"}
    assert name in {row.name for row in all_rows()} | elsewhere


def test_every_row_is_of_a_function():
    names = {f.name for f in coverage_page.functions()} | {f"special.{name}" for name in dir(__import__("scipy.special").special)}
    assert sorted({row.name for row in all_rows()} - names - set(coverage_page.only_here()) - set(coverage_page.extra())) == []


def test_every_recorded_special_function_has_a_row():
    rows = {row.name for row in all_rows() if row.differentiable}
    assert [name for name in coverage_page.special_functions() if f"special.{name}" not in rows and name != "psi"] == []


def test_names_that_keras_wants_are_there():
    assert [name for name in OF_KERAS if not hasattr(tnp, name)] == []


def test_every_public_function_of_numpy_that_takes_arrays_has_a_name_here():
    refused = {"busday_count", "busday_offset", "datetime_as_string", "is_busday", "isnat", "common_type", "min_scalar_type"}
    names = {f.name for f in coverage_page.functions() if f.state != coverage_page.REFUSING} - refused
    missing = [name for name in sorted(names) if coverage_page._ours(name) is None]
    assert missing == []


def test_numpy_asks_a_tensor_about_what_the_page_says():
    x = tf.constant([1.0, 2.0])
    assert type(np.sum(x)) is tf.Tensor
    assert coverage_page.asks(np.sum)
    assert coverage_page.asks(np.add)
    assert not coverage_page.asks(np.array)
