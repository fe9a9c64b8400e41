"""Files: what TensorFlow writes gradtape reads, and the other way round."""

from __future__ import annotations

import os

import pytest
import tensorflow  # noqa: ICN001  # `tf` is the library that a function is given

import gradtape
from gradtape.io.tfrecord import read_records

LIBRARIES = [gradtape, tensorflow]
RECORDS = [b"", b"a", os.urandom(1000), bytes(10**5), b"end"]


# TFRecords


def in_tensorflow(path, kind=""):
    return [record.numpy() for record in tensorflow.data.TFRecordDataset(str(path), kind)]


@pytest.mark.parametrize("kind", ["", "GZIP", "ZLIB"])
@pytest.mark.parametrize("tf", LIBRARIES, ids=["gradtape", "tensorflow"])
def test_records_are_read_by_both(tmp_path, tf, kind):
    path = str(tmp_path / "records")
    with tf.io.TFRecordWriter(path, kind) as writer:
        for record in RECORDS:
            writer.write(record)
            writer.flush()
    assert list(read_records(path, kind)) == in_tensorflow(path, kind) == RECORDS


def test_files_are_the_same_byte_for_byte(tmp_path):
    found = []
    for tf in LIBRARIES:
        with tf.io.TFRecordWriter(str(tmp_path / "records")) as writer:
            for record in RECORDS:
                writer.write(record)
        found.append((tmp_path / "records").read_bytes())
    assert found[0] == found[1]


@pytest.mark.parametrize("changed", range(35))
def test_what_tensorflow_finds_damaged_gradtape_does(tmp_path, changed):
    path = str(tmp_path / "records")
    with gradtape.io.TFRecordWriter(path) as writer:
        writer.write(b"abc")
        writer.write(b"")
    data = bytearray((tmp_path / "records").read_bytes())
    data[changed] ^= 1
    (tmp_path / "records").write_bytes(data)
    for read in (in_tensorflow, lambda path: list(read_records(path))):
        with pytest.raises((tensorflow.errors.DataLossError, gradtape.errors.DataLossError)):
            read(path)
