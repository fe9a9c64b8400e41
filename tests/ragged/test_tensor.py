"""RaggedTensors: what holds for all functions at once, bad input, and functions;
`tests_tf/test_ragged.py` compares values with TensorFlow's.
"""

import copy
import sys
from functools import reduce
from pathlib import Path

import numpy as np
import pytest

import gradtape as tf
from gradtape.core.composite import CompositeOperand

INVALID = tf.errors.InvalidArgumentError
ROWS = [[1.0, 2.0], [], [3.0]]
TOOLS = Path(tf.__file__).parents[2] / "tools"


@pytest.fixture
def x():
    return tf.ragged.constant(ROWS)


def published_functions():
    with pytest.MonkeyPatch.context() as patched:
        patched.syspath_prepend(TOOLS)
        import names

        sys.modules.pop("names")
    skipped = (
        "numpy",
        "array_api",
        "config",
        "test",
        "profiler",
        "print",
        "callbacks",
        "debugging",
        # What changes this process, or files.
        "compat",
        "install_as_tensorflow",
        "io",
        "saved_model",
        "summary",
        "train",
    )
    for name in names.all_published():
        value = reduce(getattr, name.split("."), tf)
        if callable(value) and not isinstance(value, type) and not name.startswith(skipped):
            yield name, value


def test_no_function_gives_what_stands_for_a_ragged_tensor_inside(x):
    """Every public function of one or two RaggedTensors gives something else, or refuses."""
    found, ragged = [], set()
    for name, function in published_functions():
        for args in ((x,), (x, x), ([x],), ([x, x],), (x, 1), (1.0, x), (x, tf.float32)):
            try:
                results = tf.nest.flatten(function(*args))
            except Exception:  # noqa: BLE001 - most functions take no RaggedTensor
                continue
            found += [name for result in results if isinstance(result, CompositeOperand)]
            ragged |= {name for result in results if isinstance(result, tf.RaggedTensor)}
    assert found == []
    assert {"exp", "add", "nn.relu", "cast", "concat", "math.real"} <= ragged
    assert len(ragged) > 100


@pytest.mark.parametrize(
    "call",
    [
        lambda x: tf.matmul(x, x),
        lambda x: tf.reshape(x, [-1]),
        lambda x: tf.nn.log_softmax(x),
        lambda x: tf.sort(x),
        lambda x: tf.cumsum(x),
        lambda x: tf.linalg.norm(x),
        lambda x: tf.transpose(x),
        lambda x: tf.convert_to_tensor(x),
        lambda x: tf.constant(x),
        lambda x: tf.argmax(x),
        lambda x: tf.Variable(x),
    ],
)
def test_what_takes_no_ragged_tensor_says_so(x, call):
    with pytest.raises((TypeError, ValueError, tf.errors.OpError), match="RaggedTensor"):
        call(x)


def test_a_row_picks_only_from_its_own_row(x):
    with pytest.raises(tf.errors.InvalidArgumentError, match="outside its row"):
        tf.gather(x, tf.ragged.constant([[2], [], [0]]), batch_dims=1)


@pytest.mark.parametrize(
    ("call", "error", "says"),
    [
        (lambda: tf.RaggedTensor.from_row_splits([1], [0, 2]), INVALID, "1 values"),
        (lambda: tf.RaggedTensor.from_row_splits([1], ["a"]), TypeError, "row_splits"),
        (lambda: tf.ragged.row_splits_to_segment_ids([1, 2]), INVALID, "begin with 0"),
        (lambda: tf.ragged.row_splits_to_segment_ids([0, 3, 1]), INVALID, "must not fall"),
        (lambda: tf.ragged.row_splits_to_segment_ids([]), ValueError, "may not be empty"),
        (lambda: tf.ragged.constant([[1], 2]), ValueError, "nesting depth"),
        (lambda: tf.ragged.constant([["a"], [2]]), ValueError, "cannot convert"),
        (lambda: tf.ragged.cross([]), NotImplementedError, "HashedCrossing"),
        (lambda: tf.ragged.constant(ROWS) + tf.ragged.constant([[1.0]]), INVALID, "same rows"),
        (lambda: bool(tf.ragged.constant(ROWS)), TypeError, "reduce_any"),
        (lambda: hash(tf.ragged.constant(ROWS)), TypeError, "ref"),
        (lambda: tf.ragged.constant(ROWS)[:, 0], ValueError, "ragged axis"),
        (lambda: tf.ragged.constant(ROWS)[5], INVALID, "3 rows"),
    ],
)  # fmt: skip
def test_bad_input_is_refused_by_name(call, error, says):
    with pytest.raises(error, match=says):
        call()


