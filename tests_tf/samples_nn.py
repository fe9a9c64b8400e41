"""Rows of tf.nn."""

from table import SINGLE, at, distinct, fixed, real, resolve, row, rows_of, still

import gradtape

CONSTANTS = 1e-6  # TensorFlow keeps the constants of these in float32, in float64 too
IMAGES = real(2, 5, 6, 3)
POOLED = distinct(2, 5, 6, 2, step=0.1)


def dropped(tf, x):
    """What is kept is scaled by the rate, and the same in the gradient:
    the only facts that do not depend on the draw.
    """
    y = tf.nn.dropout(x, 0.5, seed=1)
    return [
        tf.shape(y),
        tf.reduce_all((y == 0.0) | (tf.abs(y - 2.0 * x) < 1e-6)),
        tf.nn.dropout(x, 0.0),
    ]


def stateless_dropped(tf, x):
    y = tf.nn.experimental.stateless_dropout(x, 0.5, seed=[1, 2])
    again = tf.nn.experimental.stateless_dropout(x, 0.5, seed=[1, 2])
    return [tf.reduce_all((y == 0.0) | (tf.abs(y - 2.0 * x) < 1e-6)), tf.reduce_all(y == again)]


def sampled(name):
    """With given candidates, nothing is random."""

    def call(tf, weights, biases, inputs):
        candidates = (
            tf.constant([0, 2, 3], tf.int64),
            tf.constant([[0.5], [0.3]]),
            tf.constant([0.5, 0.3, 0.2]),
        )
        labels = tf.constant([[1], [4]], tf.int64)
        return getattr(tf.nn, name)(
            weights,
            biases,
            labels,
            inputs,
            3,
            6,
            sampled_values=candidates,
            remove_accidental_hits=False,
        )

    return call


def channels_first(symbol, *args, layout, **params):
    """A function of channels first, which most of TensorFlow's kernels for the CPU refuse: there,
    of channels last in between.
    """

    def call(tf, x, *filters):
        function = resolve(tf, symbol)
        if tf is gradtape:
            return function(
                x, *filters, *[_whole(a, first=True) for a in args], data_format=layout, **params
            )
        rank = len(layout)
        last = layout[0] + layout[2:] + "C"
        y = function(
            tf.transpose(x, [0, *range(2, rank), 1]),
            *filters,
            *[_whole(a, first=False) for a in args],
            data_format=last,
            **params,
        )
        return tf.transpose(y, [0, rank - 1, *range(1, rank - 1)])

    return call


class Whole(list):
    """Numbers for the spatial axes that a function takes for every axis,
    with `ends` for the batch and the channels.
    """

    def __init__(self, spatial, ends=(1, 1)):
        super().__init__(spatial)
        self.ends = ends


def _whole(value, *, first):
    if not isinstance(value, Whole):
        return value
    batch, channels = value.ends
    return [batch, channels, *value] if first else [batch, *value, channels]


def sparse_ids(tf):
    return tf.SparseTensor([[0, 0], [0, 2], [1, 0]], tf.constant([1, 3, 0], tf.int64), [2, 3])


ACTIVATIONS = [
    *rows_of("tf.nn.gelu tf.nn.leaky_relu", real(3, 4, low=-3.0, high=8.0), tolerance=CONSTANTS),
    *rows_of("tf.nn.elu tf.nn.relu tf.nn.relu6 tf.nn.selu tf.nn.silu tf.nn.crelu",
        real(3, 4, low=-3.0, high=8.0)),
    *rows_of("tf.nn.elu tf.nn.leaky_relu tf.nn.relu tf.nn.relu6 tf.nn.selu tf.nn.silu",
        at([0.0, -0.0, 6.0, 1e4, -1e4]), note="special", tolerance=CONSTANTS),
    row("tf.nn.gelu", real(3, 4), note="approximate", approximate=True, tolerance=CONSTANTS),
    row("tf.nn.silu", real(3, 4), note="beta", beta=1.7, tolerance=CONSTANTS),
    row("tf.nn.leaky_relu", real(3, 4), note="alpha", alpha=0.05, tolerance=CONSTANTS),
    row("tf.nn.l2_loss", real(3, 4)),
    row("tf.nn.bias_add", real(2, 3, 4), real(4)),
    row("tf.nn.bias_add", real(2, 3, 4, 5), real(3), note="channels first", data_format="NCHW"),
    row("tf.nn.dropout", still(20, 5), call=dropped),
    row("tf.nn.experimental.stateless_dropout", still(20, 5), call=stateless_dropped),
]  # fmt: skip

