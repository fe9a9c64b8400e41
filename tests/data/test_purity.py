"""Which functions may run on many elements at once."""

import collections
import functools
import pkgutil
import random

import numpy as np
import pytest

import gradtape as tf
from gradtape.api import tensorflow as functions
from gradtape.data.purity import _COMPUTING, only_computes

SCALE, SHIFTS, TABLE = 3.0, [1.0, 2.0], {"a": 1.0}
ARRAY = np.ones(3)
WEIGHT = tf.Variable([1.0, 2.0, 3.0])
SEEN = []


def scaled(x):
    return tf.cast(x, tf.float32) / 255.0 * SCALE


def with_helper(x, y):
    return {"x": scaled(x), "y": tf.one_hot(y, 10)}


def popped(features):
    label = features.pop("y")
    return features, label


def stored(features):
    features["z"] = features["x"] * 2
    return features


def in_a_loop(x):
    found = []
    for i in range(3):
        found = [*found, x * i]
    return tf.stack(found)


def counted(x):
    SEEN[0] += 1
    return x


def counted_by_alias(x):
    seen = SEEN
    seen += [1]
    return x


def stored_elsewhere(x):
    TABLE["a"] = x
    return x


def in_place(x):
    shared = ARRAY
    shared += 1
    return x


def with_global(x):
    global SCALE
    SCALE = 2.0
    return x


def generator(x):
    yield x


def importing(x):
    import math

    return x * math.pi


def with_attribute(x):
    scaled.last = x
    return x


def helper_that_writes(table, x):
    table["a"] = x
    return x


def with_writing_helper(x):
    return helper_that_writes(TABLE, x)


class Callable:
    def __call__(self, x):
        return x


class Counting(dict):
    def __missing__(self, key):
        self[key] = 1.0
        return 1.0


COUNTING, DEFAULTS = Counting(), collections.defaultdict(float)

PURE = [
    scaled, with_helper, popped, stored, in_a_loop, tf.square, np.exp, float,
    lambda x: x * 2 + SCALE,
    lambda x: x[..., None],
    lambda x: (x, x.shape[0]),
    lambda x: [x * i for i in range(3)],
    lambda x: {k: v + 1 for k, v in x.items()},
    lambda x: tf.math.log(x) if x.shape else x,
    lambda x: tf.image.resize(x, [8, 8]),
    lambda x: x * WEIGHT + SHIFTS[0] + ARRAY,
    lambda x: tf.reshape(x, [-1]).astype(tf.float64),
    lambda x: np.float32(2) * x,
    functools.partial(lambda y, x: x + y, 3),
    tf.function(lambda x: x * 2),
]  # fmt: skip

IMPURE = [
    counted, counted_by_alias, stored_elsewhere, in_place, with_global, generator, importing,
    with_attribute, with_writing_helper, Callable(), Callable().__call__, print, len.__call__,
    lambda x: SEEN.append(x) or x,
    lambda x: x + random.random(),
    lambda x: x + np.random.rand(),
    lambda x: x + tf.random.uniform([]),
    lambda x: tf.image.random_flip_left_right(x),
    lambda x: tf.nn.dropout(x, 0.5),
    lambda x: tf.print(x) or x,
    lambda x: WEIGHT.assign(x),
    lambda x: tf.py_function(lambda v: v, [x], tf.float32),
    lambda x: tf.numpy_function(lambda v: v, [x], tf.float32),
    lambda x: next(iter(SEEN)),
    lambda x: __import__("os").getpid(),
    lambda x: x + unknown_name,  # noqa: F821
    lambda x: setattr(scaled, "last", x),
    lambda x: tf,
    functools.partial(counted, 3),
    lambda x: np.maximum(x, ARRAY, out=ARRAY),
    lambda x: x + COUNTING["a"] + DEFAULTS["b"],
]  # fmt: skip


@pytest.mark.parametrize("function", PURE)
def test_functions_that_only_compute(function):
    assert only_computes(function)


@pytest.mark.parametrize("function", IMPURE)
def test_functions_that_may_do_more(function):
    assert not only_computes(function)


# Modules whose functions draw, print, read or write, run what they are given, or hold no functions
# of tensors. A new module belongs here, or among those that only compute.
OTHERS = {
    "accepted", "arguments", "buckets", "checkpoint", "config", "debugging", "dlpack",
    "einops_backend", "environment", "execution", "experimental_dtypes", "extension_types",
    "function_types", "keras_imports", "library", "moving_average", "profiler", "python_functions",
    "quantization", "random", "scipy_functions", "sets", "sparse", "tensor_array",
    "tensor_conversions", "test_case", "texts", "type_specs",
}  # fmt: skip


def test_every_module_of_functions_is_known_to_compute_or_not():
    computing = {name.removeprefix("gradtape.api.tensorflow.") for name in _COMPUTING}
    found = {module.name for module in pkgutil.iter_modules(functions.__path__)}
    assert {name.partition(".")[0] for name in computing} | OTHERS == found | {"image", "nn"}
    assert not computing & OTHERS
    for package in ("image", "nn"):
        inside = pkgutil.iter_modules(getattr(functions, package).__path__)
        parts = {f"{package}.{module.name}" for module in inside}
        assert {name for name in computing if name.startswith(f"{package}.")} <= parts
