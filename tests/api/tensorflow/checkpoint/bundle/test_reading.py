"""Checkpoints that TensorFlow wrote, of which small ones lie beside this file: they are restored,
and any damage to them is refused.

`module` holds an `Everything` and a step, `keras3` and `keras2` a model of three layers after two
steps, written by `tf.train.Checkpoint` and by Keras 2's `save_weights`, `keras3_subclassed` and
`keras2_subclassed` a `Net` after two steps of Adam, `by_name` what TensorFlow 1 saved, and `sliced`
what it saved of partitioned variables, in three files. tests_tf writes and reads others.
"""

import shutil
from pathlib import Path

import numpy as np
import pytest

import gradtape as tf
from gradtape import keras
from gradtape.api.tensorflow.checkpoint.bundle import wire
from gradtape.api.tensorflow.checkpoint.bundle.table import entries
from gradtape.api.tensorflow.checkpoint.layout import DamagedError
from gradtape.api.tensorflow.checkpoint.tensor_file import read_tensors

FILES = Path(__file__).parent / "written_by_tensorflow"
INPUTS = np.linspace(-1, 1, 12, dtype="float32").reshape(4, 3)
# What the models predicted for the inputs where they were saved.
PREDICTED = {
    "keras3/ckpt-1": [
        [0.6254241466522217, 0.31603920459747314],
        [0.5001277923583984, 0.1944793164730072],
        [0.3359251320362091, 0.08419233560562134],
        [0.2010328471660614, -0.016697198152542114],
    ],
    "keras2/weights": [
        [-0.0021257251501083374, 0.7199448347091675],
        [-0.041496649384498596, 0.6098946928977966],
        [0.08339951932430267, 0.19030913710594177],
        [0.18236510455608368, -0.05301833152770996],
    ],
    "keras3_subclassed": [
        [-0.24467399716377258, -0.3765133321285248, 0.30672040581703186],
        [-0.06368955969810486, -0.07381753623485565, 0.11437907814979553],
        [0.1447959542274475, 0.25627243518829346, -0.11802010983228683],
        [0.26346322894096375, 0.46735188364982605, -0.3074386417865753],
    ],
    "keras2_subclassed": [
        [0.14492444694042206, -0.5211808085441589, -0.6160167455673218],
        [0.02033749409019947, -0.11948385089635849, -0.13653509318828583],
        [-0.10837337374687195, 0.3037784993648529, 0.4000491201877594],
        [-0.22021955251693726, 0.6349481344223022, 0.7842448949813843],
    ],
}
# The sums of the magnitudes of Adam's momenta there.
MOMENTA = {
    "keras3": [0.5251040458679199, 0.0628674179315567, 0.24124111235141754, 0.06908818334341049],
    "keras2": [0.03893756866455078, 0.01305132545530796, 0.14293670654296875, 0.048011817038059235],
}


class Everything(tf.Module):
    def __init__(self):
        super().__init__()
        self.floats = tf.Variable(np.zeros((2, 3), "float32"))
        self.listed = [tf.Variable(0), {"flag": tf.Variable([False, False])}]
        self.texts = tf.Variable(["", "", ""])
        self.numbers = tf.Variable([0j, 0j])
        self.half = tf.Variable(tf.cast([0.0, 0.0], tf.bfloat16))
        self.nothing = tf.Variable(np.zeros((0, 3), "float64"))
        self.scalar = tf.Variable(np.int8(0))


def program():
    return tf.train.Checkpoint(everything=Everything(), step=tf.Variable(0, dtype=tf.int64))


def values(checkpoint):
    thing = checkpoint.everything
    return [
        v.numpy().tolist()
        for v in (
            thing.floats, thing.listed[0], thing.listed[1]["flag"], thing.texts, thing.numbers,
            thing.half, thing.nothing, thing.scalar, checkpoint.step, checkpoint.save_counter,
        )
    ]  # fmt: skip


