"""Converts Keras's names for data formats and padding to gradtape's."""

from __future__ import annotations

from typing import Any

from keras.src.backend.config import standardize_data_format

import gradtape as tf

_CHANNELS_LAST = {3: "NWC", 4: "NHWC", 5: "NDHWC"}
_CHANNELS_FIRST = {3: "NCW", 4: "NCHW", 5: "NCDHW"}


def data_format_of(x: tf.Tensor, data_format: str | None) -> str:
    """gradtape's name for a data format of Keras's."""
    names = (
        _CHANNELS_LAST
        if standardize_data_format(data_format) == "channels_last"
        else _CHANNELS_FIRST
    )
    if x.ndim not in names:
        raise ValueError(
            "Inputs must have 1, 2 or 3 axes besides those of the batch and the channels. "
            f"Received shape: {x.shape}"
        )
    return names[x.ndim]


def window_padding(padding: str) -> str:
    """gradtape's name for a padding of Keras's."""
    if str(padding).lower() not in ("same", "valid"):
        raise ValueError(f"Invalid padding '{padding}', must be 'same' or 'valid'.")
    return padding.upper()


def per_axis(value: Any, count: int) -> tuple[int, ...]:
    """A number for each spatial axis."""
    return (value,) * count if isinstance(value, int) else tuple(value)
