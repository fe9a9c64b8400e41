"""Public functions in a compiled function: the samples of `tests_tf`, values and gradients,
against eager code on NumPy.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

import gradtape
from gradtape.core.sparse_tensor import SparseTensor
from gradtape.core.tensor import Tensor
from gradtape.engines.xla.engine import NotTraceableError

sys.path.append(str(Path(__file__).parents[3] / "tests_tf"))

from derivatives import weighted
from table import Row, all_rows

# Relative to the largest number of a result; 1e-4 for the others.
TOLERANCE = {"float64": 1e-8, "complex128": 1e-8}

SHAPE_DEPENDS_ON_VALUES = {
    "tf.boolean_mask", "tf.boolean_mask[matrix]", "tf.broadcast_dynamic_shape",
    "tf.dynamic_partition", "tf.math.bincount", "tf.math.bincount[axis]",
    "tf.math.bincount[length]", "tf.math.bincount[weights]", "tf.math.confusion_matrix",
    "tf.math.segment_max", "tf.math.segment_max[ties]", "tf.math.segment_mean",
    "tf.math.segment_min", "tf.math.segment_min[ties]", "tf.math.segment_prod",
    "tf.math.segment_prod[zeros]", "tf.math.segment_sum", "tf.sequence_mask[dtype]",
    "tf.sparse.add", "tf.sparse.from_dense", "tf.unique", "tf.where[indices]",
}  # fmt: skip
"""Rows whose result has a shape that only their values tell."""

LOOKS_AT_VALUES = {
    "tf.executing_eagerly", "tf.get_static_value", "tf.image.random_crop", "tf.inside_function",
    "tf.is_symbolic_tensor", "tf.is_tensor",
}  # fmt: skip
"""Rows that ask in Python for what a program has only when it runs, or whether there is one; so do
the rows of random numbers, which have tests of their own.
"""

ROWS = [
    row
    for row in all_rows()
    if row.label not in LOOKS_AT_VALUES and not row.symbol.startswith("tf.random.")
]


def results(row: Row, inputs: list) -> list:
    """All results and the gradients of their weighted sum by the arguments that are
    differentiated.
    """
    sources = [inputs[i] for i in row.wanted]
    with gradtape.GradientTape() as tape:
        tape.watch(sources)
        found = gradtape.nest.flatten(row(gradtape, *inputs))
        total = weighted(gradtape, found, 0) if sources else None
    gradients = [None] * len(sources) if total is None else tape.gradient(total, sources)
    return [part for result in (*found, *gradients) for part in parts(result)]


def parts(result) -> list:
    """The tensors of a result; what is no tensor stays as it is."""
    if isinstance(result, SparseTensor):
        return [result.indices, result.values]
    return [
        gradtape.convert_to_tensor(result) if isinstance(result, gradtape.IndexedSlices) else result
    ]


def compiled(row: Row, arrays: list) -> list:
    """The same in one program; what is no tensor comes from the trace."""
    others: list = []

    @gradtape.function(autograph=False, jit_compile=True)
    def program(tensors):
        left = iter(tensors)
        found = results(row, [next(left) if isinstance(a, np.ndarray) else a for a in arrays])
        others[:] = [None if isinstance(f, Tensor) else f for f in found]
        return [f if isinstance(f, Tensor) else None for f in found]

    found = program([gradtape.constant(a) for a in arrays if isinstance(a, np.ndarray)])
    return [other if f is None else f for f, other in zip(found, others, strict=True)]


def assert_same(found, expected) -> None:
    if not isinstance(expected, Tensor):
        assert found == expected
        return
    a, b = np.asarray(found.numpy()), np.asarray(expected.numpy())
    assert a.dtype == b.dtype
    assert a.shape == b.shape
    if b.dtype.kind in "fc":
        tolerance = TOLERANCE.get(b.dtype.name, 1e-4)
        largest = np.abs(b[np.isfinite(b)]).max(initial=1)
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance * largest)
    else:
        np.testing.assert_array_equal(a, b)


def widest(row: Row) -> str:
    return next(
        (dtype for dtype in ("complex128", "float64") if dtype in row.dtypes), row.dtypes[0]
    )


@pytest.mark.sampled(6)
@pytest.mark.parametrize(
    "row",
    [
        pytest.param(row, id=row.label, marks=pytest.mark.slow if row.note else ())
        for row in ROWS
        if row.label not in SHAPE_DEPENDS_ON_VALUES
    ],
)
def test_compiled_is_eager(row):
    arrays = row.arrays(widest(row))
    expected = results(
        row, [gradtape.constant(a) if isinstance(a, np.ndarray) else a for a in arrays]
    )
    for found, wanted in zip(compiled(row, arrays), expected, strict=True):
        assert_same(found, wanted)


@pytest.mark.parametrize(
    "row", [pytest.param(row, id=row.label) for row in ROWS if row.label in SHAPE_DEPENDS_ON_VALUES]
)
def test_a_shape_that_depends_on_values_is_refused(row):
    with pytest.raises(NotTraceableError, match=r"function|compiled program"):
        compiled(row, row.arrays(widest(row)))


def test_the_tables_name_only_rows():
    assert SHAPE_DEPENDS_ON_VALUES | LOOKS_AT_VALUES <= {row.label for row in all_rows()}


def test_the_comparison_sees_a_difference():
    x = gradtape.constant([1.0, 2.0])
    for other in ([1.0, 2.001], [[1.0, 2.0]], [1.0, np.nan]):
        with pytest.raises(AssertionError):
            assert_same(gradtape.constant(other), x)
    with pytest.raises(AssertionError):
        assert_same(gradtape.cast(x, "float64"), x)


# Functions without a row, in cases where their values are not known


@pytest.mark.parametrize(
    "call",
    [
        lambda x, ids: gradtape.math.bincount(ids, minlength=5, maxlength=5),
        lambda x, ids: gradtape.math.bincount(ids, weights=x[:, 0], minlength=2, maxlength=2),
        lambda x, ids: gradtape.math.confusion_matrix(ids, ids[::-1], num_classes=4),
        lambda x, ids: gradtape.sequence_mask(ids, 5),
        lambda x, ids: gradtape.sparse.segment_mean(x, ids // 2, [0, 0, 1], num_segments=3),
        lambda x, ids: gradtape.sparse.segment_sqrt_n(x, [0, 2, 1], ids, num_segments=4),
        lambda x, ids: (
            gradtape.linalg.experimental.conjugate_gradient(
                gradtape.matmul(x, x, transpose_b=True), x[:, 0]
            ).x
        ),
    ],
)
def test_with_a_size_that_is_given(call):
    x, ids = (
        gradtape.constant([[2.0, 0.5, 0.1], [0.5, 3.0, 0.2], [0.1, 0.2, 1.0]]),
        gradtape.constant([0, 1, 3]),
    )
    assert_same(gradtape.function(call, autograph=False)(x, ids), call(x, ids))


@pytest.mark.parametrize(
    "call",
    [
        lambda sp, x: gradtape.sparse.to_dense(gradtape.sparse.reshape(sp, [3, 2])),
        lambda sp, x: gradtape.sparse.to_dense(gradtape.sparse.expand_dims(sp, 1)),
        lambda sp, x: gradtape.sparse.to_dense(gradtape.sparse.concat(1, [sp, sp])),
        lambda sp, x: gradtape.sparse.to_dense(sp, validate_indices=False),
        lambda sp, x: gradtape.sparse.to_dense(gradtape.sparse.map_values(gradtape.add, sp, sp)),
        lambda sp, x: gradtape.sparse.to_indicator(
            sp.with_values(gradtape.cast(sp.indices[:, 1], "int64")), 4
        ),
        lambda sp, x: gradtape.sparse.reduce_max(sp, axis=1),
        lambda sp, x: (sp * x).values,
        lambda sp, x: gradtape.sparse.sampled_addmm(sp.indices, sp.values, [2, 3], x[:, :1], x[:1])[
            1
        ],
        lambda sp, x: gradtape.nn.embedding_lookup_sparse(
            x, sp.with_values(sp.indices[:, 0]), None, combiner="sqrtn"
        ),
        lambda sp, x: gradtape.nn.ctc_loss(
            sp.with_values(gradtape.cast(sp.indices[:, 1], "int32")),
            gradtape.zeros([4, 2, 3]),
            None,
            [4, 3],
            blank_index=-1,
        ),
    ],
)
def test_sparse_tensors_with_places_that_are_traced(call):
    def of_parts(indices, values, x):
        return call(SparseTensor(indices, values, [2, 3]), x)

    arguments = [
        gradtape.constant([[0, 1], [1, 0], [1, 2]], "int64"),
        gradtape.constant([1.0, -2.0, 3.0]),
    ]
    arguments.append(gradtape.constant([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]))
    assert_same(gradtape.function(of_parts, autograph=False)(*arguments), of_parts(*arguments))


def test_a_function_knows_that_it_is_traced():
    seen = []

    @gradtape.function(autograph=False)
    def program(x):
        seen.append(
            (
                gradtape.executing_eagerly(),
                gradtape.inside_function(),
                gradtape.is_symbolic_tensor(x),
                gradtape.get_static_value(x),
            )
        )
        return x

    program(gradtape.constant(1.0))
    assert seen == [(False, True, True, None)]


def test_check_numerics_refuses_in_a_program():
    program = gradtape.function(
        lambda x: gradtape.debugging.check_numerics(x, "weights") * 2.0, autograph=False
    )
    assert_same(program(gradtape.constant([1.0])), gradtape.constant([2.0]))
    with pytest.raises(gradtape.errors.InvalidArgumentError, match="weights"):
        program(gradtape.constant([np.nan]))