CONVOLUTIONS = [
    row("tf.nn.conv1d", real(2, 7, 3), real(3, 3, 4), 2, "SAME"),
    row("tf.nn.conv2d", IMAGES, real(3, 2, 3, 4), 1, "SAME"),
    row("tf.nn.conv2d", IMAGES, real(3, 2, 3, 4), [2, 1], "VALID", note="valid"),
    row("tf.nn.conv2d", IMAGES, real(2, 2, 3, 4), 1, "VALID", note="dilated", dilations=2,
        dtypes=SINGLE),
    row("tf.nn.conv2d", IMAGES, real(2, 2, 3, 4), 2, [[0, 0], [1, 2], [0, 1], [0, 0]],
        note="explicit"),
    row("tf.nn.conv2d", real(2, 5, 5, 4), real(2, 2, 2, 6), 1, "SAME", note="groups",
        dtypes=SINGLE),
    row("tf.nn.conv3d", real(1, 4, 4, 5, 2), real(2, 2, 2, 2, 3), [1, 2, 1, 1, 1], "SAME"),
    row("tf.nn.atrous_conv2d", IMAGES, real(2, 2, 3, 4), 2, "SAME"),
    row("tf.nn.convolution", IMAGES, real(2, 2, 3, 4), padding="SAME", dilations=[2, 1]),
    row("tf.nn.conv1d_transpose", real(2, 4, 3), real(3, 2, 3), [2, 8, 2], 2),
    row("tf.nn.conv2d_transpose", real(2, 3, 3, 4), real(3, 3, 2, 4), [2, 6, 6, 2], 2),
    row("tf.nn.conv2d_transpose", real(2, 3, 3, 4), real(2, 3, 2, 4), [2, 4, 5, 2], 1, note="valid",
        padding="VALID"),
    row("tf.nn.conv3d_transpose", real(1, 2, 2, 2, 3), real(2, 2, 2, 2, 3), [1, 4, 4, 4, 2], 2),
    row("tf.nn.conv_transpose", real(2, 3, 3, 4), real(3, 3, 2, 4), [2, 6, 6, 2], 2),
    row("tf.nn.depthwise_conv2d", IMAGES, real(3, 2, 3, 2), [1, 1, 1, 1], "SAME"),
    row("tf.nn.depthwise_conv2d", IMAGES, real(2, 2, 3, 2), [1, 2, 2, 1], "VALID", note="strides"),
    row("tf.nn.separable_conv2d", IMAGES, real(3, 2, 3, 2), real(1, 1, 6, 4), [1, 1, 1, 1], "SAME"),
]  # fmt: skip

POOLING = [
    *rows_of("tf.nn.avg_pool2d tf.nn.avg_pool", IMAGES, 2, 2, "SAME"),
    row("tf.nn.avg_pool2d", IMAGES, [3, 2], [1, 2], "VALID", note="valid"),
    row("tf.nn.avg_pool1d", real(2, 7, 3), 3, 2, "SAME"),
    row("tf.nn.avg_pool3d", real(1, 4, 4, 5, 2), 2, 2, "SAME", dtypes=SINGLE),
    *rows_of("tf.nn.max_pool2d tf.nn.max_pool", POOLED, 2, 2, "SAME"),
    row("tf.nn.max_pool2d", POOLED, [3, 2], [1, 2], "VALID", note="valid"),
    row("tf.nn.max_pool2d", at([[[[1.0], [1.0]], [[1.0], [0.0]]]]), 2, 2, "VALID", note="ties"),
    row("tf.nn.max_pool1d", distinct(2, 7, 3), 3, 2, "SAME"),
    row("tf.nn.max_pool3d", distinct(1, 4, 4, 5, 2), 2, 2, "SAME", dtypes=SINGLE),
    row("tf.nn.max_pool_with_argmax", POOLED, 2, 2, "SAME",
        call=lambda tf, x, k, s, p: list(tf.nn.max_pool_with_argmax(x, k, s, p))),
    row("tf.nn.pool", IMAGES, [2, 2], "AVG", padding="SAME", strides=[2, 2]),
    row("tf.nn.pool", POOLED, [2, 2], "MAX", note="max", padding="VALID", dilations=[2, 1]),
    *rows_of("tf.nn.depth_to_space", real(2, 3, 3, 8), 2),
    *rows_of("tf.nn.space_to_depth", real(2, 4, 6, 2), 2),
]  # fmt: skip

