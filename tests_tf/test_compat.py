"""`tf.compat.v1` and `tf.raw_ops` of TensorFlow and of gradtape give the same numbers."""

import importlib

import numpy as np
import pytest
import tensorflow as real  # noqa: ICN001 - both are tf here

import gradtape as ours
from gradtape.compat.private_modules import rows

RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(3, 4)).astype(np.float32)
Y = RANDOM.normal(size=(3, 4)).astype(np.float32)
IMAGE = RANDOM.normal(size=(2, 5, 5, 3)).astype(np.float32)
FILTER = RANDOM.normal(size=(2, 2, 3, 4)).astype(np.float32)
WEIGHTS = np.array([[1.0], [0.0], [2.0]], np.float32)
CLASSES = np.array([0, 3, 1])
ONE_HOT = np.eye(4, dtype=np.float32)[CLASSES]

CALLS = {
    "reduce_sum": lambda v1: v1.reduce_sum(X, reduction_indices=[1], keep_dims=True),
    "reduce_logsumexp": lambda v1: v1.reduce_logsumexp(X, 0, True),
    "argmax": lambda v1: v1.argmax(X, dimension=1),
    "arg_min": lambda v1: v1.arg_min(X, 0),
    "where rows": lambda v1: v1.where([True, False, True], X, Y),
    "where all": lambda v1: v1.where(X > 0, X, Y),
    "div of integers": lambda v1: v1.div([7, -7], [2, 2]),
    "count_nonzero": lambda v1: v1.count_nonzero(X > 0, axis=1),
    "norm": lambda v1: v1.norm(X, axis=1, keep_dims=True),
    "squeeze": lambda v1: v1.squeeze(X[None], squeeze_dims=[0]),
    "softmax": lambda v1: v1.nn.softmax(X, dim=0),
    "moments": lambda v1: v1.nn.moments(X, [0], keep_dims=True),
    "conv2d": lambda v1: v1.nn.conv2d(IMAGE, FILTER, [1, 1, 1, 1], "SAME"),
    "max_pool": lambda v1: v1.nn.max_pool(value=IMAGE, ksize=2, strides=2, padding="VALID"),
    "depthwise": lambda v1: v1.nn.depthwise_conv2d(
        IMAGE, FILTER, [1, 1, 1, 1], "SAME", rate=[2, 2]
    ),
    "in_top_k": lambda v1: v1.nn.in_top_k(X, CLASSES, 2),
    "extract_image_patches": lambda v1: v1.extract_image_patches(
        IMAGE, [1, 2, 2, 1], [1, 2, 2, 1], [1, 1, 1, 1], "VALID"
    ),
    "clip_by_average_norm": lambda v1: v1.clip_by_average_norm(X, 0.1),
    "batch_gather": lambda v1: v1.batch_gather(X, [[0], [1], [3]]),
    "confusion_matrix": lambda v1: v1.confusion_matrix([0, 1, 1], [0, 1, 0]),
    "cross entropy": lambda v1: v1.nn.softmax_cross_entropy_with_logits(labels=ONE_HOT, logits=X),
    "gather": lambda v1: v1.gather(X, [0, 2], axis=1),
    "bincount": lambda v1: v1.bincount([1, 1, 2]),
    "pad": lambda v1: v1.pad(X, [[1, 0], [0, 1]], "CONSTANT", None, 2.0),
}

LOSSES = {
    "absolute_difference": (X, Y), "mean_squared_error": (X, Y), "huber_loss": (X, Y),
    "log_loss": (ONE_HOT, np.full((3, 4), 0.3, np.float32)), "hinge_loss": (ONE_HOT, Y),
    "sigmoid_cross_entropy": (ONE_HOT, Y),
}  # fmt: skip

