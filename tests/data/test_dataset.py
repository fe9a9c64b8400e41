"""Datasets: what users are told, what is kept in memory and in files, and sources in files.

Pipelines are compared with TensorFlow's own in tests_tf/test_data.py.
"""

import gc
import gzip
import weakref
import zlib
from collections import namedtuple

import numpy as np
import pytest

import gradtape as tf

D = tf.data.Dataset


def values(dataset):
    return [np.asarray(e).tolist() for e in dataset.as_numpy_iterator()]


# Errors: what was wrong, where, and what to do


def yielding(*elements, spec=None):
    spec = tf.TensorSpec([], tf.int32) if spec is None else spec
    return D.from_generator(lambda: iter(elements), output_signature=spec)


PAIR = (tf.TensorSpec([], tf.int32), {"a": tf.TensorSpec([2], tf.float32)})

ERRORS = [
    (lambda: D.from_tensor_slices([[1], [2, 3]]), "tensors.*rows have different lengths"),
    (lambda: D.from_tensor_slices(()), "at least one tensor"),
    (lambda: D.from_tensor_slices(([1], 3)), "tensor 1 is a scalar.*from_tensors"),
    (lambda: D.from_tensor_slices(([1], [1, 2])), "as many rows, got 1, 2"),
    (lambda: D.from_tensor_slices([object()]), "cannot convert"),
    (lambda: D(3), "from_tensor_slices, from_generator"),
    (lambda: values(yielding(1, 2.5)), r"element 1 must be a value of dtype int32, got 2\.5"),
    (lambda: values(yielding(1, "a")), "element 1 must be a value of dtype int32, got 'a'"),
    (lambda: values(yielding([1])), r"element 0 must have shape \(\), got \(1,\)"),
    (lambda: values(yielding((1, 2), spec=PAIR)), r"element 0\[1\] must be a dict.*\['a'\]"),
    (lambda: values(yielding(3, spec=PAIR)), "element 0 must be a tuple of 2 values, got 3"),
    (
        lambda: values(yielding((1, {"a": [1.0]}), spec=PAIR)),
        r"element 0\[1\]\['a'\] must have shape \(2,\)",
    ),
    (lambda: D.from_generator(iter([1]), output_signature=PAIR), "write `lambda: ...` around it"),
    (lambda: D.from_generator(list, output_signature=tf.float32), "specs such as tf.Tensor"),
    (lambda: D.range(), "1 to 3 arguments"),
    (lambda: D.range(2.5), "must be an integer"),
    (lambda: D.range(3).batch(0), "batch_size must be greater than zero"),
    (lambda: D.range(3).batch("a"), "batch_size must be an integer"),
    (lambda: D.range(3).shuffle(0), "UNKNOWN_CARDINALITY"),
    (lambda: D.range(3).map("f"), "map_func must be a function"),
    (lambda: D.range(3).map(lambda n: n, num_parallel_calls=0), "num_parallel_calls must be"),
    (lambda: D.range(3).concatenate(3), "dataset must be a tf.data.Dataset, got 3"),
    (lambda: D.range(3).concatenate(D.from_tensors(1.0)), "same dtypes, got int64 and float32"),
    (lambda: D.zip(D.range(3), 3), "must be a tf.data.Dataset"),
    (lambda: D.zip(), "at least one dataset"),
    (lambda: D.range(3).apply(lambda ds: 3), "result of transformation_func must be"),
    (lambda: values(D.range(3).flat_map(lambda n: n)), "result of map_func must be"),
    (lambda: values(D.range(3).filter(lambda n: n)), "must give a boolean scalar"),
    (lambda: values(D.range(3).scan(0, lambda s, n: n)), "pair of the new state"),
    (lambda: values(D.range(3).scan(0, lambda s, n: (n, n))), "must have dtype int32, got int64"),
    (lambda: D.range(3).reduce(0, lambda s, n: n), "must have dtype int32, got int64"),
    (lambda: D.from_tensors([1]).unbatch().unbatch(), r"unbatch: .* have rows.*batch\(\) before"),
    (lambda: D.from_tensor_slices(([1], [[1]])).rebatch(2), "rebatch: .* have rows.*int32"),
    (lambda: D.from_tensors(([1], [1, 2])).unbatch(), r"unbatch: .*rows, got \[1, 2\] in "),
    (lambda: D.from_tensors(([1], [1, 2])).rebatch(2), r"rebatch: .*rows, got \[1, 2\] in "),
    (lambda: values(D.range(1).map(lambda n: n).unbatch()), "same number of rows"),
    (
        lambda: values(D.from_tensors(0).map(lambda n: ([1], [1, 2])).unbatch()),
        r"element 0.*\[1\], \[2\]",
    ),
    (lambda: D.range(3).ragged_batch(0), "ragged_batch: batch_size must be"),
    (lambda: D.range(3).ragged_batch(2, row_splits_dtype=tf.float32), "row_splits_dtype must be"),
    (lambda: D.range(3).sparse_batch(2, [3]), "use padded_batch"),
    (lambda: D.range(3).shard(2, 5), "from 0 to 1"),
    (lambda: D.sample_from_datasets([D.range(3)], [0.0]), "not all 0"),
    (lambda: D.sample_from_datasets([]), "at least one dataset"),
    (lambda: D.choose_from_datasets([D.range(3)], D.from_tensors(1)), "dtype int64"),
    (lambda: D.range(3).group_by_window(lambda n: n, lambda k, d: d), "either window_size or"),
    (
        lambda: values(D.range(3).group_by_window(lambda n: 1, lambda k, d: d, 2)),
        "key_func must give a scalar of dtype int64",
    ),
    (lambda: tf.data.TextLineDataset([1, 2]), "filenames must be text"),
    (lambda: tf.data.TextLineDataset("a", compression_type="LZ4"), "'GZIP' and 'ZLIB'"),
    (lambda: values(tf.data.TextLineDataset("/no/file")), "/no/file: there is no such file"),
    (lambda: tf.data.FixedLengthRecordDataset("a", 0), "record_bytes must be greater"),
    (lambda: D.load("/no/folder"), "holds no dataset"),
    (lambda: D.range(3).with_options(3), "must be a tf.data.Options"),
    (lambda: setattr(tf.data.Options(), "deterministc", True), "it has .*deterministic"),
    (
        lambda: D.range(3).bucket_by_sequence_length(lambda n: n, [3], [2]),
        "one entry more than bucket_boundaries",
    ),
    (
        lambda: values(D.range(9).rejection_resample(lambda n: n, [0.5, 0.5])),
        "gave 2 for element 2",
    ),
]


