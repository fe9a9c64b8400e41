"""`tf.experimental.dlpack`: tensors to and from the memory of other array libraries."""

# Written by `make names`: the decorators at the definitions say what is public.

from gradtape.api.tensorflow.dlpack import from_capsule as from_dlpack
from gradtape.api.tensorflow.dlpack import to_dlpack

__all__ = ["from_dlpack", "to_dlpack"]
