"""`Dataset`: what users see of a pipeline, and the sources that are classes of their own."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from collections.abc import Iterator as AnyIterator
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from gradtape import dtypes, nest
from gradtape.api.tensorflow.arguments import as_int
from gradtape.convert import as_tensor
from gradtape.core.tensor import Tensor
from gradtape.data.calling import UsersFunction
from gradtape.data.holder import Holder, dataset_of, positive, stage_of
from gradtape.data.iterators import Iterator, NumpyIterator, refuse_in_a_program
from gradtape.data.making import Makers
from gradtape.data.options import Options
from gradtape.data.stage import INFINITE, UNKNOWN, Stage
from gradtape.data.stages import files, nesting
from gradtape.data.stages.lasting import WithOptions
from gradtape.data.stages.mapping import AUTOTUNE
from gradtape.data.stages.memory import One, Slices
from gradtape.data.structure import check_fits, map_leaves, normalised, spec_of
from gradtape.data.together import Groups
from gradtape.data.transforming import Transformations
from gradtape.errors import invalid_argument
from gradtape.published import published
from gradtape.shapes import TensorSpec


@published("data.DatasetSpec")
class DatasetSpec:
    """What is known of a dataset that is an element of another one."""

    def __init__(self, element_spec: Any, dataset_shape: Any = ()) -> None:
        self.element_spec = element_spec

    def is_compatible_with(self, spec_or_value: Any) -> bool:
        """Whether a dataset, or the spec of one, has such elements."""
        return bool(self.element_spec == getattr(spec_or_value, "element_spec", None))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DatasetSpec) and self.element_spec == other.element_spec

    def __hash__(self) -> int:
        return hash(str(self.element_spec))

    def __repr__(self) -> str:
        return f"DatasetSpec({self.element_spec!r}, TensorShape([]))"


@published("data.Dataset")
class Dataset(Makers, Transformations, Groups):
    """A pipeline of elements, each a tensor or a tuple or dict of tensors.

    >>> import gradtape as tf
    >>> numbers = tf.data.Dataset.range(6).map(lambda n: n * n).batch(4)
    >>> for batch in numbers:
    ...     print(batch.numpy())
    [0 1 4 9]
    [16 25]
    """

    def __init__(self, stage: Stage) -> None:
        if not isinstance(stage, Stage):
            raise TypeError(
                "Dataset: use tf.data.Dataset.from_tensor_slices, from_generator or another of its "
                f"methods to make one, got {stage!r}."
            )
        self.stage = stage

    if TYPE_CHECKING:
        _batch_size: int
        class_names: Any
        file_paths: Any

    # Elements

    def __iter__(self) -> Iterator:
        refuse_in_a_program("A loop over a tf.data.Dataset")
        return Iterator(self.stage)

    def as_numpy_iterator(self) -> NumpyIterator:
        """The elements as NumPy arrays.

        >>> import gradtape as tf
        >>> list(tf.data.Dataset.from_tensor_slices([1.5, 2.5]).as_numpy_iterator())
        [np.float32(1.5), np.float32(2.5)]
        """
        refuse_in_a_program("as_numpy_iterator")
        return NumpyIterator(self)

    @property
    def element_spec(self) -> Any:
        """The specs of an element, in its structure.

        >>> import gradtape as tf
        >>> tf.data.Dataset.range(3).batch(2).element_spec
        TensorSpec(shape=(None,), dtype=tf.int64, name=None)
        """
        return self.stage.spec

    def cardinality(self) -> Tensor:
        """How many elements there are: INFINITE_CARDINALITY and UNKNOWN_CARDINALITY are negative.

        >>> import gradtape as tf
        >>> int(tf.data.Dataset.range(5).batch(2).cardinality())
        3
        """
        return Tensor(np.int64(self.stage.cardinality()))

    def __len__(self) -> int:
        found = self.stage.cardinality()
        if found == INFINITE:
            raise TypeError("The dataset is infinite.")
        if found == UNKNOWN:
            raise TypeError("The dataset length is unknown.")
        return found

    def __bool__(self) -> bool:
        return True

    def reduce(
        self, initial_state: Any, reduce_func: Callable[..., Any], name: str | None = None
    ) -> Any:
        """The last state of `reduce_func(state, element)`, called with one element after the other.

        >>> import gradtape as tf
        >>> import numpy as np
        >>> int(tf.data.Dataset.range(5).reduce(np.int64(0), lambda total, n: total + n))
        10
        """
        state = normalised(initial_state, "reduce: initial_state")
        wanted = map_leaves(lambda s: TensorSpec(None, s.dtype), spec_of(state))
        for number, element in enumerate(self):
            step = UsersFunction(functools.partial(reduce_func, state), "reduce", "reduce_func")
            state = step((element,), number)
            state = check_fits(state, wanted, "reduce: the new state")
        return state

    def get_single_element(self, name: str | None = None) -> Any:
        """The element of a dataset that has one.

        >>> import gradtape as tf
        >>> int(tf.data.Dataset.range(10).batch(10).map(tf.reduce_sum).get_single_element())
        45
        """
        elements = iter(self)
        try:
            found = next(elements, self)
            if found is self:
                raise invalid_argument("get_single_element: the dataset has no element.")
            if next(elements, self) is not self:
                raise invalid_argument("get_single_element: the dataset has more than one element.")
        finally:
            elements.close()
        return found

    # Options

    def options(self) -> Options:
        """What `with_options` has set, here and at the datasets that this one is made of.

        >>> import gradtape as tf
        >>> tf.data.Dataset.range(3).options().deterministic is None
        True
        """
        return functools.reduce(Options.merge, self.stage.options(), Options())

    def with_options(self, options: Options, name: str | None = None) -> Dataset:
        """This dataset with options; they change nothing here, and are kept.

        >>> import gradtape as tf
        >>> options = tf.data.Options()
        >>> options.deterministic = True
        >>> tf.data.Dataset.range(3).with_options(options).options().deterministic
        True
        """
        if not isinstance(options, Options):
            raise TypeError(f"with_options: options must be a tf.data.Options, got {options!r}.")
        return Dataset(WithOptions(self.stage, options))

    def __gradtape_spec__(self) -> DatasetSpec:
        return DatasetSpec(self.element_spec)

    def __repr__(self) -> str:
        try:
            spec = repr(self.element_spec)
        except Exception as error:  # noqa: BLE001 - a function of the user's may fail
            spec = f"unknown: {error}"
        return f"<_{type(self.stage).__name__}Dataset element_spec={spec}>"


# Files


class _FilesDataset(Dataset):
    """The records of files."""

    def __init__(self, names: Any, read: files.Read, parallel: Any, what: str) -> None:
        source = names_of_files(names, what)
        if parallel is None:
            super().__init__(files.Records(source, read, what))
            return
        workers = as_int(parallel, f"{what}: num_parallel_reads")
        cycle = 2 if workers == AUTOTUNE else positive(workers, f"{what}: num_parallel_reads")

        def one(name: Any) -> Dataset:
            return dataset_of(files.Records(One(name), read, what))

        function = nesting.DatasetFunction(UsersFunction(one, what, "filenames"), stage_of)
        super().__init__(nesting.Interleave(source, function, cycle, 1, ahead=True))


def names_of_files(names: Any, what: str) -> Stage:
    """A stage of file names, which are text, several texts, or a dataset of texts."""
    if isinstance(names, Holder):
        return names.stage
    if isinstance(names, os.PathLike):
        names = os.fspath(names)
    elif isinstance(names, (list, tuple)):
        names = [os.fspath(n) if isinstance(n, os.PathLike) else n for n in names]
    found = as_tensor(
        names,
        dtypes.string if nest.is_nested(names) and not names else None,
        argument=f"{what}: filenames",
    )
    if found.dtype != dtypes.string:
        raise TypeError(f"{what}: filenames must be text, got a tensor of {found.dtype.name}.")
    return Slices(Tensor(found.array.reshape(-1)))


@published("data.TextLineDataset")
class TextLineDataset(_FilesDataset):
    r"""The lines of text files, without their ends.

    >>> import gradtape as tf, pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp(), "lines.txt")
    >>> _ = path.write_text("one\ntwo\n")
    >>> list(tf.data.TextLineDataset(str(path)).as_numpy_iterator())
    [b'one', b'two']
    """

    def __init__(
        self,
        filenames: Any,
        compression_type: str | None = None,
        buffer_size: Any = None,
        num_parallel_reads: Any = None,
        name: str | None = None,
    ) -> None:
        kind = files.check_compression(compression_type, "TextLineDataset")
        read = functools.partial(files.lines_of, compression=kind)
        super().__init__(filenames, read, num_parallel_reads, "TextLineDataset")


@published("data.FixedLengthRecordDataset")
class FixedLengthRecordDataset(_FilesDataset):
    """Records of `record_bytes` bytes, between a header and a footer of each file.

    >>> import gradtape as tf, pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp(), "records")
    >>> _ = path.write_bytes(b"aabbcc")
    >>> list(tf.data.FixedLengthRecordDataset(str(path), 2).as_numpy_iterator())
    [b'aa', b'bb', b'cc']
    """

    def __init__(
        self,
        filenames: Any,
        record_bytes: Any,
        header_bytes: Any = None,
        footer_bytes: Any = None,
        buffer_size: Any = None,
        compression_type: str | None = None,
        num_parallel_reads: Any = None,
        name: str | None = None,
    ) -> None:
        what = "FixedLengthRecordDataset"
        header = as_int(header_bytes or 0, f"{what}: header_bytes")
        footer = as_int(footer_bytes or 0, f"{what}: footer_bytes")
        if min(header, footer) < 0:
            raise invalid_argument(f"{what}: header_bytes and footer_bytes must be at least 0.")
        read = functools.partial(
            files.fixed_records,
            compression=files.check_compression(compression_type, what),
            size=positive(record_bytes, f"{what}: record_bytes"),
            header=header,
            footer=footer,
        )
        super().__init__(filenames, read, num_parallel_reads, what)


@published("data.TFRecordDataset")
class TFRecordDataset(_FilesDataset):
    """The records of files in TensorFlow's format for records, as bytes."""

    def __init__(
        self,
        filenames: Any,
        compression_type: str | None = None,
        buffer_size: Any = None,
        num_parallel_reads: Any = None,
        name: str | None = None,
    ) -> None:
        kind = files.check_compression(compression_type, "TFRecordDataset")
        read = functools.partial(_tf_records, compression=kind)
        super().__init__(filenames, read, num_parallel_reads, "TFRecordDataset")


def _tf_records(path: str, compression: str) -> AnyIterator[bytes]:
    found: AnyIterator[bytes] = import_module("gradtape.io.tfrecord").read_records(
        path, compression
    )
    return found


INFINITE_CARDINALITY, UNKNOWN_CARDINALITY = INFINITE, UNKNOWN

PUBLISHED = {
    "data.INFINITE_CARDINALITY": INFINITE_CARDINALITY,
    "data.UNKNOWN_CARDINALITY": UNKNOWN_CARDINALITY,
    "data.experimental.INFINITE_CARDINALITY": INFINITE_CARDINALITY,
    "data.experimental.UNKNOWN_CARDINALITY": UNKNOWN_CARDINALITY,
}
