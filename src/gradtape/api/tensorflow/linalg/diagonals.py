"""The diagonals and bands of matrices: `tf.linalg`.

Several diagonals are the rows of one tensor, the uppermost first. `align` says whether shorter ones
are moved to the left or the right end of their row: first for those above the main diagonal, then
for those below it.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from gradtape.api.tensorflow.arguments import TensorLike, as_int, integers
from gradtape.api.tensorflow.linalg.matrices import checked_matrices
from gradtape.convert import TENSORFLOW
from gradtape.core.composite import own_function
from gradtape.core.tensor import Tensor
from gradtape.errors import invalid_argument
from gradtape.ops import broadcasting, indexing, matrix, selection, shaping, solvers
from gradtape.published import published

ALIGNMENTS = ("LEFT_RIGHT", "RIGHT_LEFT", "LEFT_LEFT", "RIGHT_RIGHT")


class Band(NamedTuple):
    """The diagonals from `low` to `high` of a matrix, counted to the right from the main one."""

    rows: int
    columns: int
    low: int
    high: int
    align: str

    @property
    def longest(self) -> int:
        return min(self.rows + min(self.high, 0), self.columns - max(self.low, 0))

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the diagonals of one matrix: a single one has no axis for their number."""
        return (
            (self.longest,) if self.low == self.high else (self.high - self.low + 1, self.longest)
        )

    def _starts(self) -> Any:
        """For each diagonal, uppermost first: its number, its length,
        and where it starts in its row.
        """
        steps = np.arange(self.high, self.low - 1, -1)
        lengths = np.minimum(self.rows + np.minimum(steps, 0), self.columns - np.maximum(steps, 0))
        above, below = self.align.split("_")
        left = ((steps >= 0) & (above == "LEFT")) | ((steps <= 0) & (below == "LEFT"))
        return steps, lengths, np.where(left, 0, self.longest - lengths)

    def in_matrix(self) -> tuple[Any, Any]:
        """For each place in the rows of diagonals: the place in the matrix, read row by row,
        and whether there is one.
        """
        steps, lengths, starts = (part[:, None] for part in self._starts())
        along = np.arange(self.longest) - starts
        inside = (along >= 0) & (along < lengths)
        places = (along + np.maximum(-steps, 0)) * self.columns + along + np.maximum(steps, 0)
        return np.where(inside, places, 0), inside

    def in_rows(self) -> tuple[Any, Any]:
        """For each place in the matrix: the place in the rows of diagonals, read row by row,
        and whether there is one.
        """
        _, _, starts = self._starts()
        row, column = np.arange(self.rows)[:, None], np.arange(self.columns)
        inside = column >= row + self.low
        inside &= column <= row + self.high
        places = np.minimum(row, column)
        if self.low == self.high:
            places += starts[0]
        else:
            which = (row + self.high - column) * inside
            places += which * self.longest + starts[which]
        places *= inside
        return places, inside


def _bounds(k: Any, function: str) -> tuple[int, int]:
    found = integers(k, f"{function}: k")
    if len(found) not in (1, 2) or found[0] > found[-1]:
        raise invalid_argument(
            f"{function}: k must be one diagonal or two, the lower one first, got {k!r}."
        )
    return found[0], found[-1]


def _band(shape: tuple[int, ...], k: Any, align: str, function: str) -> Band:
    """The band that `k` and `align` ask for in matrices of this shape."""
    rows, columns = shape
    low, high = _bounds(k, function)
    if align not in ALIGNMENTS:
        raise invalid_argument(
            f"{function}: align must be one of {', '.join(ALIGNMENTS)}, got {align!r}."
        )
    for bound in (low, high):
        if bound and not -rows < bound < columns:
            raise invalid_argument(
                f"{function}: k={bound} is outside a matrix of shape ({rows}, {columns})."
            )
    return Band(rows, columns, low, high, align)


def _gathered(x: Tensor, axes: int, places: Any) -> Tensor:
    """What stands at `places` of the last axes of `x`, read row by row."""
    batch = x.array.shape[: x.array.ndim - axes]
    flat = shaping.reshape(x, shape=(*batch, math.prod(x.array.shape[x.array.ndim - axes :])))
    return indexing.take(flat, Tensor(places), axis=len(batch), sparse=False)


