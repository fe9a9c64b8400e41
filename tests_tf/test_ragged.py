"""RaggedTensors in both libraries: a table of calls, and the same functions of random rows."""

from __future__ import annotations

import numpy as np
import pytest
from calls import check

ROWS = [[1, 2], [], [3], [4, 5, 6]]
FLOATS = [[1.0, 2.0], [], [-3.0], [4.0, 5.5, 6.0]]
DEEP = [[[1, 2], [3]], [], [[4], [], [5, 6, 7]]]
PAIRS = [[[1.0, 2.0], [3.0, 4.0]], [[5.0, 6.0]], []]


def r(tf):
    return tf.ragged.constant(ROWS)


def f(tf):
    return tf.ragged.constant(FLOATS)


def d(tf):
    return tf.ragged.constant(DEEP)


def p(tf):
    return tf.ragged.constant(PAIRS, ragged_rank=1)


def s(tf):
    return tf.ragged.constant([["a", "bc"], [], ["d"]])


def rt(tf):
    return tf.RaggedTensor


# fmt: off
CALLS = {
    # made of lists
    "constant": lambda tf: tf.ragged.constant(ROWS),
    "constant floats": lambda tf: tf.ragged.constant(FLOATS, tf.float64),
    "constant deep": lambda tf: tf.ragged.constant(DEEP),
    "constant ragged_rank": lambda tf: tf.ragged.constant(PAIRS, ragged_rank=1),
    "constant inner_shape": lambda tf: tf.ragged.constant(PAIRS, inner_shape=(2,)),
    "constant int32 splits": lambda tf: tf.ragged.constant(ROWS, row_splits_dtype=tf.int32),
    "constant strings": lambda tf: tf.ragged.constant([["a"], ["b", "c"]]),
    "constant empty rows": lambda tf: tf.ragged.constant([[], []]),
    "constant empty": lambda tf: tf.ragged.constant([]),
    "constant flat": lambda tf: tf.ragged.constant([1, 2]),
    "constant scalar": lambda tf: tf.ragged.constant(3),
    "constant tuples": lambda tf: tf.ragged.constant([(1,), (2, 3)]),
    "constant depths": lambda tf: tf.ragged.constant([[1], 2]),
    "constant ragged_rank too large": lambda tf: tf.ragged.constant(ROWS, ragged_rank=2),
    "constant ragged inside": lambda tf: tf.ragged.constant(DEEP, ragged_rank=1),
    "constant inner_shape wrong": lambda tf: tf.ragged.constant(PAIRS, inner_shape=(3,)),
    "constant splits dtype": lambda tf: tf.ragged.constant(ROWS, row_splits_dtype=tf.float32),
    # made of a partition
    "from_row_splits": lambda tf: rt(tf).from_row_splits([1, 2, 3], [0, 1, 1, 3]),
    "from_row_splits 2d": lambda tf: rt(tf).from_row_splits([[1, 2], [3, 4]], [0, 0, 2]),
    "from_row_splits int32": lambda tf: rt(tf).from_row_splits(
        [1, 2, 3], tf.constant([0, 1, 3], tf.int32)
    ),
    "from_row_splits empty": lambda tf: rt(tf).from_row_splits([1], []),
    "from_row_splits not 0": lambda tf: rt(tf).from_row_splits([1, 2], [1, 2]),
    "from_row_splits falls": lambda tf: rt(tf).from_row_splits([1, 2], [0, 2, 1, 2]),
    "from_row_splits too short": lambda tf: rt(tf).from_row_splits([1, 2], [0, 1]),
    "from_row_splits float": lambda tf: rt(tf).from_row_splits([1, 2], [0.0, 2.0]),
    "from_row_splits 2d splits": lambda tf: rt(tf).from_row_splits([1, 2], [[0, 2]]),
    "from_row_splits scalar": lambda tf: rt(tf).from_row_splits(1, [0, 1]),
    "from_row_lengths": lambda tf: rt(tf).from_row_lengths([1, 2, 3], [2, 0, 1]),
    "from_row_lengths wrong": lambda tf: rt(tf).from_row_lengths([1, 2, 3], [2, 2]),
    "from_row_lengths negative": lambda tf: rt(tf).from_row_lengths([1], [2, -1]),
    "from_row_limits": lambda tf: rt(tf).from_row_limits([1, 2, 3], [2, 2, 3]),
    "from_row_limits wrong": lambda tf: rt(tf).from_row_limits([1, 2, 3], [2, 2]),
    "from_row_starts": lambda tf: rt(tf).from_row_starts([1, 2, 3], [0, 2, 2]),
    "from_row_starts wrong": lambda tf: rt(tf).from_row_starts([1, 2, 3], [1, 2]),
    "from_value_rowids": lambda tf: rt(tf).from_value_rowids([1, 2, 3], [0, 2, 2]),
    "from_value_rowids nrows": lambda tf: rt(tf).from_value_rowids([1, 2, 3], [0, 2, 2], 5),
    "from_value_rowids none": lambda tf: rt(tf).from_value_rowids(
        tf.constant([], tf.int32), tf.constant([], tf.int64)
    ),
    "from_value_rowids falls": lambda tf: rt(tf).from_value_rowids([1, 2], [1, 0]),
    "from_value_rowids large": lambda tf: rt(tf).from_value_rowids([1, 2], [0, 5], 3),
    "from_value_rowids count": lambda tf: rt(tf).from_value_rowids([1, 2], [0]),
    "from_value_rowids negative": lambda tf: rt(tf).from_value_rowids([1], [0], -1),
    "from_uniform_row_length": lambda tf: rt(tf).from_uniform_row_length([1, 2, 3, 4], 2),
    "from_uniform_row_length 0": lambda tf: rt(tf).from_uniform_row_length(
        tf.constant([], tf.int32), 0, nrows=3
    ),
    "from_uniform_row_length of ragged": lambda tf: rt(tf).from_uniform_row_length(r(tf), 2),
    "from_uniform_row_length wrong": lambda tf: rt(tf).from_uniform_row_length([1, 2, 3], 2),
    "from_uniform_row_length negative": lambda tf: rt(tf).from_uniform_row_length([1, 2], -1),
    "from_nested_row_splits": lambda tf: rt(tf).from_nested_row_splits(
        [1, 2, 3], [[0, 2, 2], [0, 1, 3]]
    ),
    "from_nested_row_splits none": lambda tf: rt(tf).from_nested_row_splits([1, 2], []),
    "from_nested_row_splits tensor": lambda tf: rt(tf).from_nested_row_splits(
        [1, 2], tf.constant([0, 2])
    ),
    "from_nested_row_lengths": lambda tf: rt(tf).from_nested_row_lengths(
        [1, 2, 3], [[2, 0], [1, 2]]
    ),
    "from_nested_value_rowids": lambda tf: rt(tf).from_nested_value_rowids(
        [1, 2, 3], [[0, 0], [0, 1, 1]], [3, 2]
    ),
    "from_nested_value_rowids counts": lambda tf: rt(tf).from_nested_value_rowids(
        [1], [[0]], [1, 2]
    ),
    # made of tensors
    "from_tensor": lambda tf: rt(tf).from_tensor([[1, 2], [3, 4]]),
    "from_tensor rank 2": lambda tf: rt(tf).from_tensor(
        np.arange(12).reshape(2, 3, 2), ragged_rank=2
    ),
    "from_tensor lengths": lambda tf: rt(tf).from_tensor([[1, 2, 3], [4, 5, 6]], lengths=[1, 3]),
    "from_tensor lengths too large": lambda tf: rt(tf).from_tensor([[1, 2]], lengths=[5]),
    "from_tensor lengths count": lambda tf: rt(tf).from_tensor([[1, 2]], lengths=[1, 1]),
    "from_tensor padding": lambda tf: rt(tf).from_tensor([[1, 0, 3, 0], [0, 0, 0, 0]], padding=0),
    "from_tensor padding vector": lambda tf: rt(tf).from_tensor(
        [[[1, 0], [0, 0]], [[0, 0], [0, 0]]], padding=[0, 0]
    ),
    "from_tensor padding rank 2": lambda tf: rt(tf).from_tensor(
        [[[1, 0], [0, 0]], [[2, 3], [0, 4]]], padding=0, ragged_rank=2
    ),
    "from_tensor padding string": lambda tf: rt(tf).from_tensor(
        [["a", ""], ["", "b"]], padding=""
    ),
    "from_tensor padding shape": lambda tf: rt(tf).from_tensor([[1, 0]], padding=[0, 0]),
    "from_tensor both": lambda tf: rt(tf).from_tensor([[1]], lengths=[1], padding=0),
    "from_tensor ragged_rank": lambda tf: rt(tf).from_tensor([[1]], ragged_rank=2),
    "from_tensor ragged_rank 0": lambda tf: rt(tf).from_tensor([[1]], ragged_rank=0),
    "from_tensor nested lengths": lambda tf: rt(tf).from_tensor(
        np.arange(8).reshape(2, 2, 2), lengths=([2, 1], [1, 2, 0])
    ),
    "from_sparse": lambda tf: rt(tf).from_sparse(tf.sparse.from_dense([[1, 2], [0, 0], [3, 0]])),
    "from_sparse gap": lambda tf: rt(tf).from_sparse(tf.sparse.from_dense([[0, 2], [0, 0]])),
    "from_sparse tensor": lambda tf: rt(tf).from_sparse(tf.constant([[1]])),
    # parts
    "values": lambda tf: [r(tf).values, d(tf).values, d(tf).flat_values],
    "row_splits": lambda tf: [r(tf).row_splits, *d(tf).nested_row_splits],
    "row_lengths": lambda tf: [r(tf).row_lengths(), d(tf).row_lengths(), d(tf).row_lengths(2)],
    "row_lengths of inner": lambda tf: p(tf).row_lengths(2),
    "row_lengths axis 0": lambda tf: d(tf).row_lengths(0),
    "row_lengths axis": lambda tf: r(tf).row_lengths(2),
    "nested_row_lengths": lambda tf: list(d(tf).nested_row_lengths()),
    "row_starts": lambda tf: [r(tf).row_starts(), r(tf).row_limits()],
    "value_rowids": lambda tf: [r(tf).value_rowids(), *d(tf).nested_value_rowids()],
    "nrows": lambda tf: [r(tf).nrows(), r(tf).nrows(out_type=tf.int32)],
    "bounding_shape": lambda tf: [x.bounding_shape() for x in (r(tf), d(tf), p(tf))],
    "bounding_shape axis": lambda tf: d(tf).bounding_shape(axis=2, out_type=tf.int32),
    "ragged_rank": lambda tf: [x.ragged_rank for x in (r(tf), d(tf), p(tf))],
    "shape": lambda tf: [x.shape for x in (r(tf), d(tf), p(tf))],
    "uniform_row_length": lambda tf: [
        r(tf).uniform_row_length, rt(tf).from_tensor([[1, 2]]).uniform_row_length
    ],
    "with_values": lambda tf: r(tf).with_values(tf.range(6.0)),
    "with_values count": lambda tf: r(tf).with_values([1, 2]),
    "with_values scalar": lambda tf: r(tf).with_values(1),
    "with_flat_values": lambda tf: d(tf).with_flat_values(tf.range(7.0)),
    "with_row_splits_dtype": lambda tf: d(tf).with_row_splits_dtype(tf.int32),
    "merge_dims 0 1": lambda tf: d(tf).merge_dims(0, 1),
    "merge_dims 1 2": lambda tf: d(tf).merge_dims(1, 2),
    "merge_dims 0 2": lambda tf: d(tf).merge_dims(0, -1),
    "merge_dims inner": lambda tf: p(tf).merge_dims(1, 2),
    "merge_dims wrong": lambda tf: d(tf).merge_dims(2, 1),
    "merge_dims beyond": lambda tf: d(tf).merge_dims(0, 3),
    # converted
    "to_tensor": lambda tf: [x.to_tensor() for x in (r(tf), d(tf), p(tf), s(tf))],
    "to_tensor default": lambda tf: r(tf).to_tensor(-1),
    "to_tensor default entry": lambda tf: p(tf).to_tensor([9.0, 8.0]),
    "to_tensor default dtype": lambda tf: r(tf).to_tensor(1.5),
    "to_tensor default shape": lambda tf: r(tf).to_tensor([1, 2]),
    "to_tensor shape": lambda tf: r(tf).to_tensor(shape=[None, 2]),
    "to_tensor larger": lambda tf: r(tf).to_tensor(-1, shape=[6, 5]),
    "to_tensor smaller": lambda tf: r(tf).to_tensor(shape=[2, 1]),
    "to_tensor deep shape": lambda tf: d(tf).to_tensor(shape=[None, 1, 4]),
    "to_tensor shape rank": lambda tf: r(tf).to_tensor(shape=[2]),
    "to_tensor no rows": lambda tf: r(tf)[:0].to_tensor(),
    "to_tensor empty rows": lambda tf: tf.ragged.constant([[], []], tf.int32).to_tensor(),
    "to_sparse": lambda tf: [x.to_sparse() for x in (r(tf), d(tf), p(tf))],
    "to_list": lambda tf: [r(tf).to_list(), d(tf).to_list(), s(tf).to_list()],
    "numpy": lambda tf: [r(tf).numpy(), rt(tf).from_tensor([[1, 2], [3, 4]]).numpy()],
    "iteration": lambda tf: [list(r(tf)), list(d(tf))],
    # indexed
    **{
        f"index {name}": (lambda tf, key=key: r(tf)[key])
        for name, key in {
            "0": 0, "-1": -1, "9": 9, "-9": -9, "slice": slice(1, 3), "step": slice(None, None, 2),
            "backwards": slice(None, None, -1), "empty": slice(3, 1), "pair": (3, 1),
            "row and slice": (3, slice(1, None)), "columns": (slice(None), slice(None, 2)),
            "last columns": (slice(None), slice(-1, None)),
            "column steps": (slice(None), slice(None, None, -1)),
            "column": (slice(None), 0), "dots": (Ellipsis, slice(1)), "dots first": (Ellipsis, 0),
            "newaxis": (None, slice(None)), "newaxis 1": (slice(None), None),
            "newaxis 2": (Ellipsis, None),
            "both": (slice(1, None), slice(1, None)), "too many": (0, 0, 0), "text": "a",
            "step 0": slice(None, None, 0), "float": 1.5,
        }.items()
    },
    **{
        f"index deep {name}": (lambda tf, key=key: d(tf)[key])
        for name, key in {
            "0": 0, "0 1": (0, 1), "2 2 0": (2, 2, 0), "rows": (slice(None), slice(1)),
            "inner": (slice(None), slice(None), slice(1)), "0 inner": (0, slice(None), slice(1)),
            "dots": (Ellipsis, slice(1, None)), "newaxis": (slice(None), None, slice(1)),
        }.items()
    },
    **{
        f"index pairs {name}": (lambda tf, key=key: p(tf)[key])
        for name, key in {
            "inner": (slice(None), slice(None), 0), "0": 0, "0 0": (0, 0), "0 0 1": (0, 0, 1),
            "dots": (Ellipsis, 1), "rows": (slice(None), slice(1), slice(1)),
        }.items()
    },
    "index tensor": lambda tf: r(tf)[tf.constant(3)],
    "index uniform": lambda tf: rt(tf).from_tensor([[1, 2], [3, 4]])[:, 1],
    "index uniform deep": lambda tf: rt(tf).from_uniform_row_length(r(tf), 2)[:, 0],
    # element by element
    **{
        f"unary {name}": (lambda tf, name=name: getattr(tf.math, name)(f(tf)))
        for name in (
            "abs", "negative", "exp", "sin", "tanh", "square", "sign", "floor", "ceil", "round",
            "sigmoid", "softplus", "is_nan", "is_finite", "rint", "erf", "reciprocal", "cosh",
            "log1p", "expm1", "lgamma", "atan", "softsign",
        )
    },
    **{
        f"binary {name}": (lambda tf, name=name: getattr(tf.math, name)(f(tf), f(tf) + 1))
        for name in (
            "add", "subtract", "multiply", "divide", "maximum", "minimum", "pow", "equal",
            "not_equal", "less", "less_equal", "greater", "greater_equal", "squared_difference",
            "floordiv", "floormod", "atan2", "divide_no_nan", "truediv", "mod",
        )
    },
    "relu": lambda tf: tf.nn.relu(f(tf)),
    "gelu": lambda tf: tf.nn.gelu(f(tf)),
    "leaky_relu": lambda tf: tf.nn.leaky_relu(f(tf)),
    "elu": lambda tf: tf.nn.elu(f(tf)),
    "identity": lambda tf: tf.identity(f(tf)),
    "stop_gradient": lambda tf: tf.stop_gradient(f(tf)),
    "cast": lambda tf: tf.cast(r(tf), tf.float32),
    "cast same": lambda tf: tf.cast(r(tf), tf.int32),
    "clip": lambda tf: tf.clip_by_value(f(tf), -1.0, 4.0),
    "operators": lambda tf: [
        r(tf) + 1, 1 + r(tf), r(tf) - r(tf), 10 - r(tf), 2 * r(tf), r(tf) / 2, 6 / f(tf),
        r(tf) // 2, 7 // r(tf), r(tf) % 2, 7 % r(tf), f(tf) ** 2, 2.0 ** f(tf), -r(tf),
        abs(f(tf)), r(tf) < 3, r(tf) <= 3, r(tf) > 3, r(tf) >= 3,
    ],
    "==": lambda tf: [r(tf) == r(tf), r(tf) != 3, r(tf) == 3],
    "logical": lambda tf: [
        (r(tf) > 2) & (r(tf) < 5), (r(tf) > 2) | (r(tf) < 2), (r(tf) > 2) ^ (r(tf) > 1),
        ~(r(tf) > 2),
    ],
    "tensor + ragged": lambda tf: tf.constant(1.0) + f(tf),
    "array + ragged": lambda tf: np.float32(1.0) + f(tf),
    "rows + ragged": lambda tf: f(tf) + tf.constant([[1.0], [2.0], [3.0], [4.0]]),
    "ragged * rows": lambda tf: tf.constant([[1.0], [2.0], [3.0], [4.0]]) * f(tf),
    "pairs + vector": lambda tf: p(tf) + tf.constant([10.0, 20.0]),
    "pairs + rows": lambda tf: p(tf) + tf.constant([[[1.0]], [[2.0]], [[3.0]]]),
    "pairs * columns": lambda tf: p(tf) * tf.constant([[[1.0, 2.0]], [[3.0, 4.0]], [[5.0, 6.0]]]),
    "deep + rows": lambda tf: d(tf) + tf.constant([[[1]], [[2]], [[3]]]),
    "uniform + tensor": lambda tf: rt(tf).from_tensor([[1, 2]]) + tf.constant([[3, 4]]),
    "too many axes": lambda tf: r(tf) + tf.zeros([1, 4, 2, 2], tf.int32),
    "wrong rows": lambda tf: r(tf) + tf.ragged.constant([[1], [2], [3], [4, 5]]),
    "wrong size": lambda tf: f(tf) + tf.constant([[1.0], [2.0], [3.0]]),
    "strings +": lambda tf: s(tf) + "x",
    "strings ==": lambda tf: s(tf) == "d",
    # reduced
    **{
        f"{name} {which} {axis}": (
            lambda tf, name=name, which=which, axis=axis: getattr(tf, name)(
                {"f": f, "d": d, "p": p}[which](tf), axis
            )
        )
        for name in ("reduce_sum", "reduce_mean", "reduce_max", "reduce_min", "reduce_prod")
        for which, axes in {"f": [None, 0, 1, -1, [0, 1]], "d": [None, 0, 1, 2, [1, 2], [0, 2]],
                            "p": [0, 1, 2, [1, 2]]}.items()
        for axis in axes
    },
    **{
        f"{name} {axis}": (lambda tf, name=name, axis=axis: getattr(tf, name)(r(tf) > 2, axis))
        for name in ("reduce_any", "reduce_all") for axis in (None, 0, 1)
    },
    "reduce_variance": lambda tf: tf.math.reduce_variance(f(tf), 1),
    "reduce_std": lambda tf: tf.math.reduce_std(f(tf), 1),
    "reduce_sum keepdims": lambda tf: [tf.reduce_sum(r(tf), a, keepdims=True) for a in (0, 1)],
    "reduce_sum deep keepdims": lambda tf: [tf.reduce_sum(d(tf), a, keepdims=True) for a in (1, 2)],
    "reduce_sum axis": lambda tf: tf.reduce_sum(r(tf), 2),
    # put together and taken apart
    "concat 0": lambda tf: tf.concat([r(tf), r(tf) * 2], 0),
    "concat 1": lambda tf: tf.concat([r(tf), r(tf) * 2, r(tf)], 1),
    "concat -1": lambda tf: tf.concat([r(tf), r(tf) * 2], -1),
    "concat deep": lambda tf: [tf.concat([d(tf), d(tf)], a) for a in (0, 1, 2)],
    "concat pairs": lambda tf: [tf.concat([p(tf), p(tf)], a) for a in (0, 1, 2)],
    "concat with tensor": lambda tf: tf.concat([r(tf), [[7, 8]]], 0),
    "concat with tensor 1": lambda tf: tf.concat([r(tf), [[7], [8], [9], [10]]], 1),
    "concat ranks": lambda tf: tf.concat([r(tf), d(tf)], 0),
    "concat rows": lambda tf: tf.concat([r(tf), r(tf)[:2]], 1),
    "concat one": lambda tf: tf.concat([r(tf)], 0),
    "concat axis": lambda tf: tf.concat([r(tf), r(tf)], 2),
    "stack": lambda tf: [tf.stack([r(tf), r(tf) * 2], a) for a in (0, 1)],
    "stack deep": lambda tf: [tf.stack([d(tf), d(tf)], a) for a in (0, 1, 2)],
    "stack rows": lambda tf: tf.ragged.stack([tf.constant([1, 2]), tf.constant([3])]),
    "stack matrices": lambda tf: tf.ragged.stack([tf.constant([[1, 2]]), tf.constant([[3], [4]])]),
    "stack scalars": lambda tf: tf.ragged.stack([1, 2]),
    "stack ranks": lambda tf: tf.ragged.stack([[1], [[2]]]),
    "expand_dims": lambda tf: [tf.expand_dims(r(tf), a) for a in (0, 1, 2, -1)],
    "expand_dims deep": lambda tf: [tf.expand_dims(d(tf), a) for a in (0, 1, 2, 3)],
    "expand_dims axis": lambda tf: tf.expand_dims(r(tf), 4),
    "squeeze": lambda tf: [tf.squeeze(tf.expand_dims(r(tf), a), a) for a in (0, 1, 2)],
    "squeeze none": lambda tf: tf.squeeze(r(tf), 1),
    "tile": lambda tf: [tf.tile(r(tf), m) for m in ([2, 1], [1, 3], [2, 2], [0, 1])],
    "tile deep": lambda tf: tf.tile(d(tf), [1, 2, 2]),
    "tile pairs": lambda tf: tf.tile(p(tf), [1, 1, 2]),
    "tile count": lambda tf: tf.tile(r(tf), [2]),
    "reverse": lambda tf: [tf.reverse(r(tf), a) for a in ([0], [1], [0, 1], [-1])],
    "reverse deep": lambda tf: tf.reverse(d(tf), [0, 2]),
    "gather": lambda tf: tf.gather(r(tf), [3, 0, 0]),
    "gather scalar": lambda tf: tf.gather(r(tf), 3),
    "gather matrix": lambda tf: tf.gather(r(tf), [[0, 1], [3, 3]]),
    "gather deep": lambda tf: tf.gather(d(tf), [2, 2]),
    "gather ragged": lambda tf: tf.gather(r(tf), tf.ragged.constant([[0], [1, 3]])),
    "gather from tensor": lambda tf: tf.gather([10, 20, 30, 40, 50, 60, 70], r(tf)),
    "gather from matrix": lambda tf: tf.gather(np.arange(16.0).reshape(8, 2), d(tf)),
    "gather outside": lambda tf: tf.gather(r(tf), [4]),
    "gather negative": lambda tf: tf.gather(r(tf), [-1]),
    "gather batch": lambda tf: tf.gather(
        r(tf), tf.ragged.constant([[1, 0], [], [0], [2]]), batch_dims=1
    ),
    "gather batch tensor": lambda tf: tf.gather(r(tf)[2:], [[0, 0], [2, 1]], batch_dims=1),
    "embedding_lookup": lambda tf: tf.nn.embedding_lookup(np.arange(16.0).reshape(8, 2), r(tf)),
    "where": lambda tf: tf.where(r(tf) > 2, r(tf), -r(tf)),
    "where scalar": lambda tf: tf.where(r(tf) > 2, r(tf), 0),
    "where rows": lambda tf: tf.where([True, False, True, False], r(tf), -r(tf)),
    "where places": lambda tf: tf.where(r(tf) > 2),
    "boolean_mask": lambda tf: tf.ragged.boolean_mask(r(tf), r(tf) > 2),
    "boolean_mask rows": lambda tf: tf.ragged.boolean_mask(r(tf), [True, False, True, True]),
    "boolean_mask dense": lambda tf: tf.ragged.boolean_mask(
        [[1, 2], [3, 4]], [[True, False], [True, True]]
    ),
    "boolean_mask cube": lambda tf: tf.ragged.boolean_mask(
        np.arange(8).reshape(2, 2, 2), np.arange(8).reshape(2, 2, 2) % 3 == 0
    ),
    "boolean_mask deep": lambda tf: tf.ragged.boolean_mask(d(tf), d(tf) > 2),
    "boolean_mask deep rows": lambda tf: tf.ragged.boolean_mask(
        d(tf), tf.ragged.constant([[True, False], [], [False, True, True]])
    ),
    "boolean_mask pairs": lambda tf: tf.ragged.boolean_mask(
        p(tf), tf.ragged.constant([[True, False], [True], []])
    ),
    "boolean_mask integers": lambda tf: tf.ragged.boolean_mask(r(tf), [1, 0, 1, 1]),
    "boolean_mask scalar": lambda tf: tf.ragged.boolean_mask(r(tf), True),
    "boolean_mask rows differ": lambda tf: tf.ragged.boolean_mask(
        r(tf), tf.ragged.constant([[True], [], [True], [True]])
    ),
    "zeros_like": lambda tf: [tf.zeros_like(r(tf)), tf.ones_like(f(tf)), tf.zeros_like(s(tf))],
    "ones_like dtype": lambda tf: tf.ones_like(r(tf), tf.float64),
    "size": lambda tf: [tf.size(r(tf)), tf.size(d(tf)), tf.size(p(tf))],
    "rank": lambda tf: [tf.rank(r(tf)), tf.rank(d(tf)), tf.rank(p(tf))],
    "one_hot": lambda tf: tf.one_hot(r(tf), 7),
    "range": lambda tf: tf.ragged.range([3, 0, 2]),
    "range from": lambda tf: tf.ragged.range([0, 5], [3, 8], 2),
    "range back": lambda tf: tf.ragged.range([3, 8], [0, 2], -1),
    "range floats": lambda tf: tf.ragged.range([0.0, 1.0], [1.0, 2.0], 0.5),
    "range scalar": lambda tf: tf.ragged.range(3),
    "range delta 0": lambda tf: tf.ragged.range([3], [4], 0),
    "range shapes": lambda tf: tf.ragged.range([1, 2], [1, 2, 3]),
    "map_flat_values": lambda tf: tf.ragged.map_flat_values(tf.square, f(tf)),
    "map_flat_values two": lambda tf: tf.ragged.map_flat_values(tf.add, f(tf), f(tf)),
    "map_flat_values keywords": lambda tf: tf.ragged.map_flat_values(tf.one_hot, r(tf), depth=7),
    "map_flat_values none": lambda tf: tf.ragged.map_flat_values(tf.square, 3.0),
    "map_flat_values shape": lambda tf: tf.ragged.map_flat_values(tf.reduce_sum, f(tf)),
    "segment ids": lambda tf: tf.ragged.row_splits_to_segment_ids([0, 1, 1, 3]),
    "row splits": lambda tf: tf.ragged.segment_ids_to_row_splits([0, 2, 2]),
    "row splits count": lambda tf: tf.ragged.segment_ids_to_row_splits([0, 2, 2], 5),
    "bincount": lambda tf: tf.math.bincount(r(tf), axis=-1),
    "bincount lengths": lambda tf: tf.math.bincount(r(tf), axis=-1, minlength=4, maxlength=5),
    "bincount binary": lambda tf: tf.math.bincount(
        tf.ragged.constant([[1, 1], [2]]), axis=-1, binary_output=True, minlength=5
    ),
    "bincount all": lambda tf: tf.math.bincount(r(tf)),
    "bincount negative": lambda tf: tf.math.bincount(tf.ragged.constant([[-1]]), axis=-1),
    "map_fn": lambda tf: tf.map_fn(tf.math.square, r(tf)),
    "map_fn deep": lambda tf: tf.map_fn(tf.math.square, d(tf)),
    "map_fn pairs": lambda tf: tf.map_fn(lambda x: x + 1, p(tf)),
    "map_fn text": lambda tf: tf.map_fn(lambda x: tf.strings.join([x, "!"]), s(tf)),
    "map_fn empty": lambda tf: tf.map_fn(tf.math.square, tf.ragged.constant([[1]])[:0]),
    "map_fn sums": lambda tf: tf.map_fn(tf.reduce_sum, r(tf), fn_output_signature=tf.int32),
    "map_fn dtype": lambda tf: tf.map_fn(tf.reduce_sum, r(tf), tf.int32),
    "map_fn no sums": lambda tf: tf.map_fn(
        tf.reduce_sum, r(tf)[:0], fn_output_signature=tf.TensorSpec([], tf.int32)
    ),
    "map_fn first axis": lambda tf: tf.map_fn(
        lambda x: tf.reduce_sum(x, 1),
        d(tf),
        fn_output_signature=tf.RaggedTensorSpec([None], tf.int32),
    ),
    "map_fn ranges": lambda tf: tf.map_fn(
        tf.range, tf.constant([2, 0, 3]), fn_output_signature=tf.RaggedTensorSpec([None], tf.int32)
    ),
    "map_fn int32 splits": lambda tf: tf.map_fn(
        tf.range,
        tf.constant([2, 0, 3]),
        fn_output_signature=tf.RaggedTensorSpec([None], tf.int32, row_splits_dtype=tf.int32),
    ),
    "map_fn several axes": lambda tf: tf.map_fn(
        lambda n: tf.ones([n, 2]),
        tf.constant([2, 0]),
        fn_output_signature=tf.RaggedTensorSpec([None, 2], tf.float32, ragged_rank=0),
    ),
    "map_fn no ranges": lambda tf: tf.map_fn(
        tf.range,
        tf.constant([], tf.int32),
        fn_output_signature=tf.RaggedTensorSpec([None], tf.int32),
    ),
    "map_fn structure": lambda tf: tf.map_fn(
        lambda x: {"twice": x[0] * 2, "sum": tf.reduce_sum(x[0]) + x[1]},
        (r(tf), tf.range(len(ROWS))),
        fn_output_signature={
            "twice": tf.RaggedTensorSpec([None], tf.int32), "sum": tf.TensorSpec([], tf.int32)
        },
    ),
    "map_fn lengths": lambda tf: tf.map_fn(
        lambda x: x[0],
        (r(tf), tf.range(9)),
        fn_output_signature=tf.RaggedTensorSpec([None], tf.int32),
    ),
    "map_fn unequal": lambda tf: tf.map_fn(lambda x: x, r(tf), fn_output_signature=tf.int32),
    "matmul": lambda tf: tf.matmul(f(tf), [[1.0]]),
    "nest": lambda tf: tf.nest.flatten([r(tf), 1], expand_composites=True),
    "nest packed": lambda tf: tf.nest.pack_sequence_as(
        r(tf), [tf.range(6.0), tf.constant([0, 6, 6, 6, 6], tf.int64)], expand_composites=True
    ),
}
# fmt: on


