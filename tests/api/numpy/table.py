"""What a row of the table of NumPy functions is, and all rows.

A row is a call of one NumPy function, written over a namespace `xp`, and the arrays to try it with:

    Row("mean", lambda xp, x: xp.mean(x, axis=1), [(2, 3)])
    Row("linalg.solve", lambda xp, a, b: xp.linalg.solve(a, b), [(3, 3), (3,)],
        domain=["well_conditioned", "real"])
    Row("bitwise_and", lambda xp, x: xp.bitwise_and(x, 3), [(4,)], dtype="int32",
        differentiable=False)

`test_table` makes the columns from it: NumPy's own values against those of NumPy's and gradtape's
functions on Tensors, dtypes, whether the call is recorded, and its derivatives. Rows live in
`rows_<family>.py`, in a list named ROWS.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np

Domain = str | Callable[[np.random.Generator, tuple[int, ...]], Any]


def _apart(rng, shape):
    """Distinct numbers, none nearer to another than 0.1, in a random order."""
    count = int(np.prod(shape))
    return (0.3 * (rng.permutation(count) - count / 2) + rng.uniform(-0.1, 0.1, count)).reshape(
        shape
    )


def _spd(rng, shape):
    """Symmetric positive definite matrices."""
    a = rng.uniform(-1, 1, shape)
    return a @ np.swapaxes(a, -1, -2) + shape[-1] * np.eye(shape[-1])


def _well_conditioned(rng, shape):
    return rng.uniform(-1, 1, shape) + 2 * np.eye(*shape[-2:])


DOMAINS = {
    "real": lambda rng, shape: rng.uniform(-2, 2, shape),
    "positive": lambda rng, shape: rng.uniform(0.3, 3, shape),
    "unit": lambda rng, shape: rng.uniform(-0.9, 0.9, shape),
    "above_one": lambda rng, shape: rng.uniform(1.1, 3, shape),
    "apart": _apart,
    "complex": lambda rng, shape: rng.uniform(-2, 2, shape) + 1j * rng.uniform(-2, 2, shape),
    "spd": _spd,
    "well_conditioned": _well_conditioned,
    "integers": lambda rng, shape: rng.integers(0, 8, shape).astype(np.float64),
}


@dataclass(frozen=True)
class Row:
    """One call of a function.

    `name` is the function's dotted name in NumPy. `shapes` are those of the array arguments, or
    ready float64 arrays; `domain` says where their values lie, for all of them or for each. `dtype`
    is that of the arguments, for a function of integers or truth values; else the columns try
    float32 and float64 (or the complex ones). `result` is the dtype of the result where the rule
    does not give it: indices of integers, which are int64. `wanted` are the positions of the
    arguments that have a derivative, all of them unless it is said; `second` is False if the second
    derivative is nothing to check. `since` is the first version of NumPy that gives what is
    expected: gradtape gives it with every version, but an older NumPy cannot be asked.
    """

    name: str
    call: Callable[..., Any]
    shapes: Sequence[Any]
    domain: Domain | Sequence[Domain] = "real"
    dtype: str | None = None
    differentiable: bool = True
    second: bool = True
    finite: bool = True  # whether quotients of differences tell its derivatives
    label: str = ""
    result: str | None = None
    wanted: Sequence[int] | None = None
    since: str = "2.1.0"

    @property
    def id(self) -> str:
        shapes = ",".join(
            "x".join(map(str, np.shape(s) if isinstance(s, np.ndarray) else s)) or "scalar"
            for s in self.shapes
        )
        return " ".join(part for part in (self.name, self.label, shapes) if part)

    @property
    def domains(self) -> list[Domain]:
        return (
            [self.domain] * len(self.shapes)
            if isinstance(self.domain, str) or callable(self.domain)
            else list(self.domain)
        )

    @property
    def dtypes(self) -> tuple[str, str]:
        """The dtypes to try: the first for values and derivatives."""
        return (self.dtype, self.dtype) if self.dtype is not None else ("float64", "float32")

    @property
    def by(self) -> list[int]:
        """The arguments to differentiate by."""
        return list(range(len(self.shapes)) if self.wanted is None else self.wanted)

    def make(self, dtype: str = "float64") -> list[Any]:
        """The arguments, the same ones whenever they are asked for."""
        rng = np.random.default_rng(crc32(self.id.encode()))
        return [
            self._argument(rng, shape, domain, dtype)
            for shape, domain in zip(self.shapes, self.domains, strict=True)
        ]

    def _argument(self, rng: np.random.Generator, shape: Any, domain: Domain, dtype: str) -> Any:
        if isinstance(shape, np.ndarray):
            array = shape
        elif dtype == "bool":
            array = rng.random(shape) < 0.5
        elif np.dtype(dtype).kind in "iu" and domain == "real":
            array = rng.integers(0 if dtype.startswith("u") else -4, 5, shape)
        else:
            array = (DOMAINS[domain] if isinstance(domain, str) else domain)(rng, shape)
        if np.asarray(array).dtype.kind == "c":
            dtype = {"float64": "complex128", "float32": "complex64"}.get(dtype, dtype)
        return np.asarray(array).astype(dtype)


def elementwise(name: str, *domains: Domain, **options: Any) -> list[Row]:
    """Rows for an elementwise function: with a matrix, scalars, nothing,
    and broadcast against each other.
    """
    call = lambda xp, *args: _named(xp, name)(*args)
    domains = domains or ("real",)
    shapes = [[(2, 3)], [()], [(0, 3)]] if len(domains) == 1 else [
        [(2, 3)] * len(domains), [(2, 1), (3,), ()][: len(domains)], [()] * len(domains),
        [(0, 3)] + [(3,)] * (len(domains) - 1)
    ]  # fmt: skip
    return [Row(name, call, list(s), domain=list(domains), **options) for s in shapes]


def _named(xp: Any, name: str) -> Any:
    for part in name.split("."):
        xp = getattr(xp, part)
    return xp


def all_rows() -> list[Row]:
    """Every row of every family that the installed NumPy can be asked."""
    families = sorted(path.stem for path in Path(__file__).parent.glob("rows_*.py"))
    rows = [row for family in families for row in import_module(f".{family}", __package__).ROWS]
    installed = np.lib.NumpyVersion(np.__version__)
    return [row for row in rows if installed >= row.since]
