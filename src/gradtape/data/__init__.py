"""`tf.data`: pipelines of elements for training, from memory, generators and files."""

# Written by `make names`: the decorators at the definitions say what is public.

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

__all__ = [
    "AUTOTUNE", "INFINITE_CARDINALITY", "UNKNOWN_CARDINALITY", "Dataset", "DatasetSpec",
    "FixedLengthRecordDataset", "Iterator", "NumpyIterator", "Options", "TFRecordDataset",
    "TextLineDataset", "ThreadingOptions", "experimental",
]  # fmt: skip
