"""Parts of Keras objects that a program makes by hand find their values by attribute, as in
TensorFlow, in files of gradtape's and of TensorFlow's.
"""

import numpy as np
import pytest

import gradtape as tf
from gradtape import keras


class Net(keras.Model):
    def __init__(self, dense_name=None):
        super().__init__()
        self.l1 = keras.layers.Dense(5, name=dense_name)
        self.blocks = [keras.layers.Dense(4), keras.layers.Dense(3)]
        self.heads = {"left": keras.layers.Dense(2)}
        self._hidden = keras.layers.Dense(2)

    def call(self, x):
        x = self.l1(x)
        for block in self.blocks:
            x = block(x)
        return self._hidden(self.heads["left"](x))


def made(dense_name=None):
    net = Net(dense_name)
    net(tf.ones((1, 6)))
    for number, variable in enumerate(net.variables):
        variable.assign(np.full(variable.shape, number + 1.0, "float32"))
    return net


def layers_by_path(net):
    return {
        ("l1",): net.l1,
        ("blocks", "0"): net.blocks[0],
        ("blocks", "1"): net.blocks[1],
        ("heads", "left"): net.heads["left"],
        ("_hidden",): net._hidden,
    }


def by_hand(path, layer):
    """Checkpoints that lead to a layer by attributes alone."""
    for name in reversed(path):
        layer = tf.train.Checkpoint(**{name: layer})
    return layer


@pytest.mark.parametrize("as_root", [False, True])
@pytest.mark.parametrize("spelling", ["kernel", "_kernel", "bias"])
@pytest.mark.parametrize("path", layers_by_path(Net()), ids="/".join)
def test_a_part_made_by_hand_gets_its_value(tmp_path, path, spelling, as_root):
    net = made()
    saved = tf.train.Checkpoint(net) if as_root else tf.train.Checkpoint(net=net)
    file = saved.write(tmp_path / "net")
    value = getattr(layers_by_path(net)[path], spelling).numpy()

    alone = tf.Variable(np.zeros_like(value))
    fake = by_hand(path, tf.train.Checkpoint(**{spelling: alone}))
    status = (fake if as_root else tf.train.Checkpoint(net=fake)).restore(file)
    np.testing.assert_array_equal(alone.numpy(), value)
    status.assert_existing_objects_matched()
    with pytest.raises(AssertionError, match="Values in the file without a Variable"):
        status.assert_consumed()


@pytest.mark.parametrize("path", layers_by_path(Net()), ids="/".join)
def test_a_layer_by_another_way_gets_its_values(tmp_path, path):
    net = made()
    file = tf.train.Checkpoint(net=net).write(tmp_path / "net")
    other = Net("of_another_name")
    other(tf.ones((1, 6)))
    layer = layers_by_path(other)[path]
    status = tf.train.Checkpoint(net=by_hand(path, layer)).restore(file)
    status.assert_existing_objects_matched()
    for got, wanted in zip(layer.weights, layers_by_path(net)[path].weights, strict=True):
        np.testing.assert_array_equal(got, wanted)


def test_a_later_attribute_gets_its_value(tmp_path):
    net = made()
    file = tf.train.Checkpoint(net=net).write(tmp_path / "net")
    fake = tf.train.Checkpoint(bias=tf.Variable(tf.zeros(5)))
    tf.train.Checkpoint(net=tf.train.Checkpoint(l1=fake)).restore(file)
    fake.kernel = tf.Variable(tf.zeros((6, 5)))
    np.testing.assert_array_equal(fake.kernel.numpy(), net.l1.kernel)


def test_a_part_made_by_hand_is_read_into_a_model(tmp_path):
    net = made()
    fake = tf.train.Checkpoint(bias=tf.Variable(tf.range(5.0)))
    file = tf.train.Checkpoint(net=tf.train.Checkpoint(l1=fake)).write(tmp_path / "part")
    kernel = net.l1.kernel.numpy()
    tf.train.Checkpoint(net=net).restore(file)
    assert net.l1.bias.numpy().tolist() == [0.0, 1.0, 2.0, 3.0, 4.0]
    np.testing.assert_array_equal(net.l1.kernel, kernel)


def test_a_renamed_layer_is_found_by_its_attribute_if_it_fits(tmp_path):
    net = made()
    file = tf.train.Checkpoint(net=net).write(tmp_path / "net")
    other = Net("renamed")
    other(tf.ones((1, 6)))
    tf.train.Checkpoint(net=other).restore(file).assert_consumed()
    np.testing.assert_array_equal(other.l1.kernel, net.l1.kernel)

    wider = Net("wider")
    wider(tf.ones((1, 7)))
    kernel = wider.l1.kernel.numpy()
    status = tf.train.Checkpoint(net=wider).restore(file)
    np.testing.assert_array_equal(wider.l1.kernel, kernel)
    np.testing.assert_array_equal(wider.l1.bias, net.l1.bias)
    with pytest.raises(AssertionError, match="wider/kernel"):
        status.assert_existing_objects_matched()


def test_layers_are_not_matched_by_where_they_stand(tmp_path):
    def model(*names):
        return keras.Sequential(
            [keras.Input((2,)), *(keras.layers.Dense(2, name=name) for name in names)]
        )

    file = tf.train.Checkpoint(model=model("a", "b")).write(tmp_path / "model")
    other = model("c", "b")
    before = other.layers[0].kernel.numpy()
    tf.train.Checkpoint(model=other).restore(file)
    np.testing.assert_array_equal(other.layers[0].kernel, before)


def test_attributes_add_no_values(tmp_path):
    net = made()
    vars(net)["myself"] = net  # a cycle
    file = tf.train.Checkpoint(net=net).write(tmp_path / "net")
    names = [name for name, _ in tf.train.list_variables(file)]
    assert len(names) == len(net.variables) + 1
    assert not any(".attributes" in name for name in names)


def test_what_has_children_of_its_own_is_saved_beside_a_model(tmp_path):
    def program():
        data = iter(tf.data.Dataset.range(5))
        return tf.train.Checkpoint(net=made(), data=data, inner=tf.train.Checkpoint(data=data))

    saved, restored = program(), program()
    next(saved.data)
    restored.restore(saved.write(tmp_path / "all")).assert_consumed()
    assert int(next(restored.data)) == 1
