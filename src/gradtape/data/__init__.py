"""`tf.data`: pipelines of elements for training, from memory, generators and files."""

# Written by `make names`: the decorators at the definitions say what is public.

import typing as _typing

from gradtape.data import experimental
from gradtape.data.dataset import (
    INFINITE_CARDINALITY,
    UNKNOWN_CARDINALITY,
    Dataset,
    DatasetSpec,
    FixedLengthRecordDataset,
    TextLineDataset,
    TFRecordDataset,
)
from gradtape.data.iterators import Iterator, NumpyIterator
from gradtape.data.options import Options, ThreadingOptions
from gradtape.data.stages.mapping import AUTOTUNE

if not _typing.TYPE_CHECKING:  # a type checker would take any name to be there
    from gradtape.absent import absent_from as _absent_from

    __getattr__ = _absent_from(__name__)

__all__ = [
    "AUTOTUNE", "INFINITE_CARDINALITY", "UNKNOWN_CARDINALITY", "Dataset", "DatasetSpec",
    "FixedLengthRecordDataset", "Iterator", "NumpyIterator", "Options", "TFRecordDataset",
    "TextLineDataset", "ThreadingOptions", "experimental",
]  # fmt: skip
