"""Connectionist temporal classification: `ctc_loss` and related functions of `tf.nn`."""

# mypy: disable-error-code="no-any-return"
# An op gives a Tensor for Tensors and an array for arrays, so its result is Any; here the arguments
# are Tensors.

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gradtape.api.tensorflow.accepted import FLOATING, of_kind
from gradtape.api.tensorflow.arguments import TensorLike, as_int, known
from gradtape.api.tensorflow.sparse.tensors import indices_of, shape_of, to_dense
from gradtape.convert import as_indices
from gradtape.core.sparse_tensor import SparseTensor
from gradtape.core.tensor import Tensor
from gradtape.engines.engine import NUMPY, engine_of
from gradtape.errors import invalid_argument
from gradtape.functions.control_flow import foldl
from gradtape.ops import activations, arithmetic, broadcasting, reductions
from gradtape.ops.computing import HALF
from gradtape.ops.indexing import take
from gradtape.ops.segments import segment_sum
from gradtape.ops.selection import where, zeros_like
from gradtape.ops.shaping import getitem, pad, reshape, stack, transpose
from gradtape.published import published

_FLOAT32 = np.dtype(np.float32)
_INT64 = np.dtype(np.int64)

_IMPOSSIBLE = -1e30
"""The log probability of what cannot be.

It is finite, so that its derivatives of every order are 0 and not NaN.
"""

_UNFINISHED = math.log(1e-307)
"""What TensorFlow adds to the log probability of a path that has not reached the end of its labels,
if no path has.
"""


@published("nn.ctc_loss")
def ctc_loss(
    labels: TensorLike | SparseTensor,
    logits: TensorLike,
    label_length: TensorLike | None,
    logit_length: TensorLike,
    logits_time_major: bool = True,
    unique: Any = None,
    blank_index: int | None = None,
    name: str | None = None,
) -> Tensor:
    """The negative log probability that frames of logits spell labels,
    with any repeats and blanks between them.

    `labels` has a row of class numbers for each sequence, filled up to the longest, or is a
    `SparseTensor` of them; the blank is class 0 unless `blank_index` says otherwise. `unique`,
    which speeds up TensorFlow, has no effect. The loss of labels that do not fit into their frames
    is finite, as TensorFlow's for dense labels: about 707 more than that of all beginnings that do
    fit. There are derivatives of every order.

    >>> import gradtape as tf
    >>> logits = tf.zeros([2, 1, 3])
    >>> tf.nn.ctc_loss(
    ...     labels=[[1]], logits=logits, label_length=[1], logit_length=[2]
    ... ).numpy().round(4)
    array([1.0986], dtype=float32)
    """
    given = of_kind(logits, FLOATING, "ctc_loss", "logits")
    if isinstance(labels, SparseTensor):
        if blank_index is None:
            raise ValueError(
                "ctc_loss: blank_index must be given if labels is a SparseTensor: -1 means the "
                "last class."
            )
        labels, label_length = _dense(labels)
    elif label_length is None:
        raise ValueError("ctc_loss: label_length must be given, unless labels is a SparseTensor.")
    targets = as_indices(labels, "ctc_loss: labels")
    counts, frames = (
        as_indices(label_length, "ctc_loss: label_length"),
        as_indices(logit_length, "ctc_loss: logit_length"),
    )
    if given.ndim != 3 or targets.ndim != 2:
        raise ValueError(
            f"ctc_loss: logits must have 3 dimensions and labels 2, got shapes {given.shape} and "
            f"{targets.shape}."
        )
    if counts.ndim != 1 or frames.ndim != 1:
        raise ValueError(
            f"ctc_loss: label_length and logit_length must be vectors, got shapes {counts.shape} "
            f"and {frames.shape}."
        )
    x = broadcasting.cast(given, dtype=_FLOAT32) if given.array.dtype in HALF else given
    if not logits_time_major:
        x = transpose(x, perm=(1, 0, 2))
    _, batch, classes = x.array.shape
    if not targets.array.shape[0] == counts.array.shape[0] == frames.array.shape[0] == batch:
        raise invalid_argument(
            f"ctc_loss: logits has {batch} sequences, but labels, label_length and logit_length "
            f"have shapes {targets.shape}, {counts.shape} and {frames.shape}."
        )
    blank = 0 if blank_index is None else as_int(blank_index, "ctc_loss: blank_index")
    if not -classes <= blank < classes:
        raise ValueError(
            f"ctc_loss: blank_index must be one of the {classes} classes, got {blank}."
        )
    states = _states(_int64(targets), _int64(counts), blank % classes, classes)
    loss = -_log_probability(
        activations.log_softmax(x, axis=2), states, _int64(counts), _int64(frames), blank % classes
    )
    return (
        loss
        if loss.array.dtype == given.array.dtype
        else broadcasting.cast(loss, dtype=given.array.dtype)
    )


