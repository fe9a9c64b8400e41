"""Matrix products, Einstein sums and diagonals."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from string import ascii_letters
from typing import Any

import numpy as np

from gradtape.engines.arrays import product
from gradtape.engines.numpy import products
from gradtape.ops import jets, links, products_on_xla
from gradtape.ops.batching import as_it_is, elementwise, together
from gradtape.ops.broadcasting import broadcast_to, sum_to_shape
from gradtape.ops.declare import op
from gradtape.ops.rows import RowRule, multiplies_rows
from gradtape.ops.selection import keep_array, zeros_like
from gradtape.ops.shaping import reshape


def _matmul(xp: Any, a: Any, b: Any) -> Any:
    if a.ndim < 2 or b.ndim < 2:
        raise ValueError("both arguments must have at least two dimensions")
    return products.matmul(a, b) if xp is np else products_on_xla.matmul(xp, a, b)


def _by_a(g: Any, b: Any, a_shape: tuple[int, ...]) -> Any:
    pulled = product(g, b.mT)
    return pulled if len(a_shape) == 2 == pulled.ndim else sum_to_shape(pulled, shape=a_shape)


def _by_b(g: Any, a: Any, a_shape: tuple[int, ...], b_shape: tuple[int, ...]) -> Any:
    if len(b_shape) > 2:
        return sum_to_shape(a.mT @ g, shape=b_shape)
    if len(a_shape) > 2:  # one product with all rows together, instead of a sum of many
        rows = math.prod(a_shape[:-1])
        a, g = reshape(a, shape=(rows, a_shape[-1])), reshape(g, shape=(rows, b_shape[-1]))
    return product(a.mT, g)


def _batch_matmul(
    op: Any, size: int, args: Sequence[Any], mapped: Sequence[bool], params: dict[str, Any]
) -> Any:
    """A batch times one matrix is one product of two matrices: NumPy would go through the batch."""
    a, b = args
    shape = a.array.shape
    if mapped[1] or len(b.array.shape) != 2 or len(shape) < 3 or not a.array.size:
        return elementwise(op, size, args, mapped, params)
    rows = reshape(a, shape=(math.prod(shape[:-1]), shape[-1]))
    return reshape(matmul(rows, b), shape=(*shape[:-1], b.array.shape[-1]))


def _rows_by_a(rows: Any, b: Any, a_shape: tuple[int, ...]) -> Any:
    if not multiplies_rows(b):
        return None
    flat = rows.reshape(math.prod(rows.shape[:-1]), rows.shape[-1])
    return np.matmul(flat, b.T).reshape(len(rows), *a_shape)


def _rows_by_b(rows: Any, a: Any, a_shape: tuple[int, ...], b_shape: tuple[int, ...]) -> Any:
    if not multiplies_rows(a):
        return None
    if rows.shape[-1] == 1:  # a matrix times a vector: all vectors side by side
        flat = rows.reshape(math.prod(rows.shape[:-2]), len(a))
        return np.matmul(flat, a).reshape(len(rows), *b_shape)
    return np.matmul(a.T, rows)


def _pushed_rows(tangents: Sequence[Any], saved: Callable[[int], dict[str, Any]]) -> Any:
    of_a, of_b = tangents
    total: Any = None
    if of_a is not None:
        b = saved(0)["b"]
        if not multiplies_rows(b):
            return None
        flat = of_a.reshape(math.prod(of_a.shape[:-1]), of_a.shape[-1])
        total = np.matmul(flat, b).reshape(*of_a.shape[:-1], b.shape[1])
    if of_b is not None:
        a = saved(1)["a"]
        if not multiplies_rows(a):
            return None
        if of_b.shape[-1] == 1:
            flat = of_b.reshape(math.prod(of_b.shape[:-2]), of_b.shape[-2])
            term = np.matmul(flat, a.T).reshape(*of_b.shape[:-2], len(a), 1)
        else:
            term = np.matmul(a, of_b)
        total = term if total is None else np.add(total, term)
    return total


def _factor(index: int, saved: dict[str, Any], batch: int, count: int) -> tuple[Any, bool] | None:
    """The other factor, if the argument is a row of numbers for each example,
    or a matrix times one vector for all.
    """
    factor, shape = (saved["b"], saved["a_shape"]) if index == 0 else (saved["a"], saved["b_shape"])
    if len(factor.shape) != 2:
        return None
    height, width = factor.shape
    if index == 0:
        return (factor, True) if shape == (batch, height) and width == count else None
    return (
        (factor, False)
        if shape[-1] == 1 and height == count and math.prod(shape) == batch * width
        else None
    )


matmul = op(
    "matmul",
    _matmul,
    [_by_a, _by_b],
    batch=_batch_matmul,
    kinds="iufcV",
    native=True,
    plain=True,
    jet=jets.bilinear,
    links=links.matrices("ik", "ij", "jk"),
    rows=RowRule([_rows_by_a, _rows_by_b], _pushed_rows, fresh=True, factor=_factor),
)


def _einsum(xp: Any, *operands: Any, inputs: Sequence[str], output: str) -> Any:
    return xp.einsum(f"{','.join(inputs)}->{output}", *operands, optimize=len(operands) > 1)


def _einsum_work(*operands: Any, inputs: Sequence[str], output: str) -> int:
    """One multiplication for each value of all indices."""
    sizes: dict[str, int] = {}
    for operand, indices in zip(operands, inputs, strict=True):
        sizes.update(zip(indices, operand.shape, strict=True))
    return math.prod(sizes.values()) if len(operands) > 1 else 0


def _einsum_pull(
    g: Any, wanted: Sequence[Any], args: Any, shapes: Any, inputs: Sequence[str], output: str
) -> list[Any]:
    """The sum with the cotangent in the operand's place;
    letters that only the operand has are spread out.
    """
    pulled: list[Any] = []
    for i, parent in enumerate(wanted):
        if parent is None:
            pulled.append(None)
            continue
        others = [inputs[k] for k in range(len(inputs)) if k != i]
        known = "".join(
            letter
            for letter in inputs[i]
            if letter in output or any(letter in other for other in others)
        )
        rest = [args[k] for k in range(len(args)) if k != i]
        found = einsum(g, *rest, inputs=(output, *others), output=known)
        if known != inputs[i]:
            found = reshape(
                found,
                shape=tuple(
                    n if c in known else 1 for c, n in zip(inputs[i], shapes[i], strict=True)
                ),
            )
            found = broadcast_to(found, shape=shapes[i])
        pulled.append(found)
    return pulled


def _batch_einsum(
    op: Any, size: int, args: Sequence[Any], mapped: Sequence[bool], params: dict[str, Any]
) -> Any:
    """The batch axis is one more letter."""
    letter = next(c for c in ascii_letters if not any(c in names for names in params["inputs"]))
    inputs = tuple(
        [letter + names if m else names for names, m in zip(params["inputs"], mapped, strict=True)]
    )
    return einsum(*args, inputs=inputs, output=letter + params["output"])


def _einsum_jet(step: jets.JetCall) -> jets.Partials:
    values, of = step.saved("args"), step.jets.of

    def factor(i: int) -> jets.Partials:
        return lambda index: of(step.node.parents[i], index) if index else values[i]

    factors = [factor(i) for i in range(len(values))]
    return lambda index: jets.product_rule(
        index, *factors, product=lambda *args: einsum(*args, **step.params)
    )


def _einsum_links(call: links.LinkedCall, index: int) -> links.Link:
    return links.aligned(
        call.shape, call.params["output"], call.inputs[index], call.params["inputs"][index]
    )


einsum = op(
    "einsum",
    _einsum,
    pull_all=_einsum_pull,
    arguments=(),
    batch=_batch_einsum,
    work=_einsum_work,
    native=True,
    jet=_einsum_jet,
    links=_einsum_links,
)


def _on_diagonal(xp: Any, x: Any, *, shape: tuple[int, int], offset: int = 0) -> Any:
    """Zero matrices of `shape` with the last axis of `x` on the diagonal that begins `offset`
    columns to the right.
    """
    out = np.zeros((*x.shape[:-1], *shape), x.dtype)
    _diagonal_of(out, offset)[..., : x.shape[-1]] = x
    return out


def _diagonal_of(matrices: Any, offset: int) -> Any:
    """A view of a diagonal of matrices of one's own that can be written."""
    *batch, rows, columns = matrices.shape
    first = max(-offset, 0) * columns + max(offset, 0)
    count = max(min(rows + min(offset, 0), columns - max(offset, 0)), 0)
    flat = matrices.reshape(*batch, rows * columns)
    return flat[..., first : first + count * (columns + 1) : columns + 1]