SAVED = [
    [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]], 5, [True, False],
    [b"", b"a", "ünïcode \x00 and more".encode()], [1 + 2j, 3 - 4j], [1.5, -2.5], [], -7, 7, 1,
]  # fmt: skip


def model():
    made = keras.Sequential(
        [
            keras.Input((3,)),
            keras.layers.Dense(4, activation="tanh"),
            keras.layers.BatchNormalization(),
            keras.layers.Dense(2),
        ]
    )
    made.compile(keras.optimizers.Adam(0.1), "mse")
    made.optimizer.build(made.trainable_variables)
    return made


def test_objects_and_every_dtype():
    checkpoint = program()
    checkpoint.restore(FILES / "module/ckpt-1").assert_consumed()
    assert values(checkpoint) == SAVED


@pytest.mark.parametrize("path", ["module/ckpt-1.index", "module/ckpt-1"])
def test_what_a_path_may_be(path):
    checkpoint = program()
    checkpoint.read(str(FILES / path)).assert_existing_objects_matched()
    assert values(checkpoint) == SAVED


def test_the_variables_of_a_saved_model(tmp_path):
    folder = tmp_path / "saved_model" / "variables"
    folder.mkdir(parents=True)
    for file in (FILES / "module").glob("ckpt-1.*"):
        shutil.copy(file, folder / file.name.replace("ckpt-1", "variables"))
    checkpoint = program()
    checkpoint.restore(tmp_path / "saved_model").assert_consumed()
    assert values(checkpoint) == SAVED


def test_an_attribute_that_is_made_later():
    checkpoint = tf.train.Checkpoint()
    checkpoint.restore(FILES / "module/ckpt-1")
    checkpoint.everything = Everything()
    assert checkpoint.everything.floats.numpy().tolist() == SAVED[0]


def test_a_model_of_keras_3_with_its_optimizer():
    made = model()
    checkpoint = tf.train.Checkpoint(model=made, optimizer=made.optimizer)
    checkpoint.restore(FILES / "keras3/ckpt-1").assert_consumed()
    np.testing.assert_allclose(
        made.predict(INPUTS, verbose=0), PREDICTED["keras3/ckpt-1"], 1e-5, 1e-6
    )
    assert int(made.optimizer.iterations) == 2
    assert np.abs(made.optimizer.variables[2].numpy()).max() > 0


def test_layers_that_are_numbered_differently():
    model()
    made = model()  # dense_2, dense_3
    tf.train.Checkpoint(model=made).restore(FILES / "keras3/ckpt-1")
    np.testing.assert_allclose(
        made.predict(INPUTS, verbose=0), PREDICTED["keras3/ckpt-1"], 1e-5, 1e-6
    )


def test_weights_of_keras_2():
    made = model()
    status = tf.train.Checkpoint(made).restore(FILES / "keras2/weights")
    with pytest.raises(AssertionError, match=r"optimizer/adam.*_velocity"):
        status.assert_existing_objects_matched()
    np.testing.assert_allclose(
        made.predict(INPUTS, verbose=0), PREDICTED["keras2/weights"], 1e-5, 1e-6
    )


class Net(keras.Model):
    def __init__(self):
        super().__init__()
        self.first = keras.layers.Dense(3, activation="tanh")
        self.drop = keras.layers.Dropout(0.1)
        self.last = keras.layers.Dense(3)

    def call(self, x, training=False):
        return self.last(self.drop(self.first(x), training=training))


@pytest.mark.parametrize("version", ["keras3", "keras2"])
@pytest.mark.parametrize("before", [0, 2], ids=["first", "third"])
def test_a_subclassed_model_with_its_optimizer_and_a_step(version, before):
    for _ in range(before):  # so that the layers have other numbers than in the file
        Net()(INPUTS)
    net, step, optimizer = Net(), tf.Variable(0), keras.optimizers.Adam(0.5)
    net(INPUTS)
    optimizer.build(net.trainable_variables)
    checkpoint = tf.train.Checkpoint(step=step, optimizer=optimizer, net=net)
    status = checkpoint.restore(FILES / f"{version}_subclassed/ckpt-1")
    status.assert_existing_objects_matched()
    np.testing.assert_allclose(net(INPUTS), PREDICTED[f"{version}_subclassed"], 1e-5, 1e-6)
    assert (int(step), int(optimizer.iterations)) == (7, 2)
    assert float(optimizer.learning_rate) == pytest.approx(0.01)
    found = [float(tf.reduce_sum(tf.abs(v))) for v in optimizer.variables[2::2]]
    np.testing.assert_allclose(found, MOMENTA[version], rtol=1e-5)


