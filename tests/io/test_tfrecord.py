"""TFRecords: what is written is read, what is damaged is refused, and interrupts and threads leave
whole records.
"""

import gzip
import os
import signal
import struct
import subprocess
import sys
import threading
import zlib
from pathlib import Path

import pytest

import gradtape as tf
from gradtape.crc32c import checksum_function, masked
from gradtape.io import tfrecord
from gradtape.io.tfrecord import read_records, tf_record_iterator

RECORDS = [b"", b"a", b"abc" * 50, bytes(range(256)) * 5, b"end"]
KINDS = ["", "GZIP", "ZLIB"]


def written(path, records=RECORDS, options=""):
    with tf.io.TFRecordWriter(path, options) as writer:
        for record in records:
            writer.write(record)
    return Path(path).read_bytes()


def header(length):
    size = struct.pack("<Q", length)
    return size + struct.pack("<I", masked(checksum_function()(size)))


# What is written is read


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_written_is_read(tmp_path, kind):
    path = tmp_path / "records"
    written(path, options=kind)
    assert list(read_records(str(path), kind)) == RECORDS
    assert list(tf_record_iterator(path, kind)) == RECORDS
    assert list(tf_record_iterator(path, tf.io.TFRecordOptions(kind))) == RECORDS


def test_the_bytes_are_those_of_the_format(tmp_path):
    """As TensorFlow writes them; tests_tf compares more."""
    assert written(tmp_path / "one", [b"abc"]) == bytes.fromhex(
        "0300000000000000b099490e6162636e57f121"
    )


def test_checksums_are_crc_32c():
    # RFC 3720, B.4.
    assert checksum_function()(bytes(32)) == 0x8A9136AA
    assert checksum_function()(b"123456789") == 0xE3069283
    assert masked(0) == 0xA282EAD8


def test_large_records_and_many(tmp_path, monkeypatch):
    monkeypatch.setattr(tfrecord, "_HELD", 100)
    monkeypatch.setattr(tfrecord, "_AT_ONCE", 1000)
    records = [os.urandom(size) for size in (5000, 0, 99, 100, 101, 996, 1000, 1004, 4 * 10**6)]
    for kind in KINDS:
        written(tmp_path / "records", records, kind)
        assert list(read_records(tmp_path / "records", kind)) == records


@pytest.mark.parametrize("make", [str, Path, os.fsencode, lambda path: tf.constant(str(path)),
                                  lambda path: f"file://{path}", tf.Variable])  # fmt: skip
def test_a_path_is_given_in_many_ways(tmp_path, make):
    path = make(str(tmp_path / "records"))
    written_to = tmp_path / "records"
    with tf.io.TFRecordWriter(path) as writer:
        writer.write(b"x")
    assert written_to.exists()
    assert list(read_records(path)) == [b"x"]


def test_an_empty_file_has_no_records(tmp_path):
    assert written(tmp_path / "none", []) == b""
    assert list(read_records(tmp_path / "none")) == []
    (tmp_path / "none.gz").write_bytes(b"")
    assert list(read_records(tmp_path / "none.gz", "GZIP")) == []
    written(tmp_path / "none.z", [], "ZLIB")
    assert list(read_records(tmp_path / "none.z", "ZLIB")) == []


def test_gzip_files_one_after_the_other(tmp_path):
    path = tmp_path / "records"
    both = written(path, options="GZIP") * 2
    path.write_bytes(both)
    assert list(read_records(path, "GZIP")) == RECORDS * 2


def test_gzip_reads_what_a_writer_compressed(tmp_path):
    path = tmp_path / "records"
    plain = written(path)
    written(path, options="GZIP")
    assert gzip.decompress(path.read_bytes()) == plain
    assert zlib.decompress(written(path, options="ZLIB")) == plain
    for options in ({"compression_level": 0}, {"window_bits": 9}, {"window_bits": 31},
                    {"mem_level": 1}, {"compression_strategy": zlib.Z_HUFFMAN_ONLY}):  # fmt: skip
        written(path, options=tf.io.TFRecordOptions("GZIP", **options))
        assert gzip.decompress(path.read_bytes()) == plain


