"""Keras's functions of images and its random numbers, where its own tests,
some of which need TensorFlow, do not ask.
"""

import numpy as np
import pytest
from keras.src.backend import image
from keras.src.backend import random as backend_random

import gradtape as tf
import keras

RNG = np.random.default_rng(0)
IMAGES = RNG.uniform(size=(2, 6, 5, 3)).astype(np.float32)
AFFINE = np.array([0.9, 0.2, 0.5, -0.1, 1.1, 0.3, 0, 0], np.float32)

CALLS = {
    "resize": lambda x, f: image.resize(x, (4, 9), "bicubic", antialias=True, data_format=f),
    "crop": lambda x, f: image.resize(x, (3, 7), crop_to_aspect_ratio=True, data_format=f),
    "pad": lambda x, f: image.resize(
        x, (3, 7), pad_to_aspect_ratio=True, fill_value=2.0, data_format=f
    ),
    "affine_transform": lambda x, f: image.affine_transform(
        x, AFFINE, fill_mode="reflect", data_format=f
    ),
    "gaussian_blur": lambda x, f: image.gaussian_blur(x, (3, 5), (1.0, 0.5), data_format=f),
    "rgb_to_grayscale": lambda x, f: image.rgb_to_grayscale(x, f),
    "rgb_to_hsv": lambda x, f: image.rgb_to_hsv(x, f),
}


@pytest.mark.parametrize("name", CALLS)
def test_images_may_have_their_channels_first_and_be_compiled(name):
    last = CALLS[name](IMAGES, "channels_last")
    first = CALLS[name](np.moveaxis(IMAGES, -1, 1), "channels_first")
    np.testing.assert_allclose(np.moveaxis(first.numpy(), 1, -1), last, rtol=1e-5, atol=1e-5)
    compiled = tf.function(lambda x: CALLS[name](x, "channels_last"), autograph=False)(
        tf.constant(IMAGES)
    )
    np.testing.assert_allclose(compiled, last, rtol=1e-4, atol=1e-5)


def test_float64_images_are_resized_in_float64():
    large = RNG.uniform(size=(6, 5, 3))
    found = image.resize(large.astype(np.float32), (3, 4), "bilinear")
    exact = image.resize(large, (3, 4), "bilinear")
    assert (found.dtype, exact.dtype) == ("float32", "float64")
    np.testing.assert_allclose(exact, found, rtol=1e-5)


def test_gradients_flow_to_images_and_to_where_they_are_sampled():
    x, transform = tf.constant(IMAGES), tf.constant(AFFINE)
    with tf.GradientTape() as tape:
        tape.watch([x, transform])
        total = tf.reduce_sum(tf.sin(image.affine_transform(x, transform)))
    by_image, by_transform = tape.gradient(total, [x, transform])
    assert np.abs(by_image).sum() > 0
    assert np.abs(np.asarray(by_transform)[:6]).min() > 0


def test_a_seed_generator_moves_on_in_a_function():
    generator = keras.random.SeedGenerator(3)
    draw = tf.function(lambda: backend_random.normal((4,), seed=generator), autograph=False)
    first, second = draw().numpy(), draw().numpy()
    assert not np.allclose(first, second)
    assert generator.state.value.numpy().tolist() == [3, 2]


def test_a_number_as_seed_gives_the_same_again():
    np.testing.assert_array_equal(
        backend_random.uniform((5,), seed=7), backend_random.uniform((5,), seed=7)
    )


def test_beta_numbers_of_small_parameters_have_their_moments():
    drawn = backend_random.beta((40000,), 0.05, 0.05, seed=1).numpy()
    assert np.isfinite(drawn).all()
    assert abs(drawn.mean() - 0.5) < 0.02
    assert abs(drawn.var() - 0.25 / 1.1) < 0.01


def test_integers_stay_in_their_bounds():
    drawn = backend_random.randint((1000,), 3, 250, "uint8", seed=1).numpy()
    assert drawn.dtype == np.uint8
    assert drawn.min() >= 3
    assert drawn.max() < 250


def test_shuffled_rows_stay_whole():
    rows = np.arange(40).reshape(20, 2)
    found = backend_random.shuffle(rows, seed=1).numpy()
    assert sorted(map(tuple, found)) == list(map(tuple, rows))
    assert not (found == rows).all()
    columns = backend_random.shuffle(rows.T, axis=1, seed=1).numpy()
    np.testing.assert_array_equal(columns, found.T)


def test_dropout_keeps_the_mean_and_its_ends():
    x = np.ones((100, 100), np.float32)
    assert abs(float(tf.reduce_mean(backend_random.dropout(x, 0.25, seed=1))) - 1) < 0.05
    assert backend_random.dropout(x, 1.0, seed=1).numpy().sum() == 0
    np.testing.assert_array_equal(backend_random.dropout(x, 0.0, seed=1), x)