def _set_diagonal(xp: Any, x: Any, values: Any, *, offset: int) -> Any:
    out = np.array(x, order="C")
    _diagonal_of(out, offset)[...] = values
    return out


def _set_diagonal_on_xla(xp: Any, x: Any, values: Any, *, offset: int) -> Any:
    rows, columns = x.shape[-2:]
    placed = _on_diagonal_on_xla(xp, values, shape=(rows, columns), offset=offset)
    return xp.where(np.eye(rows, columns, offset, dtype=bool), placed, x)


def _on_diagonal_on_xla(xp: Any, x: Any, *, shape: tuple[int, int], offset: int = 0) -> Any:
    """Each element in all rows of its column, except where it does not stand:
    XLA's scatter would go element by element.
    """
    rows, columns = shape
    before = max(offset, 0)
    across = xp.pad(x, [*[(0, 0)] * (x.ndim - 1), (before, columns - before - x.shape[-1])])
    return keep_array(xp, across[..., None, :], np.eye(rows, columns, offset, dtype=bool))


diagonal = op(
    "diagonal",
    lambda xp, x, *, offset=0: xp.diagonal(x, offset, -2, -1),
    [lambda g, x_shape, offset: on_diagonal(g, shape=x_shape[-2:], offset=offset)],
    linear=True,
    moves=True,
    batch=as_it_is,
)
on_diagonal = op(
    "on_diagonal",
    _on_diagonal,
    [lambda g, offset: diagonal(g, offset=offset)],
    linear=True,
    moves=True,
    batch=as_it_is,
    xla=_on_diagonal_on_xla,
)
set_diagonal = op(
    "set_diagonal",
    _set_diagonal,
    [
        lambda g, offset: set_diagonal(g, zeros_like(diagonal(g, offset=offset)), offset=offset),
        lambda g, offset: diagonal(g, offset=offset),
    ],
    arguments=["x", "values"],
    linear=True,
    moves=True,
    batch=together,
    xla=_set_diagonal_on_xla,
)
