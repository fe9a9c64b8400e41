"""The columns of the op test table: what is checked for every row of every family."""

from __future__ import annotations

import importlib
import pkgutil
from collections import Counter
from contextlib import contextmanager, nullcontext
from itertools import product

import ml_dtypes
import numpy as np
import pytest

import gradtape.ops
from gradtape import dtypes
from gradtape.core.tape import GradientTape
from gradtape.core.tensor import Tensor
from gradtape.ops.op import Op
from gradtape.ops.registry import registry

from . import checks
from .table import COMPLEX, FLOATS, HALF, Case, Sample, all_cases

CASES = all_cases()
DIFFERENTIABLE = [case for case in CASES if case.orders]
EVERYDAY = ("float32", "float64", "complex128", "int32", "bool")


def params(cases, dtypes_of, *, everyday=lambda i, dtype: True):
    """One test for each case, sample and dtype; what `everyday` leaves out is slow."""
    return [
        pytest.param(
            case,
            one,
            dtype,
            id=f"{case.name}:{one.label} {dtype}",
            marks=() if everyday(i, dtype) else pytest.mark.slow,
        )
        for case in cases
        for i, one in enumerate(case.samples)
        for dtype in dtypes_of(case, one)
    ]


def in_double(case: Case, one: Sample) -> list[str]:
    """Where derivatives are checked."""
    return [
        dtype for dtype in ("float64", "complex128") if dtype in case.dtypes_of(one) and one.wanted
    ]


def derivatives(*, orders: int = 1):
    """Derivatives with complex numbers are checked every day for the first sample only."""
    cases = [case for case in CASES if case.orders >= orders]
    return pytest.mark.parametrize(
        ("case", "one", "dtype"),
        params(cases, in_double, everyday=lambda i, dtype: i == 0 or dtype == "float64"),
    )


def widest(case: Case, one: Sample) -> str:
    """The dtype for what need not be checked in several: double precision if the sample has it."""
    given = case.dtypes_of(one)
    return next((dtype for dtype in ("float64", "complex128") if dtype in given), given[0])


def first_samples():
    return pytest.mark.parametrize(
        ("case", "one", "dtype"),
        [
            pytest.param(case, case.samples[0], widest(case, case.samples[0]), id=case.name)
            for case in CASES
        ],
    )


# The table itself


def test_every_registered_op_has_one_row():
    for module in pkgutil.iter_modules(gradtape.ops.__path__, "gradtape.ops."):
        importlib.import_module(module.name)
    rows = Counter(case.name for case in CASES)
    assert set(registry) - set(rows) == set()
    assert set(rows) - set(registry) == set()
    assert [name for name, count in rows.items() if count > 1] == []


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_row_stands_in_the_file_of_its_family(case):
    family = importlib.import_module(f"gradtape.ops.{case.family}")
    assert case.op in vars(family).values()


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_row_runs_its_op(case):
    """The op's kernel runs; a row with a gradient records a Node of the op itself."""
    one = case.samples[0]
    tensors = checks.as_tensors(case.make(one, widest(case, one)))
    op = case.op.op
    assert registry[case.name] is op
    with kernel_calls(op) as calls, GradientTape(persistent=True) as tape:
        tape.watch([tensors[i] for i in one.wanted] if case.orders else [])
        results = checks.as_list(case.function(one)(*tensors))
    assert calls
    if case.orders:
        assert checks.node_of(results).rule.name == case.name


@contextmanager
def kernel_calls(op: Op):
    """Counts the calls of an op's kernel, also from the code that was written for it."""
    calls: list[str] = []
    kernel = op.kernel

    def counted(*args, **params):
        calls.append(op.name)
        return kernel(*args, **params)

    places = [op.__dict__] + (
        [op.call.__globals__] if op.call.__globals__.get("kernel") is kernel else []
    )
    for place in places:
        place["kernel"] = counted
    try:
        yield calls
    finally:
        for place in places:
            place["kernel"] = kernel


# Values


TOLERANCE = {
    "float32": 2e-6,
    "float64": 1e-12,
    "complex64": 2e-6,
    "complex128": 1e-12,
    "float16": 1e-3,
    "bfloat16": 8e-3,
}


