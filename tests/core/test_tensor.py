"""What `Tensor` promises: how one is made, how operators meet other values, indexing,
and Python's protocols.
"""

import copy
import math
import operator
import pickle

import numpy as np
import pytest

import gradtape as tf

NumpyBool = np.bool_


def values(tensor):
    return tensor.numpy().tolist()


# Making one


@pytest.mark.parametrize(
    ("value", "dtype"),
    [
        (1.5, tf.float32),
        (1, tf.int32),
        (-(2**31), tf.int32),
        (2**31, tf.int64),
        ([1, 2**40], tf.int64),
        (True, tf.bool),
        (1j, tf.complex128),
        ([1.0, 2], tf.float32),
        ([], tf.float32),
        ([[], []], tf.float32),
        ("text", tf.string),
        (b"bytes", tf.string),
        (np.float64(1.5), tf.float64),
        (np.arange(3), tf.int64),
        (np.array(["a"]), tf.string),
        ([np.float64(1.5)], tf.float64),
        (np.ones(2, ">f4"), tf.float32),
        (range(3), tf.int32),
    ],
    ids=repr,
)
def test_the_default_dtype_of(value, dtype):
    assert tf.constant(value).dtype == dtype
    assert tf.convert_to_tensor(value).dtype == dtype


def test_constant_takes_a_dtype_and_a_shape():
    assert values(tf.constant([1, 2], tf.float64)) == [1.0, 2.0]
    assert values(tf.constant(7, shape=[2, 2])) == [[7, 7], [7, 7]]
    assert values(tf.constant([1, 2, 3, 4], shape=(2, 2))) == [[1, 2], [3, 4]]


def test_numpy_arrays_are_copied():
    array = np.ones(2, np.float32)
    x, y = tf.constant(array), tf.convert_to_tensor(array)
    array[0] = 100.0
    assert values(x) == values(y) == [1.0, 1.0]


def test_a_list_of_tensors_is_stacked_and_stays_connected():
    x, y = tf.constant(2.0), tf.constant(3.0)
    with tf.GradientTape() as tape:
        tape.watch([x, y])
        z = tf.convert_to_tensor([[x, y], [y, 1.0]]) ** 2
    assert values(z) == [[4.0, 9.0], [9.0, 1.0]]
    assert [values(g) for g in tape.gradient(z, [x, y])] == [4.0, 12.0]


def test_rows_of_different_lengths_are_a_value_error():
    with pytest.raises(ValueError):
        tf.constant([[1.0], [1.0, 2.0]])


@pytest.mark.parametrize(
    "value",
    [object(), [object()], None, [None, 1.0], {"a": 1.0}],
    ids=["object", "list", "None", "None in list", "dict"],
)
def test_what_is_no_number_is_a_value_error(value):
    with pytest.raises(ValueError):
        tf.convert_to_tensor(value)


@pytest.mark.parametrize(
    ("value", "dtype"),
    [(1.5, tf.int32), ([1.5, 2.0], tf.int64), ("a", tf.float32), (1j, tf.float32)],
)
def test_a_python_value_that_does_not_fit_the_dtype_is_a_type_error(value, dtype):
    with pytest.raises(TypeError):
        tf.constant(value, dtype)


def test_converting_a_tensor_to_another_dtype_is_a_value_error():
    with pytest.raises(ValueError):
        tf.convert_to_tensor(tf.constant(1.0), tf.float64)


@pytest.mark.parametrize(
    ("make", "dtype"),
    [
        (lambda: tf.shape(tf.zeros([2, 3])), tf.int32),
        (lambda: tf.size(tf.zeros([2, 3])), tf.int32),
        (lambda: tf.rank(tf.zeros([2, 3])), tf.int32),
        (lambda: tf.argmax([1.0, 2.0]), tf.int64),
        (lambda: tf.where([True, False]), tf.int64),
        (lambda: tf.range(3), tf.int32),
        (lambda: tf.range(3.0), tf.float32),
        (lambda: tf.zeros([2]), tf.float32),
        (lambda: tf.ones([2]), tf.float32),
    ],
    ids=["shape", "size", "rank", "argmax", "where", "range", "range of floats", "zeros", "ones"],
)
def test_the_dtype_that_ops_give(make, dtype):
    assert make().dtype == dtype


