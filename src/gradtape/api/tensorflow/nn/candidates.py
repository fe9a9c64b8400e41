"""Losses over a sample of the classes, for problems with too many of them: `nce_loss`,
`sampled_softmax_loss`, and the samplers.
"""

# mypy: disable-error-code="no-any-return"
# An op gives a Tensor for Tensors and an array for arrays, so its result is Any; here the arguments
# are Tensors.

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import numpy as np

from gradtape.api.tensorflow.arguments import TensorLike, as_int, as_list
from gradtape.api.tensorflow.nn.embeddings import embedding_lookup
from gradtape.api.tensorflow.random.sequence import source
from gradtape.convert import TENSORFLOW, as_indices
from gradtape.core.tensor import Tensor
from gradtape.core.xla.tensor import is_traced
from gradtape.errors import invalid_argument
from gradtape.ops import activations, arithmetic, broadcasting, elementary, matrix, reductions
from gradtape.ops.indexing import take
from gradtape.ops.selection import ones_like, where, zeros_like
from gradtape.ops.shaping import concat, getitem, matrix_transpose, reshape
from gradtape.published import published

_INT64, _FLOAT32, _FLOAT64 = np.dtype(np.int64), np.dtype(np.float32), np.dtype(np.float64)


class Candidates(NamedTuple):
    """Sampled classes, and how often the true and the sampled ones are expected in such a
    sample.
    """

    sampled_candidates: Tensor
    true_expected_count: Tensor
    sampled_expected_count: Tensor


@published("random.uniform_candidate_sampler")
def uniform_candidate_sampler(
    true_classes: TensorLike,
    num_true: int,
    num_sampled: int,
    unique: bool,
    range_max: int,
    seed: int | None = None,
    name: str | None = None,
) -> Candidates:
    """Classes below `range_max`, all with the same probability; with `unique`, none of them twice.

    >>> import gradtape as tf
    >>> found = tf.random.uniform_candidate_sampler(
    ...     [[0]], num_true=1, num_sampled=4, unique=True, range_max=4
    ... )
    >>> sorted(found.sampled_candidates.numpy().tolist())
    [0, 1, 2, 3]
    """
    limit = as_int(range_max, "uniform_candidate_sampler: range_max")
    return _sampled(
        "uniform_candidate_sampler",
        true_classes,
        num_true,
        num_sampled,
        unique,
        np.full(max(limit, 0), 1 / max(limit, 1)),
        seed,
    )


@published("random.log_uniform_candidate_sampler")
def log_uniform_candidate_sampler(
    true_classes: TensorLike,
    num_true: int,
    num_sampled: int,
    unique: bool,
    range_max: int,
    seed: int | None = None,
    name: str | None = None,
) -> Candidates:
    """Classes below `range_max` by Zipf's law, as for words by falling frequency;
    with `unique`, none of them twice.

    >>> import gradtape as tf
    >>> found = tf.random.log_uniform_candidate_sampler(
    ...     [[0]], num_true=1, num_sampled=3, unique=False, range_max=7
    ... )
    >>> found.true_expected_count.numpy()
    array([[1.]], dtype=float32)
    """
    limit = as_int(range_max, "log_uniform_candidate_sampler: range_max")
    chances = np.diff(np.log(np.arange(1, max(limit, 0) + 2))) / np.log(max(limit, 1) + 1)
    return _sampled(
        "log_uniform_candidate_sampler", true_classes, num_true, num_sampled, unique, chances, seed
    )


@published("nn.all_candidate_sampler", "random.all_candidate_sampler")
def all_candidate_sampler(
    true_classes: TensorLike,
    num_true: int,
    num_sampled: int,
    unique: bool,
    seed: int | None = None,
    name: str | None = None,
) -> Candidates:
    """All of the first `num_sampled` classes, each once.

    >>> import gradtape as tf
    >>> tf.nn.all_candidate_sampler(
    ...     [[0]], num_true=1, num_sampled=3, unique=True
    ... ).sampled_candidates.numpy()
    array([0, 1, 2])
    """
    labels = _true_classes(true_classes, num_true, "all_candidate_sampler")
    count = as_int(num_sampled, "all_candidate_sampler: num_sampled")
    ones = np.ones(labels.array.shape, np.float32)
    return Candidates(
        Tensor(np.arange(count, dtype=np.int64)), Tensor(ones), Tensor(np.ones(count, np.float32))
    )


