"""`tf.train.CheckpointManager` and `tf.train.latest_checkpoint`:
which checkpoints a folder keeps, and which is the latest.
"""

import json
from pathlib import Path

import pytest

import gradtape as tf
import gradtape.train
from gradtape.api.tensorflow.checkpoint import manager as manager_module


def names(folder):
    return sorted(path.name.removesuffix(".safetensors") for path in Path(folder).iterdir())


def made(folder, max_to_keep=2, **options):
    return tf.train.CheckpointManager(
        tf.train.Checkpoint(v=tf.Variable(1.0)), folder, max_to_keep, **options
    )


def test_the_latest_are_kept(tmp_path):
    manager = made(tmp_path / "a" / "b")
    assert (manager.latest_checkpoint, manager.checkpoints, manager.checkpoint_interval) == (
        None,
        [],
        None,
    )
    assert not (tmp_path / "a").exists()
    paths = [manager.save() for _ in range(4)]
    assert paths == [str(tmp_path / "a" / "b" / f"ckpt-{number}") for number in (1, 2, 3, 4)]
    assert manager.checkpoints == paths[2:]
    assert manager.latest_checkpoint == paths[3]
    assert names(manager.directory) == ["checkpoint", "ckpt-3", "ckpt-4"]
    assert int(manager.checkpoint.save_counter) == 4


def test_the_next_process_goes_on(tmp_path):
    first = made(tmp_path)
    for value in (1.0, 2.0, 3.0):
        first.checkpoint.v.assign(value)
        first.save()
    second = made(tmp_path, max_to_keep=1)
    assert second.checkpoints == first.checkpoints
    assert second.restore_or_initialize() == first.latest_checkpoint
    assert float(second.checkpoint.v) == 3.0
    assert second.save() == str(tmp_path / "ckpt-4")
    assert names(tmp_path) == ["checkpoint", "ckpt-4"]


def test_a_folder_can_be_moved(tmp_path):
    made(tmp_path / "old").save()
    (tmp_path / "old").rename(tmp_path / "new")
    assert tf.train.latest_checkpoint(tmp_path / "new") == str(tmp_path / "new" / "ckpt-1")
    assert made(tmp_path / "new").checkpoints == [str(tmp_path / "new" / "ckpt-1")]


def test_none_keeps_all(tmp_path):
    manager = made(tmp_path, max_to_keep=None, checkpoint_name="model")
    for _ in range(3):
        manager.save()
    assert names(tmp_path) == ["checkpoint", "model-1", "model-2", "model-3"]
    assert len(made(tmp_path, max_to_keep=None).checkpoints) == 3


@pytest.mark.parametrize(
    "number", [10, tf.constant(10), tf.Variable(10)], ids=["int", "tensor", "variable"]
)
def test_numbers_of_ones_own(tmp_path, number):
    manager = made(tmp_path)
    assert manager.save(checkpoint_number=number) == str(tmp_path / "ckpt-10")
    assert manager.save() == str(tmp_path / "ckpt-2")
    manager.save(checkpoint_number=number)
    assert [Path(path).name for path in manager.checkpoints] == ["ckpt-2", "ckpt-10"]
    assert manager.latest_checkpoint == str(tmp_path / "ckpt-10")


def test_an_interval_of_steps(tmp_path):
    step = tf.Variable(0)
    manager = made(tmp_path, max_to_keep=None, step_counter=step, checkpoint_interval=3)
    saved_at = []
    for _ in range(8):
        if manager.save() is not None:
            saved_at.append(int(step))
        step.assign_add(1)
    assert saved_at == [0, 3, 6]
    assert manager.save(check_interval=False) is not None
    assert manager.checkpoint_interval == 3


def test_the_interval_goes_on_after_restoring(tmp_path):
    def program():
        step = tf.Variable(0)
        return step, tf.train.CheckpointManager(
            tf.train.Checkpoint(step=step), tmp_path, 2, step_counter=step, checkpoint_interval=3
        )

    step, manager = program()
    step.assign(5)
    manager.save()
    step, manager = program()
    manager.restore_or_initialize()
    assert manager.save() is None
    step.assign(8)
    assert manager.save() is not None


def test_some_are_kept_for_good(tmp_path, monkeypatch):
    now = 1e9
    monkeypatch.setattr(manager_module.time, "time", lambda: now)
    manager = made(tmp_path, max_to_keep=1, keep_checkpoint_every_n_hours=1)
    for _ in range(4):
        manager.save()
        now += 1801
    assert names(tmp_path) == ["checkpoint", "ckpt-1", "ckpt-3", "ckpt-4"]
    manager = made(tmp_path, max_to_keep=1, keep_checkpoint_every_n_hours=1)
    manager.restore_or_initialize()
    for _ in range(3):
        manager.save()
        now += 1801
    assert names(tmp_path) == ["checkpoint", "ckpt-1", "ckpt-3", "ckpt-5", "ckpt-7"]


