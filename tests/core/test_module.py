"""`tf.Module`: which Variables and Modules it finds, in which order, and how things are named."""

import pytest

import gradtape as tf


class DenseLayer2D(tf.Module):
    def __init__(self, value=1.0, name=None):
        super().__init__(name)
        self.w = tf.Variable(value, name="w")
        self.b = tf.Variable(0.0, name="b", trainable=False)

    @tf.Module.with_name_scope
    def grow(self):
        return tf.Variable(1.0, name="grown")


@pytest.mark.parametrize(
    ("class_name", "expected"),
    [
        ("Dense", "dense"),
        ("DenseLayer2D", "dense_layer2_d"),
        ("MLP", "mlp"),
        ("MLPBlock", "mlp_block"),
        ("my_net", "my_net"),
    ],
)
def test_the_name_is_that_of_the_class_in_snake_case(class_name, expected):
    made = type(class_name, (tf.Module,), {})()
    assert made.name == expected
    without_init = type(class_name, (tf.Module,), {"__init__": lambda self: None})()
    assert without_init.name == expected


@pytest.mark.parametrize("name", ["two words", "3d", "", "a/b", "a-b"])
def test_a_name_that_is_no_identifier_is_refused(name):
    with pytest.raises(ValueError, match="valid Python identifier"):
        tf.Module(name=name)


def test_variables_come_in_the_order_of_attribute_names_and_those_of_submodules_after_them():
    net = tf.Module()
    net.z = tf.Variable(1.0, name="z")
    net.inner = DenseLayer2D()
    net.a = tf.Variable(2.0, name="a")
    assert [v.name for v in net.variables] == ["a:0", "z:0", "b:0", "w:0"]
    assert [v.name for v in net.trainable_variables] == ["a:0", "z:0", "w:0"]
    assert [v.name for v in net.non_trainable_variables] == ["b:0"]


def test_lists_tuples_and_dicts_are_looked_into():
    net = tf.Module()
    net.parts = [
        DenseLayer2D(1.0),
        (DenseLayer2D(2.0), {"k": DenseLayer2D(3.0), "free": tf.Variable(4.0)}),
    ]
    assert len(net.submodules) == 3
    assert sorted(float(v) for v in net.trainable_variables) == [1.0, 2.0, 3.0, 4.0]


def test_what_is_held_twice_or_in_a_circle_comes_once():
    net, shared = tf.Module(), DenseLayer2D()
    net.first, net.second, net.weight = shared, [shared], shared.w
    shared.owner = net
    assert net.submodules == (shared,)
    assert shared.submodules == (net,)
    assert [id(v) for v in net.variables] == [id(shared.w), id(shared.b)]


def test_what_is_replaced_or_deleted_is_gone():
    net = DenseLayer2D()
    net.w = tf.Variable(5.0)
    del net.b
    assert [float(v) for v in net.variables] == [5.0]


def test_variables_of_a_method_in_the_name_scope_are_named_behind_the_module():
    assert DenseLayer2D(name="top").grow().name == "top/grown:0"
    with tf.name_scope("outer"):
        assert DenseLayer2D(name="top").grow().name == "outer/top/grown:0"
    with DenseLayer2D(name="top").name_scope as scope:
        assert scope == "top/"
