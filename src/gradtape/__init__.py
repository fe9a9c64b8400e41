"""TensorFlow's `GradientTape` without TensorFlow: `import gradtape as tf`."""

# Written by `make names`: the decorators at the definitions say what is public.

import typing as _typing

from numpy import newaxis

from gradtape import autodiff, debugging, dtypes, errors, linalg, math, nest, nn, random
from gradtape.api.tensorflow.arithmetic import realdiv, truncatediv, truncatemod
from gradtape.api.tensorflow.buckets import pad_to_bucket
from gradtape.api.tensorflow.clipping import clip_by_global_norm, clip_by_norm, clip_by_value
from gradtape.api.tensorflow.complex_numbers import complex
from gradtape.api.tensorflow.conversion import bitcast, saturate_cast
from gradtape.api.tensorflow.counting import (
    histogram_fixed_width,
    histogram_fixed_width_bins,
    searchsorted,
    sequence_mask,
    unique,
    unique_with_counts,
    unravel_index,
)
from gradtape.api.tensorflow.creation import (
    cast,
    constant,
    convert_to_tensor,
    ensure_shape,
    executing_eagerly,
    eye,
    fill,
    identity,
    is_tensor,
    linspace,
    one_hot,
    ones,
    ones_like,
    range,
    rank,
    shape,
    size,
    stop_gradient,
    zeros,
    zeros_like,
)
from gradtape.api.tensorflow.debugging.printing import (
    Assert,
    assert_equal,
    assert_greater,
    assert_less,
    assert_rank,
    print,
)
from gradtape.api.tensorflow.elementwise import (
    abs,
    add,
    add_n,
    divide,
    exp,
    floor,
    maximum,
    minimum,
    multiply,
    negative,
    pow,
    round,
    scalar_mul,
    sigmoid,
    sign,
    sqrt,
    square,
    subtract,
    truediv,
)
from gradtape.api.tensorflow.environment import (
    AggregationMethod,
    broadcast_dynamic_shape,
    broadcast_static_shape,
    control_dependencies,
    get_logger,
    get_static_value,
    group,
    guarantee_const,
    identity_n,
    inside_function,
    is_symbolic_tensor,
    no_op,
    shape_n,
    tuple,
)
from gradtape.api.tensorflow.indexing import (
    boolean_mask,
    gather,
    gather_nd,
    scatter_nd,
    tensor_scatter_nd_add,
    tensor_scatter_nd_sub,
    tensor_scatter_nd_update,
    where,
)
from gradtape.api.tensorflow.joining import concat, meshgrid, repeat, split, stack, tile, unstack
from gradtape.api.tensorflow.linalg.decompositions import eig, eigvals
from gradtape.api.tensorflow.linalg.matrices import sqrtm as matrix_square_root
from gradtape.api.tensorflow.linalg.products import einsum, matmul, norm, tensordot
from gradtape.api.tensorflow.logic import (
    equal,
    greater,
    greater_equal,
    less,
    less_equal,
    logical_and,
    logical_not,
    logical_or,
    not_equal,
)
from gradtape.api.tensorflow.ordering import argsort, sort
from gradtape.api.tensorflow.python_functions import numpy_function, py_function
from gradtape.api.tensorflow.random.initializers import (
    constant_initializer,
    ones_initializer,
    random_normal_initializer,
    random_uniform_initializer,
    zeros_initializer,
)
from gradtape.api.tensorflow.rearranging import (
    batch_to_space,
    dynamic_partition,
    dynamic_stitch,
    extract_volume_patches,
    required_space_to_batch_paddings,
    reverse_sequence,
    space_to_batch,
    space_to_batch_nd,
    tensor_scatter_nd_max,
    tensor_scatter_nd_min,
)
from gradtape.api.tensorflow.reductions import (
    argmax,
    argmin,
    cumsum,
    reduce_all,
    reduce_any,
    reduce_logsumexp,
    reduce_max,
    reduce_mean,
    reduce_min,
    reduce_prod,
    reduce_sum,
)
from gradtape.api.tensorflow.shaping import (
    broadcast_to,
    expand_dims,
    pad,
    reshape,
    reverse,
    roll,
    slice,
    squeeze,
    strided_slice,
    transpose,
)
from gradtape.api.tensorflow.tensor_array import TensorArray
from gradtape.api.tensorflow.tensor_conversions import register_tensor_conversion_function
from gradtape.api.tensorflow.trigonometry import (
    acos,
    acosh,
    asin,
    asinh,
    atan,
    atan2,
    atanh,
    cos,
    cosh,
    sin,
    sinh,
    tan,
    tanh,
)
from gradtape.api.tensorflow.type_specs import (
    IndexedSlicesSpec,
    SparseTensorSpec,
    type_spec_from_value,
)
from gradtape.core.device import device
from gradtape.core.indexed_slices import IndexedSlices
from gradtape.core.module import Module
from gradtape.core.naming import get_current_name_scope, name_scope
from gradtape.core.sparse_tensor import SparseTensor
from gradtape.core.tape import GradientTape
from gradtape.core.tensor import Tensor
from gradtape.core.thread import init_scope
from gradtape.core.type_spec import TypeSpec
from gradtape.core.unconnected import UnconnectedGradients
from gradtape.core.variable import Variable
from gradtape.core.variable_options import VariableAggregation, VariableSynchronization
from gradtape.dtypes import (
    DType,
    as_dtype,
    bfloat16,
    complex64,
    complex128,
    double,
    float16,
    float32,
    float64,
    half,
    int8,
    int16,
    int32,
    int64,
    string,
    uint8,
    uint16,
    uint32,
    uint64,
)
from gradtape.dtypes import bool_ as bool
from gradtape.functions.control_flow import (
    case,
    cond,
    foldl,
    foldr,
    map_fn,
    scan,
    switch_case,
    while_loop,
)
from gradtape.functions.decorator import function
from gradtape.inspect.profile import profile
from gradtape.shapes import TensorShape, TensorSpec
from gradtape.start import install_as_tensorflow
from gradtape.transforms.custom_gradient import custom_gradient, grad_pass_through
from gradtape.transforms.functional import (
    diag_hessian,
    grad,
    hessian,
    hvp,
    jvp,
    laplacian,
    value_and_grad,
    vjp,
)
from gradtape.transforms.graph_gradients import RegisterGradient, gradients, hessians, no_gradient
from gradtape.transforms.recompute import recompute_grad
from gradtape.transforms.vectorize import vectorized_map, vmap