@pytest.mark.parametrize(("call", "says"), ERRORS)
def test_errors_say_what_is_wrong(call, says):
    with pytest.raises(Exception, match=says):
        call()


def test_a_generator_that_raises_is_named_with_its_element():
    def failing():
        yield 1
        raise OSError("the disk is gone")

    elements = iter(D.from_generator(failing, output_signature=tf.TensorSpec([], tf.int32)))
    next(elements)
    with pytest.raises(OSError, match="disk") as error:
        next(elements)
    assert "in from_generator of a tf.data.Dataset, at its element 1." in error.value.__notes__[0]
    assert next(elements, None) is None


def test_a_generator_is_closed_with_its_iterator():
    closed = []

    def numbers():
        try:
            yield from range(100)
        finally:
            closed.append(True)

    dataset = D.from_generator(numbers, output_signature=tf.TensorSpec([], tf.int64))
    elements = iter(dataset.batch(2))
    next(elements)
    elements.close()
    assert closed == [True]
    assert len(values(dataset.take(3))) == 3
    assert closed == [True, True]


# Elements


Point = namedtuple("Point", "x y")


def test_structures_stay():
    dataset = D.from_tensor_slices(Point([1, 2], {"b": [3, 4], "a": ["s", "t"]}))
    for element in (next(iter(dataset)), next(iter(dataset.batch(2))), next(iter(dataset.cache()))):
        assert isinstance(element, Point)
        assert list(element.y) == ["b", "a"]


@pytest.mark.parametrize(
    "dtype", ["float16", "bfloat16", "float64", "complex64", "bool", "uint8", "int64", "uint64"]
)
def test_dtypes_stay(dtype):
    tensor = tf.cast(tf.constant([0, 1, 1]), dtype)
    dataset = D.from_tensor_slices(tensor)
    for found in (
        next(iter(dataset)),
        next(iter(dataset.batch(2))),
        next(iter(dataset.shuffle(3).batch(2))),
        next(iter(dataset.map(lambda x: x).padded_batch(2))),
        next(iter(dataset.filter(lambda x: True).batch(2).unbatch())),
    ):
        assert found.dtype == dtype


