"""Rows of tf.math and tf.math.special."""

from table import COMPLEX, REAL, at, bools, distinct, fixed, ints, real, row, rows_of, still

ANY = REAL + COMPLEX
INF, NAN = float("inf"), float("nan")
SPECIAL = at([0.0, -0.0, INF, -INF, NAN, 1.0, -1.0, 0.5])


ELEMENTWISE = [
    *rows_of(
        "tf.math.conj tf.math.cos tf.math.cosh tf.math.exp tf.math.expm1 tf.math.negative "
        "tf.math.sigmoid tf.math.sin tf.math.sinh "
        "tf.math.square tf.math.tanh tf.math.abs tf.math.atan tf.math.asinh "
        "tf.math.reciprocal_no_nan",
        real(2, 3), dtypes=ANY),
    *rows_of("tf.math.log tf.math.log1p tf.math.sqrt tf.math.rsqrt tf.math.reciprocal",
        real(2, 3, low=0.1, high=3.0), dtypes=ANY),
    *rows_of("tf.math.tan tf.math.asin tf.math.acos tf.math.atanh", real(2, 3, low=-0.9, high=0.9),
        dtypes=ANY),
    row("tf.math.acosh", real(2, 3, low=1.1, high=3.0), dtypes=ANY),
    *rows_of("tf.math.real tf.math.imag tf.math.angle", real(2, 3, low=0.2), dtypes=COMPLEX),
    *rows_of("tf.math.real tf.math.imag tf.math.angle", real(2, 3), note="real"),
    *rows_of("tf.math.ceil tf.math.floor tf.math.round tf.math.rint tf.math.sign", real(3, 4)),
    row("tf.math.sign", real(2, 3), note="complex", dtypes=COMPLEX),
    *rows_of("tf.math.round tf.math.rint tf.math.floor tf.math.ceil",
        fixed([-2.5, -1.5, -0.5, 0.5, 1.5, 2.5]), note="halves"),
    *rows_of("tf.math.softplus tf.math.softsign tf.math.log_sigmoid tf.math.erf", real(2, 3)),
    row("tf.math.softplus", at([-50.0, -20.0, 0.0, 20.0, 50.0]), note="large"),
    row("tf.math.log_sigmoid", at([-50.0, -20.0, 0.0, 20.0, 50.0]), note="large"),
    *rows_of("tf.math.is_finite tf.math.is_inf tf.math.is_nan", fixed([1.0, INF, -INF, NAN])),
    *rows_of(
        "tf.math.abs tf.math.exp tf.math.expm1 tf.math.log tf.math.log1p tf.math.sqrt tf.math.tanh "
        "tf.math.sigmoid tf.math.reciprocal "
        "tf.math.sign tf.math.floor tf.math.negative tf.math.square tf.math.cos tf.math.atan "
        "tf.math.acosh tf.math.erf",
        SPECIAL, note="special"),
    *rows_of("tf.math.abs tf.math.negative tf.math.sign tf.math.square", ints(2, 3, low=-3, high=3),
        note="int"),
    *rows_of("tf.math.abs tf.math.square tf.math.exp tf.math.tanh", real(0, 3), note="empty"),
]  # fmt: skip

