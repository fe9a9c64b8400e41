"""`tf.experimental.dlpack`: tensors to and from the memory of other array libraries."""

# Written by `make names`: the decorators at the definitions say what is public.

import typing as _typing

from gradtape.api.tensorflow.dlpack import from_capsule as from_dlpack
from gradtape.api.tensorflow.dlpack import to_dlpack

if not _typing.TYPE_CHECKING:  # a type checker would take any name to be there
    from gradtape.absent import absent_from as _absent_from

    __getattr__ = _absent_from(__name__)

__all__ = ["from_dlpack", "to_dlpack"]
