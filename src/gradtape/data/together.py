"""The methods of `Dataset` that put elements together, or take them apart."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from gradtape import dtypes, nest
from gradtape.api.tensorflow.arguments import DTypeLike, as_int, integers
from gradtape.convert import as_tensor
from gradtape.core.tensor import Tensor
from gradtape.data.calling import UsersFunction, called
from gradtape.data.holder import Holder, dataset_of, positive, stage_of
from gradtape.data.stage import Stage
from gradtape.data.stages import batching, grouping, nesting, padding, ragged_batching
from gradtape.data.structure import with_first_size
from gradtape.ragged.partitions import index_dtype
from gradtape.shapes import TensorShape

if TYPE_CHECKING:
    from gradtape.data.dataset import Dataset

Function = Callable[..., Any]


class Groups(Holder):
    """Batches, windows and groups."""

    def batch(
        self,
        batch_size: Any,
        drop_remainder: bool = False,
        num_parallel_calls: Any = None,
        deterministic: bool | None = None,
        name: str | None = None,
    ) -> Dataset:
        """Consecutive elements stacked; the last batch may have fewer, or is left out.

        >>> import gradtape as tf
        >>> [b.numpy().tolist() for b in tf.data.Dataset.range(5).batch(2)]
        [[0, 1], [2, 3], [4]]
        """
        size = positive(batch_size, "batch: batch_size")
        kind = ragged_batching.BatchOfRaggedRows if self.stage.has_ragged_rows else batching.Batch
        made = dataset_of(kind(self.stage, size, drop_remainder=bool(drop_remainder)))
        made._batch_size = size  # Keras asks for it
        return made

    def padded_batch(
        self,
        batch_size: Any,
        padded_shapes: Any = None,
        padding_values: Any = None,
        drop_remainder: bool = False,
        name: str | None = None,
    ) -> Dataset:
        """Consecutive elements of different sizes, padded to `padded_shapes`.

        A size of None or -1 is the largest in the batch; `padding_values` are 0, or the empty
        text, unless they are given.

        >>> import gradtape as tf
        >>> rows = tf.data.Dataset.range(1, 4).map(lambda n: tf.fill([n], n))
        >>> next(rows.padded_batch(3, padded_shapes=[None]).as_numpy_iterator())
        array([[1, 0, 0],
               [2, 2, 0],
               [3, 3, 3]])
        """
        size = positive(batch_size, "padded_batch: batch_size")
        stage = padding.PaddedBatch(
            self.stage, size, padded_shapes, padding_values, drop_remainder=bool(drop_remainder)
        )
        made = dataset_of(stage)
        made._batch_size = size
        return made

    def ragged_batch(
        self,
        batch_size: Any,
        drop_remainder: bool = False,
        row_splits_dtype: DTypeLike = dtypes.int64,
        name: str | None = None,
    ) -> Dataset:
        """Consecutive elements together; components whose sizes are not known become RaggedTensors.

        >>> import gradtape as tf
        >>> rows = tf.data.Dataset.range(3).map(lambda n: tf.range(n))
        >>> next(iter(rows.ragged_batch(3)))
        <tf.RaggedTensor [[], [0], [0, 1]]>
        """
        size = positive(batch_size, "ragged_batch: batch_size")
        stage = ragged_batching.RaggedBatch(
            self.stage,
            size,
            index_dtype(row_splits_dtype, "ragged_batch: row_splits_dtype"),
            drop_remainder=bool(drop_remainder),
        )
        made = dataset_of(stage)
        made._batch_size = size
        return made

    def sparse_batch(self, batch_size: Any, row_shape: Any, name: str | None = None) -> Dataset:
        """Refused: batches that become SparseTensors are not available.

        >>> import gradtape as tf
        >>> tf.data.Dataset.range(3).sparse_batch(2, [3])
        Traceback (most recent call last):
        NotImplementedError: sparse_batch is not available: use padded_batch, and ...
        """
        raise NotImplementedError(
            "sparse_batch is not available: use padded_batch, and tf.sparse.from_dense on its "
            "batches."
        )

    def unbatch(self, name: str | None = None) -> Dataset:
        """The rows of elements.

        >>> import gradtape as tf
        >>> [int(n) for n in tf.data.Dataset.from_tensors([1, 2, 3]).unbatch()]
        [1, 2, 3]
        """
        return _of_rows(batching.Unbatch(self.stage))

    def rebatch(
        self, batch_size: Any, drop_remainder: bool = False, name: str | None = None
    ) -> Dataset:
        """Batches of another size, or of several in turns.

        >>> import gradtape as tf
        >>> batches = tf.data.Dataset.range(6).batch(2).rebatch(4)
        >>> [b.numpy().tolist() for b in batches]
        [[0, 1, 2, 3], [4, 5]]
        """
        sizes = [
            positive(size, "rebatch: batch_size")
            for size in integers(batch_size, "rebatch: batch_size")
        ]
        return _of_rows(batching.Rebatch(self.stage, sizes, drop_remainder=bool(drop_remainder)))

    def window(
        self,
        size: Any,
        shift: Any = None,
        stride: Any = 1,
        drop_remainder: bool = False,
        name: str | None = None,
    ) -> Dataset:
        """Datasets of consecutive elements; for a tuple or a dict of tensors, one of datasets.

        >>> import gradtape as tf
        >>> windows = tf.data.Dataset.range(5).window(3, shift=1, drop_remainder=True)
        >>> [[int(n) for n in window] for window in windows]
        [[0, 1, 2], [1, 2, 3], [2, 3, 4]]
        """
        length = positive(size, "window: size")
        stage = nesting.Window(
            self.stage,
            length,
            length if shift is None else positive(shift, "window: shift"),
            positive(stride, "window: stride"),
            drop_remainder=bool(drop_remainder),
            wrap=dataset_of,
        )
        return dataset_of(stage)

    def group_by_window(
        self,
        key_func: Function,
        reduce_func: Function,
        window_size: Any = None,
        window_size_func: Function | None = None,
        name: str | None = None,
    ) -> Dataset:
        """Elements of one key together: `reduce_func(key, dataset)` makes a dataset of every
        `window_size` of them, and of fewer at the end.

        >>> import gradtape as tf
        >>> even_and_odd = tf.data.Dataset.range(6).group_by_window(
        ...     key_func=lambda n: n % 2,
        ...     reduce_func=lambda key, group: group.batch(3),
        ...     window_size=3,
        ... )
        >>> [group.numpy().tolist() for group in even_and_odd]
        [[0, 2, 4], [1, 3, 5]]
        """
        if (window_size is None) == (window_size_func is None):
            raise ValueError(
                "group_by_window: either window_size or window_size_func must be given."
            )
        size = window_size_func
        if size is None:
            number = positive(window_size, "group_by_window: window_size")
            size = lambda key: number
        return dataset_of(
            grouping.GroupByWindow(
                self.stage,
                UsersFunction(key_func, "group_by_window", "key_func"),
                nesting.DatasetFunction(
                    UsersFunction(reduce_func, "group_by_window", "reduce_func"), stage_of
                ),
                size,
                dataset_of,
            )
        )

    def bucket_by_sequence_length(
        self,
        element_length_func: Function,
        bucket_boundaries: Sequence[int],
        bucket_batch_sizes: Sequence[int],
        padded_shapes: Any = None,
        padding_values: Any = None,
        pad_to_bucket_boundary: bool = False,
        no_padding: bool = False,
        drop_remainder: bool = False,
        name: str | None = None,
    ) -> Dataset:
        """Batches of elements of similar lengths: each bucket holds the lengths below its
        boundary, the last one all others.

        >>> import gradtape as tf
        >>> words = tf.data.Dataset.from_generator(
        ...     lambda: ([0] * n for n in (1, 4, 2, 5)),
        ...     output_signature=tf.TensorSpec([None], tf.int32),
        ... )
        >>> batches = words.bucket_by_sequence_length(
        ...     lambda word: tf.shape(word)[0], bucket_boundaries=[3], bucket_batch_sizes=[2, 2]
        ... )
        >>> [batch.shape.as_list() for batch in batches]
        [[2, 2], [2, 5]]
        """
        what = "bucket_by_sequence_length"
        bounds = [as_int(bound, f"{what}: bucket_boundaries") for bound in bucket_boundaries]
        sizes = [positive(size, f"{what}: bucket_batch_sizes") for size in bucket_batch_sizes]
        if len(sizes) != len(bounds) + 1:
            raise ValueError(
                f"{what}: bucket_batch_sizes must have one entry more than bucket_boundaries, got "
                f"{len(sizes)} and {len(bounds)}."
            )

        def bucket(*element: Any) -> Tensor:
            length = int(as_tensor(called(element_length_func, *element)))
            number = sum(length >= bound for bound in bounds)
            if pad_to_bucket_boundary and number == len(bounds):
                raise ValueError(
                    f"{what}: with pad_to_bucket_boundary, lengths must be less than the last "
                    f"boundary, {bounds[-1]}, got {length}."
                )
            return as_tensor(number, dtypes.int64)

        def together(key: Tensor, group: Dataset) -> Dataset:
            size = sizes[int(key)]
            if no_padding:
                return group.batch(size, drop_remainder=drop_remainder)
            shapes = padded_shapes
            if pad_to_bucket_boundary:
                if padded_shapes is None:
                    shapes = nest.map_structure(lambda spec: spec.shape, self.stage.spec)
                longest = bounds[int(key)] - 1
                shapes = nest.map_structure(lambda shape: _filled(shape, longest), shapes)
            return group.padded_batch(size, shapes, padding_values, drop_remainder=drop_remainder)

        def spec() -> Any:
            if no_padding or padded_shapes is None:
                return with_first_size(self.stage.spec, None)
            padded = padding.PaddedBatch(
                self.stage, sizes[0], padded_shapes, None, drop_remainder=False
            )
            return padded.spec

        return dataset_of(
            grouping.GroupByWindow(
                self.stage,
                UsersFunction(bucket, what, "element_length_func"),
                nesting.DatasetFunction(UsersFunction(together, what, "padded_shapes"), stage_of),
                lambda key: sizes[int(key)],
                dataset_of,
                spec,
            )
        )


def _filled(shape: Any, size: int) -> TensorShape:
    """A shape whose unknown sizes are `size`."""
    return TensorShape([size if n is None else n for n in TensorShape(shape)])


def _of_rows(stage: Stage) -> Dataset:
    """A dataset of rows. Elements without rows are refused now, unless a function of the user's
    says only when it is called what they are.
    """
    if not stage.computes:
        _ = stage.spec
    return dataset_of(stage)
