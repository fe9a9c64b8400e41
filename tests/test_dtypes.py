"""`DType` objects, how dtypes meet, which ones have gradients,
and the convention for complex numbers.
"""

import itertools
import logging
import math
import pickle

import ml_dtypes
import numpy as np
import pytest

import gradtape as tf
from gradtape import dtypes

NAMES = [
    "float16", "bfloat16", "float32", "float64", "int8", "int16", "int32", "int64",
    "uint8", "uint16", "uint32", "uint64", "complex64", "complex128", "bool", "string",
]  # fmt: skip
TRAINABLE = ["float16", "bfloat16", "float32", "float64", "complex64", "complex128"]


def gradient_of(function, x):
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = function(x)
    return tape.gradient(y, x)


# DType objects


@pytest.mark.parametrize("name", NAMES)
def test_a_dtype_knows_its_name(name):
    dtype = getattr(tf, name)
    assert dtype.name == name
    assert repr(dtype) == f"tf.{name}"
    assert str(dtype) == f"<dtype: '{name}'>"
    assert dtype == name
    assert tf.as_dtype(name) is dtype
    assert pickle.loads(pickle.dumps(dtype)) == dtype


@pytest.mark.parametrize(
    ("name", "floating", "integer", "is_complex", "unsigned", "size"),
    [
        ("float16", True, False, False, False, 2),
        ("bfloat16", True, False, False, False, 2),
        ("float64", True, False, False, False, 8),
        ("int32", False, True, False, False, 4),
        ("uint8", False, True, False, True, 1),
        ("complex64", False, False, True, False, 8),
        ("complex128", False, False, True, False, 16),
        ("bool", False, False, False, False, 1),
        ("string", False, False, False, False, 0),
    ],
)
def test_the_kind_of_a_dtype(name, floating, integer, is_complex, unsigned, size):
    dtype = getattr(tf, name)
    assert (dtype.is_floating, dtype.is_integer, dtype.is_complex) == (
        floating,
        integer,
        is_complex,
    )
    assert (dtype.is_unsigned, dtype.is_bool, dtype.size) == (unsigned, name == "bool", size)


@pytest.mark.parametrize(
    ("value", "name"),
    [
        (float, "float32"),
        (int, "int32"),
        (bool, "bool"),
        (np.float64, "float64"),
        (np.dtype("int8"), "int8"),
        (np.dtype(">f4"), "float32"),
        ("half", "float16"),
        ("double", "float64"),
        (np.ones(1, np.complex64).dtype, "complex64"),
        (np.dtype("U5"), "string"),
        (tf.float32, "float32"),
    ],
    ids=repr,
)
def test_as_dtype(value, name):
    assert tf.as_dtype(value).name == name


@pytest.mark.parametrize(
    "value", ["floaty", 1.5, None, np.dtype("datetime64[s]"), tf.constant, {"a": 1}]
)
def test_what_is_no_dtype_is_a_type_error(value):
    with pytest.raises(TypeError):
        tf.as_dtype(value)


def test_dtypes_compare_with_what_stands_for_them():
    assert tf.float32 == np.float32
    assert tf.float32 == np.dtype("float32")
    assert tf.float32 != tf.float64
    assert tf.float32 != "nonsense"
    assert tf.float32 != {"a": 1}
    assert tf.float32 != None  # noqa: E711
    assert {tf.float32: 1}[tf.as_dtype("float32")] == 1


def test_limits():
    assert (tf.int8.min, tf.int8.max) == (-128, 127)
    assert tf.uint16.max == 65535
    assert tf.float16.max == 65504.0
    assert tf.float32.min == np.finfo(np.float32).min
    assert float(tf.bfloat16.max) == pytest.approx(3.39e38, rel=1e-2)
    with pytest.raises(TypeError):
        _ = tf.string.max


