"""Boxes and glimpses in `tf.image`: non-maximum suppression, drawing boxes, and extracting
glimpses.
"""

# mypy: disable-error-code="no-any-return"
# An op gives a Tensor for Tensors and an array for arrays, so its result is Any; here the arguments
# are Tensors.

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gradtape.api.tensorflow.accepted import FLOATING, REAL, of_kind
from gradtape.api.tensorflow.arguments import TensorLike, as_int, integers, known
from gradtape.api.tensorflow.random import draws
from gradtape.api.tensorflow.random.sequence import source
from gradtape.core.tensor import Tensor
from gradtape.errors import invalid_argument
from gradtape.ops import arithmetic, broadcasting, reductions
from gradtape.ops.indexing import take
from gradtape.ops.selection import where
from gradtape.ops.shaping import getitem, reshape
from gradtape.published import published

_INT64 = np.dtype(np.int64)
_INSTEAD = "return the boxes and scores"
_COLOURS = [
    (1, 1, 0, 1), (0, 0, 1, 1), (1, 0, 0, 1), (0, 1, 0, 1), (0.5, 0, 0.5, 1),
    (0.5, 0.5, 0, 1), (0.5, 0, 0, 1), (0, 0, 0.5, 1), (0, 1, 1, 1), (1, 0, 1, 1),
]  # fmt: skip


@published("image.non_max_suppression")
def non_max_suppression(
    boxes: TensorLike,
    scores: TensorLike,
    max_output_size: Any,
    iou_threshold: Any = 0.5,
    score_threshold: Any = -math.inf,
    name: str | None = None,
) -> Tensor:
    """The boxes `[y1, x1, y2, x2]` to keep, best first: none overlaps a better one by more than
    `iou_threshold` of their union.

    >>> import gradtape as tf
    >>> boxes = [[0.0, 0.0, 1.0, 1.0], [0.0, 0.1, 1.0, 1.1], [0.0, 5.0, 1.0, 6.0]]
    >>> tf.image.non_max_suppression(boxes, [0.8, 0.9, 0.1], max_output_size=3).numpy()
    array([1, 2], dtype=int32)
    """
    function = "non_max_suppression"
    found, marks = _boxes_and_scores(boxes, scores, function)
    kept, _ = _kept(
        _overlaps(found), marks, max_output_size, iou_threshold, score_threshold, 0.0, function
    )
    return kept


@published("image.non_max_suppression_with_scores")
def non_max_suppression_with_scores(
    boxes: TensorLike,
    scores: TensorLike,
    max_output_size: Any,
    iou_threshold: Any = 0.5,
    score_threshold: Any = -math.inf,
    soft_nms_sigma: Any = 0.0,
    name: str | None = None,
) -> tuple[Tensor, Tensor]:
    """The boxes to keep and their scores; with `soft_nms_sigma`, an overlap lowers the score of a
    box instead of removing it.

    >>> import gradtape as tf
    >>> boxes = [[0.0, 0.0, 1.0, 1.0], [0.0, 0.1, 1.0, 1.1], [0.0, 5.0, 1.0, 6.0]]
    >>> kept, scores = tf.image.non_max_suppression_with_scores(
    ...     boxes, [0.8, 0.9, 0.1], max_output_size=3
    ... )
    >>> kept.numpy(), scores.numpy()
    (array([1, 2], dtype=int32), array([0.9, 0.1], dtype=float32))
    """
    function = "non_max_suppression_with_scores"
    found, marks = _boxes_and_scores(boxes, scores, function)
    return _kept(
        _overlaps(found),
        marks,
        max_output_size,
        iou_threshold,
        score_threshold,
        float(soft_nms_sigma),
        function,
    )


@published("image.non_max_suppression_overlaps")
def non_max_suppression_overlaps(
    overlaps: TensorLike,
    scores: TensorLike,
    max_output_size: Any,
    overlap_threshold: Any = 0.5,
    score_threshold: Any = -math.inf,
    name: str | None = None,
) -> Tensor:
    """`non_max_suppression` for overlaps that are given,
    as a matrix with a row and a column for each box.

    >>> import gradtape as tf
    >>> tf.image.non_max_suppression_overlaps(
    ...     [[1.0, 0.9], [0.9, 1.0]], [0.8, 0.9], max_output_size=2
    ... ).numpy()
    array([1], dtype=int32)
    """
    function = "non_max_suppression_overlaps"
    matrix = of_kind(overlaps, FLOATING, function, "overlaps")
    marks = of_kind(scores, FLOATING, function, "scores")
    if matrix.array.shape != marks.array.shape * 2:
        raise invalid_argument(
            f"{function}: overlaps must have a row and a column for each score, got {matrix.shape} "
            f"and {marks.shape}."
        )
    return _kept(
        known(matrix, f"{function}: overlaps", _INSTEAD),
        marks,
        max_output_size,
        overlap_threshold,
        score_threshold,
        0.0,
        function,
    )[0]


