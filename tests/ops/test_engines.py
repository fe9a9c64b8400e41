"""The column of engines: NumPy and XLA agree for every op, in value, dtype, gradient and second order.

Each sample is one program, traced and compiled as `gradtape.function` does it, so this column is "compiled equals eager" too.
"""

from __future__ import annotations

import jax
import numpy as np
import pytest

from gradtape import dtypes
from gradtape.core.tape import GradientTape
from gradtape.core.tensor import Tensor
from gradtape.core.xla_tensor import XlaTensor
from gradtape.engines import xla_engine
from gradtape.ops.op import operand

from . import checks
from .table import HALF, Case, Sample
from .test_table import CASES, params, widest

DATA_DEPENDENT = frozenset(case.name for case in CASES if not case.batches)

TOLERANCE = {"float32": 2e-5, "float64": 1e-9, "complex64": 2e-5, "complex128": 1e-9, "float16": 4e-3, "bfloat16": 8e-2}


def results(case: Case, one: Sample, tensors: list) -> list:
    """All outputs, the gradients by the wanted arguments, and the gradients of those in turn."""
    wanted = [tensors[i] for i in one.wanted] if case.orders else []
    with GradientTape(persistent=True, watch_accessed_variables=False) as outer:
        outer.watch(wanted)
        with GradientTape(watch_accessed_variables=False) as inner:
            inner.watch(wanted)
            out = checks.as_list(case.function(one)(*tensors))
        targets = [o for o in out if o.array.dtype in dtypes.TRAINABLE]
        weights = [_weights(o.array) for o in targets]
        first = inner.gradient(targets, wanted, output_gradients=weights) if wanted else []
        first = [None if g is None else operand(g) for g in first]
        followed = [g for g in first if g is not None]
    second = []
    if case.orders > 1 and followed:
        second = outer.gradient(followed, wanted, output_gradients=[_weights(g.array) for g in followed])
    return [*out, *first, *(None if g is None else operand(g) for g in second)]


def _weights(array) -> Tensor:
    """Fixed weights that give every element its own share."""
    count = int(np.prod(array.shape))
    return Tensor(np.asarray(np.cos(np.arange(count)).reshape(array.shape)).astype(array.dtype))


def _largest(results: list) -> float:
    """The largest finite number of all results: what half precision loses by cancelling is measured by it."""
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

    with xla_engine.wide():
        present = iter(jax.jit(program)(*arrays))
        return [None if absent else np.asarray(next(present)) for absent in missing]


def dtypes_to_try(case: Case, one: Sample) -> list[str]:
    """In single precision, rounding decides about the sign of an eigenvector: those are compared in double precision alone."""
    others = [] if case.name == "eig" else ["float32", "bfloat16", "int32"]
    return [dtype for dtype in dict.fromkeys([widest(case, one), *others]) if dtype in case.dtypes_of(one)]


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
    if any(checks.is_array(arg) and arg.dtype.kind == "O" for arg in args):
        pytest.skip("XLA has no strings")
    expected = results(case, one, checks.as_tensors(args))
    found = compiled(case, one, args)
    tolerance = TOLERANCE.get(dtype, 0)
    assert [f is None for f in found] == [e is None for e in expected]
    for i, (actual, tensor) in enumerate(zip(found, expected, strict=True)):
        if tensor is not None:
            assert actual.dtype == tensor.array.dtype, f"result {i} has dtype {actual.dtype}, NumPy's {tensor.array.dtype}"
            largest = _largest(expected) if dtype in HALF else 1.0
            checks.assert_close(actual, tensor.array, f"result {i} of {case.name}", rtol=tolerance, atol=tolerance * largest)
