"""`tf.sparse`: SparseTensors and functions on them."""

# Written by `make names`: the decorators at the definitions say what is public.

import typing as _typing

from gradtape.api.tensorflow.sparse.mathematics import (
    add,
    maximum,
    minimum,
    reduce_max,
    reduce_sum,
    sampled_addmm,
    segment_mean,
    segment_sqrt_n,
    segment_sum,
    softmax,
    sparse_dense_matmul,
)
from gradtape.api.tensorflow.sparse.tensors import (
    concat,
    expand_dims,
    eye,
    fill_empty_rows,
    from_dense,
    map_values,
    mask,
    reorder,
    reset_shape,
    reshape,
    retain,
    slice,
    split,
    to_dense,
    to_indicator,
    transpose,
)
from gradtape.core.sparse_tensor import SparseTensor
from gradtape.strings.crossing import cross_hashed

if not _typing.TYPE_CHECKING:  # a type checker would take any name to be there
    from gradtape.absent import absent_from as _absent_from

    __getattr__ = _absent_from(__name__)

__all__ = [
    "SparseTensor", "add", "concat", "cross_hashed", "expand_dims", "eye", "fill_empty_rows",
    "from_dense", "map_values", "mask", "maximum", "minimum", "reduce_max", "reduce_sum", "reorder",
    "reset_shape", "reshape", "retain", "sampled_addmm", "segment_mean", "segment_sqrt_n",
    "segment_sum", "slice", "softmax", "sparse_dense_matmul", "split", "to_dense", "to_indicator",
    "transpose",
]  # fmt: skip