@pytest.mark.parametrize(
    ("case", "one", "dtype"),
    params(
        CASES,
        Case.dtypes_of,
        everyday=lambda i, dtype: dtype in EVERYDAY or (i == 0 and dtype in HALF),
    ),
)
def test_value_and_dtype(case, one, dtype):
    args = case.make(one, dtype)
    tolerance = TOLERANCE.get(dtype, 0)
    with np.errstate(all="ignore"):
        expected = checks.as_list(case.reference(*[_doubled(arg) for arg in args], **one.params))
    results = checks.as_list(case.function(one)(*checks.as_tensors(args)))
    assert len(results) == len(expected)
    for result, reference in zip(results, expected, strict=True):
        assert type(result) is Tensor
        wanted = result_dtype(case, one, dtype, np.asarray(reference))
        assert result.array.dtype == wanted, (
            f"the result has dtype {result.array.dtype}, expected {wanted}"
        )
        checks.assert_close(result.array, reference, case.name, rtol=tolerance, atol=tolerance)


def _doubled(arg):
    """Floats in double precision, everything else as it is."""
    if not checks.is_array(arg) or arg.dtype not in dtypes.TRAINABLE:
        return arg
    return arg.astype(np.complex128 if arg.dtype.kind == "c" else np.float64)


def result_dtype(case: Case, one: Sample, dtype: str, reference: np.ndarray) -> np.dtype:
    """The reference's dtype, with the column's precision in the place of double precision."""
    if case.result is not None:
        return dtypes.as_dtype(case.result(dtype, one.params)).numpy
    if dtype not in (*FLOATS, *COMPLEX):
        return reference.dtype
    column = dtypes.as_dtype(dtype)
    if reference.dtype == np.float64:
        return column.real_dtype.numpy
    if reference.dtype == np.complex128:
        return column.numpy if column.is_complex else np.result_type(column.numpy, np.complex64)
    return reference.dtype


@pytest.mark.parametrize(
    ("case", "one", "dtype"),
    params(CASES, lambda case, one: [widest(case, one)], everyday=lambda i, dtype: i == 0),
)
def test_memory_layouts(case, one, dtype):
    checks.check_layouts(
        case.function(one), case.make(one, dtype), one.wanted if case.orders else []
    )


@first_samples()
def test_arguments_are_not_written_into(case, one, dtype):
    checks.check_unmodified(
        case.function(one), case.make(one, dtype), one.wanted if case.orders else []
    )


@first_samples()
def test_plain_arrays_and_variables(case, one, dtype):
    checks.check_other_kinds(
        case.function(one), case.make(one, dtype), one.wanted if case.orders else []
    )


# Derivatives


@derivatives()
def test_jvp(case, one, dtype):
    checks.check_jvp(case.function(one), case.make(one, dtype), one.wanted)


@derivatives()
def test_gradient(case, one, dtype):
    checks.check_gradient(case.function(one), case.make(one, dtype), one.wanted)


@derivatives()
def test_adjoint_identity(case, one, dtype):
    checks.check_adjoint(case.function(one), case.make(one, dtype), one.wanted)


@pytest.mark.sampled(5)
@derivatives(orders=2)
@pytest.mark.parametrize(("outer", "inner_mode"), list(product(["reverse", "forward"], repeat=2)))
def test_second_order(case, one, dtype, outer, inner_mode):
    checks.check_second_order(
        case.function(one), case.make(one, dtype), one.wanted, outer=outer, inner_mode=inner_mode
    )


@pytest.mark.parametrize(
    ("case", "one", "dtype"),
    params(
        DIFFERENTIABLE,
        lambda case, one: [
            d for d in case.dtypes_of(one) if d in ("float32", "complex64", *HALF) and one.wanted
        ],
        everyday=lambda i, dtype: i == 0,
    ),
)
def test_gradient_dtype(case, one, dtype):
    rounding = float(ml_dtypes.finfo(dtypes.as_dtype(dtype).real_dtype.numpy).eps)
    checks.check_gradient_dtype(
        case.function(one), case.make(one, dtype), one.wanted, rtol=16 * rounding
    )


@pytest.mark.parametrize(
    "case",
    [case for case in DIFFERENTIABLE if len(case.samples[0].wanted) > 1],
    ids=lambda case: case.name,
)
def test_mixed_dtypes(case):
    """Tensors of unlike dtypes meet in the wider one,
    and each gradient comes back in its argument's own dtype.
    """
    one = case.samples[0]
    args = case.make(one, "float64")
    args[one.wanted[0]] = args[one.wanted[0]].astype(np.float32)
    tensors = checks.as_tensors(args)
    cotangents = [
        Tensor(np.ones(v.shape, v.dtype)) for v in checks.values(case.function(one), args)
    ]
    assert {c.array.dtype for c in cotangents} <= {np.dtype(np.float64), np.dtype(np.complex128)}
    gradients = checks.pulled(case.function(one), tensors, one.wanted, cotangents)
    assert [g.array.dtype for g in gradients] == [args[i].dtype for i in one.wanted]