def test_not_contiguous_and_other_byte_orders():
    array = np.arange(24).reshape(4, 6)[:, ::2]
    assert values(D.from_tensor_slices(array).batch(4)) == [array.tolist()]
    swapped = np.arange(3, dtype=">f4")
    assert values(D.from_tensor_slices(swapped)) == [0.0, 1.0, 2.0]


def test_a_function_may_change_the_dict_that_it_is_given():
    for dataset in (
        D.from_tensors({"a": 1, "b": 2}).repeat(3),
        D.from_tensor_slices({"a": [1, 1], "b": [2, 2]}).cache().repeat(2),
        D.from_tensors({"a": 1, "b": 2}).map(lambda d: d).cache().repeat(3),
    ):
        assert len(values(dataset.map(lambda d: d.pop("a")))) > 2


def test_none_in_elements():
    dataset = D.from_tensors((1, None)).repeat(3)
    assert next(iter(dataset))[1] is None
    batch = next(iter(dataset.batch(2)))
    assert batch[0].shape == (2,)
    assert batch[1] is None


def test_sparse_tensors_are_batched():
    sparse = tf.sparse.SparseTensor([[0, 1]], [5.0], [2, 3])
    batch = next(iter(D.from_tensors(sparse).repeat(2).batch(2)))
    assert tf.sparse.to_dense(batch).shape == (2, 2, 3)


def test_subclasses_that_make_another_dataset():
    class Artificial(tf.data.Dataset):
        def __new__(cls, count=3):
            return D.from_generator(
                lambda: iter(range(count)), output_signature=tf.TensorSpec([], tf.int64)
            )

    assert values(Artificial().map(lambda n: n + 1)) == [1, 2, 3]


def test_repr_names_the_stage_and_the_specs():
    spec = "TensorSpec(shape=(None,), dtype=tf.int64, name=None)"
    assert repr(D.range(3).batch(2)) == f"<_BatchDataset element_spec={spec}>"


def test_the_spec_of_a_function_does_not_draw_or_count():
    calls = []

    def noisy(n):
        calls.append(1)
        return tf.cast(n, tf.float32) + tf.random.uniform([])

    tf.random.set_seed(3)
    wanted = float(tf.random.uniform([]))
    tf.random.set_seed(3)
    assert D.range(3).map(noisy).element_spec == tf.TensorSpec([], tf.float32)
    assert float(tf.random.uniform([])) == wanted


def test_specs_of_functions_that_cannot_be_traced():
    odd = D.range(4).map(lambda n: tf.zeros([int(n), 2]) if n > 0 else tf.zeros([0, 2]))
    assert odd.element_spec == tf.TensorSpec([None, 2], tf.float32)


# What is kept


def counted(n, calls):
    calls.append(int(n))
    return n


def test_cache_keeps_what_was_seen_completely():
    calls = []
    dataset = D.range(6).map(lambda n: counted(n, calls)).cache()
    assert values(dataset.take(3)) == [0, 1, 2]  # not complete
    assert calls == [0, 1, 2]
    for _ in range(3):
        assert values(dataset) == list(range(6))
    assert calls == [0, 1, 2, *range(6)]
    assert sorted(values(dataset.shuffle(6))) == list(range(6))
    assert len(calls) == 9


def test_cache_of_shuffled_elements_keeps_their_order():
    dataset = D.range(50).shuffle(50).cache()
    assert values(dataset) == values(dataset)


def test_a_cache_in_a_folder(tmp_path):
    calls = []

    def dataset():
        return D.range(6).map(lambda n: (counted(n, calls), "text")).cache(str(tmp_path / "kept"))

    elements = iter(dataset())
    next(elements)
    del elements
    gc.collect()
    assert list(tmp_path.iterdir()) == []  # what is not complete is taken away
    wanted = list(dataset().as_numpy_iterator())
    assert list(dataset().as_numpy_iterator()) == wanted
    assert len(calls) == 7
    assert [path.name for path in tmp_path.iterdir()] == ["kept"]