def _padded(x: Tensor, inside: Any, padding: Any, function: str) -> Tensor:
    """`x` with `padding`, in its dtype, where nothing of it lies inside."""
    if inside.all():
        return x
    if type(padding) is int and not padding:
        return selection.keep(x, Tensor(inside))
    value = TENSORFLOW.tensor(padding, f"{function}: padding_value")
    if value.array.dtype != x.array.dtype:
        value = broadcasting.cast(value, dtype=x.array.dtype)
    return selection.where(Tensor(inside), x, value)


@published("linalg.diag_part")
def diag_part(
    input: TensorLike,
    name: str = "diag_part",
    k: Any = 0,
    padding_value: TensorLike = 0,
    align: str = "RIGHT_LEFT",
) -> Tensor:
    """A diagonal of a matrix, or of each matrix of a batch, `k` columns to the right of the main
    one; or all from one to another.

    >>> import gradtape as tf
    >>> tf.linalg.diag_part([[1, 2, 3], [4, 5, 6]], k=(0, 1)).numpy()
    array([[2, 6],
           [1, 5]], dtype=int32)
    """
    own = own_function(diag_part, input)
    if own is not None:
        return own(input, name, k, padding_value, align)
    x = checked_matrices(TENSORFLOW.tensor(input, "diag_part: input"), "diag_part", "input")
    band = _band(x.array.shape[-2:], k, align, "diag_part")
    if band.low == band.high:
        return matrix.diagonal(x, offset=band.low)
    places, inside = band.in_matrix()
    return _padded(_gathered(x, 2, places), inside, padding_value, "diag_part")


@published("linalg.diag")
def diag(
    diagonal: TensorLike,
    name: str = "diag",
    k: Any = 0,
    num_rows: int = -1,
    num_cols: int = -1,
    padding_value: TensorLike = 0,
    align: str = "RIGHT_LEFT",
) -> Tensor:
    """Matrices with the last axis of `diagonal` on a diagonal,
    `k` columns to the right of the main one; or rows on several.

    >>> import gradtape as tf
    >>> tf.linalg.diag([1, 2]).numpy()
    array([[1, 0],
           [0, 2]], dtype=int32)
    """
    x = TENSORFLOW.tensor(diagonal, "diag: diagonal")
    low, high = _bounds(k, "diag")
    if x.array.ndim < (1 if low == high else 2):
        raise invalid_argument(
            f"diag: diagonal has shape {x.shape}, but needs one axis for one diagonal, and two "
            "for several."
        )
    if low != high and x.array.shape[-2] != high - low + 1:
        raise invalid_argument(
            f"diag: k={k!r} names {high - low + 1} diagonals, but diagonal has shape {x.shape}."
        )
    length = x.array.shape[-1]
    shape = _diag_shape(
        length, low, high, as_int(num_rows, "diag: num_rows"), as_int(num_cols, "diag: num_cols")
    )
    band = _band(shape, k, align, "diag")
    if low == high and type(padding_value) is int and not padding_value:
        return matrix.on_diagonal(x, shape=shape, offset=low)
    placed, inside = _on_band(x, band)
    return _padded(placed, inside, padding_value, "diag")


def _on_band(x: Tensor, band: Band) -> tuple[Tensor, Any]:
    """Matrices with diagonals in their places, and where those are.

    What stands elsewhere is 0 for one diagonal, else anything.
    """
    places, inside = band.in_rows()
    if band.low == band.high:
        return matrix.on_diagonal(x, shape=(band.rows, band.columns), offset=band.low), inside
    return _gathered(x, 2, places), inside


def _diag_shape(length: int, low: int, high: int, rows: int, columns: int) -> tuple[int, int]:
    """The shape of a matrix whose longest diagonal has `length` elements; -1 for both sizes asks
    for a square, for one for the least.
    """
    least = (length - min(high, 0), length + max(low, 0))
    if rows == columns == -1:
        return (max(least),) * 2
    shape = (least[0] if rows == -1 else rows, least[1] if columns == -1 else columns)
    if shape[0] < least[0] or shape[1] < least[1] or (shape[0] > least[0] and shape[1] > least[1]):
        raise invalid_argument(
            f"diag: {length} elements on diagonals from {low} to {high} do not fill the longest "
            f"one of a matrix of shape {shape}."
        )
    return shape


