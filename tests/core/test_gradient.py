"""What `GradientTape.gradient` promises for its targets, sources, seeds and unconnected sources."""

import copy
from collections import OrderedDict

import numpy as np
import pytest

import gradtape as tf
from tests.core.squared import Pair, is_equal, squared

# Structures


@pytest.mark.parametrize(
    "sources",
    [
        lambda a, b: [a, b],
        lambda a, b: (a, b),
        lambda a, b: {"z": a, "b": b},
        lambda a, b: OrderedDict([("z", a), ("b", b)]),
        Pair,
        lambda a, b: [a, {"x": (b, [a])}, ()],
    ],
    ids=["list", "tuple", "dict", "OrderedDict", "namedtuple", "nested"],
)
def test_the_gradients_have_the_structure_of_the_sources(sources):
    a, b = tf.constant(2.0), tf.Variable(5.0)
    with tf.GradientTape() as tape:
        tape.watch(a)
        y = a * b
    structure = sources(a, b)
    gradients = tape.gradient(y, structure)
    assert type(gradients) is type(structure)
    if isinstance(structure, dict):
        assert list(gradients) == list(structure)
    expected = tf.nest.map_structure(lambda leaf: 5.0 if leaf is a else 2.0, structure)
    assert tf.nest.map_structure(lambda g: g.numpy(), gradients) == expected


def test_one_source_gives_one_gradient():
    tape, x, y = squared()
    assert tape.gradient(y, x).numpy() == 6.0


@pytest.mark.parametrize("empty", [[], (), {}])
def test_no_sources_give_no_gradients(empty):
    tape, _, y = squared()
    assert tape.gradient(y, empty) == empty


def test_a_source_given_twice_gets_the_full_gradient_twice():
    tape, x, y = squared()
    assert [g.numpy() for g in tape.gradient(y, [x, x])] == [6.0, 6.0]