if _typing.TYPE_CHECKING:
    from gradtape import __internal__ as __internal__
    from gradtape import array_api as array_api
    from gradtape import autograph as autograph
    from gradtape import bitwise as bitwise
    from gradtape import bridge as bridge
    from gradtape import callbacks as callbacks
    from gradtape import compat as compat
    from gradtape import config as config
    from gradtape import data as data
    from gradtape import distribute as distribute
    from gradtape import experimental as experimental
    from gradtape import image as image
    from gradtape import io as io
    from gradtape import lookup as lookup
    from gradtape import numpy as numpy
    from gradtape import optimize as optimize
    from gradtape import profiler as profiler
    from gradtape import quantization as quantization
    from gradtape import ragged as ragged
    from gradtape import raw_ops as raw_ops
    from gradtape import saved_model as saved_model
    from gradtape import scipy as scipy
    from gradtape import sets as sets
    from gradtape import signal as signal
    from gradtape import sparse as sparse
    from gradtape import strings as strings
    from gradtape import summary as summary
    from gradtape import sysconfig as sysconfig
    from gradtape import test as test
    from gradtape import testing as testing
    from gradtape import train as train
    from gradtape import types as types
    from gradtape import version as version
    from gradtape.ragged.spec import RaggedTensorSpec as RaggedTensorSpec
    from gradtape.ragged.tensor import RaggedTensor as RaggedTensor
    from gradtape.start import __version__ as __version__
    from gradtape.start import activations as activations
    from gradtape.start import initializers as initializers
    from gradtape.start import keras as keras
    from gradtape.start import losses as losses
    from gradtape.start import metrics as metrics
    from gradtape.start import optimizers as optimizers
    from gradtape.start import regularizers as regularizers
    from gradtape.strings.joining import as_string as as_string
