"""The differentiable ops that gradtape and TensorFlow both have, with arguments of a middling size:
the table of `benchmarks.op_sweep`.

A row is a call in the spelling that both libraries share. What it differentiates by are its float
arrays. Ops that take TensorFlow long, such as decompositions, have smaller arrays.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

SIZE = 2**18
"""The elements of an array that an elementwise op is given."""

Arrays = tuple[np.ndarray[Any, Any], ...]


@dataclass(frozen=True)
class Row:
    """`call(tf, *tensors)` gives a tensor, or several; `make` the arrays for it.

    `compares` is False for draws, which are other ones in each library.
    """

    name: str
    call: Callable[..., Any]
    make: Callable[[np.random.Generator], Arrays]
    compares: bool = True


def reals(
    *shape: int, low: float = -2.0, high: float = 2.0
) -> Callable[[np.random.Generator], np.ndarray[Any, Any]]:
    return lambda random: random.uniform(low, high, shape or (SIZE,)).astype(np.float32)


def positive(*shape: int) -> Callable[[np.random.Generator], np.ndarray[Any, Any]]:
    return reals(*shape, low=0.1, high=3.0)


def complexes(*shape: int) -> Callable[[np.random.Generator], np.ndarray[Any, Any]]:
    def make(random: np.random.Generator) -> np.ndarray[Any, Any]:
        both = random.standard_normal((*shape, 2)).astype(np.float32)
        return both.view(np.complex64)[..., 0]

    return make


def integers(high: int, *shape: int) -> Callable[[np.random.Generator], np.ndarray[Any, Any]]:
    return lambda random: random.integers(0, high, shape).astype(np.int32)


def ascending(high: int, count: int) -> Callable[[np.random.Generator], np.ndarray[Any, Any]]:
    return lambda random: np.sort(random.integers(0, high, count)).astype(np.int32)


def spd(batch: int, size: int) -> Callable[[np.random.Generator], np.ndarray[Any, Any]]:
    """Positive definite matrices."""

    def make(random: np.random.Generator) -> np.ndarray[Any, Any]:
        a = random.standard_normal((batch, size, size)).astype(np.float32)
        return a @ a.transpose(0, 2, 1) / size + np.eye(size, dtype=np.float32)

    return make


def row(name: str, call: Callable[..., Any], *arguments: Any, compares: bool = True) -> Row:
    """`arguments` make an array each."""
    return Row(name, call, lambda random: tuple(make(random) for make in arguments), compares)


def function(path: str) -> Callable[..., Any]:
    """The public function of this name, called with the arrays alone."""

    def call(tf: Any, *tensors: Any) -> Any:
        found = tf
        for part in path.split("."):
            found = getattr(found, part)
        return found(*tensors)

    return call


def plain(path: str, *arguments: Any) -> Row:
    return row(path.rpartition(".")[2], function(path), *arguments)


IMAGES = reals(8, 64, 64, 16)
PICTURES = reals(8, 64, 64, 3, low=0.0, high=1.0)
MATRIX = reals(512, 512)

_UNARY = [
    "abs", "negative", "square", "sign", "sin", "cos", "tan", "tanh", "sinh", "cosh", "exp",
    "math.expm1", "atan", "asinh", "sigmoid", "math.erf", "math.erfc", "nn.relu", "nn.relu6",
    "nn.elu", "nn.selu", "nn.gelu", "nn.silu", "nn.softplus", "nn.softsign", "nn.leaky_relu",
    "math.log_sigmoid", "math.bessel_i0", "math.bessel_i0e", "math.bessel_i1",
    "math.bessel_i1e", "identity", "nn.l2_loss", "math.special.bessel_j0",
    "math.special.bessel_j1", "math.special.dawsn", "math.special.fresnel_sin",
    "math.special.fresnel_cos",
]  # fmt: skip

_POSITIVE = [
    "sqrt", "math.rsqrt", "math.log", "math.log1p", "math.reciprocal", "math.lgamma",
    "math.digamma", "math.reciprocal_no_nan", "math.special.spence", "math.special.expint",
    "math.special.bessel_y0", "math.special.bessel_y1", "math.special.bessel_k0",
    "math.special.bessel_k0e", "math.special.bessel_k1", "math.special.bessel_k1e",
]  # fmt: skip

_BINARY = [
    "add", "subtract", "multiply", "maximum", "minimum", "math.squared_difference",
    "math.divide_no_nan", "math.multiply_no_nan", "atan2",
]  # fmt: skip

_BINARY_POSITIVE = [
    "pow", "divide", "math.xlogy", "math.xdivy", "math.xlog1py", "math.floormod", "math.igamma",
    "math.igammac",
]  # fmt: skip

_SQUARE_MATRICES = [
    "linalg.cholesky", "linalg.inv", "linalg.det", "linalg.logdet", "linalg.slogdet",
    "linalg.eigh", "linalg.eigvalsh", "linalg.qr", "linalg.svd", "linalg.expm", "linalg.sqrtm",
    "linalg.trace", "linalg.diag_part", "linalg.pinv", "linalg.adjoint",
]  # fmt: skip

_REDUCTIONS = [
    "reduce_sum", "reduce_mean", "reduce_max", "reduce_min", "reduce_logsumexp", "reduce_prod",
    "math.reduce_std", "math.reduce_variance", "math.reduce_euclidean_norm",
]  # fmt: skip

_SEGMENTS = ["segment_sum", "segment_mean", "segment_max", "segment_min", "segment_prod"]

_RESIZE = ["bilinear", "nearest", "bicubic", "area", "lanczos3", "gaussian", "mitchellcubic"]


def _resize(method: str, tf: Any, x: Any) -> Any:
    return tf.image.resize(x, (96, 96), method=method)


def _segment(name: str, tf: Any, x: Any, ids: Any) -> Any:
    return getattr(tf.math, name)(x, ids)


def _unsorted(name: str, tf: Any, x: Any, ids: Any) -> Any:
    return getattr(tf.math, f"unsorted_{name}")(x, ids, 512)


def _along(path: str, tf: Any, x: Any) -> Any:
    found = tf
    for part in path.split("."):
        found = getattr(found, part)
    return found(x, axis=-1)


def _boxes(random: np.random.Generator) -> np.ndarray[Any, Any]:
    low = random.uniform(0.0, 0.4, (32, 2))
    return np.concatenate([low, low + 0.5], 1).astype(np.float32)


ROWS: list[Row] = [
    *(plain(path, reals()) for path in _UNARY),
    *(plain(path, positive()) for path in _POSITIVE),
    *(plain(path, reals(low=-0.95, high=0.95))
        for path in ("asin", "acos", "atanh", "math.erfinv")),
    *(plain(path, reals(low=0.02, high=0.98)) for path in ("math.ndtri", "math.erfcinv")),
    plain("acosh", reals(low=1.1, high=4.0)),
    *(plain(path, reals(), reals()) for path in _BINARY),
    *(plain(path, positive(), positive()) for path in _BINARY_POSITIVE),
    row("polygamma", lambda tf, x: tf.math.polygamma(tf.ones_like(x), x), positive()),
    row("zeta", lambda tf, x: tf.math.zeta(tf.fill(tf.shape(x), 2.5), x), positive()),
    row("betainc", lambda tf, x: tf.math.betainc(
        tf.fill(tf.shape(x), 1.5), tf.fill(tf.shape(x), 2.5), x), reals(low=0.05, high=0.95)),
    row("clip_by_value", lambda tf, x: tf.clip_by_value(x, -1.0, 1.0), reals()),
    row("where", lambda tf, x, y: tf.where(x > y, x, y), reals(), reals()),
    row("cast", lambda tf, x: tf.cast(x, tf.float64), reals()),
    row("add a row", lambda tf, x, y: x + y, MATRIX, reals(512)),
    row("add_n", lambda tf, *x: tf.add_n(x), reals(), reals(), reals()),
    row("complex", lambda tf, x, y: tf.complex(x, y), reals(), reals()),
    row("complex abs", lambda tf, x: tf.abs(x), complexes(SIZE)),
    row("cumsum", lambda tf, x: tf.cumsum(x, axis=-1), MATRIX),
    row("cumprod", lambda tf, x: tf.math.cumprod(x, axis=-1), reals(512, 512, low=0.9, high=1.1)),
    row("cumulative_logsumexp", lambda tf, x: tf.math.cumulative_logsumexp(x, axis=-1), MATRIX),
    *(row(path.rpartition(".")[2], partial(_along, path), positive(512, 512))
        for path in _REDUCTIONS),
    row("reduce_sum of all", lambda tf, x: tf.reduce_sum(x), MATRIX),
    row("reduce_max of columns", lambda tf, x: tf.reduce_max(x, axis=0), MATRIX),
    row("norm", lambda tf, x: tf.norm(x), MATRIX),
    row("l2_normalize", lambda tf, x: tf.nn.l2_normalize(x, axis=-1), MATRIX),
    row("moments", lambda tf, x: tf.nn.moments(x, axes=[0]), MATRIX),
    row("batch_normalization", lambda tf, x, m, v: tf.nn.batch_normalization(
        x, m, v, None, None, 1e-3), MATRIX, reals(512), positive(512)),
    row("local_response_normalization",
        lambda tf, x: tf.nn.local_response_normalization(x), IMAGES),
    row("softmax", lambda tf, x: tf.nn.softmax(x), MATRIX),
    row("log_softmax", lambda tf, x: tf.nn.log_softmax(x), MATRIX),
    row("softmax_cross_entropy", lambda tf, x, y: tf.nn.softmax_cross_entropy_with_logits(
        tf.nn.softmax(y), x), MATRIX, MATRIX),
    row("sparse_softmax_cross_entropy", lambda tf, x, labels:
        tf.nn.sparse_softmax_cross_entropy_with_logits(labels, x), MATRIX, integers(512, 512)),
    row("sigmoid_cross_entropy", lambda tf, x, y: tf.nn.sigmoid_cross_entropy_with_logits(
        labels=x, logits=y), MATRIX, MATRIX),
    row("log_poisson_loss", lambda tf, x, y: tf.nn.log_poisson_loss(x, y), MATRIX, MATRIX),
    row("bias_add", lambda tf, x, b: tf.nn.bias_add(x, b), IMAGES, reals(16)),
    row("crelu", lambda tf, x: tf.nn.crelu(x), MATRIX),
    # Moving.
    row("reshape", lambda tf, x: tf.reshape(x, (256, 1024)), MATRIX),
    row("transpose", lambda tf, x: tf.transpose(x), MATRIX),
    row("transpose of images", lambda tf, x: tf.transpose(x, (0, 3, 1, 2)), IMAGES),
    row("concat", lambda tf, x, y: tf.concat([x, y], 0), MATRIX, MATRIX),
    row("concat of columns", lambda tf, x, y: tf.concat([x, y], 1), MATRIX, MATRIX),
    row("stack", lambda tf, x, y: tf.stack([x, y], 1), MATRIX, MATRIX),
    row("unstack", lambda tf, x: tf.unstack(x, axis=0), reals(16, 16384)),
    row("split", lambda tf, x: tf.split(x, 4, 1), MATRIX),
    row("slice", lambda tf, x: x[100:400, 50:450], MATRIX),
    row("strided slice", lambda tf, x: x[::2, ::2], MATRIX),
    row("tile", lambda tf, x: tf.tile(x, (2, 2)), MATRIX),
    row("repeat", lambda tf, x: tf.repeat(x, 2, axis=0), MATRIX),
    row("broadcast_to", lambda tf, x: tf.broadcast_to(x, (512, 512)), reals(512)),
    row("pad", lambda tf, x: tf.pad(x, ((4, 4), (4, 4))), MATRIX),
    row("pad by reflection", lambda tf, x: tf.pad(x, ((4, 4), (4, 4)), "REFLECT"), MATRIX),
    row("reverse", lambda tf, x: tf.reverse(x, (1,)), MATRIX),
    row("roll", lambda tf, x: tf.roll(x, 100, 1), MATRIX),
    row("gather", lambda tf, x, i: tf.gather(x, i), MATRIX, integers(512, 1024)),
    row("gather of columns", lambda tf, x, i: tf.gather(x, i, axis=1), MATRIX, integers(512, 512)),
    row("gather with a batch", lambda tf, x, i: tf.gather(x, i, batch_dims=1), MATRIX,
        integers(512, 512, 128)),
    row("gather_nd", lambda tf, x, i: tf.gather_nd(x, i), MATRIX, integers(512, 16384, 2)),
    row("scatter_nd", lambda tf, i, x: tf.scatter_nd(i, x, (512, 512)), integers(512, 1024, 1),
        reals(1024, 512)),
    row("tensor_scatter_nd_add", lambda tf, x, i, y: tf.tensor_scatter_nd_add(x, i, y), MATRIX,
        integers(512, 1024, 1), reals(1024, 512)),
    row("tensor_scatter_nd_update", lambda tf, x, i, y: tf.tensor_scatter_nd_update(x, i, y),
        MATRIX, lambda random: random.permutation(512)[:256, None].astype(np.int32),
        reals(256, 512)),
    row("boolean_mask", lambda tf, x, y: tf.boolean_mask(x, y > 0), MATRIX, reals(512)),
    row("dynamic_partition", lambda tf, x, i: tf.dynamic_partition(x, i, 4), MATRIX,
        integers(4, 512)),
    row("sort", lambda tf, x: tf.sort(x), MATRIX),
    row("top_k", lambda tf, x: tf.math.top_k(x, 8)[0], MATRIX),
    row("top_k of a vector", lambda tf, x: tf.math.top_k(x, 100)[0], reals()),
    row("reverse_sequence", lambda tf, x, n: tf.reverse_sequence(x, n, seq_axis=1), MATRIX,
        integers(512, 512)),
    row("space_to_depth", lambda tf, x: tf.nn.space_to_depth(x, 2), IMAGES),
    row("depth_to_space", lambda tf, x: tf.nn.depth_to_space(x, 2), IMAGES),
    row("space_to_batch", lambda tf, x: tf.space_to_batch(x, (2, 2), ((0, 0), (0, 0))), IMAGES),
    # Matrices.
    row("matmul", lambda tf, x, y: x @ y, MATRIX, MATRIX),
    row("matmul of batches", lambda tf, x, y: x @ y, reals(32, 64, 64), reals(32, 64, 64)),
    row("matvec", lambda tf, x, y: tf.linalg.matvec(x, y), MATRIX, reals(512)),
    row("einsum", lambda tf, x, y: tf.einsum("bqhd,bkhd->bhqk", x, y), reals(8, 64, 4, 32),
        reals(8, 64, 4, 32)),
    row("tensordot", lambda tf, x, y: tf.tensordot(x, y, 1), reals(16, 32, 64), reals(64, 128)),
    *(plain(path, spd(16, 32)) for path in _SQUARE_MATRICES),
    row("band_part", lambda tf, x: tf.linalg.band_part(x, 2, 2), MATRIX),
    row("diag", lambda tf, x: tf.linalg.diag(x), reals(512)),
    row("set_diag", lambda tf, x, y: tf.linalg.set_diag(x, y), MATRIX, reals(512)),
    row("cross", lambda tf, x, y: tf.linalg.cross(x, y), reals(65536, 3), reals(65536, 3)),
    row("solve", lambda tf, x, y: tf.linalg.solve(x, y), spd(16, 32), reals(16, 32, 8)),
    row("triangular_solve", lambda tf, x, y: tf.linalg.triangular_solve(
        tf.linalg.band_part(x, -1, 0), y), spd(16, 32), reals(16, 32, 8)),
    row("cholesky_solve", lambda tf, x, y: tf.linalg.cholesky_solve(tf.linalg.cholesky(x), y),
        spd(16, 32), reals(16, 32, 8)),
    row("lstsq", lambda tf, x, y: tf.linalg.lstsq(x, y), reals(16, 48, 16), reals(16, 48, 4)),
    row("tridiagonal_solve", lambda tf, x, y: tf.linalg.tridiagonal_solve(
        (x[0], x[1] + 6.0, x[2]), y, "sequence"), reals(3, 16, 256), reals(16, 256, 4)),
    row("sparse_dense_matmul", lambda tf, i, v, y: tf.sparse.sparse_dense_matmul(
        tf.sparse.SparseTensor(tf.cast(i, tf.int64), v, (512, 512)), y),
        lambda random: np.stack(np.divmod(np.sort(
            random.choice(512 * 512, 8192, replace=False)), 512), 1).astype(np.int32),
        reals(8192), reals(512, 64)),
    # Segments.
    *(row(name, partial(_segment, name), positive(4096, 64), ascending(512, 4096))
        for name in _SEGMENTS),
    *(row(f"unsorted_{name}", partial(_unsorted, name), positive(4096, 64), integers(512, 4096))
        for name in [*_SEGMENTS, "segment_sqrt_n"]),
    row("segment_sum of numbers", lambda tf, x, i: tf.math.segment_sum(x, i), reals(),
        ascending(4096, SIZE)),
    row("unsorted_segment_sum of numbers", lambda tf, x, i: tf.math.unsorted_segment_sum(
        x, i, 4096), reals(), integers(4096, SIZE)),
    row("sparse.segment_sum", lambda tf, x, i, s: tf.sparse.segment_sum(x, i, s), MATRIX,
        integers(512, 2048), ascending(256, 2048)),
    # Windows.
    row("conv1d", lambda tf, x, w: tf.nn.conv1d(x, w, 1, "SAME"), reals(16, 256, 32),
        reals(5, 32, 32)),
    row("conv2d", lambda tf, x, w: tf.nn.conv2d(x, w, 1, "SAME"), IMAGES, reals(3, 3, 16, 32)),
    row("conv2d, strides", lambda tf, x, w: tf.nn.conv2d(x, w, 2, "SAME"), IMAGES,
        reals(3, 3, 16, 32)),
    row("conv2d, dilations", lambda tf, x, w: tf.nn.conv2d(x, w, 1, "SAME", dilations=2), IMAGES,
        reals(3, 3, 16, 32)),
    row("conv3d", lambda tf, x, w: tf.nn.conv3d(x, w, (1, 1, 1, 1, 1), "SAME"),
        reals(2, 16, 16, 16, 8), reals(3, 3, 3, 8, 8)),
    row("conv2d_transpose", lambda tf, x, w: tf.nn.conv2d_transpose(
        x, w, (8, 64, 64, 16), 2, "SAME"), reals(8, 32, 32, 32), reals(3, 3, 16, 32)),
    row("depthwise_conv2d", lambda tf, x, w: tf.nn.depthwise_conv2d(
        x, w, (1, 1, 1, 1), "SAME"), IMAGES, reals(3, 3, 16, 1)),
    row("depthwise_conv2d, strides", lambda tf, x, w: tf.nn.depthwise_conv2d(
        x, w, (1, 2, 2, 1), "SAME"), IMAGES, reals(3, 3, 16, 1)),
    row("separable_conv2d", lambda tf, x, w, v: tf.nn.separable_conv2d(
        x, w, v, (1, 1, 1, 1), "SAME"), IMAGES, reals(3, 3, 16, 1), reals(1, 1, 16, 32)),
    row("max_pool2d", lambda tf, x: tf.nn.max_pool2d(x, 2, 2, "VALID"), IMAGES),
    row("max_pool2d, overlapping", lambda tf, x: tf.nn.max_pool2d(x, 3, 2, "SAME"), IMAGES),
    row("avg_pool2d", lambda tf, x: tf.nn.avg_pool2d(x, 2, 2, "VALID"), IMAGES),
    row("avg_pool2d, overlapping", lambda tf, x: tf.nn.avg_pool2d(x, 3, 2, "SAME"), IMAGES),
    row("max_pool3d", lambda tf, x: tf.nn.max_pool3d(x, 2, 2, "VALID"), reals(4, 16, 32, 32, 4)),
    row("avg_pool3d", lambda tf, x: tf.nn.avg_pool3d(x, 2, 2, "VALID"), reals(4, 16, 32, 32, 4)),
    row("dilation2d", lambda tf, x, w: tf.nn.dilation2d(
        x, w, (1, 1, 1, 1), "SAME", "NHWC", (1, 1, 1, 1)), reals(4, 32, 32, 16), reals(3, 3, 16)),
    row("erosion2d", lambda tf, x, w: tf.nn.erosion2d(
        x, w, (1, 1, 1, 1), "SAME", "NHWC", (1, 1, 1, 1)), reals(4, 32, 32, 16), reals(3, 3, 16)),
    # Images.
    *(row(f"resize, {method}", partial(_resize, method), PICTURES) for method in _RESIZE),
    row("resize to smaller", lambda tf, x: tf.image.resize(x, (40, 40)), PICTURES),
    row("resize of features", lambda tf, x: tf.image.resize(x, (128, 128)), IMAGES),
    row("crop_and_resize", lambda tf, x, b, i: tf.image.crop_and_resize(x, b, i, (24, 24)),
        PICTURES, _boxes, integers(8, 32)),
    row("extract_patches", lambda tf, x: tf.image.extract_patches(
        x, (1, 3, 3, 1), (1, 1, 1, 1), (1, 1, 1, 1), "SAME"), PICTURES),
    row("rgb_to_hsv", lambda tf, x: tf.image.rgb_to_hsv(x), PICTURES),
    row("rgb_to_grayscale", lambda tf, x: tf.image.rgb_to_grayscale(x), PICTURES),
    row("ssim", lambda tf, x, y: tf.image.ssim(x, y, 1.0), PICTURES, PICTURES),
    row("psnr", lambda tf, x, y: tf.image.psnr(x, y, 1.0), PICTURES, PICTURES),
    row("total_variation", lambda tf, x: tf.image.total_variation(x), PICTURES),
    row("sobel_edges", lambda tf, x: tf.image.sobel_edges(x), PICTURES),
    row("adjust_contrast", lambda tf, x: tf.image.adjust_contrast(x, 1.5), PICTURES),
    row("per_image_standardization", lambda tf, x: tf.image.per_image_standardization(x),
        PICTURES),
    # Signals.
    row("fft", lambda tf, x: tf.signal.fft(x), complexes(256, 1024)),
    row("ifft", lambda tf, x: tf.signal.ifft(x), complexes(256, 1024)),
    row("rfft", lambda tf, x: tf.signal.rfft(x), reals(256, 1024)),
    row("irfft", lambda tf, x: tf.signal.irfft(x), complexes(256, 513)),
    row("fft2d", lambda tf, x: tf.signal.fft2d(x), complexes(4, 256, 256)),
    row("rfft2d", lambda tf, x: tf.signal.rfft2d(x), reals(4, 256, 256)),
    row("fft3d", lambda tf, x: tf.signal.fft3d(x), complexes(4, 32, 32, 32)),
    row("dct", lambda tf, x: tf.signal.dct(x), reals(256, 1024)),
    row("stft", lambda tf, x: tf.signal.stft(x, 256, 128), reals(8, 16384)),
    row("frame", lambda tf, x: tf.signal.frame(x, 256, 128), reals(8, 16384)),
    row("overlap_and_add", lambda tf, x: tf.signal.overlap_and_add(x, 128), reals(8, 127, 256)),
    # Draws.
    row("random.stateless_gamma", lambda tf, a: tf.random.stateless_gamma(
        (2**15,), (1, 2), a), positive(2**15), compares=False),
    row("random.stateless_truncated_normal", lambda tf, m, s: m + s *
        tf.random.stateless_truncated_normal((SIZE,), (1, 2)), reals(), positive(),
        compares=False),
    row("stateless_parameterized_truncated_normal", lambda tf, m, s:
        tf.random.stateless_parameterized_truncated_normal((2**15,), (1, 2), m, s, -2.0, 2.0),
        reals(2**15), positive(2**15), compares=False),
    row("fake_quant", lambda tf, x: tf.quantization.fake_quant_with_min_max_args(x, -1.0, 1.0),
        reals()),
]  # fmt: skip
