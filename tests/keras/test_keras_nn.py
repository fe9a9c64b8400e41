"""Keras's neural network functions: their names and arguments, the mathematics that its own tests
do not ask, and compiled code.
"""

import ast
import inspect
import itertools
import math
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from keras.src import backend
from keras.src.backend import nn

import gradtape as tf
from gradtape import keras

RNG = np.random.default_rng(0)


def random(*shape, dtype="float32"):
    return tf.constant(RNG.normal(size=shape), dtype)


def check_compiled(f, *inputs):
    """A function's results and gradients in eager code,
    which must be what they are when it is compiled.
    """

    def both(*tensors):
        with tf.GradientTape() as tape:
            tape.watch(tensors)
            results = tf.nest.flatten(f(*tensors))
            total = sum(
                tf.reduce_sum(tf.sin(result)) for result in results if result.dtype.is_floating
            )
        return results, tape.gradient(total, tensors)

    eager, compiled = both(*inputs), tf.function(both, autograph=False)(*inputs)
    for a, b in zip(tf.nest.flatten(eager), tf.nest.flatten(compiled), strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_allclose(
            tf.convert_to_tensor(a), tf.convert_to_tensor(b), rtol=1e-4, atol=1e-5
        )


@pytest.mark.parametrize("namespace", ["nn", "image", "random"])
def test_functions_have_the_names_and_arguments_of_keras(namespace):
    source = (
        Path(find_spec("keras").origin).parent / "src" / "backend" / "numpy" / f"{namespace}.py"
    )
    functions = [
        f
        for f in ast.parse(source.read_text(encoding="utf-8")).body
        if isinstance(f, ast.FunctionDef)
    ]
    wanted = {f.name: [a.arg for a in f.args.args] for f in functions if not f.name.startswith("_")}
    module = getattr(backend, namespace)
    assert {
        name: [*inspect.signature(getattr(module, name)).parameters] for name in wanted
    } == wanted


IMAGE = random(2, 5, 6, 4)
COMPILED = {
    "activations": (
        lambda x: [
            nn.elu(x, 0.5),
            nn.celu(x, 2.0),
            nn.glu(x),
            nn.sparse_plus(x),
            nn.soft_shrink(x),
        ],
        random(3, 4),
    ),
    "sparsemax": (lambda x: nn.sparsemax(x, axis=0), random(5, 3)),
    "max_pool": (lambda x: nn.max_pool(x, 2, 1, "same", "channels_first"), IMAGE),
    "adaptive_pools": (
        lambda x: [nn.adaptive_average_pool(x, (2, 4)), nn.adaptive_max_pool(x, (2, 4))],
        IMAGE,
    ),
    "conv": (lambda x, w: nn.conv(x, w, 2, "same"), IMAGE, random(3, 3, 2, 6)),
    "separable_conv": (
        lambda x, d, p: nn.separable_conv(x, d, p),
        IMAGE,
        random(2, 3, 4, 2),
        random(1, 1, 8, 3),
    ),
    "conv_transpose": (
        lambda x, w: nn.conv_transpose(x, w, (2, 3), "same", 1),
        IMAGE,
        random(3, 2, 5, 4),
    ),
    "unfold": (lambda x: nn.unfold(x, 2, dilation=2, padding=1, stride=2), IMAGE),
    "fold": (lambda x: nn.fold(x, (4, 4), 2, padding=1, stride=2), random(2, 12, 9)),
    "losses": (
        lambda x: [
            nn.categorical_crossentropy(np.eye(4)[[0, 1, 3]], x, from_logits=True),
            nn.sparse_categorical_crossentropy([0, -1, 3], tf.nn.softmax(x)),
            nn.binary_crossentropy(np.eye(4)[[0, 1, 3]], tf.sigmoid(x)),
        ],
        random(3, 4),
    ),
    "attention": (
        lambda q, k, v: nn.dot_product_attention(q, k, v, mask=np.tri(3, 6) > 0, is_causal=True),
        random(2, 3, 4, 5),
        random(2, 6, 2, 5),
        random(2, 6, 2, 5),
    ),
}


@pytest.mark.parametrize("name", COMPILED)
def test_compiled_functions_give_what_they_give_eagerly(name):
    function, *inputs = COMPILED[name]
    check_compiled(function, *inputs)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64"])
def test_results_have_the_dtype_of_the_inputs(dtype):
    x, image, w = (
        random(3, 4, dtype=dtype),
        random(2, 5, 5, 4, dtype=dtype),
        random(3, 3, 4, 2, dtype=dtype),
    )
    q = random(1, 3, 2, 4, dtype=dtype)
    results = [
        nn.gelu(x), nn.elu(x, 2.0), nn.hard_shrink(x), nn.sparsemax(x), nn.squareplus(x),
        nn.conv(image, w), *nn.moments(x, [0]), nn.adaptive_average_pool(image, 2),
        nn.sparse_categorical_crossentropy([0, 1, 2], x, from_logits=True),
        nn.dot_product_attention(q, q, q), nn.batch_normalization(x, x[0], x[0] ** 2, 1),
    ]  # fmt: skip
    assert {result.dtype.name for result in results} == {dtype}


def test_activations_of_integers_are_floats():
    assert {
        nn.sigmoid([1, 2]).dtype.name,
        nn.softmax([1, 2]).dtype.name,
        nn.hard_tanh([1, 2]).dtype.name,
    } == {"float32"}
    assert nn.relu([1, -2]).numpy().tolist() == [1, 0]


def test_sparsemax_is_the_nearest_point_of_the_simplex():
    x = RNG.normal(size=(200, 3)).astype(np.float32)
    found = nn.sparsemax(x).numpy()
    np.testing.assert_allclose(found.sum(1), 1, rtol=1e-5)
    others = RNG.dirichlet(np.ones(3), size=500)
    distances = ((x[:, None] - others) ** 2).sum(-1).min(1)
    assert (found == 0).any()
    assert (((x - found) ** 2).sum(-1) <= distances + 1e-5).all()


def test_moments_of_half_precision_stay_in_its_range():
    mean, variance = nn.moments(tf.constant([-60000.0, 60000.0], "float16"), [0])
    assert float(mean) == 0
    assert float(variance) == float(np.finfo(np.float16).max)


# Pooling, convolution and blocks


@pytest.mark.parametrize(("size", "count"), [(7, 3), (6, 3), (5, 4), (3, 5), (4, 1)])
def test_adaptive_pools_divide_an_axis_into_parts(size, count):
    x = RNG.normal(size=(2, size, 3)).astype(np.float32)
    parts = [x[:, i * size // count : math.ceil((i + 1) * size / count)] for i in range(count)]
    np.testing.assert_allclose(
        nn.adaptive_average_pool(x, count), np.stack([p.mean(1) for p in parts], 1), rtol=1e-5
    )
    np.testing.assert_allclose(
        nn.adaptive_max_pool(x, count), np.stack([p.max(1) for p in parts], 1)
    )


@pytest.mark.parametrize(
    "call",
    [
        lambda x, f: nn.conv(x, random_kernel(3, 2, 4, 5), (1, 2), "same", f),
        lambda x, f: nn.depthwise_conv(x, random_kernel(2, 3, 4, 2), 1, "valid", f, (2, 1)),
        lambda x, f: nn.conv_transpose(x, random_kernel(3, 2, 5, 4), 2, "same", None, f),
        lambda x, f: nn.average_pool(x, (2, 3), None, "same", f),
        lambda x, f: nn.adaptive_max_pool(x, (2, 3), f),
    ],
    ids=["conv", "depthwise_conv", "conv_transpose", "average_pool", "adaptive_max_pool"],
)
def test_channels_first_gives_what_channels_last_gives(call):
    last = call(IMAGE, "channels_last")
    first = call(tf.transpose(IMAGE, [0, 3, 1, 2]), "channels_first")
    np.testing.assert_allclose(tf.transpose(first, [0, 2, 3, 1]), last, rtol=1e-5, atol=1e-5)


def random_kernel(*shape):
    return np.random.default_rng(1).normal(size=shape).astype(np.float32)


@pytest.mark.parametrize(
    ("stride", "dilation", "output_padding"),
    [(1, 1, None), (2, 1, None), (3, 1, 1), (1, 2, None), (2, 1, 3)],
)
@pytest.mark.parametrize("padding", ["valid", "same"])
def test_conv_transpose_spreads_the_kernel_from_every_element(
    stride, dilation, padding, output_padding
):
    from keras.src.backend.common.backend_utils import compute_conv_transpose_output_shape

    x, w = RNG.normal(size=4).astype(np.float32), RNG.normal(size=3).astype(np.float32)
    out = nn.conv_transpose(
        x.reshape(1, -1, 1), w.reshape(-1, 1, 1), stride, padding, output_padding, None, dilation
    )
    wanted = compute_conv_transpose_output_shape(
        (1, 4, 1), (3,), 1, stride, padding, output_padding, "channels_last", dilation
    )
    assert list(out.shape) == wanted
    spread = np.zeros(3 * stride + 2 * dilation + 1, np.float32)
    for i, k in itertools.product(range(4), range(3)):
        spread[i * stride + k * dilation] += x[i] * w[k]
    around = np.pad(spread, len(spread))
    found = out.numpy().ravel()
    windows = np.lib.stride_tricks.sliding_window_view(around, len(found))
    assert np.isclose(windows, found, rtol=1e-5, atol=1e-6).all(1).any()


def test_a_kernel_that_does_not_fit_is_refused():
    with pytest.raises(ValueError, match="has no output"):
        nn.conv(IMAGE, random(6, 1, 4, 1))
    with pytest.raises(ValueError, match="evenly divisible"):
        nn.conv(IMAGE, random(1, 1, 3, 1))


@pytest.mark.parametrize(
    "how", [{}, {"stride": 2, "padding": (1, 0)}, {"dilation": (1, 2), "padding": 1}]
)
def test_fold_is_the_transpose_of_unfold(how):
    images = random(2, 3, 5, 6)
    blocks = nn.unfold(images, (2, 3), **how)
    others = random(*blocks.shape)
    left = tf.reduce_sum(blocks * others)
    right = tf.reduce_sum(images * nn.fold(others, (5, 6), (2, 3), **how))
    np.testing.assert_allclose(left, right, rtol=1e-4)


@pytest.mark.parametrize("data_format", ["channels_last", "channels_first"])
def test_space_and_depth_are_inverse(data_format):
    x = random(2, 4, 4, 8)
    np.testing.assert_array_equal(
        nn.space_to_depth(nn.depth_to_space(x, 2, data_format), 2, data_format), x
    )


# Losses and attention


def test_crossentropies_agree_with_each_other():
    logits, classes = random(4, 5, 3), np.array([[0, 1, 2, 0, 1]] * 4)
    hot = np.eye(3, dtype=np.float32)[classes]
    known = nn.sparse_categorical_crossentropy(classes, logits, from_logits=True)
    share = tf.nn.softmax(logits)
    for other in (
        nn.categorical_crossentropy(hot, logits, from_logits=True),
        nn.categorical_crossentropy(hot, share),
        nn.sparse_categorical_crossentropy(classes[..., None], share),
    ):
        np.testing.assert_allclose(other, known, rtol=1e-4)


def test_a_class_that_does_not_exist_has_no_loss():
    logits = random(3, 4)
    assert nn.sparse_categorical_crossentropy(
        [-1, 4, 7], logits, from_logits=True
    ).numpy().tolist() == [0, 0, 0]
    assert nn.one_hot([-1, 4, 1], 4).numpy().sum() == 1


def test_binary_crossentropy_of_large_logits_is_finite():
    loss = nn.binary_crossentropy([1.0, 0.0], [-200.0, -200.0], from_logits=True)
    np.testing.assert_allclose(loss, [200.0, 0.0])


def test_heads_that_share_keys_are_as_if_keys_were_repeated():
    q, k, v = random(2, 3, 4, 5), random(2, 6, 2, 5), random(2, 6, 2, 7)
    mask = RNG.uniform(size=(2, 1, 3, 6)) > 0.3
    bias = random(2, 4, 3, 6)
    found = nn.dot_product_attention(q, k, v, bias=bias, mask=mask)
    repeated = nn.dot_product_attention(
        q, tf.repeat(k, 2, axis=2), tf.repeat(v, 2, axis=2), bias=bias, mask=mask
    )
    np.testing.assert_allclose(found, repeated, rtol=1e-5, atol=1e-6)


def test_flash_attention_is_attention():
    q, k, v = random(2, 5, 4, 3), random(2, 7, 2, 3), random(2, 7, 2, 3)
    mask = RNG.uniform(size=(2, 1, 5, 7)) > 0.3
    expected, found = (
        nn.dot_product_attention(q, k, v, mask=mask, is_causal=True, flash_attention=flash)
        for flash in (False, True)
    )
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)
    with pytest.raises(ValueError, match="attn_logits_soft_cap"):
        nn.dot_product_attention(q, k, v, flash_attention=True, attn_logits_soft_cap=2.0)


@pytest.mark.parametrize(
    "make",
    [
        lambda **options: keras.layers.MultiHeadAttention(2, 3, **options),
        lambda **options: keras.layers.GroupQueryAttention(3, 4, 2, **options),
    ],
)
def test_layers_with_flash_attention_are_those_without(make):
    x = random(2, 6, 5)
    plain, flash = make(), make(flash_attention=True)
    found = []
    for layer in (plain, flash):
        layer.build(x.shape, x.shape)
        layer.set_weights([w.numpy() for w in plain.weights])
        with tf.GradientTape() as tape:
            out = layer(x, x, use_causal_mask=True)
            loss = tf.reduce_sum(out**2)
        found.append([out, *tape.gradient(loss, layer.trainable_weights)])
    for actual, expected in zip(*found, strict=True):
        np.testing.assert_allclose(actual, expected, rtol=1e-4, atol=1e-5)


# Connectionist temporal classification


def spelled(frames, blank):
    """What classes of frames spell: repeats made one, then without blanks."""
    return tuple(label for label, _ in itertools.groupby(frames) if label != blank)


def probabilities(logits, blank):
    """The probability of everything that frames can spell, by trying all classes of all frames."""
    share = np.exp(logits) / np.exp(logits).sum(-1, keepdims=True)
    found = {}
    for frames in itertools.product(range(logits.shape[1]), repeat=len(logits)):
        path = spelled(frames, blank)
        found[path] = found.get(path, 0.0) + math.prod(share[t, c] for t, c in enumerate(frames))
    return found


@pytest.mark.parametrize("blank", [0, 2])
def test_beam_search_finds_the_most_probable_paths(blank):
    logits = RNG.normal(size=(3, 5, 3)).astype(np.float32)
    lengths = [5, 4, 1]
    decode = lambda x: nn.ctc_decode(
        x, lengths, "beam_search", beam_width=60, top_paths=3, mask_index=blank
    )
    for paths, scores in (
        decode(tf.constant(logits)),
        tf.function(decode, autograph=False)(tf.constant(logits)),
    ):
        for i, length in enumerate(lengths):
            best = sorted(
                probabilities(logits[i, :length], blank).items(), key=lambda item: -item[1]
            )[:3]
            assert [tuple(path[path >= 0]) for path in paths.numpy()[:, i]] == [
                path for path, _ in best
            ]
            np.testing.assert_allclose(
                np.exp(scores.numpy()[i]), [share for _, share in best], rtol=1e-4
            )


def test_greedy_decoding_takes_the_best_class_of_each_frame():
    logits = RNG.normal(size=(4, 6, 3)).astype(np.float32)
    (paths,), scores = nn.ctc_decode(logits, [6, 6, 3, 0])
    for path, frames in zip(
        paths.numpy(), [logits[0], logits[1], logits[2, :3], logits[3, :0]], strict=True
    ):
        assert tuple(path[path >= 0]) == spelled(frames.argmax(-1), 0)
    np.testing.assert_allclose(scores[2], -logits[2, :3].max(-1).sum(keepdims=True), rtol=1e-5)


def test_ctc_loss_is_the_logarithm_of_the_probability():
    logits = RNG.normal(size=(1, 4, 3)).astype(np.float32)
    loss = nn.ctc_loss([[2, 1, 0]], logits, [2], [4])
    np.testing.assert_allclose(loss, [-np.log(probabilities(logits[0], 0)[2, 1])], rtol=1e-5)
