"""`solve`: runs a solver of SciPy's for a function of gradtape's and connects what it finds, in
eager code, under `vmap` and inside a `function`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from gradtape.convert import as_tensor
from gradtape.core.needed_ops import needed
from gradtape.core.tensor import Tensor
from gradtape.core.thread import here
from gradtape.core.variable import Variable
from gradtape.ops.shaping import reshape
from gradtape.scipy.examples import Example, as_examples, examples_of, levels_of
from gradtape.scipy.implicit import Residual, implicit
from gradtape.scipy.in_programs import solved_in_program
from gradtape.scipy.numeric import Numeric

Function = Callable[[Tensor], Any]

COUNTS = ("status", "nfev")
"""What of a solver's report is known where it runs for a batch, or in a program."""


def solve(
    who: str,
    function: Function,
    x0: Any,
    run: Callable[[Numeric, Any], Any],
    residual: Callable[[Function, Any], Residual],
    also: Callable[[Tensor], dict[str, Any]] | None = None,
) -> Any:
    """SciPy's result of `run`, with `x` as a Tensor that has the derivatives of a zero of
    `residual(function, ...)`, and a text about them as `derivative`.

    `run` is given the function as NumPy's, and a start. `residual` is given the function, and for
    each unknown whether it is free: one that `run` reports as stuck at a bound, in `fixed`, does
    not change. `also` computes further entries of the result from the solution.
    """
    start, double = start_of(who, x0)
    trace = here.state.trace
    if trace is not None:
        x, report = solved_in_program(trace, who, function, start, run, residual)
        connected, size = x, None
    else:
        x, free, report = _solved(who, function, start, run)
        failure = None if np.all(report["success"]) else str(report.get("message", ""))
        connected, size = implicit(who, x, residual(function, free), failure=failure)
    report.pop("fixed", None)
    report.update({} if also is None else also(connected))
    report["x"] = connected if double else needed.cast(connected, dtype=np.dtype(np.float32))
    report["derivative"] = "implicit" if size is None else f"implicit, residual {size:.0e}"
    return report


def start_of(who: str, x0: Any) -> tuple[Tensor, bool]:
    """The start as a vector in double precision, and whether the result is to be in it: it is,
    unless the start is a Tensor, Variable or array of a lower one.
    """
    given = isinstance(x0, (Tensor, Variable, np.ndarray, np.generic))
    double = np.dtype(np.float64)
    tensor = as_tensor(x0, None if given else double, argument=f"{who}: x0")
    kind = tensor.array.dtype
    if kind.kind not in "iufV":
        raise TypeError(f"{who}: x0 must hold real numbers, got dtype {tensor.dtype.name}.")
    plain = reshape(tensor.with_node(None), shape=(tensor.array.size,))
    wide = plain if kind == double else needed.cast(plain, dtype=double)
    return wide, not given or kind.kind in "iu" or kind == double


def _solved(
    who: str, function: Function, start: Tensor, run: Callable[[Numeric, Any], Any]
) -> tuple[Tensor, Any, Any]:
    """What a solver finds for each example of the batches that are running: the solutions, which
    of the unknowns are free, and the report.
    """
    with here.state.only([]):
        first = function(start)
    levels = levels_of(first, start)
    found = [
        run(Numeric(who, function, example), Example.of(example, start))
        for example in examples_of(levels)
    ]
    if not levels:
        (result,) = found
        return Tensor(np.array(result["x"], np.float64)), free_of(result), result
    from scipy.optimize import OptimizeResult  # noqa: PLC0415 - scipy is imported at first use

    x = as_examples([np.array(r["x"], np.float64) for r in found], levels)
    free = as_examples([free_of(r) for r in found], levels)
    report = OptimizeResult(success=all(r["success"] for r in found))
    report["message"] = next((r["message"] for r in found if not r["success"]), "")
    for name in COUNTS:
        report[name] = as_examples([np.array(r.get(name, 0), np.int32) for r in found], levels)
    return x, free, report


def free_of(result: Mapping[str, Any]) -> Any:
    """Which of the unknowns are free."""
    return ~np.asarray(result.get("fixed", np.zeros(np.shape(result["x"]), bool)))
