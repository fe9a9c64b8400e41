"""Functions with other names of their arguments: the tables of `tf.compat.v1` and `tf.raw_ops`."""

import inspect

import pytest

import gradtape as tf
from gradtape import raw_ops
from gradtape.compat import tensorflow_names
from gradtape.compat.respelled import here, respelled, rows_of
from gradtape.compat.v1.spellings import ALIASES, ROWS

ROW = rows_of("sum=reduce_sum total: input_tensor axis\n    keep_dims>keepdims data>")


def test_a_table_is_read():
    assert list(ROW) == ["sum", "total"]
    assert ROW["sum"].target == "reduce_sum"
    assert ROW["total"].target == "total"
    assert ROW["sum"].parameters == {
        "input_tensor": "input_tensor", "axis": "axis", "keep_dims": "keepdims", "data": "",
    }  # fmt: skip


def test_arguments_go_by_place_and_by_name():
    call = respelled(ROW["sum"], "tf.x.")
    x = tf.constant([[1.0, 2.0], [3.0, 4.0]])
    assert call(x, 1, keep_dims=True).numpy().tolist() == [[3.0], [7.0]]
    assert call(x, axis=None, keep_dims=None, data="anything").numpy() == 10
    assert call.__name__ == "sum"


@pytest.mark.parametrize(
    ("arguments", "keywords", "error", "says"),
    [
        ((1.0, 0, False, 1, 2), {}, TypeError, "tf.x.sum takes 4 arguments"),
        ((1.0,), {"nonsense": 1}, TypeError, "no argument 'nonsense'"),
        ((1.0,), {"input_tensor": 1}, TypeError, "two values for 'input_tensor'"),
    ],
)
def test_wrong_arguments_are_named(arguments, keywords, error, says):
    with pytest.raises(error, match=says):
        respelled(ROW["sum"], "tf.x.")(*arguments, **keywords)


def test_two_names_of_one_argument():
    with pytest.raises(ValueError, match="'keep_dims' is another name of 'keepdims'"):
        tf.compat.v1.reduce_sum([1.0], keepdims=True, keep_dims=True)


@pytest.mark.parametrize("row", [*rows_of(ROWS).values(), *raw_ops.rows().values()], ids=str)
def test_every_row_fits_the_function_that_it_names(row):
    parameters = inspect.signature(here(row.target)).parameters
    any_name = any(p.kind is p.VAR_KEYWORD for p in parameters.values())
    meanings = {meaning for meaning in row.parameters.values() if meaning}
    assert any_name or meanings <= parameters.keys()


def test_the_tables_have_tensorflows_names_only():
    older = [*rows_of(ROWS), *(pair.partition("=")[0] for pair in ALIASES.split())]
    assert [name for name in older if not tensorflow_names.has(f"compat.v1.{name}")] == []
    assert [name for name in raw_ops.rows() if not tensorflow_names.has(f"raw_ops.{name}")] == []
    today = [pair.partition("=")[2] for pair in ALIASES.split()]
    assert [name for name in today if not tensorflow_names.has(name)] == []


def test_raw_ops_take_keyword_arguments_only():
    assert tf.raw_ops.Sum(input=[[1, 2], [3, 4]], axis=0).numpy().tolist() == [4, 6]
    assert tf.raw_ops.Sum is tf.raw_ops.Sum
    assert "MatMul" in dir(tf.raw_ops)
    with pytest.raises(TypeError, match=r"tf.raw_ops.Sum takes keyword arguments only"):
        tf.raw_ops.Sum([1, 2], 0)


def test_raw_ops_are_differentiable():
    x = tf.Variable([[1.0, 2.0], [3.0, 4.0]])
    with tf.GradientTape() as tape:
        y = tf.raw_ops.Mean(input=tf.raw_ops.MatMul(a=x, b=x, transpose_b=True), axis=[0, 1])
    assert tape.gradient(y, x).numpy().tolist() == [[2.0, 3.0], [2.0, 3.0]]
