"""`tf.train`: saving the values of Variables to files, and restoring them."""

# Written by `make names`: the decorators at the definitions say what is public.

from gradtape.api.tensorflow.checkpoint.checkpoint import Checkpoint
from gradtape.api.tensorflow.checkpoint.manager import CheckpointManager
from gradtape.api.tensorflow.checkpoint.state_file import latest_checkpoint

__all__ = ["Checkpoint", "CheckpointManager", "latest_checkpoint"]
