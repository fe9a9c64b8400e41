"""Checkpoint files that are not as they were written, by accident or on purpose: each is refused,
by name, and nothing is restored.
"""

import base64
import hashlib
import itertools
import json
import os
import pickle
import random
import zlib

import numpy as np
import pytest

import gradtape as tf
import gradtape.train
from gradtape.api.tensorflow.checkpoint import tensor_file


class Slots:
    """What an optimizer of Keras looks like to a checkpoint."""

    def __init__(self, value):
        self.variables = [Slot("adam/iteration", int(value)), Slot("adam/momentum", [value, value])]


class Slot:
    def __init__(self, path, value):
        self.path, self.inner = path, tf.Variable(value)

    @property
    def __gradtape_variable__(self):
        return self.inner

    def assign(self, value):
        self.inner.assign(value)


def program(value):
    net = tf.Module()
    net.w, net.on = tf.Variable([value, value + 1]), tf.Variable(value > 0)
    return tf.train.Checkpoint(
        net=net,
        rng=tf.random.Generator.from_seed(int(value)),
        names=[tf.Variable(["a", "bc"])],
        adam=Slots(value),
    )


def values(checkpoint):
    found = [
        *checkpoint.net.variables,
        checkpoint.rng.state,
        *checkpoint.names,
        checkpoint.save_counter,
    ]
    return [
        v.numpy().tolist() for v in (*found, *(slot.inner for slot in checkpoint.adam.variables))
    ]


TARGET = program(0.0)
UNTOUCHED = values(TARGET)


@pytest.fixture
def saved(tmp_path):
    """A folder with two checkpoints, and the bytes of the second, which tests damage."""
    checkpoint = program(3.0)
    checkpoint.save(tmp_path / "model")
    checkpoint.save(tmp_path / "model")
    return tmp_path / "model-2.safetensors"


def is_refused(file, raw, said=""):
    """That a file with these bytes is a DataLossError that says what is whole,
    and that nothing was restored.
    """
    file.write_bytes(raw)
    with pytest.raises(tf.errors.DataLossError) as caught:
        TARGET.restore(file)
    message = str(caught.value)
    assert f"The checkpoint '{file}' is damaged (" in message
    assert message.endswith(f": restore '{file.with_name('model-1')}', which is intact.")
    assert said in message
    assert values(TARGET) == UNTOUCHED
    assert vars(TARGET).get("_waiting") is None