def test_inputs_are_not_changed(x):
    before = [part.numpy() for part in tf.nest.flatten(x, expand_composites=True)]
    for call in (tf.exp, tf.reduce_sum, lambda x: tf.concat([x, x], 1), lambda x: x.to_tensor()):
        call(x)
    after = [part.numpy() for part in tf.nest.flatten(x, expand_composites=True)]
    assert all((a == b).all() for a, b in zip(before, after, strict=True))


def test_a_variable_can_be_the_values():
    v = tf.Variable([1.0, 2.0, 3.0])
    with tf.GradientTape() as tape:
        y = tf.reduce_sum(tf.RaggedTensor.from_row_lengths(v, [2, 1]) ** 2, axis=1)
    assert tape.gradient(y, v).numpy().tolist() == [2.0, 4.0, 6.0]


SPEC = tf.RaggedTensorSpec([None], tf.float32)
MAPPED = {
    "rows": (lambda row: row * 2, None, [[2.0, 4.0], [], [6.0]]),
    "longer rows": (lambda row: tf.concat([row, row], 0), SPEC, [[1, 2, 1, 2], [], [3, 3]]),
    "scalars": (tf.reduce_sum, tf.float32, [3.0, 0.0, 3.0]),
    "scalars without a signature": (tf.reduce_sum, None, [3.0, 0.0, 3.0]),
    "rows of rows": (
        lambda row: tf.RaggedTensor.from_row_limits(row, tf.stack([tf.size(row)] * 2)),
        tf.RaggedTensorSpec([None, None], tf.float32),
        [[[1, 2], []], [[], []], [[3], []]],
    ),
}


@pytest.mark.parametrize("name", MAPPED)
@pytest.mark.parametrize("decorate", [lambda f: f, tf.function], ids=["eager", "function"])
def test_map_fn_over_rows(x, name, decorate):
    fn, signature, expected = MAPPED[name]
    mapped = decorate(lambda x: tf.map_fn(fn, x, fn_output_signature=signature))(x)
    assert (mapped.to_list() if hasattr(mapped, "to_list") else mapped.numpy().tolist()) == expected


def test_map_fn_refuses_what_is_no_row(x):
    with pytest.raises(ValueError, match="gave a scalar"):
        tf.map_fn(tf.reduce_sum, x, fn_output_signature=SPEC)
    with pytest.raises(ValueError, match=r"same first dimension, got \[2, 3\]"):
        tf.map_fn(lambda both: both[0], (x, tf.zeros([2])))
    with pytest.raises(TypeError, match="fn must be callable"):
        tf.map_fn(None, x)


def test_second_derivatives(x):
    with tf.GradientTape() as outer:
        outer.watch(x)
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.reduce_sum(x**3)
        g = tape.gradient(y, x)
    assert outer.gradient(g, x).to_list() == [[6.0, 12.0], [], [18.0]]


@pytest.mark.parametrize("splits", [[[0]], [[0, 0, 0]], [[0], [0]], [[0, 2, 3], [0, 0, 0, 0]]])
@pytest.mark.parametrize("inner", [(), (2,)])
@pytest.mark.parametrize("size", [None, 0, 3])
@pytest.mark.parametrize("compiled", [False, True])
def test_the_gradient_by_no_values_is_empty(splits, inner, size, compiled):
    flat = tf.Variable(tf.zeros([0, *inner]))
    shape = [None, size, *[None] * (len(splits) - 1 + len(inner))]

    def dense():
        x = tf.RaggedTensor.from_nested_row_splits(flat * 1.0, [np.array(s) for s in splits])
        return x.to_tensor(default_value=-1.0, shape=shape)

    with tf.GradientTape() as tape:
        y = (tf.function(dense) if compiled else dense)()
    assert np.all(y.numpy() == -1.0)
    assert y.shape[1] == (
        size if size is not None else 2 if len(splits[0]) == 3 and splits[1:] else 0
    )
    assert tape.gradient(y, flat).shape == [0, *inner]


def test_gradients_in_a_structure(x):
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.reduce_sum(x * x)
    found = tape.gradient(y, {"a": x, "b": [x]})
    assert found["a"].to_list() == found["b"][0].to_list() == [[2.0, 4.0], [], [6.0]]


