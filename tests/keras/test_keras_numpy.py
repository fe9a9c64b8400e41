"""The functions of Keras's numpy, math and linalg namespaces: their names and arguments are
Keras's, and compiled they give what they give eagerly. Keras's own tests, which `make test-keras`
runs, check the values.
"""

import ast
import inspect
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

import gradtape as tf
import keras_gradtape

keras_gradtape.install()

from keras.src import backend, ops, tree  # noqa: E402 - Keras is imported when its backend is there

X = np.array([[0.5, 0.2, 0.7], [0.3, 0.9, 0.4]], np.float32)
S = np.array([[2.0, 0.5, 0.1], [0.5, 3.0, 0.2], [0.1, 0.2, 1.5]], np.float32)
N = np.array([[1, 5, 2], [0, 3, 3]], np.int32)
WITH_NAN = np.array([[np.nan, 2.0, 1.0], [np.nan, np.nan, np.nan]], np.float32)


@pytest.mark.parametrize("namespace", ["numpy", "math", "linalg"])
def test_functions_have_the_names_and_arguments_of_keras(namespace):
    source = (
        Path(find_spec("keras").origin).parent / "src" / "backend" / "numpy" / f"{namespace}.py"
    )
    wanted = {
        f.name: f.args
        for f in ast.parse(source.read_text(encoding="utf-8")).body
        if isinstance(f, ast.FunctionDef)
    }
    module = getattr(backend, namespace)
    assert not [name for name in wanted if not name.startswith("_") and not hasattr(module, name)]
    different = {
        name: str(inspect.signature(getattr(module, name)))
        for name, args in wanted.items()
        if not name.startswith("_")
        and [*inspect.signature(getattr(module, name)).parameters]
        != [
            a.arg
            for a in (
                *args.args,
                *filter(None, [args.vararg]),
                *args.kwonlyargs,
                *filter(None, [args.kwarg]),
            )
        ]
    }
    assert not different


CASES = {
    "numpy": [
        ("add", X, 1), ("divide", N, 2), ("matmul", X, X.T), ("einsum", "ij,kj->ik", X, X),
        ("clip", X, 0.3, 0.6), ("where", N > 1, X, 0), ("select", [N > 1, N < 1], [N, -N], 7),
        ("var", X), ("quantile", X, 0.3), ("nanargmax", WITH_NAN, 1), ("argsort", X),
        ("cumsum", N.astype(np.int8), 1), ("take", X, [0, -1], 1),
        ("take_along_axis", X, np.argsort(X), 1), ("digitize", X, [0.3, 0.6]),
        ("digitize", X, [0.6, 0.3]), ("searchsorted", X[0] * [0, 1, 2], X),
        ("unravel_index", N, (2, 3)), ("histogram", X[0], 4),
        ("pad", X, ((1, 0), (0, 2)), "reflect"), ("concatenate", [X, N], 0), ("split", X, 3, 1),
        ("trapezoid", X), ("corrcoef", X), ("isclose", X, X + 1e-9), ("ldexp", X, N),
        ("view", X, "int32"),
    ],
    "math": [
        ("segment_max", X, [0, 2], 3), ("top_k", X, 2), ("in_top_k", [0, 1], X, 1),
        ("logsumexp", X, 1), ("cdist", X, X[::-1]), ("rfft", X), ("irfft", (X, X)),
        ("stft", np.linspace(0, 1, 32).astype(np.float32), 8, 4, 8), ("erfinv", X),
        ("extract_sequences", X, 2, 1),
    ],
    "linalg": [
        ("cholesky", S), ("cholesky_inverse", S), ("eigh", S), ("solve_triangular", S, X[0]),
        ("lu_factor", S), ("lu_factor", X), ("lu_factor", X.T), ("norm", X, 2), ("pinv", X),
        ("matrix_rank", X), ("svd", X, False),
    ],
}  # fmt: skip


@pytest.mark.parametrize("namespace", CASES)
def test_compiled_functions_give_what_they_give_eagerly(namespace):
    calls = [(getattr(backend, namespace), name, args) for name, *args in CASES[namespace]]

    def run(arrays):
        given = tree.pack_sequence_as([args for *_, args in calls], arrays)
        return [
            getattr(module, name)(*args)
            for (module, name, _), args in zip(calls, given, strict=True)
        ]

    leaves = tree.flatten([args for *_, args in calls])
    at = [i for i, leaf in enumerate(leaves) if isinstance(leaf, np.ndarray)]

    @tf.function(autograph=False)
    def compiled(*tensors):
        arrays = list(leaves)
        for i, tensor in zip(at, tensors, strict=True):
            arrays[i] = tensor
        return run(arrays)

    expected = run(leaves)
    found = compiled(*(ops.convert_to_tensor(leaves[i]) for i in at))
    for (_, name, _), value, other in zip(calls, expected, found, strict=True):
        for a, b in zip(tree.flatten(value), tree.flatten(other), strict=True):
            assert a.dtype == b.dtype, name
            np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-4, atol=1e-5, err_msg=name)


