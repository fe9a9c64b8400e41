"""Calls of ops in a program that is being traced: the program keeps them in a list, to run them
again when it is differentiated or batched.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from gradtape import nest
from gradtape.core.tensor import Tensor
from gradtape.core.xla.tensor import tensor_of
from gradtape.engines.engine import is_traced_array

if TYPE_CHECKING:
    from gradtape.core.xla.trace import Trace
    from gradtape.ops.op import Op


class MadeBy(NamedTuple):
    """How a tensor of a program was made."""

    op: str
    argument: Tensor
    params: dict[str, Any]


def listed(
    op: Op, trace: Trace, operands: Sequence[Tensor], params: dict[str, Any], result: Any
) -> Any:
    """The result of a call that is kept by the program that is being traced."""
    count, moving = len(operands), _traced_leaves(params) if params else []

    def again(tensors: list[Tensor]) -> Sequence[Any]:
        found = op.call_any(*tensors[:count], **_with_leaves(params, moving, tensors[count:]))
        return found if op.several else [found]

    results = list(result) if op.several else [result]
    found = trace.listed(again, [*operands, *moving], results, [op.path] * len(results))
    if trace.on_op is not None:
        trace.on_op(op, [arg.array for arg in operands], params, found if op.several else found[0])
    return found if op.several else found[0]


def _traced_leaves(params: dict[str, Any]) -> list[Tensor]:
    """The tensors among parameters that only the program knows which is being traced."""
    return [
        leaf if isinstance(leaf, Tensor) else tensor_of(leaf)
        for leaf in nest.flatten(params)
        if _is_traced(leaf)
    ]


def _with_leaves(
    params: dict[str, Any], traced: Sequence[Tensor], tensors: Sequence[Tensor]
) -> dict[str, Any]:
    """The parameters with others in the places of such tensors."""
    if not traced:
        return params
    given = iter(tensors)
    return nest.map_structure(
        lambda leaf: (
            leaf
            if not _is_traced(leaf)
            else next(given)
            if isinstance(leaf, Tensor)
            else next(given).array
        ),
        params,
    )


def _is_traced(leaf: Any) -> bool:
    return is_traced_array(leaf.array if isinstance(leaf, Tensor) else leaf)
