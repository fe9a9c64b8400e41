"""`gradtape.array_api`: the Python Array API standard, version 2024.12,
on Tensors that a tape follows.

Libraries reach it through `tensor.__array_namespace__()`. Its functions are those of
`gradtape.numpy` wherever the two agree.
"""

# Written by `make names`: the decorators at the definitions say what is public.

import typing as _typing

from numpy import e, inf, nan, newaxis, pi

from gradtape.api.array_api.data_types import (
    __array_api_version__,
    astype,
    can_cast,
    finfo,
    iinfo,
    isdtype,
    result_type,
)
from gradtape.api.array_api.data_types import namespace_info as __array_namespace_info__
from gradtape.api.array_api.functions import argsort, broadcast_arrays, clip, meshgrid, sort
from gradtape.api.numpy.arithmetic import absolute as abs
from gradtape.api.numpy.arithmetic import (
    add,
    conj,
    copysign,
    divide,
    floor_divide,
    hypot,
    maximum,
    minimum,
    multiply,
    negative,
    nextafter,
    positive,
    reciprocal,
    remainder,
    sign,
    sqrt,
    square,
    subtract,
)
from gradtape.api.numpy.arithmetic import power as pow
from gradtape.api.numpy.calculus import diff
from gradtape.api.numpy.creation import (
    asarray,
    empty,
    empty_like,
    eye,
    full,
    full_like,
    ones,
    ones_like,
    zeros,
    zeros_like,
)
from gradtape.api.numpy.diagonals import tril, triu
from gradtape.api.numpy.elementary import arccos as acos
from gradtape.api.numpy.elementary import arccosh as acosh
from gradtape.api.numpy.elementary import arcsin as asin
from gradtape.api.numpy.elementary import arcsinh as asinh
from gradtape.api.numpy.elementary import arctan as atan
from gradtape.api.numpy.elementary import arctan2 as atan2
from gradtape.api.numpy.elementary import arctanh as atanh
from gradtape.api.numpy.elementary import (
    ceil,
    cos,
    cosh,
    exp,
    expm1,
    floor,
    log,
    log1p,
    log2,
    log10,
    logaddexp,
    round,
    sin,
    sinh,
    tan,
    tanh,
    trunc,
)
from gradtape.api.numpy.elementwise import imag, real, where
from gradtape.api.numpy.indexing import nonzero, take, take_along_axis
from gradtape.api.numpy.joining import concatenate as concat
from gradtape.api.numpy.joining import stack, unstack
from gradtape.api.numpy.logic import (
    bitwise_and,
    bitwise_or,
    bitwise_xor,
    equal,
    greater,
    greater_equal,
    isfinite,
    isinf,
    isnan,
    less,
    less_equal,
    logical_and,
    logical_not,
    logical_or,
    logical_xor,
    not_equal,
    signbit,
)
from gradtape.api.numpy.logic import invert as bitwise_invert
from gradtape.api.numpy.logic import left_shift as bitwise_left_shift
from gradtape.api.numpy.logic import right_shift as bitwise_right_shift
from gradtape.api.numpy.ordering import count_nonzero, searchsorted
from gradtape.api.numpy.products import matmul, tensordot, vecdot
from gradtape.api.numpy.rearranging import flip, repeat, roll, tile
from gradtape.api.numpy.reductions import (
    all,
    any,
    argmax,
    argmin,
    cumulative_prod,
    cumulative_sum,
    max,
    mean,
    min,
    prod,
    sum,
)
from gradtape.api.numpy.sequences import arange, linspace
from gradtape.api.numpy.sets import unique_all, unique_counts, unique_inverse, unique_values
from gradtape.api.numpy.shaping import (
    broadcast_to,
    expand_dims,
    matrix_transpose,
    moveaxis,
    reshape,
    squeeze,
)
from gradtape.api.numpy.shaping import transpose as permute_dims
from gradtape.api.numpy.statistics import std, var
from gradtape.api.tensorflow.dlpack import from_dlpack
from gradtape.array_api import fft, linalg, special
from gradtape.dtypes import bool_ as bool
from gradtape.dtypes import (
    complex64,
    complex128,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    uint8,
    uint16,
    uint32,
    uint64,
)

if not _typing.TYPE_CHECKING:  # a type checker would take any name to be there
    from gradtape.absent import absent_from as _absent_from

    __getattr__ = _absent_from(__name__)

__all__ = [
    "__array_api_version__", "__array_namespace_info__", "abs", "acos", "acosh", "add", "all",
    "any", "arange", "argmax", "argmin", "argsort", "asarray", "asin", "asinh", "astype", "atan",
    "atan2", "atanh", "bitwise_and", "bitwise_invert", "bitwise_left_shift", "bitwise_or",
    "bitwise_right_shift", "bitwise_xor", "bool", "broadcast_arrays", "broadcast_to", "can_cast",
    "ceil", "clip", "complex64", "complex128", "concat", "conj", "copysign", "cos", "cosh",
    "count_nonzero", "cumulative_prod", "cumulative_sum", "diff", "divide", "e", "empty",
    "empty_like", "equal", "exp", "expand_dims", "expm1", "eye", "fft", "finfo", "flip", "float32",
    "float64", "floor", "floor_divide", "from_dlpack", "full", "full_like", "greater",
    "greater_equal", "hypot", "iinfo", "imag", "inf", "int8", "int16", "int32", "int64", "isdtype",
    "isfinite", "isinf", "isnan", "less", "less_equal", "linalg", "linspace", "log", "log1p",
    "log2", "log10", "logaddexp", "logical_and", "logical_not", "logical_or", "logical_xor",
    "matmul", "matrix_transpose", "max", "maximum", "mean", "meshgrid", "min", "minimum",
    "moveaxis", "multiply", "nan", "negative", "newaxis", "nextafter", "nonzero", "not_equal",
    "ones", "ones_like", "permute_dims", "pi", "positive", "pow", "prod", "real", "reciprocal",
    "remainder", "repeat", "reshape", "result_type", "roll", "round", "searchsorted", "sign",
    "signbit", "sin", "sinh", "sort", "special", "sqrt", "square", "squeeze", "stack", "std",
    "subtract", "sum", "take", "take_along_axis", "tan", "tanh", "tensordot", "tile", "tril",
    "triu", "trunc", "uint8", "uint16", "uint32", "uint64", "unique_all", "unique_counts",
    "unique_inverse", "unique_values", "unstack", "var", "vecdot", "where", "zeros", "zeros_like",
]  # fmt: skip