LAYOUTS = {1: "NCW", 2: "NCHW", 3: "NCDHW"}
SIZES = {1: (7,), 2: (5, 6), 3: (4, 3, 5)}


def of_channels_first(symbol, axes, x, *more, note="first", **params):
    filters = [arg for arg in more if isinstance(arg, type(x))]
    args = [arg for arg in more if not isinstance(arg, type(x))]
    call = channels_first(symbol, *args, layout=LAYOUTS[axes], **params)
    return row(symbol, x, *filters, call=call, note=note, dtypes=SINGLE)


CHANNELS_FIRST = [
    of_channels_first("tf.nn.conv1d", 1, real(2, 3, 7), real(3, 3, 4), 2, "SAME"),
    of_channels_first("tf.nn.conv2d", 2, real(2, 3, 5, 6), real(3, 2, 3, 4), [2, 1], "VALID"),
    of_channels_first("tf.nn.conv2d", 2, real(2, 3, 5, 6), real(2, 2, 3, 4), Whole([1, 2]), "SAME",
        note="first, strides"),
    of_channels_first("tf.nn.conv2d", 2, real(2, 3, 5, 6), real(2, 2, 3, 4), 1,
        Whole([[1, 0], [0, 2]], ([0, 0], [0, 0])), note="first, explicit"),
    of_channels_first("tf.nn.conv2d", 2, real(2, 4, 5, 5), real(2, 2, 2, 6), 1, "SAME",
        note="first, groups"),
    of_channels_first("tf.nn.conv2d", 2, real(2, 3, 5, 6), real(2, 2, 3, 4), 1, "VALID",
        note="first, dilated", dilations=[2, 1]),
    of_channels_first("tf.nn.conv3d", 3, real(1, 2, 4, 3, 5), real(2, 2, 2, 2, 3), Whole([1, 2, 1]),
        "SAME"),
    of_channels_first("tf.nn.convolution", 2, real(2, 3, 5, 6), real(2, 2, 3, 4), padding="SAME",
        strides=[2, 1]),
    of_channels_first("tf.nn.depthwise_conv2d", 2, real(2, 3, 5, 6), real(3, 2, 3, 2),
        Whole([2, 2]), "SAME"),
    of_channels_first("tf.nn.separable_conv2d", 2, real(2, 3, 5, 6), real(3, 2, 3, 2),
        real(1, 1, 6, 4), Whole([1, 1]), "SAME"),
    of_channels_first("tf.nn.conv1d_transpose", 1, real(2, 3, 4), real(3, 2, 3), Whole([8], (2, 2)),
        2),
    of_channels_first("tf.nn.conv2d_transpose", 2, real(2, 4, 3, 3), real(3, 3, 2, 4),
        Whole([6, 6], (2, 2)), 2),
    of_channels_first("tf.nn.conv3d_transpose", 3, real(1, 3, 2, 2, 2), real(2, 2, 2, 2, 3),
        Whole([4, 4, 4], (1, 2)), 2),
    *[
        of_channels_first(f"tf.nn.{kind}_pool{axes}d", axes, make(2, 2, *SIZES[axes]), 3, 2,
            padding, note=f"first, {padding}")
        for kind,
        make in (("avg", real), ("max", distinct)) for axes in SIZES
            for padding in ("SAME", "VALID")
    ],
    of_channels_first("tf.nn.pool", 2, real(2, 2, 5, 6), [2, 2], "AVG", padding="SAME",
        strides=[2, 1]),
    of_channels_first("tf.nn.pool", 2, distinct(2, 2, 5, 6), [2, 2], "MAX", note="first, max",
        padding="VALID", dilations=[2, 1]),
    of_channels_first("tf.nn.depth_to_space", 2, real(2, 8, 3, 3), 2),
    of_channels_first("tf.nn.space_to_depth", 2, real(2, 2, 4, 6), 2),
    of_channels_first("tf.nn.bias_add", 2, real(2, 3, 4, 5), real(3)),
]  # fmt: skip

