"""A checkpoint's values, read without the objects that it was saved from."""

import os
import threading

import pytest

import gradtape as tf

ENDING = "/.ATTRIBUTES/VARIABLE_VALUE"


@pytest.fixture
def saved(tmp_path):
    checkpoint = tf.train.Checkpoint(
        w=tf.Variable([1.0, 2.0]),
        more={
            "a": tf.Variable(3, dtype=tf.int64),
            "s": tf.Variable("text"),
            "empty": tf.Variable([]),
        },
    )
    return checkpoint.save(str(tmp_path / "model"))


def test_names_shapes_and_dtypes_are_tensorflows(saved):
    assert tf.train.list_variables(saved) == [
        (f"more/a{ENDING}", []),
        (f"more/empty{ENDING}", [0]),
        (f"more/s{ENDING}", []),
        (f"save_counter{ENDING}", []),
        (f"w{ENDING}", [2]),
    ]
    reader = tf.train.load_checkpoint(saved)
    kinds = reader.get_variable_to_dtype_map()
    assert kinds[f"more/s{ENDING}"] == tf.string
    assert kinds[f"more/a{ENDING}"] == tf.int64
    assert reader.has_tensor(f"w{ENDING}")
    assert not reader.has_tensor("w")
    assert f"w{ENDING} (float32) [2]" in reader.debug_string().decode()


def test_values_are_the_readers_own(saved):
    reader = tf.train.load_checkpoint(saved)
    first = reader.get_tensor(f"w{ENDING}")
    first[0] = 100.0
    assert reader.get_tensor(f"w{ENDING}").tolist() == [1.0, 2.0]
    assert reader.get_tensor(f"more/s{ENDING}") == b"text"
    assert tf.train.load_variable(os.path.dirname(saved), f"more/a{ENDING}") == 3  # noqa: PTH120


def test_what_is_not_there(saved, tmp_path):
    with pytest.raises(tf.errors.NotFoundError, match=r"has no value 'w'.*w/\.ATTRIBUTES"):
        tf.train.load_variable(saved, "w")
    with pytest.raises(tf.errors.NotFoundError, match="no checkpoint"):
        tf.train.list_variables(tmp_path / "other")
    (tmp_path / "empty").mkdir()
    with pytest.raises(ValueError, match="no checkpoint in the folder"):
        tf.train.load_checkpoint(tmp_path / "empty")


def test_the_state_of_a_folder(tmp_path):
    manager = tf.train.CheckpointManager(
        tf.train.Checkpoint(w=tf.Variable(1.0)), tmp_path, max_to_keep=2
    )
    paths = [manager.save() for _ in range(3)]
    state = tf.train.get_checkpoint_state(tmp_path)
    assert state.model_checkpoint_path == paths[-1]
    assert state.all_model_checkpoint_paths == paths[1:]
    assert len(state.all_model_checkpoint_timestamps) == 2


def test_each_new_checkpoint_is_met_once(tmp_path):
    checkpoint = tf.train.Checkpoint(w=tf.Variable(1.0))
    first = checkpoint.save(tmp_path / "model")
    found = tf.train.checkpoints_iterator(tmp_path, timeout=10)
    assert next(found) == first
    later = threading.Timer(0.1, lambda: checkpoint.save(tmp_path / "model"))
    later.start()
    assert next(found) == str(tmp_path / "model-2")
    later.join()


def test_after_a_wait_in_vain_it_asks_whether_to_go_on(tmp_path):
    asked = []
    found = tf.train.checkpoints_iterator(
        tmp_path, timeout=0.01, timeout_fn=lambda: asked.append(1) or len(asked) == 2
    )
    assert list(found) == []
    assert len(asked) == 2
    assert list(tf.train.checkpoints_iterator(tmp_path, timeout=0)) == []