def _dense(labels: SparseTensor) -> tuple[Tensor, Tensor]:
    """The labels as a matrix, and how many there are in each row."""
    rows, size = indices_of(labels)[:, 0], shape_of(labels)[0]
    dense = to_dense(labels.with_values(_int64(labels.values)), validate_indices=False)
    return dense, segment_sum(Tensor(np.ones(labels.values.array.shape, np.int64)), rows, size=size)


def _int64(x: Tensor) -> Tensor:
    return broadcasting.cast(x, dtype=_INT64)


def _states(labels: Tensor, counts: Tensor, blank: int, classes: int) -> Tensor:
    """The classes in the order in which a path goes through them: blanks and labels in turn,
    `(batch, 2 * labels + 1)`.
    """
    batch, length = labels.array.shape
    labels = where(
        arithmetic.less(np.arange(length), reshape(counts, shape=(batch, 1))), labels, blank
    )
    values = labels.array
    if (
        engine_of(values) is NUMPY
        and values.size
        and not (0 <= values.min() and values.max() < classes)
    ):
        raise invalid_argument(
            f"ctc_loss: labels must be in [0, {classes}), got {values.min()} to {values.max()}."
        )
    pairs = stack(zeros_like(labels) + blank, labels, axis=2)
    return pad(reshape(pairs, shape=(batch, 2 * length)), paddings=((0, 0), (0, 1)), value=blank)


def _log_probability(
    scores: Tensor, states: Tensor, counts: Tensor, frames: Tensor, blank: int
) -> Tensor:
    """The logarithm of the sum over all paths, frame by frame.

    After each frame, `paths` has for every state the log probability of all paths that are in it:
    they were there before, came from the state before, or skipped a blank between two labels that
    differ.
    """
    steps, batch, classes = scores.array.shape
    if not steps:
        raise invalid_argument("ctc_loss: logits must have at least one frame.")
    count = states.array.shape[1]
    rows = np.arange(batch)[:, None] * classes
    place = np.arange(count)
    previous = pad(
        getitem(states, key=(slice(None), slice(0, max(0, count - 2)))),
        paddings=((0, 0), (min(2, count), 0)),
        value=blank,
    )
    # Every second state is a label, by its place and not by its class: the blank's class may be a
    # label too, as in TensorFlow.
    skips = arithmetic.logical_and(Tensor(place % 2 == 1), arithmetic.not_equal(states, previous))
    emitted = take(reshape(scores, shape=(steps, batch * classes)), states + rows, axis=1)
    paths = where(Tensor(place < 2), getitem(emitted, key=(0,)), _IMPOSSIBLE)
    lasting = reshape(frames, shape=(batch, 1))

    def after_frame(paths: Tensor, frame: tuple[Tensor, Tensor]) -> Tensor:
        number, scores = frame
        moved = stack(paths, _later(paths, 1), where(skips, _later(paths, 2), _IMPOSSIBLE), axis=0)
        after = reductions.reduce_logsumexp(moved, axis=(0,)) + scores
        return where(arithmetic.less(number, lasting), after, paths)

    if steps > 1:
        paths = foldl(
            after_frame,
            (Tensor(np.arange(1, steps)), getitem(emitted, key=(slice(1, None),))),
            paths,
        )
    end = reshape(counts * 2, shape=(batch, 1))
    ends = arithmetic.logical_or(arithmetic.equal(place, end), arithmetic.equal(place, end - 1))
    spelled = reductions.reduce_logsumexp(where(ends, paths, _IMPOSSIBLE), axis=(1,))
    begun = reductions.reduce_logsumexp(paths, axis=(1,)) + _UNFINISHED
    return where(arithmetic.greater(spelled, _IMPOSSIBLE / 2), spelled, begun)