# Operators

BINARY = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
    "**": operator.pow,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}


@pytest.mark.parametrize("function", BINARY.values(), ids=BINARY)
@pytest.mark.parametrize(
    "other", [2.0, 2, np.float64(2.0), np.array([2.0, 3.0]), np.array([2, 3])], ids=repr
)
def test_plain_values_take_the_dtype_of_the_tensor_from_both_sides(function, other):
    a = np.array([5.0, 1.5], np.float32)
    x = tf.constant(a)
    b = np.asarray(other, np.float32)
    for found, expected in (
        (function(x, other), function(a, b)),
        (function(other, x), function(b, a)),
    ):
        assert isinstance(found, tf.Tensor)
        np.testing.assert_allclose(found.numpy(), expected, rtol=1e-6)
        assert found.dtype == (tf.bool if expected.dtype == bool else tf.float32)


@pytest.mark.parametrize("other", [2, np.int64(2), np.array([2, 2])], ids=repr)
def test_whole_numbers_take_the_dtype_of_an_integer_tensor(other):
    x = tf.constant([5, 6], tf.int16)
    assert values(x + other) == [7, 8]
    assert (other * x).dtype == tf.int16


@pytest.mark.parametrize("function", [operator.matmul, tf.matmul])
def test_matmul(function):
    a, b = (
        np.arange(6.0).reshape(2, 3).astype(np.float32),
        np.arange(12.0).reshape(3, 4).astype(np.float32),
    )
    for x, y in ((tf.constant(a), tf.constant(b)), (tf.constant(a), b), (a, tf.constant(b))):
        assert values(function(x, y)) == (a @ b).tolist()


def test_unary_operators():
    x = tf.constant([-1.5, 2.5])
    assert values(-x) == [1.5, -2.5]
    assert values(abs(x)) == [1.5, 2.5]
    assert values(round(x)) == [-2.0, 2.0]


def test_bits_and_truth_values():
    p, q = tf.constant([True, True, False]), tf.constant([True, False, False])
    assert values(p & q) == [True, False, False]
    assert values(p | q) == [True, True, False]
    assert values(p ^ q) == [False, True, False]
    assert values(~p) == [False, False, True]
    assert values(True & q) == [True, False, False]
    n = tf.constant([6, 3])
    assert (values(n & 5), values(n | 1), values(n ^ 2), values(~n)) == (
        [4, 1],
        [7, 3],
        [4, 1],
        [-7, -4],
    )


@pytest.mark.parametrize(
    ("dtype", "expected"),
    [
        (tf.int8, tf.float32),
        (tf.uint16, tf.float32),
        (tf.int32, tf.float64),
        (tf.int64, tf.float64),
        (tf.float16, tf.float16),
    ],
    ids=repr,
)
def test_true_division(dtype, expected):
    quotient = tf.constant([3, 4], dtype) / tf.constant([2, 2], dtype)
    assert quotient.dtype == expected
    assert values(quotient) == [1.5, 2.0]


