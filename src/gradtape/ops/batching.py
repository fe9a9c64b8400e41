"""How ops run on batches: the rules that declarations name, and the loop for an op that has none.

A rule `(op, size, args, mapped, params)` returns the op's result for a whole batch: `args[i]` has
the batch as its first axis if `mapped[i]`, and so does the result. Rules call ops, so batches nest
and differentiate like everything else.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from gradtape.core.batching import BatchedTensor
from gradtape.core.needed_ops import needed
from gradtape.core.scopes import scope_of
from gradtape.core.tensor import Tensor
from gradtape.core.thread import here

if TYPE_CHECKING:
    from gradtape.ops.op import Op

BatchRule = Callable[["Op", int, Sequence[Any], Sequence[bool], dict[str, Any]], Any]

fallbacks: set[str] = set()
"""The names of ops that have run as a loop over examples."""


def call_batched(op: Op, args: Sequence[Any], params: dict[str, Any]) -> Any:
    """An op with BatchedTensors among its arguments."""
    level = max(
        (a.level for a in args if isinstance(a, BatchedTensor)), key=lambda found: found.depth
    )
    if level not in here.state.levels:
        raise ValueError(
            f"{op.name}: a tensor from inside vmap is used after the vmap has ended: return it "
            "from the function instead."
        )
    mapped = [isinstance(a, BatchedTensor) and a.level is level for a in args]
    inner = [a.inner if m else a for a, m in zip(args, mapped, strict=True)]
    state = here.state
    outside, inside = level.split()
    with state.only(outside):
        rule = (
            (op.batch or loop)
            if level.size or op.batch in (as_it_is, elementwise, together)
            else _of_nothing
        )
        found = rule(op, level.size, inner, mapped, params)
    result: Any = (
        [BatchedTensor(r, level) for r in found] if op.several else BatchedTensor(found, level)
    )
    return op.finish(
        args, params, result, state, scope_of([r.scope for r in inside if r.scope is not None])
    )


def loop(
    op: Op, size: int, args: Sequence[Any], mapped: Sequence[bool], params: dict[str, Any]
) -> Any:
    """One example after another: right for every op."""
    fallbacks.add(op.name)
    rows = [
        op.call(
            *[needed.getitem(a, key=(i,)) if m else a for a, m in zip(args, mapped, strict=True)],
            **params,
        )
        for i in range(size)
    ]
    if op.several:
        return [needed.stack(*column, axis=0) for column in zip(*rows, strict=True)]
    return needed.stack(*rows, axis=0)


def _of_nothing(
    op: Op, size: int, args: Sequence[Any], mapped: Sequence[bool], params: dict[str, Any]
) -> Any:
    """The result for no examples: the shapes come from a run on zeros."""
    example = [
        _zeros(a.array.shape[1:], a.array.dtype) if m else a
        for a, m in zip(args, mapped, strict=True)
    ]
    result = op.call(*example, **params)
    outputs = [
        _zeros((0, *r.array.shape), r.array.dtype) for r in (result if op.several else [result])
    ]
    return outputs if op.several else outputs[0]


def elementwise(
    op: Op, size: int, args: Sequence[Any], mapped: Sequence[bool], params: dict[str, Any]
) -> Any:
    """The batch axis goes before as many axes as the longest argument has."""
    rank = max(a.array.ndim - m for a, m in zip(args, mapped, strict=True))
    return op.call(
        *[lined_up(a, rank) if m else a for a, m in zip(args, mapped, strict=True)], **params
    )


def lined_up(x: Tensor, rank: int) -> Any:
    """A batch of tensors of lower rank as a batch of tensors of `rank`,
    with axes of size 1 in front.
    """
    shape = x.array.shape
    missing = rank - (len(shape) - 1)
    return needed.reshape(x, shape=(shape[0], *(1,) * missing, *shape[1:])) if missing else x


def every_mapped(size: int, args: Sequence[Any], mapped: Sequence[bool]) -> list[Any]:
    """The arguments with a batch axis each, those without one repeated."""
    return [
        a
        if m
        else needed.broadcast_to(
            needed.reshape(a, shape=(1, *a.array.shape)), shape=(size, *a.array.shape)
        )
        for a, m in zip(args, mapped, strict=True)
    ]


def shifted(*names: str, every: bool = False) -> BatchRule:
    """For ops whose parameters `names` are axes: non-negative ones move up by one;
    None means all but the batch.

    `every` first gives all arguments a batch axis.
    """

    def rule(
        op: Op, size: int, args: Sequence[Any], mapped: Sequence[bool], params: dict[str, Any]
    ) -> Any:
        rank = next(a.array.ndim for a, m in zip(args, mapped, strict=True) if m) - 1
        moved = {**op.defaults, **params}
        for name in names:
            moved[name] = _moved(moved[name], rank)
        return op.call(*(every_mapped(size, args, mapped) if every else args), **moved)

    return rule


def _moved(axis: Any, rank: int) -> Any:
    if axis is None:
        return tuple(range(1, rank + 1))
    return (
        tuple([_moved(a, rank) for a in axis])
        if isinstance(axis, tuple)
        else axis + 1
        if axis >= 0
        else axis
    )


def with_params(change: Callable[..., dict[str, Any]]) -> BatchRule:
    """For ops of one argument: `change(size, shape, **params)` gives the parameters for the whole
    batch.
    """

    def rule(
        op: Op, size: int, args: Sequence[Any], mapped: Sequence[bool], params: dict[str, Any]
    ) -> Any:
        (x,) = args
        return op.call(x, **change(size, x.array.shape[1:], **{**op.defaults, **params}))

    return rule


def as_it_is(
    op: Op, size: int, args: Sequence[Any], mapped: Sequence[bool], params: dict[str, Any]
) -> Any:
    """For ops of one argument that act on the last axes alone, or on each element."""
    return op.call(*args, **params)


def together(
    op: Op, size: int, args: Sequence[Any], mapped: Sequence[bool], params: dict[str, Any]
) -> Any:
    """For ops that act on the last axes of arguments with equal leading ones:
    every argument gets the batch axis.
    """
    return op.call(*every_mapped(size, args, mapped), **params)


def _zeros(shape: tuple[int, ...], dtype: Any) -> Tensor:
    return Tensor(np.zeros(shape, dtype))
