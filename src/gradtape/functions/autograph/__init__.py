"""AutoGraph: converts Python's control flow in a traced function, as TensorFlow does.

The package malt rewrites a function's syntax tree so that `if`, `while`, `for`, `and`, `or`, `not`,
`assert` and calls become calls of the operators of this package. On Python values these do what
Python does; on tensors whose values are known only when the compiled program runs they become XLA's
control flow, with gradients.

    source       from a function to its syntax tree
    prepare      what is spelled out before the conversion
    conversion   the conversion, and the function made from its result
    calls        functions that are called: the user's are converted too, those of libraries are not
    operators    what converted code calls: branches, loops, truth; builtins and rows, which are
                 what loops run over
    blocks       pieces of the user's code as XLA runs them; values, loop_variables: their variables
    fallback     functions that run as they are
    marks        what users say about conversion
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gradtape.functions.autograph.fallback import run_as_it_is, run_explaining


def to_trace(f: Callable[..., Any], *, autograph: bool) -> Callable[..., Any]:
    """The function that is traced instead of `f`: the converted one with `autograph`."""
    if not autograph:
        return lambda *args, **kwargs: run_as_it_is(
            f, args, kwargs, "it was made with autograph=False"
        )
    try:
        # Loaded when something is traced.
        from gradtape.functions.autograph.calls import converted_call  # noqa: PLC0415
    except ModuleNotFoundError as error:
        if not (error.name or "").startswith("malt"):
            raise
        why = "AutoGraph needs the package diastatic-malt: pip install 'gradtape[xla]'"
        return lambda *args, **kwargs: run_as_it_is(f, args, kwargs, why)
    bound = getattr(f, "weakly_bound", None)
    if bound is not None:
        method, instance = bound
        return lambda *args, **kwargs: run_explaining(
            converted_call, (method, (instance(), *args), kwargs), {}, _THE_REST
        )
    return lambda *args, **kwargs: run_explaining(converted_call, (f, args, kwargs), {}, _THE_REST)


_THE_REST = (
    "AutoGraph converts statements, `and`, `or`, `not` and `a if c else b`; nothing else may ask "
    "for the value of a tensor, for example `in` or a library function."
)