BINARY = [
    *rows_of("tf.math.add tf.math.subtract tf.math.multiply", real(2, 3), real(3), dtypes=ANY),
    *rows_of("tf.math.divide tf.math.truediv tf.math.divide_no_nan", real(2, 3),
        real(2, 1, low=0.5), dtypes=ANY),
    row("tf.math.divide_no_nan", at([1.0, 0.0, 2.0]), at([0.0, 0.0, 4.0]), note="zero"),
    row("tf.math.multiply_no_nan", at([1.0, INF, NAN, 2.0]), at([3.0, 0.0, 0.0, 4.0]), note="zero"),
    row("tf.math.multiply_no_nan", real(2, 3), real(3)),
    *rows_of("tf.math.maximum tf.math.minimum tf.math.squared_difference tf.math.atan2", real(2, 3),
        real(3)),
    *rows_of("tf.math.maximum tf.math.minimum", at([1.0, 2.0, 0.0]), at([1.0, 3.0, -0.5]),
        note="ties"),
    *rows_of("tf.math.floordiv tf.math.floormod", real(2, 3, low=-5.0, high=5.0), real(3, low=0.5)),
    *rows_of("tf.math.floordiv tf.math.floormod", ints(2, 3, low=-9, high=9), fixed([2, -3, 4]),
        note="int"),
    row("tf.math.truediv", ints(2, 3, low=-9, high=9), fixed([2, -3, 4]), note="int"),
    *rows_of("tf.math.xdivy tf.math.xlog1py tf.math.xlogy", real(2, 3), real(2, 3, low=0.2)),
    *rows_of("tf.math.xdivy tf.math.xlogy", at([0.0, 0.0, 1.0]), at([0.0, 2.0, 3.0]), note="zero"),
    row("tf.math.xlog1py", at([0.0, 0.0, 1.0]), at([-1.0, 2.0, 3.0]), note="zero"),
    row("tf.math.pow", real(2, 3, low=0.2), real(3), dtypes=ANY),
    row("tf.math.pow", at([0.0, 0.0, 2.0, -2.0]), at([2.0, 1.0, 0.0, 3.0]), note="zero"),
    row("tf.math.pow", ints(2, 3, low=-3, high=3), fixed([0, 2, 3]), note="int"),
    *rows_of("tf.math.greater tf.math.greater_equal tf.math.less tf.math.less_equal", still(2, 3),
        still(3)),
    *rows_of("tf.math.equal tf.math.not_equal", ints(2, 3), ints(3)),
    *rows_of("tf.math.equal tf.math.not_equal", fixed([1.0, NAN]), fixed([1.0, NAN]), note="nan"),
    *rows_of("tf.math.logical_and tf.math.logical_or tf.math.logical_xor", bools(3, 4), bools(4)),
    row("tf.math.logical_not", bools(3, 4)),
    row("tf.math.add_n", real(2, 3), real(2, 3), call=lambda tf, x, y: tf.math.add_n([x, y, x]),
        dtypes=ANY),
    row("tf.math.accumulate_n", real(2, 3), real(2, 3),
        call=lambda tf, x, y: tf.math.accumulate_n([x, y, x])),
    row("tf.math.scalar_mul", 0.1, real(2, 3)),
    row("tf.math.scalar_mul", real(), real(2, 3), note="tensor"),
    row("tf.math.polyval", real(3), real(3), real(2, 1),
        call=lambda tf, a, b, x: tf.math.polyval([a, b, a], x)),
]  # fmt: skip

SPECIAL_FUNCTIONS = [
    *rows_of("tf.math.bessel_i0 tf.math.bessel_i0e tf.math.bessel_i1 tf.math.bessel_i1e",
        real(2, 3, low=0.3, high=4.0)),
    *rows_of("tf.math.bessel_i1 tf.math.bessel_i1e", at([0.0, -1.0]), note="zero"),
    *rows_of("tf.math.digamma tf.math.lgamma", real(2, 3, low=0.3, high=5.0)),
    *rows_of("tf.math.digamma tf.math.lgamma", real(2, 3, low=-0.9, high=-0.1), note="negative"),
    row("tf.math.erfc", real(2, 3)),
    row("tf.math.erfinv", real(2, 3, low=-0.9, high=0.9)),
    row("tf.math.erfcinv", real(2, 3, low=0.1, high=1.9)),
    row("tf.math.ndtri", real(2, 3, low=0.05, high=0.95)),
    row("tf.math.lbeta", real(2, 3, low=0.3, high=3.0)),
    *rows_of("tf.math.igamma tf.math.igammac", fixed([[0.5], [2.0]]),
        real(2, 3, low=0.3, high=4.0)),
    *rows_of("tf.math.igamma tf.math.igammac", real(2, 3, low=0.5, high=4.0),
        real(2, 3, low=0.3, high=4.0), note="both"),
    row("tf.math.betainc", fixed([[0.5] * 3, [2.0] * 3]), fixed([[1.5, 2.5, 0.7]] * 2),
        real(2, 3, low=0.1, high=0.9)),
    row("tf.math.betainc", real(2, 3, low=0.5), real(2, 3, low=0.5), real(2, 3, low=0.1, high=0.9),
        note="all"),
    row("tf.math.polygamma", fixed([[1.0], [2.0]]), real(2, 3, low=0.5, high=4.0)),
    row("tf.math.zeta", fixed([[1.5], [3.0]]), real(2, 3, low=0.5, high=4.0)),
    row("tf.math.zeta", real(2, 3, low=1.5, high=4.0), real(2, 3, low=0.5, high=4.0), note="both"),
]  # fmt: skip

