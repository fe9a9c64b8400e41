"""docs/numpy-coverage.md says what is there: write it anew with
`python -m tools.numpy_coverage`.
"""

import numpy as np
import pytest

import gradtape as tf
import gradtape.numpy as tnp
from tools import numpy_coverage

from .table import all_rows

# What Keras calls in the numpy namespace of a backend, beyond what NumPy's own namespace has.
OF_KERAS = ("divide_no_nan", "slogdet", "view", "vectorize")


def test_the_page_is_true():
    assert numpy_coverage.PAGE.read_text(encoding="utf-8") == numpy_coverage.page(), (
        "see this file's docstring"
    )


def test_every_function_with_a_derivative_is_recorded():
    assert numpy_coverage.of_state(numpy_coverage.MISSING) == []
    assert len(numpy_coverage.of_state(numpy_coverage.RECORDED)) > 250


def test_every_reason_is_that_of_a_function_which_is_not_recorded():
    listed = [name for names in numpy_coverage.REASONS.values() for name in names.split()]
    assert len(set(listed)) == len(listed)
    assert sorted(listed) == sorted(
        numpy_coverage.of_state(numpy_coverage.NO_DERIVATIVE, numpy_coverage.ON_VALUES)
    )


@pytest.mark.parametrize("name", numpy_coverage.of_state(numpy_coverage.NO_DERIVATIVE))
def test_what_has_no_derivative_has_a_row_or_a_test_of_its_own(name):
    elsewhere = {"packbits", "unpackbits", "result_type"}
    assert name in {row.name for row in all_rows()} | elsewhere


def test_every_row_is_of_a_function():
    names = {f.name for f in numpy_coverage.functions()} | {
        f"special.{name}" for name in dir(__import__("scipy.special").special)
    }
    assert (
        sorted(
            {row.name for row in all_rows()}
            - names
            - set(numpy_coverage.only_here())
            - set(numpy_coverage.extra())
        )
        == []
    )


def test_every_recorded_special_function_has_a_row():
    rows = {row.name for row in all_rows() if row.differentiable}
    assert [
        name
        for name in numpy_coverage.special_functions()
        if f"special.{name}" not in rows and name != "psi"
    ] == []


def test_names_that_keras_wants_are_there():
    assert [name for name in OF_KERAS if not hasattr(tnp, name)] == []


def test_every_public_function_of_numpy_that_takes_arrays_has_a_name_here():
    refused = {
        "busday_count",
        "busday_offset",
        "datetime_as_string",
        "is_busday",
        "isnat",
        "common_type",
        "min_scalar_type",
    }
    names = {
        f.name for f in numpy_coverage.functions() if f.state != numpy_coverage.REFUSING
    } - refused
    missing = [name for name in sorted(names) if numpy_coverage._ours(name) is None]
    assert missing == []


def test_numpy_asks_a_tensor_about_what_the_page_says():
    x = tf.constant([1.0, 2.0])
    assert type(np.sum(x)) is tf.Tensor
    assert numpy_coverage.asks(np.sum)
    assert numpy_coverage.asks(np.add)
    assert not numpy_coverage.asks(np.array)
