"""Datasets, records and text as programs for TensorFlow 1 read them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NoReturn

from gradtape import nest
from gradtape.api.tensorflow.shaping import expand_dims
from gradtape.convert import as_tensor
from gradtape.core.tensor import Tensor
from gradtape.data.dataset import Dataset
from gradtape.io.tfrecord import TFRecordOptions, read_records
from gradtape.shapes import TensorSpec
from gradtape.strings.splitting import split


def make_one_shot_iterator(dataset: Any) -> Any:
    """An iterator over a dataset, with `get_next()`."""
    return iter(_dataset(dataset, "make_one_shot_iterator"))


def make_initializable_iterator(dataset: Any, shared_name: str | None = None) -> NoReturn:
    """Refused, as in TensorFlow without a graph."""
    raise RuntimeError(
        "make_initializable_iterator is not available: there is no graph in which an iterator "
        "could be initialized. Use iter(dataset)."
    )


def get_output_types(dataset_or_iterator: Any) -> Any:
    """The dtypes of an element, in its structure."""
    return nest.map_structure(lambda spec: spec.dtype, dataset_or_iterator.element_spec)


def get_output_shapes(dataset_or_iterator: Any) -> Any:
    """The shapes of an element, in its structure."""
    return nest.map_structure(lambda spec: spec.shape, dataset_or_iterator.element_spec)


def get_output_classes(dataset_or_iterator: Any) -> Any:
    """The classes of an element's parts, in its structure."""
    return nest.map_structure(
        lambda spec: Tensor if isinstance(spec, TensorSpec) else spec.value_type,
        dataset_or_iterator.element_spec,
    )


def _dataset(value: Any, function: str) -> Dataset:
    if not isinstance(value, Dataset):
        raise TypeError(f"{function}: dataset must be a tf.data.Dataset, got {value!r}.")
    return value


class TFRecordCompressionType:
    """How a file of records is compressed, for `TFRecordOptions`."""

    NONE = ""
    ZLIB = "ZLIB"
    GZIP = "GZIP"


def tf_record_iterator(path: Any, options: Any = None) -> Iterator[bytes]:
    """The records of a file; tf.data.TFRecordDataset took its place."""
    return read_records(path, TFRecordOptions.get_compression_type_string(options))


def strings_split(
    input: Any = None,
    sep: Any = None,
    maxsplit: int = -1,
    result_type: str = "SparseTensor",
    source: Any = None,
    name: str | None = None,
) -> Any:
    """`tf.strings.split`, which gives a SparseTensor here."""
    if result_type not in ("SparseTensor", "RaggedTensor"):
        raise ValueError(
            "strings.split: result_type must be 'SparseTensor' or 'RaggedTensor', got "
            f"{result_type!r}."
        )
    texts = as_tensor(source if input is None else input, argument="strings.split: input")
    found = split(texts if texts.ndim else expand_dims(texts, 0), sep, maxsplit)
    return found.to_sparse() if result_type == "SparseTensor" else found
