"""What Keras imports as `keras.src.backend.gradtape`: the modules of the backend, and the other
names that Keras expects.
"""

from gradtape.extend import hide_frames
from keras_gradtape.src import distribution_lib, random, tensorboard
from keras_gradtape.src.naming import name_scope
from keras_gradtape.src.ops import core, image, linalg, math, nn, numpy
from keras_gradtape.src.ops.core import (
    IS_THREAD_SAFE,
    SUPPORTS_COMPLEX_DTYPES,
    SUPPORTS_RAGGED_TENSORS,
    SUPPORTS_SPARSE_TENSORS,
    Variable,
    cast,
    compute_output_spec,
    cond,
    convert_to_numpy,
    convert_to_tensor,
    device_scope,
    is_tensor,
    random_seed_dtype,
    scatter,
    shape,
    stop_gradient,
    vectorized_map,
)
from keras_gradtape.src.rnn import bidirectional_gru, bidirectional_lstm, cudnn_ok, gru, lstm, rnn

# An op inside a layer is located in the layer: these stand between.
hide_frames("keras_gradtape", "src")
hide_frames("keras", "src", "ops")
hide_frames("keras", "src", "backend")

__all__ = [
    "IS_THREAD_SAFE",
    "SUPPORTS_COMPLEX_DTYPES",
    "SUPPORTS_RAGGED_TENSORS",
    "SUPPORTS_SPARSE_TENSORS",
    "Variable",
    "bidirectional_gru",
    "bidirectional_lstm",
    "cast",
    "compute_output_spec",
    "cond",
    "convert_to_numpy",
    "convert_to_tensor",
    "core",
    "cudnn_ok",
    "device_scope",
    "distribution_lib",
    "gru",
    "image",
    "is_tensor",
    "linalg",
    "lstm",
    "math",
    "name_scope",
    "nn",
    "numpy",
    "random",
    "random_seed_dtype",
    "rnn",
    "scatter",
    "shape",
    "stop_gradient",
    "tensorboard",
    "vectorized_map",
]
