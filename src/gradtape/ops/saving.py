"""What is saved for a pull: exactly what the names of its parameters ask for, see `ops.op`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from gradtape.core.strong_zeros import shows_nan
from gradtape.core.thread import here
from gradtape.ops.source import defined, tuple_text

if TYPE_CHECKING:
    from gradtape.ops.op import Op

Names = tuple[str, ...]

USES = {"here": here, "shows_nan": shows_nan}
"""What the expressions of `saved_value` use."""


def positional_names(function: Any) -> Names:
    """The names of a function's positional parameters."""
    code = getattr(function, "__code__", None)
    return () if code is None else code.co_varnames[: code.co_argcount]


def saved_value(name: str, op: Op) -> str:
    """The expression for what a pull calls `name`, in terms of the arguments, `out` and `params`.

    `x_shows` says that `x` is known to hold no NaN that the output does not show. To find out takes
    time, so it is done only for ops that a rule calls in a walk, which are few and have all of the
    recording behind them.
    """
    arguments = op.arguments
    if name in arguments or name == "out":
        return name
    if name == "args":
        return "list(args)"
    if name == "shapes":
        return "[arg.array.shape for arg in args]"
    argument, _, what = name.rpartition("_")
    if argument in arguments:
        if what in ("shape", "dtype"):
            return f"{argument}.array.{what}"
        if what == "shows":
            return f"(here.state.walking and shows_nan({argument}.array, out))"
        if what == "broadcast":
            return f"(None if {argument}.array.shape == out.shape else {argument}.array.shape)"
    return (
        f"params.get({name!r}, defaults[{name!r}])" if name in op.defaults else f"params[{name!r}]"
    )


def write_save(op: Op, names: Names) -> Callable[..., tuple[Any, ...]]:
    """`save(args, out, params)`: what one pull names."""
    arguments = f"{tuple_text(op.arguments)} = args" if op.arguments else ""
    text = f"""
def save(args, out, params):
    {arguments}
    return {tuple_text(saved_value(name, op) for name in names)}
"""
    return defined(op.name, "save", text, {**USES, "defaults": op.defaults})
