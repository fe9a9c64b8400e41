"""`tf.io.gfile`, `read_file` and `write_file`: local files and those of fsspec; what they refuse.
tests_tf compares with TensorFlow.
"""

import pickle
from pathlib import Path

import numpy as np
import pytest

import gradtape as tf
from gradtape.io.tfrecord import read_records

gfile = tf.io.gfile


@pytest.fixture(params=["local", "memory"])
def folder(request, tmp_path):
    """The path of an empty folder, of this machine or of fsspec's memory."""
    if request.param == "local":
        yield str(tmp_path)
        return
    import fsspec

    place = f"memory://{tmp_path.name}"
    fsspec.filesystem("memory").mkdir(place)
    yield place
    fsspec.filesystem("memory").rm(place, recursive=True)


def test_files_and_folders(folder):
    path = gfile.join(folder, "a.txt")
    tf.io.write_file(path, "text")
    assert tf.io.read_file(path).numpy() == b"text"
    assert (gfile.exists(path), gfile.isdir(path), gfile.isdir(folder)) == (True, False, True)
    gfile.makedirs(gfile.join(folder, "new/newer"))
    gfile.mkdir(gfile.join(folder, "new"))
    gfile.copy(path, gfile.join(folder, "new/b.txt"))
    gfile.rename(path, gfile.join(folder, "c.txt"))
    assert gfile.listdir(folder) == ["c.txt", "new"]
    (found,) = gfile.glob(gfile.join(folder, "*.txt"))
    assert tf.io.read_file(found).numpy() == b"text"
    about = gfile.stat(gfile.join(folder, "c.txt"))
    assert (about.length, about.is_directory) == (4, False)
    assert about.mtime_nsec > 10**18
    found = [(len(folders), files) for _, folders, files in gfile.walk(folder)]
    assert found == [(1, ["c.txt"]), (1, ["b.txt"]), (0, [])]
    assert [top for top, *_ in gfile.walk(folder, topdown=False)][-1].rstrip("/") == folder
    gfile.remove(gfile.join(folder, "c.txt"))
    gfile.rmtree(gfile.join(folder, "new"))
    assert gfile.listdir(folder) == []


def test_errors_are_the_same_everywhere(folder):
    missing = gfile.join(folder, "missing")
    there = gfile.join(folder, "there")
    tf.io.write_file(there, "text")
    calls = [
        tf.io.read_file, gfile.remove, gfile.stat, gfile.listdir, gfile.rmtree,
        lambda path: gfile.GFile(path).read(), lambda path: gfile.copy(path, there),
        lambda path: gfile.rename(path, there),
    ]  # fmt: skip
    for call in calls:
        with pytest.raises(tf.errors.NotFoundError, match="missing"):
            call(missing)
    for call in (gfile.copy, gfile.rename):
        with pytest.raises(tf.errors.AlreadyExistsError, match="overwrite=True"):
            call(there, there)
    assert list(gfile.walk(missing)) == []


def test_an_open_file(folder):
    path = gfile.join(folder, "a.txt")
    with gfile.GFile(path, "w") as file:
        file.write("one\n")
        file.write(b"two\n")
        file.write("thrée")
    with gfile.GFile(path) as file:
        assert file.readline() == "one\n"
        assert file.tell() == 4
        assert list(file) == ["two\n", "thrée"]
        file.seek(4)
        assert file.read(4) == "two\n"
        assert file.size() == 14
        with pytest.raises(tf.errors.PermissionDeniedError, match="not open for writing"):
            file.write("x")
    with gfile.GFile(path, "rb") as file, pytest.raises(StopIteration):
        assert next(file) == b"one\n"
        file.seek(0, 2)
        next(file)


def test_other_libraries_read_and_write_open_files(folder):
    path = gfile.join(folder, "things")
    with gfile.GFile(path, "wb") as file:
        pickle.dump({"a": 1}, file)
        np.save(file, np.arange(3))
    with gfile.GFile(path, "rb") as file:
        assert pickle.load(file) == {"a": 1}
        assert np.load(file).tolist() == [0, 1, 2]


