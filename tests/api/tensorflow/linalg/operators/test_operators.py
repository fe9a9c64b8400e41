"""Every method of every operator, and its derivatives, against the dense matrix."""

import itertools

import numpy as np
import pytest

import gradtape as tf
from tests.api.tensorflow.linalg.operators.methods import METHODS
from tests.api.tensorflow.linalg.operators.rows import ROWS, complex_values, values

CASES = [
    pytest.param(row, method, id=f"{name}-{which}")
    for (name, row), (which, method) in itertools.product(ROWS.items(), METHODS.items())
    if method.fits(row)
]
DIFFERENTIABLE = [case for case in CASES if case.values[1].is_differentiable(case.values[0])]


def tensors(row):
    return {name: tf.constant(value) for name, value in row.parameters.items()}


def close(found, wanted, tolerance=1e-9):
    found, wanted = np.asarray(found), np.asarray(wanted)
    assert found.shape == wanted.shape
    np.testing.assert_allclose(found, wanted, rtol=tolerance, atol=tolerance)


def of_operator(row, method, parameters, x):
    return method.of_operator(tf, row.operator(tf, parameters), x)


def of_matrix(row, method, parameters, x):
    return method.of_matrix(tf, row.matrix(tf, parameters), x)


def argument(row, method, batch=None):
    x = method.argument(row, tuple(row.matrix(tf, tensors(row)).shape), batch)
    return None if x is None else tf.constant(x)


def weighted(found):
    """A real number that depends on all values, each in its own way."""
    weights = values(*found.shape, seed=23)
    if found.dtype.is_complex:
        weights = tf.constant(weights + 1j * values(*found.shape, seed=24))
        return tf.reduce_sum(tf.math.real(weights * found))
    return tf.reduce_sum(tf.constant(weights) * found)


# Without methods


@pytest.mark.parametrize("row", ROWS.values(), ids=ROWS)
def test_shapes_and_hints(row):
    operator = row.operator(tf, tensors(row))
    shape = tuple(row.matrix(tf, tensors(row)).shape)
    assert operator.shape == shape
    assert operator.batch_shape == shape[:-2]
    assert operator.tensor_rank == len(shape)
    assert operator.range_dimension == operator.range_dimension.value == shape[-2]
    assert operator.domain_dimension == shape[-1]
    assert operator.shape_tensor().numpy().tolist() == list(shape)
    assert operator.batch_shape_tensor().numpy().tolist() == list(shape[:-2])
    assert int(operator.tensor_rank_tensor()) == len(shape)
    assert int(operator.domain_dimension_tensor()) == shape[-1]
    assert int(operator.range_dimension_tensor()) == shape[-2]
    assert operator.dtype == row.dtype
    assert (
        operator.is_non_singular,
        operator.is_self_adjoint,
        operator.is_positive_definite,
        operator.is_square,
    ) == row.hints
    assert operator.graph_parents == []
    assert type(operator).__name__ in repr(operator)
    assert str(operator.shape) in repr(operator)


@pytest.mark.parametrize("row", ROWS.values(), ids=ROWS)
def test_an_operator_is_made_again_of_its_parameters(row):
    operator = row.operator(tf, tensors(row))
    again = type(operator)(**operator.parameters)
    close(again.to_dense(), operator.to_dense(), 0)
    assert again.name == operator.name


@pytest.mark.parametrize("row", ROWS.values(), ids=ROWS)
def test_tensors_inside_are_found_and_replaced(row):
    operator = row.operator(tf, tensors(row))
    parts = tf.nest.flatten(operator, expand_composites=True)
    assert all(isinstance(part, tf.Tensor) for part in parts)
    changed = [part if part.dtype.is_integer else part * 2 for part in parts]
    again = tf.nest.pack_sequence_as(operator, changed, expand_composites=True)
    assert type(again) is type(operator)
    found = tf.nest.flatten(again, expand_composites=True)
    assert [id(part) for part in found] == [id(part) for part in changed]


@pytest.mark.parametrize("row", ROWS.values(), ids=ROWS)
def test_what_is_true_is_not_refused(row):
    operator = row.operator(tf, tensors(row))
    dense = row.matrix(tf, tensors(row)).numpy()
    if operator.is_square and row.solvable:
        operator.assert_non_singular()
    if operator.is_square and np.array_equal(dense, np.swapaxes(dense, -1, -2).conj()):
        operator.assert_self_adjoint()
    if operator.is_positive_definite:
        operator.assert_positive_definite()


# Values


@pytest.mark.parametrize(("row", "method"), CASES)
def test_values(row, method):
    x = argument(row, method)
    close(of_operator(row, method, tensors(row), x), of_matrix(row, method, tensors(row), x))