def test_integers_round_down():
    assert values(tf.constant([7, -7]) // 2) == [3, -4]
    assert values(tf.constant([7, -7]) % 3) == [1, 2]
    assert values(tf.reduce_mean(tf.constant([1, 2]))) == 1


@pytest.mark.parametrize("function", [operator.floordiv, operator.mod])
def test_integer_division_by_zero_is_refused(function):
    with pytest.raises(tf.errors.InvalidArgumentError):
        function(tf.constant([1]), tf.constant([0]))


def test_division_by_zero_is_infinite_without_a_warning():
    assert values(tf.constant([1.0, -1.0]) / 0.0) == [math.inf, -math.inf]
    assert math.isnan(values(tf.constant(0.0) / 0.0))
    assert math.isnan(values(tf.math.log(tf.constant(-1.0))))


@pytest.mark.parametrize(
    "function", [operator.add, operator.mul, operator.lt, operator.matmul, tf.maximum]
)
def test_shapes_that_do_not_fit_are_refused(function):
    with pytest.raises(tf.errors.InvalidArgumentError):
        function(tf.ones([2, 3]), tf.ones([4, 5]))


def test_operators_broadcast():
    assert values(tf.constant([[1.0], [2.0]]) + tf.constant([10.0, 20.0])) == [
        [11.0, 21.0],
        [12.0, 22.0],
    ]


# Equality


def test_equality_is_elementwise():
    x = tf.constant([1.0, 2.0])
    assert values(x == tf.constant([1.0, 3.0])) == [True, False]
    assert values(x != tf.constant([1.0, 3.0])) == [False, True]
    assert values(x == [1.0, 3.0]) == [True, False]
    assert values(tf.constant(math.nan) == tf.constant(math.nan)) is False


def test_none_and_other_shapes_are_unequal():
    x = tf.constant([1.0, 2.0])
    assert (x == None) is False  # noqa: E711
    assert (x != None) is True  # noqa: E711
    assert not (x == tf.constant([1.0, 2.0, 3.0]))  # noqa: SIM201
    assert x != tf.constant([1.0, 2.0, 3.0])


def test_a_tensor_is_unhashable_but_its_ref_is_not():
    x, y = tf.constant(1.0), tf.constant(1.0)
    with pytest.raises(TypeError):
        hash(x)
    with pytest.raises(TypeError):
        _ = {x: 1}
    assert {x.ref(): "x"}[x.ref()] == "x"
    assert x.ref() != y.ref()
    assert x.ref().deref() is x


# Indexing

GRID = np.arange(24.0, dtype=np.float32).reshape(2, 3, 4)


@pytest.mark.parametrize(
    "key",
    [
        0,
        -1,
        (1, 2),
        (1, 2, 3),
        slice(None),
        slice(0, 1),
        (slice(None), slice(0, 2)),
        (slice(None), slice(None, None, -1)),
        (0, slice(2, None, -2)),
        (slice(1, 1),),
        (Ellipsis, 0),
        (1, Ellipsis),
        (..., slice(None, 2), 1),
        (np.newaxis, 0),
        (Ellipsis, None),
        (0, None, 1),
        (np.int64(1), np.int32(-1)),
        slice(5, 10),
        (),
    ],
    ids=repr,
)
def test_basic_indexing(key):
    x = tf.constant(GRID)
    with tf.GradientTape() as tape:
        tape.watch(x)
        found = x[key]
    np.testing.assert_array_equal(found.numpy(), GRID[key])
    expected = np.zeros_like(GRID)
    expected[key] = 1.0
    np.testing.assert_array_equal(tape.gradient(found, x).numpy(), expected)


def test_scalar_integer_tensors_are_indices():
    x = tf.constant(GRID)
    one = tf.constant(1)
    np.testing.assert_array_equal(x[one, tf.Variable(2)].numpy(), GRID[1, 2])
    np.testing.assert_array_equal(x[0:one].numpy(), GRID[0:1])


def test_a_list_is_an_index_for_several_axes():
    np.testing.assert_array_equal(tf.constant(GRID)[[1, 2]].numpy(), GRID[1, 2])


@pytest.mark.parametrize(
    "mask",
    [GRID[:, 0, 0] > 5, GRID > 11, np.zeros((2, 3), bool)],
    ids=["rows", "elements", "nothing"],
)
@pytest.mark.parametrize("kind", [tf.constant, np.asarray], ids=["Tensor", "array"])
def test_a_boolean_mask_is_an_index(mask, kind):
    x = tf.constant(GRID)
    with tf.GradientTape() as tape:
        tape.watch(x)
        found = x[kind(mask)]
    np.testing.assert_array_equal(found.numpy(), GRID[mask])
    expected = np.zeros_like(GRID)
    expected[mask] = 1.0
    np.testing.assert_array_equal(tf.convert_to_tensor(tape.gradient(found, x)).numpy(), expected)


@pytest.mark.parametrize("key", [1.0, "a", (0, 1.5), slice(0.0, 1.0)], ids=repr)
def test_other_indices_are_type_errors(key):
    with pytest.raises(TypeError):
        tf.constant(GRID)[key]


@pytest.mark.parametrize("key", [2, -3, (0, 3), (0, 0, 4), (0, 0, 0, 0)], ids=repr)
def test_an_index_out_of_range_is_refused(key):
    with pytest.raises((tf.errors.InvalidArgumentError, IndexError)) as refused:
        tf.constant(GRID)[key]
    assert isinstance(refused.value, tf.errors.InvalidArgumentError)


def test_newaxis_is_none():
    assert tf.newaxis is None


def test_a_tensor_cannot_be_written_to():
    x = tf.constant([1.0, 2.0])
    with pytest.raises(TypeError):
        x[0] = 5.0
    with pytest.raises(TypeError):
        del x[0]


# Python's protocols


def test_len_and_iteration():
    x = tf.constant([[1.0, 2.0], [3.0, 4.0]])
    assert len(x) == 2
    assert [values(row) for row in x] == [[1.0, 2.0], [3.0, 4.0]]
    a, b = tf.constant([1.0, 2.0])
    assert (values(a), values(b)) == (1.0, 2.0)


def test_iteration_is_recorded():
    x = tf.constant([2.0, 3.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        a, b = x
        y = a * a * b
    assert values(tape.gradient(y, x)) == [12.0, 4.0]


def test_a_scalar_has_no_len_and_cannot_be_iterated():
    with pytest.raises(TypeError):
        len(tf.constant(1.0))
    with pytest.raises(TypeError):
        iter(tf.constant(1.0))


def test_bool():
    assert bool(tf.constant(2.0)) is True
    assert bool(tf.constant([[0]])) is False
    with pytest.raises(ValueError):
        bool(tf.constant([True, True]))


def test_a_scalar_is_a_python_number():
    assert (float(tf.constant(2.5)), int(tf.constant(2.5)), complex(tf.constant(2.5))) == (
        2.5,
        2,
        2.5 + 0j,
    )
    assert [10, 20, 30][tf.constant(1)] == 20
    assert list(range(tf.constant(3))) == [0, 1, 2]
    for convert in (float, int, complex):
        with pytest.raises(TypeError):
            convert(tf.constant([1.0, 2.0]))


@pytest.mark.parametrize("tensor", [tf.constant(1.0), tf.constant([1])], ids=["float", "vector"])
def test_other_tensors_are_no_index(tensor):
    with pytest.raises(TypeError):
        operator.index(tensor)


def test_format():
    x = tf.constant(2.5)
    assert (f"{x:.2f}", f"{x}") == ("2.50", "2.5")
    assert f"{tf.constant([1.0, 2.0])}" == "[1. 2.]"
    assert str(x) == "tf.Tensor(2.5, shape=(), dtype=float32)"


def test_repr():
    assert repr(tf.constant(2.5)) == "<tf.Tensor: shape=(), dtype=float32, numpy=2.5>"
    assert (
        repr(tf.constant([1, 2]))
        == "<tf.Tensor: shape=(2,), dtype=int32, numpy=array([1, 2], dtype=int32)>"
    )


def test_numpy_gives_a_copy_that_may_be_written_to():
    x = tf.constant([1.0, 2.0])
    x.numpy()[0] = 100.0
    np.array(x)[0] = 100.0
    assert values(x) == [1.0, 2.0]


@pytest.mark.parametrize(
    "make",
    [
        lambda x: x[::2],
        lambda x: tf.reshape(x, [2, 2]),
        lambda x: tf.broadcast_to(x, [3, 4]),
        tf.identity,
    ],
)
def test_numpy_gives_a_copy_of_views_too(make):
    x = tf.constant([1.0, 2.0, 3.0, 4.0])
    view = make(x).numpy()
    view[0] = 100.0
    assert values(x) == [1.0, 2.0, 3.0, 4.0]


def test_numpy_of_a_scalar_is_a_numpy_scalar():
    assert isinstance(tf.constant(1.0).numpy(), np.float32)
    assert isinstance(tf.constant(True).numpy(), NumpyBool)


def test_numpy_functions_take_a_tensor():
    x = tf.constant([1.0, 4.0])
    assert np.sum(np.sqrt(x)) == 3.0
    assert np.asarray(x, np.float64).dtype == np.float64


def test_dlpack():
    assert np.from_dlpack(tf.constant([1.0, 2.0])).tolist() == [1.0, 2.0]


@pytest.mark.parametrize("name", ["base", "ctypes", "data", "flags", "strides"])
def test_what_shows_the_memory_of_an_array_is_not_there(name):
    with pytest.raises(AttributeError):
        getattr(tf.constant([1.0]), name)


@pytest.mark.parametrize("name", ["name", "op", "graph"])
def test_the_attributes_of_graphs_are_not_there(name):
    with pytest.raises(AttributeError):
        getattr(tf.constant(1.0), name)


def test_its_attributes_cannot_be_set():
    x = tf.constant(1.0)
    for name in ("shape", "dtype", "device"):
        with pytest.raises(AttributeError):
            setattr(x, name, None)


def test_shape_dtype_and_device():
    x = tf.zeros([2, 3], tf.float64)
    assert x.shape == (2, 3)
    assert x.get_shape() == (2, 3)
    assert (x.ndim, x.dtype) == (2, tf.float64)
    assert "CPU:0" in x.device


def test_set_shape_only_checks():
    x = tf.zeros([2, 3])
    x.set_shape([None, 3])
    with pytest.raises(ValueError):
        x.set_shape([2, 4])


def test_copies_are_the_same_tensor():
    x = tf.constant([1.0])
    assert copy.copy(x) is x
    assert copy.deepcopy(x) is x


def test_pickle():
    x = pickle.loads(pickle.dumps(tf.constant([1.0, 2.0])))
    assert values(x) == [1.0, 2.0]
    assert x.dtype == tf.float32


def test_is_tensor():
    assert tf.is_tensor(tf.constant(1.0))
    assert tf.is_tensor(tf.IndexedSlices(tf.constant([1.0]), tf.constant([0])))
    assert not any(
        tf.is_tensor(value) for value in (1.0, np.ones(2), [tf.constant(1.0)], None, "text")
    )


def test_isinstance():
    assert isinstance(tf.constant(1.0) + 1.0, tf.Tensor)
    assert not isinstance(np.ones(2), tf.Tensor)


# Strings


def test_strings_are_bytes():
    x = tf.constant(["a", "äu"])
    assert values(x) == [b"a", "äu".encode()]
    assert values(x == ["a", "b"]) == [True, False]
    assert values(x + "!") == [b"a!", "äu!".encode()]


@pytest.mark.parametrize(
    "make",
    [
        tf.constant,
        tf.Variable,
        tf.convert_to_tensor,
        lambda a: tf.Variable(tf.zeros([3])).assign(a),
    ],
)
def test_an_unpickled_array_gets_numpys_own_dtype_which_the_quick_paths_look_for(make):
    array = pickle.loads(pickle.dumps(np.arange(3, dtype=np.float32)))
    assert array.dtype is not np.dtype(np.float32)
    made = make(array)
    assert made.array.dtype is np.dtype(np.float32)
    assert made.numpy().tolist() == [0.0, 1.0, 2.0]


UNKNOWN = {  # arrays that no Tensor can hold, and what the error says of them
    "dates": (np.array(["2020-01-01", "2020-01-02"], "M8[D]"), r"dates or times.*numpy\.int64"),
    "times": (np.array([1, 2], "m8[s]"), r"dates or times.*numpy\.int64"),
    "fields": (np.ones(2, [("a", "f4"), ("b", "i4")]), r"structured array.*'a', 'b'.*its fields"),
}
if np.dtype(np.longdouble) != np.float64:  # it is the same on some machines
    UNKNOWN["longdouble"] = np.ones(2, np.longdouble), r"has dtype float.*numpy\.float64"
    UNKNOWN["clongdouble"] = np.ones(2, np.clongdouble), r"has dtype complex.*numpy\.complex128"
TAKERS = {  # functions of a value, and what the error calls it
    "operator": (lambda value: tf.ones([2]) + value, "add: y"),
    "operator, reflected": (lambda value: tf.ones([2]).__radd__(value), "add: x"),
    "add": (lambda value: tf.add(tf.ones([2]), value), "add: y"),
    "constant": (tf.constant, "constant"),
    "constant with a dtype": (lambda value: tf.constant(value, tf.float32), "constant"),
    "a list": (lambda value: tf.constant(list(value)), "constant"),
    "a list with a dtype": (lambda value: tf.constant(list(value), tf.float32), "constant"),
    "Variable": (tf.Variable, "initial_value"),
}


@pytest.mark.parametrize("taker", TAKERS)
@pytest.mark.parametrize("kind", UNKNOWN)
def test_the_error_for_an_unknown_dtype_names_the_argument_and_the_way_out(kind, taker):
    value, words = UNKNOWN[kind]
    function, argument = TAKERS[taker]
    with pytest.raises(TypeError, match=rf"{argument}.*{words}"):
        function(value)


LARGE = {  # numbers beyond the largest of their dtype, by every way that they take
    "a number": lambda: tf.ones([2], tf.float16) * 1e6,
    "an integer": lambda: tf.ones([2], tf.float16) * 10**6,
    "a list": lambda: tf.ones([2], tf.float16) * [1e6, 1e6],
    "an array": lambda: tf.ones([2], tf.float16) * np.array([1e6, 1e6]),
    "an array beside float32": lambda: tf.ones([2]) * np.array([1e300, 1e300]),
    "a list beside float32": lambda: tf.ones([2]) * [1e300, 1e300],
    "constant": lambda: tf.constant(1e300),
    "constant of a list": lambda: tf.constant([1e300]),
    "constant with a dtype": lambda: tf.constant(1e6, tf.float16),
    "constant of an array": lambda: tf.constant(np.array([1e300]), tf.float32),
    "bfloat16": lambda: tf.constant([1e300], tf.bfloat16),
    "assign": lambda: tf.Variable(tf.ones([2], tf.float16)).assign([1e6, 1e6]).read_value(),
    "in a function": tf.function(lambda: tf.ones([2], tf.float16) * 1e6, autograph=False),
    "gradtape.numpy": lambda: tf.numpy.array([1e300]),
}


@pytest.mark.parametrize("way", LARGE)
def test_a_number_too_large_is_infinite_without_a_warning(way):
    with np.errstate(all="raise"):
        found = LARGE[way]()
    assert np.isinf(found.numpy().astype(np.float32)).all()


def test_infinities_and_nan_of_python_stay():
    found = [tf.constant(value).numpy() for value in (float("inf"), -float("inf"), float("nan"))]
    np.testing.assert_array_equal(found, np.array([np.inf, -np.inf, np.nan], np.float32))


@pytest.mark.parametrize("empty", [[], [[], []], np.zeros((0, 3))])
def test_a_tensor_of_strings_without_elements(empty):
    x = tf.constant(empty, tf.string)
    assert x.dtype == tf.string
    assert x.shape == np.shape(empty)
    assert tf.constant(x.numpy(), tf.string).shape == x.shape


def test_bytes_that_are_no_text_beside_text():
    x = tf.constant(["a", b"\xff", "ü"])
    assert x.numpy().tolist() == [b"a", b"\xff", "ü".encode()]
