"""What a row of the op test table is, and all rows.

A row is a `Case`: an op, a NumPy reference, and samples of arguments to try it with. `test_table`
makes the columns from it: values, dtypes, derivatives, what stays alive, and so on. Rows live in
`rows_<family>.py`, one file for each `gradtape.ops.<family>`, in a list named ROWS:

    unary(elementary.exp, np.exp, dtypes=FLOATS + COMPLEX)
    Case(reductions.cumsum, np.cumsum, [sample(real(2, 3), axis=1)])

References are run in double precision on the very numbers that the op gets, and rounded to the
dtype of the column.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from importlib import import_module
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np

from gradtape import dtypes
from gradtape.errors import InvalidArgumentError

HALF = ("float16", "bfloat16")
FLOATS = ("float32", "float64", *HALF)
COMPLEX = ("complex64", "complex128")
INTS = ("int32", "int64", "int8", "int16", "uint8", "uint16", "uint32", "uint64")
BOOL = ("bool",)


@dataclass(frozen=True)
class Arg:
    """One argument of a sample: random numbers from `low` to `high` in the column's dtype,
    or in a `dtype` of its own.

    For complex dtypes, both parts are from that range. A `value` is taken as it is. Only an
    argument of the column's dtype can be `differentiable`; the gradient by one that is not must be
    None.
    """

    shape: tuple[int, ...] = ()
    low: float = -2.0
    high: float = 2.0
    dtype: str | None = None
    differentiable: bool = True
    value: Any = None

    def make(self, rng: np.random.Generator, dtype: str) -> Any:
        if self.value is not None:
            return self.value
        wanted = dtypes.as_dtype(self.dtype or dtype)
        array: Any
        if wanted.is_bool:
            array = rng.random(self.shape) < 0.5
        elif wanted.is_integer:
            low = max(int(np.ceil(self.low)), 0) if wanted.is_unsigned else int(np.ceil(self.low))
            array = rng.integers(low, int(np.floor(self.high)), self.shape, endpoint=True)
        else:
            array = rng.uniform(self.low, self.high, self.shape)
            if wanted.is_complex:
                array = array + 1j * rng.uniform(self.low, self.high, self.shape)
        return np.asarray(array).astype(wanted.numpy)


def real(*shape: int, low: float = -2.0, high: float = 2.0, differentiable: bool = True) -> Arg:
    """An argument in the dtype of the column."""
    return Arg(shape, low, high, differentiable=differentiable)


def integers(*shape: int, low: int = 0, high: int = 2, dtype: str = "int32") -> Arg:
    """An argument of integers from `low` to `high`, both included."""
    return Arg(shape, low, high, dtype, differentiable=False)


def booleans(*shape: int) -> Arg:
    return Arg(shape, dtype="bool", differentiable=False)


def fixed(value: Any) -> Arg:
    """An argument that is always this value: an array, or a Python number."""
    return Arg(value=value, differentiable=False)


@dataclass(frozen=True)
class Sample:
    """Arguments and parameters to call an op with; `dtypes` narrows those of the case."""

    args: tuple[Arg, ...]
    params: dict[str, Any] = field(default_factory=dict)
    dtypes: tuple[str, ...] | None = None

    @property
    def label(self) -> str:
        shapes = ",".join(
            "x".join(map(str, arg.shape)) or "scalar" if arg.value is None else "fixed"
            for arg in self.args
        )
        return " ".join(
            [
                shapes,
                *(f"{name}={value}" for name, value in self.params.items() if len(str(value)) < 40),
            ]
        )

    @property
    def wanted(self) -> list[int]:
        """The positions of the arguments that have a gradient."""
        return [
            i
            for i, arg in enumerate(self.args)
            if arg.differentiable and arg.dtype is None and arg.value is None
        ]


def sample(*args: Arg, **params: Any) -> Sample:
    return Sample(args, params)


def only(dtypes: tuple[str, ...], one: Sample) -> Sample:
    """A sample for some of the case's dtypes."""
    return replace(one, dtypes=dtypes)


@dataclass(frozen=True)
class Special:
    """Exact arguments (float32 unless they are arrays),
    and the value or the gradient of its sum that they must give.
    """

    args: tuple[Any, ...]
    params: dict[str, Any]
    gives: Any = None
    gradient: Any = None


def at(*args: Any, gives: Any = None, gradient: Any = None, **params: Any) -> Special:
    """A special value.

    `gradient` is that of the first argument, or a tuple with one for each; None in it means no
    path.
    """
    return Special(args, params, gives, gradient)


@dataclass(frozen=True)
class Failure:
    """A call that must raise exactly `error` with a message that contains all of `says`,
    or the op's name.
    """

    error: type[Exception]
    args: tuple[Any, ...]
    params: dict[str, Any]
    says: tuple[str, ...]


