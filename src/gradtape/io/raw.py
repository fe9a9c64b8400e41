"""Strings of bytes as numbers, in base 64, and compressed: `tf.io.decode_raw` and its kin."""

from __future__ import annotations

import base64
import io
import re

import numpy as np

from gradtape import dtypes, errors
from gradtape.api.tensorflow.arguments import DTypeLike, TensorLike, as_int
from gradtape.core.tensor import Tensor
from gradtape.io.byte_strings import mapped, strings
from gradtape.io.inflating import WINDOW_BITS, inflated
from gradtape.published import published

_BASE_64 = re.compile(rb"(?:[\w-]{4})*(?:[\w-]{2}(?:==)?|[\w-]{3}=?)?", re.ASCII)


@published("io.decode_raw")
def decode_raw(
    input_bytes: TensorLike,
    out_type: DTypeLike,
    little_endian: bool = True,
    fixed_length: int | None = None,
    name: str | None = None,
) -> Tensor:
    r"""The numbers that strings are the bytes of, in a new last axis.

    The strings have one length, unless they are to be cut off or filled with zeros to a
    `fixed_length` in bytes.

    >>> import gradtape as tf
    >>> tf.io.decode_raw([b"\x01\x00", b"\x02\x00"], tf.int16).numpy().tolist()
    [[1], [2]]
    """
    given = strings(input_bytes, "decode_raw: input_bytes")
    wanted = dtypes.as_dtype(out_type)
    if wanted is dtypes.string:
        raise errors.invalid_argument("decode_raw: out_type must be a dtype of numbers.")
    size, data = wanted.size, given.reshape(-1).tolist()
    if fixed_length is None:
        length = len(data[0]) if data else 0
        for i, entry in enumerate(data):
            if len(entry) != length:
                raise errors.invalid_argument(
                    f"decode_raw: input_bytes[{i}] has {len(entry)} bytes, but the first has "
                    f"{length}: give fixed_length to cut and fill them."
                )
        if length % size:
            raise errors.invalid_argument(
                f"decode_raw: {length} bytes are no whole number of {wanted.name}s, which have "
                f"{size}."
            )
    else:
        length = as_int(fixed_length, "decode_raw: fixed_length")
        if length <= 0 or length % size:
            raise errors.invalid_argument(
                f"decode_raw: fixed_length={length} must be a positive multiple of {size}, the "
                f"size of {wanted.name}."
            )
        data = [entry[:length].ljust(length, b"\0") for entry in data]
    joined = np.frombuffer(b"".join(data), np.uint8)
    if wanted is dtypes.bool_:
        numbers = joined != 0
    elif little_endian or size == 1:
        numbers = joined.view(wanted.numpy).copy()
    else:
        part = size // 2 if wanted.is_complex else size
        turned = np.ascontiguousarray(joined.reshape(-1, part)[:, ::-1])
        numbers = turned.reshape(-1).view(wanted.numpy)
    return Tensor(numbers.reshape(*given.shape, length // size))


@published("io.encode_base64")
def encode_base64(input: TensorLike, pad: bool = False, name: str | None = None) -> Tensor:
    """Strings in base 64, of the letters that stand in addresses and names of files.

    >>> import gradtape as tf
    >>> tf.io.encode_base64(["a", "ÿÿ"]).numpy().tolist()
    [b'YQ', b'w7_Dvw']
    """
    given = strings(input, "encode_base64: input")
    encoded = lambda data: base64.urlsafe_b64encode(data).rstrip(b"" if pad else b"=")
    return mapped(encoded, given, "encode_base64: input", ())


@published("io.decode_base64")
def decode_base64(input: TensorLike, name: str | None = None) -> Tensor:
    """What strings in base 64 stand for, with or without `=` at their ends.

    >>> import gradtape as tf
    >>> tf.io.decode_base64("YQ").numpy()
    b'a'
    """
    return mapped(
        _from_base_64, strings(input, "decode_base64: input"), "decode_base64: input", (ValueError,)
    )


def _from_base_64(data: bytes) -> bytes:
    if not _BASE_64.fullmatch(data):
        raise ValueError(
            f"is not in base 64 with the letters A-Z, a-z, 0-9, - and _: {data[:40]!r}"
        )
    bare = data.rstrip(b"=")
    return base64.urlsafe_b64decode(bare + b"=" * (-len(bare) % 4))


@published("io.decode_compressed")
def decode_compressed(
    bytes: TensorLike, compression_type: str = "", name: str | None = None
) -> Tensor:
    """What strings are that were compressed with "GZIP" or "ZLIB", or not at all.

    >>> import gradtape as tf, gzip
    >>> tf.io.decode_compressed(gzip.compress(b"text"), "GZIP").numpy()
    b'text'
    """
    given = strings(bytes, "decode_compressed: bytes")
    if compression_type not in ("", *WINDOW_BITS):
        raise errors.invalid_argument(
            "decode_compressed: compression_type must be '', 'GZIP' or 'ZLIB', got "
            f"{compression_type!r}."
        )
    if not compression_type:
        return Tensor(given)
    whole = lambda data: inflated(io.BytesIO(data), compression_type, "decode_compressed").read()
    return mapped(whole, given, "decode_compressed: bytes", ())