def test_prefetched_data_are_freed():
    data = tf.constant(np.zeros(1000))
    dataset = D.from_tensors(data).repeat(5).batch(2).prefetch(2)
    list(dataset)
    kept = weakref.ref(data)
    del data, dataset
    gc.collect()
    assert kept() is None


# Files


def test_records_of_files_go_on_after_a_bad_file(tmp_path):
    (tmp_path / "a.gz").write_bytes(gzip.compress(b"one\ntwo\n"))
    (tmp_path / "b.gz").write_bytes(b"not compressed")
    (tmp_path / "c.gz").write_bytes(gzip.compress(b"three\n" * 3)[:-9])
    (tmp_path / "d.gz").write_bytes(gzip.compress(b"four\n"))
    names = [str(tmp_path / f"{letter}.gz") for letter in "abcd"]
    dataset = tf.data.TextLineDataset(names, compression_type="GZIP")
    found, errors, elements = [], [], iter(dataset)
    while True:
        try:
            found.append(next(elements).numpy())
        except StopIteration:
            break
        except tf.errors.DataLossError as error:
            errors.append(str(error))
    assert found[:2] == [b"one", b"two"]
    assert found[-1] == b"four"
    assert len(errors) == 2
    assert "b.gz" in errors[0]
    assert "c.gz" in errors[1]


def test_lines_across_blocks(tmp_path):
    lines = [b"x" * (n * 7919 % 100_000) for n in range(20)]
    (tmp_path / "a").write_bytes(b"\n".join(lines))
    (tmp_path / "z").write_bytes(zlib.compress(b"\r\n".join(lines)))
    assert list(tf.data.TextLineDataset(tmp_path / "a").as_numpy_iterator()) == lines
    packed = tf.data.TextLineDataset(str(tmp_path / "z"), compression_type="ZLIB")
    assert list(packed.as_numpy_iterator()) == lines


def test_files_are_read_side_by_side(tmp_path):
    for letter in "ab":
        (tmp_path / letter).write_text(f"{letter}1\n{letter}2\n")
    names = [str(tmp_path / letter) for letter in "ab"]
    dataset = tf.data.TextLineDataset(names, num_parallel_reads=2)
    assert values(dataset) == [b"a1", b"b1", b"a2", b"b2"]


def test_records_of_a_wrong_length(tmp_path):
    (tmp_path / "a").write_bytes(b"aabbc")
    with pytest.raises(tf.errors.DataLossError, match="multiple of 2 bytes"):
        values(tf.data.FixedLengthRecordDataset(str(tmp_path / "a"), 2))
    records = tf.data.FixedLengthRecordDataset(str(tmp_path / "a"), 2, header_bytes=1)
    assert values(records) == [b"ab", b"bc"]


def records_in(path, *records, compression=""):
    with tf.io.TFRecordWriter(str(path), compression) as writer:
        for record in records:
            writer.write(record)
    return str(path)


@pytest.mark.parametrize("compression", ["", "GZIP", "ZLIB"])
def test_tf_records_of_several_files(tmp_path, compression):
    files = [
        records_in(tmp_path / name, name.encode(), b"", b"2", compression=compression)
        for name in "xy"
    ]
    dataset = tf.data.TFRecordDataset(files, compression_type=compression)
    assert values(dataset) == [b"x", b"", b"2", b"y", b"", b"2"]
    assert values(dataset.batch(4)) == [[b"x", b"", b"2", b"y"], [b"", b"2"]]
    beside = tf.data.TFRecordDataset(files, compression_type=compression, num_parallel_reads=2)
    assert values(beside) == [b"x", b"y", b"", b"", b"2", b"2"]
    woven = D.from_tensor_slices(files).interleave(
        lambda name: tf.data.TFRecordDataset(name, compression), cycle_length=2, block_length=2
    )
    assert values(woven) == [b"x", b"", b"y", b"", b"2", b"2"]


def damaged(tmp_path):
    """A file of three records, of which the second is damaged at byte 17."""
    path = tmp_path / "damaged"
    records_in(path, b"a", b"b", b"c")
    data = bytearray(path.read_bytes())
    data[17 + 12] ^= 0xFF
    path.write_bytes(data)
    return str(path)