NORMALISATION = [
    row("tf.nn.batch_normalization", real(4, 3), real(3), real(3, low=0.5), real(3), real(3), 1e-3),
    row("tf.nn.local_response_normalization", real(2, 3, 3, 6), depth_radius=2, bias=1.5, alpha=0.3,
        beta=0.7, dtypes=SINGLE),
    row("tf.nn.moments", real(4, 3), [0]),
    row("tf.nn.moments", real(4, 3), [0, 1], note="keepdims", keepdims=True),
    row("tf.nn.weighted_moments", real(4, 3), [0], real(4, 3, low=0.2)),
]  # fmt: skip

LOSSES = [
    row("tf.nn.softmax_cross_entropy_with_logits", at([[0.2, 0.3, 0.5], [1.0, 0.0, 0.0]]),
        real(2, 3)),
    row("tf.nn.softmax_cross_entropy_with_logits", real(2, 3, low=0.1), real(2, 3), note="sum"),
    row("tf.nn.sparse_softmax_cross_entropy_with_logits", fixed([2, 0]), real(2, 3)),
    row("tf.nn.sigmoid_cross_entropy_with_logits", real(2, 3, low=0.0, high=1.0), real(2, 3)),
    row("tf.nn.sigmoid_cross_entropy_with_logits", at([0.0, 1.0, 0.5]), at([0.0, -100.0, 100.0]),
        note="special"),
    row("tf.nn.weighted_cross_entropy_with_logits", real(2, 3, low=0.0, high=1.0), real(2, 3), 2.5),
    row("tf.nn.log_poisson_loss", real(2, 3, low=0.1), real(2, 3)),
    row("tf.nn.log_poisson_loss", real(2, 3, low=1.2), real(2, 3), note="full",
        compute_full_loss=True),
    row("tf.nn.compute_average_loss", real(4), global_batch_size=8),
    row("tf.nn.scale_regularization_loss", real(4)),
    row("tf.nn.ctc_loss", fixed([[1, 2, 1], [2, 0, 0]]), real(6, 2, 4), fixed([3, 1]),
        fixed([6, 5]), logits_time_major=True, blank_index=0, dtypes=SINGLE),
    row("tf.nn.ctc_loss",
        fixed([[1, 2, 1, 2, 3, 1, 1], [3, 3, 3, 3, 2, 2, 1], [2, 3, 0, 0, 0, 0, 0]]), real(6, 3, 4),
        fixed([7, 7, 2]), fixed([6, 6, 6]), note="too long", logits_time_major=True, blank_index=0,
        dtypes=SINGLE),
    row("tf.nn.nce_loss", real(6, 3), real(6), real(2, 3), call=sampled("nce_loss"), dtypes=SINGLE),
    row("tf.nn.sampled_softmax_loss", real(6, 3), real(6), real(2, 3),
        call=sampled("sampled_softmax_loss"), dtypes=SINGLE),
    row("tf.nn.embedding_lookup", real(4, 3), fixed([2, 0, 2])),
    row("tf.nn.embedding_lookup", real(4, 3), fixed([2, 0, 2]), note="norm", max_norm=0.5),
    row("tf.nn.embedding_lookup_sparse", real(4, 3),
        call=lambda tf, x: tf.nn.embedding_lookup_sparse(x, sparse_ids(tf), None, combiner="mean")),
    row("tf.nn.embedding_lookup_sparse", real(4, 3),
        call=lambda tf, x: tf.nn.embedding_lookup_sparse(x, sparse_ids(tf), None, combiner="sqrtn"),
        note="sqrtn"),
]  # fmt: skip

ROWS = [*ACTIVATIONS, *CONVOLUTIONS, *POOLING, *CHANNELS_FIRST, *NORMALISATION, *LOSSES]
