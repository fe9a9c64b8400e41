"""The arguments of a call that is not the plainest: Tensors of one dtype, which the op takes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from gradtape import dtypes
from gradtape.convert import beside
from gradtape.core.needed_ops import needed
from gradtape.core.tensor import Tensor
from gradtape.errors import invalid_argument

if TYPE_CHECKING:
    from gradtape.ops.op import Op


def in_one_dtype(op: Op, args: Sequence[Any]) -> Sequence[Any]:
    """Arguments of an op, at least one of them a Tensor, as Tensors of one dtype, except those that
    stand apart; plain values take the dtype of the Tensors.
    """
    apart = op.apart
    if not apart and op.kinds is None and len(args) == 1:
        return args
    strong = next(
        (a.array.dtype for i, a in enumerate(args) if isinstance(a, Tensor) and i not in apart),
        None,
    )
    tensors = [
        a
        if isinstance(a, Tensor)
        else Tensor(beside(a, None if i in apart else strong, _named(op, i)))
        for i, a in enumerate(args)
    ]
    found = {arg.array.dtype for i, arg in enumerate(tensors) if i not in apart}
    if len(found) > 1:
        common, *others = found
        for dtype in others:
            common = dtypes.promote(common, dtype)
        tensors = [
            arg if i in apart or arg.array.dtype == common else needed.cast(arg, dtype=common)
            for i, arg in enumerate(tensors)
        ]
    if op.kinds is not None:
        _check_kinds(op, tensors)
    return tensors


def _check_kinds(op: Op, tensors: Sequence[Any]) -> None:
    for i, arg in enumerate(tensors):
        if i not in op.apart and arg.array.dtype.kind not in (op.kinds or ""):
            raise invalid_argument(
                f"{_named(op, i)} has dtype {arg.dtype.name}, which {op.name} does not take: cast "
                "it first."
            )


def _named(op: Op, index: int) -> str:
    """An argument as errors name it."""
    known = index < len(op.arguments)
    return f"{op.name}: {op.arguments[index] if known else f'argument {index}'}"
