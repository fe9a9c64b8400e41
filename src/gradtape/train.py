"""`tf.train`: saving the values of Variables to files, and restoring them."""

# Written by `make names`: the decorators at the definitions say what is public.

from gradtape.api.tensorflow.checkpoint.checkpoint import Checkpoint
from gradtape.api.tensorflow.checkpoint.manager import CheckpointManager
from gradtape.api.tensorflow.checkpoint.state_file import latest_checkpoint
from gradtape.io.examples import (
    BytesList,
    Example,
    Feature,
    FeatureList,
    FeatureLists,
    Features,
    FloatList,
    Int64List,
    SequenceExample,
)

__all__ = [
    "BytesList", "Checkpoint", "CheckpointManager", "Example", "Feature", "FeatureList",
    "FeatureLists", "Features", "FloatList", "Int64List", "SequenceExample", "latest_checkpoint",
]  # fmt: skip
