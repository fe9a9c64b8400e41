"""`tf.nn`: activations, losses, convolution, pooling, normalisation and embeddings."""

# Written by `make names`: the decorators at the definitions say what is public.

import typing as _typing

from gradtape.api.tensorflow.approximation import approx_max_k, approx_min_k
from gradtape.api.tensorflow.elementwise import sigmoid, softplus
from gradtape.api.tensorflow.nn.activations import (
    bias_add,
    crelu,
    elu,
    gelu,
    leaky_relu,
    log_softmax,
    relu,
    relu6,
    selu,
    silu,
    softmax,
    softsign,
)
from gradtape.api.tensorflow.nn.activations import silu as swish
from gradtape.api.tensorflow.nn.attention import dot_product_attention
from gradtape.api.tensorflow.nn.candidates import (
    all_candidate_sampler,
    nce_loss,
    sampled_softmax_loss,
)
from gradtape.api.tensorflow.nn.convolution import (
    atrous_conv2d,
    atrous_conv2d_transpose,
    conv1d,
    conv1d_transpose,
    conv2d,
    conv2d_transpose,
    conv3d,
    conv3d_transpose,
    conv_transpose,
    convolution,
    depthwise_conv2d,
    separable_conv2d,
)
from gradtape.api.tensorflow.nn.dropout import dropout
from gradtape.api.tensorflow.nn.embeddings import (
    embedding_lookup,
    embedding_lookup_sparse,
    safe_embedding_lookup_sparse,
)
from gradtape.api.tensorflow.nn.fractional_pooling import fractional_avg_pool, fractional_max_pool
from gradtape.api.tensorflow.nn.isotonic import isotonic_regression
from gradtape.api.tensorflow.nn.losses import (
    compute_average_loss,
    in_top_k,
    l2_loss,
    log_poisson_loss,
    scale_regularization_loss,
    sigmoid_cross_entropy_with_logits,
    softmax_cross_entropy_with_logits,
    sparse_softmax_cross_entropy_with_logits,
    weighted_cross_entropy_with_logits,
    zero_fraction,
)
from gradtape.api.tensorflow.nn.morphology import dilation2d, erosion2d
from gradtape.api.tensorflow.nn.normalization import (
    batch_norm_with_global_normalization,
    batch_normalization,
    l2_normalize,
    local_response_normalization,
    moments,
    normalize_moments,
    sufficient_statistics,
    weighted_moments,
)
from gradtape.api.tensorflow.nn.normalization import local_response_normalization as lrn
from gradtape.api.tensorflow.nn.pooling import (
    avg_pool,
    avg_pool1d,
    avg_pool2d,
    avg_pool3d,
    depth_to_space,
    max_pool,
    max_pool1d,
    max_pool2d,
    max_pool3d,
    max_pool_with_argmax,
    pool,
    space_to_depth,
)
from gradtape.api.tensorflow.nn.sequence_losses import (
    collapse_repeated,
    ctc_greedy_decoder,
    ctc_loss,
)
from gradtape.api.tensorflow.ordering import top_k
from gradtape.api.tensorflow.rearranging import space_to_batch
from gradtape.api.tensorflow.trigonometry import tanh
from gradtape.nn import experimental

if not _typing.TYPE_CHECKING:  # a type checker would take any name to be there
    from gradtape.absent import absent_from as _absent_from

    __getattr__ = _absent_from(__name__)

__all__ = [
    "all_candidate_sampler", "approx_max_k", "approx_min_k", "atrous_conv2d",
    "atrous_conv2d_transpose", "avg_pool", "avg_pool1d", "avg_pool2d", "avg_pool3d",
    "batch_norm_with_global_normalization", "batch_normalization", "bias_add", "collapse_repeated",
    "compute_average_loss", "conv1d", "conv1d_transpose", "conv2d", "conv2d_transpose", "conv3d",
    "conv3d_transpose", "conv_transpose", "convolution", "crelu", "ctc_greedy_decoder", "ctc_loss",
    "depth_to_space", "depthwise_conv2d", "dilation2d", "dot_product_attention", "dropout", "elu",
    "embedding_lookup", "embedding_lookup_sparse", "erosion2d", "experimental",
    "fractional_avg_pool", "fractional_max_pool", "gelu", "in_top_k", "isotonic_regression",
    "l2_loss", "l2_normalize", "leaky_relu", "local_response_normalization", "log_poisson_loss",
    "log_softmax", "lrn", "max_pool", "max_pool1d", "max_pool2d", "max_pool3d",
    "max_pool_with_argmax", "moments", "nce_loss", "normalize_moments", "pool", "relu", "relu6",
    "safe_embedding_lookup_sparse", "sampled_softmax_loss", "scale_regularization_loss", "selu",
    "separable_conv2d", "sigmoid", "sigmoid_cross_entropy_with_logits", "silu", "softmax",
    "softmax_cross_entropy_with_logits", "softplus", "softsign", "space_to_batch", "space_to_depth",
    "sparse_softmax_cross_entropy_with_logits", "sufficient_statistics", "swish", "tanh", "top_k",
    "weighted_cross_entropy_with_logits", "weighted_moments", "zero_fraction",
]  # fmt: skip
