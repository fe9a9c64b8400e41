"""`tf.saved_model`: Variables and functions in a folder, for other processes.

`saving` and `loading` are `save` and `load`; `folder` is the format on the disk, `structures` how
arguments and results are written into it, `loaded` what a loaded object consists of, and `options`
what TensorFlow's options and keys are here.
"""

# Written by `make names`: the decorators at the definitions say what is public.

import typing as _typing

from gradtape.saved_model.loading import contains_saved_model, load
from gradtape.saved_model.options import (
    DEFAULT_SERVING_SIGNATURE_DEF_KEY,
    GPU,
    SERVING,
    TPU,
    TRAINING,
    LoadOptions,
    SaveOptions,
)
from gradtape.saved_model.saving import save

if not _typing.TYPE_CHECKING:  # a type checker would take any name to be there
    from gradtape.absent import absent_from as _absent_from

    __getattr__ = _absent_from(__name__)

__all__ = [
    "DEFAULT_SERVING_SIGNATURE_DEF_KEY", "GPU", "SERVING", "TPU", "TRAINING", "LoadOptions",
    "SaveOptions", "contains_saved_model", "load", "save",
]  # fmt: skip
