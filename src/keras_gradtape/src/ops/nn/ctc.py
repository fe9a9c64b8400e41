"""Keras's connectionist temporal classification: its loss, and two decoders."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import gradtape as tf
import gradtape.numpy as gnp
from keras_gradtape.src.conversion import convert_to_tensor
from keras_gradtape.src.ops.nn.operands import at_least_float32
from keras_gradtape.src.ops.operands import by_rule

_NONE = -1
"""What stands for no label: after the end of a path, and as the last label of an empty one."""

State = tuple[tf.Tensor, ...]


def ctc_loss(
    target: Any, output: Any, target_length: Any, output_length: Any, mask_index: int = 0
) -> tf.Tensor:
    """The negative log probability that frames `(batch, frames, classes)` spell their targets,
    in float32 at least.
    """
    return tf.nn.ctc_loss(
        convert_to_tensor(target, "int32"),
        by_rule(output, at_least_float32),
        convert_to_tensor(target_length, "int32"),
        convert_to_tensor(output_length, "int32"),
        logits_time_major=False,
        blank_index=mask_index,
    )


def ctc_decode(
    inputs: Any,
    sequence_lengths: Any,
    strategy: str = "greedy",
    beam_width: int = 100,
    top_paths: int = 1,
    merge_repeated: bool = True,
    mask_index: int | None = 0,
) -> tuple[tf.Tensor, tf.Tensor]:
    """The labels that frames spell, `(paths, batch, frames)` and filled up with -1,
    and scores of the paths.
    """
    x = by_rule(inputs, at_least_float32)
    lengths = convert_to_tensor(sequence_lengths, "int32")
    blank = x.shape[2] - 1 if mask_index is None else mask_index
    if strategy == "greedy":
        return _greedy(x, lengths, merge_repeated, blank)
    if strategy == "beam_search":
        return _beam_search(x, lengths, beam_width, top_paths, blank)
    raise ValueError(
        f"Invalid strategy {strategy}. Supported values are 'greedy' and 'beam_search'."
    )


def _greedy(
    x: tf.Tensor, lengths: tf.Tensor, merge_repeated: bool, blank: int
) -> tuple[tf.Tensor, tf.Tensor]:
    """The best class of each frame, without blanks and, if they are to be merged,
    without repeats.
    """
    frames = np.arange(x.shape[1], dtype=np.int32)
    lasting = tf.constant(frames) < lengths[:, None]
    best = gnp.where(lasting, tf.argmax(x, axis=2, output_type="int32"), blank)
    score = -gnp.sum(gnp.where(lasting, gnp.max(x, axis=2), 0.0), axis=1, keepdims=True)
    spoken = best != blank
    if merge_repeated:
        before = tf.pad(best[:, :-1], [(0, 0), (1, 0)], constant_values=_NONE)
        spoken = tf.logical_and(spoken, best != before)
    # Sorting moves what is left to the front, in its order.
    order = gnp.argsort(gnp.where(spoken, tf.constant(frames), len(frames)), axis=1, stable=True)
    found = gnp.take_along_axis(gnp.where(spoken, best, _NONE), order, axis=1)
    return found[None], score


def _beam_search(
    x: tf.Tensor, lengths: tf.Tensor, width: int, top_paths: int, blank: int
) -> tuple[tf.Tensor, tf.Tensor]:
    """The most probable paths, of which `width` are followed from frame to frame.

    A path is what has been spelled so far. Frames that spell it end in a blank or in its last
    label: both log probabilities are kept.
    """
    batch, frames, _ = x.shape
    if not 1 <= top_paths <= width:
        raise ValueError(
            f"ctc_decode: top_paths must be from 1 to beam_width={width}. Received: "
            f"top_paths={top_paths}"
        )
    scores = tf.transpose(tf.nn.log_softmax(x), [1, 0, 2])
    impossible = np.full((batch, width), -math.inf, x.dtype.as_numpy_dtype)
    ends_in_blank = impossible.copy()
    ends_in_blank[:, 0] = 0  # the empty path, before the first frame
    start = (
        tf.constant(np.full((batch, width, frames), _NONE, np.int32)),
        tf.constant(np.zeros((batch, width), np.int32)),
        tf.constant(ends_in_blank),
        tf.constant(impossible),
    )

    def step(state: State, frame: Any) -> State:
        number, found = frame
        after = _followed(state, found, width, blank)
        lasting = number < lengths
        return tuple(
            gnp.where(tf.reshape(lasting, [batch] + [1] * (new.ndim - 1)), new, old)
            for new, old in zip(after, state, strict=True)
        )

    paths, _, in_blank, in_label = tf.foldl(
        step, (tf.constant(np.arange(frames, dtype=np.int32)), scores), start
    )
    probability = gnp.logaddexp(in_blank, in_label)[:, :top_paths]
    return tf.transpose(paths[:, :top_paths], [1, 0, 2]), probability


def _followed(state: State, scores: tf.Tensor, width: int, blank: int) -> State:
    """The best paths after one more frame, the most probable first."""
    paths, lengths, in_blank, in_label = state
    classes, places = scores.shape[1], np.arange(paths.shape[2], dtype=np.int32)
    impossible = tf.constant(-math.inf, scores.dtype)
    end = tf.constant(places) == lengths[..., None] - 1
    last = gnp.where(lengths > 0, gnp.sum(gnp.where(end, paths, 0), axis=2, dtype=np.int32), _NONE)
    is_last = tf.one_hot(last, classes, dtype="bool", on_value=True, off_value=False)

    # A path stays what it is if the frame is blank or has its last label; it grows by any other
    # label, or by the same after a blank.
    either = gnp.logaddexp(in_blank, in_label)
    stay_blank = either + scores[:, blank : blank + 1]
    stay_label = in_label + gnp.max(gnp.where(is_last, scores[:, None], impossible), axis=2)
    grown = gnp.where(is_last, in_blank[..., None], either[..., None]) + scores[:, None]
    grown = gnp.where(tf.constant(np.arange(classes) == blank), impossible, grown)

    # A path that grows may become one that is followed already: the one without its last label.
    shorter = gnp.where(end, _NONE, paths)
    # (batch, which is met, which grows).
    becomes = tf.reduce_all(shorter[:, :, None] == paths[:, None], axis=3)
    becomes = tf.logical_and(becomes, lengths[..., None] == lengths[:, None] + 1)
    by_last = gnp.take_along_axis(
        gnp.swapaxes(grown, 1, 2), gnp.maximum(last, 0)[..., None], axis=1
    )
    stay_label = gnp.logaddexp(stay_label, gnp.max(gnp.where(becomes, by_last, impossible), axis=2))
    meets = tf.matmul(tf.cast(becomes, "float32"), tf.cast(is_last, "float32"), transpose_a=True)
    grown = gnp.where(meets > 0, impossible, grown)

    flat = tf.reshape(grown, [grown.shape[0], width * classes])
    candidates = tf.concat([gnp.logaddexp(stay_blank, stay_label), flat], axis=1)
    _, chosen = tf.math.top_k(candidates, width)
    grows = chosen >= width
    parent = gnp.where(grows, (chosen - width) // classes, chosen)
    label = gnp.where(grows, (chosen - width) % classes, _NONE)
    before = gnp.take_along_axis(lengths, parent, axis=1)
    kept = gnp.take_along_axis(paths, parent[..., None], axis=1)
    at_end = tf.logical_and(grows[..., None], tf.constant(places) == before[..., None])
    none = gnp.full_like(flat, -math.inf)
    return (
        gnp.where(at_end, label[..., None], kept),
        before + tf.cast(grows, "int32"),
        gnp.take_along_axis(tf.concat([stay_blank, none], axis=1), chosen, axis=1),
        gnp.take_along_axis(tf.concat([stay_label, flat], axis=1), chosen, axis=1),
    )