def test_init_fn_is_for_new_folders(tmp_path):
    manager = made(tmp_path, init_fn=lambda: manager.checkpoint.v.assign(7.0))
    assert manager.restore_or_initialize() is None
    assert float(manager.checkpoint.v) == 7.0
    manager.save()
    manager.checkpoint.v.assign(0.0)
    assert manager.restore_or_initialize() == manager.latest_checkpoint
    assert float(manager.checkpoint.v) == 7.0
    assert made(tmp_path / "new").restore_or_initialize() is None


def test_a_deletion_that_was_interrupted_is_made_up_for(tmp_path, monkeypatch):
    manager = made(tmp_path, max_to_keep=1)
    manager.save()
    with monkeypatch.context() as broken:
        broken.setattr(manager_module.Path, "unlink", lambda *_args, **_options: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            manager.save()
    assert names(tmp_path) == ["checkpoint", "ckpt-1", "ckpt-2"]
    made(tmp_path, max_to_keep=1).save(checkpoint_number=3)
    assert names(tmp_path) == ["checkpoint", "ckpt-3"]


def test_checkpoints_that_a_user_removed_are_passed_over(tmp_path):
    manager = made(tmp_path)
    paths = [manager.save(), manager.save()]
    Path(f"{paths[1]}.safetensors").unlink()
    assert tf.train.latest_checkpoint(tmp_path) == paths[0]
    assert made(tmp_path).checkpoints == paths[:1]
    Path(f"{paths[0]}.safetensors").unlink()
    assert tf.train.latest_checkpoint(tmp_path) is None


def test_a_manager_takes_over_what_save_has_begun(tmp_path):
    checkpoint = tf.train.Checkpoint(v=tf.Variable(1.0))
    checkpoint.save(tmp_path / "ckpt")
    manager = tf.train.CheckpointManager(checkpoint, tmp_path, 2)
    manager.save()
    assert len(made(tmp_path).checkpoints) == 2
    manager.save()
    assert names(tmp_path) == ["checkpoint", "ckpt-2", "ckpt-3"]


def test_latest_checkpoint_of_nothing(tmp_path):
    assert tf.train.latest_checkpoint(tmp_path) is None
    assert tf.train.latest_checkpoint(tmp_path / "nowhere") is None
    made(tmp_path).save()
    assert tf.train.latest_checkpoint(tmp_path, "another_name") is None


@pytest.mark.parametrize(
    "text",
    ["", "[]", "{}", 'model_checkpoint_path: "ckpt-1"\nand more'],
    ids=["empty", "list", "dict", "tensorflow"],
)
def test_a_state_file_of_others_is_refused(tmp_path, text):
    (tmp_path / "checkpoint").write_text(text)
    with pytest.raises(tf.errors.DataLossError, match="so the latest is not known"):
        tf.train.latest_checkpoint(tmp_path)


def test_the_state_file_is_json(tmp_path):
    made(tmp_path).save()
    state = json.loads((tmp_path / "checkpoint").read_text())
    assert (state["model_checkpoint_path"], state["all_model_checkpoint_paths"]) == (
        "ckpt-1",
        ["ckpt-1"],
    )


@pytest.mark.parametrize(
    ("arguments", "error", "said"),
    [
        ({"max_to_keep": 0}, ValueError, "positive number, or None"),
        ({"max_to_keep": -1}, ValueError, "got -1"),
        ({"checkpoint_interval": 3}, ValueError, "step_counter"),
        ({"checkpoint": tf.Variable(1.0)}, TypeError, "must be a tf.train.Checkpoint"),
        (
            {"checkpoint_name": "models/ckpt"},
            ValueError,
            "checkpoint_name must be the name of a file.*'models/ckpt'.*as directory",
        ),
        ({"checkpoint_name": "/ckpt"}, ValueError, "checkpoint_name"),
        ({"checkpoint_name": "../ckpt"}, ValueError, "checkpoint_name"),
        ({"checkpoint_name": ".."}, ValueError, "checkpoint_name"),
        ({"checkpoint_name": "ck\0pt"}, ValueError, "checkpoint_name"),
        ({"checkpoint_name": ""}, ValueError, "checkpoint_name"),
        ({"checkpoint_name": 5}, ValueError, "checkpoint_name"),
    ],
)
def test_wrong_arguments(tmp_path, arguments, error, said):
    with pytest.raises(error, match=said):
        tf.train.CheckpointManager(
            **{"checkpoint": tf.train.Checkpoint(), "directory": tmp_path, "max_to_keep": 1}
            | arguments
        )


def test_a_wrong_number_saves_nothing(tmp_path):
    manager = made(tmp_path)
    with pytest.raises((TypeError, ValueError), match="checkpoint_number"):
        manager.save(checkpoint_number="last")
    assert int(manager.checkpoint.save_counter) == 0
    assert names(tmp_path) == []
