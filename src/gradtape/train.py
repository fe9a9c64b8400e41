"""`tf.train`: saving the values of Variables to files, and restoring them."""

# Written by `make names`: the decorators at the definitions say what is public.

import typing as _typing

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

if not _typing.TYPE_CHECKING:  # a type checker would take any name to be there
    from gradtape.absent import absent_from as _absent_from

    __getattr__ = _absent_from(__name__)

__all__ = [
    "BytesList", "Checkpoint", "CheckpointManager", "Example", "ExponentialMovingAverage",
    "Feature", "FeatureList", "FeatureLists", "Features", "FloatList", "Int64List",
    "SequenceExample", "checkpoints_iterator", "get_checkpoint_state", "latest_checkpoint",
    "list_variables", "load_checkpoint", "load_variable",
]  # fmt: skip
