"""Walks that repeat are written out as a function: it finds what the general walk does, to the last
bit, and is used only where the recording is the one that it was written for.
"""

import gc
import weakref

import numpy as np
import pytest

import gradtape as tf
from gradtape.core import repeats


@pytest.fixture(autouse=True)
def at_once(monkeypatch):
    """Every structure is written out when it comes for the second time."""
    monkeypatch.setattr(repeats, "_OFTEN", 2)
    monkeypatch.setattr(repeats, "_known", {})


def written():
    """The functions that have been written."""
    return [walks.written for walks in repeats._known.values() if walks.written is not None]


RNG = np.random.default_rng(0)


def variables(*shapes, dtype=np.float32):
    return [tf.Variable(RNG.normal(size=shape).astype(dtype)) for shape in shapes]


def layers(v, x):
    h = tf.tanh(tf.matmul(x, v[0]) + v[1])
    return tf.reduce_mean(tf.square(tf.matmul(h, v[0], transpose_b=True) + 1.0))


def shared(v, x):
    """Nodes that many others use, twice by one op too."""
    h = tf.sigmoid(x[:, :3] * v[1]) + v[1]
    return tf.reduce_sum(h * h + h * tf.exp(h))


def several(v, x):
    """Ops of several results, or of any number of arguments."""
    a, b = tf.split(tf.nn.softmax(tf.matmul(x, v[0]) * v[1]), [1, 2], axis=1)
    return tf.reduce_sum(tf.concat([b, a, a], 1) ** 2) + tf.reduce_sum(tf.unstack(b, axis=1)[0])


def rows(v, x):
    """Sparse cotangents, alone, added to each other, and made dense."""
    ids = tf.constant([0, 2, 2])
    found = tf.gather(v[0], ids) * v[1] + tf.gather(v[0] * 2.0, ids)
    return tf.reduce_sum(found * tf.gather(v[0], [1, 1, 0]))


def with_a_dead_branch(v, x):
    kept.append(tf.exp(v[1]) * v[1])
    return tf.reduce_sum(tf.matmul(x, v[0]) + v[1])


def masked(v, x):
    """A cotangent of zero meets a derivative that is not finite."""
    h = tf.matmul(x, v[0])
    return tf.reduce_sum(tf.where(h > 0.0, tf.math.log(h), 0.0) + v[1])


def read(v, x):
    return tf.reduce_sum(v[0].read_value()) + tf.reduce_sum(v[1].value() * v[1])


kept = []
MODELS = [layers, shared, several, rows, with_a_dead_branch, masked, read]


def step(model, v, x, *, persistent=False, seeds=None):
    with tf.GradientTape(persistent=persistent) as tape:
        y = model(v, x)
    gradients = tape.gradient(y, v, output_gradients=seeds)
    return [None if g is None else tf.convert_to_tensor(g).numpy() for g in gradients], tape, y


def assert_same(found, expected):
    for one, other in zip(found, expected, strict=True):
        assert one.dtype == other.dtype
        assert one.tobytes() == other.tobytes()


