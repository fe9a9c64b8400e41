"""Matrix products and Einstein sums."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gradtape.ops.broadcasting import broadcast_to, sum_to_shape
from gradtape.ops.declare import op
from gradtape.ops.shaping import reshape


def _matmul(xp: Any, a: Any, b: Any) -> Any:
    if a.ndim < 2 or b.ndim < 2:
        raise ValueError("both arguments must have at least two dimensions")
    return xp.matmul(a, b)


def _by_a(g: Any, b: Any, a_shape: tuple[int, ...]) -> Any:
    pulled = g @ b.mT
    return pulled if len(a_shape) == 2 == pulled.ndim else sum_to_shape(pulled, shape=a_shape)


def _by_b(g: Any, a: Any, b_shape: tuple[int, ...]) -> Any:
    pulled = a.mT @ g
    return pulled if len(b_shape) == 2 == pulled.ndim else sum_to_shape(pulled, shape=b_shape)


matmul = op("matmul", _matmul, [_by_a, _by_b])


def _einsum(xp: Any, *operands: Any, inputs: Sequence[str], output: str) -> Any:
    return xp.einsum(f"{','.join(inputs)}->{output}", *operands, optimize=len(operands) > 1)


def _einsum_pull(g: Any, wanted: Sequence[Any], args: Any, shapes: Any, inputs: Sequence[str], output: str) -> list[Any]:
    """The sum with the cotangent in the operand's place; letters that only the operand has are spread out."""
    pulled: list[Any] = []
    for i, parent in enumerate(wanted):
        if parent is None:
            pulled.append(None)
            continue
        others = [inputs[k] for k in range(len(inputs)) if k != i]
        known = "".join(letter for letter in inputs[i] if letter in output or any(letter in other for other in others))
        rest = [args[k] for k in range(len(args)) if k != i]
        found = einsum(g, *rest, inputs=(output, *others), output=known)
        if known != inputs[i]:
            found = reshape(found, shape=tuple(n if c in known else 1 for c, n in zip(inputs[i], shapes[i], strict=True)))
            found = broadcast_to(found, shape=shapes[i])
        pulled.append(found)
    return pulled


einsum = op("einsum", _einsum, pull_all=_einsum_pull, arguments=())
