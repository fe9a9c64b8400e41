"""Where the libraries differ on purpose, and what is not compared:
the only ways to excuse a row or a symbol.
"""

# What follows from one reason, for many rows.
_NO_SECOND = "TensorFlow has no second derivative"
_NO_GRADIENT = "TensorFlow has no gradient"
_STEP = (
    "the derivative is a step, which does not depend on x: no path, None, as for "
    "sign in both; "
    "TensorFlow gives zeros"
)
_CONJUGATE = "TensorFlow's rule for complex numbers lacks a conjugate"
_ROWS = "the same numbers, dense; TensorFlow hands out the rows that its rule happens to gather"
_VECTORS = (
    "the vectors of a value that repeats are not unique: both libraries lack a term, "
    "each that of "
    "its own choice"
)
_STRONG = (
    "where a cotangent is zero, what is pulled back is zero, whatever the derivative; "
    "TensorFlow "
    "gives NaN"
)
_ZEROS = "TensorFlow divides by elements, and does not find back what a zero took away"

# "row column": why gradtape is right. A cell that is excused and agrees is a failure, and
# derivatives are judged by differences.
DIFFERENCES: dict[str, str] = {
    "tf.math.erf[special] value": "erf of infinity is 1; TensorFlow's float64 kernel gives NaN",
    "tf.math.erf[special] second": _STRONG,
    "tf.math.atan[special] second": _STRONG,
    "tf.math.acosh[special] second": _STRONG,
    "tf.math.reduce_euclidean_norm[zero] second": ("the second derivative at 0 is infinite; "
         "TensorFlow gives NaN"),
    "tf.norm[zero] second": "the second derivative at 0 is infinite; TensorFlow gives NaN",
    "tf.math.softsign second": _NO_SECOND,
    "tf.sparse.softmax second": _NO_SECOND,
    "tf.sparse.sparse_dense_matmul second": _ROWS,
    "tf.sparse.sparse_dense_matmul[adjoint] second": _ROWS,
    "tf.math.bessel_i1[zero] gradient": "the derivative at 0 is 1/2; TensorFlow gives 1",
    "tf.math.bessel_i1[zero] second": "the second derivative at 0 is 0; TensorFlow gives NaN",
    "tf.math.bessel_i1e[zero] second": ("TensorFlow gives NaN at 0, where its first "
        "derivative is a "
         "case of its own"),
    "tf.math.igamma[both] second": _NO_SECOND,
    "tf.math.igammac[both] second": _NO_SECOND,
    "tf.math.betainc[all] gradient": "TensorFlow has no gradient by a and b",
    "tf.math.betainc[all] second": "TensorFlow has no gradient by a and b",
    "tf.math.zeta[both] gradient": "TensorFlow has no gradient by x",
    "tf.math.zeta[both] second": "TensorFlow has no gradient by x",
    "tf.math.reduce_prod second": ("TensorFlow's rule calls cumprod, whose own rule lacks a "
         "conjugate"),
    "tf.math.reduce_prod[zeros] second": _ZEROS,
    "tf.math.cumprod gradient": _CONJUGATE,
    "tf.math.cumprod second": _CONJUGATE,
    "tf.math.cumprod[zeros] gradient": _ZEROS,
    "tf.math.cumprod[zeros] second": _ZEROS,
    "tf.math.segment_prod[zeros] second": _ZEROS,
    "tf.math.unsorted_segment_prod[zeros] second": _ZEROS,
    "tf.dynamic_stitch[twice] gradient": ("a row that a later one replaces has no influence; "
         "TensorFlow gives it a gradient"),
    "tf.py_function second": "TensorFlow's inner tape is not recorded",
    "tf.linalg.det[singular] gradient": ("the gradient is the cofactor matrix; TensorFlow "
         "needs the inverse"),
    "tf.linalg.det[singular] second": ("the gradient is the cofactor matrix; TensorFlow "
         "needs the inverse"),
    "tf.linalg.det[nilpotent] gradient": ("the gradient is the cofactor matrix; TensorFlow needs "
         "the inverse"),
    "tf.linalg.det[nilpotent] second": ("the gradient is the cofactor matrix; TensorFlow "
         "needs the inverse"),
    "tf.linalg.eigvalsh[repeated] second": _VECTORS,
    "tf.linalg.svd[repeated] second": _VECTORS,
    "tf.linalg.det[complex] gradient": _CONJUGATE,
    "tf.linalg.det[complex] second": _CONJUGATE,
    "tf.linalg.slogdet[complex] gradient": _CONJUGATE,
    "tf.linalg.slogdet[complex] second": _CONJUGATE,
    "tf.linalg.sqrtm[complex] gradient": _CONJUGATE,
    "tf.linalg.sqrtm[complex] second": _CONJUGATE,
    "tf.linalg.svd[complex] second": ("TensorFlow differentiates its own rule wrongly for complex "
         "matrices"),
    "tf.linalg.lstsq[not fast] gradient": _NO_GRADIENT,
    "tf.linalg.lstsq[not fast] second": _NO_GRADIENT,
    "tf.linalg.qr[full] gradient": _NO_GRADIENT,
    "tf.linalg.qr[full] second": _NO_GRADIENT,
    "tf.linalg.lu gradient": _NO_GRADIENT,
    "tf.linalg.lu second": _NO_GRADIENT,
    **dict.fromkeys(
        [
            f"tf.nn.{row} second"
            for row in (
                "max_pool", "max_pool1d", "max_pool2d", "max_pool2d[valid]", "max_pool2d[ties]",
                "max_pool3d", "pool[max]", "pool[first, max]",
                *[f"max_pool{n}d[first, {padding}]" for n in (1, 2, 3) for padding in ("SAME",
                    "VALID")],
            )
        ],
        _STEP,
    ),
    "tf.nn.max_pool_with_argmax second": _NO_SECOND,
    "tf.nn.local_response_normalization second": _NO_SECOND,
    "tf.nn.moments second": ("TensorFlow holds the mean still inside the variance, which is right "
         "for the first order only"),
    "tf.nn.moments[keepdims] second": ("TensorFlow holds the mean still inside the variance, which "
         "is right for the first order only"),
    "tf.nn.softmax_cross_entropy_with_logits second": ("TensorFlow drops the mixed derivative by "
         "labels and logits"),
    "tf.nn.softmax_cross_entropy_with_logits[sum] gradient": ("TensorFlow takes for granted that "
         "labels sum to 1"),
    "tf.nn.softmax_cross_entropy_with_logits[sum] second": ("TensorFlow takes for granted that "
         "labels sum to 1"),
    "tf.nn.ctc_loss second": "TensorFlow holds its first derivative still",
    "tf.nn.ctc_loss[too long] gradient": ("TensorFlow's gradient of labels that do not fit is not "
         "that of its loss"),
    "tf.nn.ctc_loss[too long] second": "TensorFlow holds its first derivative still",
    "tf.signal.rfft[length] gradient": "TensorFlow's gradient does not know fft_length",
    "tf.signal.rfft[length] second": "TensorFlow's gradient does not know fft_length",
    "tf.signal.irfft[length] gradient": "TensorFlow's gradient does not know fft_length",
    "tf.signal.irfft[length] second": "TensorFlow's gradient does not know fft_length",
    "tf.signal.rfft3d gradient": _NO_GRADIENT,
    "tf.signal.rfft3d second": _NO_GRADIENT,
    "tf.signal.irfft3d gradient": _NO_GRADIENT,
    "tf.signal.irfft3d second": _NO_GRADIENT,
    "tf.image.adjust_contrast gradient": _NO_GRADIENT,
    "tf.image.adjust_contrast second": _NO_GRADIENT,
    "tf.image.crop_and_resize second": _NO_SECOND,
    "tf.image.resize[bicubic] second": _NO_SECOND,
    "tf.image.resize[area] gradient": _NO_GRADIENT,
    "tf.image.resize[area] second": _NO_GRADIENT,
    **dict.fromkeys(
        [f"tf.image.resize[{method}] second" for method in ("lanczos3", "lanczos5", "gaussian",
            "mitchellcubic", "antialias")], _NO_SECOND
    ),
}  # fmt: skip

