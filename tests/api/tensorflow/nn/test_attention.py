"""`tf.nn.dot_product_attention`: scores at once against scores in blocks, over shapes, masks,
biases, dtypes and engines, and what blocks are for: memory.
"""

from __future__ import annotations

import itertools
import tracemalloc

import numpy as np
import pytest

import gradtape as tf
from gradtape.engines.xla.loading import load
from gradtape.ops import attention, attention_on_xla
from tests.ops import checks

SHAPES = {  # batch, queries, keys, heads, shared heads, depth, width of the values
    "self": (2, 37, 37, 4, 4, 3, 3),
    "shared": (1, 20, 33, 6, 2, 2, 5),
    "one head for all": (3, 40, 17, 4, 1, 3, 1),
    "one query": (2, 1, 50, 2, 2, 2, 2),
    "one key": (2, 50, 1, 2, 1, 2, 2),
}
ADDED = {
    "nothing": lambda batch, heads, queries, keys: {},
    "bias": lambda *full: {"bias": full},
    "bias of keys": lambda batch, heads, queries, keys: {"bias": (batch, 1, 1, keys)},
    "bias of heads": lambda batch, heads, queries, keys: {"bias": (heads, 1, 1)},
    "mask": lambda batch, heads, queries, keys: {"mask": (batch, 1, queries, keys)},
    "mask of keys": lambda batch, heads, queries, keys: {"mask": (keys,)},
    "both": lambda batch, heads, queries, keys: {
        "bias": (1, heads, queries, 1), "mask": (queries, keys),
    },
}  # fmt: skip


@pytest.fixture
def small_blocks(monkeypatch):
    """Several blocks, also of the heads, and a last one that is not full."""
    monkeypatch.setattr(attention, "BLOCK", 300)
    monkeypatch.setattr(attention_on_xla, "BLOCK", 2000)


def arguments(shape, added, dtype="float32"):
    """Queries, keys, values and what is added; some queries may look at no key."""
    batch, queries, keys, heads, shared, depth, width = shape
    rng = np.random.default_rng(0)
    found = {
        "query": rng.normal(size=(batch, queries, heads, depth)),
        "key": rng.normal(size=(batch, keys, shared, depth)),
        "value": rng.normal(size=(batch, keys, shared, width)),
    }
    for name, size in ADDED[added](batch, heads, queries, keys).items():
        found[name] = rng.normal(size=size) if name == "bias" else rng.random(size) < 0.6
    if len(found.get("mask", np.zeros(0)).shape) > 1:
        found["mask"][..., 0, :] = False
    return {
        name: tf.constant(x) if name == "mask" else tf.cast(x, dtype) for name, x in found.items()
    }


def sources(found):
    return [x for name, x in found.items() if name != "mask"]


def gradients(found, *, is_causal, in_blocks, order=1):
    """The output and the gradients; of the second order, of a product with fixed numbers."""
    with tf.GradientTape() as outer:
        outer.watch(sources(found))
        with tf.GradientTape() as tape:
            tape.watch(sources(found))
            out = tf.nn.dot_product_attention(**found, is_causal=is_causal, in_blocks=in_blocks)
            target = tf.reduce_sum(tf.sin(3 * out))
        first = tape.gradient(target, sources(found))
        if order == 1:
            return [out, *first]
        along = sum(tf.reduce_sum(tf.cos(2 * g)) for g in first)
    return outer.gradient(along, sources(found))


CASES = list(itertools.product(SHAPES, ADDED, (False, True)))


def close(actual, expected, scale=1.0):
    for a, e in zip(actual, expected, strict=True):
        checks.assert_close(a.numpy(), e.numpy(), "in blocks", rtol=2e-4, atol=2e-5 * scale)


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("shape", "added", "is_causal"), CASES)
@pytest.mark.parametrize("order", [1, 2])
def test_blocks_are_all_at_once(small_blocks, shape, added, is_causal, order):
    found = arguments(SHAPES[shape], added, "float64")
    expected = gradients(found, is_causal=is_causal, in_blocks=False, order=order)
    eager = gradients(found, is_causal=is_causal, in_blocks=True, order=order)
    close(eager, expected)


@pytest.mark.sampled(6)
@pytest.mark.parametrize(("shape", "added", "is_causal"), CASES)
def test_compiled_blocks_are_all_at_once(small_blocks, shape, added, is_causal):
    found = arguments(SHAPES[shape], added)
    expected = gradients(found, is_causal=is_causal, in_blocks=False)

    @tf.function
    def compiled(found):
        return gradients(found, is_causal=is_causal, in_blocks=True)

    close(compiled(found), expected, scale=10)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("added", ["nothing", "mask"])
@pytest.mark.parametrize("in_blocks", [False, True])
def test_half_precision_is_rounded_single(dtype, added, in_blocks):
    found = arguments(SHAPES["shared"], added, dtype)
    wide = {name: x if name == "mask" else tf.cast(x, "float32") for name, x in found.items()}
    expected = gradients(wide, is_causal=True, in_blocks=False)
    actual = gradients(found, is_causal=True, in_blocks=in_blocks)
    assert {x.dtype.name for x in actual} == {dtype}
    for a, e in zip(actual, expected, strict=True):
        np.testing.assert_allclose(tf.cast(a, "float32").numpy(), e.numpy(), rtol=0.1, atol=0.15)