def _boxes_and_scores(boxes: Any, scores: Any, function: str) -> tuple[Any, Tensor]:
    found, marks = (
        of_kind(boxes, FLOATING, function, "boxes"),
        of_kind(scores, FLOATING, function, "scores"),
    )
    if found.ndim != 2 or found.array.shape[1] != 4 or marks.array.shape != found.array.shape[:1]:
        raise invalid_argument(
            f"{function}: boxes must have the shape (n, 4) and scores (n,), got {found.shape} and "
            f"{marks.shape}."
        )
    return known(found, f"{function}: boxes", _INSTEAD), marks


def _overlaps(boxes: Any) -> Any:
    """For each pair of boxes, the part of their union that both cover;
    corners may be given in any order.
    """
    low, high = np.minimum(boxes[:, :2], boxes[:, 2:]), np.maximum(boxes[:, :2], boxes[:, 2:])
    common = np.maximum(np.minimum(high[:, None], high) - np.maximum(low[:, None], low), 0).prod(-1)
    areas = (high - low).prod(-1)
    real = (areas[:, None] > 0) & (areas > 0)
    return np.where(real, common / np.where(real, areas[:, None] + areas - common, 1), 0)


def _kept(
    overlaps: Any,
    scores: Tensor,
    max_output_size: Any,
    threshold: Any,
    score_threshold: Any,
    sigma: float,
    function: str,
) -> tuple[Tensor, Tensor]:
    limit = as_int(max_output_size, f"{function}: max_output_size")
    most, least = float(threshold), float(score_threshold)
    if not 0 <= most <= 1:
        raise invalid_argument(
            f"{function}: the overlap threshold must be from 0 to 1, got {most}."
        )
    marks = known(scores, f"{function}: scores", _INSTEAD).astype(np.float64)
    open_boxes = marks > least
    kept: list[int] = []
    while len(kept) < limit and open_boxes.any():
        best = int(np.argmax(np.where(open_boxes, marks, -np.inf)))
        kept.append(best)
        open_boxes[best] = False
        near = overlaps[:, best]
        if sigma > 0:
            marks[open_boxes] *= np.exp(-0.5 / sigma * near[open_boxes] ** 2)
            open_boxes &= marks > least
        else:
            open_boxes &= ~(near > most)
    chosen = np.array(kept, np.int32)
    return Tensor(chosen), Tensor(marks[chosen].astype(scores.array.dtype))


@published("image.draw_bounding_boxes")
def draw_bounding_boxes(
    images: TensorLike, boxes: TensorLike, colors: TensorLike | None, name: str | None = None
) -> Tensor:
    """Images with the outlines of boxes `[y1, x1, y2, x2]`, in coordinates from 0 to 1,
    in colours that take turns.

    >>> import gradtape as tf
    >>> tf.image.draw_bounding_boxes(tf.zeros([1, 3, 3, 1]), [[[0.0, 0.0, 1.0, 1.0]]], [[1.0]])[
    ...     0, :, :, 0
    ... ].numpy()
    array([[1., 1., 1.],
           [1., 0., 1.],
           [1., 1., 1.]], dtype=float32)
    """
    function = "draw_bounding_boxes"
    x = of_kind(images, FLOATING, function, "images")
    corners = known(
        of_kind(boxes, FLOATING, function, "boxes"), f"{function}: boxes", "return the boxes"
    )
    if x.ndim != 4 or corners.ndim != 3 or corners.shape[::2] != (x.array.shape[0], 4):
        raise invalid_argument(
            f"{function}: images must be (batch, height, width, channels) and boxes (batch, n, 4), "
            f"got {x.shape} and {corners.shape}."
        )
    count, height, width, channels = x.array.shape
    if colors is None:
        table = np.ones((1, 1)) if channels == 1 else np.array(_COLOURS)[:, :channels]
    else:
        table = known(
            of_kind(colors, FLOATING, function, "colors"), f"{function}: colors", "use a constant"
        )
        if table.ndim != 2 or table.shape[1] < channels:
            raise invalid_argument(
                f"{function}: colors must have rows of {channels} channels, got shape "
                f"{table.shape}."
            )
    drawn = np.zeros((count, height, width), bool)
    ink = np.zeros(x.array.shape, x.array.dtype)
    scale = np.array([height - 1, width - 1, height - 1, width - 1])
    for image, box in np.ndindex(*corners.shape[:2]):
        top, left, bottom, right = (corners[image, box] * scale).astype(np.int64).tolist()
        if (
            top > bottom
            or left > right
            or top >= height
            or left >= width
            or bottom < 0
            or right < 0
        ):
            continue
        rows, columns = slice(max(top, 0), bottom + 1), slice(max(left, 0), right + 1)
        edges = [(top, columns)] * (top >= 0) + [(bottom, columns)] * (bottom < height)
        edges += [(rows, left)] * (left >= 0) + [(rows, right)] * (right < width)
        for edge in edges:
            drawn[(image, *edge)] = True
            ink[(image, *edge)] = table[box % len(table), :channels]
    return where(Tensor(drawn[..., None]), Tensor(ink), x)


