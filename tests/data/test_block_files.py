"""save, load and snapshot: what is written is read again, and damaged files are refused."""

import json
import shutil
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import gradtape as tf

D = tf.data.Dataset


def ragged():
    return D.range(5).map(lambda n: {"x": tf.fill([n], 1.5), "y": tf.cast(n, tf.bfloat16)})


DATASETS = [
    lambda: D.range(3000),
    lambda: D.range(0),
    lambda: D.from_tensor_slices((np.ones((4, 2, 3)), ["a", "", "ccc", "d"])),
    lambda: D.from_tensors(np.zeros((0, 3), np.float32)),
    lambda: D.from_tensor_slices({"b": [True, False], "a": [1 + 2j, 3j]}),
    lambda: D.from_tensors([["a", "b"], ["c", "d"]]),
    ragged,
    lambda: D.from_tensor_slices(
        {"r": tf.ragged.constant([["a"], [], ["b", "c"]]), "d": [1.0, 2.0, 3.0]}
    ),
    lambda: D.from_tensor_slices(
        (tf.ragged.constant([[[1], []], [], [[2, 3]]]), tf.sparse.eye(3, 4), tf.zeros([3, 0]))
    ),
    lambda: D.from_tensors(tf.sparse.eye(3, 4)).batch(1),
    lambda: D.from_tensors(
        tf.RaggedTensor.from_uniform_row_length(tf.ragged.constant([[1], [2, 3], [], [4]]), 2)
    ),
]


def assert_same(one, two):
    """Elements of the same structure, kinds, dtypes and values."""
    assert tf.data.Dataset.from_tensors(one).element_spec == D.from_tensors(two).element_spec
    tf.nest.assert_same_structure(one, two)
    leaves = (tf.nest.flatten(element, expand_composites=True) for element in (one, two))
    for a, b in zip(*map(parts, leaves), strict=True):
        assert a.dtype == b.dtype
        assert np.array_equal(a.numpy(), b.numpy())


def parts(leaves):
    return [
        part
        for leaf in leaves
        for part in (
            (leaf.indices, leaf.values, leaf.dense_shape)
            if isinstance(leaf, tf.SparseTensor)
            else (leaf,)
        )
    ]


@pytest.mark.parametrize("build", DATASETS)
@pytest.mark.parametrize("compression", [None, "GZIP"])
def test_what_is_saved_is_loaded(build, compression, tmp_path):
    dataset = build()
    dataset.save(str(tmp_path / "kept"), compression=compression)
    loaded = D.load(str(tmp_path / "kept"))
    assert loaded.element_spec == dataset.element_spec
    assert len(loaded) == sum(1 for _ in dataset)
    for one, two in zip(dataset, loaded, strict=True):
        assert_same(one, two)


@pytest.mark.parametrize("build", DATASETS)
@pytest.mark.parametrize("keep", ["cache", "snapshot"])
def test_what_is_kept_in_a_folder_is_what_was_seen(build, keep, tmp_path):
    dataset = build()
    kept = getattr(dataset, keep)(str(tmp_path / "kept"))
    for _ in range(2):
        for one, two in zip(dataset, kept, strict=True):
            assert_same(one, two)
    # Rows of ragged tensors are ragged again in batches, also of what was kept.
    for one, two in zip(dataset.ragged_batch(2), kept.ragged_batch(2), strict=True):
        assert_same(one, two)


def test_saving_again_replaces_and_spares_what_is_no_dataset(tmp_path):
    D.range(3).save(tmp_path / "kept")
    D.range(5).save(tmp_path / "kept")
    assert len(D.load(tmp_path / "kept")) == 5
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "thesis.txt").write_text("mine")
    with pytest.raises(tf.errors.AlreadyExistsError, match="is no dataset"):
        D.range(3).save(tmp_path / "other")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["kept", "other"]


KEEPS = {
    "cache": lambda dataset, path: dataset.cache(path),
    "snapshot": lambda dataset, path: dataset.snapshot(path),
}


def written_by_save(dataset, path):
    dataset.save(path)
    return D.load(path)


@pytest.mark.parametrize("there", ["nothing", "an empty folder", "a dataset"])
@pytest.mark.parametrize("name", [*KEEPS, "save"])
def test_a_link_is_followed(name, there, tmp_path):
    target, link = tmp_path / "disk" / "kept", tmp_path / "link"
    link.symlink_to(target)
    if there == "an empty folder":
        target.mkdir(parents=True)
    elif there == "a dataset":
        D.range(3).save(target)
    keep = KEEPS.get(name, written_by_save)
    read = there == "a dataset" and name != "save"
    expected = list(range(3 if read else 5))
    for _ in range(2):
        assert [int(n) for n in keep(D.range(5), str(link))] == expected
    assert link.is_symlink()
    assert [int(n) for n in D.load(target)] == expected
    assert [path.name for path in target.parent.iterdir()] == ["kept"]


