"""A folder of checkpoints that comes from anywhere: whatever its files say, nothing outside is
touched, and nothing of the user's.
"""

import json
import os
import time
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

import gradtape as tf
import gradtape.train
from gradtape.api.tensorflow.checkpoint import atomic_file

HOUR = 3600


def made(folder, max_to_keep=1, **options):
    return tf.train.CheckpointManager(
        tf.train.Checkpoint(v=tf.Variable(1.0)), folder, max_to_keep, **options
    )


def names(folder):
    return sorted(path.name for path in Path(folder).iterdir())


@pytest.fixture
def folder(tmp_path):
    """A folder with one checkpoint, beside one with files that nobody may delete."""
    outside = tmp_path / "outside"
    tf.train.Checkpoint(v=tf.Variable(1.0)).write(outside / "precious")
    (outside / "sub").mkdir()
    tf.train.Checkpoint(v=tf.Variable(1.0)).write(outside / "sub" / "precious")
    made(tmp_path / "run").save()
    yield tmp_path / "run"
    assert names(outside) == ["precious.safetensors", "sub"]
    assert names(outside / "sub") == ["precious.safetensors"]


def write_state(folder, **changes):
    entries = {
        "model_checkpoint_path": "ckpt-1",
        "all_model_checkpoint_paths": ["ckpt-1"],
        "all_model_checkpoint_timestamps": [None],
        "last_preserved_timestamp": None,
        "paths_being_deleted": [],
    } | changes
    (folder / "checkpoint").write_text(json.dumps(entries))


# The state file

NAMES = {
    "the folder above": "../outside/precious",
    "below": "sub/precious",
    "by way of itself": "./ckpt-1",
    "absolute": "/{outside}/precious",
    "absolute, in this folder": "/{folder}/ckpt-1",
    "a name with a slash behind": "ckpt-1/",
    "two dots": "..",
    "one dot": ".",
    "nothing": "",
    "a NUL": "ckpt\0-1",
    "half a character": "\ud800",
    "a number": 1,
    "null": None,
    "a list": ["ckpt-1"],
    "an object": {"a": 1},
}


@pytest.mark.parametrize(
    "entry", ["model_checkpoint_path", "all_model_checkpoint_paths", "paths_being_deleted"]
)
@pytest.mark.parametrize("name", NAMES.values(), ids=NAMES.keys())
def test_a_name_that_leads_out_of_the_folder_is_refused(folder, name, entry):
    if isinstance(name, str):
        name = name.replace("/{outside}", str(folder.parent / "outside")).replace(
            "/{folder}", str(folder)
        )
    changes = {entry: name if entry == "model_checkpoint_path" else [name]}
    write_state(folder, **changes)
    for call in (lambda: made(folder), lambda: tf.train.latest_checkpoint(folder)):
        with pytest.raises(
            tf.errors.DataLossError,
            match=r"run/checkpoint' is not a list of checkpoints .* or remove this file",
        ):
            call()
    (folder / "checkpoint").unlink()
    assert made(folder).save() == str(folder / "ckpt-1")


STATES = {
    "deep": "[" * 100_000,
    "deep and whole": '{"a":' * 5000 + "1" + "}" * 5000,
    "twice": '{"model_checkpoint_path": "a", "model_checkpoint_path": "b"}',
    "a number": "7",
    "no UTF-8": b"\xff\xfe{}",
    "no list": {"all_model_checkpoint_paths": "ckpt-1"},
    "no list of those that leave": {"paths_being_deleted": "ckpt-1"},
    "too few moments": {"all_model_checkpoint_timestamps": []},
    "a moment that is text": {"all_model_checkpoint_timestamps": ["yesterday"]},
    "a moment that is NaN": {"all_model_checkpoint_timestamps": [float("nan")]},
    "a moment that is infinite": {"last_preserved_timestamp": 1e999},
    "a moment that is huge": {"all_model_checkpoint_timestamps": [10**400]},
    "a moment that was never": {"last_preserved_timestamp": -(10**400)},
    "a moment that is true": {"last_preserved_timestamp": True},
    "moments that are a number": {"all_model_checkpoint_timestamps": 5},
}


