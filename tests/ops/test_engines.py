"""The column of engines: NumPy and XLA agree for every op, in value, dtype,
gradient and second order.

Each sample is one program, traced and compiled as `gradtape.function` does it, so this column is
"compiled equals eager" too.
"""

from __future__ import annotations

import jax
import numpy as np
import pytest

from gradtape import dtypes
from gradtape.convert import operand
from gradtape.core.tape import GradientTape
from gradtape.core.tensor import Tensor
from gradtape.core.xla.tensor import XlaTensor
from gradtape.engines.xla import settings as xla_settings
from gradtape.ops.arithmetic import sign
from gradtape.ops.reductions import reduce_sum
from gradtape.ops.registry import registry
from gradtape.ops.shaping import concat

from . import checks
from .table import HALF, Case, Sample
from .test_table import CASES, params, widest

DATA_DEPENDENT = frozenset(case.name for case in CASES if not case.batches)

TOLERANCE = {
    "float32": 2e-5,
    "float64": 1e-9,
    "complex64": 2e-5,
    "complex128": 1e-9,
    "float16": 4e-3,
    "bfloat16": 8e-2,
}


def results(case: Case, one: Sample, tensors: list) -> list:
    """All outputs, the gradients by the wanted arguments, and the gradients of those in turn."""
    wanted = [tensors[i] for i in one.wanted] if case.orders else []
    with GradientTape(persistent=True, watch_accessed_variables=False) as outer:
        outer.watch(wanted)
        with GradientTape(watch_accessed_variables=False) as inner:
            inner.watch(wanted)
            out = checks.as_list(case.function(one)(*tensors))
            if case.name == "svd":
                out = with_fixed_signs(*out)
            elif case.name == "eigh":
                out = [out[0], out[1] * _signs(out[1])]
        targets = [o for o in out if o.array.dtype in dtypes.TRAINABLE]
        weights = [_weights(o.array) for o in targets]
        first = inner.gradient(targets, wanted, output_gradients=weights) if wanted else []
        first = [None if g is None else operand(g) for g in first]
        followed = [g for g in first if g is not None]
    second = []
    if case.orders > 1 and followed:
        second = outer.gradient(
            followed, wanted, output_gradients=[_weights(g.array) for g in followed]
        )
    return [*out, *first, *(None if g is None else operand(g) for g in second)]


def with_fixed_signs(values: Tensor, left: Tensor, right: Tensor) -> list:
    """Singular vectors with signs that do not depend on the engine: a pair of them may be turned
    round, and each beyond the pairs.
    """
    count = values.array.shape[-1]
    signs = _signs(left[..., :count])
    return [
        values,
        concat(
            left[..., :count] * signs,
            left[..., count:] * _signs(left[..., count:]),
            axis=left.array.ndim - 1,
        ),
        concat(
            right[..., :count] * signs,
            right[..., count:] * _signs(right[..., count:]),
            axis=right.array.ndim - 1,
        ),
    ]


def _signs(vectors: Tensor) -> Tensor:
    """On which side of a plane that has none of them in it the vectors are."""
    normal = np.cos(np.arange(vectors.array.shape[-2]) + 0.5)[:, None].astype(vectors.array.dtype)
    return sign(reduce_sum(vectors * Tensor(normal), axis=(vectors.array.ndim - 2,), keepdims=True))


def _weights(array) -> Tensor:
    """Fixed weights that give every element its own share."""
    count = int(np.prod(array.shape))
    return Tensor(np.asarray(np.cos(np.arange(count)).reshape(array.shape)).astype(array.dtype))


def _largest(results: list) -> float:
    """The largest finite number of all results: what half precision loses by cancelling is measured
    by it.
    """
    arrays = [np.abs(r.array.astype(np.complex128)) for r in results if r is not None]
    return max([1.0, *(float(a[np.isfinite(a)].max(initial=0)) for a in arrays)])


def compiled(case: Case, one: Sample, args: list) -> list:
    """The same as one XLA program."""
    arrays = [arg for arg in args if checks.is_array(arg)]
    missing: list[bool] = []

    def program(*given):
        left = iter(given)
        tensors = [XlaTensor(next(left)) if checks.is_array(arg) else arg for arg in args]
        found = results(case, one, tensors)
        missing[:] = [r is None for r in found]
        return [r.array for r in found if r is not None]

    with xla_settings.wide():
        present = iter(jax.jit(program)(*arrays))
        return [None if absent else np.asarray(next(present)) for absent in missing]


def dtypes_to_try(case: Case, one: Sample) -> list[str]:
    """In single precision, rounding decides about the sign of an eigenvector:
    those are compared in double precision alone.
    """
    others = [] if case.name == "eig" else ["float32", "bfloat16", "int32"]
    return [
        dtype
        for dtype in dict.fromkeys([widest(case, one), *others])
        if dtype in case.dtypes_of(one)
    ]


@pytest.mark.sampled(5)
@pytest.mark.parametrize(
    ("case", "one", "dtype"),
    params(
        [case for case in CASES if case.name not in DATA_DEPENDENT],
        dtypes_to_try,
        everyday=lambda i, dtype: i == 0 and dtype in ("float64", "complex128", "int32", "bool"),
    ),
)
def test_engines_agree(case, one, dtype):
    args = case.make(one, dtype)
    expected = results(case, one, checks.as_tensors(args))
    found = compiled(case, one, args)
    tolerance = TOLERANCE.get(dtype, 0)
    assert [f is None for f in found] == [e is None for e in expected]
    for i, (actual, tensor) in enumerate(zip(found, expected, strict=True)):
        if tensor is not None:
            assert actual.dtype == tensor.array.dtype, (
                f"result {i} has dtype {actual.dtype}, NumPy's {tensor.array.dtype}"
            )
            largest = _largest(expected) if dtype in HALF else 1.0
            checks.assert_close(
                actual,
                tensor.array,
                f"result {i} of {case.name}",
                rtol=tolerance,
                atol=tolerance * largest,
            )


@pytest.mark.parametrize(
    "one",
    [
        one
        for case in CASES
        if case.name == "svd"
        for one in case.samples
        if not one.params.get("full")
    ],
    ids=lambda one: one.label,
)
def test_singular_vectors_are_compared_but_for_their_signs(one, monkeypatch):
    """Each pair is turned round, as on another machine it may be; a pair of which only one is
    turned is another result.
    """
    kernel = registry["svd"].xla_kernel
    (case,) = [case for case in CASES if case.name == "svd"]

    def turned(x, left, right):
        values, u, v = kernel(x)
        return [values, u * left, v * right]

    monkeypatch.setitem(registry["svd"].__dict__, "xla_kernel", lambda x, **_: turned(x, -1, -1))
    test_engines_agree(case, one, "float64")
    monkeypatch.setitem(registry["svd"].__dict__, "xla_kernel", lambda x, **_: turned(x, -1, 1))
    if np.prod(case.make(one, "float64")[0].shape):
        with pytest.raises(AssertionError):
            test_engines_agree(case, one, "float64")