@pytest.mark.parametrize("batch", [(), (2, 2), (1,)], ids=str)
@pytest.mark.parametrize(
    ("row", "method"), [c for c in CASES if c.values[1].side and c.values[1].side != "matrix"]
)
@pytest.mark.sampled(4)
def test_arguments_broadcast(row, method, batch):
    shape = tuple(row.matrix(tf, tensors(row)).shape)
    own = shape[:-2]
    if len(batch) == 2 and own:
        batch = (2, *own)
    x = argument(row, method, batch)
    close(of_operator(row, method, tensors(row), x), of_matrix(row, method, tensors(row), x))


@pytest.mark.parametrize(
    ("row", "method"), [case for case in DIFFERENTIABLE if "s" not in case.values[0].parameters]
)  # a spectrum does not say the dtype
@pytest.mark.sampled(8)
def test_single_precision(row, method):
    def narrowed(value):
        return tf.cast(value, tf.complex64 if value.dtype.is_complex else tf.float32)

    x = argument(row, method)
    single = {name: narrowed(value) for name, value in tensors(row).items()}
    found = of_operator(row, method, single, None if x is None else narrowed(x))
    assert found.dtype in (tf.float32, tf.complex64)
    wanted = of_matrix(row, method, tensors(row), argument(row, method))
    np.testing.assert_allclose(found, wanted, rtol=2e-3, atol=2e-3)


@pytest.mark.parametrize("name", [n for n, row in ROWS.items() if row.parameters])
def test_numpy_arrays_lists_and_variables_are_parameters(name):
    row, method = ROWS[name], METHODS["matmul"]
    wanted = of_matrix(row, method, tensors(row), argument(row, method))
    x = argument(row, method).numpy()
    close(of_operator(row, method, row.parameters, x), wanted)
    variables = {key: tf.Variable(value) for key, value in row.parameters.items()}
    operator = row.operator(tf, variables)
    close(method.of_operator(tf, operator, x), wanted)
    if name not in COMPUTED:
        assert {id(v) for v in operator.trainable_variables} == {id(v) for v in variables.values()}
    for variable in variables.values():
        variable.assign(variable * 1.5)
    if name not in COMPUTED:
        moved = {key: variable.read_value() for key, variable in variables.items()}
        close(method.of_operator(tf, operator, x), of_matrix(row, method, moved, tf.constant(x)))


COMPUTED = {
    "full matrix positive",
    "full matrix complex positive",
    "kronecker positive",
    "tridiag matrix",
    "circulant",
}
"""Rows whose operators have what was computed of the parameters, not the parameters."""


# Derivatives


def gradients(function, row, method, x):
    parameters = tensors(row)
    sources = [*parameters.values(), *([] if x is None else [x])]
    with tf.GradientTape() as tape:
        tape.watch(sources)
        result = weighted(function(row, method, parameters, x))
    return tape.gradient(result, sources, unconnected_gradients="zero")


@pytest.mark.parametrize(("row", "method"), DIFFERENTIABLE)
@pytest.mark.sampled(2)
def test_gradients(row, method):
    x = argument(row, method)
    for found, wanted in zip(
        gradients(of_operator, row, method, x), gradients(of_matrix, row, method, x), strict=True
    ):
        close(found, wanted, 1e-8)


@pytest.mark.parametrize(("row", "method"), DIFFERENTIABLE)
@pytest.mark.sampled(12)
def test_gradients_are_differences(row, method):
    x = argument(row, method)
    for index, found in enumerate(gradients(of_operator, row, method, x)):
        parameters = tensors(row)
        sources = [*parameters.values(), *([] if x is None else [x])]
        shape = tuple(sources[index].shape)
        complex_source = sources[index].dtype.is_complex
        step = complex_values(*shape, seed=5) if complex_source else values(*shape, seed=5)

        def moved(size, index=index, step=step, sources=sources, parameters=parameters):
            now = [s + size * step if i == index else s for i, s in enumerate(sources)]
            named = dict(zip(parameters, now, strict=False))
            return float(weighted(of_operator(row, method, named, now[-1] if x is not None else x)))

        difference = (moved(1e-6) - moved(-1e-6)) / 2e-6
        along = np.sum(np.real(np.conj(np.asarray(found)) * step))
        assert abs(along - difference) <= 1e-6 * (1 + abs(difference))


@pytest.mark.parametrize(("row", "method"), DIFFERENTIABLE)
@pytest.mark.sampled(12)
def test_second_order(row, method):
    x = argument(row, method)

    def of(function):
        parameters = tensors(row)
        sources = list(parameters.values())
        with tf.GradientTape() as outer:
            outer.watch(sources)
            with tf.GradientTape() as inner:
                inner.watch(sources)
                result = weighted(function(row, method, parameters, x))
            first = inner.gradient(result, sources, unconnected_gradients="zero")
            total = tf.add_n([weighted(g) for g in first])
        return outer.gradient(total, sources, unconnected_gradients="zero")

    for found, wanted in zip(of(of_operator), of(of_matrix), strict=True):
        close(found, wanted, 1e-6)


