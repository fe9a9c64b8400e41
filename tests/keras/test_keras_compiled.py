"""Keras's functions give the same values and gradients eagerly and inside a compiled function: a
table of calls, a program a family.
"""

import numpy as np
import pytest
from keras.src import tree

import gradtape as tf
from keras import ops

RNG = np.random.default_rng(0)


def some(*shape, low=-2.0, high=2.0):
    return RNG.uniform(low, high, shape).astype(np.float32)


X, Y = some(3, 4), some(3, 4)
POSITIVE, INSIDE = some(3, 4, low=0.5), some(3, 4, low=-0.9, high=0.9)
SQUARE = (some(3, 3) + 4 * np.eye(3)).astype(np.float32)
SYMMETRIC = (SQUARE @ SQUARE.T).astype(np.float32)
IMAGES, KERNEL = some(2, 6, 6, 3), some(3, 3, 3, 4)
SERIES = some(2, 16)
PLACES = np.array([[0, 2, 1, 0], [1, 1, 0, 3], [2, 0, 3, 1]], np.int32)
QUERIES = [some(2, 3, 2, 4) for _ in range(3)]
SHARES = np.array([[0.2, 0.5, 0.3], [0.6, 0.1, 0.3]], np.float32)

TABLE = {
    "arithmetic": [
        *[
            (name, X, Y)
            for name in (
                "add",
                "subtract",
                "multiply",
                "maximum",
                "minimum",
                "arctan2",
                "hypot",
                "logaddexp",
            )
        ],
        *[
            (name, X, POSITIVE)
            for name in ("divide", "true_divide", "floor_divide", "mod", "divide_no_nan")
        ],
        ("power", POSITIVE, Y),
        *[
            (name, X, Y)
            for name in ("equal", "not_equal", "less", "greater_equal", "logical_and", "isclose")
        ],
        ("where", X > 0, X, Y),
        ("clip", X, -1.0, 1.0),
        ("nan_to_num", X),
    ],
    "elementary": [
        *[
            (name, X)
            for name in (
                "absolute",
                "negative",
                "square",
                "exp",
                "exp2",
                "expm1",
                "sin",
                "cos",
                "tan",
                "arctan",
                "sinh",
            )
        ],
        *[
            (name, X)
            for name in (
                "cosh",
                "tanh",
                "arcsinh",
                "sinc",
                "cbrt",
                "sign",
                "floor",
                "ceil",
                "trunc",
                "round",
                "deg2rad",
            )
        ],
        *[(name, POSITIVE) for name in ("sqrt", "reciprocal", "log", "log2", "log10", "log1p")],
        *[(name, INSIDE) for name in ("arcsin", "arccos", "arctanh", "i0")],
        ("arccosh", POSITIVE + 1),
        *[(name, X) for name in ("isfinite", "isnan", "isinf", "signbit", "logical_not")],
    ],
    "reductions": [
        *[
            (name, X, 1)
            for name in (
                "sum",
                "mean",
                "max",
                "min",
                "prod",
                "std",
                "var",
                "median",
                "all",
                "any",
                "argmax",
                "ptp",
            )
        ],
        *[
            (name, X, 0)
            for name in (
                "cumsum",
                "cumprod",
                "amax",
                "amin",
                "argmin",
                "count_nonzero",
                "nansum",
                "nanmean",
            )
        ],
        ("average", X, 1, POSITIVE),
        ("quantile", X, 0.3, 1),
        ("percentile", X, 30.0, 1),
        ("logsumexp", X, 1),
        ("norm", X),
        ("trapezoid", X),
        ("corrcoef", X),
    ],
    "shapes": [
        ("reshape", X, (2, 6)),
        ("transpose", X),
        ("moveaxis", IMAGES, 1, -1),
        ("swapaxes", IMAGES, 1, 2),
        ("expand_dims", X, 1),
        ("squeeze", X[None]),
        ("ravel", X),
        ("broadcast_to", X, (2, 3, 4)),
        ("repeat", X, 2, 1),
        ("tile", X, (2, 1)),
        ("pad", X, ((1, 0), (0, 2))),
        ("roll", X, 1, 1),
        ("flip", X, 1),
        ("rot90", X),
        ("concatenate", [X, Y], 1),
        ("stack", [X, Y]),
        ("split", X, 2, 1),
        ("append", X, Y, 0),
        ("diag", X),
        ("diagonal", X),
        ("tril", X),
        ("triu", X),
        ("take", X, PLACES[0], 1),
        ("take_along_axis", X, PLACES, 1),
        ("sort", X),
        ("argsort", X),
        ("diff", X),
        ("meshgrid", X[0], Y[0]),
        ("slice", X, (1, 1), (2, 2)),
        ("slice_update", X, (1, 1), Y[:2, :2]),
        ("scatter_update", X, np.array([[0], [2]]), Y[:2]),
        ("unstack", X),
    ],
    "products": [
        ("matmul", X, Y.T.copy()),
        ("dot", X, Y.T.copy()),
        ("inner", X, Y),
        ("outer", X[0], Y[0]),
        ("kron", SQUARE, SQUARE),
        ("vdot", X, Y),
        ("tensordot", X, Y, [[0], [0]]),
        ("einsum", "ij,kj->ik", X, Y),
        ("cross", X[:, :3], Y[:, :3]),
        ("trace", SQUARE),
        ("correlate", X[0], Y[0]),
        ("cdist", X, Y),
    ],
    "linear algebra": [
        ("cholesky", SYMMETRIC),
        ("det", SQUARE),
        ("inv", SQUARE),
        ("solve", SQUARE, X),
        ("solve_triangular", np.tril(SQUARE), X),
        ("logdet", SYMMETRIC),
        ("slogdet", SQUARE),
        ("eigh", SYMMETRIC),
        ("qr", SQUARE),
        ("pinv", X),
        ("matrix_rank", X),
        ("lu_factor", SQUARE),
    ],
    "math": [
        ("segment_sum", X, np.array([0, 0, 2]), 3),
        ("segment_max", X, np.array([0, 1, 1]), 2),
        ("top_k", X, 2),
        ("in_top_k", np.array([1, 2, 0]), X, 2),
        ("bincount", np.array([1, 1, 3]), np.array([0.5, 1.0, 2.0], np.float32), 5),
        ("bincount", PLACES, None, 4),
        ("extract_sequences", SERIES, 4, 2),
        ("rfft", SERIES),
        ("fft", (X, Y)),
        ("stft", SERIES, 8, 4, 8),
        ("rsqrt", POSITIVE),
        ("erf", X),
        ("erfc", X),
        ("erfinv", INSIDE),
    ],
    "activations": [
        *[
            (name, X)
            for name in (
                "relu",
                "relu6",
                "sigmoid",
                "tanh",
                "softplus",
                "softsign",
                "silu",
                "log_sigmoid",
                "elu",
                "selu",
            )
        ],
        *[
            (name, X)
            for name in (
                "gelu",
                "celu",
                "glu",
                "hard_sigmoid",
                "hard_silu",
                "hard_tanh",
                "leaky_relu",
                "squareplus",
            )
        ],
        *[
            (name, X)
            for name in (
                "sparse_plus",
                "sparse_sigmoid",
                "soft_shrink",
                "hard_shrink",
                "tanh_shrink",
                "sparsemax",
            )
        ],
        *[(name, X) for name in ("softmax", "log_softmax")],
        ("threshold", X, 0.5, 0.1),
    ],
    "networks": [
        ("conv", IMAGES, KERNEL),
        ("conv", IMAGES, KERNEL, 2, "same"),
        ("depthwise_conv", IMAGES, KERNEL[..., :2]),
        ("conv_transpose", IMAGES, some(3, 3, 4, 3), 2),
        ("max_pool", IMAGES, 2),
        ("average_pool", IMAGES, 2),
        ("moments", IMAGES, [0, 1]),
        ("batch_normalization", X, X.mean(0), X.var(0), -1),
        ("one_hot", PLACES, 4),
        ("categorical_crossentropy", SHARES, SHARES[::-1].copy()),
        ("sparse_categorical_crossentropy", np.array([0, 2]), SHARES),
        ("binary_crossentropy", SHARES, SHARES[::-1].copy()),
        ("dot_product_attention", *QUERIES),
        ("ctc_loss", np.array([[1, 2], [2, 1]]), some(2, 5, 3), np.array([2, 1]), np.array([5, 4])),
        ("unfold", IMAGES, 2),
        ("depth_to_space", some(1, 2, 2, 8), 2),
        ("layer_normalization", X),
    ],
    "images": [
        ("image.resize", IMAGES, (4, 4)),
        ("image.resize", IMAGES, (9, 9), "bicubic"),
        ("image.rgb_to_grayscale", IMAGES),
        (
            "image.affine_transform",
            IMAGES,
            np.array([[1.0, 0.1, 0.2, 0.0, 0.9, 0.1, 0.0, 0.0]] * 2, np.float32),
        ),
        ("image.map_coordinates", X, some(2, 5, low=0.3, high=1.7), 1),
        ("image.gaussian_blur", IMAGES),
        ("image.extract_patches", IMAGES, 2),
    ],
}