def fails(
    *args: Any,
    error: type[Exception] = InvalidArgumentError,
    says: Sequence[str] = (),
    **params: Any,
) -> Failure:
    """An error row."""
    return Failure(error, args, params, tuple(says))


@dataclass(frozen=True)
class Case:
    """A row: one op, which is the function that its declaration gave.

    `dtypes` are those that the samples' arguments of the column's dtype can have. `orders` says how
    many derivatives exist: 0 means that the gradient is None; where it exists but is not
    implemented, asking for it `refuses` with an exception. `result` gives the result's dtype from
    the column's and the parameters, where the reference's own does not say it. `batches` is False
    if the result's shape depends on values, so that there is no batch of them.
    """

    op: Any
    reference: Callable[..., Any]
    samples: Sequence[Sample]
    dtypes: tuple[str, ...] = FLOATS
    orders: int = 2
    specials: Sequence[Special] = ()
    failures: Sequence[Failure] = ()
    result: Callable[[str, dict[str, Any]], Any] | None = None
    refuses: type[Exception] | None = None
    batches: bool = True
    family: str = ""

    @property
    def name(self) -> str:
        return self.op.op.name

    def dtypes_of(self, one: Sample) -> tuple[str, ...]:
        """The dtypes to try a sample in: one alone if none of its arguments takes the column's."""
        given = one.dtypes or self.dtypes
        return (
            given if any(arg.dtype is None and arg.value is None for arg in one.args) else given[:1]
        )

    def function(self, one: Sample) -> Callable[..., Any]:
        """The op as a function of its array arguments alone."""
        return lambda *args: self.op(*args, **one.params)

    def make(self, one: Sample, dtype: str, example: int = 0) -> list[Any]:
        """The sample's arguments, the same ones whenever they are asked for; other examples are
        others of the same shapes.
        """
        rng = np.random.default_rng([crc32(f"{self.name} {one.label}".encode()), example])
        return [arg.make(rng, dtype) for arg in one.args]


UNARY_SHAPES = ((2, 3), (), (0, 3))
BINARY_SHAPES = (
    ((2, 3), (2, 3)),
    ((2, 3), (3,)),
    ((2, 1), (1, 3)),
    ((), (2, 3)),
    ((), ()),
    ((0, 3), (1, 3)),
    ((2, 0), ()),
)
SPECIAL_NUMBERS = (np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0)


def unary(
    op: Any, reference: Callable[..., Any], low: float = -2.0, high: float = 2.0, **options: Any
) -> Case:
    """A row for an elementwise op of one argument: it is tried with a matrix, a scalar,
    nothing, and special numbers.
    """
    samples = [sample(real(*shape, low=low, high=high)) for shape in UNARY_SHAPES]
    case = Case(op, reference, samples, **options)
    return replace(case, specials=[*case.specials, *_special_numbers(case)])


def binary(
    op: Any,
    reference: Callable[..., Any],
    x: Any = (-2, 2),
    y: Any = (-2, 2),
    *,
    numbers: bool = True,
    **options: Any,
) -> Case:
    """A row for an elementwise op of two arguments from the ranges `x` and `y`: all ways of
    broadcasting, and Python numbers.
    """
    samples = [
        sample(real(*a, low=x[0], high=x[1]), real(*b, low=y[0], high=y[1]))
        for a, b in BINARY_SHAPES
    ]
    case = Case(op, reference, samples, **options)
    if numbers and "float32" in case.dtypes:
        samples += [sample(samples[0].args[0], fixed(2)), sample(fixed(2), samples[0].args[1])]
    wrong = fails(
        np.ones(2, case.dtypes[0]), np.ones(3, case.dtypes[0]), says=[case.name, "[2]", "[3]"]
    )
    return replace(
        case, specials=[*case.specials, *_special_numbers(case)], failures=[*case.failures, wrong]
    )


def _special_numbers(case: Case) -> list[Special]:
    """What the reference gives for NaN, infinities, zeros and ones, in all combinations."""
    if "float32" not in case.dtypes:
        return []
    numbers = np.array(SPECIAL_NUMBERS, np.float32)
    count = len(case.samples[0].args)
    args = [a.reshape(-1) for a in np.meshgrid(*[numbers] * count)]
    with np.errstate(all="ignore"):
        return [at(*args, gives=case.reference(*args))]


def all_cases() -> list[Case]:
    """Every row of every family."""
    families = sorted(
        path.stem.removeprefix("rows_") for path in Path(__file__).parent.glob("rows_*.py")
    )
    return [
        replace(case, family=family)
        for family in families
        for case in import_module(f".rows_{family}", __package__).ROWS
    ]
