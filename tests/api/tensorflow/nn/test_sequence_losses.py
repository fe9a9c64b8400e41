"""Connectionist temporal classification: against a sum over all paths,
and derivatives of every order.
"""

from __future__ import annotations

from itertools import groupby, product

import numpy as np
import pytest

import gradtape as tf
from gradtape.api.tensorflow.nn import sequence_losses
from gradtape.core.sparse_tensor import SparseTensor
from gradtape.errors import InvalidArgumentError
from tests.ops import checks

LABELS = np.array([[1, 2, 0], [2, 2, 0], [1, 0, 0], [0, 0, 0]])
LABEL_LENGTH = [2, 2, 1, 0]
LOGIT_LENGTH = [5, 4, 2, 3]


def logits(seed=0):
    return np.random.default_rng(seed).normal(size=(5, 4, 3))


def over_all_paths(labels, x, label_length, logit_length, blank):
    """Minus the log of the sum of the probabilities of all paths that spell the labels."""
    losses = []
    for b in range(x.shape[1]):
        steps, wanted = logit_length[b], list(labels[b][: label_length[b]])
        p = np.exp(x[:steps, b]) / np.exp(x[:steps, b]).sum(-1, keepdims=True)
        total = 0.0
        for path in product(range(x.shape[2]), repeat=steps):
            if [c for c, _ in groupby(path) if c != blank] == wanted:
                total += np.prod([p[t, c] for t, c in enumerate(path)])
        losses.append(-np.log(total))
    return np.array(losses)


def loss(x, **options):
    return tf.nn.ctc_loss(LABELS, x, LABEL_LENGTH, LOGIT_LENGTH, **options)


def test_loss_is_the_sum_over_all_paths():
    x = logits()
    expected = over_all_paths(LABELS, x, LABEL_LENGTH, LOGIT_LENGTH, 0)
    np.testing.assert_allclose(loss(x).numpy(), expected, rtol=1e-12)
    by_batch = loss(x.transpose(1, 0, 2), logits_time_major=False)
    np.testing.assert_allclose(by_batch.numpy(), expected, rtol=1e-12)
    assert loss(x.astype(np.float16)).dtype == tf.float16


def test_another_blank_and_sparse_labels():
    x, labels = logits(), np.array([[1, 0], [0, 0], [1, 0], [0, 1]])
    expected = over_all_paths(labels, x, [2, 2, 1, 2], [5, 4, 2, 4], 2)
    found = tf.nn.ctc_loss(labels, x, [2, 2, 1, 2], [5, 4, 2, 4], blank_index=-1)
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-12)
    places = [[0, 0], [0, 1], [1, 0], [1, 1], [2, 0], [3, 0], [3, 1]]
    sparse = SparseTensor(places, [1, 0, 0, 0, 1, 0, 1], [4, 2])
    found = tf.nn.ctc_loss(sparse, x, None, [5, 4, 2, 4], blank_index=2)
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-12)
    with pytest.raises(ValueError, match="blank_index"):
        tf.nn.ctc_loss(sparse, x, None, [5, 4, 2, 4])


def test_derivatives_of_every_order():
    checks.check_gradient(loss, [logits()], [0])
    checks.check_jvp(loss, [logits()], [0])
    for outer, inner in product(["reverse", "forward"], repeat=2):
        checks.check_second_order(loss, [logits()], [0], outer=outer, inner_mode=inner)


# Labels with more changes than frames, alone and beside some that fit.
TOO_LONG = np.array(
    [[1, 2, 1, 2, 1, 2], [1, 1, 1, 2, 2, 2], [2, 2, 2, 1, 1, 2], [1, 2, 1, 2, 1, 2]]
)


def of_beginnings(labels, x, frames):
    """The loss of labels that do not fit: log(1e307) more than that of all paths which spell some
    first part of them, perhaps none.
    """
    losses = []
    for b, steps in enumerate(frames):
        p = np.exp(x[:steps, b]) / np.exp(x[:steps, b]).sum(-1, keepdims=True)
        beginnings = [list(labels[b][:n]) for n in range(labels.shape[1] + 1)]
        total = 0.0
        for path in product(range(x.shape[2]), repeat=steps):
            if [c for c, _ in groupby(path) if c != 0] in beginnings:
                total += np.prod([p[t, c] for t, c in enumerate(path)])
        losses.append(np.log(1e307) - np.log(total))
    return np.array(losses)


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("sparse", [False, True])
def test_labels_that_do_not_fit_have_the_loss_that_tensorflow_gives_dense_ones(sparse, compiled):
    frames = [5, 4, 2, 1]
    labels = tf.sparse.from_dense(TOO_LONG) if sparse else TOO_LONG

    def too_long(x):
        return tf.nn.ctc_loss(labels, x, None if sparse else [6] * 4, frames, blank_index=0)

    found = (tf.function(too_long) if compiled else too_long)(tf.constant(logits()))
    np.testing.assert_allclose(found.numpy(), of_beginnings(TOO_LONG, logits(), frames), rtol=1e-12)


