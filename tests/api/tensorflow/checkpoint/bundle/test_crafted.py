"""Files in TensorFlow's format whose checksums are right and whose contents are not: what a file of
unknown origin may ask for is refused before it takes memory, and never gives a wrong number.
"""

import pytest

import gradtape as tf
from gradtape.api.tensorflow.checkpoint.tensor_file import read_tensors
from gradtape.crc32c import masked_crc32c


def varint(number):
    low, rest = number & 0x7F, number >> 7
    return bytes([low | 0x80]) + varint(rest) if rest else bytes([low])


def block(entries):
    """Entries: how much of its key each shares with the one before, what follows, and the value."""
    text = b"".join(
        varint(shared) + varint(len(key)) + varint(len(value)) + key + value
        for shared, key, value in entries
    )
    return text + bytes(4) + (1).to_bytes(4, "little") + b"\0"


def checked(text):
    return text + masked_crc32c(text).to_bytes(4, "little")


def index_file(entries):
    text = checked(block(entries))
    listed = checked(block([(0, b"\xff", varint(0) + varint(len(text) - 5))]))
    footer = bytes(2) + varint(len(text)) + varint(len(listed) - 5)
    return text + listed + footer.ljust(40, b"\0") + bytes.fromhex("57fb808b247547db")


def message(*fields):
    """A message of small numbers and of bytes, each after the number of its field."""
    return b"".join(
        bytes([8 * number, value])
        if isinstance(value, int)
        else bytes([8 * number + 2, len(value)]) + value
        for number, value in fields
    )


def value(*fields, size=4, offset=0):
    """So many zeros in bytes, and further fields."""
    shape = message((2, message((1, size))))
    said = message((1, 4), (2, shape), (4, offset), (5, size), *fields)
    return said + b"\x35" + masked_crc32c(bytes(size)).to_bytes(4, "little")


def in_slices(*places, size=4):
    """A value of which parts lie elsewhere."""
    slices = ((7, message(*((1, message((1, a), (2, n))) for a, n in [place]))) for place in places)
    return message((1, 4), (2, message((2, message((1, size))))), *slices)


def part(start, length):
    return b"\0a\0\1\1\1" + bytes([0x80 + start, 0x80 + length])


def header(*fields):
    return 0, b"", message((1, 1), *fields)


LONG = b"a" * 9000
ROWS = [
    ([header(), (0, b"a", value())], None),
    ([header((3, message((1, 1), (2, 1)))), (0, b"a", value())], None),
    ([header((3, message((1, 2), (2, 2)))), (0, b"a", value())], "needs version 2 of the format"),
    ([header(), *((0, key, value()) for key in (b"a", b"b", b"c"))], "is shorter than its values"),
    ([header(), (0, b"a", value(offset=100))], "is shorter than its values"),
    ([header(), (0, LONG, b""), *((9000, bytes([n]), b"") for n in range(99))], "longer than any"),
    ([header(), (0, b"a", in_slices((0, 2)))], "do not make up its shape"),
    ([header(), (0, b"a", in_slices((2, 4)))], "lies outside its shape"),
    ([header(), (0, b"a", in_slices() + message((7, b"")))], "another number of axes"),
    ([header(), (0, b"a", in_slices((0, 4)))], "a slice of 'a' is not there"),
    (
        [header(), (0, part(0, 4), value(size=2)), (0, b"a", in_slices((0, 4)))],
        "a slice of 'a' has another dtype or shape",
    ),
    ([header(), (0, part(0, 2), value(size=2)), (0, b"a", in_slices((0, 2), (0, 2)))], "overlap"),
    (
        [
            header(), (0, part(0, 2), value(size=2)), (0, part(2, 2), value(size=2)),
            (0, b"a", in_slices((0, 2), (2, 2))),
        ],
        None,
    ),
]  # fmt: skip


@pytest.mark.parametrize(("entries", "says"), ROWS)
def test_what_an_index_asks_for(tmp_path, entries, says):
    (tmp_path / "model.index").write_bytes(index_file(entries))
    (tmp_path / "model.data-00000-of-00001").write_bytes(bytes(8))
    if says is None:
        assert read_tensors(tmp_path / "model").arrays["a"].tolist() == [0, 0, 0, 0]
        return
    with pytest.raises(tf.errors.DataLossError, match=says) as caught:
        read_tensors(tmp_path / "model")
    assert str(tmp_path / "model") in str(caught.value)