def test_a_damaged_record_is_named_and_the_next_file_is_read(tmp_path):
    files = [damaged(tmp_path), records_in(tmp_path / "whole", b"d")]
    elements = iter(tf.data.TFRecordDataset(files))
    assert next(elements).numpy() == b"a"
    with pytest.raises(tf.errors.DataLossError, match="damaged: the record at byte 17 is damaged"):
        next(elements)
    assert next(elements).numpy() == b"d"
    assert next(elements, None) is None
    assert values(tf.data.TFRecordDataset(files).ignore_errors()) == [b"a", b"d"]
    assert values(tf.data.TFRecordDataset(files).prefetch(2).ignore_errors()) == [b"a", b"d"]


def test_a_pipeline_can_be_closed_after_a_damaged_record(tmp_path):
    elements = iter(tf.data.TFRecordDataset([damaged(tmp_path)] * 2).prefetch(1))
    next(elements)
    with pytest.raises(tf.errors.DataLossError):
        next(elements)
    elements.close()
    assert next(elements, None) is None


def test_files_are_listed_in_random_order_unless_told_not_to(tmp_path):
    for number in range(20):
        (tmp_path / f"{number:02}").write_text("")
    listed = D.list_files(str(tmp_path / "*"), shuffle=False)
    wanted = [str(tmp_path / f"{number:02}").encode() for number in range(20)]
    assert values(listed) == wanted
    shuffled = D.list_files(str(tmp_path / "*"), seed=1)
    one, two = values(shuffled), values(shuffled)
    assert sorted(one) == sorted(two) == wanted
    assert one != two


# Chances


def test_samples_come_as_their_weights_say():
    zeros, ones = (D.from_tensors(n).repeat() for n in (0, 1))
    mixed = D.sample_from_datasets([zeros, ones], weights=[0.25, 0.75], seed=2).take(2000)
    assert 0.7 < np.mean(values(mixed)) < 0.8
    assert values(mixed) == values(mixed)
    again = D.sample_from_datasets([zeros, ones], seed=2, rerandomize_each_iteration=True).take(99)
    assert values(again) != values(again)


def test_resampling_evens_classes_out():
    data = D.from_tensor_slices(np.array([0] * 4500 + [1] * 500)).shuffle(5000, seed=1)
    for initial in (None, [0.9, 0.1]):
        even = data.rejection_resample(lambda c: c, [0.5, 0.5], initial, seed=3)
        assert 0.44 < np.mean([int(c) for c, _ in even]) < 0.56


def test_random_numbers():
    numbers = D.random(seed=4).take(1000)
    found = np.array(values(numbers))
    assert found.min() >= 0
    assert found.max() < 2**32
    assert values(numbers) == values(numbers)
    changing = D.random(seed=4, rerandomize_each_iteration=True).take(5)
    assert values(changing) != values(changing)


def test_rows_of_none_are_none():
    unbatched = D.from_tensors(([1, 2], None)).unbatch()
    assert unbatched.element_spec == (tf.TensorSpec([], tf.int32), None)
    assert [(int(n), nothing) for n, nothing in unbatched] == [(1, None), (2, None)]


def test_rows_that_cannot_be_rebatched_are_named():
    ragged = D.range(1, 4).map(lambda n: tf.zeros([2, n]))
    elements = iter(ragged.rebatch(3))
    message = r"rebatch: the rows of component 0 must be alike, got shape \[1\].* then \[2\]"
    with pytest.raises(tf.errors.InvalidArgumentError, match=message):
        next(elements)


def test_options_are_known_of_all_that_follows():
    options = tf.data.Options()
    options.experimental_deterministic = False  # the older names are the same settings
    options.experimental_threading.private_threadpool_size = 3
    later = tf.data.Options()
    later.threading.max_intra_op_parallelism = 2
    dataset = D.range(4).with_options(options).map(lambda n: n).batch(2)
    both = D.zip(dataset, D.range(9).with_options(later)).prefetch(1)
    options.deterministic = True  # what was given stays as it was
    for found in (dataset.options(), both.options()):
        assert found.deterministic is found.experimental_deterministic is False
        assert found.threading.private_threadpool_size == 3
    assert both.options().threading.max_intra_op_parallelism == 2
    assert dataset.options().threading.max_intra_op_parallelism is None
    assert D.range(3).options() == tf.data.Options()
    shuffled = D.from_tensor_slices(np.arange(8)).with_options(later).shuffle(8, seed=1).batch(4)
    assert sorted(np.concatenate([batch.numpy() for batch in shuffled])) == list(range(8))
