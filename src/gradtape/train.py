"""`tf.train`: the values of Variables in files, and back."""

from gradtape.api.checkpoint.checkpoint import Checkpoint
from gradtape.api.checkpoint.manager import CheckpointManager
from gradtape.api.checkpoint.state_file import latest_checkpoint

__all__ = ["Checkpoint", "CheckpointManager", "latest_checkpoint"]
