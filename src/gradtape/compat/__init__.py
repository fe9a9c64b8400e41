"""`tf.compat`: `v1` and `v2`, and conversions between texts and bytes.

The modules beside these let a program that imports `tensorflow` run on gradtape.
"""

# Written by `make names`: the decorators at the definitions say what is public.

import typing as _typing

from gradtape.api.tensorflow.texts import (
    as_bytes,
    as_str_any,
    as_text,
    bytes_or_text_types,
    complex_types,
    dimension_value,
    forward_compatible,
    integral_types,
    path_to_str,
    real_types,
)
from gradtape.api.tensorflow.texts import as_text as as_str
from gradtape.compat import v1, v2

if not _typing.TYPE_CHECKING:  # a type checker would take any name to be there
    from gradtape.absent import absent_from as _absent_from

    __getattr__ = _absent_from(__name__)

__all__ = [
    "as_bytes", "as_str", "as_str_any", "as_text", "bytes_or_text_types", "complex_types",
    "dimension_value", "forward_compatible", "integral_types", "path_to_str", "real_types", "v1",
    "v2",
]  # fmt: skip