@pytest.mark.parametrize("axis", [None, 0, 1])
def test_unique_of_a_fixed_size_is_compiled(axis):
    def run(x):
        return ops.unique(
            x,
            axis=axis,
            size=5,
            fill_value=-1,
            return_index=True,
            return_inverse=True,
            return_counts=True,
        )

    values, first, inverse, counts = tf.function(run, autograph=False)(tf.constant(N))
    expected, *places = np.unique(
        N, axis=axis, return_index=True, return_inverse=True, return_counts=True
    )
    there = expected.shape[axis or 0]
    kept = values.numpy() if axis is None else np.moveaxis(values.numpy(), axis, 0)
    assert (kept[:there] == (expected if axis is None else np.moveaxis(expected, axis, 0))).all()
    assert (kept[there:] == -1).all()
    assert (first.numpy()[:there] == places[0]).all()
    assert (inverse.numpy() == places[1]).all()
    assert (counts.numpy() == np.pad(places[2], (0, 5 - there))).all()


def test_unique_of_nothing_is_filled_up():
    values, counts = ops.unique(tf.zeros([0], "int32"), size=2, fill_value=7, return_counts=True)
    assert (values.numpy().tolist(), counts.numpy().tolist()) == ([7, 7], [0, 0])


def test_row_exchanges_and_factors_give_the_matrix_again_and_its_gradient():
    for matrix in (S, X, X.T, np.zeros((3, 2), np.float32)):
        factors, pivots = (part.numpy() for part in ops.lu_factor(matrix))
        rows, steps = len(matrix), min(matrix.shape)
        product = (np.tril(factors[:, :steps], -1) + np.eye(rows, steps)) @ np.triu(factors[:steps])
        for i in reversed(range(steps)):
            product[[i, pivots[i]]] = product[[pivots[i], i]]
        np.testing.assert_allclose(product, matrix, atol=1e-6)
    x = tf.constant(X.T)
    with tf.GradientTape() as tape:
        tape.watch(x)
        factors, _ = ops.lu_factor(x)
        # The determinant of the rows that come first, which are (0.7, 0.4) and (0.2, 0.9).
        minor = factors[0, 0] * factors[1, 1]
    assert minor.numpy() == pytest.approx(0.7 * 0.9 - 0.2 * 0.4)
    np.testing.assert_allclose(
        tape.gradient(minor, x), [[0.0, 0.0], [-0.4, 0.7], [0.9, -0.2]], atol=1e-6
    )


def test_where_a_denominator_is_zero_there_is_no_gradient():
    x, y = tf.constant([1.0, 2.0]), tf.constant([0.0, 2.0])
    with tf.GradientTape() as tape:
        tape.watch([x, y])
        quotient = ops.divide_no_nan(x, y)
    assert [g.numpy().tolist() for g in tape.gradient(quotient, [x, y])] == [
        [0.0, 0.5],
        [0.0, -0.5],
    ]


def test_a_distance_of_zero_has_a_gradient_of_zero():
    x = tf.constant([[1.0, 2.0], [4.0, 6.0]])
    with tf.GradientTape() as tape:
        tape.watch(x)
        distances = ops.cdist(x, tf.constant([[1.0, 2.0]]))
    assert distances.numpy().tolist() == [[0.0], [5.0]]
    np.testing.assert_allclose(tape.gradient(distances, x), [[0.0, 0.0], [0.6, 0.8]], atol=1e-6)


def test_derivative_along_a_direction_with_something_besides():
    value, tangent, besides = ops.jvp(
        lambda x: (x * x, "besides"), (tf.constant(3.0),), (tf.constant(1.0),), has_aux=True
    )
    assert (float(value), float(tangent), besides) == (9.0, 6.0, "besides")


@pytest.mark.parametrize(
    ("name", "args", "dtype"),
    [
        ("matmul", ((2, "int8"), (2, "int8")), "int32"),
        ("matmul", ((2, "int8"), (2, "bool")), "int8"),
        ("add", ((2, "bfloat16"), 1.5), "bfloat16"),
        ("add", ((2, "int32"), 1.5), "float32"),
        ("add", ((2, "float64"), (2, "float32")), "float64"),
        ("cbrt", ((2, "float64"),), "float64"),
        ("sum", ((2, "uint8"),), "uint32"),
        ("var", ((2, "float16"),), "float16"),
    ],
)
def test_dtypes_are_keras_own(name, args, dtype):
    given = [tf.ones([arg[0], arg[0]], arg[1]) if isinstance(arg, tuple) else arg for arg in args]
    assert getattr(backend.numpy, name)(*given).dtype.name == dtype