def test_a_path_that_is_not_there(x):
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = tf.constant(1.0)
    assert tape.gradient(y, x) is None
    assert tape.gradient(y, x, unconnected_gradients="zero").to_list() == [[0.0, 0.0], [], [0.0]]


# In functions


def compiled(function, *args):
    return tf.function(function, jit_compile=True)(*args)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x * x + 1.0,
        lambda x: tf.reduce_sum(x, axis=1),
        lambda x: tf.reduce_mean(x, axis=1)[::2],
        lambda x: tf.reduce_max(x),
        lambda x: x.to_tensor(shape=[None, 3]),
        lambda x: x.row_lengths(),
        lambda x: x.value_rowids(),
        lambda x: x + tf.constant([[1.0], [2.0], [3.0]]),
        lambda x: tf.where(x > 1.5, x, 0.0),
        lambda x: tf.gather(tf.constant([5.0, 6.0, 7.0, 8.0]), tf.cast(x, tf.int32)),
        lambda x: tf.concat([x, x], 0),
        lambda x: tf.expand_dims(x, 1),
    ],
)
def test_what_xla_compiles(x, function):
    """Where the shape of the result does not depend on the lengths of rows."""
    ours, eager = compiled(function, x), function(x)
    assert str(ours) == str(eager)


def test_row_splits_are_inputs_of_a_program(x):
    f = tf.function(lambda x: tf.reduce_sum(x, axis=1), jit_compile=True)
    assert f(x).numpy().tolist() == [3.0, 0.0, 3.0]
    other = tf.RaggedTensor.from_row_lengths([1.0, 2.0, 3.0], [1, 1, 1])
    assert f(other).numpy().tolist() == [1.0, 2.0, 3.0]
    assert f.experimental_get_tracing_count() == 1


def test_a_tape_inside_and_outside_a_function(x):
    def gradient(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.reduce_sum(tf.reduce_sum(x, axis=1) ** 2)
        return tape.gradient(y, x)

    expected = gradient(x).to_list()
    assert tf.function(gradient)(x).to_list() == expected == [[6.0, 6.0], [], [6.0]]
    f = tf.function(lambda x: tf.reduce_sum(tf.reduce_sum(x, axis=1) ** 2))
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    assert tape.gradient(y, x).to_list() == expected


def test_specs_are_signatures(x):
    spec = tf.type_spec_from_value(x)
    assert spec == tf.RaggedTensorSpec([3, None], tf.float32, ragged_rank=1)
    assert spec.is_compatible_with(x)
    f = tf.function(lambda x: x * 2, input_signature=[tf.RaggedTensorSpec([None, None])])
    assert f(x).to_list() == [[2.0, 4.0], [], [6.0]]
    with pytest.raises((TypeError, ValueError), match="RaggedTensorSpec"):
        f(tf.ragged.constant([[1]]))


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({}, ValueError),
        ({"shape": [None, None], "ragged_rank": 2}, ValueError),
        ({"shape": [None, None], "ragged_rank": "a"}, TypeError),
        ({"shape": [None, None], "row_splits_dtype": tf.float32}, ValueError),
    ],
)
def test_a_wrong_spec_is_refused(arguments, error):
    with pytest.raises(error, match="RaggedTensorSpec"):
        tf.RaggedTensorSpec(**arguments)


# Around them


def test_copies_and_lengths(x):
    assert copy.deepcopy(x).to_list() == x.to_list() == ROWS
    assert len(x) == 3
    assert [row.numpy().tolist() for row in x] == ROWS


def test_numpy_gives_rows(x):
    found = x.numpy()
    assert found.dtype == object
    assert [row.tolist() for row in found] == ROWS
    assert np.asarray(tf.ragged.constant([[1, 2], [3, 4]])).tolist() == [[1, 2], [3, 4]]


def test_rows_of_a_loop_in_a_list_comprehension(x):
    assert tf.add_n([tf.reduce_sum(row) for row in x]).numpy() == 6.0