# The same for float16 and bfloat16 alone.
HALF_DIFFERENCES: dict[str, str] = {
    "tf.image.convert_image_dtype[uint8] value": (
        "TensorFlow scales in half precision, where steps are wider than 1 of 255"
    ),
    "tf.image.per_image_standardization value": (
        "float16 stays float16, as the other functions of images keep it"
    ),
    "tf.image.resize[bicubic] gradient": "TensorFlow gives None",
}

# Cells of DIFFERENCES at a kink, where differences say nothing, or where no rule can be right.
KINKS: set[str] = {
    "tf.math.acosh[special] second",
    "tf.math.atan[special] second",
    "tf.math.erf[special] second",
    "tf.math.reduce_euclidean_norm[zero] second",
    "tf.norm[zero] second",
    "tf.linalg.eigvalsh[repeated] second",
    "tf.linalg.svd[repeated] second",
    "tf.nn.max_pool2d[ties] second",
}

_ENUM = "constants without a function"
_SAYS = "it says something or nothing, and has no result"
_CONTEXT = "a context, whose effect is tested in tests/"

# Symbols without a row, and why.
NOT_COMPARED: dict[str, str] = {
    **dict.fromkeys(("tf.RaggedTensor", "tf.RaggedTensorSpec"), "test_ragged.py compares them"),
    **dict.fromkeys(("tf.AggregationMethod", "tf.UnconnectedGradients", "tf.VariableAggregation",
        "tf.VariableSynchronization"), _ENUM),
    **dict.fromkeys(("tf.Assert", "tf.assert_equal", "tf.assert_greater", "tf.assert_less",
        "tf.assert_rank"), _SAYS),
    **dict.fromkeys(("tf.control_dependencies", "tf.device", "tf.init_scope", "tf.name_scope"),
        _CONTEXT),
    "tf.Module": "a base class, tested in tests/",
    "tf.function": "compared in test_function.py and test_autograph.py",
    "tf.SparseTensorSpec": "a description for signatures, compared in test_function.py",
    "tf.TypeSpec": "a base class; tf.TensorSpec is compared",
    "tf.IndexedSlicesSpec": "a description for signatures",
    "tf.RegisterGradient": "it registers a rule for a kernel by its name in TensorFlow",
    "tf.no_gradient": "it registers that a kernel of TensorFlow has no rule",
    "tf.get_logger": "the loggers have different names",
    "tf.gradients": "TensorFlow refuses it in eager code",
    "tf.hessians": "TensorFlow refuses it in eager code",
}  # fmt: skip
