"""What a row of the comparison with TensorFlow is.

A row names a symbol of TensorFlow and arguments to call it with, in both libraries:

    row("tf.math.xlogy", real(2, 3), real(2, 3, low=0.1))
    row("tf.concat", real(2, 3), real(1, 3), call=lambda tf, x, y: tf.concat([x, y], 0))

Arguments made by `real` and `at` have the dtype of the column and are differentiated; those of
`still`, `ints`, `bools` and `fixed` are tensors too, but are not. Anything else is handed over as
it is. Rows live in `samples_<namespace>.py`, in a list named ROWS. `note` tells apart the rows of a
symbol.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import reduce
from importlib import import_module
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np

REAL = ("float32", "float64")
SINGLE = ("float32",)  # where TensorFlow has no kernel for float64
DOUBLE = ("float64",)  # where float32 is too coarse to compare
COMPLEX = ("complex64", "complex128")


@dataclass(frozen=True)
class Arg:
    """How to make one tensor; without a `dtype` of its own it has that of the column."""

    make: Callable[[np.random.Generator], Any]
    dtype: str | None = None
    differentiate: bool = False

    def array(self, rng: np.random.Generator, dtype: str) -> np.ndarray:
        wanted = self.dtype or dtype
        array = np.asarray(self.make(rng))
        if wanted.startswith("complex") and array.dtype.kind != "c":
            array = array + 1j * np.asarray(self.make(rng))
        return array.astype(wanted)


def real(*shape: int, low: float = -2.0, high: float = 2.0) -> Arg:
    """Random numbers between two; for complex dtypes, both parts are."""
    return Arg(lambda rng: rng.uniform(low, high, shape), differentiate=True)


def at(value: Any) -> Arg:
    """These very numbers."""
    return Arg(lambda rng: np.array(value), differentiate=True)


def still(*shape: int, low: float = -2.0, high: float = 2.0) -> Arg:
    return Arg(lambda rng: rng.uniform(low, high, shape))


def ints(*shape: int, low: int = 0, high: int = 2, dtype: str = "int32") -> Arg:
    """Random integers, both ends included."""
    return Arg(lambda rng: rng.integers(low, high, shape, endpoint=True), dtype)


def bools(*shape: int) -> Arg:
    return Arg(lambda rng: rng.random(shape) < 0.5, "bool")


def fixed(value: Any, dtype: str | None = None) -> Arg:
    """A constant; a float without a dtype has that of the column."""
    array = np.array(value)
    if dtype is None and array.dtype.kind not in "fc":
        dtype = "bool" if array.dtype == bool else "int32"
    return Arg(lambda rng: array, dtype)


def positive(size: int, *batch: int) -> Arg:
    """Symmetric positive definite matrices, far from singular;
    Hermitian ones for complex dtypes.
    """

    def make(rng):
        root = rng.uniform(-1.0, 1.0, (*batch, size, size))
        return root @ np.swapaxes(root, -1, -2) + size * np.eye(size)

    return Arg(make, differentiate=True)


def distinct(*shape: int, step: float = 0.37) -> Arg:
    """Numbers in random order with a distance between any two, for functions that sort."""
    return Arg(
        lambda rng: (
            (rng.permutation(int(np.prod(shape))) - np.prod(shape) / 2 + 0.3).reshape(shape) * step
        ),
        differentiate=True,
    )


@dataclass(frozen=True)
class Row:
    """One call to compare.

    `tolerance`, if it is more than that of the dtype, is relative to the largest number of a
    result.
    """

    symbol: str
    args: tuple[Any, ...]
    params: dict[str, Any] = field(default_factory=dict)
    call: Callable[..., Any] | None = None
    note: str = ""
    dtypes: tuple[str, ...] = REAL
    tolerance: float = 0.0

    @property
    def label(self) -> str:
        return f"{self.symbol}[{self.note}]" if self.note else self.symbol

    @property
    def wanted(self) -> list[int]:
        """The positions of the arguments that are differentiated."""
        return [i for i, arg in enumerate(self.args) if isinstance(arg, Arg) and arg.differentiate]

    @property
    def halves(self) -> bool:
        """Whether an argument can be in half precision."""
        return "float32" in self.dtypes and any(
            isinstance(arg, Arg) and arg.dtype is None for arg in self.args
        )

    def arrays(self, dtype: str) -> list[Any]:
        """The arguments, always the same for this row."""
        rng = np.random.default_rng(crc32(self.label.encode()))
        return [arg.array(rng, dtype) if isinstance(arg, Arg) else arg for arg in self.args]

    def __call__(self, tf: Any, *args: Any) -> Any:
        """Calls the symbol in the library `tf`."""
        return self.call(tf, *args) if self.call else resolve(tf, self.symbol)(*args, **self.params)


def row(
    symbol: str,
    *args: Any,
    call: Any = None,
    note: str = "",
    dtypes: Any = REAL,
    tolerance: float = 0.0,
    **params: Any,
) -> Row:
    return Row(symbol, args, params, call, note, dtypes, tolerance)


def rows_of(symbols: str, *args: Any, **options: Any) -> list[Row]:
    """The same row for several symbols."""
    return [row(symbol, *args, **options) for symbol in symbols.split()]


def resolve(tf: Any, symbol: str) -> Any:
    """What the library `tf` calls `symbol`."""
    return reduce(getattr, symbol.split(".")[1:], tf)


def all_rows() -> list[Row]:
    files = sorted(Path(__file__).parent.glob("samples_*.py"))
    return [one for file in files for one in import_module(file.stem).ROWS]