@pytest.mark.parametrize(("row", "method"), DIFFERENTIABLE)
@pytest.mark.sampled(8)
def test_forward_mode(row, method):
    x = argument(row, method)

    def of(function):
        parameters = tensors(row)
        sources = list(parameters.values())
        tangents = [
            tf.constant(complex_values(*s.shape, seed=9) if s.dtype.is_complex
                        else values(*s.shape, seed=9))
            for s in sources
        ]  # fmt: skip
        with tf.autodiff.ForwardAccumulator(sources, tangents) as accumulator:
            result = function(row, method, parameters, x)
        return accumulator.jvp(result, tf.UnconnectedGradients.ZERO)

    close(of(of_operator), of(of_matrix), 1e-8)


# Functions and batches


@pytest.mark.parametrize(("row", "method"), CASES)
@pytest.mark.sampled(40)
def test_a_function_equals_eager_code(row, method):
    x = argument(row, method)
    compiled = tf.function(
        lambda parameters, x: of_operator(row, method, parameters, x), jit_compile=True
    )
    close(compiled(tensors(row), x), of_operator(row, method, tensors(row), x))


@pytest.mark.parametrize("row", ROWS.values(), ids=ROWS)
@pytest.mark.sampled(4)
def test_operators_are_arguments_and_results_of_functions(row):
    operator = row.operator(tf, tensors(row))
    other = tf.function(lambda one: one.adjoint())(operator)
    assert type(other) is type(operator.adjoint())
    assert other.shape == operator.adjoint().shape
    assert other.is_self_adjoint == operator.is_self_adjoint
    close(other.to_dense(), operator.adjoint().to_dense())


@pytest.mark.parametrize(("row", "method"), DIFFERENTIABLE)
@pytest.mark.sampled(10)
def test_vectorized_map(row, method):
    x = argument(row, method)
    stacked = {name: tf.stack([v, v * 1.1]) for name, v in tensors(row).items()}
    found = tf.vectorized_map(lambda p: of_operator(row, method, p, x), stacked)
    for i in range(2):
        one = {name: v[i] for name, v in stacked.items()}
        close(found[i], of_operator(row, method, one, x))


@pytest.mark.parametrize(
    "row", [row for row in ROWS.values() if len(row.matrix(tf, tensors(row)).shape) > 2],
    ids=[name for name, row in ROWS.items() if len(row.matrix(tf, tensors(row)).shape) > 2],
)  # fmt: skip
@pytest.mark.parametrize("key", [0, -1, slice(1, None), Ellipsis, (None, 0), (slice(None), ...)],
                         ids=str)  # fmt: skip
def test_slices_of_batches(row, key):
    operator = row.operator(tf, tensors(row))
    whole = key if isinstance(key, tuple) else (key,)
    if Ellipsis not in whole:
        whole = (*whole, Ellipsis)
    found = operator[key]
    assert type(found) is type(operator)
    wanted = row.matrix(tf, tensors(row)).numpy()[(*whole, slice(None), slice(None))]
    close(found.to_dense(), wanted)


# The table itself


def test_every_class_has_a_row():
    made = {type(row.operator(tf, tensors(row))).__name__ for row in ROWS.values()}
    every = {name for name in dir(tf.linalg) if name.startswith("LinearOperator")}
    assert every - made == {"LinearOperator"}


def wrong(row, change):
    """A row whose operator differs from its matrix."""
    return row._replace(make=lambda tf, *p: change(row.make(tf, *p)))


@pytest.mark.parametrize("which", ["matmul", "solve", "trace", "to_dense", "determinant"])
def test_a_wrong_operator_is_found(which):
    row = ROWS["diag"]

    class Wrong(tf.linalg.LinearOperatorDiag):
        def _matmul(self, x, adjoint=False, adjoint_arg=False):
            return super()._matmul(x, adjoint, adjoint_arg) + 1e-3

        def _solve(self, rhs, adjoint=False, adjoint_arg=False):
            return super()._solve(rhs, adjoint, adjoint_arg) * 1.001

        def _trace(self):
            return super()._trace() + 1e-6

        def _to_dense(self):
            return super()._to_dense()[..., ::-1]

        def _determinant(self):
            return -super()._determinant()

    bad = wrong(row, lambda operator: Wrong(operator.diag))
    with pytest.raises(AssertionError):
        test_values(bad, METHODS[which])


def test_a_wrong_gradient_is_found():
    @tf.custom_gradient
    def twice_the_gradient(d):
        return tf.identity(d), lambda g: 2 * g

    row = ROWS["diag"]
    bad = row._replace(make=lambda tf, d: row.make(tf, twice_the_gradient(d)))
    for check in (test_gradients, test_gradients_are_differences):
        with pytest.raises(AssertionError):
            check(bad, METHODS["matmul"])
