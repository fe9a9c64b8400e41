"""Generated code: the backward step of an op on plain arrays.

`write_pull_into` makes the step of nearly every training step, which adds to what the walk has
collected; `write_pulls` the same for walks that need the cotangents of only some arguments.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from gradtape.core.strong_zeros import HIDDEN, repaired
from gradtape.core.tensor import Tensor
from gradtape.core.thread import here
from gradtape.core.walk import summed
from gradtape.engines.arrays import sum_array_to
from gradtape.engines.numpy.threads import VERY_LARGE, shared
from gradtape.ops.source import defined, tuple_text
from gradtape.ops.written import shares

if TYPE_CHECKING:
    from gradtape.ops.op import Op

_SAME = lambda g: g


def write_pulls(op: Op) -> Callable[[Any, Any, Any], Any]:
    """`pull_arrays(node, g, wanted)`: the cotangents of all arguments of an op."""
    watch = "watch = here.state.watch" if any(op.guarded) or op.plain is not True else ""
    pulls = "".join(
        f"""
    pulled_{i} = None
    if wanted[{i}] is not None:
{pull_text(op, i)}"""
        if pull is not None
        else f"""
    pulled_{i} = None"""
        for i, pull in enumerate(op.pulls)
    )
    text = f"""
def pull_arrays(node, g, wanted):
    saved = node.saved
    {watch}
{hiding_text(op)}
{pulls}
    return {tuple_text(f"pulled_{i}" for i in range(len(op.pulls)))}
"""
    return defined(op.name, "pull_arrays", text, names_of(op))


def write_pull_into(op: Op) -> Callable[[Any, Any, Any, Any, Any], None]:
    """`pull_into(node, g, cotangents, owned, watch)`: the same, added up where the walk keeps the
    cotangents of the parents.
    """
    # The only argument of an op has a Node, or the call is not recorded.
    alone = len(op.pulls) == 1
    pulls = "".join(
        f"""
    parent = parents[{i}]
    if {alone or "parent is not None"}:
{pull_text(op, i)}
        if pulled_{i} is not None:
            if parent in cotangents:
                pulled_{i} = summed(cotangents[parent], pulled_{i}, parent, owned)
            cotangents[parent] = pulled_{i}"""
        for i, pull in enumerate(op.pulls)
        if pull is not None
    )
    text = f"""
def pull_into(node, g, cotangents, owned, watch):
    saved = node.saved
    parents = node.parents
{hiding_text(op)}
{pulls}
"""
    return defined(op.name, "pull_into", text, names_of(op))


def pull_text(
    op: Op, i: int, saved: str = "saved", g: str = "g", pulled: str = "", prefix: str = ""
) -> str:
    """Pulls `g` back to argument `i`; the result is `pulled_{i}`, unless it has another name.

    A saved name that ends in `_broadcast` comes first and says what the pulled cotangent is to be
    summed back to. A `prefix` stands before the names that are this op's.
    """
    pulled = pulled or f"pulled_{i}"
    pull = f"{prefix}pull_{i}"
    names = op.saves[i]
    values = [
        f"v.array if isinstance(v := s[{k}], Tensor) else v" if name in op.arguments else f"s[{k}]"
        for k, name in enumerate(names)
    ]
    broadcasts = bool(names) and names[0].endswith("_broadcast")
    given = ", ".join([g, *values[broadcasts:]])
    in_parts = f" if {g}.size < VERY_LARGE else shared({pull}, {given})" if shares(op) else ""
    text = f"""
        s = {saved}[{i}]
        {pulled} = {g if _passes_on(op.pulls[i]) else f"{pull}({given}){in_parts}"}"""
    if op.guarded[i]:
        text += f"""
        if watch:
            {pulled} = repaired({pulled}, {g}, watch)"""
    if broadcasts:
        text += f"""
        if s[0] is not None:
            {pulled} = sum_array_to({pulled}, s[0])"""
    return text


def _passes_on(pull: Any) -> bool:
    """Whether a pull is `lambda g: g`, which need not be called."""
    code = getattr(pull, "__code__", None)
    return code is not None and code.co_code == _SAME.__code__.co_code


def hiding_text(op: Op, saved: str = "saved", prefix: str = "") -> str:
    """Puts a note on the watch if a NaN in an argument may not show in the output."""
    if op.plain is True:
        return ""
    return f"""
    if {f"not {prefix}plain({saved})" if op.plain else "True"}:
        watch.append(HIDDEN)"""


def names_of(op: Op, prefix: str = "") -> dict[str, Any]:
    """What the lines of an op's pulls use; a `prefix` stands before the names that are its own."""
    return {
        "HIDDEN": HIDDEN,
        "Tensor": Tensor,
        "VERY_LARGE": VERY_LARGE,
        "here": here,
        "repaired": repaired,
        "shared": shared,
        "sum_array_to": sum_array_to,
        "summed": summed,
        f"{prefix}plain": op.plain,
        **{f"{prefix}pull_{i}": pull for i, pull in enumerate(op.pulls)},
    }
