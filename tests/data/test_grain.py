"""Datasets of Grain's here, and pipelines there.

Grain is not needed to test it: where it is not installed, classes with the same methods stand for
its own. `from_grain` never imports it.
"""

import importlib
import importlib.util
import sys
import types

import numpy as np
import pytest

import gradtape as tf

D = tf.data.Dataset
X = np.arange(20, dtype=np.float32).reshape(10, 2)


class _Closing:
    closed = False

    def close(self):
        self.closed = True

    def __iter__(self):
        return self


class _MapDataset:
    def __init__(self, source, chosen=None):
        self._source = source
        self._chosen = chosen

    @classmethod
    def source(cls, source):
        return cls(source)

    def filter(self, chosen):
        return _MapDataset(self._source, chosen)

    def to_iter_dataset(self):
        return iter(self)

    def __len__(self):
        return len(self._source)

    def __getitem__(self, number):
        found = self._source[number]
        return found if self._chosen is None or self._chosen(found) else None

    def __iter__(self):
        return (self[n] for n in range(len(self)) if self[n] is not None)


@pytest.fixture
def grain(monkeypatch):
    if importlib.util.find_spec("grain") is not None:
        return importlib.import_module("grain")
    found = types.ModuleType("grain")
    found.MapDataset = _MapDataset
    found.DatasetIterator = _Closing
    found.IterDataset = type("IterDataset", (), {})
    monkeypatch.setitem(sys.modules, "grain", found)
    return found


def lists(elements):
    return [tf.nest.map_structure(lambda leaf: np.asarray(leaf).tolist(), e) for e in elements]


def records():
    return [{"x": X[n], "y": n} for n in range(10)]


def test_a_map_dataset(grain):
    dataset = D.from_grain(grain.MapDataset.source(records()))
    assert dataset.element_spec == {
        "x": tf.TensorSpec([2], tf.float32),
        "y": tf.TensorSpec([], tf.int32),
    }
    assert lists(dataset) == lists(records())
    assert lists(dataset.skip(7)) == lists(records()[7:])
    batch = next(iter(dataset.batch(4)))
    assert batch["x"].shape == [4, 2]


def test_what_a_map_dataset_filters_out_is_left_out(grain):
    even = grain.MapDataset.source(records()).filter(lambda record: record["y"] % 2 == 0)
    dataset = D.from_grain(even)
    assert [int(element["y"]) for element in dataset] == [0, 2, 4, 6, 8]
    assert int(dataset.cardinality()) == tf.data.UNKNOWN_CARDINALITY


def test_a_source_of_records():
    dataset = D.from_grain([(n, str(n)) for n in range(3)])
    assert len(dataset) == 3
    assert lists(dataset) == [(n, str(n).encode()) for n in range(3)]
    assert len(D.from_grain([])) == 0
    with pytest.raises(ValueError, match="element_spec of a source without elements"):
        _ = D.from_grain([]).element_spec
    spec = tf.TensorSpec([None], tf.int64)
    assert D.from_grain([], spec).element_spec == spec


def test_a_source_without_end():
    class Endless:
        def __len__(self):
            return sys.maxsize

        def __getitem__(self, number):
            return number

    dataset = D.from_grain(Endless())
    assert int(dataset.cardinality()) == tf.data.INFINITE_CARDINALITY
    assert lists(dataset.take(3)) == [0, 1, 2]


def test_an_iter_dataset_is_gone_through_anew_and_closed():
    begun = []

    class Elements(_Closing):
        at = -1

        def __next__(self):
            self.at += 1
            if self.at == 3:
                raise StopIteration
            return {"n": self.at}

    class Source:
        def __iter__(self):
            begun.append(Elements())
            return begun[-1]

    dataset = D.from_grain(Source(), {"n": tf.TensorSpec([], tf.int32)})
    assert lists(dataset) == lists(dataset) == [{"n": 0}, {"n": 1}, {"n": 2}]
    elements = iter(dataset)
    next(elements)
    elements.close()
    assert len(begun) == 3
    assert all(iterator.closed for iterator in begun)
    assert list(elements) == []


def test_the_place_is_kept_in_checkpoints(tmp_path):
    elements = iter(D.from_grain(records()).batch(3))
    next(elements)
    checkpoint = tf.train.Checkpoint(elements=elements)
    path = checkpoint.save(str(tmp_path / "place"))
    wanted = next(elements)["y"].numpy().tolist()
    checkpoint.restore(path)
    assert next(elements)["y"].numpy().tolist() == wanted == [3, 4, 5]


def test_errors_name_the_element():
    class Failing(list):
        def __getitem__(self, number):
            if number == 1:
                raise OSError("cannot be read")
            return super().__getitem__(number)

    elements = iter(D.from_grain(Failing([1, 2, 3])))
    assert int(next(elements)) == 1
    with pytest.raises(OSError, match="cannot be read") as error:
        next(elements)
    assert "in from_grain of a tf.data.Dataset, at its element 1" in error.value.__notes__[0]
    assert int(next(elements)) == 3
    with pytest.raises(ValueError, match=r"from_grain: element 0 must have shape \(3,\)"):
        list(D.from_grain([np.zeros(2, np.float32)], tf.TensorSpec([3])))
    with pytest.raises(TypeError, match=r"from_grain: source must be a MapDataset.*got int"):
        D.from_grain(3)


# There


@pytest.mark.parametrize(
    "make",
    [
        lambda: D.from_tensor_slices({"x": X, "y": np.arange(10)}),
        lambda: D.from_tensor_slices((X, [str(n) for n in range(10)])).take(5),
        lambda: D.range(6).map(lambda n: n * 2),
        lambda: D.zip(D.range(4), D.range(4, 8)).skip(1),
    ],
)
def test_rows_in_memory_become_a_map_dataset(grain, make):
    found = make().to_grain()
    assert isinstance(found, grain.MapDataset)
    assert len(found) == len(make())
    assert lists(found[n] for n in range(len(found))) == lists(make())
    assert lists(D.from_grain(found)) == lists(make())


def test_other_pipelines_become_an_iter_dataset(grain):
    dataset = D.range(20).shuffle(20, seed=1).filter(lambda n: n % 3 != 0).batch(3)
    found = dataset.to_grain()
    assert isinstance(found, grain.IterDataset)
    seen = sorted(n for batch in found for n in batch.tolist())
    assert seen == [n for n in range(20) if n % 3]
    assert lists(D.range(5).filter(lambda n: n > 2).to_grain()) == [3, 4]


def test_iterators_keep_their_place_in_grains_checkpoints(grain):
    found = D.range(20).shuffle(20, seed=1).filter(lambda n: n % 3 != 0).to_grain()
    first, second = iter(found), iter(found)
    for _ in range(4):
        next(first)
    state = first.get_state()
    wanted = [int(n) for n in first]
    second.set_state(state)
    assert [int(n) for n in second] == wanted
    third = iter(found)
    third.close()


def test_without_grain_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "grain", None)
    with pytest.raises(ImportError, match=r"to_grain needs the package grain.*gradtape\[grain\]"):
        D.range(3).to_grain()
