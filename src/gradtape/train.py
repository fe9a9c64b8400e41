"""`tf.train`: saving the values of Variables to files, and restoring them."""

# Written by `make names`: the decorators at the definitions say what is public.

from gradtape.api.tensorflow.checkpoint.checkpoint import Checkpoint
from gradtape.api.tensorflow.checkpoint.manager import CheckpointManager
from gradtape.api.tensorflow.checkpoint.reader import (
    checkpoints_iterator,
    get_checkpoint_state,
    list_variables,
    load_checkpoint,
    load_variable,
)
from gradtape.api.tensorflow.checkpoint.state_file import latest_checkpoint
from gradtape.api.tensorflow.moving_average import ExponentialMovingAverage

__all__ = [
    "Checkpoint", "CheckpointManager", "ExponentialMovingAverage", "checkpoints_iterator",
    "get_checkpoint_state", "latest_checkpoint", "list_variables", "load_checkpoint",
    "load_variable",
]  # fmt: skip