@published("linalg.set_diag")
def set_diag(
    input: TensorLike,
    diagonal: TensorLike,
    name: str = "set_diag",
    k: Any = 0,
    align: str = "RIGHT_LEFT",
) -> Tensor:
    """`input` with other values on a diagonal, `k` columns to the right of the main one;
    or on several.

    >>> import gradtape as tf
    >>> tf.linalg.set_diag([[1.0, 2.0], [3.0, 4.0]], [0.0, 0.0]).numpy()
    array([[0., 2.],
           [3., 0.]], dtype=float32)
    """
    x, values = TENSORFLOW.tensors([input, diagonal], ["set_diag: input", "set_diag: diagonal"])
    shape = checked_matrices(x, "set_diag", "input").array.shape
    band = _band(shape[-2:], k, align, "set_diag")
    if values.array.shape != (*shape[:-2], *band.shape):
        raise invalid_argument(
            f"set_diag: diagonal has shape {values.shape}, but k={k!r} of an input of shape "
            f"{x.shape} has {(*shape[:-2], *band.shape)}."
        )
    if band.low == band.high:
        return matrix.set_diagonal(x, values, offset=band.low)
    placed, inside = _on_band(values, band)
    return selection.where(Tensor(inside), placed, x)


@published("linalg.band_part")
def band_part(input: TensorLike, num_lower: Any, num_upper: Any, name: str | None = None) -> Tensor:
    """Matrices with zeros outside a band of `num_lower` diagonals below the main one and
    `num_upper` above it; negative means all.

    >>> import gradtape as tf
    >>> tf.linalg.band_part([[1, 2, 3], [4, 5, 6], [7, 8, 9]], -1, 0).numpy()
    array([[1, 0, 0],
           [4, 5, 0],
           [7, 8, 9]], dtype=int32)
    """
    x = checked_matrices(TENSORFLOW.tensor(input, "band_part: input"), "band_part", "input")
    lower, upper = (
        as_int(num_lower, "band_part: num_lower"),
        as_int(num_upper, "band_part: num_upper"),
    )
    rows, columns = x.array.shape[-2:]
    if lower > rows or upper > columns:
        raise invalid_argument(
            f"band_part: num_lower={lower} and num_upper={upper} must be negative, or at most the "
            f"sizes ({rows}, {columns})."
        )
    return solvers.band(
        x, low=-math.inf if lower < 0 else -lower, high=math.inf if upper < 0 else upper
    )


@published("linalg.tensor_diag")
def tensor_diag(diagonal: TensorLike, name: str | None = None) -> Tensor:
    """A tensor of twice the rank, with `diagonal` where both halves of the indices agree, else 0.

    >>> import gradtape as tf
    >>> tf.linalg.tensor_diag([1, 2]).numpy()
    array([[1, 0],
           [0, 2]], dtype=int32)
    """
    x = TENSORFLOW.tensor(diagonal, "tensor_diag: diagonal")
    shape = x.array.shape
    if not shape:
        raise invalid_argument("tensor_diag: diagonal must have at least one axis, got a scalar.")
    size = math.prod(shape)
    placed = matrix.on_diagonal(shaping.reshape(x, shape=(size,)), shape=(size, size))
    return shaping.reshape(placed, shape=(*shape, *shape))


@published("linalg.tensor_diag_part")
def tensor_diag_part(input: TensorLike, name: str | None = None) -> Tensor:
    """What stands where both halves of the indices agree: the inverse of `tensor_diag`.

    >>> import gradtape as tf
    >>> tf.linalg.tensor_diag_part([[1, 2], [3, 4]]).numpy()
    array([1, 4], dtype=int32)
    """
    x = TENSORFLOW.tensor(input, "tensor_diag_part: input")
    shape = x.array.shape
    half = len(shape) // 2
    if not shape or len(shape) % 2 or shape[:half] != shape[half:]:
        raise invalid_argument(
            "tensor_diag_part: the first half of the shape of input must equal the second half, "
            f"got {x.shape}."
        )
    size = math.prod(shape[:half])
    return shaping.reshape(
        matrix.diagonal(shaping.reshape(x, shape=(size, size))), shape=shape[:half]
    )


def matrix_from_bands(bands: Tensor, low: int, high: int, align: str) -> Tensor:
    """Square matrices from all rows of diagonals from `low` to `high`, with zeros elsewhere."""
    size = bands.array.shape[-1]
    places, inside = Band(size, size, low, high, align).in_rows()
    return selection.keep(_gathered(bands, 2, places), Tensor(inside))
