"""The sorted table of a checkpoint's index file: keys and values in blocks.

A block holds entries whose keys leave out what they share with the key before, then positions where
a key stands in full, and a byte that says how the block is compressed, with a checksum. The file
ends with a footer of 48 bytes, which says where the block is that lists the others.
"""

from __future__ import annotations

from collections.abc import Iterator

from gradtape.api.tensorflow.checkpoint.bundle.wire import varint
from gradtape.api.tensorflow.checkpoint.layout import DamagedError
from gradtape.crc32c import masked_crc32c

FOOTER = 48
_MAGIC = 0xDB4775248B80FB57
_TRAILER = 5
_MOST_SHARED = 64  # a key stands in full at every 16th entry, so that keys are 16 times their bytes


def is_table(data: bytes) -> bool:
    """Whether a file is a sorted table, whole or not."""
    return len(data) >= FOOTER and int.from_bytes(data[-8:], "little") == _MAGIC


def entries(data: bytes) -> Iterator[tuple[bytes, bytes]]:
    """All keys and values of a table, in the order of the keys."""
    if not is_table(data):
        raise DamagedError("it does not end as a table of a checkpoint does")
    footer = data[-FOOTER:]
    at = 0
    for _ in range(2):  # the table's own metadata, which checkpoints do not have
        _, at = varint(footer, at)
    offset, at = varint(footer, at)
    size, at = varint(footer, at)
    last = b""
    for _, handle in _block(data, offset, size):
        begin, at = varint(handle, 0)
        length, _ = varint(handle, at)
        for key, value in _block(data, begin, length):
            if last and key <= last:
                raise DamagedError("the keys of its table are out of order")
            last = key
            yield key, value


def _block(data: bytes, offset: int, size: int) -> Iterator[tuple[bytes, bytes]]:
    """The entries of one block, which is as it was written."""
    end = offset + size
    if end + _TRAILER > len(data) - FOOTER:
        raise DamagedError("a block of its table lies outside the file")
    checked, stored = data[offset : end + 1], data[end + 1 : end + _TRAILER]
    if masked_crc32c(checked) != int.from_bytes(stored, "little"):
        raise DamagedError("a block of its table does not match its checksum")
    if data[end] != 0:
        raise DamagedError("its table is compressed, which no version of tf.train.Checkpoint does")
    block = data[offset:end]
    if size < 4:
        raise DamagedError("a block of its table is too short")
    restarts = int.from_bytes(block[-4:], "little")
    limit = size - 4 * (restarts + 1)
    if limit < 0:
        raise DamagedError("a block of its table is too short")
    at, key, keys = 0, b"", 0
    while at < limit:
        shared, at = varint(block, at)
        unshared, at = varint(block, at)
        length, at = varint(block, at)
        if shared > len(key) or at + unshared + length > limit:
            raise DamagedError("an entry of its table does not fit into its block")
        keys += shared + unshared
        if keys > _MOST_SHARED * size:
            raise DamagedError("the keys of its table are longer than any that TensorFlow writes")
        key = key[:shared] + block[at : at + unshared]
        at += unshared
        yield key, block[at : at + length]
        at += length