@pytest.mark.parametrize("state", STATES.values(), ids=STATES.keys())
def test_a_state_file_that_says_something_else_is_refused(folder, state):
    if isinstance(state, dict):
        write_state(folder, **state)
    else:
        (folder / "checkpoint").write_bytes(state if isinstance(state, bytes) else state.encode())
    with pytest.raises(tf.errors.DataLossError, match="so the latest is not known"):
        made(folder)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes")
@pytest.mark.parametrize("kind", ["folder", "pipe", "large"])
def test_a_state_file_that_is_no_file_is_refused(folder, kind):
    state = folder / "checkpoint"
    state.unlink()
    if kind == "folder":
        state.mkdir()
    elif kind == "pipe":
        os.mkfifo(state)
    else:
        state.touch()
        os.truncate(state, 2**40)
    with pytest.raises(tf.errors.DataLossError, match="not a regular file, or a very large one"):
        tf.train.latest_checkpoint(folder)


def test_files_that_no_checkpoint_has_written_stay(folder):
    save_file({"w": np.ones(2)}, folder / "weights.safetensors")
    (folder / "empty.safetensors").touch()
    (folder / "album.safetensors").mkdir()
    (folder / "ckpt-7.safetensors").mkdir()
    tf.train.Checkpoint(v=tf.Variable(1.0)).write(folder / "old-1")
    theirs = ["album.safetensors", "ckpt-7.safetensors", "empty.safetensors", "weights.safetensors"]
    left = ["album", "ckpt-7", "empty", "weights", "nothing", "old-1"]
    write_state(folder, paths_being_deleted=left)
    made(folder).save(checkpoint_number=2)
    assert names(folder) == sorted([*theirs, "checkpoint", "ckpt-2.safetensors"])
    write_state(
        folder,
        model_checkpoint_path="ckpt-2",
        all_model_checkpoint_paths=["weights", "empty", "ckpt-2"],
        all_model_checkpoint_timestamps=[None] * 3,
    )
    made(folder).save(checkpoint_number=3)
    assert names(folder) == sorted([*theirs, "checkpoint", "ckpt-3.safetensors"])


def test_what_is_kept_is_not_deleted_whatever_else_is_said_of_it(folder):
    write_state(
        folder,
        all_model_checkpoint_paths=["ckpt-1", "ckpt-1"],
        all_model_checkpoint_timestamps=[None, None],
        paths_being_deleted=["ckpt-1"],
    )
    made(folder, max_to_keep=2).save(checkpoint_number=2)
    assert names(folder) == ["checkpoint", "ckpt-1.safetensors", "ckpt-2.safetensors"]


def test_of_a_link_the_link_is_deleted(folder):
    (folder / "ckpt-1.safetensors").unlink()
    (folder / "ckpt-1.safetensors").symlink_to(folder.parent / "outside" / "precious.safetensors")
    assert tf.train.latest_checkpoint(folder) == str(folder / "ckpt-1")
    made(folder).save(checkpoint_number=2)
    assert names(folder) == ["checkpoint", "ckpt-2.safetensors"]


def test_a_link_in_the_place_of_a_file_is_replaced_not_followed(folder):
    precious = folder.parent / "outside" / "precious.safetensors"
    before = precious.read_bytes()
    for name in ("ckpt-2.safetensors", "checkpoint"):
        (folder / name).unlink(missing_ok=True)
        (folder / name).symlink_to(precious)
    tf.train.Checkpoint(v=tf.Variable([5.0, 6.0])).save(folder / "ckpt")
    checkpoint = tf.train.Checkpoint(v=tf.Variable([5.0, 6.0]))
    checkpoint.save_counter.assign(1)
    checkpoint.save(folder / "ckpt")
    assert precious.read_bytes() == before
    assert not any(path.is_symlink() for path in folder.iterdir())


# Temporary folders


