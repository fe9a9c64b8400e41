"""`tf.compat.v1.losses`; `tests_tf/test_compat.py` compares them with TensorFlow."""

import pytest

import gradtape as tf

losses = tf.compat.v1.losses
LABELS, PREDICTIONS = [[1.0, 0.0]], [[0.5, 2.0]]


@pytest.mark.parametrize(
    ("reduction", "expected"),
    [
        ("NONE", [[0.5, 0.0]]), ("SUM", 0.5), ("MEAN", 0.5), ("SUM_OVER_BATCH_SIZE", 0.25),
        ("SUM_BY_NONZERO_WEIGHTS", 0.5), ("SUM_OVER_NONZERO_WEIGHTS", 0.5),
    ],
)  # fmt: skip
def test_reductions(reduction, expected):
    found = losses.absolute_difference(
        LABELS, PREDICTIONS, [[1.0, 0.0]], reduction=getattr(losses.Reduction, reduction)
    )
    assert found.numpy().tolist() == expected


def test_weights_that_are_all_zero_give_zero():
    assert losses.mean_squared_error(LABELS, PREDICTIONS, 0.0).numpy() == 0


def test_what_does_not_fit_is_refused():
    with pytest.raises(ValueError, match="do not fit losses"):
        losses.mean_squared_error([[1.0, 2.0]], [[1.0, 2.0]], weights=[1.0, 2.0])
    with pytest.raises(ValueError, match="must have one shape"):
        losses.mean_squared_error([1.0], [[1.0]])
    with pytest.raises(ValueError, match="reduction must be one of"):
        losses.mean_squared_error(LABELS, PREDICTIONS, reduction="sometimes")
    with pytest.raises(ValueError, match="give axis"):
        losses.cosine_distance(LABELS, PREDICTIONS)


def test_gradients():
    x = tf.Variable([[1.0, 3.0]])
    with tf.GradientTape() as tape:
        loss = losses.huber_loss([[0.5, 0.0]], x)
    assert tape.gradient(loss, x).numpy().tolist() == [[0.25, 0.5]]