def test_numpy_and_real_dtypes():
    assert tf.float32.as_numpy_dtype is np.float32
    assert (tf.complex64.real_dtype, tf.complex128.real_dtype, tf.int8.real_dtype) == (
        tf.float32,
        tf.float64,
        tf.int8,
    )
    assert tf.constant(1.0, tf.bfloat16).numpy().dtype == tf.bfloat16.as_numpy_dtype


# How dtypes meet


@pytest.mark.parametrize(
    ("one", "two", "together"),
    [
        ("int32", "float32", "float32"),
        ("float32", "float64", "float64"),
        ("float16", "float32", "float32"),
        ("bfloat16", "float16", "float32"),
        ("int64", "float16", "float16"),
        ("int64", "bfloat16", "bfloat16"),
        ("int8", "uint8", "int16"),
        ("uint8", "int32", "int32"),
        ("uint32", "int32", "int64"),
        ("uint64", "int64", "float32"),
        ("bool", "int8", "int8"),
        ("float64", "complex64", "complex128"),
        ("float16", "complex64", "complex64"),
        ("int32", "complex128", "complex128"),
        ("float32", "float32", "float32"),
    ],
)
def test_tensors_of_two_dtypes_are_promoted(one, two, together):
    x, y = tf.cast([1, 0], one), tf.cast([1, 1], two)
    assert (x + y).dtype == together
    assert (y * x).dtype == together
    assert tf.maximum(y, x).dtype == together if "complex" not in together else True
    assert (x + y).numpy().tolist() == [2, 1]


def test_promotion_does_not_depend_on_the_order_or_the_grouping():
    # uint64 with int64 is float32, the default float, although float16 is above both: there the
    # grouping counts.
    numbers = [tf.cast(1, name) for name in NAMES if name not in ("string", "uint64")]
    for x, y, z in itertools.combinations(numbers, 3):
        assert ((x + y) + z).dtype == (x + (y + z)).dtype == ((z + x) + y).dtype


def test_comparisons_promote_too():
    assert (tf.constant([1, 2]) == tf.constant([1.0, 2.5])).numpy().tolist() == [True, False]
    assert (tf.constant([1, 2]) < tf.constant([1.0, 2.5])).numpy().tolist() == [False, True]


def test_text_and_numbers_do_not_meet():
    with pytest.raises((TypeError, tf.errors.InvalidArgumentError)):
        tf.constant("a") + tf.constant(1)


def test_gradients_of_promoted_operands_have_their_own_dtypes():
    x, y = tf.constant([1.0, 2.0], tf.float16), tf.constant([3.0, 4.0], tf.float64)
    with tf.GradientTape() as tape:
        tape.watch([x, y])
        z = x * y
    dx, dy = tape.gradient(z, [x, y])
    assert (dx.dtype, dy.dtype) == (tf.float16, tf.float64)
    assert (dx.numpy().tolist(), dy.numpy().tolist()) == ([3.0, 4.0], [1.0, 2.0])


@pytest.mark.parametrize(
    ("tensor", "plain", "together"),
    [
        ("float16", 1.5, "float16"),
        ("bfloat16", np.float64(1.5), "bfloat16"),
        ("float64", np.float32(1.5), "float64"),
        ("int8", 1, "int8"),
        ("int32", 1.5, "float32"),
        ("int32", np.float64(1.5), "float32"),
        ("int64", True, "int64"),
        ("float32", 1j, "complex64"),
        ("complex64", 1.5, "complex64"),
        ("float32", np.array([1, 2]), "float32"),
    ],
)
def test_plain_values_take_the_dtype_of_the_tensor(tensor, plain, together):
    x = tf.cast([1, 2], tensor)
    assert (x + plain).dtype == together
    assert (plain + x).dtype == together


@pytest.mark.parametrize("name", TRAINABLE)
def test_arithmetic_stays_in_its_dtype(name):
    x = tf.cast([1.0, 2.0], name)
    for y in (
        x * x + x / x - 1,
        tf.exp(x),
        x**2,
        tf.reduce_sum(x),
        tf.reduce_mean(x),
        tf.tanh(x),
        x[0],
    ):
        assert y.dtype == name


