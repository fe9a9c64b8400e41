"""Images of random sizes: every pixel is TensorFlow's,
also where rounding decides which pixels of the input it is made of.
"""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow  # noqa: ICN001  # `tf` is the library that a function is given

import gradtape

METHODS = (
    "bilinear",
    "nearest",
    "bicubic",
    "area",
    "lanczos3",
    "lanczos5",
    "gaussian",
    "mitchellcubic",
)
FUNCTIONS = {
    "resize": lambda tf, x, size, **options: tf.image.resize(x, size, **options),
    "resize, own proportions": lambda tf, x, size, **options: tf.image.resize(
        x, size, preserve_aspect_ratio=True, **options
    ),
    "resize_with_pad": lambda tf, x, size, **options: tf.image.resize_with_pad(x, *size, **options),
}
MOST = 60


def outcome(tf, function, *args, **options):
    """The pixels, or the name of the error."""
    try:
        return function(tf, *args, **options).numpy()
    except (tf.errors.InvalidArgumentError, ValueError) as error:
        return type(error).__name__


@pytest.mark.parametrize("antialias", [False, True])
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_pixels(name, method, antialias):
    rng = np.random.default_rng(len(name) + len(method))
    # With these two, TensorFlow's rounding of a product and a sum in one step decides whether a
    # pixel at the very edge of the kernel counts: 9 in 1,000 of its weight.
    tolerance = 1e-2 if method == "gaussian" and antialias else 1e-5
    different = []
    for _ in range(60):
        *size, height, width = (int(n) for n in rng.integers(1, MOST, 4))
        x = rng.uniform(0.0, 1.0, (*size, 1)).astype(np.float32)
        ours, theirs = (
            outcome(tf, FUNCTIONS[name], x, [height, width], method=method, antialias=antialias)
            for tf in (gradtape, tensorflow)
        )
        if isinstance(ours, str) or isinstance(theirs, str):
            same = isinstance(ours, str) and isinstance(theirs, str) and ours == theirs
        else:
            same = ours.shape == theirs.shape and np.abs(ours - theirs).max() <= tolerance
        if not same:
            different.append(f"{size} to {[height, width]}")
    assert different == []