RAW = {
    "Sum": {"input": X, "axis": [1], "keep_dims": True}, "MatMul": {"a": X, "b": Y.T},
    "SelectV2": {"condition": X > 0, "t": X, "e": Y}, "Transpose": {"x": X, "perm": [1, 0]},
    "Cast": {"x": X, "DstT": "int32"}, "Slice": {"input": X, "begin": [1, 1], "size": [1, 2]},
    "SplitV": {"value": X, "size_splits": [1, 3], "axis": 1, "num_split": 2},
    "Split": {"axis": 1, "value": X, "num_split": 2}, "Pack": {"values": [X, Y], "axis": 1},
    "Unpack": {"value": X, "num": 3}, "ConcatV2": {"values": [X, Y], "axis": 1},
    "GatherV2": {"params": X, "indices": [0, 2], "axis": 1}, "TopKV2": {"input": X, "k": 2},
    "ArgMax": {"input": X, "dimension": 1}, "Softmax": {"logits": X}, "L2Loss": {"t": X},
    "Cumsum": {"x": X, "axis": 1, "reverse": True}, "Tile": {"input": X, "multiples": [2, 1]},
    "BatchMatMulV2": {"x": X[None], "y": Y[None], "adj_y": True}, "Relu6": {"features": X * 5},
    "Conv2D": {"input": IMAGE, "filter": FILTER, "strides": [1, 1, 1, 1], "padding": "SAME"},
    "MaxPool": {"input": IMAGE, "ksize": [1, 2, 2, 1], "strides": [1, 2, 2, 1], "padding": "SAME"},
    "StridedSlice": {"input": X, "begin": [0, 1], "end": [3, 4], "strides": [2, 1]},
    "BroadcastTo": {"input": X, "shape": [2, 3, 4]}, "Fill": {"dims": [2], "value": 3.0},
    "OneHot": {"indices": [0, 2], "depth": 3, "on_value": 5.0, "off_value": 1.0},
    "LRN": {"input": IMAGE}, "LinSpace": {"start": 0.0, "stop": 1.0, "num": 5},
    "Range": {"start": 1, "limit": 9, "delta": 3}, "MatrixInverse": {"input": X[:, :3]},
    "EuclideanNorm": {"input": X, "axis": 0}, "BiasAdd": {"value": X, "bias": Y[0]},
    "ReverseV2": {"tensor": X, "axis": [0]}, "Roll": {"input": X, "shift": 1, "axis": 1},
    "UnsortedSegmentSum": {"data": X, "segment_ids": [0, 2, 0], "num_segments": 3},
    "MirrorPad": {"input": X, "paddings": [[1, 0], [0, 1]], "mode": "REFLECT"},
    "Qr": {"input": X @ X.T + 3 * np.eye(3, dtype=np.float32)}, "Where": {"condition": X > 0},
    "SquaredDifference": {"x": X, "y": Y}, "Xlogy": {"x": X, "y": np.abs(Y)},
    "FloorMod": {"x": [7, -7], "y": [3, 3]}, "TruncateMod": {"x": [7, -7], "y": [3, 3]},
    "InTopK": {"predictions": X, "targets": CLASSES.astype(np.int32), "k": 2},
    "ScatterNd": {"indices": [[1]], "updates": [5.0], "shape": [3]},
    "LeakyRelu": {"features": X, "alpha": 0.3}, "Betainc": {"a": 2.0, "b": 3.0, "x": 0.4},
    "MatrixBandPart": {"input": X, "num_lower": 0, "num_upper": 1}, "Diag": {"diagonal": X[0]},
    "Unique": {"x": [1, 1, 2]}, "InvertPermutation": {"x": [2, 0, 1]}, "AddN": {"inputs": [X, Y]},
    "RFFT": {"input": X, "fft_length": [4]}, "Complex": {"real": X, "imag": Y},
    "ReverseSequence": {"input": X, "seq_lengths": [1, 2, 3], "seq_dim": 1, "batch_dim": 0},
}  # fmt: skip

OPTIMIZERS = {
    "GradientDescentOptimizer": {"learning_rate": 0.1},
    "MomentumOptimizer": {"learning_rate": 0.1, "momentum": 0.9},
    "AdagradOptimizer": {"learning_rate": 0.1},
    "AdadeltaOptimizer": {"learning_rate": 1.0},
    "RMSPropOptimizer": {"learning_rate": 0.1, "momentum": 0.5},
    "AdamOptimizer": {"learning_rate": 0.1},
}


def same(found, expected):
    ours_, theirs = ours.nest.flatten(found), real.nest.flatten(expected)
    assert len(ours_) == len(theirs)
    for a, b in zip(ours_, theirs, strict=True):
        assert a.numpy().dtype == b.numpy().dtype
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=2e-5, atol=2e-6)


@pytest.mark.parametrize("name", CALLS)
def test_older_spellings(name):
    same(CALLS[name](ours.compat.v1), CALLS[name](real.compat.v1))


@pytest.mark.parametrize("reduction", real.compat.v1.losses.Reduction.all())
@pytest.mark.parametrize("name", LOSSES)
def test_losses(name, reduction):
    def loss(tf):
        call = getattr(tf.compat.v1.losses, name)
        return call(*LOSSES[name], WEIGHTS, reduction=reduction)

    same(loss(ours), loss(real))


@pytest.mark.parametrize("smoothing", [0.0, 0.2])
def test_losses_of_classes(smoothing):
    def all_of(tf):
        losses = tf.compat.v1.losses
        return [
            losses.softmax_cross_entropy(ONE_HOT, X, WEIGHTS[:, 0], smoothing),
            losses.sigmoid_cross_entropy(ONE_HOT, X, WEIGHTS, smoothing),
            losses.sparse_softmax_cross_entropy(CLASSES, X, WEIGHTS[:, 0]),
            losses.sparse_softmax_cross_entropy(CLASSES[:, None], X, WEIGHTS),
            losses.cosine_distance(X, Y, axis=1),
        ]

    same(all_of(ours), all_of(real))


@pytest.mark.parametrize(
    ("name", "options"),
    [
        *((name, {}) for name in OPTIMIZERS),
        ("MomentumOptimizer", {"use_nesterov": True}),
        ("RMSPropOptimizer", {"centered": True}),
    ],
)
def test_optimizers(name, options):
    def trained(tf):
        w = tf.Variable(X)
        optimizer = getattr(tf.compat.v1.train, name)(**OPTIMIZERS[name], **options)
        for _ in range(5):
            optimizer.minimize(lambda: tf.reduce_sum(tf.square(w - Y)), var_list=[w])
        return w

    same(trained(ours), trained(real))


@pytest.mark.parametrize("name", RAW)
def test_raw_ops(name):
    same(getattr(ours.raw_ops, name)(**RAW[name]), getattr(real.raw_ops, name)(**RAW[name]))


OLDER = {
    "eager.function", "ops.inplace_ops", "training.tracking.base", "training.tracking.util",
    "training.tracking.data_structures", "training.tracking.tracking",
}  # fmt: skip
"""Private modules that older versions of TensorFlow had."""


@pytest.mark.parametrize("module", sorted(set(rows()) - OLDER))
def test_private_modules_are_tensorflows(module):
    theirs = importlib.import_module(f"tensorflow.python.{module}")
    for name in rows()[module].names:
        assert hasattr(theirs, name), name
