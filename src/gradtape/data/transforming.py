"""The methods of `Dataset` that make another one of it, element by element."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from gradtape.api.tensorflow.arguments import as_int
from gradtape.data import to_grain as grain_datasets
from gradtape.data.calling import UsersFunction
from gradtape.data.holder import Holder, dataset_of, positive, stage_of
from gradtape.data.stage import UNKNOWN, seed_of
from gradtape.data.stages import (
    combining,
    counting,
    grouping,
    lasting,
    mapping,
    nesting,
    resampling,
    shuffling,
    storing,
)
from gradtape.data.stages.mapping import AUTOTUNE
from gradtape.data.threads import cores
from gradtape.errors import invalid_argument
from gradtape.extras import needed_for

if TYPE_CHECKING:
    from gradtape.data.dataset import Dataset

Function = Callable[..., Any]
_AHEAD = 2  # elements that AUTOTUNE takes ahead
_MOST_COMPRESSION = (None, "", "AUTO", "NONE", "GZIP")


class Transformations(Holder):
    """What is done to elements, and which of them there are."""

    # Functions of elements

    def map(
        self,
        map_func: Function,
        num_parallel_calls: Any = None,
        deterministic: bool | None = None,
        synchronous: bool | None = None,
        use_unbounded_threadpool: bool = False,
        name: str | None = None,
    ) -> Dataset:
        """A function of each element; the parts of a tuple are arguments of their own.

        The function runs in eager mode. With `num_parallel_calls`, threads call it; the order
        stays, unless `deterministic` is False. `tf.data.AUTOTUNE` uses threads if the function
        takes so long that they pay.

        >>> import gradtape as tf
        >>> pairs = tf.data.Dataset.from_tensor_slices(([1, 2], [10, 20]))
        >>> [int(x) for x in pairs.map(lambda a, b: a + b)]
        [11, 22]
        """
        function = UsersFunction(map_func, "map", "map_func")
        workers = _workers(num_parallel_calls, "map: num_parallel_calls")
        in_order = deterministic is None or deterministic
        return dataset_of(mapping.Map(self.stage, function, workers, in_order=in_order))

    def filter(self, predicate: Function, name: str | None = None) -> Dataset:
        """The elements for which `predicate` gives True.

        >>> import gradtape as tf
        >>> [int(n) for n in tf.data.Dataset.range(6).filter(lambda n: n % 2 == 0)]
        [0, 2, 4]
        """
        function = UsersFunction(predicate, "filter", "predicate")
        return dataset_of(mapping.Filter(self.stage, function, ends=False))

    def take_while(self, predicate: Function, name: str | None = None) -> Dataset:
        """The elements before the first for which `predicate` gives False.

        >>> import gradtape as tf
        >>> [int(n) for n in tf.data.Dataset.range(9).take_while(lambda n: n < 3)]
        [0, 1, 2]
        """
        function = UsersFunction(predicate, "take_while", "predicate")
        return dataset_of(mapping.Filter(self.stage, function, ends=True))

    def scan(self, initial_state: Any, scan_func: Function, name: str | None = None) -> Dataset:
        """`scan_func(state, element)` gives the next state and an element of the new dataset.

        >>> import gradtape as tf
        >>> import numpy as np
        >>> sums = tf.data.Dataset.range(4).scan(np.int64(0), lambda s, n: (s + n, s + n))
        >>> [int(s) for s in sums]
        [0, 1, 3, 6]
        """
        function = UsersFunction(scan_func, "scan", "scan_func")
        return dataset_of(mapping.Scan(self.stage, initial_state, function))

    def rejection_resample(
        self,
        class_func: Function,
        target_dist: Any,
        initial_dist: Any = None,
        seed: int | None = None,
        name: str | None = None,
    ) -> Dataset:
        """Pairs of a class and an element, of which some are left out, so that classes are as
        frequent as `target_dist` says.

        `class_func` gives the class of an element, a number. How frequent classes are is counted
        on the way, unless `initial_dist` says it.

        >>> import gradtape as tf
        >>> many_zeros = tf.data.Dataset.from_tensor_slices([0] * 900 + [1] * 100).shuffle(1000)
        >>> even = many_zeros.rejection_resample(
        ...     lambda c: c, target_dist=[0.5, 0.5], initial_dist=[0.9, 0.1], seed=1
        ... )
        >>> 150 < len(list(even)) < 250
        True
        """
        return dataset_of(
            resampling.Resampled(
                self.stage,
                UsersFunction(class_func, "rejection_resample", "class_func"),
                target_dist,
                initial_dist,
                seed=seed_of(seed, "rejection_resample: seed"),
            )
        )

    def flat_map(self, map_func: Function, name: str | None = None) -> Dataset:
        """The elements of the datasets that `map_func` gives, one dataset after the other.

        >>> import gradtape as tf
        >>> rows = tf.data.Dataset.from_tensor_slices([[1, 2], [3, 4]])
        >>> [int(n) for n in rows.flat_map(tf.data.Dataset.from_tensor_slices)]
        [1, 2, 3, 4]
        """
        function = _datasets(map_func, "flat_map")
        return dataset_of(nesting.Interleave(self.stage, function, 1, 1, ahead=False))

    def interleave(
        self,
        map_func: Function,
        cycle_length: Any = None,
        block_length: Any = None,
        num_parallel_calls: Any = None,
        deterministic: bool | None = None,
        name: str | None = None,
    ) -> Dataset:
        """The elements of the datasets that `map_func` gives, of `cycle_length` datasets in turns
        of `block_length` elements.

        With `num_parallel_calls`, threads read ahead in them.

        >>> import gradtape as tf
        >>> numbers = tf.data.Dataset.range(1, 4).interleave(
        ...     lambda n: tf.data.Dataset.from_tensors(n).repeat(2), cycle_length=2
        ... )
        >>> [int(n) for n in numbers]
        [1, 2, 1, 2, 3, 3]
        """
        cycle, block = cycle_length, block_length
        if cycle is None or as_int(cycle, "interleave: cycle_length") == AUTOTUNE:
            cycle = cores()
        ahead = _workers(num_parallel_calls, "interleave: num_parallel_calls") is not None
        return dataset_of(
            nesting.Interleave(
                self.stage,
                _datasets(map_func, "interleave"),
                positive(cycle, "interleave: cycle_length"),
                positive(1 if block is None else block, "interleave: block_length"),
                ahead=ahead,
            )
        )

    # Which elements

    def shuffle(
        self,
        buffer_size: Any,
        seed: int | None = None,
        reshuffle_each_iteration: bool | None = True,
        name: str | None = None,
    ) -> Dataset:
        """Elements in random order: each is drawn from a buffer of `buffer_size`, and the next
        takes its place.

        Each pass has an order of its own, unless `reshuffle_each_iteration` is False. The same
        `seed`, or the same `tf.random.set_seed`, gives the same orders.

        >>> import gradtape as tf
        >>> numbers = tf.data.Dataset.range(100).shuffle(100, seed=1)
        >>> sorted(int(n) for n in numbers) == list(range(100))
        True
        """
        size = as_int(buffer_size, "shuffle: buffer_size")
        if size <= 0 and size != UNKNOWN:
            raise invalid_argument(
                f"shuffle: buffer_size must be greater than zero, or tf.data.UNKNOWN_CARDINALITY "
                f"for all elements, got {size}."
            )
        return dataset_of(
            shuffling.Shuffle(
                self.stage,
                None if size == UNKNOWN else size,
                seed=seed_of(seed, "shuffle: seed"),
                changes=reshuffle_each_iteration is None or bool(reshuffle_each_iteration),
            )
        )

    def repeat(self, count: Any = None, name: str | None = None) -> Dataset:
        """All elements `count` times, or without end.

        >>> import gradtape as tf
        >>> [int(n) for n in tf.data.Dataset.range(2).repeat(2)]
        [0, 1, 0, 1]
        """
        times = -1 if count is None else as_int(count, "repeat: count")
        return dataset_of(counting.Repeat(self.stage, None if times < 0 else times))

    def take(self, count: Any, name: str | None = None) -> Dataset:
        """The first elements, at most `count`; all of them if it is -1.

        >>> import gradtape as tf
        >>> [int(n) for n in tf.data.Dataset.range(9).take(2)]
        [0, 1]
        """
        number = as_int(count, "take: count")
        part = counting.Part(self.stage, "take", count=None if number < 0 else number)
        return dataset_of(part)

    def skip(self, count: Any, name: str | None = None) -> Dataset:
        """All elements but the first `count`; none if it is -1.

        >>> import gradtape as tf
        >>> [int(n) for n in tf.data.Dataset.range(5).skip(3)]
        [3, 4]
        """
        number = as_int(count, "skip: count")
        if number < 0:
            return dataset_of(counting.Part(self.stage, "skip", count=0))
        return dataset_of(counting.Part(self.stage, "skip", start=number))

    def shard(self, num_shards: Any, index: Any, name: str | None = None) -> Dataset:
        """Every `num_shards`-th element, from number `index` on.

        >>> import gradtape as tf
        >>> [int(n) for n in tf.data.Dataset.range(7).shard(num_shards=3, index=1)]
        [1, 4]
        """
        shards = as_int(num_shards, "shard: num_shards")
        number = as_int(index, "shard: index")
        if shards < 1:
            raise invalid_argument(f"shard: num_shards must be at least 1, got {shards}.")
        if not 0 <= number < shards:
            raise invalid_argument(
                f"shard: index must be from 0 to {shards - 1}, as there are {shards} shards, got "
                f"{number}."
            )
        return dataset_of(counting.Part(self.stage, "shard", start=number, step=shards))

    def enumerate(self, start: Any = 0, name: str | None = None) -> Dataset:
        """Each element behind its number.

        >>> import gradtape as tf
        >>> letters = tf.data.Dataset.from_tensor_slices(["a", "b"]).enumerate(start=5)
        >>> list(letters.as_numpy_iterator())
        [(np.int64(5), b'a'), (np.int64(6), b'b')]
        """
        return dataset_of(counting.Enumerated(self.stage, as_int(start, "enumerate: start")))

    def unique(self, name: str | None = None) -> Dataset:
        """Each element that is not equal to one before it.

        >>> import gradtape as tf
        >>> [int(n) for n in tf.data.Dataset.from_tensor_slices([3, 1, 3, 1]).unique()]
        [3, 1]
        """
        return dataset_of(grouping.Unique(self.stage))

    def concatenate(self, dataset: Dataset, name: str | None = None) -> Dataset:
        """All elements, and then all of another dataset.

        >>> import gradtape as tf
        >>> [int(n) for n in tf.data.Dataset.range(2).concatenate(tf.data.Dataset.range(3))]
        [0, 1, 0, 1, 2]
        """
        stage = combining.Concatenated(self.stage, stage_of(dataset, "concatenate: dataset"))
        if not stage.computes:
            _ = stage.spec  # refuses what does not fit
        return dataset_of(stage)

    # How they are kept

    def cache(self, filename: Any = "", name: str | None = None) -> Dataset:
        """Elements that are computed in the first pass only: then they come from memory, or from
        a folder of the name `filename`.

        >>> import gradtape as tf
        >>> calls = []
        >>> numbers = tf.data.Dataset.range(3).map(lambda n: calls.append(1) or n).cache()
        >>> _ = list(numbers), list(numbers)
        >>> len(calls)
        3
        """
        path = filename if filename is not None else ""
        if isinstance(path, str) and not path:
            return dataset_of(lasting.Cache(self.stage))
        return dataset_of(storing.FileCache(self.stage, path, "cache", compressed=False))

    def snapshot(
        self,
        path: Any,
        compression: str | None = "AUTO",
        reader_func: Any = None,
        shard_func: Any = None,
        name: str | None = None,
    ) -> Dataset:
        """Elements that are written to a folder in the first pass, and read from it in others,
        also of later programs.

        >>> import gradtape as tf, tempfile
        >>> numbers = tf.data.Dataset.range(3).snapshot(tempfile.mkdtemp() + "/numbers")
        >>> [int(n) for n in numbers], [int(n) for n in numbers]
        ([0, 1, 2], [0, 1, 2])
        """
        if reader_func is not None or shard_func is not None:
            raise NotImplementedError(
                "snapshot: reader_func and shard_func are not available: use shard and interleave."
            )
        compressed = _is_compressed(compression, "snapshot")
        return dataset_of(storing.FileCache(self.stage, path, "snapshot", compressed=compressed))

    def save(
        self,
        path: Any,
        compression: str | None = None,
        shard_func: Any = None,
        checkpoint_args: Any = None,
    ) -> None:
        """Writes all elements to a folder, for `Dataset.load`.

        >>> import gradtape as tf, tempfile
        >>> folder = tempfile.mkdtemp() + "/numbers"
        >>> tf.data.Dataset.range(3).save(folder)
        >>> len(tf.data.Dataset.load(folder))
        3
        """
        if shard_func is not None or checkpoint_args is not None:
            raise NotImplementedError("save: shard_func and checkpoint_args are not available.")
        storing.save(self.stage, path, compressed=_is_compressed(compression, "save"))

    def to_grain(self) -> Any:
        """This dataset for Grain, with elements of NumPy arrays.

        Rows in memory, in an order that does not change, become a `grain.MapDataset`, which Grain
        shuffles and shards by index; any other pipeline a `grain.IterDataset`, whose iterators keep
        their place in Grain's checkpoints. Needs `pip install 'gradtape[grain]'`.
        """
        grain = needed_for("to_grain", "grain", "grain")
        found = grain_datasets.rows(self.stage, grain)
        return grain_datasets.pipeline(self.stage, grain) if found is None else found

    def prefetch(self, buffer_size: Any, name: str | None = None) -> Dataset:
        """Elements that a thread takes ahead while others are used, at most `buffer_size`.

        Where elements take no time they are taken without a thread.

        >>> import gradtape as tf
        >>> [int(n) for n in tf.data.Dataset.range(3).prefetch(tf.data.AUTOTUNE)]
        [0, 1, 2]
        """
        size = AUTOTUNE if buffer_size is None else as_int(buffer_size, "prefetch: buffer_size")
        if size < 0 and size != AUTOTUNE:
            raise invalid_argument(
                f"prefetch: buffer_size must be at least 0, or tf.data.AUTOTUNE, got {size}."
            )
        if size == 0:
            return dataset_of(self.stage)
        return dataset_of(lasting.Prefetch(self.stage, _AHEAD if size == AUTOTUNE else size))

    def ignore_errors(self, log_warning: bool = False, name: str | None = None) -> Dataset:
        """The elements that come without an error.

        >>> import gradtape as tf
        >>> numbers = tf.data.Dataset.range(4).map(
        ...     lambda n: tf.debugging.check_numerics(1 / n, "a")
        ... )
        >>> [float(x) for x in numbers.ignore_errors()][:2]
        [1.0, 0.5]
        """
        return dataset_of(lasting.WithoutErrors(self.stage, warns=log_warning))

    def apply(self, transformation_func: Function) -> Dataset:
        """What a function makes of this dataset.

        >>> import gradtape as tf
        >>> [int(n) for n in tf.data.Dataset.range(9).apply(lambda ds: ds.skip(7))]
        [7, 8]
        """
        made = transformation_func(self)
        stage_of(made, "apply: the result of transformation_func")
        return made


def _workers(given: Any, argument: str) -> int | None:
    if given is None:
        return None
    workers = as_int(given, argument)
    if workers != AUTOTUNE and workers < 1:
        raise invalid_argument(
            f"{argument} must be greater than zero, or tf.data.AUTOTUNE, got {workers}."
        )
    return workers


def _datasets(function: Function, stage: str) -> nesting.DatasetFunction:
    return nesting.DatasetFunction(UsersFunction(function, stage, "map_func"), stage_of)


def _is_compressed(compression: str | None, stage: str) -> bool:
    if compression not in _MOST_COMPRESSION:
        raise invalid_argument(
            f"{stage}: compression must be None, 'AUTO', 'NONE' or 'GZIP', got {compression!r}."
        )
    return compression == "GZIP"