def flipped(raw, bit):
    changed = bytearray(raw)
    changed[bit // 8] ^= 1 << bit % 8
    return bytes(changed)


def test_a_sample_of_flipped_bits(saved):
    raw = saved.read_bytes()
    length = 8 + int.from_bytes(raw[:8], "little")
    chosen = random.Random(0)
    for bit in (
        *range(64),
        *chosen.sample(range(64, 8 * length), 200),
        *chosen.sample(range(8 * length, 8 * len(raw)), 40),
    ):
        is_refused(saved, flipped(raw, bit))


@pytest.mark.slow
@pytest.mark.parametrize("part", range(8))
def test_every_flipped_bit(saved, part):
    raw = saved.read_bytes()
    assert 8 * len(raw) > 10_000
    for bit in range(part, 8 * len(raw), 8):
        is_refused(saved, flipped(raw, bit))


@pytest.mark.parametrize(
    "step", [9, pytest.param(1, marks=pytest.mark.slow)], ids=["sample", "every"]
)
def test_every_length_that_is_too_short_or_too_long(saved, step):
    raw = saved.read_bytes()
    for length in range(0, len(raw), step):
        is_refused(saved, raw[:length])
    for more in (b"\0", b"\0" * 8, raw):
        is_refused(saved, raw + more)
    saved.write_bytes(raw)
    target = program(0.0)
    target.restore(saved).assert_consumed()
    assert values(target)[:-1] != values(program(0.0))[:-1]


def test_a_header_that_has_lost_two_of_its_marks(saved):
    """Whatever the order in which safetensors writes the metadata."""
    raw = saved.read_bytes()
    marks = [b"__metadata__", b"gradtape.checkpoint", b"header_sha256", b"save_counter", b"objects"]
    for first, second in itertools.combinations(marks, 2):
        for where in (0, 3):
            changed = bytearray(raw)
            changed[raw.index(first) + where] ^= 1
            changed[raw.index(second) + where] ^= 1
            is_refused(saved, bytes(changed))


def test_two_damaged_bytes_and_swapped_halves(saved):
    raw = saved.read_bytes()
    chosen = random.Random(1)
    for _ in range(200):
        first, second = sorted(chosen.sample(range(len(raw)), 2))
        changed = bytearray(raw)
        changed[first], changed[second] = raw[second], raw[first]
        if bytes(changed) != raw:
            is_refused(saved, bytes(changed))


# What is whole


def test_the_nearest_earlier_one_that_is_whole_is_named(tmp_path):
    checkpoint = program(1.0)
    for _ in range(11):
        path = checkpoint.save(tmp_path / "model")
    for number in (11, 10, 8):
        file = tmp_path / f"model-{number}.safetensors"
        file.write_bytes(flipped(file.read_bytes(), 8 * file.stat().st_size - 1))
    with pytest.raises(tf.errors.DataLossError, match=r"restore '.*/model-9', which is intact"):
        checkpoint.restore(path)
    with pytest.raises(tf.errors.DataLossError, match=r"restore '.*/model-7', which is intact"):
        checkpoint.restore(tmp_path / "model-8")


def test_a_later_one_is_better_than_none(tmp_path):
    checkpoint = program(1.0)
    for _ in range(2):
        checkpoint.save(tmp_path / "model")
    (tmp_path / "model-1.safetensors").write_bytes(b"")
    with pytest.raises(tf.errors.DataLossError, match=r"restore '.*/model-2', which is intact"):
        checkpoint.restore(tmp_path / "model-1")


def test_if_none_is_whole_it_says_so(tmp_path):
    checkpoint = program(1.0)
    for _ in range(2):
        checkpoint.save(tmp_path / "model")
    for number in (1, 2):
        (tmp_path / f"model-{number}.safetensors").write_bytes(b"x" * 100)
    (tmp_path / "model-0.safetensors").mkdir()
    with pytest.raises(
        tf.errors.DataLossError,
        match=r"is damaged \(.*\): and no other checkpoint in its folder is intact",
    ):
        checkpoint.restore(tmp_path / "model-2")


# Files that were made on purpose, with checksums that are right


def taken_apart(raw):
    length = int.from_bytes(raw[:8], "little")
    header = json.loads(raw[8 : 8 + length])
    metadata = header["__metadata__"]
    return (
        header,
        metadata,
        json.loads(metadata["tensors"]),
        json.loads(metadata["objects"]),
        raw[8 + length :],
    )


def put_together(text, data):
    """A file with this header, whose checksum is right, whatever the rest is."""
    head = len(text).to_bytes(8, "little") + text
    begin = text.find(b'"header_sha256":"')
    if begin >= 0:
        begin += 8 + len(b'"header_sha256":"')
        zeros = head[:begin] + b"0" * 64 + head[begin + 64 :]
        head = head[:begin] + hashlib.sha256(zeros).hexdigest().encode() + head[begin + 64 :]
    return head + data


def with_changes(raw, change):
    """A file in which `change` has changed something,
    with checksums that are right nevertheless.
    """
    header, metadata, tensors, objects, data = taken_apart(raw)
    texts = {"tensors": (tensors, metadata["tensors"]), "objects": (objects, metadata["objects"])}
    data = change(header, metadata, tensors, objects, data) or data
    for name, (entries, text) in texts.items():
        if metadata.get(name) == text:  # else the text itself was changed
            metadata[name] = json.dumps(entries)
    return put_together(json.dumps(header, separators=(",", ":")).encode(), data)


W = "net/w"  # two float32: eight bytes
DEEP = "[" * 200_000


def change(**entries):
    """A change of the header's entry for one array."""
    return lambda header, *_: header[W].update(entries)


def fact(key=W, **entries):
    """A change of what the metadata say of one array."""
    return lambda _header, _metadata, tensors, *_: tensors[key].update(entries)


def node(key=None, **entries):
    """A change of the object with this value, or of the root."""
    return lambda _header, _metadata, _tensors, objects, _data: next(
        one for one in objects if one["tensor"] == key
    ).update(entries)


def meta(**entries):
    return lambda _header, metadata, *_: metadata.update(entries)


def without(name, where):
    def drop(header, metadata, tensors, objects, _data):
        del {
            "header": header,
            "metadata": metadata,
            "tensors": tensors,
            "entry": header[W],
            "facts": tensors[W],
            "node": objects[0],
        }[where][name]

    return drop


def overlap(header, *_):
    header[W]["data_offsets"] = header["save_counter"]["data_offsets"]


def gap(header, _metadata, _tensors, _objects, data):
    for entry in header.values():
        if "data_offsets" in entry:
            entry["data_offsets"] = [offset + 8 for offset in entry["data_offsets"]]
    return b"\0" * 8 + data


def swallowed(header, _metadata, tensors, _objects, data):
    """One array that claims the bytes of all the others too."""
    header[W] |= {"shape": [len(data) // 4], "data_offsets": [0, len(data)]}
    tensors[W]["crc32"] = zlib.crc32(data)


def not_a_truth_value(header, _metadata, tensors, _objects, data):
    begin, end = header["net/on"]["data_offsets"]
    tensors["net/on"]["crc32"] = zlib.crc32(b"\2")
    return data[:begin] + b"\2" + data[end:]


def another_tensor(header, *_):
    header["more"] = {"dtype": "F32", "shape": [0], "data_offsets": [0, 0]}


HOSTILE = {
    "huge shape": change(shape=[2**62]),
    "huge shape and offsets": change(shape=[2**60], data_offsets=[0, 2**62]),
    "shape that overflows": change(shape=[2**32, 2**32], data_offsets=[0, 0]),
    "empty shape that overflows": change(shape=[0, 2**62, 2**62], data_offsets=[0, 0]),
    "many axes": change(shape=[1] * 65 + [2]),
    "negative shape": change(shape=[-2]),
    "shape of floats": change(shape=[2.0]),
    "shape of truth values": change(shape=[True, 2]),
    "shape that is no list": change(shape=2),
    "negative offsets": change(data_offsets=[-8, 0]),
    "offsets the wrong way round": change(data_offsets=[8, 0]),
    "offsets beyond the file": change(data_offsets=[10**6, 10**6 + 8]),
    "offsets beyond everything": change(data_offsets=[2**70, 2**70 + 8]),
    "three offsets": change(data_offsets=[0, 4, 8]),
    "overlapping arrays": overlap,
    "gap between arrays": gap,
    "an array over all others": swallowed,
    "unknown dtype": change(dtype="F33"),
    "another dtype of the same size": change(dtype="I32"),
    "dtype that is a list": change(dtype=["F32"]),
    "unknown dtype in the metadata": fact(dtype="float33"),
    "dtype of objects": fact(dtype="object"),
    "dtype that NumPy would take": fact(dtype="f4"),
    "dtype of the metadata is a list": fact(dtype=[]),
    "another dtype in the metadata": fact(dtype="int32"),
    "complex without pairs": fact("rng/state", dtype="complex64"),
    "float as string": fact(dtype="string", shape=[2], lengths=[4, 4]),
    "checksum that is text": fact(crc32="0"),
    "checksum that is negative": fact(crc32=-1),
    "lengths that do not add up": fact("names/0", lengths=[1, 1]),
    "negative lengths": fact("names/0", lengths=[-1, 4]),
    "huge lengths": fact("names/0", lengths=[2**62, 2**62]),
    "strings of a huge shape": fact("names/0", shape=[2**40]),
    "facts that are a list": lambda _h, _m, tensors, *_: tensors.update({W: []}),
    "facts with more in them": fact(more=1),
    "entry with more in it": change(more=1),
    "no offsets": without("data_offsets", "entry"),
    "no checksum of an array": without("crc32", "facts"),
    "an array that the metadata do not know": another_tensor,
    "an array that the header does not know": without(W, "header"),
    "truth value of two": not_a_truth_value,
    "no objects": lambda *parts: parts[3].clear(),
    "object that is not there": node(children={"net": 10**9}),
    "object with a negative number": node(children={"net": -1}),
    "object with a truth value for a number": node(children={"net": True}),
    "children that are a list": node(children=[1]),
    "value that is a number": node(W, tensor=5),
    "value that is not there": node(W, tensor="nothing"),
    "value and children": node(tensor=W),
    "no children": without("children", "node"),
    "object that is a list": lambda _h, _m, _t, objects, _d: objects.append([]),
    "object with more in it": node(more=1),
    "objects that are no JSON": meta(objects="[{"),
    "objects that are deep": meta(objects=DEEP),
    "objects that are a number": meta(objects="7"),
    "arrays that are deep": meta(tensors='{"a":' * 100_000),
    "arrays that are a list": meta(tensors="[]"),
    "an array given twice": meta(
        tensors=('{"net/w": {"dtype": "float32", "crc32": 1}, "net/w": {"dtype": "float32", '
             '"crc32": 2}}')),
    "sizes that are NaN": meta(tensors='{"net/w": {"dtype": "float32", "crc32": NaN}}'),
    "a number of a million digits": meta(tensors='{"net/w": {"dtype": "float32", "crc32": ' + "9"
        * 10**6 + "}}"),
    "metadata that are no text": meta(tensors=5),
    "version that is text": meta(version="two"),
    "version that is a number": meta(version=2),
    "version below one": meta(version="0"),
    "version that is old": meta(version="1"),
    "save counter that is text": meta(save_counter="many"),
    "save counter that is missing": without("save_counter", "metadata"),
    "more metadata": meta(more="x"),
}  # fmt: skip


@pytest.mark.parametrize("changed", HOSTILE.values(), ids=HOSTILE.keys())
def test_a_file_made_on_purpose_is_refused(saved, changed):
    is_refused(saved, with_changes(saved.read_bytes(), changed))


def test_the_tests_of_hostile_files_can_fail(saved):
    """A file that was taken apart and put together again without a change is as good as before."""
    saved.write_bytes(with_changes(saved.read_bytes(), lambda *_: None))
    target = program(0.0)
    target.restore(saved).assert_consumed()
    assert values(target) == [*values(program(3.0))[:-3], 2, *values(program(3.0))[-2:]]


def raw_header(text, data=b""):
    return len(text).to_bytes(8, "little") + text + data


RAW = {
    "nothing": b"",
    "seven bytes": b"1234567",
    "zeros": b"\0" * 4096,
    "ones": b"\xff" * 4096,
    "a pickle": pickle.dumps({"w": np.ones(3)}),
    "a zip": b"PK\3\4" + b"\0" * 100,
    "deep lists": raw_header(DEEP.encode()),
    "deep objects": raw_header(b'{"a":' * 200_000),
    "deep and whole": raw_header(b"[" * 5000 + b"]" * 5000),
    "a list": raw_header(b"[]"),
    "a number": raw_header(b"1"),
    "a string that does not end": raw_header(b'"' + b"\\" * 100_000),
    "a name given twice": raw_header(
        b'{"__metadata__":{"format":"gradtape.checkpoint","format":"gradtape.checkpoint"}}'),
    "not UTF-8": raw_header(b'{"\xff":1}'),
    "UTF-16": raw_header("{}".encode("utf-16")),
    "a length of nine exabytes": (2**63).to_bytes(8, "little") + b"{}",
    "a length one too long": (3).to_bytes(8, "little") + b"{}",
    "two checksums": raw_header(b'{"__metadata__":{"header_sha256":"' + b"0" * 64
        + b'","a":"","header_sha256":"' + b"0" * 64 + b'"}}'),
}  # fmt: skip


@pytest.mark.parametrize("raw", RAW.values(), ids=RAW.keys())
def test_a_file_that_is_something_else_is_refused(saved, raw):
    is_refused(saved, raw)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes")
def test_a_folder_a_pipe_and_a_device_are_no_checkpoints(saved):
    folder = saved.parent
    (folder / "folder.safetensors").mkdir()
    os.mkfifo(folder / "pipe.safetensors")
    (folder / "device.safetensors").symlink_to("/dev/zero")
    for name in ("folder", "pipe", "device"):
        with pytest.raises(
            tf.errors.DataLossError,
            match=rf"{name}.safetensors' is damaged .it is not a regular file.*model-2'",
        ):
            program(0.0).restore(folder / name)
    (folder / "dangling.safetensors").symlink_to(folder / "nowhere")
    with pytest.raises(tf.errors.NotFoundError, match="does not exist"):
        program(0.0).restore(folder / "dangling")


def test_a_link_to_a_checkpoint_is_read(saved):
    (saved.parent / "best.safetensors").symlink_to(saved)
    program(0.0).restore(saved.parent / "best").assert_consumed()


def test_no_memory_is_taken_for_sizes_that_a_file_only_claims(saved):
    import tracemalloc

    raw = with_changes(saved.read_bytes(), change(shape=[2**40], data_offsets=[0, 2**42]))
    tracemalloc.start()
    try:
        is_refused(saved, raw)
        assert tracemalloc.get_traced_memory()[1] < 2**22
    finally:
        tracemalloc.stop()


# Files of the first version, which have no checksum of the header

FIRST = base64.b64decode("""
0AQAAAAAAAB7Il9fbWV0YWRhdGFfXyI6eyJ0ZW5zb3JzIjoie1wid1wiOiB7XCJkdHlwZVwiOiBcImZsb2F0MzJcIiwgXCJjcmMz
MlwiOiA3NzU5MjMwNjJ9LCBcInpcIjoge1wiZHR5cGVcIjogXCJjb21wbGV4MTI4XCIsIFwiY3JjMzJcIjogMjA3NDMxNTEwM30s
IFwic1wiOiB7XCJkdHlwZVwiOiBcInN0cmluZ1wiLCBcInNoYXBlXCI6IFsyXSwgXCJsZW5ndGhzXCI6IFsxLCAyXSwgXCJjcmMz
MlwiOiA4OTE1Njg1Nzh9LCBcImVcIjoge1wiZHR5cGVcIjogXCJib29sXCIsIFwiY3JjMzJcIjogMjc2ODYyNTQzNX0sIFwic2F2
ZV9jb3VudGVyXCI6IHtcImR0eXBlXCI6IFwiaW50NjRcIiwgXCJjcmMzMlwiOiAyODQ0MzE5NzM1fSwgXCJoLzBcIjoge1wiZHR5
cGVcIjogXCJiZmxvYXQxNlwiLCBcImNyYzMyXCI6IDEwMTEyMTQ0NzZ9fSIsInZlcnNpb24iOiIxIiwiZm9ybWF0IjoiZ3JhZHRh
cGUuY2hlY2twb2ludCIsIm9iamVjdHMiOiJbe1wiY2hpbGRyZW5cIjoge1wid1wiOiAxLCBcInpcIjogMiwgXCJzXCI6IDMsIFwi
ZVwiOiA0LCBcImhcIjogNSwgXCJzYXZlX2NvdW50ZXJcIjogNn0sIFwidGVuc29yXCI6IG51bGx9LCB7XCJjaGlsZHJlblwiOiB7
fSwgXCJ0ZW5zb3JcIjogXCJ3XCJ9LCB7XCJjaGlsZHJlblwiOiB7fSwgXCJ0ZW5zb3JcIjogXCJ6XCJ9LCB7XCJjaGlsZHJlblwi
OiB7fSwgXCJ0ZW5zb3JcIjogXCJzXCJ9LCB7XCJjaGlsZHJlblwiOiB7fSwgXCJ0ZW5zb3JcIjogXCJlXCJ9LCB7XCJjaGlsZHJl
blwiOiB7XCIwXCI6IDd9LCBcInRlbnNvclwiOiBudWxsfSwge1wiY2hpbGRyZW5cIjoge30sIFwidGVuc29yXCI6IFwic2F2ZV9j
b3VudGVyXCJ9LCB7XCJjaGlsZHJlblwiOiB7fSwgXCJ0ZW5zb3JcIjogXCJoLzBcIn1dIiwic2F2ZV9jb3VudGVyIjoiMSJ9LCJz
YXZlX2NvdW50ZXIiOnsiZHR5cGUiOiJJNjQiLCJzaGFwZSI6W10sImRhdGFfb2Zmc2V0cyI6WzAsOF19LCJ6Ijp7ImR0eXBlIjoi
RjY0Iiwic2hhcGUiOlsyXSwiZGF0YV9vZmZzZXRzIjpbOCwyNF19LCJ3Ijp7ImR0eXBlIjoiRjMyIiwic2hhcGUiOlsyXSwiZGF0
YV9vZmZzZXRzIjpbMjQsMzJdfSwiaC8wIjp7ImR0eXBlIjoiQkYxNiIsInNoYXBlIjpbMV0sImRhdGFfb2Zmc2V0cyI6WzMyLDM0
XX0sInMiOnsiZHR5cGUiOiJVOCIsInNoYXBlIjpbM10sImRhdGFfb2Zmc2V0cyI6WzM0LDM3XX0sImUiOnsiZHR5cGUiOiJCT09M
Iiwic2hhcGUiOlsxXSwiZGF0YV9vZmZzZXRzIjpbMzcsMzhdfX0gIAEAAAAAAAAAAAAAAAAA8D8AAAAAAAAAQAAAgD8AAABAwD9h
YmMB
""")


def first_program():
    made = [
        tf.Variable([0.0, 0.0]),
        tf.Variable(0j),
        tf.Variable(["", ""]),
        tf.Variable([False]),
        tf.Variable([0.0], dtype=tf.bfloat16),
    ]
    return made, tf.train.Checkpoint(w=made[0], z=made[1], s=made[2], e=made[3], h=[made[4]])


def test_files_of_the_first_version_are_read(tmp_path):
    (tmp_path / "old.safetensors").write_bytes(FIRST)
    made, checkpoint = first_program()
    checkpoint.restore(tmp_path / "old").assert_consumed()
    assert [np.asarray(v.numpy()).tolist() for v in made] == [
        [1.0, 2.0],
        1 + 2j,
        [b"a", b"bc"],
        [True],
        [1.5],
    ]
    assert int(checkpoint.save_counter) == 1


@pytest.mark.parametrize(
    "step", [37, pytest.param(1, marks=pytest.mark.slow)], ids=["sample", "every"]
)
def test_flipped_bits_of_the_first_version(tmp_path, step):
    """Its header has no checksum, so that names can change; but no value is ever wrong,
    and no other error is raised.
    """
    file = tmp_path / "old.safetensors"
    expected = [[1.0, 2.0], 1 + 2j, [b"a", b"bc"], [True], [1.5]]
    for bit in range(0, 8 * len(FIRST), step):
        file.write_bytes(flipped(FIRST, bit))
        made, checkpoint = first_program()
        nothing = [np.asarray(v.numpy()).tolist() for v in made]
        try:
            checkpoint.restore(file)
        except (tf.errors.DataLossError, ValueError):
            assert [np.asarray(v.numpy()).tolist() for v in made] == nothing
        else:
            for v, value, zero in zip(made, expected, nothing, strict=True):
                assert np.asarray(v.numpy()).tolist() in (value, zero)


def test_a_newer_version_is_told_only_if_the_file_is_whole(saved, monkeypatch):
    with monkeypatch.context() as newer:
        newer.setattr(tensor_file, "VERSION", 3)
        program(1.0).write(saved)
    with pytest.raises(ValueError, match="newer gradtape"):
        program(0.0).restore(saved)
    raw = saved.read_bytes()
    is_refused(saved, flipped(raw, 8 * raw.index(b'"version"') + 8))
