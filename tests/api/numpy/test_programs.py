"""Ordinary NumPy code on Tensors: values against NumPy's own, derivatives against differences, on a
tape that nothing may leave.

Each program is one that did not work at first.
"""

import numpy as np
import pytest
from numpy.lib.stride_tricks import sliding_window_view

import gradtape as tf
from gradtape.testing import check_gradients

RNG = np.random.default_rng(0)
VECTOR, OTHER = RNG.standard_normal((2, 6))
MATRIX = RNG.standard_normal((3, 3))
TABLE = RNG.standard_normal((4, 5))


def kalman_step(transition, state):
    """Matrices times vectors."""
    covariance = transition @ np.eye(3) @ transition.T + 0.1 * np.eye(3)
    observed = np.array([1.0, 0.0, 2.0])
    gain = covariance @ observed / (observed @ covariance @ observed + 1.0)
    predicted = transition @ state
    return predicted + gain * (0.3 - observed @ predicted)


def power_iteration(matrix):
    symmetric, vector = matrix + matrix.T, np.ones(3)
    for _ in range(20):
        vector = symmetric @ vector
        vector /= np.linalg.norm(vector)
    return vector @ symmetric @ vector


def conjugate_gradients(matrix, right):
    symmetric = matrix @ matrix.T + np.eye(3)
    x, residual = np.zeros_like(right), right
    direction, size = residual, residual @ residual
    for _ in range(3):
        moved = symmetric @ direction
        step = size / (direction @ moved)
        x, residual = x + step * direction, residual - step * moved
        size, before = residual @ residual, size
        direction = residual + size / before * direction
    return x


def markov_chain(weights):
    chances = np.exp(weights) / np.exp(weights).sum(axis=1, keepdims=True)
    state = np.ones(3) / 3
    for _ in range(10):
        state = state @ chances
    return state


def quadratic_forms(matrix, x):
    return np.stack(
        [
            x @ matrix @ x,
            x.T @ matrix.T @ x,
            x @ x,
            np.sum(-(matrix @ x)),
            np.sum(np.ones(3) @ matrix),
        ]
    )


def kernel_density(x):
    """len() of a Variable."""
    width = 1.06 * np.std(x) * len(x) ** (-1 / 5)
    bells = np.exp(-0.5 * ((np.linspace(-2, 2, 5)[:, None] - x) / width) ** 2)
    return bells.sum(axis=1) / (len(x) * width * np.sqrt(2 * np.pi))


def rolling_statistics(x):
    windows = sliding_window_view(x, 3)
    return np.concatenate([windows.mean(axis=-1), windows.std(axis=-1), np.max(windows, axis=1)])


def spectrogram(x):
    frames = np.lib.stride_tricks.sliding_window_view(x, 4)[::2] * np.hanning(4)
    return np.abs(np.fft.rfft(frames, axis=-1)) ** 2


def convolution_by_windows(picture, kernel):
    windows = sliding_window_view(np.pad(picture, 1), (3, 3), axis=(0, 1))
    return np.einsum("ijkl,kl->ij", windows, kernel)


def in_python_floats(x):
    """The dtype float is that of the argument, if it has 64 bits."""
    parts = [
        x.astype(float),
        np.add(x, 1, dtype=float),
        np.clip(x, -1, 1, dtype=float),
        np.zeros_like(x, dtype=float) + x,
    ]
    sums = [
        np.sum(x, dtype=float),
        x.mean(dtype=float),
        np.var(x, dtype=float),
        np.add.reduce(x, dtype=float),
    ]
    return np.concatenate([*parts, np.stack(sums), np.cumsum(x, dtype=float)], dtype=float)


def evanescent_wave(x):
    """Square roots that turn imaginary."""
    return np.abs(np.exp(1j * np.emath.sqrt(x)))


def mean_of_the_positive(x):
    return np.mean(x, where=x > 0) + np.std(x, where=x < 1) + np.max(x, where=x < 1, initial=-9)


PROGRAMS = [
    (kalman_step, [MATRIX, VECTOR[:3]]),
    (power_iteration, [MATRIX]),
    (conjugate_gradients, [MATRIX, VECTOR[:3]]),
    (markov_chain, [MATRIX]),
    (quadratic_forms, [MATRIX, VECTOR[:3]]),
    (kernel_density, [VECTOR]),
    (rolling_statistics, [VECTOR]),
    (spectrogram, [np.concatenate([VECTOR, OTHER])]),
    (convolution_by_windows, [TABLE, MATRIX]),
    (in_python_floats, [VECTOR]),
    (evanescent_wave, [VECTOR]),
    (mean_of_the_positive, [VECTOR]),
]


