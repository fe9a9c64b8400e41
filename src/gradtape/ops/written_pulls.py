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


def write_pulls(op: Op) -> Callable[[Any, Any, Any], Any]:
    """`pull_arrays(node, g, wanted)`: the cotangents of all arguments of an op."""
    watch = "watch = here.state.watch" if any(op.guarded) or op.plain is not True else ""
    pulls = "".join(
        f"""
    pulled_{i} = None
    if wanted[{i}] is not None:
{_pull_text(op, i)}"""
        if pull is not None
        else f"""
    pulled_{i} = None"""
        for i, pull in enumerate(op.pulls)
    )
    text = f"""
def pull_arrays(node, g, wanted):
    saved = node.saved
    {watch}
{_hiding_text(op)}
{pulls}
    return {tuple_text(f"pulled_{i}" for i in range(len(op.pulls)))}
"""
    return defined(op.name, "pull_arrays", text, _namespace(op))


def write_pull_into(op: Op) -> Callable[[Any, Any, Any, Any, Any], None]:
    """`pull_into(node, g, cotangents, owned, watch)`: the same, added up where the walk keeps the
    cotangents of the parents.
    """
    pulls = "".join(
        f"""
    parent = parents[{i}]
    if parent is not None:
{_pull_text(op, i)}
        if pulled_{i} is not None:
            earlier = cotangents.get(parent)
            cotangents[parent] = (
                pulled_{i} if earlier is None else summed(earlier, pulled_{i}, parent, owned)
            )"""
        for i, pull in enumerate(op.pulls)
        if pull is not None
    )
    text = f"""
def pull_into(node, g, cotangents, owned, watch):
    saved = node.saved
    parents = node.parents
{_hiding_text(op)}
{pulls}
"""
    return defined(op.name, "pull_into", text, _namespace(op))


def _pull_text(op: Op, i: int) -> str:
    """The cotangent of argument `i` as `pulled_i`.

    A saved name that ends in `_broadcast` comes first and says what the pulled cotangent is to be
    summed back to.
    """
    names = op.saves[i]
    values = [
        f"v.array if isinstance(v := s[{k}], Tensor) else v" if name in op.arguments else f"s[{k}]"
        for k, name in enumerate(names)
    ]
    broadcasts = bool(names) and names[0].endswith("_broadcast")
    given = ", ".join(["g", *values[broadcasts:]])
    in_parts = f" if g.size < VERY_LARGE else shared(pull_{i}, {given})" if shares(op) else ""
    text = f"""
        s = saved[{i}]
        pulled_{i} = pull_{i}({given}){in_parts}"""
    if op.guarded[i]:
        text += f"""
        if watch:
            pulled_{i} = repaired(pulled_{i}, g, watch)"""
    if broadcasts:
        text += f"""
        if s[0] is not None:
            pulled_{i} = sum_array_to(pulled_{i}, s[0])"""
    return text


def _hiding_text(op: Op) -> str:
    """Puts a note on the watch if a NaN in an argument may not show in the output."""
    if op.plain is True:
        return ""
    return f"""
    if {"not plain(saved)" if op.plain else "True"}:
        watch.append(HIDDEN)"""


def _namespace(op: Op) -> dict[str, Any]:
    return {
        "HIDDEN": HIDDEN,
        "Tensor": Tensor,
        "VERY_LARGE": VERY_LARGE,
        "here": here,
        "repaired": repaired,
        "shared": shared,
        "sum_array_to": sum_array_to,
        "summed": summed,
        "plain": op.plain,
        **{f"pull_{i}": pull for i, pull in enumerate(op.pulls)},
    }