def test_a_query_that_may_look_at_no_key_looks_at_all_alike(small_blocks):
    found = arguments(SHAPES["self"], "mask")
    for in_blocks in (False, True):
        out, by_query, *_ = gradients(found, is_causal=False, in_blocks=in_blocks)
        mean = tf.reduce_mean(found["value"], axis=1)
        np.testing.assert_allclose(out[:, 0].numpy(), mean.numpy(), rtol=1e-5, atol=1e-6)
        assert not by_query[:, 0].numpy().any()


def test_forward_mode_and_batches(small_blocks):
    x = tf.cast(np.random.default_rng(1).normal(size=(3, 1, 20, 2, 2)), "float64")

    def function(one, in_blocks):
        return tf.nn.dot_product_attention(one, one, 2 * one, is_causal=True, in_blocks=in_blocks)

    for in_blocks in (False, True):
        rows = tf.stack([function(one, in_blocks) for one in x])
        np.testing.assert_allclose(
            tf.vectorized_map(lambda one: function(one, in_blocks), x).numpy(),  # noqa: B023
            rows.numpy(), rtol=1e-12,
        )  # fmt: skip
    tangents = []
    for in_blocks in (False, True):
        one = x[0]
        with tf.autodiff.ForwardAccumulator(one, tf.cos(one)) as forward:
            out = function(one, in_blocks)
        tangents.append(forward.jvp(out).numpy())
    np.testing.assert_allclose(*tangents, rtol=1e-9, atol=1e-12)


LENGTH, SCORES = 4096, 4096**2 * 2 * 4  # bytes


def test_eager_memory_grows_with_the_length():
    x = tf.constant(np.random.default_rng(0).normal(size=(1, LENGTH, 2, 4)), tf.float32)
    tracemalloc.start()
    with tf.GradientTape() as tape:
        tape.watch(x)
        out = tf.nn.dot_product_attention(x, x, x)
    tape.gradient(out, x)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < SCORES / 8


@pytest.mark.waits
def test_compiled_memory_grows_with_the_length():
    client = load().local_devices()[0].client
    before = set(map(id, client.live_executables()))

    @tf.function
    def step(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            out = tf.nn.dot_product_attention(x, x, x, is_causal=True)
        return tape.gradient(out, x)

    step(tf.ones([1, LENGTH, 2, 4]))
    taken = [
        program.get_compiled_memory_stats().temp_size_in_bytes
        for program in client.live_executables()
        if id(program) not in before
    ]
    assert taken
    assert max(taken) < SCORES / 3


X = np.zeros((2, 3, 4, 5), np.float32)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"query": X[0], "key": X, "value": X}, "four axes"),
        ({"query": X, "key": X[:1], "value": X[:1]}, "same batch"),
        ({"query": X, "key": X[..., :2], "value": X}, "same depth"),
        ({"query": X, "key": X, "value": X[:, :2]}, "same length"),
        ({"query": X, "key": X[:, :, :3], "value": X[:, :, :3]}, "multiple of the 3 heads"),
        ({"query": X, "key": X[:, :, :0], "value": X[:, :, :0]}, "multiple of the 0 heads"),
        ({"query": X.astype(int), "key": X.astype(int), "value": X.astype(int)}, "query"),
        ({"query": X, "key": X, "value": X, "mask": tf.ones([3, 3])}, "mask"),
        ({"query": X, "key": X, "value": X, "mask": tf.ones([3, 2], bool)}, "mask must broadcast"),
        ({"query": X, "key": X, "value": X, "bias": tf.ones([1] * 5)}, "bias must broadcast"),
        ({"query": X, "key": X, "value": X, "soft_cap": 2.0, "in_blocks": True}, "soft_cap"),
    ],
)
def test_bad_arguments_are_named(arguments, says):
    with pytest.raises((tf.errors.InvalidArgumentError, TypeError), match=says):
        tf.nn.dot_product_attention(**arguments)


@pytest.mark.parametrize("in_blocks", [False, True])
@pytest.mark.parametrize("empty", [0, 1, 2])
def test_nothing_to_look_at(in_blocks, empty):
    sizes = [2, 3, 2, 1]
    sizes[empty] = 0 if empty != 2 else sizes[2]
    q, k = tf.ones(sizes), tf.ones([sizes[0], 0 if empty == 2 else 4, *sizes[2:]])
    out = tf.nn.dot_product_attention(q, k, k, in_blocks=in_blocks)
    assert out.shape == q.shape
    assert not out.numpy().any() or k.shape[1]


def test_a_soft_cap_bounds_the_scores():
    q = tf.constant([[[[100.0]], [[-100.0]]]])
    out = tf.nn.dot_product_attention(q, q, q, soft_cap=1e-6)
    np.testing.assert_allclose(out.numpy().ravel(), 0, atol=1e-3)
