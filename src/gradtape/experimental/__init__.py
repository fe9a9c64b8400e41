"""`tf.experimental`: `numpy`, which is `gradtape.numpy` itself, and support for `dlpack`, `einops`
and `scipy`.
"""

# Written by `make names`: the decorators at the definitions say what is public.

import typing as _typing

from gradtape.api.tensorflow.experimental_dtypes import (
    float8_e4m3b11fnuz,
    float8_e4m3fn,
    float8_e4m3fnuz,
    float8_e5m2,
    float8_e5m2fnuz,
)
from gradtape.api.tensorflow.extension_types.batching import (
    BatchableExtensionType,
    ExtensionTypeBatchEncoder,
)
from gradtape.api.tensorflow.extension_types.dispatch import (
    dispatch_for_api,
    dispatch_for_binary_elementwise_apis,
    dispatch_for_binary_elementwise_assert_apis,
    dispatch_for_unary_elementwise_apis,
    unregister_dispatch_for,
)
from gradtape.api.tensorflow.extension_types.extension_type import ExtensionType, ExtensionTypeSpec
from gradtape.data.optional import Optional
from gradtape.experimental import dlpack, dtensor, extension_type, numpy

if not _typing.TYPE_CHECKING:  # a type checker would take any name to be there
    from gradtape.absent import absent_from as _absent_from

    __getattr__ = _absent_from(__name__)

__all__ = [
    "BatchableExtensionType", "ExtensionType", "ExtensionTypeBatchEncoder", "ExtensionTypeSpec",
    "Optional", "dispatch_for_api", "dispatch_for_binary_elementwise_apis",
    "dispatch_for_binary_elementwise_assert_apis", "dispatch_for_unary_elementwise_apis", "dlpack",
    "dtensor", "extension_type", "float8_e4m3b11fnuz", "float8_e4m3fn", "float8_e4m3fnuz",
    "float8_e5m2", "float8_e5m2fnuz", "numpy", "unregister_dispatch_for",
]  # fmt: skip
