"""A SavedModel on the disk: replaced at once, and refused if anything in it has changed."""

import hashlib
import json
import threading

import numpy as np
import pytest

import gradtape as tf
from gradtape.saved_model import folder as saved_folder


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
        lambda e: first_program(e).update(outputs={"value": []}),
        lambda e: first_program(e).update(outputs={"list": []}),
        lambda e: first_program(e).update(captured=[]),
        lambda e: first_program(e).update(captured=[0]),
        lambda e: first_program(e).update(written=[2]),
        lambda e: first_program(e).update(connected=[True]),
        lambda e: e["objects"][2]["parameters"][0].update(name="1"),
        lambda e: e["objects"][2]["parameters"][0].update(kind="ANY"),
        lambda e: e["objects"][1].update(shape=[7, 7]),
        lambda e: e["objects"][0]["children"].update(__class__=1),
        lambda e: e["objects"][0]["children"].update(__dict__=1),
        lambda e: e["objects"][0]["children"].update(variables=1),
    ],
)
def test_descriptions_that_do_not_hold(folder, change):
    rewritten(folder, change)
    with pytest.raises(tf.errors.DataLossError, match="is damaged"):
        tf.saved_model.load(folder)


def with_program(folder, data):
    """Puts other bytes in the place of every program, with checksums that fit."""
    name = f"program-{hashlib.sha256(data).hexdigest()[:16]}.stablehlo"
    (folder / name).write_bytes(data)

    def change(entries):
        for function in (entries["objects"][2], *entries["signatures"].values()):
            for level in function["kinds"][0]["levels"]:
                level["program"] = name
        entries["files"][name] = hashlib.sha256(data).hexdigest()

    rewritten(folder, change)


@pytest.mark.parametrize("data", [b"", b"x", bytes(300)])
def test_programs_that_are_none(folder, data):
    with_program(folder, data)
    with pytest.raises(tf.errors.DataLossError, match="cannot be read"):
        tf.saved_model.load(folder)


def test_a_program_that_calls_back_is_refused(folder):
    jax = pytest.importorskip("jax")
    name = "xla_ffi_python_cpu_callback"
    result = jax.ShapeDtypeStruct((2,), "float32")
    calls = jax.jit(lambda x, v: jax.ffi.ffi_call(name, result)(x, index=np.uint64(0)))
    disabled = [jax.export.DisabledSafetyCheck.custom_call(name)]
    given = result, jax.ShapeDtypeStruct((), "float32")
    exported = jax.export.export(calls, disabled_checks=disabled)(*given)
    with_program(folder, bytes(exported.serialize()))
    with pytest.raises(tf.errors.DataLossError, match="calls 'xla_ffi_python_cpu_callback'"):
        tf.saved_model.load(folder)


def test_an_object_that_holds_itself(tmp_path):
    outer = tf.Module()
    outer.inner = tf.Module()
    outer.inner.outer, outer.listed = outer, [outer]
    tf.saved_model.save(outer, tmp_path)
    loaded = tf.saved_model.load(tmp_path)
    assert loaded.inner.outer is loaded
    assert loaded.listed == [loaded]


def test_objects_that_are_nested_deeply(tmp_path):
    first = last = tf.Module()
    for _ in range(1500):
        last.next = tf.Module()
        last = last.next
    last.v = tf.Variable(3.0)
    tf.saved_model.save(first, tmp_path)
    found = tf.saved_model.load(tmp_path)
    for _ in range(1500):
        found = found.next
    assert found.v.numpy() == 3.0


def test_arguments_that_are_nested_too_deeply(folder):
    spec = tf.TensorSpec([])
    for _ in range(40):
        spec = [spec]
    made = tf.Module()
    made.f = tf.function(lambda x: tf.nest.flatten(x)[0] * 2.0, input_signature=[spec])
    with pytest.raises(ValueError, match="nested less deeply"):
        tf.saved_model.save(made, folder)
    assert tf.saved_model.load(folder).f([1.0]).numpy().tolist() == [2.0]


@pytest.mark.parametrize("as_path", [str, lambda path: str(path).encode(), lambda path: path])
def test_what_a_path_may_be(folder, as_path):
    assert tf.saved_model.contains_saved_model(as_path(folder))
    tf.saved_model.save(held(4.0), as_path(folder))
    assert tf.saved_model.load(as_path(folder)).v.numpy() == 4.0


def test_an_interrupt_leaves_the_old_one_and_nothing_else(folder, monkeypatch):
    before = sorted(file.name for file in folder.iterdir())
    made = held(9.0)
    made.g = tf.function(lambda x: x - made.v, input_signature=[tf.TensorSpec([None])])
    real, calls = saved_folder.write_atomically, []

    def interrupted(path, write):
        calls.append(path)
        if len(calls) == at:
            raise KeyboardInterrupt
        real(path, write)

    monkeypatch.setattr(saved_folder, "write_atomically", interrupted)
    for at in range(1, 6):  # noqa: B007 - `interrupted` reads it
        calls.clear()
        with pytest.raises(KeyboardInterrupt):
            tf.saved_model.save(made, folder)
        assert sorted(file.name for file in folder.iterdir()) == before
        assert tf.saved_model.load(folder).v.numpy() == 2.0
    monkeypatch.undo()
    tf.saved_model.save(made, folder)
    assert tf.saved_model.load(folder).v.numpy() == 9.0


def test_threads_that_save_into_one_folder(folder):
    threads = [
        threading.Thread(target=tf.saved_model.save, args=(values, folder))
        for values in ([tf.Variable(float(n))] for n in range(5))
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert float(tf.saved_model.load(folder)[0]) in range(5)