@pytest.mark.parametrize("kind", ["", "GZIP"])
def test_records_everywhere(folder, kind):
    path = gfile.join(folder, "records")
    with tf.io.TFRecordWriter(path, kind) as writer:
        writer.write(b"one")
        writer.write(b"two" * 10**5)
    assert list(read_records(path, kind)) == [b"one", b"two" * 10**5]


def test_between_file_systems(tmp_path, folder):
    tf.io.write_file(tmp_path / "a.txt", "text")
    gfile.copy(tmp_path / "a.txt", gfile.join(folder, "b.txt"))
    assert tf.io.read_file(gfile.join(folder, "b.txt")).numpy() == b"text"
    if "://" in folder:
        with pytest.raises(tf.errors.UnimplementedError, match="different file systems"):
            gfile.rename(tmp_path / "a.txt", gfile.join(folder, "c.txt"))


def test_a_scheme_that_nobody_knows():
    with pytest.raises(tf.errors.UnimplementedError, match="no file system for 'nowhere://'"):
        gfile.exists("nowhere://file")
    assert {"", "file", "memory"} <= set(gfile.get_registered_schemes())


BAD = [None, 3, "", b"", "a\0b", ["a", "b"]]


@pytest.mark.parametrize("path", BAD)
@pytest.mark.parametrize("name", ["exists", "isdir", "listdir", "mkdir", "makedirs", "remove",
                                  "rmtree", "stat", "GFile"])  # fmt: skip
def test_paths_that_are_none(name, path):
    with pytest.raises((TypeError, tf.errors.InvalidArgumentError), match=name):
        getattr(gfile, name)(path)


@pytest.mark.parametrize("mode", ["x", "rw", "", "rbb", None, 3, "U"])
def test_modes_that_are_none(tmp_path, mode):
    with pytest.raises(tf.errors.InvalidArgumentError, match="mode must be one of r, w, a"):
        gfile.GFile(tmp_path / "x", mode)


def test_text_that_is_none(tmp_path):
    (tmp_path / "x").write_bytes(b"a\xff")
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"no text in UTF-8.*'rb'"):
        gfile.GFile(tmp_path / "x").read()
    with gfile.GFile(tmp_path / "x", "w") as file, pytest.raises(TypeError, match="got int"):
        file.write(3)


def test_a_file_that_is_forgotten_is_closed(tmp_path):
    file = gfile.GFile(tmp_path / "x", "w")
    file.write("text")
    del file
    assert (tmp_path / "x").read_text() == "text"


def test_what_is_not_allowed(tmp_path, monkeypatch):
    def refuse(*args, **kwargs):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "unlink", refuse)
    with pytest.raises(tf.errors.PermissionDeniedError, match="x; Permission denied"):
        gfile.remove(tmp_path / "x")


def test_a_function_reads_a_file_at_each_call(tmp_path):
    path = str(tmp_path / "x")

    @tf.function
    def read():
        return tf.io.decode_raw(tf.io.read_file(path), tf.uint8)

    for text in (b"ab", b"cde"):
        (tmp_path / "x").write_bytes(text)
        assert read().numpy().tobytes() == text


def test_a_function_writes_a_file_at_each_call(tmp_path):
    path, count = str(tmp_path / "x"), tf.Variable(0)

    @tf.function
    def write():
        tf.io.write_file(path, "text")
        count.assign_add(1)

    for _ in range(2):
        write()
        assert gfile.exists(path)
        gfile.remove(path)
    assert count.numpy() == 2


def test_contents_that_are_none(tmp_path):
    for wrong, error in ((3, ValueError), (["a", "b"], tf.errors.InvalidArgumentError)):
        with pytest.raises(error, match="write_file: contents must"):
            tf.io.write_file(tmp_path / "x", wrong)
    assert not (tmp_path / "x").exists()


def test_matching_files_in_order(tmp_path):
    for name in ("b", "a", "ü"):
        (tmp_path / name).write_text("")
    found = tf.io.matching_files(f"{tmp_path}/*").numpy().tolist()
    assert found == [f"{tmp_path}/{name}".encode() for name in ("a", "b", "ü")]
    with pytest.raises(ValueError, match="pattern must hold strings"):
        tf.io.matching_files(3)
