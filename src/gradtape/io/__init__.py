"""`tf.io`: files, TFRecords, examples, and images as files hold them."""

# Written by `make names`: the decorators at the definitions say what is public.

import typing as _typing

from gradtape.io import gfile
from gradtape.io.csv_records import decode_csv
from gradtape.io.examples import decode_json_example
from gradtape.io.features import (
    FixedLenFeature,
    FixedLenSequenceFeature,
    RaggedFeature,
    SparseFeature,
    VarLenFeature,
)
from gradtape.io.image_codecs import (
    decode_and_crop_jpeg,
    decode_bmp,
    decode_gif,
    decode_image,
    decode_jpeg,
    decode_png,
    encode_jpeg,
    encode_png,
    extract_jpeg_shape,
    is_jpeg,
)
from gradtape.io.parsing import (
    parse_example,
    parse_sequence_example,
    parse_single_example,
    parse_single_sequence_example,
)
from gradtape.io.raw import decode_base64, decode_compressed, decode_raw, encode_base64
from gradtape.io.tensors import parse_tensor, serialize_tensor
from gradtape.io.tfrecord import TFRecordOptions, TFRecordWriter
from gradtape.io.whole_files import matching_files, read_file, write_file

if not _typing.TYPE_CHECKING:  # a type checker would take any name to be there
    from gradtape.absent import absent_from as _absent_from

    __getattr__ = _absent_from(__name__)

__all__ = [
    "FixedLenFeature", "FixedLenSequenceFeature", "RaggedFeature", "SparseFeature",
    "TFRecordOptions", "TFRecordWriter", "VarLenFeature", "decode_and_crop_jpeg", "decode_base64",
    "decode_bmp", "decode_compressed", "decode_csv", "decode_gif", "decode_image", "decode_jpeg",
    "decode_json_example", "decode_png", "decode_raw", "encode_base64", "encode_jpeg", "encode_png",
    "extract_jpeg_shape", "gfile", "is_jpeg", "matching_files", "parse_example",
    "parse_sequence_example", "parse_single_example", "parse_single_sequence_example",
    "parse_tensor", "read_file", "serialize_tensor", "write_file",
]  # fmt: skip