def test_kinds_of_records(tmp_path):
    given = [b"b", bytearray(b"ba"), memoryview(b"mv"), "text ü", tf.constant("t")]
    written(tmp_path / "records", given)
    assert list(read_records(tmp_path / "records")) == [b"b", b"ba", b"mv", "text ü".encode(), b"t"]


@pytest.mark.parametrize("kind", KINDS)
def test_flush_lets_others_read(tmp_path, kind):
    path = tmp_path / "records"
    with tf.io.TFRecordWriter(path, kind) as writer:
        writer.write(b"one")
        assert path.stat().st_size == 0
        writer.flush()
        found = read_records(path, kind)
        assert next(found) == b"one"
        writer.write(b"two")
    assert list(found) == [b"two"]


# What is damaged is refused


@pytest.mark.parametrize("changed", range(19 + 16 + 17))
def test_every_changed_byte_is_found(tmp_path, changed):
    path = tmp_path / "records"
    data = bytearray(written(path, [b"abc", b"", b"x"]))
    assert len(data) == 19 + 16 + 17
    data[changed] ^= 0x41
    path.write_bytes(data)
    begin = 0 if changed < 19 else 19 if changed < 35 else 35
    found = []
    with pytest.raises(tf.errors.DataLossError, match=f"records: the record at byte {begin} is"):
        found.extend(read_records(path))
    assert found == [b"abc", b"", b"x"][: [0, 19, 35].index(begin)]


@pytest.mark.parametrize("length", range(1, 35))
def test_every_truncation_is_found(tmp_path, length):
    path = tmp_path / "records"
    path.write_bytes(written(path, [b"abc", b""])[:length])
    if length == 19:
        assert list(read_records(path)) == [b"abc"]
        return
    begin = 0 if length < 19 else 19
    with pytest.raises(tf.errors.DataLossError, match=f"byte {begin} .* the file ends within it"):
        list(read_records(path))


@pytest.mark.parametrize("kind", ["GZIP", "ZLIB"])
def test_compressed_files_that_are_damaged(tmp_path, kind):
    path = tmp_path / "records"
    whole = written(path, options=kind)
    for length in range(1, len(whole)):
        path.write_bytes(whole[:length])
        with pytest.raises(tf.errors.DataLossError, match="records: it ends before"):
            list(read_records(path, kind))
    first = 10 if kind == "GZIP" else 0  # gzip's header has a date, which nothing checks
    for changed in range(first, len(whole)):
        data = bytearray(whole)
        data[changed] ^= 0x41
        path.write_bytes(data)
        with pytest.raises(tf.errors.DataLossError, match="records: "):
            list(read_records(path, kind))


def test_files_of_another_kind(tmp_path):
    path = tmp_path / "records"
    written(path)
    with pytest.raises(tf.errors.DataLossError, match="is it a GZIP file"):
        list(read_records(path, "GZIP"))
    written(path, options="GZIP")
    with pytest.raises(tf.errors.DataLossError, match="or a compressed one"):
        list(read_records(path))
    with pytest.raises(tf.errors.DataLossError, match="is it a ZLIB file"):
        list(read_records(path, "ZLIB"))


@pytest.mark.parametrize("length", [10**6, 2**31, 2**40, 2**62, 2**64 - 20])
def test_a_length_that_lies_takes_no_memory(tmp_path, length):
    path = tmp_path / "records"
    path.write_bytes(header(length) + b"short")
    with pytest.raises(tf.errors.DataLossError, match=f"after 5 of {length + 4} bytes"):
        list(read_records(path))


def test_a_bomb_is_inflated_only_as_far_as_it_is_read(tmp_path):
    path = tmp_path / "records"
    written(path, [b"first"])
    with gzip.open(path, "wb") as file:
        file.write(written(tmp_path / "first", [b"first"]) + header(2**40))
        for _ in range(64):
            file.write(bytes(2**20))
    found = read_records(path, "GZIP")
    assert next(found) == b"first"
    with pytest.raises(tf.errors.DataLossError, match="ends within it"):
        next(found)