def _later(paths: Tensor, steps: int) -> Tensor:
    """What each state gets from the one `steps` before it."""
    count = paths.array.shape[1]
    kept = getitem(paths, key=(slice(None), slice(0, max(0, count - steps))))
    return pad(kept, paddings=((0, 0), (min(steps, count), 0)), value=_IMPOSSIBLE)


@published("nn.ctc_greedy_decoder")
def ctc_greedy_decoder(
    inputs: TensorLike,
    sequence_length: TensorLike,
    merge_repeated: bool = True,
    blank_index: int | None = None,
) -> tuple[list[SparseTensor], Tensor]:
    """The class with the largest logit of each frame, without blanks and repeats,
    and minus the sum of these logits.

    `inputs` are `(frames, batch, classes)`; the blank is the last class unless `blank_index` says
    otherwise.

    >>> import gradtape as tf
    >>> logits = tf.one_hot([[1], [1], [2], [1], [0]], depth=3)
    >>> (decoded,), score = tf.nn.ctc_greedy_decoder(logits, [5])
    >>> decoded.values.numpy(), score.numpy()
    (array([1, 1, 0]), array([[-5.]], dtype=float32))
    """
    x = of_kind(inputs, FLOATING, "ctc_greedy_decoder", "inputs")
    lengths = as_indices(sequence_length, "ctc_greedy_decoder: sequence_length")
    if x.ndim != 3 or lengths.array.shape != x.array.shape[1:2]:
        raise invalid_argument(
            "ctc_greedy_decoder: inputs must be (frames, batch, classes) and sequence_length "
            f"(batch,), got {x.shape} and {lengths.shape}."
        )
    steps, batch, classes = x.array.shape
    blank = (
        classes - 1
        if blank_index is None
        else as_int(blank_index, "ctc_greedy_decoder: blank_index") % classes
    )
    instead = "return the logits"
    lasting = np.arange(steps)[:, None] < known(
        lengths, "ctc_greedy_decoder: sequence_length", instead
    )
    best = known(x, "ctc_greedy_decoder: inputs", instead).argmax(axis=2)
    new = lasting & (best != blank)
    if merge_repeated:
        new[1:] &= best[1:] != best[:-1]
    counts = new.sum(axis=0)
    places = [(row, column) for row in range(batch) for column in range(counts[row])]
    decoded = SparseTensor(
        np.array(places, np.int64).reshape(-1, 2),
        best.T[new.T].astype(np.int64),
        np.array([batch, counts.max(initial=0)], np.int64),
    )
    tops = where(Tensor(lasting), reductions.reduce_max(x, axis=(2,)), 0.0)
    return [decoded], reshape(-reductions.reduce_sum(tops, axis=(0,)), shape=(batch, 1))


@published("nn.collapse_repeated")
def collapse_repeated(
    labels: TensorLike, seq_length: TensorLike, name: str | None = None
) -> tuple[Tensor, Tensor]:
    """Each row of labels with repeats made one, filled up with zeros, and the new lengths.

    >>> import gradtape as tf
    >>> collapsed, lengths = tf.nn.collapse_repeated([[1, 1, 2, 2, 1], [3, 3, 3, 0, 0]], [5, 3])
    >>> collapsed.numpy(), lengths.numpy()
    (array([[1, 2, 1],
           [3, 0, 0]], dtype=int32), array([3, 1], dtype=int32))
    """
    found = as_indices(labels, "collapse_repeated: labels")
    lengths = as_indices(seq_length, "collapse_repeated: seq_length")
    if found.ndim != 2 or lengths.array.shape != found.array.shape[:1]:
        raise invalid_argument(
            "collapse_repeated: labels must be a matrix with a length for each row, got shapes "
            f"{found.shape} and {lengths.shape}."
        )
    values = known(found, "collapse_repeated: labels", "return the labels")
    new = np.ones(values.shape, bool)
    new[:, 1:] = values[:, 1:] != values[:, :-1]
    new &= (
        np.arange(values.shape[1])
        < known(lengths, "collapse_repeated: seq_length", "return the labels")[:, None]
    )
    counts = new.sum(axis=1)
    out = np.zeros((len(values), counts.max(initial=0)), values.dtype)
    out[np.arange(out.shape[1]) < counts[:, None]] = values[new]
    return Tensor(out), Tensor(counts.astype(lengths.array.dtype))