else:
    from gradtape.start import __dir__ as __dir__
    from gradtape.start import __getattr__ as __getattr__

__all__ = [
    "AggregationMethod", "Assert", "DType", "GradientTape", "IndexedSlices", "IndexedSlicesSpec",
    "Module", "RaggedTensor", "RaggedTensorSpec", "RegisterGradient", "SparseTensor",
    "SparseTensorSpec", "Tensor", "TensorArray", "TensorShape", "TensorSpec", "TypeSpec",
    "UnconnectedGradients", "Variable", "VariableAggregation", "VariableSynchronization", "abs",
    "acos", "acosh", "add", "add_n", "argmax", "argmin", "argsort", "as_dtype", "as_string", "asin",
    "asinh", "assert_equal", "assert_greater", "assert_less", "assert_rank", "atan", "atan2",
    "atanh", "autodiff", "batch_to_space", "bfloat16", "bitcast", "bool", "boolean_mask",
    "broadcast_dynamic_shape", "broadcast_static_shape", "broadcast_to", "case", "cast",
    "clip_by_global_norm", "clip_by_norm", "clip_by_value", "complex", "complex64", "complex128",
    "concat", "cond", "constant", "constant_initializer", "control_dependencies",
    "convert_to_tensor", "cos", "cosh", "cumsum", "custom_gradient", "debugging", "device",
    "diag_hessian", "divide", "double", "dtypes", "dynamic_partition", "dynamic_stitch", "eig",
    "eigvals", "einsum", "ensure_shape", "equal", "errors", "executing_eagerly", "exp",
    "expand_dims", "extract_volume_patches", "eye", "fill", "float16", "float32", "float64",
    "floor", "foldl", "foldr", "function", "gather", "gather_nd", "get_current_name_scope",
    "get_logger", "get_static_value", "grad", "grad_pass_through", "gradients", "greater",
    "greater_equal", "group", "guarantee_const", "half", "hessian", "hessians",
    "histogram_fixed_width", "histogram_fixed_width_bins", "hvp", "identity", "identity_n",
    "init_scope", "inside_function", "install_as_tensorflow", "int8", "int16", "int32", "int64",
    "is_symbolic_tensor", "is_tensor", "jvp", "laplacian", "less", "less_equal", "linalg",
    "linspace", "logical_and", "logical_not", "logical_or", "map_fn", "math", "matmul",
    "matrix_square_root", "maximum", "meshgrid", "minimum", "multiply", "name_scope", "negative",
    "nest", "newaxis", "nn", "no_gradient", "no_op", "norm", "not_equal", "numpy_function",
    "one_hot", "ones", "ones_initializer", "ones_like", "pad", "pad_to_bucket", "pow", "print",
    "profile", "py_function", "random", "random_normal_initializer", "random_uniform_initializer",
    "range", "rank", "realdiv", "recompute_grad", "reduce_all", "reduce_any", "reduce_logsumexp",
    "reduce_max", "reduce_mean", "reduce_min", "reduce_prod", "reduce_sum",
    "register_tensor_conversion_function", "repeat", "required_space_to_batch_paddings", "reshape",
    "reverse", "reverse_sequence", "roll", "round", "saturate_cast", "scalar_mul", "scan",
    "scatter_nd", "searchsorted", "sequence_mask", "shape", "shape_n", "sigmoid", "sign", "sin",
    "sinh", "size", "slice", "sort", "space_to_batch", "space_to_batch_nd", "split", "sqrt",
    "square", "squeeze", "stack", "stop_gradient", "strided_slice", "string", "subtract",
    "switch_case", "tan", "tanh", "tensor_scatter_nd_add", "tensor_scatter_nd_max",
    "tensor_scatter_nd_min", "tensor_scatter_nd_sub", "tensor_scatter_nd_update", "tensordot",
    "tile", "transpose", "truediv", "truncatediv", "truncatemod", "tuple", "type_spec_from_value",
    "uint8", "uint16", "uint32", "uint64", "unique", "unique_with_counts", "unravel_index",
    "unstack", "value_and_grad", "vectorized_map", "vjp", "vmap", "where", "while_loop", "zeros",
    "zeros_initializer", "zeros_like",
]  # fmt: skip
