"""What `export` makes of a function: levels, what they capture, and refusals. What the programs
compute is tested in `test_open_sizes` and in `tests/saved_model`.
"""

import pytest

import gradtape as tf
from gradtape.functions.exporting import ORDER, export

ROW = tf.TensorSpec([None, 3])


def test_levels_capture_variables_and_say_what_they_write():
    weight, count = tf.Variable([1.0, 2.0, 3.0]), tf.Variable(0)

    def f(x):
        count.assign_add(1)
        return tf.reduce_sum(x * weight, 1), tf.argmax(x, 1)

    found = export(tf.function(f), (ROW,), {})
    assert len(found.levels) == ORDER + 1
    first, second, third = found.levels
    assert {id(v) for v in first.captured} == {id(weight), id(count)}
    assert [v is count for v in first.written] == [True]
    assert first.outputs == (tf.TensorSpec([None]), tf.TensorSpec([None], tf.int64))
    assert [first.connected[0], sum(first.connected)] == [True, 2]
    assert second.outputs == (ROW, tf.TensorSpec([3]))
    assert not any(third.connected)
    assert found.results == (tf.TensorSpec([None]), tf.TensorSpec([None], tf.int64))


def test_without_floats_there_are_no_derivatives():
    found = export(tf.function(lambda x: x + 1), (tf.TensorSpec([None], tf.int32),), {})
    assert len(found.levels) == 1


def test_a_rule_that_reads_a_variable():
    scale = tf.Variable(2.0)

    @tf.custom_gradient
    def scaled(x):
        return x * 1.0, lambda g: g * scale

    found = export(tf.function(scaled), (tf.TensorSpec([None]),), {})
    assert any(outside is scale for level in found.levels for outside in level.captured)


@pytest.mark.parametrize(
    ("specs", "said"),
    [
        ([tf.TensorSpec(None)], "unknown rank"),
        ([tf.TensorSpec([None] * 4)] * 2, r"cannot be saved"),
        ([tf.TensorSpec([None] * 5)], "more than 4 sizes are open"),
    ],
)
def test_kinds_that_are_refused(specs, said):
    with pytest.raises(ValueError, match=said):
        export(tf.function(lambda *xs: xs[0] * float(sum(xs[0].shape) ** 2)), tuple(specs), {})


@pytest.mark.parametrize(
    ("function", "spec", "said"),
    [
        (tf.strings.length, tf.TensorSpec([None], tf.string), "holds strings.*model.save"),
        (
            tf.lookup.StaticHashTable(
                tf.lookup.KeyValueTensorInitializer(["a", "b"], [1, 2]), -1
            ).lookup,
            tf.TensorSpec([None], tf.string),
            "holds strings",
        ),
        (lambda x: (x, tf.constant("a")), ROW, "returns strings"),
        (lambda x: {"name": tf.as_string(3)}, ROW, "returns strings"),
        (
            lambda x: tf.reduce_sum(x, axis=1),
            tf.RaggedTensorSpec([None, None], tf.float32),
            "takes tensors only.*row_splits",
        ),
        (tf.sparse.to_dense, tf.SparseTensorSpec([2, 3]), "takes tensors only"),
    ],
)
def test_what_no_program_takes_or_gives(function, spec, said):
    with pytest.raises(ValueError, match=said):
        export(tf.function(function), (spec,), {})


def test_a_function_keeps_its_own_programs():
    made = tf.function(lambda x: x * 2.0)
    export(made, (ROW,), {})
    assert made.experimental_get_tracing_count() == 0
    assert made.pretty_printed_concrete_signatures() == ""


def test_a_gradient_that_cannot_be_open_is_left_out():
    @tf.custom_gradient
    def halves(x):
        return x * 2.0, lambda g: g * float(tf.shape(x)[0] // 2)

    found = export(tf.function(halves), (ROW,), {})
    assert len(found.levels) == 1
    assert "gradient could not be saved with open sizes" in found.levels[0].why


def test_sizes_have_bounds_where_jax_needs_them():
    kernel = tf.ones([5, 3, 1])
    found = export(tf.function(lambda x: tf.nn.conv1d(x[None], kernel, 1, "VALID")), (ROW,), {})
    assert found.results == tf.TensorSpec([1, None, 1])