def _true_classes(true_classes: Any, num_true: Any, function: str) -> Tensor:
    labels = as_indices(true_classes, f"{function}: true_classes")
    count = as_int(num_true, f"{function}: num_true")
    if labels.ndim != 2 or labels.array.shape[1] != count:
        raise invalid_argument(
            f"{function}: true_classes must have the shape (batch, num_true={count}), got "
            f"{labels.shape}."
        )
    return labels


def _sampled(
    function: str,
    true_classes: Any,
    num_true: Any,
    num_sampled: Any,
    unique: bool,
    chances: Any,
    seed: Any,
) -> Candidates:
    labels = _true_classes(true_classes, num_true, function)
    count = as_int(num_sampled, f"{function}: num_sampled")
    if not 0 < count or not len(chances) or (unique and count > len(chances)):
        raise invalid_argument(
            f"{function}: {count} classes cannot be sampled from {len(chances)}."
        )
    if (
        not is_traced(labels)
        and labels.array.size
        and not (0 <= labels.array.min() and labels.array.max() < len(chances))
    ):
        raise invalid_argument(f"{function}: true_classes must be in [0, {len(chances)}).")
    numbers, sample = (
        source(function, seed),
        partial(_drawn, chances=chances, count=count, unique=unique),
    )
    drawn = numbers.on_host(sample, [((count,), _INT64), ((), _INT64)])
    found, tries = drawn[0], broadcasting.cast(drawn[1], dtype=_FLOAT64)

    def expected(classes: Tensor) -> Tensor:
        chance = take(Tensor(chances), classes, axis=0)
        expectation = (
            -elementary.expm1(tries * elementary.log1p(-arithmetic.minimum(chance, 1.0)))
            if unique
            else chance * count
        )
        return broadcasting.cast(expectation, dtype=_FLOAT32)

    return Candidates(found, expected(labels), expected(found))


def _drawn(rng: Any, *, chances: Any, count: int, unique: bool) -> tuple[Any, Any]:
    """Classes in the order in which they were drawn, and how many draws it took."""
    ends = np.cumsum(chances)

    def draw(size: int) -> Any:
        return np.minimum(
            np.searchsorted(ends, rng.random(size) * ends[-1], side="right"), len(chances) - 1
        ).astype(np.int64)

    if not unique:
        return draw(count), np.int64(count)
    found = np.zeros(0, np.int64)
    while True:
        found = np.concatenate([found, draw(2 * count)])
        first = np.sort(np.unique(found, return_index=True)[1])
        if len(first) >= count:
            return found[first[:count]], first[count - 1] + 1


@published("nn.nce_loss")
def nce_loss(
    weights: Any,
    biases: Any,
    labels: TensorLike,
    inputs: TensorLike,
    num_sampled: int,
    num_classes: int,
    num_true: int = 1,
    sampled_values: Any = None,
    remove_accidental_hits: bool = False,
    name: str = "nce_loss",
) -> Tensor:
    """The noise-contrastive estimate of a loss over many classes:
    each true class against `num_sampled` others.

    >>> import gradtape as tf
    >>> classes = tf.nn.all_candidate_sampler([[1]], num_true=1, num_sampled=2, unique=True)
    >>> tf.nn.nce_loss(
    ...     tf.zeros([2, 3]), tf.zeros([2]), [[1]], tf.ones([1, 3]), 2, 2, sampled_values=classes
    ... ).numpy().round(4)
    array([2.0794], dtype=float32)
    """
    targets, logits = _sampled_logits(
        "nce_loss",
        weights,
        biases,
        labels,
        inputs,
        num_sampled,
        num_classes,
        num_true,
        sampled_values,
        remove_accidental_hits,
        None,
    )
    return reductions.reduce_sum(activations.sigmoid_cross_entropy(targets, logits), axis=(1,))