@pytest.mark.parametrize("name", CALLS)
def test_calls(name):
    check(CALLS[name])


def test_the_check_finds_a_difference():
    with pytest.raises(AssertionError):
        check(lambda tf: tf.ragged.constant([[1]] if tf.__name__ == "gradtape" else [[2]]))
    with pytest.raises(AssertionError):
        check(lambda tf: tf.RaggedTensor.from_row_splits([1], [0, 1 + (tf.__name__ != "gradtape")]))


def gradients(tf, make):
    v = tf.Variable([1.0, 2.0, -3.0, 4.0, 5.5, 6.0])
    with tf.GradientTape() as tape:
        y = make(tf, tf.RaggedTensor.from_row_lengths(v, [2, 0, 1, 3]))
    g = tape.gradient(y, v)
    return tf.convert_to_tensor(g)


DIFFERENTIATED = {
    "square": lambda tf, x: x * x,
    "sum of rows": lambda tf, x: tf.reduce_sum(x, 1) ** 2,
    "sum of columns": lambda tf, x: tf.reduce_sum(x, 0) ** 2,
    "mean": lambda tf, x: tf.reduce_sum(tf.reduce_mean(x, 1)[2:] ** 2),
    "max": lambda tf, x: tf.reduce_max(x, 1)[2:] ** 2,
    "prod": lambda tf, x: tf.reduce_prod(x, 1) ** 2,
    "to_tensor": lambda tf, x: x.to_tensor(2.0) ** 3,
    "to_tensor shape": lambda tf, x: x.to_tensor(shape=[None, 2]) ** 3,
    "row": lambda tf, x: x[3] ** 3,
    "columns": lambda tf, x: x[:, 1:] ** 3,
    "concat": lambda tf, x: tf.concat([x, x * x], 1) ** 2,
    "stack": lambda tf, x: tf.stack([x, x * x], 0) ** 2,
    "gather": lambda tf, x: tf.gather(x, [3, 3, 0]) ** 2,
    "mask": lambda tf, x: tf.ragged.boolean_mask(x, x > 1) ** 2,
    "broadcast": lambda tf, x: x * tf.constant([[1.0], [2.0], [3.0], [4.0]]),
    "where": lambda tf, x: tf.where(x > 1, x * x, x),
    "map": lambda tf, x: tf.ragged.map_flat_values(tf.exp, x / 4),
    "reverse": lambda tf, x: tf.reverse(x, [1])[:, :1] ** 2,
    "tile": lambda tf, x: tf.tile(x, [1, 2]) ** 2,
    "map_fn": lambda tf, x: (
        tf.map_fn(  # in a function, TensorFlow needs the signature
            lambda row: row * tf.reduce_sum(row),
            x,
            fn_output_signature=tf.RaggedTensorSpec([None], tf.float32),
        )
        ** 2
    ),
    "map_fn of rows": lambda tf, x: tf.map_fn(
        lambda row: tf.reduce_sum(row) ** 2, x, fn_output_signature=tf.float32
    ),
    "merged": lambda tf, x: tf.expand_dims(x, 0).merge_dims(0, 1) ** 2,
}


