"""Operators made of blocks: they also take a list with a tensor for each block in the place of one
tensor, and then give a list.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gradtape.api.tensorflow.linalg.operators.base import LinearOperator
from gradtape.api.tensorflow.linalg.operators.hints import all_have
from gradtape.api.tensorflow.linalg.operators.values import (
    argument_in,
    as_column,
    as_vector,
    in_batch,
    in_one_batch,
)
from gradtape.core.tensor import Tensor
from gradtape.ops import shaping
from gradtape.shapes import TensorShape


class BlockOperator(LinearOperator):
    """The base of operators made of blocks."""

    @abstractmethod
    def _diagonal_blocks(self) -> Sequence[LinearOperator]:
        """The blocks on the diagonal."""

    @abstractmethod
    def _apply(self, blocks: Sequence[Any], adjoint: bool, adjoint_arg: bool) -> list[Any]:
        """The products, block by block."""

    @abstractmethod
    def _undo(self, blocks: Sequence[Any], adjoint: bool, adjoint_arg: bool) -> list[Any]:
        """The solutions, block by block."""

    def _sizes(self, adjoint: Any) -> list[int]:
        """How many columns each block on the diagonal has, or its adjoint."""
        return [operator._columns(adjoint) for operator in self._diagonal_blocks()]

    # Products and solutions

    def matmul(
        self, x: Any, adjoint: bool = False, adjoint_arg: bool = False, name: str = "matmul"
    ) -> Any:
        """The product with matrices, a list of them for each block, or an operator."""
        blocks = self._blocks(x, self._sizes(adjoint), -1 if adjoint_arg else -2, "matmul: x")
        if blocks is None:
            return super().matmul(x, adjoint=adjoint, adjoint_arg=adjoint_arg)
        return self._apply(blocks, adjoint, adjoint_arg)

    def solve(
        self, rhs: Any, adjoint: bool = False, adjoint_arg: bool = False, name: str = "solve"
    ) -> Any:
        """The X with A X = `rhs`; a list of matrices if `rhs` is one, an operator if it is one."""
        sizes = self._sizes(not adjoint)
        blocks = self._blocks(rhs, sizes, -1 if adjoint_arg else -2, "solve: rhs")
        if blocks is None:
            return super().solve(rhs, adjoint=adjoint, adjoint_arg=adjoint_arg)
        self._check_solvable()
        return self._undo(blocks, adjoint, adjoint_arg)

    def matvec(self, x: Any, adjoint: bool = False, name: str = "matvec") -> Any:
        """The product with vectors, or with a list of vectors for each block."""
        blocks = self._blocks(x, self._sizes(adjoint), -1, "matvec: x")
        if blocks is None:
            return super().matvec(x, adjoint=adjoint)
        columns = [as_column(block) for block in blocks]
        return [as_vector(block) for block in self._apply(columns, adjoint, False)]

    def solvevec(self, rhs: Any, adjoint: bool = False, name: str = "solve") -> Any:
        """The x with A x = `rhs`, for vectors or a list of vectors for each block."""
        blocks = self._blocks(rhs, self._sizes(not adjoint), -1, "solvevec: rhs")
        if blocks is None:
            return super().solvevec(rhs, adjoint=adjoint)
        self._check_solvable()
        columns = [as_column(block) for block in blocks]
        return [as_vector(block) for block in self._undo(columns, adjoint, False)]

    def _matmul(self, x: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        parts = self._split(x, self._sizes(adjoint), -1 if adjoint_arg else -2)
        return joined(self._apply(parts, adjoint, adjoint_arg))

    def _solve(self, rhs: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        if not self._are_square():
            return super()._solve(rhs, adjoint=adjoint, adjoint_arg=adjoint_arg)
        parts = self._split(rhs, self._sizes(not adjoint), -1 if adjoint_arg else -2)
        return joined(self._undo(parts, adjoint, adjoint_arg))

    def _split(self, x: Tensor, sizes: Sequence[int], axis: int) -> list[Tensor]:
        """A matrix cut where the blocks meet."""
        ends = np.cumsum(sizes)
        cuts = [slice(int(end - size), int(end)) for size, end in zip(sizes, ends, strict=True)]
        return [x[..., cut] if axis == -1 else x[..., cut, :] for cut in cuts]

    def _blocks(
        self, given: Any, sizes: Sequence[int], axis: int, argument: str
    ) -> list[Any] | None:
        """The blocks of a list that has one for each; None for what is one matrix."""
        if not self._is_blockwise(given, sizes, axis, argument):
            return None
        found: list[Any] = []
        for i, (block, size) in enumerate(zip(given, sizes, strict=True)):
            if isinstance(block, LinearOperator):
                found.append(block)
                continue
            tensor = argument_in(block, self.dtype, f"{argument}[{i}]")
            if tensor.array.ndim < -axis or tensor.array.shape[axis] != size:
                raise ValueError(
                    f"{argument}[{i}] must have {size} entries along axis {axis}, as this block of "
                    f"the operator has, got shape {tensor.shape}."
                )
            found.append(tensor)
        return found

    def _is_blockwise(self, given: Any, sizes: Sequence[int], axis: int, argument: str) -> bool:
        """Whether a list has a tensor for each block; a list of numbers is a vector, and a list of
        lists is what its sizes say.
        """
        if not isinstance(given, (list, tuple)) or len(given) != len(sizes):
            return False
        if any(isinstance(block, LinearOperator) for block in given):
            return True
        given = list(given)
        shapes: list[tuple[int, ...]] = [np.shape(getattr(b, "array", b)) for b in given]
        if not any(shapes):
            return False
        if not any(isinstance(block, (list, tuple)) for block in given):
            return True
        found = [shape[axis] if len(shape) >= -axis else None for shape in shapes]
        if found == list(sizes):
            return True
        whole = (len(given), *shapes[0])
        if len(set(shapes)) == 1 and len(whole) >= -axis and whole[axis] == sum(sizes):
            return False
        shown = ", ".join(str(TensorShape(shape)) for shape in shapes)
        raise ValueError(
            f"{argument}: the blocks must have sizes {list(sizes)} along axis {axis}, got shapes "
            f"{shown}."
        )

    # What the blocks on the diagonal say

    def _of_vectors(self, vectors: Sequence[Tensor]) -> Tensor:
        """Vectors one after the other."""
        return as_vector(joined([as_column(vector) for vector in vectors]))

    def _are_square(self) -> bool:
        """Whether the blocks on the diagonal are square; numbers are found on the dense matrix if
        they are not.
        """
        return all_have(self._diagonal_blocks(), "is_square")

    def _sum_over_blocks(self, numbers: Callable[[LinearOperator], Any]) -> Any:
        first, *others = self._diagonal_blocks()
        result = numbers(first)
        for operator in others:
            result = result + numbers(operator)
        return result

    def _determinant(self) -> Any:
        if not self._are_square():
            return super()._determinant()
        first, *others = self._diagonal_blocks()
        result = first.determinant()
        for operator in others:
            result = result * operator.determinant()
        return result

    def _log_abs_determinant(self) -> Any:
        if not self._are_square():
            return super()._log_abs_determinant()
        return self._sum_over_blocks(lambda operator: operator.log_abs_determinant())

    def _trace(self) -> Any:
        if not self._are_square():
            return super()._trace()
        return self._sum_over_blocks(lambda operator: operator.trace())

    def _diag_part(self) -> Any:
        if not self._are_square():
            return super()._diag_part()
        return self._of_vectors([operator.diag_part() for operator in self._diagonal_blocks()])

    def _eigvals(self) -> Any:
        if not all_have(self._diagonal_blocks(), "is_self_adjoint"):
            return super()._eigvals()
        return self._of_vectors([operator.eigvals() for operator in self._diagonal_blocks()])

    def _assert_non_singular(self) -> None:
        if not self._are_square():
            super()._assert_non_singular()
            return
        for operator in self._diagonal_blocks():
            operator.assert_non_singular()

    def _rows_with_zeros(self, rows: Sequence[Sequence[Tensor]], before: Sequence[int]) -> Tensor:
        """Rows of blocks as one matrix, each with so many columns of zeros before it."""
        width = int(self.shape[-1])
        whole: list[Tensor] = []
        for row, first in zip(rows, before, strict=True):
            parts = in_one_batch(row)
            wide = parts[0] if len(parts) == 1 else shaping.concat(*parts, axis=-1)
            after = width - first - wide.array.shape[-1]
            paddings = (*((0, 0),) * (wide.array.ndim - 1), (first, after))
            whole.append(shaping.pad(wide, paddings=paddings))
        return in_batch(joined(whole), tuple(self.batch_shape))


def joined(blocks: Sequence[Tensor]) -> Tensor:
    """Matrices one below the other, in the batch shape that they have together."""
    return blocks[0] if len(blocks) == 1 else shaping.concat(*in_one_batch(blocks), axis=-2)