@published("nn.sampled_softmax_loss")
def sampled_softmax_loss(
    weights: Any,
    biases: Any,
    labels: TensorLike,
    inputs: TensorLike,
    num_sampled: int,
    num_classes: int,
    num_true: int = 1,
    sampled_values: Any = None,
    remove_accidental_hits: bool = True,
    seed: int | None = None,
    name: str = "sampled_softmax_loss",
) -> Tensor:
    """The cross entropy of a softmax over the true classes and `num_sampled` others,
    for training with many classes.

    >>> import gradtape as tf
    >>> classes = tf.nn.all_candidate_sampler([[1]], num_true=1, num_sampled=2, unique=True)
    >>> loss = tf.nn.sampled_softmax_loss(
    ...     tf.zeros([2, 3]), tf.zeros([2]), [[1]], tf.ones([1, 3]), 2, 2, sampled_values=classes
    ... )
    >>> loss.numpy().round(4)
    array([0.6931], dtype=float32)
    """
    targets, logits = _sampled_logits(
        "sampled_softmax_loss",
        weights,
        biases,
        labels,
        inputs,
        num_sampled,
        num_classes,
        num_true,
        sampled_values,
        remove_accidental_hits,
        seed,
    )
    return activations.softmax_cross_entropy(targets, logits)


def _sampled_logits(
    function: str,
    weights: Any,
    biases: Any,
    labels: Any,
    inputs: Any,
    num_sampled: Any,
    num_classes: Any,
    num_true: Any,
    sampled_values: Any,
    remove_accidental_hits: bool,
    seed: Any,
) -> tuple[Tensor, Tensor]:
    """Targets and logits of the true classes and behind them of the sampled ones, less the
    logarithm of how often each is expected.
    """
    true = _int64(_true_classes(labels, num_true, function))
    x = TENSORFLOW.tensor(inputs, f"{function}: inputs")
    batch, wide = true.array.shape
    if sampled_values is None:
        sampled_values = log_uniform_candidate_sampler(
            true, wide, num_sampled, True, num_classes, seed
        )
    others, expected_true, expected_others = [
        TENSORFLOW.tensor(v, f"{function}: sampled_values")
        for v in _three(sampled_values, f"{function}: sampled_values")
    ]
    others = _int64(others)
    ids = concat(reshape(true, shape=(batch * wide,)), others, axis=0)
    rows, offsets = embedding_lookup(weights, ids), embedding_lookup(biases, ids)
    split = batch * wide
    true_rows = reshape(
        getitem(rows, key=(slice(0, split),)), shape=(batch, wide, *rows.array.shape[1:])
    )
    true_logits = reductions.reduce_sum(true_rows * getitem(x, key=(slice(None), None)), axis=(2,))
    true_logits = true_logits + reshape(
        getitem(offsets, key=(slice(0, split),)), shape=(batch, wide)
    )
    other_logits = matrix.matmul(x, matrix_transpose(getitem(rows, key=(slice(split, None),))))
    other_logits = other_logits + getitem(offsets, key=(slice(split, None),))
    if remove_accidental_hits:
        same = arithmetic.equal(getitem(true, key=(..., None)), others)
        lowest = float(np.finfo(np.float32).min)
        other_logits = other_logits + where(
            reductions.reduce_any(same, axis=(1,)), lowest, zeros_like(other_logits)
        )
    true_logits = true_logits - elementary.log(broadcasting.stop_gradient(expected_true))
    other_logits = other_logits - elementary.log(broadcasting.stop_gradient(expected_others))
    targets = concat(ones_like(true_logits) / wide, zeros_like(other_logits), axis=1)
    return targets, concat(true_logits, other_logits, axis=1)


def _int64(x: Tensor) -> Tensor:
    return broadcasting.cast(x, dtype=_INT64)


def _three(values: Any, argument: str) -> list[Any]:
    found = as_list(values, argument)
    if len(found) != 3:
        raise ValueError(
            f"{argument} must be a tuple of the sampled candidates, the expected counts of the "
            f"true classes, and those of the candidates, got {values!r}."
        )
    return found