# Bad arguments


@pytest.mark.parametrize("kind", ["gzip", "LZ4", 5, b"GZIP"])
def test_a_compression_that_does_not_exist(tmp_path, kind):
    for call in (lambda: read_records(tmp_path, kind), lambda: tf.io.TFRecordOptions(kind),
                 lambda: tf.io.TFRecordWriter(tmp_path / "x", kind)):  # fmt: skip
        with pytest.raises(ValueError, match="must be '', 'GZIP' or 'ZLIB'"):
            call()
    assert not (tmp_path / "x").exists()


def test_files_that_cannot_be_opened(tmp_path):
    with pytest.raises(tf.errors.NotFoundError, match="missing; No such file"):
        list(read_records(tmp_path / "missing"))
    with pytest.raises(tf.errors.FailedPreconditionError, match="Is a directory"):
        list(read_records(tmp_path))
    with pytest.raises(tf.errors.NotFoundError, match="missing/x; No such file"):
        tf.io.TFRecordWriter(tmp_path / "missing" / "x")
    with pytest.raises(tf.errors.FailedPreconditionError, match="Is a directory"):
        tf.io.TFRecordWriter(tmp_path)


@pytest.mark.parametrize(
    ("path", "error", "says"),
    [
        ("", tf.errors.InvalidArgumentError, "path is empty"),
        ("a\0b", tf.errors.InvalidArgumentError, "zero byte"),
        (3, TypeError, "must be a path, got 3 of type int"),
        (None, TypeError, "must be a path, got None"),
        (tf.constant(["a", "b"]), tf.errors.InvalidArgumentError, r"one path.*shape \(2,\)"),
        (tf.constant(1.0), tf.errors.InvalidArgumentError, "one path.*float32"),
    ],
)
def test_paths_that_are_none(path, error, says):
    for call in (read_records, tf.io.TFRecordWriter):
        with pytest.raises(error, match=says):
            call(path)


@pytest.mark.parametrize("record", [3, 1.5, None, ["a"], tf.constant(1), tf.constant(["a"])])
def test_records_that_are_none(tmp_path, record):
    with tf.io.TFRecordWriter(tmp_path / "x") as writer:
        with pytest.raises(TypeError, match=r"record must be bytes.*SerializeToString"):
            writer.write(record)
        writer.write(b"right")
    assert list(read_records(tmp_path / "x")) == [b"right"]


def test_options_that_zlib_does_not_take(tmp_path):
    for options in ({"compression_level": 77}, {"window_bits": 99}, {"mem_level": "much"}):
        with pytest.raises(
            tf.errors.InvalidArgumentError, match=f"zlib takes no .*{next(iter(options))}"
        ):
            tf.io.TFRecordWriter(tmp_path / "x", tf.io.TFRecordOptions("ZLIB", **options))


def test_a_closed_writer(tmp_path):
    writer = tf.io.TFRecordWriter(tmp_path / "x")
    writer.close()
    writer.close()
    for call in (lambda: writer.write(b"more"), writer.flush):
        with pytest.raises(tf.errors.FailedPreconditionError, match="is closed already"):
            call()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="only Linux has a disk that is full")
def test_a_full_disk():
    writer = tf.io.TFRecordWriter("/dev/full")
    writer.write(b"x")
    with pytest.raises(tf.errors.ResourceExhaustedError, match="/dev/full; No space left"):
        writer.flush()
    with pytest.raises(tf.errors.ResourceExhaustedError, match="No space left"):
        writer.close()
    writer.close()


# Threads, ends and interrupts


