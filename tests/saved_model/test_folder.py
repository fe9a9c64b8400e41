"""A SavedModel on the disk: replaced at once, and refused if anything in it has changed."""

import hashlib
import json

import pytest

import gradtape as tf


def held(value):
    made = tf.Module()
    made.v = tf.Variable(value)
    made.f = tf.function(lambda x: x * made.v, input_signature=[tf.TensorSpec([None])])
    return made


@pytest.fixture
def folder(tmp_path):
    tf.saved_model.save(held(2.0), tmp_path / "model")
    return tmp_path / "model"


def rewritten(folder, change):
    """Changes the description, with a checksum that fits."""
    file = folder / "saved_model.json"
    body = file.read_text().rstrip("\n").rpartition("\n")[0]
    entries = json.loads(body)
    change(entries)
    body = json.dumps(entries)
    file.write_text(f"{body}\n{hashlib.sha256(body.encode()).hexdigest()}\n")


def test_nothing_there(tmp_path):
    assert not tf.saved_model.contains_saved_model(tmp_path)
    with pytest.raises(tf.errors.NotFoundError, match="There is no SavedModel"):
        tf.saved_model.load(tmp_path / "nowhere")


def test_one_of_tensorflow(tmp_path):
    (tmp_path / "saved_model.pb").write_bytes(b"")
    assert not tf.saved_model.contains_saved_model(tmp_path)
    with pytest.raises(tf.errors.NotFoundError, match="read its weights with"):
        tf.saved_model.load(tmp_path)


def test_saved_again_it_holds_the_new_one_only(folder):
    before = {file.name for file in folder.iterdir()}
    tf.saved_model.save(held(3.0), folder)
    after = {file.name for file in folder.iterdir()}
    assert len(before) == len(after)
    assert tf.saved_model.load(folder).f([1.0]).numpy().tolist() == [3.0]


def test_files_of_others_stay(folder):
    (folder / "notes.txt").write_text("mine")
    (folder / "program-0000000000000000.stablehlo").write_text("mine too")
    tf.saved_model.save(held(3.0), folder)
    assert (folder / "notes.txt").exists()
    assert (folder / "program-0000000000000000.stablehlo").exists()


def test_a_save_that_fails_leaves_the_old_one(folder):
    broken = held(9.0)
    broken.g = tf.function(
        lambda x: tf.boolean_mask(x, x > 0), input_signature=[tf.TensorSpec([2])]
    )
    with pytest.raises(ValueError, match="cannot be saved"):
        tf.saved_model.save(broken, folder)
    assert tf.saved_model.load(folder).f([1.0]).numpy().tolist() == [2.0]


def test_a_file_in_the_place_of_a_folder(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(ValueError, match="is a file: give the path of a folder"):
        tf.saved_model.save(held(1.0), tmp_path / "file")


def test_no_changed_byte_goes_unnoticed(folder):
    for file in sorted(folder.iterdir()):
        whole = file.read_bytes()
        for at in range(0, len(whole), max(1, len(whole) // 60)):
            changed = bytearray(whole)
            changed[at] ^= 1 << at % 8
            file.write_bytes(changed)
            with pytest.raises(tf.errors.DataLossError, match="is damaged"):
                tf.saved_model.load(folder)
        file.write_bytes(whole[: len(whole) // 2])
        with pytest.raises(tf.errors.DataLossError, match="is damaged"):
            tf.saved_model.load(folder)
        file.unlink()
        with pytest.raises((tf.errors.DataLossError, tf.errors.NotFoundError)):
            tf.saved_model.load(folder)
        file.write_bytes(whole)
    assert tf.saved_model.load(folder).f([1.0]).numpy().tolist() == [2.0]


def test_a_newer_format(folder):
    rewritten(folder, lambda entries: entries.update(version=2))
    with pytest.raises(ValueError, match="saved by a newer gradtape"):
        tf.saved_model.load(folder)


def first_program(entries):
    return entries["objects"][2]["kinds"][0]["levels"][0]


@pytest.mark.parametrize(
    "change",
    [
        lambda e: e.update(objects=[]),
        lambda e: e["objects"][0].update(children={"v": 99}),
        lambda e: e["objects"][0].update(kind="module"),
        lambda e: e["objects"][0].pop("kind"),
        lambda e: e["objects"][1].update(key="nothing"),
        lambda e: first_program(e).update(program="../../secret"),
        lambda e: first_program(e).update(program="/etc/passwd"),
        lambda e: first_program(e).update(captured=[-1]),
        lambda e: first_program(e).update(outputs={"spec": 1}),
        lambda e: e.update(variables="variables.safetensors"),
        lambda e: e.update(files=[]),
        lambda e: e.update(format="other"),
        lambda e: e.update(signatures=3),
    ],
)
def test_descriptions_that_do_not_hold(folder, change):
    rewritten(folder, change)
    with pytest.raises(tf.errors.DataLossError, match="is damaged"):
        tf.saved_model.load(folder)