@pytest.mark.parametrize(
    ("program", "arrays"), PROGRAMS, ids=[program.__name__ for program, _ in PROGRAMS]
)
@pytest.mark.parametrize("kind", [tf.constant, tf.Variable], ids=["Tensor", "Variable"])
def test_program(program, arrays, kind):
    given = [kind(array) for array in arrays]
    with tf.GradientTape(strict=True) as tape:
        tape.watch(given)
        result = program(*given)
    expected = program(*arrays)
    np.testing.assert_allclose(result.array, expected, rtol=1e-9, atol=1e-12)
    assert result.array.dtype == expected.dtype
    assert all(gradient is not None for gradient in tape.gradient(result, given))


@pytest.mark.parametrize(
    ("program", "arrays"), PROGRAMS, ids=[program.__name__ for program, _ in PROGRAMS]
)
def test_derivatives_of_a_program(program, arrays):
    check_gradients(program, arrays, order=1)


# Products of vectors by `@`

SHAPES = [
    ((3,), (3,)),
    ((2, 3), (3,)),
    ((3,), (3, 2)),
    ((4, 2, 3), (3,)),
    ((3,), (4, 3, 2)),
    ((0, 3), (3,)),
    ((2, 0), (0,)),
]


@pytest.mark.parametrize(("left", "right"), SHAPES)
def test_a_vector_stands_for_a_row_or_a_column(left, right):
    rng = np.random.default_rng(1)
    a, b = rng.standard_normal(left), rng.standard_normal(right)
    pairs = [
        (tf.constant(a), tf.constant(b)),
        (tf.Variable(a), b),
        (a, tf.Variable(b)),
        (tf.constant(a), tf.Variable(b)),
    ]
    for x, y in pairs:
        product = x @ y
        assert product.dtype == tf.float64
        np.testing.assert_allclose(product.array, a @ b)
    if a.size:
        check_gradients(lambda x, y: x @ y, [a, b])
        rows = np.stack([a, a + 1])
        found = tf.vmap(lambda x: x @ tf.constant(b))(tf.constant(rows))
        np.testing.assert_allclose(found.array, np.stack([row @ b for row in rows]))


def test_a_list_may_stand_beside_the_operator():
    np.testing.assert_array_equal((tf.constant([[1.0, 2.0], [3.0, 4.0]]) @ [1, 10]).array, [21, 43])
    np.testing.assert_array_equal(([1, 10] @ tf.constant([[1.0, 2.0], [3.0, 4.0]])).array, [31, 42])


@pytest.mark.parametrize("shapes", [((2, 3), (2,)), ((3,), (2,)), ((), (3,)), ((3,), ())])
def test_factors_that_do_not_fit_are_refused(shapes):
    left, right = (tf.ones(shape) for shape in shapes)
    with pytest.raises(tf.errors.InvalidArgumentError, match="matmul"):
        left @ right


# Windows


@pytest.mark.parametrize(
    ("shape", "window", "axis"),
    [
        ((5,), 2, None),
        ((5,), 0, None),
        ((5,), 5, 0),
        ((3, 4), (2, 3), None),
        ((3, 4), 2, 1),
        ((2, 3, 4), (2, 3), (1, -1)),
        ((3, 4), (1, 2), (1, 0)),
        ((5,), (2, 2), (0, 0)),
    ],
)
def test_sliding_windows(shape, window, axis):
    x = np.random.default_rng(1).standard_normal(shape)
    expected = sliding_window_view(x, window, axis)
    np.testing.assert_array_equal(sliding_window_view(tf.constant(x), window, axis).array, expected)
    if expected.size:
        check_gradients(lambda x: sliding_window_view(x, window, axis) ** 2, [x])


@pytest.mark.parametrize(
    ("window", "axis", "error", "says"),
    [
        (6, 1, ValueError, "a window of 6 does not fit into axis 1, which has 5"),
        (-1, 0, ValueError, "a window of -1 does not fit"),
        (2, None, ValueError, "window_shape has 1 sizes for 2 axes"),
        (2, 2, np.exceptions.AxisError, "sliding_window_view: axis"),
        (2.5, 0, TypeError, "window_shape"),
    ],
)
def test_windows_that_do_not_fit_are_refused(window, axis, error, says):
    with pytest.raises(error, match=says):
        sliding_window_view(tf.constant(TABLE), window, axis)


