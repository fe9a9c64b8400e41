"""`tf.io`: files, TFRecords, examples, and images as files hold them."""

# Written by `make names`: the decorators at the definitions say what is public.

from gradtape.io.examples import decode_json_example
from gradtape.io.features import (
    FixedLenFeature,
    FixedLenSequenceFeature,
    RaggedFeature,
    SparseFeature,
    VarLenFeature,
)
from gradtape.io.parsing import (
    parse_example,
    parse_sequence_example,
    parse_single_example,
    parse_single_sequence_example,
)
from gradtape.io.tfrecord import TFRecordOptions, TFRecordWriter

__all__ = [
    "FixedLenFeature", "FixedLenSequenceFeature", "RaggedFeature", "SparseFeature",
    "TFRecordOptions", "TFRecordWriter", "VarLenFeature", "decode_json_example", "parse_example",
    "parse_sequence_example", "parse_single_example", "parse_single_sequence_example",
]  # fmt: skip
