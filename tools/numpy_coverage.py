"""Writes docs/numpy-coverage.md: what each of NumPy's functions does on Tensors.

Run it after a change:

    python -m tools.numpy_coverage

A function counts as recorded if a row of the table differentiates it. Every other one must have its
reason here: one that has none is a function whose derivative is missing.
"""

from __future__ import annotations

from functools import cache, reduce
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import gradtape.numpy as tnp
from gradtape.api.numpy import special
from gradtape.api.numpy.dispatch import REFUSED
from gradtape.api.numpy.protocol import counterparts
from tests.api.numpy.table import all_rows

PAGE = Path(__file__).parents[1] / "docs" / "numpy-coverage.md"
NAMESPACES = {"": np, "linalg.": np.linalg, "fft.": np.fft}

RECORDED, NO_DERIVATIVE, ON_VALUES, REFUSING, MISSING = (
    "recorded",
    "no derivative",
    "on values",
    "refused",
    "missing",
)

REASONS = {
    "round to integers or the like: the derivative is zero wherever there is one": (
        "around ceil fix floor floor_divide rint round spacing trunc"
    ),
    "give truth values": (
        "all allclose any array_equal array_equiv equal greater greater_equal isclose iscomplex "
        "iscomplexobj isfinite isin isinf isnan "
        "isneginf isposinf isreal isrealobj less less_equal logical_and logical_not logical_or "
        "logical_xor not_equal signbit"
    ),
    "give indices, counts or shapes": (
        "argmax argmin argpartition argsort argwhere count_nonzero diag_indices_from digitize "
        "einsum_path flatnonzero lexsort "
        "linalg.matrix_rank nanargmax nanargmin ndim nonzero ravel_multi_index searchsorted shape "
        "size tril_indices_from "
        "triu_indices_from unravel_index"
    ),
    "work on the bits of integers, or on their divisors": (
        "bitwise_and bitwise_count bitwise_invert bitwise_left_shift bitwise_not bitwise_or "
        "bitwise_right_shift bitwise_xor gcd invert "
        "lcm left_shift packbits right_shift unpackbits"
    ),
    "give constants": "empty_like ones_like zeros_like",
    "ask about dtypes and memory": (
        "can_cast common_type may_share_memory min_scalar_type result_type shares_memory"
    ),
    "write text and files": "array2string array_repr array_str save savetxt savez savez_compressed",
    "work on dates": "busday_count busday_offset datetime_as_string is_busday isnat",
}
"""Why a function is not recorded."""


class Function(NamedTuple):
    name: str  # dotted, as in "linalg.solve"
    state: str


def asks(function: Any) -> bool:
    """Whether NumPy asks a Tensor among the arguments what to do."""
    return isinstance(function, np.ufunc) or type(function).__name__ == "_ArrayFunctionDispatcher"


@cache
def functions() -> tuple[Function, ...]:
    """Every function that NumPy asks a Tensor about, and what it does then."""
    table = counterparts()
    recorded = {row.name for row in all_rows() if row.differentiable}
    reasons = {name for names in REASONS.values() for name in names.split()}
    found = []
    for prefix, namespace in NAMESPACES.items():
        for name in sorted(dir(namespace)):
            function = getattr(namespace, name)
            if name.startswith("_") or not asks(function):
                continue
            full = prefix + name
            if full in recorded and function in table:
                state = RECORDED
            elif function in REFUSED:
                state = REFUSING
            elif full not in reasons:
                state = MISSING
            else:
                state = NO_DERIVATIVE if function in table else ON_VALUES
            found.append(Function(full, state))
    return tuple(found)


def of_state(*states: str) -> list[str]:
    return [f.name for f in functions() if f.state in states]


def only_here() -> list[str]:
    """Functions that NumPy does not ask a Tensor about,
    so that only those of `gradtape.numpy` are recorded.
    """
    found = []
    for prefix, namespace in NAMESPACES.items():
        for name in dir(namespace):
            ours = _ours(prefix + name)
            if not asks(getattr(namespace, name)) and str(
                getattr(ours, "__module__", "")
            ).startswith("gradtape.api.numpy."):
                found.append(prefix + name)
    return sorted(found)


def extra() -> list[str]:
    """Names of `gradtape.numpy` that NumPy does not have."""
    return [name for name in tnp.__all__ if not hasattr(np, name)]


def _ours(dotted: str) -> Any:
    try:
        return reduce(getattr, dotted.split("."), tnp)
    except AttributeError:
        return None


def special_functions() -> list[str]:
    return sorted(name.removeprefix("_") for name in special.FUNCTIONS)


def page() -> str:
    """The text of docs/numpy-coverage.md."""
    recorded, missing = of_state(RECORDED), of_state(MISSING)
    share = len(recorded) / (len(recorded) + len(missing))
    lines = [
        "# What NumPy's functions do on Tensors",
        "",
        (
            "Written by `python -m tools.numpy_coverage`, and kept true by a test. How to use them "
            "is told in [numpy.md](numpy.md)."
        ),
        "",
        (
            f"NumPy asks a Tensor about {len(functions())} of its functions, ufuncs and aliases "
            "included."
        ),
        "",
        "| | functions |",
        "|---|---|",
        f"| recorded: a tape follows them | {len(recorded)} |",
        f"| have a derivative, and are not recorded | {len(missing)} |",
        (
            "| have no derivative: give Tensors of values | "
            f"{len(of_state(NO_DERIVATIVE, ON_VALUES))} |"
        ),
        f"| refused, because they write into an argument | {len(of_state(REFUSING))} |",
        "",
        f"Of the functions that have a derivative, {share:.0%} are recorded.",
        "",
        "## Recorded",
        "",
    ]
    for prefix in NAMESPACES:
        names = [n for n in recorded if n.rpartition(".")[0] == prefix.rstrip(".")]
        lines += [
            (
                f"`numpy{'.' + prefix.rstrip('.') if prefix else ''}`: "
                f"{_listed(n.rpartition('.')[2] for n in names)}"
            ),
            "",
        ]
    if missing:
        lines += ["## With a derivative, and not recorded", "", _listed(missing), ""]
    lines += ["## Without a derivative", ""]
    lines += [f"- They {reason}: {_listed(names.split())}" for reason, names in REASONS.items()]
    lines += [
        "",
        "## Refused",
        "",
        (
            "Tensors are immutable, and no tape sees a write into an array. The error says what to "
            "write instead."
        ),
        "",
        _listed(of_state(REFUSING)),
        "",
        "## In `gradtape.numpy` alone",
        "",
        (
            "NumPy does not ask a Tensor about these: `np.array([tensor, 1.0])` takes the values, "
            "`gradtape.numpy.array` keeps the tape."
        ),
        "",
        _listed(only_here()),
        "",
        f"`gradtape.numpy` has besides: {_listed(extra())}",
        "",
        "## `scipy.special`",
        "",
        (
            "These ufuncs are recorded when they are called with real Tensors; all others, and "
            "complex Tensors, run on values."
        ),
        "",
        _listed(special_functions()),
        "",
    ]
    return "\n".join(lines)


def _listed(names: Any) -> str:
    return ", ".join(f"`{name}`" for name in names) + "."


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
