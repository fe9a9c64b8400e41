"""`tf.math`: elementwise mathematics, special functions, comparisons, logic,
reductions and segments.
"""

# Written by `make names`: the decorators at the definitions say what is public.

import typing as _typing

from gradtape.api.tensorflow.approximation import approx_max_k, approx_min_k, sobol_sample
from gradtape.api.tensorflow.arithmetic import (
    accumulate_n,
    cumulative_logsumexp,
    polyval,
    reciprocal_no_nan,
    rint,
)
from gradtape.api.tensorflow.complex_numbers import angle, conj, imag, real
from gradtape.api.tensorflow.counting import (
    bincount,
    confusion_matrix,
    invert_permutation,
    is_non_decreasing,
    is_strictly_increasing,
)
from gradtape.api.tensorflow.elementwise import (
    abs,
    add,
    add_n,
    ceil,
    divide,
    divide_no_nan,
    exp,
    expm1,
    floor,
    floordiv,
    floormod,
    log,
    log1p,
    maximum,
    minimum,
    multiply,
    multiply_no_nan,
    negative,
    pow,
    reciprocal,
    round,
    rsqrt,
    scalar_mul,
    sigmoid,
    sign,
    softplus,
    sqrt,
    square,
    squared_difference,
    subtract,
    truediv,
    xdivy,
    xlogy,
)
from gradtape.api.tensorflow.elementwise import floormod as mod
from gradtape.api.tensorflow.logic import (
    equal,
    greater,
    greater_equal,
    is_finite,
    is_inf,
    is_nan,
    less,
    less_equal,
    logical_and,
    logical_not,
    logical_or,
    logical_xor,
    not_equal,
)
from gradtape.api.tensorflow.nn.activations import log_sigmoid, log_softmax, softmax, softsign
from gradtape.api.tensorflow.nn.losses import in_top_k, zero_fraction
from gradtape.api.tensorflow.nn.normalization import l2_normalize
from gradtape.api.tensorflow.ordering import top_k
from gradtape.api.tensorflow.reductions import (
    argmax,
    argmin,
    count_nonzero,
    cumprod,
    cumsum,
    reduce_all,
    reduce_any,
    reduce_euclidean_norm,
    reduce_logsumexp,
    reduce_max,
    reduce_mean,
    reduce_min,
    reduce_prod,
    reduce_std,
    reduce_sum,
    reduce_variance,
)
from gradtape.api.tensorflow.segments import (
    segment_max,
    segment_mean,
    segment_min,
    segment_prod,
    segment_sum,
    unsorted_segment_max,
    unsorted_segment_mean,
    unsorted_segment_min,
    unsorted_segment_prod,
    unsorted_segment_sqrt_n,
    unsorted_segment_sum,
)
from gradtape.api.tensorflow.special import (
    bessel_i0,
    bessel_i0e,
    bessel_i1,
    bessel_i1e,
    betainc,
    digamma,
    erf,
    erfc,
    erfcinv,
    erfinv,
    igamma,
    igammac,
    lbeta,
    lgamma,
    ndtri,
    nextafter,
    polygamma,
    xlog1py,
    zeta,
)
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
from gradtape.math import special

if not _typing.TYPE_CHECKING:  # a type checker would take any name to be there
    from gradtape.absent import absent_from as _absent_from

    __getattr__ = _absent_from(__name__)

__all__ = [
    "abs", "accumulate_n", "acos", "acosh", "add", "add_n", "angle", "approx_max_k", "approx_min_k",
    "argmax", "argmin", "asin", "asinh", "atan", "atan2", "atanh", "bessel_i0", "bessel_i0e",
    "bessel_i1", "bessel_i1e", "betainc", "bincount", "ceil", "confusion_matrix", "conj", "cos",
    "cosh", "count_nonzero", "cumprod", "cumsum", "cumulative_logsumexp", "digamma", "divide",
    "divide_no_nan", "equal", "erf", "erfc", "erfcinv", "erfinv", "exp", "expm1", "floor",
    "floordiv", "floormod", "greater", "greater_equal", "igamma", "igammac", "imag", "in_top_k",
    "invert_permutation", "is_finite", "is_inf", "is_nan", "is_non_decreasing",
    "is_strictly_increasing", "l2_normalize", "lbeta", "less", "less_equal", "lgamma", "log",
    "log1p", "log_sigmoid", "log_softmax", "logical_and", "logical_not", "logical_or",
    "logical_xor", "maximum", "minimum", "mod", "multiply", "multiply_no_nan", "ndtri", "negative",
    "nextafter", "not_equal", "polygamma", "polyval", "pow", "real", "reciprocal",
    "reciprocal_no_nan", "reduce_all", "reduce_any", "reduce_euclidean_norm", "reduce_logsumexp",
    "reduce_max", "reduce_mean", "reduce_min", "reduce_prod", "reduce_std", "reduce_sum",
    "reduce_variance", "rint", "round", "rsqrt", "scalar_mul", "segment_max", "segment_mean",
    "segment_min", "segment_prod", "segment_sum", "sigmoid", "sign", "sin", "sinh", "sobol_sample",
    "softmax", "softplus", "softsign", "special", "sqrt", "square", "squared_difference",
    "subtract", "tan", "tanh", "top_k", "truediv", "unsorted_segment_max", "unsorted_segment_mean",
    "unsorted_segment_min", "unsorted_segment_prod", "unsorted_segment_sqrt_n",
    "unsorted_segment_sum", "xdivy", "xlog1py", "xlogy", "zero_fraction", "zeta",
]  # fmt: skip