# Which dtypes have gradients


@pytest.mark.parametrize("name", TRAINABLE)
def test_a_trainable_dtype_has_gradients_of_its_own_dtype(name):
    gradient = gradient_of(lambda x: tf.reduce_sum(x * x), tf.cast([1.0, 2.0], name))
    assert gradient.dtype == name
    assert gradient.numpy().tolist() == [2.0, 4.0]


@pytest.mark.parametrize("name", [name for name in NAMES if name not in (*TRAINABLE, "string")])
def test_other_dtypes_have_none(name):
    x = tf.cast([1, 2], name)
    assert gradient_of(lambda x: tf.cast(x, tf.float32) * 2.0, x) is None


@pytest.mark.parametrize("low", ["float16", "bfloat16", "float32"])
def test_gradients_come_back_in_the_dtype_of_the_source(low):
    gradient = gradient_of(
        lambda x: tf.reduce_sum(tf.cast(x, tf.float64) ** 2), tf.cast([1.0, 2.0], low)
    )
    assert gradient.dtype == low
    assert gradient.numpy().tolist() == [2.0, 4.0]


@pytest.mark.parametrize(
    "function",
    [
        lambda x: tf.cast(tf.cast(x, tf.int32), tf.float32) * 2.0,
        lambda x: tf.cast(tf.argmax(x), tf.float32),
        lambda x: tf.cast(x > 1.0, tf.float32),
        lambda x: tf.cast(x, tf.int32),
        tf.argmax,
        lambda x: x > 1.0,
        lambda x: x == 1.0,
    ],
    ids=[
        "float to int to float",
        "argmax",
        "comparison",
        "int target",
        "argmax target",
        "bool target",
        "equality target",
    ],
)
def test_a_path_through_integers_or_truth_values_ends(function):
    assert gradient_of(function, tf.constant([1.0, 2.0])) is None


def test_an_integer_output_does_not_keep_the_others_from_their_gradients():
    x = tf.constant([3.0, 1.0, 2.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        top, indices = tf.math.top_k(x, 2)
        y = top * tf.cast(indices + 1, tf.float32)
    assert tape.gradient(y, x).numpy().tolist() == [1.0, 0.0, 3.0]


def test_choosing_by_is_nan_is_safe():
    x = tf.constant([1.0, math.nan])
    gradient = gradient_of(lambda x: tf.reduce_sum(tf.where(tf.math.is_nan(x), 0.0, x * 3.0)), x)
    assert gradient.numpy().tolist() == [3.0, 0.0]


# Complex numbers


@pytest.mark.parametrize("name", ["complex64", "complex128"])
@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (lambda z: z * z, 2 - 4j),
        (lambda z: z**3, np.conj(3 * (1 + 2j) ** 2)),
        (tf.exp, np.conj(np.exp(1 + 2j))),
        (lambda z: 1.0 / z, np.conj(-1 / (1 + 2j) ** 2)),
        (lambda z: tf.math.real(z * tf.math.conj(z)), 2 + 4j),
        (tf.math.real, 1 + 0j),
        (tf.math.imag, 1j),
        (tf.math.conj, 1 + 0j),
        (lambda z: tf.abs(z) ** 2, 2 + 4j),
        (tf.abs, (1 + 2j) / math.sqrt(5.0)),
        (tf.math.angle, (-2 + 1j) / 5.0),
    ],
    ids=[
        "square",
        "cube",
        "exp",
        "reciprocal",
        "|z|^2",
        "real",
        "imag",
        "conj",
        "abs squared",
        "abs",
        "angle",
    ],
)
def test_the_gradient_of_a_complex_number(function, expected, name):
    gradient = gradient_of(function, tf.constant(1 + 2j, name))
    assert gradient.dtype == name
    np.testing.assert_allclose(gradient.numpy(), expected, rtol=1e-5)


def test_a_complex_target_has_the_seed_one():
    z = tf.constant([1 + 2j, 3 - 1j])
    assert gradient_of(lambda z: z * (2 + 5j), z).numpy().tolist() == [2 - 5j, 2 - 5j]