def test_values_by_name_only():
    checkpoint = tf.train.Checkpoint(a=tf.Variable([0.0, 0.0]))
    with pytest.raises(ValueError, match="by name only, as TensorFlow 1 saved them"):
        checkpoint.restore(FILES / "by_name/model")
    assert read_tensors(FILES / "by_name/model").arrays["layer/a"].tolist() == [1.0, 2.0]


@pytest.mark.parametrize(
    ("folder", "name"), [("module", "ckpt-1"), ("keras2", "weights"), ("by_name", "model")]
)
def test_the_latest_of_a_folder(folder, name):
    assert tf.train.latest_checkpoint(FILES / folder) == str(FILES / folder / name)


@pytest.mark.parametrize("name", ["..", "", "a/..", "\\\\..", "a\\000"])
def test_a_state_file_that_names_no_checkpoint(tmp_path, name):
    (tmp_path / "checkpoint").write_text(f'model_checkpoint_path: "{name}"\n')
    with pytest.raises(tf.errors.DataLossError, match="does not name a checkpoint"):
        tf.train.latest_checkpoint(tmp_path)


def test_a_manager_goes_on_where_tensorflow_was(tmp_path):
    for file in (FILES / "module").iterdir():
        shutil.copy(file, tmp_path)
    checkpoint = program()
    manager = tf.train.CheckpointManager(checkpoint, tmp_path, max_to_keep=1)
    assert manager.restore_or_initialize() == str(tmp_path / "ckpt-1")
    assert values(checkpoint) == SAVED
    assert manager.save() == str(tmp_path / "ckpt-2")
    assert tf.train.latest_checkpoint(tmp_path) == str(tmp_path / "ckpt-2")


def test_shapes_and_dtypes_that_do_not_fit():
    checkpoint = program()
    checkpoint.everything.floats = tf.Variable([1.0])
    with pytest.raises(ValueError, match=r"shape \(2, 3\).*Nothing was restored"):
        checkpoint.restore(FILES / "module/ckpt-1")
    checkpoint = program()
    checkpoint.everything.scalar = tf.Variable(1.0)
    with pytest.raises(ValueError, match=r"is int8 .*Nothing was restored"):
        checkpoint.restore(FILES / "module/ckpt-1")
    assert int(checkpoint.step) == 0


def test_an_integer_takes_the_dtype_of_its_variable_if_it_fits(tmp_path):
    checkpoint = tf.train.Checkpoint(step=tf.Variable(np.uint8(0)))
    checkpoint.restore(FILES / "module/ckpt-1").expect_partial()
    assert checkpoint.step.numpy() == 7
    checkpoint = tf.train.Checkpoint(everything=Everything())
    checkpoint.everything.scalar = tf.Variable(np.uint8(3))
    with pytest.raises(ValueError, match="is int8"):
        checkpoint.restore(FILES / "module/ckpt-1")
    assert checkpoint.everything.scalar.numpy() == 3


@pytest.mark.parametrize("path", ["module/ckpt-1", "module"])
def test_values_without_objects(path):
    reader = tf.train.load_checkpoint(FILES / path)
    name = "everything/scalar/.ATTRIBUTES/VARIABLE_VALUE"
    assert reader.get_tensor(name) == -7
    assert (name, []) in tf.train.list_variables(FILES / path)
    assert tf.train.load_variable(FILES / "by_name/model", "layer/a").tolist() == [1.0, 2.0]


