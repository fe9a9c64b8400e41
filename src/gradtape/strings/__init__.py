"""Strings: tensors of bytes, which most functions take as UTF-8 text."""

# Written by `make names`: the decorators at the definitions say what is public.

import typing as _typing

from gradtape.strings.buckets import to_hash_bucket, to_hash_bucket_fast, to_hash_bucket_strong
from gradtape.strings.editing import (
    length,
    lower,
    regex_full_match,
    regex_replace,
    strip,
    substr,
    to_number,
    upper,
)
from gradtape.strings.joining import as_string, join, reduce_join, unsorted_segment_join
from gradtape.strings.joining import format_ as format
from gradtape.strings.splitting import bytes_split, ngrams, split
from gradtape.strings.unicode import (
    unicode_decode,
    unicode_decode_with_offsets,
    unicode_encode,
    unicode_script,
    unicode_split,
    unicode_split_with_offsets,
    unicode_transcode,
)

if not _typing.TYPE_CHECKING:  # a type checker would take any name to be there
    from gradtape.absent import absent_from as _absent_from

    __getattr__ = _absent_from(__name__)

__all__ = [
    "as_string", "bytes_split", "format", "join", "length", "lower", "ngrams", "reduce_join",
    "regex_full_match", "regex_replace", "split", "strip", "substr", "to_hash_bucket",
    "to_hash_bucket_fast", "to_hash_bucket_strong", "to_number", "unicode_decode",
    "unicode_decode_with_offsets", "unicode_encode", "unicode_script", "unicode_split",
    "unicode_split_with_offsets", "unicode_transcode", "unsorted_segment_join", "upper",
]  # fmt: skip