@pytest.mark.parametrize("kind", KINDS)
def test_threads_share_a_writer(tmp_path, kind, monkeypatch):
    monkeypatch.setattr(tfrecord, "_HELD", 500)
    path = tmp_path / "records"
    with tf.io.TFRecordWriter(path, kind) as writer:

        def work(number):
            for i in range(200):
                writer.write(b"%d %d" % (number, i) * 10)
                if i % 50 == 0:
                    writer.flush()

        threads = [threading.Thread(target=work, args=[number]) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    expected = sorted(b"%d %d" % (number, i) * 10 for number in range(4) for i in range(200))
    assert sorted(read_records(path, kind)) == expected


def run(code, *arguments):
    """Runs a program that has imported gradtape."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", f"import gradtape as tf, os, sys\n{code}",
         *map(str, arguments)],
        env=os.environ | {"PYTHONPATH": str(Path(tf.__file__).parents[1])},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.stderr == ""
    return done.stdout


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_not_closed_is_written_at_the_end(tmp_path, kind):
    path = tmp_path / "records"
    run(f"w = tf.io.TFRecordWriter(sys.argv[1], {kind!r})\nw.write(b'last')", path)
    assert list(read_records(path, kind)) == [b"last"]
    writer = tf.io.TFRecordWriter(path, kind)
    writer.write(b"freed")
    del writer
    assert list(read_records(path, kind)) == [b"freed"]


def test_a_fork_does_not_write_what_its_parent_writes(tmp_path):
    path = tmp_path / "records"
    run("""
w = tf.io.TFRecordWriter(sys.argv[1])
w.write(b'once')
if os.fork() == 0:
    sys.exit()
os.wait()
w.write(b'twice')
""", path)  # fmt: skip
    assert list(read_records(path)) == [b"once", b"twice"]


INTERRUPTED = """
import random, signal, time
from gradtape.io import tfrecord
tfrecord._HELD = 3000
signal.signal(signal.SIGALRM, signal.default_int_handler)
interrupts = 0
rng = random.Random(int(sys.argv[3]))
writer = tf.io.TFRecordWriter(sys.argv[1], sys.argv[2])
end = time.monotonic() + 1.0
number = 0
while time.monotonic() < end:
    try:
        signal.setitimer(signal.ITIMER_REAL, rng.uniform(1e-5, 2e-3))
        while True:
            writer.write(b"%d " % number * rng.randrange(1, 300))
            number += 1
    except KeyboardInterrupt:
        interrupts += 1
while True:
    try:
        signal.setitimer(signal.ITIMER_REAL, 2e-5)
        writer.close()
        signal.setitimer(signal.ITIMER_REAL, 0)
        break
    except KeyboardInterrupt:
        pass
print(number, interrupts)
"""


@pytest.mark.parametrize("kind", KINDS)
def test_interrupts_leave_whole_records(tmp_path, kind):
    path = tmp_path / "records"
    done = subprocess.run(
        [sys.executable, "-c", f"import gradtape as tf, sys\n{INTERRUPTED}", path, kind, "1"],
        env=os.environ | {"PYTHONPATH": str(Path(tf.__file__).parents[1])},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    number, interrupts = map(int, done.stdout.split())
    assert interrupts > 20
    found = [int(record.split()[0]) for record in read_records(path, kind)]
    # A record whose call was interrupted may or may not be there, and is then written again.
    assert sorted(set(found)) == list(range(max(found) + 1))
    assert sorted(found) == found
    assert number - 1 <= max(found) <= number


def test_a_killed_process_leaves_the_records_that_were_flushed(tmp_path):
    path = tmp_path / "records"
    code = (
        "import gradtape as tf, sys, os, signal\nw = tf.io.TFRecordWriter(sys.argv[1])\n"
        "w.write(b'kept')\nw.flush()\nw.write(b'lost')\nos.kill(os.getpid(), signal.SIGKILL)"
    )
    environment = os.environ | {"PYTHONPATH": str(Path(tf.__file__).parents[1])}
    done = subprocess.run([sys.executable, "-c", code, path], env=environment, check=False)
    assert done.returncode == -signal.SIGKILL
    assert list(read_records(path)) == [b"kept"]