def test_values_in_slices():
    found = read_tensors(FILES / "sliced/model").arrays
    assert {key: (value.dtype.name, value.tolist()) for key, value in found.items()} == {
        "texts": ("object", [[b"a", b"", "ü".encode()], [b"d", b"e", b"f"]]),
        "w": ("float32", np.arange(12.0).reshape(4, 3).tolist()),
        "whole": ("int32", 7),
        "ü/long": ("int8", (np.arange(9000) % 100).tolist()),
    }


def test_the_single_file_of_the_first_versions(tmp_path):
    file = tmp_path / "model.ckpt"
    file.write_bytes((FILES / "by_name/model.index").read_bytes())  # it is such a table too
    for read in (tf.train.Checkpoint().restore, tf.train.load_checkpoint):
        with pytest.raises(tf.errors.NotFoundError, match=r"one file, as TensorFlow before 1\.0"):
            read(file)


class TestDamage:
    @pytest.fixture
    def copy(self, tmp_path):
        for file in [*(FILES / "module").glob("ckpt-1.*"), *(FILES / "sliced").iterdir()]:
            shutil.copy(file, tmp_path)
        return tmp_path / "ckpt-1"

    def outcome(self, path):
        """The contents as text, or 'refused'."""
        try:
            nodes, arrays, names = read_tensors(path)
        except tf.errors.DataLossError as error:
            return "refused" if str(path) in str(error) else str(error)
        return repr((nodes, {k: v.tolist() for k, v in arrays.items()}, names))

    FILES_OF_BOTH = (
        "ckpt-1.index", "ckpt-1.data-00000-of-00001", "model.index", "model.data-00000-of-00003",
    )  # fmt: skip

    @pytest.mark.parametrize("name", FILES_OF_BOTH)
    def test_no_flipped_bit_goes_unnoticed(self, copy, name):
        file = copy.with_name(name)
        copy = file.with_suffix("")
        whole, intact = file.read_bytes(), self.outcome(copy)
        refused = 0
        for at in range(len(whole)):
            changed = bytearray(whole)
            changed[at] ^= 1 << at % 8
            file.write_bytes(changed)
            found = self.outcome(copy)
            refused += found == "refused"
            assert found in ("refused", intact), at
        # Nothing reads the footer's padding and the table's own metadata, which are empty.
        assert refused > len(whole) - 64

    @pytest.mark.parametrize("name", FILES_OF_BOTH)
    def test_truncated_anywhere(self, copy, name):
        file = copy.with_name(name)
        whole = file.read_bytes()
        for size in range(0, len(whole), 7):
            file.write_bytes(whole[:size])
            assert self.outcome(file.with_suffix("")) == "refused", size

    def test_a_data_file_that_is_not_there(self, copy):
        copy.with_name("ckpt-1.data-00000-of-00001").unlink()
        checkpoint = program()
        with pytest.raises(tf.errors.DataLossError, match="data-00000-of-00001' is not there"):
            checkpoint.restore(copy)
        assert int(checkpoint.step) == 0


@pytest.mark.parametrize(
    "message",
    [b"\x80", b"\x80" * 11 + b"\x01", b"\x0a\x05ab", b"\x0b", b"\x0d\x00", b"\x09" + b"\x00" * 7],
)
def test_messages_that_end_too_early(message):
    with pytest.raises(DamagedError):
        wire.grouped(message)


def test_numbers_of_messages():
    assert wire.number([2**64 - 1]) == -1
    with pytest.raises(DamagedError, match="bytes where a number belongs"):
        wire.number([b""])
    with pytest.raises(DamagedError, match="number where bytes belong"):
        wire.parts([1])
    with pytest.raises(DamagedError, match="UTF-8"):
        wire.text([b"\xff"])


@pytest.mark.parametrize("size", [0, 47, 48, 1000])
def test_files_that_are_no_tables(size):
    with pytest.raises(DamagedError, match="does not end as a table"):
        list(entries(bytes(size)))