def left_behind(
    folder, name=".gradtape-0123456789abcdef.tmp", *, mark=True, age=2 * HOUR, file_age=None
):
    temporary = folder / name
    temporary.mkdir()
    (temporary / "new").write_bytes(b"half")
    if mark:
        (temporary / atomic_file._MARK).write_bytes(atomic_file._MARKED)
    for path in (*temporary.iterdir(), temporary):
        os.utime(path, (time.time() - age,) * 2)
    if file_age is not None:
        os.utime(temporary / "new", (time.time() - file_age,) * 2)
    return temporary


def is_removed_by_a_save(temporary):
    made(temporary.parent).save()
    return not os.path.lexists(temporary)


def test_what_a_killed_process_left_is_removed_after_an_hour(folder):
    assert is_removed_by_a_save(left_behind(folder))


def test_what_is_younger_stays(folder):
    assert not is_removed_by_a_save(left_behind(folder, age=HOUR - 60))


def test_a_large_file_that_is_still_written_stays(folder):
    assert not is_removed_by_a_save(left_behind(folder, file_age=5))


def test_a_folder_without_the_mark_stays(folder):
    assert not is_removed_by_a_save(left_behind(folder, mark=False))


@pytest.mark.parametrize(
    "name",
    [
        ".checkpoint.0123456789abcdef.tmp",
        ".ckpt-1.safetensors.0123.tmp",
        "mine.tmp",
        ".gradtape-mine",
    ],
)
def test_a_folder_of_the_users_stays(folder, name):
    assert not is_removed_by_a_save(left_behind(folder, name, mark=False))


def test_another_mark_is_no_mark(folder):
    temporary = left_behind(folder, mark=False)
    (temporary / atomic_file._MARK).write_bytes(b"mine")
    os.utime(temporary, (0, 0))
    os.utime(temporary / atomic_file._MARK, (0, 0))
    assert not is_removed_by_a_save(temporary)


def test_a_marked_folder_with_a_folder_in_it_stays(folder):
    temporary = left_behind(folder)
    (temporary / "photos").mkdir()
    os.utime(temporary / "photos", (0, 0))
    os.utime(temporary, (0, 0))
    assert not is_removed_by_a_save(temporary)


def test_a_link_to_a_marked_folder_is_not_followed(folder):
    temporary = left_behind(folder.parent, "elsewhere")
    link = folder / ".gradtape-0123456789abcdef.tmp"
    link.symlink_to(temporary)
    assert not is_removed_by_a_save(link)
    assert names(temporary) == sorted([atomic_file._MARK, "new"])


def test_a_link_in_a_marked_folder_is_not_followed(folder):
    temporary = left_behind(folder)
    (temporary / "link").symlink_to(folder.parent / "outside")
    os.utime(temporary, (0, 0))
    is_removed_by_a_save(temporary)  # the fixture looks at what is outside


def test_a_save_marks_the_folder_that_it_fills(tmp_path, monkeypatch):
    seen = []
    replace = os.replace
    monkeypatch.setattr(
        atomic_file.os,
        "replace",
        lambda old, new: (seen.append(atomic_file._is_ours(Path(old).parent)), replace(old, new)),
    )
    made(tmp_path).save()
    assert seen == [True, True]
    assert names(tmp_path) == ["checkpoint", "ckpt-1.safetensors"]


# Names


@pytest.mark.parametrize(
    "name",
    ["n" * 225, "ü" * 112, "a b\n'\"\\:*", "é.safetensors"],
    ids=["225 letters", "224 bytes", "odd", "suffix"],
)
def test_long_and_odd_names(tmp_path, name):
    for folder in ("manager", "save"):
        checkpoint = tf.train.Checkpoint(v=tf.Variable(3.0))
        manager = tf.train.CheckpointManager(checkpoint, tmp_path / folder, 2, checkpoint_name=name)
        for _ in range(3):
            path = (
                manager.save() if folder == "manager" else checkpoint.save(tmp_path / folder / name)
            )
        assert (
            path
            == tf.train.latest_checkpoint(tmp_path / folder)
            == str(tmp_path / folder / f"{name}-3")
        )
        checkpoint.v.assign(0.0)
        checkpoint.restore(path).assert_consumed()
        assert float(checkpoint.v) == 3.0
    assert len(names(tmp_path / "manager")) == 3
