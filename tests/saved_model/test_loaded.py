"""What a loaded object can do besides being called: be saved again, copied, checkpointed, run with
functions that run eagerly, and say what it was not saved for.
"""

import collections
import copy
import pickle

import numpy as np
import pytest

import gradtape as tf

Pair = collections.namedtuple("Pair", "a b")
ONE = Pair(1, 2.5)
ROWS = tf.TensorSpec([None], name="rows")


def module(**attributes):
    made = tf.Module()
    for name, value in attributes.items():
        setattr(made, name, value)
    return made


def again(thing, folder, **kwargs):
    tf.saved_model.save(thing, folder, **kwargs)
    return tf.saved_model.load(folder)


def square():
    v, calls = tf.Variable(2.0), tf.Variable(0, trainable=False)

    @tf.function(input_signature=[ROWS])
    def f(x):
        calls.assign_add(1)
        return x * x * v

    return module(v=v, calls=calls, f=f)


def outcomes(thing, x):
    with tf.GradientTape() as outer:
        outer.watch(x)
        with tf.GradientTape() as inner:
            inner.watch(x)
            y = thing.f(x)
        first = inner.gradient(y, [x, thing.v])
        total = tf.reduce_sum(first[0])
    return [y.numpy().tolist(), *[g.numpy().tolist() for g in (*first, outer.gradient(total, x))]]


def test_saved_again(tmp_path):
    made = square()
    loaded = again(made, tmp_path / "once", signatures=made.f)
    loaded.v.assign(5.0)
    loaded.f([1.0])
    twice = again(again(loaded, tmp_path / "twice"), tmp_path / "thrice")
    made.v.assign(5.0)
    x = tf.constant([3.0, -1.0])
    assert outcomes(twice, x) == outcomes(made, x)
    assert int(twice.calls) == 2
    assert twice.signatures["serving_default"](rows=[1.0])["output_0"].numpy() == 5.0


def test_inside_another_object_that_is_saved(tmp_path):
    inner = again(square(), tmp_path / "inner")
    outer = module(inner=inner)
    outer.f = tf.function(lambda x: inner.f(x) + 1.0, input_signature=[ROWS])
    outer.v = inner.v
    loaded = again(outer, tmp_path / "outer")
    x = tf.constant([3.0, -1.0])
    assert outcomes(loaded, x) == outcomes(outer, x)
    assert loaded.inner.v is loaded.v
    np.testing.assert_allclose(loaded.inner.f(x) + 1.0, loaded.f(x))


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))])
def test_copies_have_their_own_variables(tmp_path, copied):
    loaded = again(square(), tmp_path)
    loaded.f([1.0])
    other = copied(loaded)
    other.v.assign(7.0)
    assert (loaded.f([1.0]).numpy(), other.f([1.0]).numpy()) == (2.0, 7.0)
    assert (int(loaded.calls), int(other.calls)) == (2, 2)


def test_a_checkpoint_of_it(tmp_path):
    made = square()
    loaded = again(made, tmp_path / "saved")
    loaded.v.assign(7.0)
    path = tf.train.Checkpoint(loaded).save(tmp_path / "ckpt")
    tf.train.Checkpoint(made).restore(path).assert_consumed()
    assert made.v.numpy() == 7.0


def test_where_functions_run_eagerly(tmp_path):
    loaded = again(square(), tmp_path)
    tf.config.run_functions_eagerly(True)
    try:
        x = tf.constant([3.0])
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = loaded.f(x)
        assert (y.numpy(), tape.gradient(y, x).numpy()) == (18.0, 12.0)
    finally:
        tf.config.run_functions_eagerly(False)
    assert int(loaded.calls) == 1


def test_kinds_with_open_sizes_that_were_asked_for(tmp_path):
    f = tf.function(lambda x: x * 2.0)
    f.get_concrete_function(ROWS)
    f(tf.constant([1.0, 2.0]))  # of that kind
    f(tf.constant(1.0))  # of another
    for folder in ("first", "second"):
        loaded = again(module(f=f), tmp_path / folder)
        assert len(loaded.f.concrete_functions) == 2
    assert loaded.f([1.0] * 5).numpy().tolist() == [2.0] * 5
    assert loaded.f(3.0).numpy() == 6.0


@pytest.mark.parametrize(
    ("function", "arguments", "expected"),
    [
        (lambda x, fill=float("nan"): x + 1.0, (), 2.0),
        (lambda x, dtype=tf.float64: tf.cast(x, dtype), (tf.float64,), 1.0),
        (lambda x, mode="up", *, by=None: x if by is None else -x, ("up",), 1.0),
        (lambda x, pair=ONE: x * pair.b, (ONE,), 2.5),
    ],
)
def test_plain_arguments(tmp_path, function, arguments, expected):
    made = tf.function(function)
    made(tf.constant(1.0))
    loaded = again(module(f=made), tmp_path)
    assert loaded.f(tf.constant(1.0)).numpy() == expected
    assert loaded.f(tf.constant(1.0), *arguments).numpy() == expected


def test_named_tuples_are_tuples_when_they_are_loaded(tmp_path):
    made = tf.function(lambda p: Pair(p.b, p.a), input_signature=[Pair(ROWS, ROWS)])
    found = again(module(f=made), tmp_path).f(Pair([1.0], [2.0, 3.0]))
    assert [value.numpy().tolist() for value in found] == [[2.0, 3.0], [1.0]]


def test_names_of_inputs_that_are_the_same(tmp_path):
    spec = tf.TensorSpec([], name="x")
    made = tf.function(lambda a, b: a - b, input_signature=[spec, spec])
    signature = again(module(), tmp_path, signatures=made).signatures["serving_default"]
    assert signature(x=5.0, x_1=3.0)["output_0"].numpy() == 2.0


def test_a_variable_whose_shape_is_open(tmp_path):
    loaded = again(module(v=tf.Variable([1.0], shape=[None])), tmp_path)
    loaded.v.assign([1.0, 2.0])
    assert loaded.v.shape.as_list() == [None]


def test_no_rows_are_refused(tmp_path):
    with pytest.raises(ValueError, match="open sizes are at least 1"):
        again(square(), tmp_path).f(tf.zeros([0]))


@pytest.mark.parametrize(
    ("thing", "signatures", "said"),
    [
        (module(signatures=tf.Variable(1.0)), None, "attribute 'signatures'"),
        ({"v": tf.Variable(1.0)}, tf.function(lambda: 1, input_signature=[]), "cannot have sign"),
    ],
)
def test_what_cannot_have_its_name(tmp_path, thing, signatures, said):
    with pytest.raises(ValueError, match=said):
        tf.saved_model.save(thing, tmp_path, signatures)


def test_an_attribute_called_optimizer(tmp_path):
    assert again(module(optimizer=module(v=tf.Variable(3.0))), tmp_path).optimizer.v.numpy() == 3.0


@pytest.mark.parametrize(
    ("argument", "error", "said"),
    [
        (tf.constant(["a"]), ValueError, "holds strings"),
        (tf.sparse.from_dense([[1.0, 0.0]]), TypeError, "a SavedModel can hold tensors"),
    ],
    ids=["strings", "sparse"],
)
def test_arguments_that_cannot_be_saved(tmp_path, argument, error, said):
    made = tf.function(lambda x: 1.0)
    made.get_concrete_function(argument)
    with pytest.raises(error, match=said):
        tf.saved_model.save(module(f=made), tmp_path)
    assert not tf.saved_model.contains_saved_model(tmp_path)
