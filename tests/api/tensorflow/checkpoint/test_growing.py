"""Entries that lists and dicts get after `restore` get their values then, as in TensorFlow."""

import copy
import pickle

import pytest

import gradtape as tf


def zeros(count):
    return [tf.Variable(0.0) for _ in range(count)]


def append(held, new):
    for variable in new:
        held.append(variable)


def extend(held, new):
    held.extend(iter(new))


def extend_in_two_steps(held, new):
    held.extend(new[:1])
    held.extend(new[1:])


def add(held, new):
    held += new


def insert_at_the_end(held, new):
    for variable in new:
        held.insert(100, variable)


def set_each(held, new):
    held.extend([None] * len(new))
    for place, variable in enumerate(new):
        held[place - len(new)] = variable


def set_a_slice(held, new):
    held[:] = new


def set_a_slice_backwards(held, new):
    held.extend([None] * len(new))
    held[::-1] = new[::-1]


def set_keys(held, new):
    for key, variable in zip("abc", new, strict=True):
        held[key] = variable


def update(held, new):
    held.update(zip("ab", new[:2], strict=True), c=new[2])


def join(held, new):
    held |= dict(zip("abc", new, strict=True))


def set_defaults(held, new):
    for key, variable in zip("abc", new, strict=True):
        assert held.setdefault(key, variable) is held.setdefault(key, None)


LISTS = [append, extend, extend_in_two_steps, add, insert_at_the_end, set_each, set_a_slice,
         set_a_slice_backwards]  # fmt: skip
DICTS = [set_keys, update, join, set_defaults]
HOLDERS = {"checkpoint": tf.train.Checkpoint, "module": tf.Module}


def saved(tmp_path, kind):
    values = [tf.Variable(n + 1.0) for n in range(3)]
    held = values if kind is list else dict(zip("abc", values, strict=True))
    return tf.train.Checkpoint(net=tf.train.Checkpoint(held=held, nested=[{"in": held}])).write(
        tmp_path / "file"
    )


def numbers(held):
    return [float(v) for v in (held.values() if isinstance(held, dict) else held)]


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("holder", HOLDERS.values(), ids=HOLDERS)
@pytest.mark.parametrize("way", [*LISTS, *DICTS], ids=lambda way: way.__name__)
def test_new_entries_get_their_values(tmp_path, way, holder, when):
    kind = list if way in LISTS else dict
    path = saved(tmp_path, kind)
    net = holder()
    if when == "before":
        net.held = kind()
    status = tf.train.Checkpoint(net=net).restore(path)
    if when == "after":
        net.held = kind()
    assert isinstance(net.held, kind)
    new = zeros(3)
    way(net.held, new)
    assert [float(v) for v in new] == numbers(net.held) == [1.0, 2.0, 3.0]
    status.assert_consumed()


@pytest.mark.parametrize("kind", [list, dict])
def test_new_entries_of_nested_ones_too(tmp_path, kind):
    path = saved(tmp_path, kind)
    net = tf.train.Checkpoint()
    tf.train.Checkpoint(net=net).restore(path)
    net.nested = []
    net.nested.append({})
    net.nested[0]["in"] = kind()
    new = zeros(3)
    (append if kind is list else set_keys)(net.nested[0]["in"], new)
    assert [float(v) for v in new] == [1.0, 2.0, 3.0]


@pytest.mark.parametrize("kind", [list, dict])
def test_they_are_lists_and_dicts_elsewhere(tmp_path, kind):
    path = saved(tmp_path, kind)
    net = tf.Module()
    tf.train.Checkpoint(net=net).restore(path)
    net.held = kind()
    new = zeros(2)
    for key, variable in zip("ba", new, strict=True):
        if kind is list:
            net.held.append(variable)
        else:
            net.held[key] = variable
    plain = kind(net.held)
    assert net.held == plain
    assert repr(net.held) == repr(plain)
    assert tf.nest.flatten(net.held) == tf.nest.flatten(plain)
    assert type(tf.nest.map_structure(float, net.held)) is kind
    assert {id(v) for v in net.variables} == {id(v) for v in new}
    for copied in (copy.copy(net.held), copy.deepcopy(net.held), net.held.copy()):
        assert type(copied) is kind
    assert type(pickle.loads(pickle.dumps(copy.deepcopy(net.held)))) is kind


def test_what_the_program_has_elsewhere_is_left_alone(tmp_path):
    path = saved(tmp_path, list)
    mine = []
    net = tf.train.Checkpoint(held=mine)
    tf.train.Checkpoint(net=net).restore(path)
    assert net.held is mine


def test_one_list_under_two_names_stays_one(tmp_path):
    one = zeros(2)
    path = tf.train.Checkpoint(a=one, b=one).write(tmp_path / "file")
    checkpoint = tf.train.Checkpoint()
    checkpoint.restore(path)
    checkpoint.a = checkpoint.b = []
    assert checkpoint.a is checkpoint.b
    checkpoint.c = []
    assert type(checkpoint.c) is list  # no value waits for it


def test_the_last_restore_counts(tmp_path):
    paths = [
        tf.train.Checkpoint(held=[tf.Variable(n), tf.Variable(n + 1.0)]).write(tmp_path / f"{n}")
        for n in (1.0, 5.0)
    ]
    checkpoint = tf.train.Checkpoint()
    checkpoint.restore(paths[0])
    checkpoint.held = zeros(1)
    checkpoint.restore(paths[1])
    checkpoint.held.append(tf.Variable(0.0))
    assert numbers(checkpoint.held) == [5.0, 6.0]


def test_an_entry_that_does_not_fit_is_refused_and_not_added(tmp_path):
    path = saved(tmp_path, list)
    net = tf.train.Checkpoint()
    tf.train.Checkpoint(net=net).restore(path)
    net.held = []
    with pytest.raises(ValueError, match="has shape"):
        net.held.append(tf.Variable([1.0]))
    assert net.held == []
    net.held.append(tf.Variable(0.0))
    assert numbers(net.held) == [1.0]