@pytest.mark.parametrize(
    ("case", "one", "index"),
    [
        pytest.param(case, one, i, id=f"{case.name}:{one.label} argument {i}")
        for case in CASES
        for one in case.samples
        for i, arg in enumerate(one.args)
        if arg.value is None
        and "float64" in ((arg.dtype,) if arg.dtype else case.dtypes)
        and (not case.orders or not arg.differentiable)
    ],
)
def test_no_gradient_is_none(case, one, index):
    refused = (
        pytest.raises(case.refuses)
        if case.refuses and one.args[index].differentiable
        else nullcontext()
    )
    with refused:
        checks.check_without_gradient(case.function(one), case.make(one, "float64"), index)


# Batching


BATCHES = [case for case in CASES if case.batches]


@pytest.mark.parametrize(
    ("case", "one", "dtype"), params(BATCHES, lambda case, one: [widest(case, one)])
)
def test_batching(case, one, dtype):
    checks.check_batching(
        case.function(one), [case.make(one, dtype, example) for example in range(3)]
    )


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("case", "one", "dtype"),
    params(
        [case for case in BATCHES if case.orders],
        lambda case, one: [widest(case, one)] if one.wanted else [],
    ),
)
def test_batched_gradient(case, one, dtype):
    checks.check_batched_gradient(
        case.function(one), [case.make(one, dtype, example) for example in range(2)], one.wanted
    )


# What stays alive


def recorded_samples(cases):
    """The samples of which NumPy makes arrays and no scalars, since a scalar cannot be followed."""
    return [
        p
        for p in params(cases, in_double)
        if all(a.shape and 0 not in a.shape for a in p.values[1].args if a.value is None)
    ]


@pytest.mark.parametrize(("case", "one", "dtype"), recorded_samples(DIFFERENTIABLE))
def test_kept_alive(case, one, dtype):
    checks.check_kept_alive(case.op.op, case.function(one), case.make(one, dtype), one.wanted)


@pytest.mark.parametrize(
    ("case", "one", "dtype"), [recorded_samples([case])[0] for case in DIFFERENTIABLE]
)
def test_saved_is_needed(case, one, dtype):
    """In the first sample: with other parameters a rule may need less,
    such as a product over no axes.
    """
    checks.check_saved_is_needed(case.op.op, case.function(one), case.make(one, dtype), one.wanted)


# Special values and errors


@pytest.mark.parametrize(
    ("case", "special"),
    [
        pytest.param(case, s, id=f"{case.name}-{i}")
        for case in CASES
        for i, s in enumerate(case.specials)
    ],
)
def test_special_value(case, special):
    args = [arg if checks.is_array(arg) else np.asarray(arg, np.float32) for arg in special.args]
    tensors = checks.as_tensors(args)
    followed = [t for t in tensors if t.array.dtype in dtypes.TRAINABLE]
    with GradientTape() as tape:
        tape.watch(followed)
        results = checks.as_list(case.op(*tensors, **special.params))
    if special.gives is not None:
        for result, expected in zip(
            results,
            checks.as_list(special.gives) if len(results) > 1 else [special.gives],
            strict=True,
        ):
            checks.assert_close(
                result.array, expected, f"{case.name} of {special.args}", rtol=1e-6, atol=1e-7
            )
    if special.gradient is not None:
        wanted = special.gradient if isinstance(special.gradient, tuple) else (special.gradient,)
        gradients = tape.gradient(results, tensors[: len(wanted)])
        for i, (gradient, expected) in enumerate(zip(gradients, wanted, strict=True)):
            what = f"gradient of argument {i} of {case.name} at {special.args}"
            if expected is None:
                assert gradient is None, what
            else:
                assert gradient is not None, f"{what}: None"
                checks.assert_close(
                    checks.operand(gradient).array, expected, what, rtol=1e-6, atol=1e-7
                )


@pytest.mark.parametrize(
    ("case", "failure"),
    [
        pytest.param(case, f, id=f"{case.name}-{i}")
        for case in CASES
        for i, f in enumerate(case.failures)
    ],
)
def test_error(case, failure):
    with pytest.raises(failure.error) as raised:
        case.op(*checks.as_tensors(failure.args), **failure.params)
    assert raised.type is failure.error, f"{raised.type.__name__}: {raised.value}"
    message = str(raised.value)
    for part in failure.says or [case.name]:
        assert part in message, message