def test_labels_that_do_not_fit_have_derivatives_of_every_order():
    def function(x):
        return tf.nn.ctc_loss(LABELS, x, LABEL_LENGTH, [1, 1, 1, 2])

    assert (function(logits()).numpy() > 700.0).tolist() == [True, True, False, False]
    checks.check_gradient(function, [logits()], [0])
    checks.check_jvp(function, [logits()], [0])
    for outer, inner in product(["reverse", "forward"], repeat=2):
        checks.check_second_order(function, [logits()], [0], outer=outer, inner_mode=inner)


def test_long_sequences_do_not_underflow():
    x = np.random.default_rng(0).normal(size=(300, 1, 20)).astype(np.float32)
    labels = np.arange(1, 20)[None]
    single = tf.nn.ctc_loss(labels, x, [19], [300]).numpy()
    double = tf.nn.ctc_loss(labels, x.astype(np.float64), [19], [300]).numpy()
    np.testing.assert_allclose(single, double, rtol=1e-5)
    assert double[0] > 700


def test_under_vmap():
    x = np.stack([logits(1), logits(2)])
    mapped = tf.vmap(loss)(tf.constant(x))
    np.testing.assert_allclose(
        mapped.numpy(), np.stack([loss(one).numpy() for one in x]), rtol=1e-12
    )


def test_wrong_arguments():
    with pytest.raises(InvalidArgumentError, match="labels must be in"):
        tf.nn.ctc_loss(LABELS + 3, logits(), LABEL_LENGTH, LOGIT_LENGTH)
    with pytest.raises(InvalidArgumentError, match="4 sequences"):
        tf.nn.ctc_loss(LABELS[:2], logits(), LABEL_LENGTH, LOGIT_LENGTH)
    with pytest.raises(ValueError, match="3 dimensions"):
        tf.nn.ctc_loss(LABELS, logits()[0], LABEL_LENGTH, LOGIT_LENGTH)


def test_greedy_decoder():
    best = np.array([[0, 1], [0, 2], [2, 1], [0, 1]])
    x = np.eye(3, dtype=np.float32)[best]
    (decoded,), score = tf.nn.ctc_greedy_decoder(x, [4, 3])
    assert decoded.values.numpy().tolist() == [0, 0, 1, 1]
    assert decoded.indices.numpy().tolist() == [[0, 0], [0, 1], [1, 0], [1, 1]]
    assert score.numpy().tolist() == [[-4.0], [-3.0]]
    (decoded,), _ = tf.nn.ctc_greedy_decoder(x, [4, 3], merge_repeated=False, blank_index=1)
    assert decoded.values.numpy().tolist() == [0, 0, 2, 0, 2]


def test_the_class_of_the_blank_may_be_a_label_as_in_tensorflow():
    """Each label differs from the blanks around it by its place: the values are TensorFlow's."""
    x = np.random.default_rng(0).normal(size=(4, 9, 5)).astype(np.float32)
    labels = [[1, 2, 0], [1, 1, 0], [0, 1, 2], [2, 0, 2]]
    found = tf.nn.ctc_loss(
        labels, x, [3, 3, 3, 2], [9, 7, 5, 9], logits_time_major=False, blank_index=0
    )
    np.testing.assert_allclose(
        found.numpy(), [11.534476, 11.120294, 4.5424414, 10.386433], rtol=1e-6
    )


def test_a_program_has_one_step_however_many_frames_there_are(monkeypatch):
    calls = []
    step = sequence_losses._later
    monkeypatch.setattr(
        sequence_losses, "_later", lambda *args: (calls.append(args), step(*args))[1]
    )
    for frames in (5, 50):
        x = np.random.default_rng(0).normal(size=(frames, 1, 3)).astype(np.float32)
        run = tf.function(lambda x: tf.nn.ctc_loss([[1, 2]], x, [2], [len(x)]))
        calls.clear()
        found = run(x)
        traced = len(calls)
        np.testing.assert_allclose(
            found.numpy(), tf.nn.ctc_loss([[1, 2]], x, [2], [frames]).numpy(), rtol=1e-5
        )
        assert traced <= 8