@pytest.mark.parametrize("persistent", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("rows_of_x", [5, 0])
@pytest.mark.parametrize("model", MODELS)
def test_a_written_walk_finds_the_same(model, rows_of_x, dtype, persistent):
    v = variables((4, 3), (3,), dtype=dtype)
    x = tf.constant(RNG.normal(size=(rows_of_x, 4)).astype(dtype))
    v_all = v if model is not shared else [v[1]]
    used = lambda _, x: model(v, x)
    expected, *_ = step(used, v_all, x, persistent=persistent)
    for _ in range(4):
        found, *_ = step(used, v_all, x, persistent=persistent)
        assert_same(found, expected)
    assert len(written()) == 1
    (walks,) = repeats._known.values()
    assert walks.count == 0  # the last walk was that function's
    kept.clear()


@pytest.mark.parametrize("shape", [(3,), (1, 3), ()])
def test_other_shapes_and_seeds_of_the_same_structure(shape):
    v, w = variables((4, 3), (3,)), variables((4, 3), shape)
    x = tf.constant(RNG.normal(size=(5, 4)).astype(np.float32))
    seed = tf.constant(np.float32(0.5))
    expected, *_ = step(layers, w, x, seeds=seed)
    for _ in range(3):
        step(layers, v, x)
    (walks,) = repeats._known.values()
    assert walks.written
    assert_same(step(layers, w, x, seeds=seed)[0], expected)
    assert walks.count == 0


def forks(v, x, *, first):
    """The same ops, joined in another way; a Variable, or what was computed from it."""
    a = tf.tanh(v[0])
    b = tf.tanh(v[1])
    left, right = (a, b) if first else (b, a)
    return tf.reduce_sum(left * 2.0 + right * left)


def tied(v, x, *, first):
    return tf.reduce_sum(v[0] * v[1] + (v[0] if first else v[1]) * v[1])


def deep(v, x, *, first):
    h = v[0] * v[1]
    return tf.reduce_sum((h if first else v[0]) * v[1] + 0.0 * h)


def of_many(v, x, *, first):
    parts = [v[0], v[1], v[0]] if first else [v[1], v[0]]
    return tf.reduce_sum(tf.concat(parts, 0) ** 2)


def constants(v, x, *, first):
    c = tf.constant([1.0, 2.0, 3.0])
    return tf.reduce_sum((v[0] * c if first else c * v[0]) + v[1])


@pytest.mark.parametrize("persistent", [False, True])
@pytest.mark.parametrize("model", [forks, tied, deep, of_many, constants])
def test_a_recording_that_differs_is_walked_as_it_is(model, persistent):
    v = variables((3,), (3,))
    one, other = (lambda v, x, first=first: model(v, x, first=first) for first in (True, False))
    expected = [step(kind, v, None, persistent=persistent)[0] for kind in (one, other)]
    for kind, right in zip((one, other) * 20, expected * 20, strict=True):
        assert_same(step(kind, v, None, persistent=persistent)[0], right)
    repeats._known.clear()
    for kind, right in ((one, expected[0]),) * 4 + ((other, expected[1]),) * 40:
        assert_same(step(kind, v, None, persistent=persistent)[0], right)


def test_a_function_that_is_of_no_use_any_more_is_written_anew():
    v = variables((3,), (3,))
    one, other = (lambda v, x, first=first: tied(v, x, first=first) for first in (True, False))
    for _ in range(3):
        step(one, v, None)
    before = written()
    for _ in range(repeats._IN_VAIN + 2 * repeats._OFTEN):
        step(other, v, None)
    (after,) = written()
    assert [after] != before


def test_what_is_known_stays_small():
    x = tf.Variable(1.0)
    for length in range(3 * repeats._MOST):
        for _ in range(1 + length % 3):
            with tf.GradientTape() as tape:
                y = x * 1.0
                for _ in range(length):
                    y = y + 1.0
            tape.gradient(y, x)
        assert len(repeats._known) <= repeats._MOST


@pytest.mark.parametrize("persistent", [False, True])
def test_what_a_walk_keeps_alive_is_the_same(persistent):
    v = variables((4, 3), (3,))
    x = tf.constant(RNG.normal(size=(5, 4)).astype(np.float32))
    for _ in range(3):
        step(layers, v, x)
    assert written()
    *_, tape, y = step(layers, v, x, persistent=persistent)
    node = y.node
    if persistent:
        assert node.parents
        assert node.saved is not None
    else:
        assert node.parents == ()
        assert node.saved is None
    alive = weakref.ref(tape)
    array = weakref.ref(y.array) if isinstance(y.array, np.ndarray) else alive
    del tape, y, node
    gc.collect()
    assert alive() is None
    assert array() is None


def test_a_source_without_a_gradient_is_explained():
    v = variables((3,), (3,))

    def model(v, x):
        return tf.reduce_sum(tf.tanh(v[0])) + tf.reduce_sum(tf.stop_gradient(tf.exp(v[1])))

    texts = set()
    for _ in range(4):
        gradients, tape, y = step(model, v, None, persistent=True)
        assert gradients[1] is None
        texts.add(str(tape.explain(y, v[1])[0]))
    assert len(texts) == 1
    assert "stop_gradient" in texts.pop()


def test_gradients_of_what_an_op_computed_and_second_order_take_the_general_way():
    v = variables((3,), (3,))
    for _ in range(4):
        with tf.GradientTape(persistent=True) as outer:
            with tf.GradientTape() as tape:
                h = tf.tanh(v[0])
                y = tf.reduce_sum(h * h * v[1])
            first = tape.gradient(y, [h, *v])
            z = tf.reduce_sum(first[1])
        np.testing.assert_allclose(first[0], 2 * h * v[1], rtol=1e-6)
        assert outer.gradient(z, v[1]) is not None


def test_rules_that_do_not_last_are_not_kept_alive():
    @tf.custom_gradient
    def doubled(x):
        return 2.0 * x, lambda g: 2.0 * g

    v = variables((3,), (3,))
    for _ in range(4):
        step(lambda v, x: tf.reduce_sum(doubled(v[0]) * v[1]), v, None)
    assert written() == []


def test_an_error_in_a_written_walk_leaves_things_as_one_in_the_general_walk():
    v = variables((3,), (3,))

    def model(v, x):
        return tf.reduce_sum(tf.tanh(v[0]) * v[1])

    for _ in range(3):
        step(model, v, None)
    assert written()
    with tf.GradientTape() as tape:
        y = model(v, None)
    y.node.parents[0].saved = None
    with pytest.raises(TypeError):
        tape.gradient(y, v)
    with pytest.raises(RuntimeError, match="failed with TypeError"):
        tape.gradient(y, v)
    expected, *_ = step(model, v, None)
    repeats._known.clear()
    assert_same(step(model, v, None)[0], expected)