def test_an_error_leaves_nothing_behind(tmp_path):
    def wrong(n):
        if n == 2:
            raise ValueError("wrong")
        return n

    with pytest.raises(ValueError, match="wrong"):
        D.range(4).map(wrong).save(tmp_path / "kept")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", KEEPS)
def test_one_of_several_iterators_writes_the_folder(name, tmp_path):
    """The first that comes to its end; another that reads this by then is not disturbed."""
    dataset = KEEPS[name](D.range(10).map(lambda n: n + 1), str(tmp_path / "kept"))
    first, second = iter(dataset), iter(dataset)
    next(second)
    assert [int(n) for n in first] == list(range(1, 11))
    reading = iter(dataset)
    assert [int(n) for n in second] == list(range(2, 11))
    assert [int(n) for n in reading] == list(range(1, 11))
    assert [path.name for path in tmp_path.iterdir()] == ["kept"]


@pytest.mark.parametrize("name", [*KEEPS, "save"])
def test_threads_that_finish_together_leave_one_folder(name, tmp_path):
    path, threads = str(tmp_path / "kept"), 8
    together = threading.Barrier(threads)

    def numbers():
        yield from range(5)
        together.wait(60)

    def go_through(_):
        if name == "save":
            made = D.from_generator(numbers, output_signature=tf.TensorSpec([], tf.int32))
            made.save(path)
            return list(range(5))
        return [int(n) for n in KEEPS[name](shared, path)]

    shared = D.from_generator(numbers, output_signature=tf.TensorSpec([], tf.int32))
    for _ in range(5):
        shutil.rmtree(path, ignore_errors=True)
        with ThreadPoolExecutor(threads) as pool:
            assert list(pool.map(go_through, range(threads))) == threads * [list(range(5))]
        assert [int(n) for n in D.load(path)] == list(range(5))
        assert [found.name for found in tmp_path.iterdir()] == ["kept"]


def test_the_wrong_spec_is_refused(tmp_path):
    D.range(3).save(tmp_path / "kept")
    with pytest.raises(ValueError, match="element_spec is"):
        D.load(tmp_path / "kept", element_spec=tf.TensorSpec([], tf.float32))


def test_a_snapshot_is_written_once(tmp_path):
    calls = []

    def dataset():
        return D.range(4).map(lambda n: calls.append(1) or n).snapshot(str(tmp_path / "kept"))

    assert [int(n) for n in dataset()] == [int(n) for n in dataset()] == [0, 1, 2, 3]
    assert len(calls) == 4


def broken_index(change):
    def damage(folder):
        path = folder / "dataset.json"
        index = json.loads(path.read_text())
        change(index)
        path.write_text(json.dumps(index))

    return damage


def flip(folder):
    path = folder / "000000.safetensors"
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)


DAMAGES = [
    (flip, "checksum"),
    (lambda f: (f / "000000.safetensors").write_bytes(b"x"), "is not a dataset as it was saved"),
    (lambda f: (f / "000000.safetensors").unlink(), "no such file"),
    (lambda f: (f / "dataset.json").write_text("{"), "is not a dataset as it was saved"),
    (lambda f: (f / "dataset.json").write_text("[]"), "is not a dataset as it was saved"),
    (lambda f: (f / "dataset.json").unlink(), "holds no dataset"),
    (broken_index(lambda i: i.pop("files")), "files"),
    (broken_index(lambda i: i.update(version=99)), "newer gradtape"),
    (broken_index(lambda i: i.update(format="x")), "its format is 'x'"),
    (broken_index(lambda i: i["files"][0].__setitem__(0, "../x")), "outside the folder"),
    (broken_index(lambda i: i["files"][0].__setitem__(1, 99)), "it is too short"),
    (broken_index(lambda i: i.update(element_spec={"dtype": "x", "shape": []})), "x"),
]


@pytest.mark.parametrize(("damage", "says"), DAMAGES)
def test_damaged_files_are_refused(damage, says, tmp_path):
    D.from_tensor_slices([[1, 2], [3, 4], [5, 6]]).save(tmp_path / "kept")
    damage(tmp_path / "kept")
    with pytest.raises((tf.errors.DataLossError, tf.errors.NotFoundError), match=says):
        list(D.load(tmp_path / "kept"))