def test_targets_are_summed():
    x = tf.constant(3.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y, z = x * x, 5.0 * x
    assert tape.gradient({"y": y, "rest": [z, y]}, x).numpy() == 17.0


def test_a_target_that_is_not_scalar_is_summed():
    x = tf.constant([1.0, 2.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x * x
    assert is_equal(tape.gradient(y, x), [2.0, 4.0])


def test_a_target_may_depend_on_another():
    x = tf.constant(3.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x * 2.0
        z = y * y
    assert tape.gradient([y, z], y).numpy() == 1.0 + 2.0 * 6.0


def test_integer_targets_beside_float_ones_add_nothing():
    x = tf.constant(3.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y, n = x * x, tf.cast(x, tf.int32)
    assert tape.gradient([y, n], x).numpy() == 6.0


# Targets and sources


def test_no_target_gives_none():
    tape, x, _ = squared()
    assert tape.gradient([], x) is None


def test_a_constant_target_gives_none():
    tape, x, _ = squared()
    assert tape.gradient(tf.constant(1.0), [x]) == [None]


@pytest.mark.parametrize("value", [1.0, 3, 1.0j, tf.constant([1.0, 2.0]).numpy()])
def test_the_gradient_of_a_tensor_by_itself_is_ones(value):
    x = tf.constant(value)
    with tf.GradientTape() as tape:
        pass
    gradient = tape.gradient(x, x)  # never watched
    assert gradient.dtype == x.dtype
    assert is_equal(gradient, np.ones_like(value))


def test_the_gradient_of_a_watched_tensor_by_itself_is_one():
    x = tf.constant(3.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
    assert tape.gradient(x, x).numpy() == 1.0


def test_a_variable_may_be_the_target():
    v, w = tf.Variable([3.0, 4.0]), tf.Variable(1.0)
    with tf.GradientTape(persistent=True) as tape:
        _ = v * 1.0
    assert is_equal(tape.gradient(v, v), [1.0, 1.0])
    assert tape.gradient(v, w) is None
    assert tape.gradient(w, w).numpy() == 1.0  # never read


def test_a_target_that_is_a_source_counts_besides_its_other_uses():
    x = tf.constant(3.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x * x
    assert tape.gradient([x, y], x).numpy() == 7.0


def test_intermediate_results_may_be_sources():
    x = tf.constant(3.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x * x
        z = y * y
    dy, dx = tape.gradient(z, [y, x])
    assert (dy.numpy(), dx.numpy()) == (18.0, 108.0)


@pytest.mark.parametrize(
    "again",
    [tf.convert_to_tensor, tf.constant, copy.copy, copy.deepcopy, lambda x: tf.cast(x, x.dtype)],
    ids=["convert_to_tensor", "constant", "copy", "deepcopy", "cast to its own dtype"],
)
def test_these_give_the_same_tensor_back(again):
    x = tf.constant([3.0])
    assert again(x) is x


@pytest.mark.parametrize(
    "derive",
    [tf.identity, lambda x: tf.reshape(x, [1]), lambda x: x[:], lambda x: tf.squeeze(x, [])],
    ids=["identity", "reshape", "slice", "squeeze"],
)
def test_these_give_a_new_tensor_that_is_connected(derive):
    x = tf.constant([3.0])
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = derive(x)
        z = y * y
    assert y is not x
    assert is_equal(tape.gradient(z, x), [6.0])
    assert is_equal(tape.gradient(z, y), [6.0])
    assert tape.gradient(x * x, y) is None


@pytest.mark.parametrize(
    "leave",
    [lambda x: tf.constant(x.numpy()), tf.Variable, tf.stop_gradient, tf.zeros_like, tf.shape],
    ids=["numpy", "Variable", "stop_gradient", "zeros_like", "shape"],
)
def test_these_cut_the_path(leave):
    x = tf.constant([3.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.cast(leave(x), tf.float32) * 2.0
    assert tape.gradient(y, x) is None


def test_equal_tensors_are_not_the_same_source():
    tape, x, y = squared()
    assert tape.gradient(y, [tf.constant(3.0), x])[0] is None


@pytest.mark.parametrize("bad", [None, [None], {"a": None}], ids=repr)
def test_none_as_target_or_source_is_a_type_error(bad):
    tape, x, y = squared(persistent=True)
    with pytest.raises(TypeError):
        tape.gradient(bad, x)
    with pytest.raises(TypeError):
        tape.gradient(y, bad)


@pytest.mark.parametrize("bad", [1.0, 1, np.float32(1.0), [1.0]], ids=repr)
def test_a_number_as_target_or_source_is_an_attribute_error(bad):
    tape, x, y = squared(persistent=True)
    with pytest.raises(AttributeError):
        tape.gradient(bad, x)
    with pytest.raises(AttributeError):
        tape.gradient(y, bad)


# output_gradients


def doubled(*values):
    """A persistent tape that has recorded y = 2x for each value, with the xs and ys."""
    xs = [tf.constant(value) for value in values]
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(xs)
        ys = [x * 2.0 for x in xs]
    return tape, xs, ys


@pytest.mark.parametrize(
    "seed",
    [
        np.array([3.0, 5.0]),
        np.array([3.0, 5.0], np.float32),
        tf.constant([3.0, 5.0]),
        tf.Variable([3.0, 5.0]),
        [tf.constant([3.0, 5.0])],
        [tf.constant([3.0, 5.0]), tf.constant(100.0)],
    ],
    ids=["float64 array", "array", "Tensor", "Variable", "list", "one too many"],
)
def test_output_gradients_weigh_the_target(seed):
    tape, (x,), (y,) = doubled([1.0, 1.0])
    assert is_equal(tape.gradient(y, x, output_gradients=seed), [6.0, 10.0])


def test_output_gradients_have_one_entry_for_each_target():
    tape, xs, ys = doubled(1.0, 1.0)
    assert [g.numpy() for g in tape.gradient(ys, xs, [3.0, 5.0])] == [6.0, 10.0]
    assert [
        g.numpy() for g in tape.gradient({"b": ys[0], "a": ys[1]}, xs, {"b": 3.0, "a": 5.0})
    ] == [6.0, 10.0]


def test_a_scalar_output_gradient_is_spread_over_the_target():
    tape, (x,), (y,) = doubled([1.0, 1.0])
    assert is_equal(tape.gradient(y, x, tf.constant(3.0)), [6.0, 6.0])
    assert is_equal(tape.gradient(y, x, 3.0), [6.0, 6.0])


def test_a_list_of_floats_is_several_output_gradients_of_which_the_first_counts():
    tape, (x,), (y,) = doubled([1.0, 1.0])
    assert is_equal(tape.gradient(y, x, [3.0, 5.0]), [6.0, 6.0])


def test_an_empty_list_of_output_gradients_means_ones():
    tape, (x,), (y,) = doubled([1.0, 1.0])
    assert is_equal(tape.gradient(y, x, []), [2.0, 2.0])


def test_output_gradients_of_a_target_that_is_its_own_source():
    x = tf.constant([1.0, 2.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
    assert is_equal(tape.gradient(x, x, tf.constant([3.0, 5.0])), [3.0, 5.0])


def test_an_output_gradient_that_is_recorded_has_a_gradient_too():
    x, seed = tf.constant(3.0), tf.constant(5.0)
    with tf.GradientTape() as outer:
        outer.watch(seed)
        with tf.GradientTape() as inner:
            inner.watch(x)
            y = x * x
        dx = inner.gradient(y, x, output_gradients=seed)
    assert dx.numpy() == 30.0
    assert outer.gradient(dx, seed).numpy() == 6.0


@pytest.mark.parametrize(
    ("seeds", "expected"),
    [([None], [2.0, 2.0]), ([None, 5.0], [2.0, 10.0]), ([3.0, None], [6.0, 2.0])],
    ids=repr,
)
def test_none_among_the_output_gradients_means_ones(seeds, expected):
    tape, xs, ys = doubled(1.0, 1.0)
    assert [g.numpy() for g in tape.gradient(ys, xs, seeds)] == expected


@pytest.mark.parametrize(
    "seed",
    [tf.constant([1.0, 1.0], tf.float64), tf.constant([1, 1]), tf.constant([1.0j, 1.0])],
    ids=["float64", "int32", "complex128"],
)
def test_an_output_gradient_of_another_dtype_is_refused(seed):
    tape, (x,), (y,) = doubled([1.0, 1.0])
    with pytest.raises(tf.errors.InvalidArgumentError):
        tape.gradient(y, x, output_gradients=seed)


@pytest.mark.parametrize("shape", [(3,), (1,), (2, 2), (2, 1), (0,)])
def test_an_output_gradient_of_another_shape_is_refused_by_name(shape):
    tape, (x,), (y,) = doubled([1.0, 1.0])
    with pytest.raises(
        tf.errors.InvalidArgumentError, match=r"output_gradients\[0\].*shape"
    ) as refused:
        tape.gradient(y, x, output_gradients=tf.ones(shape))
    assert str(tf.TensorShape(shape)) in str(refused.value)
    assert "(2,)" in str(refused.value)


# unconnected_gradients


@pytest.mark.parametrize("none", [tf.UnconnectedGradients.NONE, "none"])
def test_an_unconnected_source_gets_none(none):
    tape, x, y = squared()
    other = tf.constant([1.0, 2.0])
    gradients = tape.gradient(y, [x, other], unconnected_gradients=none)
    assert gradients[0].numpy() == 6.0
    assert gradients[1] is None


@pytest.mark.parametrize("zero", [tf.UnconnectedGradients.ZERO, "zero"])
@pytest.mark.parametrize(
    "source",
    [
        tf.constant([1.0, 2.0]),
        tf.Variable([[1.0]], dtype=tf.float64),
        tf.constant(3),
        tf.constant([True]),
        tf.constant([1.0j]),
        tf.zeros([0, 2]),
    ],
    ids=["float32", "Variable", "int32", "bool", "complex128", "empty"],
)
def test_or_zeros_of_its_own_shape_and_dtype(source, zero):
    tape, _, y = squared()
    gradient = tape.gradient(y, source, unconnected_gradients=zero)
    assert gradient.dtype == source.dtype
    assert gradient.shape == source.shape
    assert not gradient.numpy().any()


def test_the_zero_of_a_string_is_empty():
    tape, _, y = squared()
    gradient = tape.gradient(y, tf.constant(["one", "two"]), unconnected_gradients="zero")
    assert gradient.numpy().tolist() == [b"", b""]


@pytest.mark.parametrize(
    "cut", [tf.stop_gradient, tf.round, tf.floor, lambda x: tf.cast(tf.argmax([x, x]), tf.float32)]
)
def test_zero_covers_paths_that_are_cut(cut):
    x = tf.constant(3.0)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = cut(x) * 2.0
    assert tape.gradient(y, x) is None
    assert tape.gradient(y, x, unconnected_gradients="zero").numpy() == 0.0


def test_a_path_that_is_cut_leaves_the_others():
    x = tf.constant(3.5)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.round(x) * x + tf.stop_gradient(x)
    assert tape.gradient(y, x).numpy() == 4.0


@pytest.mark.parametrize("bad", ["zeros", "NONE", 0, None, True])
def test_any_other_value_is_a_value_error(bad):
    tape, x, y = squared()
    with pytest.raises(ValueError):
        tape.gradient(y, x, unconnected_gradients=bad)