@published("image.extract_glimpse")
def extract_glimpse(
    input: TensorLike,
    size: Any,
    offsets: TensorLike,
    centered: bool = True,
    normalized: bool = True,
    noise: str = "uniform",
    name: str | None = None,
) -> Tensor:
    """The part of each image of this size at its offset `[y, x]`; outside the image there is noise,
    'uniform', 'gaussian' or 'zero'.

    Normalized offsets are parts of the image's size; centered ones have (0, 0) in the middle of it.

    >>> import gradtape as tf
    >>> image = tf.reshape([1.0, 2.0, 3.0, 4.0, 5.0], [1, 1, 5, 1])
    >>> tf.image.extract_glimpse(image, [1, 3], [[0.0, 0.0]])[0, 0, :, 0].numpy()
    array([2., 3., 4.], dtype=float32)
    """
    function = "extract_glimpse"
    x, places = (
        of_kind(input, REAL, function, "input"),
        of_kind(offsets, FLOATING, function, "offsets"),
    )
    wanted = integers(size, f"{function}: size")
    if (
        x.ndim != 4
        or places.array.shape != (x.array.shape[0], 2)
        or len(wanted) != 2
        or min(wanted) < 1
    ):
        raise invalid_argument(
            f"{function}: input must have 4 dimensions, offsets the shape (batch, 2) and size two "
            f"positive integers, got {x.shape}, "
            f"{places.shape} and {list(wanted)}."
        )
    if noise not in ("uniform", "gaussian", "zero"):
        raise invalid_argument(
            f"{function}: noise must be 'uniform', 'gaussian' or 'zero', got {noise!r}."
        )
    count, *sizes, channels = x.array.shape
    index: Any = np.arange(count).reshape(-1, 1, 1)
    inside: Any = True
    for axis, (whole, part) in enumerate(zip(sizes, wanted, strict=True)):
        start = getitem(places, key=(slice(None), slice(axis, axis + 1)))
        if normalized:
            start = start * whole
        if centered:
            start = start * 0.5 + (whole - part) / 2 if normalized else start + whole / 2
        along = reshape(
            broadcasting.cast(start, dtype=_INT64) + np.arange(part),
            shape=(count, *((part, 1) if axis == 0 else (1, part))),
        )
        within = arithmetic.logical_and(
            arithmetic.greater_equal(along, 0), arithmetic.less(along, whole)
        )
        inside = arithmetic.logical_and(inside, within) if axis else within
        index = where(within, along, 0) + index * whole
    seen = take(
        reshape(x, shape=(math.prod(x.array.shape[:3]), channels)), index, axis=0, sparse=False
    )
    return where(getitem(inside, key=(..., None)), seen, _noise(noise, x, seen, function))


def _noise(kind: str, x: Tensor, seen: Tensor, function: str) -> Any:
    """Numbers with the range, or the mean and deviation, of the images."""
    if kind == "zero" or not x.dtype.is_floating:
        return 0
    values, numbers = broadcasting.stop_gradient(x), source(function, None)
    if kind == "uniform":
        low, high = reductions.reduce_min(values), reductions.reduce_max(values)
        return numbers.tensor(draws.uniforms, seen.array.shape, x.array.dtype) * (high - low) + low
    mean = reductions.reduce_mean(values)
    spread = reductions.reduce_mean(arithmetic.squared_difference(values, mean)) ** 0.5
    return numbers.tensor(draws.normals, seen.array.shape, x.array.dtype) * spread + mean