REDUCTIONS = [
    *rows_of("tf.math.reduce_sum tf.math.reduce_mean tf.math.reduce_prod", real(2, 3, 2),
        dtypes=ANY),
    *rows_of("tf.math.reduce_sum tf.math.reduce_mean tf.math.reduce_prod", real(2, 3, 2),
        note="axis", axis=[0, -1], keepdims=True),
    row("tf.math.reduce_prod", at([[1.0, 0.0, 3.0], [0.0, 0.0, 2.0]]), note="zeros", axis=1),
    *rows_of("tf.math.reduce_max tf.math.reduce_min", distinct(2, 3, 2)),
    *rows_of("tf.math.reduce_max tf.math.reduce_min", distinct(2, 3, 2), note="axis", axis=1,
        keepdims=True),
    *rows_of("tf.math.reduce_max tf.math.reduce_min", at([[1.0, 2.0, 2.0], [3.0, 3.0, 3.0]]),
        note="ties", axis=1),
    row("tf.math.reduce_max", fixed([1.0, NAN, 2.0]), note="nan"),
    *rows_of("tf.math.reduce_logsumexp tf.math.reduce_std tf.math.reduce_variance "
        "tf.math.reduce_euclidean_norm", real(2, 3)),
    *rows_of(
        ("tf.math.reduce_logsumexp tf.math.reduce_std tf.math.reduce_variance "
         "tf.math.reduce_euclidean_norm"),
        real(2, 3, 4), note="axis", axis=[1], keepdims=True),
    row("tf.math.reduce_logsumexp", at([[-INF, 0.0], [-INF, -INF], [1000.0, 1000.0]]),
        note="infinite", axis=1),
    *rows_of("tf.math.reduce_std tf.math.reduce_variance", real(2, 3), note="complex",
        dtypes=COMPLEX),
    *rows_of("tf.math.reduce_std tf.math.reduce_euclidean_norm", at([[0.0, 0.0], [1.0, 2.0]]),
        note="zero", axis=1),
    *rows_of("tf.math.reduce_sum tf.math.reduce_mean tf.math.reduce_max", real(0, 3), note="empty",
        axis=0),
    *rows_of("tf.math.reduce_sum tf.math.reduce_mean tf.math.reduce_prod tf.math.reduce_max",
        ints(2, 3, low=-9, high=9), note="int", axis=1),
    *rows_of("tf.math.reduce_all tf.math.reduce_any", bools(4, 3), axis=1),
    *rows_of("tf.math.reduce_all tf.math.reduce_any", bools(0, 3), note="empty", axis=0),
    *rows_of("tf.math.argmax tf.math.argmin", still(3, 4)),
    *rows_of("tf.math.argmax tf.math.argmin", fixed([[1.0, 3.0, 3.0], [0.0, 0.0, 5.0]]),
        note="ties", axis=1, output_type="int32"),
    row("tf.math.count_nonzero", ints(3, 4), axis=1, keepdims=True),
    row("tf.math.zero_fraction", fixed([[0.0, 1.0], [0.0, 2.0]])),
    row("tf.math.cumsum", real(2, 3), dtypes=ANY, axis=1),
    row("tf.math.cumsum", real(2, 3), note="exclusive", axis=0, exclusive=True, reverse=True),
    row("tf.math.cumprod", real(2, 3, low=0.5), dtypes=ANY, axis=1),
    row("tf.math.cumprod", real(2, 3, low=0.5), note="exclusive", axis=1, exclusive=True,
        reverse=True),
    row("tf.math.cumprod", at([1.0, 0.0, 3.0, 2.0]), note="zeros"),
    row("tf.math.cumulative_logsumexp", real(2, 3), axis=1),
    row("tf.math.cumulative_logsumexp", real(2, 3), note="exclusive", axis=1, exclusive=True,
        reverse=True),
    *rows_of("tf.math.softmax tf.math.log_softmax", real(2, 3)),
    *rows_of("tf.math.softmax tf.math.log_softmax", real(2, 3, 2), note="axis", axis=1),
    row("tf.math.l2_normalize", real(2, 3), axis=1),
    row("tf.math.l2_normalize", at([[0.0, 0.0], [3.0, 4.0]]), note="zero", axis=1),
    row("tf.math.top_k", distinct(2, 5), k=3),
    row("tf.math.top_k", still(2, 5), note="int16", k=2, index_type="int16"),
    row("tf.math.top_k", fixed([[1.0, 3.0, 3.0, 2.0]]), note="ties", k=3),
    row("tf.math.in_top_k", fixed([1, 0]), fixed([[0.1, 0.8, 0.3], [0.2, 0.4, 0.6]], "float32"),
        k=1),
]  # fmt: skip

