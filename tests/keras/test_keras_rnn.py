"""Keras's recurrent loops: the quick ones give what the general one gives, masked and backwards, in
eager and in compiled code.
"""

import numpy as np
import pytest

import gradtape as tf
import keras

RNG = np.random.default_rng(0)
SEQUENCES = RNG.normal(size=(3, 5, 4)).astype(np.float32)


def results(layer, x, mask=None):
    """The outputs of a layer and the gradients by its weights."""
    with tf.GradientTape() as tape:
        outputs = layer(x, mask=mask)
        total = tf.reduce_sum(tf.sin(outputs))
    return [outputs, *tape.gradient(total, layer.trainable_variables)]


@pytest.mark.parametrize("go_backwards", [False, True])
@pytest.mark.parametrize("kind", ["LSTM", "GRU"])
def test_quick_loops_give_what_the_general_one_gives(kind, go_backwards):
    options = {"return_sequences": True, "go_backwards": go_backwards, "seed": 0}
    quick, general = (
        getattr(keras.layers, kind)(6, use_cudnn=how, **options) for how in ("auto", False)
    )
    quick(SEQUENCES)
    general(SEQUENCES)
    general.set_weights(quick.get_weights())
    wanted = results(general, SEQUENCES)
    compiled = tf.function(lambda x: results(quick, x), autograph=False)(tf.constant(SEQUENCES))
    for found in (results(quick, SEQUENCES), compiled):
        for a, b in zip(found, wanted, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("kind", ["SimpleRNN", "LSTM"])
def test_masked_steps_change_nothing(kind):
    mask = np.array([[1, 1, 1, 1, 1], [1, 1, 0, 0, 0], [1, 1, 1, 0, 0]], bool)
    layer = getattr(keras.layers, kind)(6)
    found = layer(SEQUENCES, mask=mask)
    for i, length in enumerate(mask.sum(1)):
        np.testing.assert_allclose(
            found[i : i + 1], layer(SEQUENCES[i : i + 1, :length]), rtol=1e-5, atol=1e-6
        )
    compiled = tf.function(lambda x: results(layer, x, mask), autograph=False)(
        tf.constant(SEQUENCES)
    )
    for a, b in zip(compiled, results(layer, SEQUENCES, mask), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)


def test_an_unrolled_loop_gives_what_a_loop_gives():
    loop = keras.layers.SimpleRNN(6, return_sequences=True)
    unrolled = keras.layers.SimpleRNN(6, return_sequences=True, unroll=True)
    loop(SEQUENCES)
    unrolled(SEQUENCES)
    unrolled.set_weights(loop.get_weights())
    np.testing.assert_allclose(unrolled(SEQUENCES), loop(SEQUENCES), rtol=1e-6)