# numpy.emath

EMATH = {
    "sqrt": np.emath.sqrt,
    "log": np.emath.log,
    "log2": np.emath.log2,
    "log10": np.emath.log10,
    "logn": lambda x: np.emath.logn(3.0, x),
    "logn by the base": lambda x: np.emath.logn(x, 5.0),
    "power": lambda x: np.emath.power(x, 1.5),
    "power of a number": lambda x: np.emath.power(2.0, x),
    "arccos": np.emath.arccos,
    "arcsin": np.emath.arcsin,
    "arctanh": np.emath.arctanh,
}


@pytest.mark.parametrize("name", EMATH)
@pytest.mark.parametrize("values", [[0.5, 0.3], [-0.5, 2.0], [-3.0, 0.1]])
def test_emath(name, values):
    function, x = EMATH[name], np.array(values)
    result, expected = function(tf.constant(x)), function(x)
    assert result.array.dtype == expected.dtype
    np.testing.assert_allclose(result.array, expected)
    assert function(tf.constant(x, tf.float32)).array.dtype == (
        np.complex64 if expected.dtype.kind == "c" else np.float32
    )
    check_gradients(function, [x])


def test_emath_of_integers():
    assert np.emath.sqrt(tf.constant([4, 9])).dtype == tf.float32
    assert np.emath.sqrt(tf.constant(-4)).numpy() == 2j
    assert np.emath.power(tf.constant(2), -2).numpy() == 0.25


# Dtypes by Python's names


@pytest.mark.parametrize(
    ("given", "python", "expected"),
    [
        ("float64", float, "float64"),
        ("float32", float, "float32"),
        ("int64", float, "float64"),
        ("int32", float, "float32"),
        ("bool", int, "int32"),
        ("float64", int, "int64"),
        ("float32", complex, "complex64"),
        ("float64", complex, "complex128"),
        ("float64", bool, "bool"),
    ],
)
def test_pythons_types_keep_64_bits(given, python, expected):
    x = tf.cast(tf.constant([1, 0]), given)
    assert x.astype(python).dtype.name == expected
    assert np.ones_like(x, dtype=python).dtype.name == expected
    assert tf.numpy.asarray(x, dtype=python).dtype.name == expected


def test_complex_numbers_of_128_bits_are_read_as_pairs_of_floats():
    z = tf.constant([1 + 2j], tf.complex128)
    np.testing.assert_array_equal(z.view(float).array, z.array.view(float))


# What is refused


def test_values_of_a_variable_are_not_written_behind_the_tape():
    buffer, variable = np.zeros(2), tf.Variable([1.0, 2.0])
    with tf.GradientTape(), pytest.raises(TypeError, match=r"add.at: .*tensor_scatter_nd_add"):
        np.add.at(buffer, [0, 1], variable)
    np.add.at(buffer, [0, 0], variable)
    np.testing.assert_array_equal(buffer, [3, 0])


def test_a_list_of_indices_is_told_from_an_array_of_them():
    x = tf.constant([1.0, 2.0, 3.0])
    with pytest.raises(
        tf.errors.InvalidArgumentError, match=r"one index for each axis.*write x\[np.array"
    ):
        x[[0, 2]]
    np.testing.assert_array_equal(x[np.array([0, 2])].array, [1, 3])


@pytest.mark.parametrize(
    "function",
    [
        lambda x: np.array_equal(x, x),
        lambda x: np.array_equiv(x, x),
        lambda x: np.allclose(x, x),
        lambda x: np.where(x),
        lambda x: np.piecewise(x, [x > 0], [1.0]),
        lambda x: np.real_if_close(x + 0j),
        lambda x: np.array_str(x),
        lambda x: np.emath.sqrt(x),
        lambda x: 1.0 in x,
        lambda x: tf.numpy.asarray_chkfinite(x),
    ],
)
def test_what_depends_on_values_is_refused_where_there_are_none(function):
    with pytest.raises(TypeError, match=r"depends on the values of .* call it outside"):
        tf.vmap(function)(tf.ones([2, 3]))