def function(name):
    found = ops
    for part in name.split("."):
        found = getattr(found, part)
    return found


def outcome(name, args):
    """The results of a call, and the gradients of a sum over them by every floating-point
    argument.
    """
    sources = [
        leaf
        for leaf in tree.flatten(args)
        if isinstance(leaf, tf.Tensor) and leaf.dtype.is_floating
    ]
    with tf.GradientTape() as tape:
        tape.watch(sources)
        results = [
            leaf for leaf in tree.flatten(function(name)(*args)) if isinstance(leaf, tf.Tensor)
        ]
        smooth = [tf.reduce_sum(tf.sin(result)) for result in results if result.dtype.is_floating]
        total = tf.add_n(smooth) if smooth else tf.constant(0.0)
    gradients = tape.gradient(total, sources, unconnected_gradients=tf.UnconnectedGradients.ZERO)
    return results, [tf.convert_to_tensor(gradient) for gradient in gradients]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("family", TABLE)
def test_compiled_calls_are_as_eager_ones(family):
    names = [name for name, *_ in TABLE[family]]
    calls = tree.map_structure(
        lambda leaf: tf.constant(leaf) if isinstance(leaf, np.ndarray) else leaf,
        [row[1:] for row in TABLE[family]],
    )
    leaves = tree.flatten(calls)
    is_tensor = [isinstance(leaf, tf.Tensor) for leaf in leaves]

    def program(*tensors):
        given = iter(tensors)
        filled = [
            next(given) if known else leaf for leaf, known in zip(leaves, is_tensor, strict=True)
        ]
        return [
            outcome(name, args)
            for name, args in zip(names, tree.pack_sequence_as(calls, filled), strict=True)
        ]

    tensors = [leaf for leaf in leaves if isinstance(leaf, tf.Tensor)]
    found = tf.function(program, autograph=False)(*tensors)
    for name, eager, compiled in zip(names, program(*tensors), found, strict=True):
        assert eager[0], name
        for a, b in zip(tree.flatten(eager), tree.flatten(compiled), strict=True):
            assert (a.dtype, a.shape) == (b.dtype, b.shape), name
            np.testing.assert_allclose(b.numpy(), a.numpy(), rtol=2e-4, atol=2e-5, err_msg=name)
