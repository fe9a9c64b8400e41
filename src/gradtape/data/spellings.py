"""`tf.data.experimental`: functions for `apply`, and others, that are methods of `Dataset` now."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from gradtape import dtypes
from gradtape.api.tensorflow.arguments import DTypeLike, as_int
from gradtape.core.tensor import Tensor
from gradtape.data.dataset import Dataset
from gradtape.data.holder import dataset_of, stage_of
from gradtape.data.iterators import Iterator
from gradtape.data.optional import Optional
from gradtape.data.stages.lasting import Promised
from gradtape.published import published

Transformation = Callable[[Dataset], Dataset]


@published("data.experimental.assert_cardinality")
def assert_cardinality(expected_cardinality: Any) -> Transformation:
    """For `apply`: a dataset that is known to have so many elements, which is checked.

    >>> import gradtape as tf
    >>> small = tf.data.Dataset.range(9).filter(lambda n: n < 3)
    >>> len(small.apply(tf.data.experimental.assert_cardinality(3)))
    3
    """
    size = as_int(expected_cardinality, "assert_cardinality: expected_cardinality")
    return lambda dataset: dataset_of(Promised(stage_of(dataset, "apply: dataset"), size))


@published("data.experimental.cardinality")
def cardinality(dataset: Dataset) -> Tensor:
    """`dataset.cardinality()`.

    >>> import gradtape as tf
    >>> int(tf.data.experimental.cardinality(tf.data.Dataset.range(4)))
    4
    """
    return dataset.cardinality()


@published("data.experimental.Counter")
def Counter(  # noqa: N802 - TensorFlow's name
    start: Any = 0, step: Any = 1, dtype: DTypeLike = dtypes.int64
) -> Dataset:
    """`Dataset.counter`.

    >>> import gradtape as tf
    >>> [int(n) for n in tf.data.experimental.Counter(1).take(3)]
    [1, 2, 3]
    """
    return Dataset.counter(start, step, dtype)


@published("data.experimental.RandomDataset")
def RandomDataset(seed: int | None = None) -> Dataset:  # noqa: N802 - TensorFlow's name
    """`Dataset.random`.

    >>> import gradtape as tf
    >>> len(list(tf.data.experimental.RandomDataset(seed=1).take(2)))
    2
    """
    return Dataset.random(seed)


@published("data.experimental.from_list")
def from_list(elements: Sequence[Any], name: str | None = None) -> Dataset:
    """A list of elements that are alike.

    >>> import gradtape as tf
    >>> pairs = tf.data.experimental.from_list([(1, "a"), (2, "b")])
    >>> list(pairs.as_numpy_iterator())
    [(np.int32(1), b'a'), (np.int32(2), b'b')]
    """
    if not isinstance(elements, list) or not elements:
        raise ValueError(f"from_list: elements must be a list that is not empty, got {elements!r}.")
    found = [Dataset.from_tensors(element).stage for element in elements]
    together = found[0]
    for stage in found[1:]:
        together = dataset_of(together).concatenate(dataset_of(stage)).stage
    return dataset_of(together)


@published("data.experimental.get_single_element")
def get_single_element(dataset: Dataset, name: str | None = None) -> Any:
    """`dataset.get_single_element()`.

    >>> import gradtape as tf
    >>> int(tf.data.experimental.get_single_element(tf.data.Dataset.range(1)))
    0
    """
    return dataset.get_single_element()


@published("data.experimental.get_next_as_optional")
def get_next_as_optional(iterator: Iterator) -> Optional:
    """`iterator.get_next_as_optional()`.

    >>> import gradtape as tf
    >>> elements = iter(tf.data.Dataset.range(1))
    >>> bool(tf.data.experimental.get_next_as_optional(elements).has_value())
    True
    """
    return iterator.get_next_as_optional()


@published("data.experimental.get_structure")
def get_structure(dataset_or_iterator: Any) -> Any:
    """The `element_spec` of a dataset or an iterator.

    >>> import gradtape as tf
    >>> tf.data.experimental.get_structure(tf.data.Dataset.range(1))
    TensorSpec(shape=(), dtype=tf.int64, name=None)
    """
    return dataset_or_iterator.element_spec


@published("data.experimental.bucket_by_sequence_length")
def bucket_by_sequence_length(
    element_length_func: Callable[..., Any],
    bucket_boundaries: Sequence[int],
    bucket_batch_sizes: Sequence[int],
    padded_shapes: Any = None,
    padding_values: Any = None,
    pad_to_bucket_boundary: bool = False,
    no_padding: bool = False,
    drop_remainder: bool = False,
) -> Transformation:
    """For `apply`: `Dataset.bucket_by_sequence_length`.

    >>> import gradtape as tf
    >>> rows = tf.data.Dataset.from_tensor_slices([[1, 2], [3, 4]])
    >>> by_length = tf.data.experimental.bucket_by_sequence_length(lambda r: len(r), [5], [2, 2])
    >>> len(list(rows.apply(by_length)))
    1
    """
    return lambda dataset: dataset.bucket_by_sequence_length(
        element_length_func,
        bucket_boundaries,
        bucket_batch_sizes,
        padded_shapes,
        padding_values,
        pad_to_bucket_boundary,
        no_padding,
        drop_remainder,
    )


@published("data.experimental.choose_from_datasets")
def choose_from_datasets(
    datasets: Sequence[Any], choice_dataset: Any, stop_on_empty_dataset: bool = True
) -> Dataset:
    """`Dataset.choose_from_datasets`.

    >>> import gradtape as tf
    >>> numbers = [tf.data.Dataset.range(3), tf.data.Dataset.range(5, 9)]
    >>> chosen = tf.data.experimental.choose_from_datasets(numbers, tf.data.Dataset.range(2))
    >>> [int(n) for n in chosen]
    [0, 5]
    """
    return Dataset.choose_from_datasets(datasets, choice_dataset, stop_on_empty_dataset)


@published("data.experimental.sample_from_datasets")
def sample_from_datasets(
    datasets: Sequence[Any],
    weights: Any = None,
    seed: int | None = None,
    stop_on_empty_dataset: bool = False,
) -> Dataset:
    """`Dataset.sample_from_datasets`.

    >>> import gradtape as tf
    >>> numbers = [tf.data.Dataset.range(3), tf.data.Dataset.range(5, 9)]
    >>> len(list(tf.data.experimental.sample_from_datasets(numbers)))
    7
    """
    return Dataset.sample_from_datasets(datasets, weights, seed, stop_on_empty_dataset)


@published("data.experimental.dense_to_ragged_batch")
def dense_to_ragged_batch(
    batch_size: Any, drop_remainder: bool = False, row_splits_dtype: DTypeLike = dtypes.int64
) -> Transformation:
    """For `apply`: `Dataset.ragged_batch`.

    >>> import gradtape as tf
    >>> rows = tf.data.Dataset.range(3).map(lambda n: tf.range(n))
    >>> next(iter(rows.apply(tf.data.experimental.dense_to_ragged_batch(3))))
    <tf.RaggedTensor [[], [0], [0, 1]]>
    """
    return lambda dataset: dataset.ragged_batch(batch_size, drop_remainder, row_splits_dtype)


@published("data.experimental.enumerate_dataset")
def enumerate_dataset(start: Any = 0) -> Transformation:
    """For `apply`: `Dataset.enumerate`.

    >>> import gradtape as tf
    >>> numbers = tf.data.Dataset.range(7, 9).apply(tf.data.experimental.enumerate_dataset())
    >>> [(int(i), int(n)) for i, n in numbers]
    [(0, 7), (1, 8)]
    """
    return lambda dataset: dataset.enumerate(start)


@published("data.experimental.group_by_window")
def group_by_window(
    key_func: Callable[..., Any],
    reduce_func: Callable[..., Any],
    window_size: Any = None,
    window_size_func: Callable[..., Any] | None = None,
) -> Transformation:
    """For `apply`: `Dataset.group_by_window`.

    >>> import gradtape as tf
    >>> grouped = tf.data.experimental.group_by_window(
    ...     lambda n: n % 2, lambda key, group: group.batch(2), window_size=2
    ... )
    >>> [g.numpy().tolist() for g in tf.data.Dataset.range(4).apply(grouped)]
    [[0, 2], [1, 3]]
    """
    return lambda dataset: dataset.group_by_window(
        key_func, reduce_func, window_size, window_size_func
    )


@published("data.experimental.ignore_errors")
def ignore_errors(log_warning: bool = False) -> Transformation:
    """For `apply`: `Dataset.ignore_errors`.

    >>> import gradtape as tf
    >>> numbers = tf.data.Dataset.range(2).apply(tf.data.experimental.ignore_errors())
    >>> [int(n) for n in numbers]
    [0, 1]
    """
    return lambda dataset: dataset.ignore_errors(log_warning)


@published("data.experimental.map_and_batch")
def map_and_batch(
    map_func: Callable[..., Any],
    batch_size: Any,
    num_parallel_batches: Any = None,
    drop_remainder: bool = False,
    num_parallel_calls: Any = None,
) -> Transformation:
    """For `apply`: `Dataset.map` and `Dataset.batch`.

    >>> import gradtape as tf
    >>> squares = tf.data.experimental.map_and_batch(lambda n: n * n, batch_size=3)
    >>> next(tf.data.Dataset.range(5).apply(squares).as_numpy_iterator())
    array([0, 1, 4])
    """
    return lambda dataset: dataset.map(map_func, num_parallel_calls).batch(
        batch_size, drop_remainder
    )


@published("data.experimental.parallel_interleave")
def parallel_interleave(
    map_func: Callable[..., Any],
    cycle_length: Any,
    block_length: Any = 1,
    sloppy: bool = False,
    buffer_output_elements: Any = None,
    prefetch_input_elements: Any = None,
) -> Transformation:
    """For `apply`: `Dataset.interleave` with threads.

    >>> import gradtape as tf
    >>> twice = tf.data.experimental.parallel_interleave(
    ...     lambda n: tf.data.Dataset.from_tensors(n).repeat(2), cycle_length=2
    ... )
    >>> [int(n) for n in tf.data.Dataset.range(2).apply(twice)]
    [0, 1, 0, 1]
    """
    return lambda dataset: dataset.interleave(
        map_func, cycle_length, block_length, num_parallel_calls=cycle_length
    )


@published("data.experimental.prefetch_to_device", "data.experimental.copy_to_device")
def prefetch_to_device(device: str, buffer_size: Any = None) -> Transformation:
    """For `apply`: `Dataset.prefetch`; elements stay on the host, and compiled functions copy them.

    >>> import gradtape as tf
    >>> numbers = tf.data.Dataset.range(2).apply(tf.data.experimental.prefetch_to_device("/cpu:0"))
    >>> [int(n) for n in numbers]
    [0, 1]
    """
    return lambda dataset: dataset.prefetch(-1 if buffer_size is None else buffer_size)


@published("data.experimental.rejection_resample")
def rejection_resample(
    class_func: Callable[..., Any],
    target_dist: Any,
    initial_dist: Any = None,
    seed: int | None = None,
) -> Transformation:
    """For `apply`: `Dataset.rejection_resample`.

    >>> import gradtape as tf
    >>> ones = tf.data.experimental.rejection_resample(lambda n: n % 2, target_dist=[0.0, 1.0])
    >>> {int(c) for c, n in tf.data.Dataset.range(20).apply(ones)}
    {1}
    """
    return lambda dataset: dataset.rejection_resample(class_func, target_dist, initial_dist, seed)


@published("data.experimental.scan")
def scan(initial_state: Any, scan_func: Callable[..., Any]) -> Transformation:
    """For `apply`: `Dataset.scan`.

    >>> import gradtape as tf
    >>> import numpy as np
    >>> sums = tf.data.experimental.scan(np.int64(0), lambda s, n: (s + n, s + n))
    >>> [int(s) for s in tf.data.Dataset.range(4).apply(sums)]
    [0, 1, 3, 6]
    """
    return lambda dataset: dataset.scan(initial_state, scan_func)


@published("data.experimental.shuffle_and_repeat")
def shuffle_and_repeat(
    buffer_size: Any, count: Any = None, seed: int | None = None
) -> Transformation:
    """For `apply`: `Dataset.shuffle` and `Dataset.repeat`.

    >>> import gradtape as tf
    >>> numbers = tf.data.Dataset.range(3).apply(tf.data.experimental.shuffle_and_repeat(3, 2))
    >>> sorted(int(n) for n in numbers)
    [0, 0, 1, 1, 2, 2]
    """
    return lambda dataset: dataset.shuffle(buffer_size, seed).repeat(count)


@published("data.experimental.snapshot")
def snapshot(
    path: Any, compression: str | None = "AUTO", reader_func: Any = None, shard_func: Any = None
) -> Transformation:
    """For `apply`: `Dataset.snapshot`.

    >>> import gradtape as tf, tempfile
    >>> kept = tf.data.experimental.snapshot(tempfile.mkdtemp() + "/numbers")
    >>> [int(n) for n in tf.data.Dataset.range(2).apply(kept)]
    [0, 1]
    """
    return lambda dataset: dataset.snapshot(path, compression, reader_func, shard_func)


@published("data.experimental.take_while")
def take_while(predicate: Callable[..., Any]) -> Transformation:
    """For `apply`: `Dataset.take_while`.

    >>> import gradtape as tf
    >>> small = tf.data.experimental.take_while(lambda n: n < 2)
    >>> [int(n) for n in tf.data.Dataset.range(5).apply(small)]
    [0, 1]
    """
    return lambda dataset: dataset.take_while(predicate)


@published("data.experimental.unbatch")
def unbatch() -> Transformation:
    """For `apply`: `Dataset.unbatch`.

    >>> import gradtape as tf
    >>> rows = tf.data.Dataset.from_tensors([1, 2]).apply(tf.data.experimental.unbatch())
    >>> [int(n) for n in rows]
    [1, 2]
    """
    return lambda dataset: dataset.unbatch()


@published("data.experimental.unique")
def unique() -> Transformation:
    """For `apply`: `Dataset.unique`.

    >>> import gradtape as tf
    >>> numbers = tf.data.Dataset.from_tensor_slices([1, 2, 1])
    >>> [int(n) for n in numbers.apply(tf.data.experimental.unique())]
    [1, 2]
    """
    return lambda dataset: dataset.unique()


@published("data.experimental.save")
def save(
    dataset: Dataset, path: Any, compression: str | None = None, shard_func: Any = None
) -> None:
    """`dataset.save(path)`.

    >>> import gradtape as tf, tempfile
    >>> tf.data.experimental.save(tf.data.Dataset.range(2), tempfile.mkdtemp() + "/numbers")
    """
    dataset.save(path, compression, shard_func)


@published("data.experimental.load")
def load(
    path: Any, element_spec: Any = None, compression: str | None = None, reader_func: Any = None
) -> Dataset:
    """`Dataset.load(path)`.

    >>> import gradtape as tf, tempfile
    >>> folder = tempfile.mkdtemp() + "/numbers"
    >>> tf.data.Dataset.range(2).save(folder)
    >>> [int(n) for n in tf.data.experimental.load(folder)]
    [0, 1]
    """
    return Dataset.load(path, element_spec, compression, reader_func)


@published("data.experimental.enable_debug_mode")
def enable_debug_mode() -> None:
    """Does nothing: functions of datasets run in eager mode always.

    >>> import gradtape as tf
    >>> tf.data.experimental.enable_debug_mode()
    """