def test_the_modulus_has_no_slope_at_zero():
    assert gradient_of(tf.abs, tf.constant(0j)).numpy() == 0.0


@pytest.mark.parametrize("function", [tf.math.angle, tf.math.imag], ids=["angle", "imag"])
def test_the_angle_and_imaginary_part_of_a_real_number_are_constants(function):
    assert gradient_of(function, tf.constant([1.0, -2.0])) is None


def test_a_complex_number_from_its_parts():
    real, imag = tf.constant(3.0), tf.constant(4.0)
    with tf.GradientTape() as tape:
        tape.watch([real, imag])
        y = tf.abs(tf.complex(real, imag)) ** 2
    da, db = tape.gradient(y, [real, imag])
    np.testing.assert_allclose([da.numpy(), db.numpy()], [6.0, 8.0], rtol=1e-6)
    assert da.dtype == db.dtype == tf.float32


def test_casting_a_complex_number_to_a_real_one_keeps_the_real_part_and_says_so(caplog):
    z = tf.constant(3 + 4j, tf.complex64)
    with caplog.at_level(logging.WARNING, "gradtape"), tf.GradientTape() as tape:
        tape.watch(z)
        y = tf.cast(z, tf.float32) * 2.0
    assert y.numpy() == 6.0
    assert "imaginary" in caplog.text
    assert tape.gradient(y, z).numpy() == 2 + 0j


def test_casting_a_real_number_to_a_complex_one_brings_a_real_gradient_back():
    gradient = gradient_of(lambda x: tf.cast(x, tf.complex64) * (2 + 5j), tf.constant(3.0))
    assert gradient.dtype == tf.float32
    assert gradient.numpy() == 2.0


def test_second_order_of_a_complex_function():
    z = tf.constant(1 + 2j)
    with tf.GradientTape() as outer:
        outer.watch(z)
        dz = gradient_of(lambda z: z**3, z)
    np.testing.assert_allclose(outer.gradient(dz, z).numpy(), np.conj(6 * (1 + 2j)), rtol=1e-6)


# Numbers of 8 bits


@pytest.mark.parametrize("name", tf.dtypes.experimental.__all__)
def test_float8(name):
    dtype = getattr(tf.dtypes.experimental, name)
    assert (dtype.name, dtype.size, dtype.is_floating, dtype.is_trainable) == (name, 1, True, False)
    assert tf.as_dtype(name) is dtype
    assert dtype == getattr(ml_dtypes, name)
    numbers = np.array([0.3, 1.0, -2.0, float(dtype.max)], np.float32)
    held = tf.cast(numbers, dtype)
    assert held.dtype == dtype
    np.testing.assert_array_equal(held.numpy(), numbers.astype(dtype.as_numpy_dtype))
    for function in (
        lambda x: tf.cast(tf.cast(x, dtype), tf.float32),
        tf.function(lambda x: tf.cast(tf.cast(x, dtype), tf.float32)),
    ):
        np.testing.assert_array_equal(
            function(tf.constant(numbers)).numpy(), held.numpy().astype(np.float32)
        )
    assert (tf.constant(1) + held).dtype == dtype
    with pytest.raises(TypeError, match="no common dtype"):
        held + tf.constant(1.0)
    assert pickle.loads(pickle.dumps(dtype)) is dtype


@pytest.mark.parametrize("one", tf.dtypes.experimental.__all__)
def test_float8_meets_others_as_in_jax(one):
    jnp = pytest.importorskip("jax.numpy")
    for other in dtypes.ALL:
        if other.name == "string":
            continue
        try:
            together = jnp.promote_types(one, other.numpy).name
        except Exception:  # noqa: BLE001 - the type that JAX raises is its own
            together = None
        try:
            assert dtypes.promote(dtypes.as_dtype(one).numpy, other.numpy).name == together
        except TypeError:
            assert together is None, other.name