SORTED = fixed([0, 0, 2, 3, 3])
UNSORTED = fixed([3, 0, 2, 0, -1])
SEGMENTS = [
    *rows_of("tf.math.segment_sum tf.math.segment_mean tf.math.segment_prod", real(5, 2), SORTED),
    *rows_of("tf.math.segment_max tf.math.segment_min", distinct(5, 2), SORTED),
    *rows_of("tf.math.segment_max tf.math.segment_min", at([1.0, 1.0, 2.0, 3.0, 3.0]), SORTED,
        note="ties"),
    row("tf.math.segment_prod", at([0.0, 2.0, 3.0, 0.0, 0.0]), SORTED, note="zeros"),
    *rows_of("tf.math.unsorted_segment_sum tf.math.unsorted_segment_mean "
        "tf.math.unsorted_segment_sqrt_n", real(5, 2), UNSORTED, 5),
    row("tf.math.unsorted_segment_prod", real(5, 2, low=0.5), UNSORTED, 5),
    *rows_of("tf.math.unsorted_segment_max tf.math.unsorted_segment_min", distinct(5, 2), UNSORTED,
        5),
    row("tf.math.unsorted_segment_prod", at([0.0, 2.0, 3.0, 0.0, 1.0]), fixed([0, 0, 1, 1, 1]), 2,
        note="zeros"),
]  # fmt: skip

COUNTING = [
    row("tf.math.bincount", fixed([1, 1, 3, 2, 1])),
    row("tf.math.bincount", fixed([1, 1, 3, 2, 1]), note="length", minlength=6, dtype="int64"),
    row("tf.math.bincount", fixed([1, 1, 3]), fixed([0.5, 1.5, 2.0]), note="weights"),
    row("tf.math.bincount", fixed([[1, 1], [0, 3]]), note="axis", axis=-1),
    row("tf.math.confusion_matrix", fixed([1, 2, 4]), fixed([2, 2, 4])),
    row("tf.math.confusion_matrix", fixed([1, 2, 0]), fixed([2, 2, 0]), note="weights",
        num_classes=4, weights=[0.5, 1.0, 2.0], dtype="float64"),
    row("tf.math.invert_permutation", fixed([3, 4, 0, 2, 1])),
]  # fmt: skip

ROWS = [*ELEMENTWISE, *BINARY, *SPECIAL_FUNCTIONS, *REDUCTIONS, *SEGMENTS, *COUNTING]