@pytest.mark.parametrize(
    ("rows", "arguments", "shape"),
    [
        ([], {"ragged_rank": 1}, [0, None]),
        ([], {"ragged_rank": 2}, [0, None, None]),
        ([], {"ragged_rank": 1, "inner_shape": (2,)}, [0, None, 2]),
        ([[]], {"ragged_rank": 2}, [1, None, None]),
        ([[], []], {"ragged_rank": 3}, [2, None, None, None]),
        ([[[], [[]]]], {"inner_shape": (2,)}, [1, None, None, None, 2]),
    ],
)
def test_lists_without_values_have_as_many_axes_as_one_likes(rows, arguments, shape):
    found = tf.ragged.constant(rows, tf.int32, **arguments)
    assert found.shape.as_list() == shape
    assert found.to_list() == rows
    with pytest.raises(ValueError, match="less than the depth"):
        tf.ragged.constant([[1]], ragged_rank=2)


def test_variances_of_numbers_far_from_zero():
    draw = np.random.default_rng(0)
    rows = [(1e4 + draw.normal(size=n)).astype(np.float32).tolist() for n in (1, 4, 9, 2)]
    rows.append([10000.1] * 3)
    x = tf.ragged.constant(rows)
    wanted = [np.var(np.array(row, np.float64)) for row in rows]
    np.testing.assert_allclose(tf.math.reduce_variance(x, axis=1), wanted, rtol=1e-3, atol=1e-6)
    found = tf.math.reduce_std(x, axis=1).numpy()
    assert (found >= 0).all()
    with tf.GradientTape() as tape:
        tape.watch(x)
        total = tf.reduce_sum(tf.math.reduce_variance(x, axis=1))
    gradient = tape.gradient(total, x).to_list()
    for row, own in zip(rows, gradient, strict=True):
        distances = np.array(row, np.float64) - np.mean(row)
        np.testing.assert_allclose(own, 2 * distances / len(row), atol=2e-3)


@pytest.mark.parametrize("depth", [2, 3])
def test_softmax_of_rows(depth):
    rows = [[1.0, 2.0], [], [500.0, -500.0, 0.0], [3.0]]
    x = tf.ragged.constant(rows if depth == 2 else [rows, [], rows[:1]])

    def wanted(row):
        return tf.nn.softmax(tf.constant(row)).numpy().tolist() if row else []

    found = tf.nn.softmax(x)
    assert found.shape.as_list() == x.shape.as_list()
    flat = found.to_list() if depth == 2 else found.to_list()[0]
    for row, own in zip(rows, flat, strict=True):
        np.testing.assert_allclose(own, wanted(row), rtol=1e-6)
    with tf.GradientTape() as tape:
        tape.watch(x)
        total = tf.reduce_sum(tf.nn.softmax(x) * x)
    first = tf.constant(rows[0])
    with tf.GradientTape() as alone:
        alone.watch(first)
        own = tf.reduce_sum(tf.nn.softmax(first) * first)
    gradient = tape.gradient(total, x).to_list()
    row = gradient[0] if depth == 2 else gradient[0][0]
    np.testing.assert_allclose(row, alone.gradient(own, first), rtol=1e-5)
    with pytest.raises(ValueError, match="axis must be the last one, got 0"):
        tf.nn.softmax(x, axis=0)
    uniform = tf.RaggedTensor.from_row_lengths(tf.zeros([3, 2]), [1, 2])
    assert tf.nn.softmax(uniform).to_list() == [[[0.5, 0.5]], [[0.5, 0.5], [0.5, 0.5]]]


def test_floats_are_printed_with_their_own_digits():
    assert (
        str(tf.ragged.constant([[0.1], [2.0, -0.44]])) == "<tf.RaggedTensor [[0.1], [2.0, -0.44]]>"
    )
    assert str(tf.ragged.constant([[0.1]], tf.float64)) == "<tf.RaggedTensor [[0.1]]>"
    assert str(tf.ragged.constant([[0.1]], tf.float16)) == "<tf.RaggedTensor [[0.1]]>"
    assert str(tf.ragged.constant([["a"], [True]][:1])) == "<tf.RaggedTensor [[b'a']]>"


@pytest.mark.parametrize("rows", [[range(2), range(3)], [range(2)], [range(0)], [(1, 2), range(1)]])
def test_rows_may_be_ranges(rows):
    found = tf.ragged.constant(rows)
    assert isinstance(found, tf.RaggedTensor)
    assert found.to_list() == [list(row) for row in rows]


@pytest.mark.parametrize("dtype", ["float64", "int32", "bool"])
@pytest.mark.parametrize("depth", [1, 2])
def test_no_rows_have_a_dtype_in_numpy(dtype, depth):
    x = tf.ragged.constant([], dtype, ragged_rank=depth)
    found = x.numpy()
    assert (found.shape, found.dtype) == ((0,), np.dtype(dtype))