@pytest.mark.parametrize("name", DIFFERENTIATED)
def test_gradients(name):
    check(lambda tf: gradients(tf, DIFFERENTIATED[name]))


@pytest.mark.parametrize("name", DIFFERENTIATED)
def test_gradients_of_a_watched_ragged_tensor(name):
    def call(tf):
        x = f(tf)
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = DIFFERENTIATED[name](tf, x)
            y = tf.reduce_sum(y)
        return tape.gradient(y, x)

    check(call)


@pytest.mark.parametrize("name", DIFFERENTIATED)
def test_functions(name):
    """Compiled where the shapes are known, else op by op."""

    def call(tf):
        return tf.function(lambda x: DIFFERENTIATED[name](tf, x))(f(tf))

    check(call)


@pytest.mark.parametrize("seed", range(12))
def test_random_rows(seed):
    draw = np.random.default_rng(seed)
    lengths = draw.integers(0, 4, draw.integers(1, 6))
    flat = draw.standard_normal(lengths.sum()).astype(np.float32)
    outer = np.sort(draw.integers(0, len(lengths) + 1, 2))
    splits = [0, *outer.tolist(), len(lengths)]

    def call(tf):
        x = tf.RaggedTensor.from_row_lengths(flat, lengths)
        deep = tf.RaggedTensor.from_row_splits(x, splits)
        return [
            x, deep, x.to_tensor(), deep.to_tensor(), x.to_sparse(), deep.to_sparse(),
            *(tf.reduce_sum(deep, axis) for axis in (None, 0, 1, 2)),
            tf.concat([x, x], 1), tf.concat([deep, deep], 2), deep[:, :1], deep[..., :1],
            tf.reverse(deep, [1]), tf.ragged.boolean_mask(deep, deep > 0), deep.merge_dims(0, 1),
            deep * deep, tf.expand_dims(deep, 1), tf.where(deep > 0), deep.bounding_shape(),
        ]  # fmt: skip

    check(call)
