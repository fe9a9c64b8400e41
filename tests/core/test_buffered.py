"""The buffer of a Variable: written in place only where nobody can see it, else replaced."""

import threading

import numpy as np
import pytest

import gradtape as tf


def pointer(v):
    return v.array.__array_interface__["data"][0]


def writes():
    one = [[1.0, 1.0, 1.0]]
    return {
        "assign": lambda v: v.assign(one),
        "assign_add": lambda v: v.assign_add(one),
        "assign_sub": lambda v: v.assign_sub(one),
        "scatter_update": lambda v: v.scatter_update(tf.IndexedSlices(one, [0])),
        "scatter_add": lambda v: v.scatter_add(tf.IndexedSlices(one, [0])),
        "a slice": lambda v: v[0].assign(one[0]),
    }


IN_PLACE = {name: write for name, write in writes().items() if name != "a slice"}  # it has a view


@pytest.mark.parametrize("write", IN_PLACE.values(), ids=IN_PLACE)
def test_a_buffer_that_nobody_else_has_is_written_in_place(write):
    v = tf.Variable([[5.0, 6.0, 7.0]])
    before = pointer(v)
    write(v)
    assert pointer(v) == before
    assert v.numpy()[0, 0] in (1.0, 4.0, 6.0)


@pytest.mark.parametrize("write", writes().values(), ids=writes())
@pytest.mark.parametrize(
    "read",
    [
        lambda v: v.read_value(),
        tf.convert_to_tensor,
        lambda v: v.array,
        lambda v: v.array[:, 1:],
        lambda v: memoryview(v.array),
        lambda v: tf.reshape(v, [3]),
    ],
    ids=["read_value", "convert", "array", "view", "memory", "reshape"],
)
def test_a_buffer_that_somebody_has_is_left_alone(write, read):
    v = tf.Variable([[5.0, 6.0, 7.0]])
    held = read(v)
    seen = np.array(held)
    write(v)
    np.testing.assert_array_equal(np.array(held), seen)
    assert v.numpy()[0, 0] in (1.0, 4.0, 6.0)


def test_with_other_threads_about_no_buffer_is_written_in_place():
    v = tf.Variable([5.0, 6.0])
    array = v.array
    assert v.owns(array)
    go, done = threading.Event(), threading.Event()
    thread = threading.Thread(target=lambda: (go.set(), done.wait()))
    thread.start()
    go.wait()
    try:
        address = pointer(v)
        assert not v.owns(array)
        v.assign([1.0, 2.0])
        assert pointer(v) != address
        np.testing.assert_array_equal(array, [5.0, 6.0])
    finally:
        done.set()
        thread.join()
    np.testing.assert_array_equal(v.numpy(), [1.0, 2.0])


def test_a_swap_is_refused_where_the_value_is_another_by_now():
    v = tf.Variable([1.0])
    seen = v.array
    v.assign([2.0])
    assert not v.swap(seen, np.array([3.0], np.float32))
    np.testing.assert_array_equal(v.numpy(), [2.0])
    assert v.swap(v.array, np.array([3.0], np.float32))
    np.testing.assert_array_equal(v.numpy(), [3.0])


def test_an_array_set_aside_comes_back_to_whoever_reads():
    v = tf.Variable([1.0, 2.0])
    known = vars(v)
    known["aside"] = known.pop("array")
    np.testing.assert_array_equal(v.numpy(), [1.0, 2.0])
    assert "aside" not in known


def test_a_variable_without_an_array_has_no_such_attribute():
    v = tf.Variable([1.0])
    del vars(v)["array"]
    with pytest.raises(AttributeError, match="no attribute 'array'"):
        v.numpy()


def test_a_write_forgets_what_a_function_has_left():
    v = tf.Variable([1.0, 2.0])
    double = tf.function(lambda: v.assign(v * 2.0))
    double()
    assert "held" in vars(v)
    v.assign_add([1.0, 1.0])
    assert "held" not in vars(v)
    double()
    np.testing.assert_array_equal(v.numpy(), [6.0, 10.0])


def test_a_read_that_finds_nothing_looks_again():
    """A signal handler may write between two questions."""
    v = tf.Variable([1.0, 2.0])
    array = vars(v).pop("array")

    class Known(dict):
        def __contains__(self, key):
            if key == "aside":
                self["array"] = array
            return super().__contains__(key)

    v.__dict__ = Known(vars(v))
    assert type(v).array.__get__(v) is array


@pytest.mark.parametrize("again", [1, 3])
def test_a_python_function_may_wait_for_threads_that_read_the_variables_of_its_function(again):
    v = tf.Variable([1.0, 2.0])

    def host(x):
        found = []
        threads = [
            threading.Thread(target=lambda: found.append(v.numpy()), daemon=True) for _ in range(3)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(20)
        assert len(found) == 3, "a thread that reads waits for the function that waits for it"
        return x + found[0]

    @tf.function
    def step(x):
        v.assign_add(tf.py_function(host, [x], tf.float32))
        return x

    expected = np.array([1.0, 2.0])
    for _ in range(again):
        step(tf.ones([2]))
        expected += 1.0 + expected
        v.numpy()
        step(tf.ones([2]))
        expected += 1.0 + expected
    np.testing.assert_array_equal(v.numpy(), expected)


# Classes of the user's


class KeepsItsArray:
    """Mixed in before `tf.Variable`: it has the array somewhere else."""

    @property
    def array(self):
        return self.__dict__["elsewhere"]

    @array.setter
    def array(self, value):
        self.__dict__["elsewhere"] = value


def test_a_class_may_get_its_array_from_another_one():
    class Mixed(KeepsItsArray, tf.Variable):
        pass

    v = Mixed([1.0, 2.0])
    assert v.keeps_array
    v.assign_add([1.0, 1.0])
    v.scatter_add(tf.IndexedSlices([10.0], [0]))

    @tf.function
    def double():
        v.assign(v * 2.0)
        return v + 1.0

    for expected in ([25.0, 7.0], [49.0, 13.0]):
        np.testing.assert_array_equal(double(), expected)
    np.testing.assert_array_equal(v.numpy(), [48.0, 12.0])


def test_a_class_may_have_attributes_of_its_own_making():
    class Open(tf.Variable):
        def __getattr__(self, name):
            if name.startswith("made_"):
                return name
            raise AttributeError(name)

    v = Open([1.0, 2.0])
    assert v.made_up == "made_up"
    assert not hasattr(v, "other")
    double = tf.function(lambda: v * 2.0)
    for _ in range(3):
        np.testing.assert_array_equal(double(), [2.0, 4.0])
    write = tf.function(lambda: v.assign_add([1.0, 1.0]))
    for _ in range(3):
        write()
    np.testing.assert_array_equal(v.numpy(), [4.0, 5.0])
