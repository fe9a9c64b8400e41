"""Strings as arguments and results of functions: constants of the trace.

The expected numbers of traces are TensorFlow's.
"""

from __future__ import annotations

import logging

import numpy as np
import pytest

import gradtape as tf

S = tf.constant
X = tf.constant(2.0)
AROUND = S(["p", "q"])
A, B = S("a"), S("b")


def plain(value):
    return tf.nest.map_structure(
        lambda leaf: np.asarray(leaf.numpy(), None).tolist() if hasattr(leaf, "numpy") else leaf,
        value,
    )


def count_rows(s):
    n = 0
    for _ in s:
        n += 1
    return n


def chosen(s, x):
    if s == "double":
        return x * 2.0
    return x * 3.0


def joined(s, x):
    names = []
    for i, name in enumerate(s):
        if name == b"b":
            x = x + float(i)
        names.append(name)
    return tf.stack(names), x


def nested(s, x):
    return tf.function(lambda s, x: (s, x * 2.0))(s, x)


# The function, its calls, what TensorFlow counts, and how often our Python runs.
CASES = {
    "Python strings": (lambda s: s, [("a",), ("b",), ("a",)], 2, 2),
    "bytes": (lambda s: s, [(b"a",), (b"b",)], 2, 2),
    "tensors": (lambda s: s, [(A,), (B,), (A,)], 1, 2),
    "with a number": (lambda s, x: (s, x * 2.0), [(A, X), (B, X)], 1, 2),
    "in a structure": (lambda d: {"n": d["n"], "v": d["v"][0] + 1.0},
        [({"n": A, "v": [X]},), ({"n": B, "v": [X]},)], 1, 2),
    "vectors": (lambda s: s, [(S(["a", "b"]),), (S(["c", "d"]),), (S(["c"]),)], 2, 3),
    "NumPy's": (lambda s: s, [(np.array(["a", "b"]),), (np.array(["c", "d"]),)], 1, 2),
    "made inside": (lambda x: (S("made"), x, "Python's"), [(X,), (X,)], 1, 1),
    "from around": (lambda x: (AROUND, tf.stack([AROUND, AROUND]), x), [(X,)], 1, 1),
    "compared": (lambda s: (s == S("a"), tf.equal(s, "b"), tf.not_equal(s, A)), [(A,), (B,)], 1, 2),
    "deciding": (chosen, [(S("double"), X), (S("triple"), X)], 1, 2),
    "deciding by Python's": (chosen, [("double", X), ("triple", X)], 2, 2),
    "indexed": (lambda s: (s[0], s[1:], s[-1]), [(S(["a", "b", "c"]),)], 1, 1),
    "gathered": (lambda s: tf.gather(s, [1, 0]), [(S(["a", "b"]),)], 1, 1),
    "shaped": (lambda s: (tf.reshape(s, [2, 1]), tf.shape(s), tf.size(s), s.shape[0]),
        [(S(["a", "b"]),)], 1, 1),
    "iterated over": (count_rows, [(S(["a", "b"]),)], 1, 1),
    "iterated over with numbers": (joined, [(S(["a", "b"]), X)], 1, 1),
    "in a function inside": (nested, [(A, X), (B, X)], 1, 2),
    "for a Python function": (
        lambda s, x: tf.py_function(lambda s, x: x * len(s.numpy()), [s, x], tf.float32),
        [(S("abc"), X)], 1, 1
    ),
    "for a function of NumPy's": (
        lambda s, x: tf.numpy_function(lambda x, s: x * np.float32(len(s)), [x, s], tf.float32),
        [(S("abc"), X)], 1, 1
    ),
    "none among others": (lambda s: (None, s, [1.0, s]), [(A,), (B,)], 1, 2),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_a_function_gives_what_eager_code_does(name):
    python, calls, kinds, traced = CASES[name]
    times = []

    def body(*args):
        times.append(args)
        return python(*args)

    f = tf.function(body)
    for args in calls:
        expected = tf.nest.map_structure(
            lambda v: v if v is None else tf.convert_to_tensor(v), python(*args)
        )
        assert plain(f(*args)) == plain(expected)
    assert f.experimental_get_tracing_count() == kinds
    assert len(times) == traced


@pytest.mark.parametrize(
    "name", ["with a number", "deciding", "for a Python function", "in a function inside"]
)
def test_gradients_beside_strings(name):
    python, calls, *_ = CASES[name]
    for wrapped in (tf.function(python), tf.function(lambda *args: slope(python, args))):
        for args in calls:
            found = slope(wrapped, args) if wrapped.python_function is python else wrapped(*args)
            assert float(found) == float(slope(python, args))


def slope(f, args):
    x = args[-1]
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.nest.flatten(f(*args))[-1]
    return tape.gradient(y, x)


@pytest.mark.parametrize(
    ("options", "calls"),
    [
        ({"input_signature": [tf.TensorSpec([], tf.string)]}, [A, B, "c"]),
        ({"input_signature": [tf.TensorSpec([None], tf.string)]}, [S(["a"]), S(["b", "c"]), ["d"]]),
    ],
)
def test_a_signature_makes_them_one_kind(options, calls):
    f = tf.function(lambda s: s, **options)
    for s in calls:
        assert plain(f(s)) == plain(tf.convert_to_tensor(s))
    assert f.experimental_get_tracing_count() == 1
    with pytest.raises(TypeError):
        f(X)


def test_open_sizes():
    f = tf.function(lambda s: s, reduce_retracing=True)
    for s in (["a", "b"], ["c"], ["d", "e", "f"]):
        assert plain(f(S(s))) == [name.encode() for name in s]
    assert f.experimental_get_tracing_count() == 2


def test_a_concrete_function_takes_any():
    seen = []

    def body(s, x):
        seen.append(s.numpy())
        return s, x + 1.0

    f = tf.function(body)
    concrete = f.get_concrete_function(tf.TensorSpec([], tf.string), tf.TensorSpec([], tf.float32))
    assert plain(concrete(S("hey"), X)) == (b"hey", 3.0)
    assert plain(concrete(S("you"), X)) == (b"you", 3.0)
    assert f.experimental_get_tracing_count() == 1
    assert all(isinstance(value, bytes) for value in seen)


def test_what_changed_is_said_and_many_strings_are_warned_of(caplog):
    f = tf.function(lambda s, x: x * 2.0)
    with caplog.at_level(logging.WARNING):
        for name in "abcdefgh":
            f(S(name), X)
    assert f.why_retraced() == ["'s' changed from string[] [b'a'] to string[] [b'h']"]
    (warning, *_) = [record.getMessage() for record in caplog.records]
    assert "a tensor of strings is a constant of a program" in warning


WORDS = tf.Variable(["a", "b"])


@pytest.mark.parametrize(
    "f",
    [
        lambda x: tf.where(x > 0, A, B),
        lambda x: tf.cond(x > 0, lambda: A, lambda: B),
        lambda x: AROUND[tf.cast(x, tf.int32) - 1],
        lambda x: tf.gather(AROUND, tf.cast(x, tf.int32) - 1),
        lambda x: tf.while_loop(lambda x, s: x < 9.0, lambda x, s: (x * 2.0, s), (x, A)),
        lambda x: tf.map_fn(lambda s: s, AROUND),
        lambda x: WORDS.read_value(),
        lambda x: WORDS.assign(["c", "d"]),
        lambda x: tf.py_function(lambda x: "made", [x], tf.string),
    ],
)
def test_what_a_program_would_have_to_choose_is_refused(f):
    with pytest.raises(
        TypeError, match=r"XLA has no strings|Tout must not contain the dtype string"
    ):
        tf.function(f, jit_compile=True)(X)
    assert WORDS.numpy().tolist() == [b"a", b"b"]


def test_one_string_of_several_is_a_tensor_of_strings_in_eager_code_too():
    for one in (
        AROUND[0],
        tf.gather(AROUND, 0),
        tf.squeeze(AROUND[:1]),
        tf.reshape(AROUND[:1], []),
    ):
        assert one.dtype == tf.string
        assert one.array.dtype == object
        assert one.numpy() == b"p"
    assert tf.stack([AROUND[0], S("longer")]).numpy().tolist() == [b"p", b"longer"]
