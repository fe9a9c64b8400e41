"""Conversion between images as Keras passes them, one or a batch, channels last or first, and the
form that the functions here work on.
"""

from __future__ import annotations

from typing import Any

from keras.src.backend.config import standardize_data_format

import gradtape as tf
from keras_gradtape.src.conversion import convert_to_tensor


def check_rank(images: Any) -> None:
    """Refuses what is neither an image nor a batch of images."""
    if len(images.shape) not in (3, 4):
        raise ValueError(
            "Invalid images rank: expected rank 3 (single image) or rank 4 (batch of images). "
            f"Received input with shape: images.shape={images.shape}"
        )


def channels_axis(data_format: str | None) -> int:
    """The axis of the channels, counted from the end."""
    return -1 if standardize_data_format(data_format) == "channels_last" else -3


class Batch:
    """A batch `(batch, height, width, channels)` of what is given, and the way back."""

    def __init__(self, images: Any, data_format: str | None) -> None:
        x = convert_to_tensor(images)
        check_rank(x)
        self._channels_first = channels_axis(data_format) == -3
        self._single = x.ndim == 3
        x = x[None] if self._single else x
        self.images = tf.transpose(x, [0, 2, 3, 1]) if self._channels_first else x
        self.dtype: str = x.dtype.name

    def leave(self, images: tf.Tensor) -> tf.Tensor:
        """Images of this layout and dtype; integers are rounded, and kept within their range."""
        wanted = tf.as_dtype(self.dtype)
        if wanted.is_integer and images.dtype.is_floating:
            images = tf.saturate_cast(tf.round(images), wanted)
        elif images.dtype != wanted:
            images = tf.cast(images, wanted)
        images = tf.transpose(images, [0, 3, 1, 2]) if self._channels_first else images
        return images[0] if self._single else images
