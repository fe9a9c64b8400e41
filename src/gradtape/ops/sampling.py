"""Samples that depend on tensors: the random numbers themselves are drawn elsewhere and come in as constants."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from gradtape.ops.batching import every_mapped
from gradtape.ops.declare import op
from gradtape.ops.shaping import reshape

if TYPE_CHECKING:
    from gradtape.ops.op import Op


def _no_gamma_gradient(g: Any) -> Any:
    raise LookupError(
        "A gamma sample has no gradient by alpha yet: pass alpha through gradtape.stop_gradient, or differentiate by beta alone."
    )


def _class_of(xp: Any, logits: Any, uniform: Any) -> Any:
    """For each number, the class in whose part of [0, 1) it lies. All rows are searched at once, each in its own unit interval."""
    rows, classes = logits.shape
    weights = np.exp(logits.astype(np.float64) - logits.max(-1, keepdims=True))
    upto = np.cumsum(weights, -1)
    start = np.arange(rows, dtype=np.float64)[:, None]
    found = np.searchsorted((upto / upto[:, -1:] + start).reshape(-1), (uniform + start).reshape(-1), side="right")
    return np.clip(found.reshape(uniform.shape) - np.arange(rows)[:, None] * classes, 0, classes - 1)


def _batched(op: Op, size: int, args: Sequence[Any], mapped: Sequence[bool], params: dict[str, Any]) -> Any:
    """A batch of batches is a larger batch."""
    args = every_mapped(size, args, mapped)
    joined = [reshape(arg, shape=(size * arg.array.shape[1], arg.array.shape[2])) for arg in args]
    return reshape(op.call(*joined, **params), shape=args[1].array.shape)


gamma_sample = op("gamma_sample", lambda xp, alpha, drawn: drawn, [_no_gamma_gradient, None], apart=["drawn"], moves=True)
class_of = op("class_of", _class_of, [None, None], apart=["uniform"], batch=_batched)
