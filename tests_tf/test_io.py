"""Files: what TensorFlow writes gradtape reads, and the other way round."""

from __future__ import annotations

import gzip
import os
import shutil
import zlib

import numpy as np
import pytest
import tensorflow  # noqa: ICN001  # `tf` is the library that a function is given
from tensorflow.core.framework import tensor_pb2

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


# Examples

SPECS = {
    "f2": lambda io, tf: io.FixedLenFeature([2], tf.float32),
    "f2 default": lambda io, tf: io.FixedLenFeature([2], tf.float32, [7.0, 8.0]),
    "f21 default": lambda io, tf: io.FixedLenFeature([2, 1], tf.float32, [7.0, 8.0]),
    "i": lambda io, tf: io.FixedLenFeature([], tf.int64, -1),
    "s": lambda io, tf: io.FixedLenFeature([1], tf.string, "none"),
    "f0": lambda io, tf: io.FixedLenFeature([0], tf.float32),
    "sequence": lambda io, tf: io.FixedLenSequenceFeature([], tf.float32, True),
    "sequence of 2": lambda io, tf: io.FixedLenSequenceFeature([2], tf.float32, True, -1.0),
    "sequence of s": lambda io, tf: io.FixedLenSequenceFeature([], tf.string, True),
    "var f": lambda io, tf: io.VarLenFeature(tf.float32),
    "var i": lambda io, tf: io.VarLenFeature(tf.int64),
    "var s": lambda io, tf: io.VarLenFeature(tf.string),
    "double": lambda io, tf: io.FixedLenFeature([], tf.float64),
    "open": lambda io, tf: io.FixedLenFeature([None], tf.float32),
    "not missing": lambda io, tf: io.FixedLenSequenceFeature([], tf.float32),
    "no type": lambda io, tf: io.VarLenFeature(None),
}
FEATURES = {
    "missing": {},
    "no kind": {"x": {}},
    "f": {"x": {"float_list": [1.5, -2.0]}},
    "four": {"x": {"float_list": [1.0, 2.0, 3.0, 4.0]}},
    "one": {"x": {"float_list": [1.0]}},
    "empty": {"x": {"float_list": []}},
    "i": {"x": {"int64_list": [-(2**63)]}},
    "ii": {"x": {"int64_list": [1, 2]}},
    "s": {"x": {"bytes_list": [b"\xff\0"]}},
    "ss": {"x": {"bytes_list": [b"", b"b"]}},
}
LISTS = {"bytes_list": "BytesList", "float_list": "FloatList", "int64_list": "Int64List"}


def feature(tf, lists):
    return tf.train.Feature(
        **{kind: getattr(tf.train, LISTS[kind])(value=v) for kind, v in lists.items()}
    )


def features(tf, named):
    return tf.train.Features(feature={k: feature(tf, v) for k, v in named.items()})


def example(tf, named):
    return tf.train.Example(features=features(tf, named)).SerializeToString()


def sequence(tf, named, lists):
    found = {
        key: tf.train.FeatureList(feature=[feature(tf, step) for step in steps])
        for key, steps in lists.items()
    }
    return tf.train.SequenceExample(
        context=features(tf, named), feature_lists=tf.train.FeatureLists(feature_list=found)
    ).SerializeToString()


def plain(tf, value):
    """A result as something that both libraries share."""
    if isinstance(value, dict):
        return {key: plain(tf, value[key]) for key in sorted(value)}
    if isinstance(value, (tuple, list)):
        return [plain(tf, entry) for entry in value]
    if isinstance(value, tf.sparse.SparseTensor):
        return [plain(tf, part) for part in (value.indices, value.values, value.dense_shape)]
    return value.dtype.name, value.shape.as_list(), np.asarray(value).tolist()


def outcome(tf, call):
    """The results, or the kind of the error."""
    try:
        return plain(tf, call(tf))
    except (tf.errors.OpError, ValueError, TypeError) as error:
        return "error", isinstance(error, tf.errors.OpError)


def same(call):
    ours, theirs = (outcome(tf, call) for tf in LIBRARIES)
    assert ours == theirs
    return ours


def test_messages_are_the_same_on_the_wire():
    for named in FEATURES.values():
        data = [example(tf, named) for tf in LIBRARIES]
        assert data[0] == data[1]
        assert (
            gradtape.train.Example.FromString(data[1]).SerializeToString()
            == tensorflow.train.Example.FromString(data[0]).SerializeToString()
        )
    found = [sequence(tf, FEATURES["f"], {"w": [FEATURES["s"]["x"], {}]}) for tf in LIBRARIES]
    assert found[0] == found[1]


@pytest.mark.parametrize("spec", SPECS)
@pytest.mark.parametrize("given", FEATURES)
def test_single_examples(given, spec):
    data = example(gradtape, FEATURES[given])
    specs = lambda tf: {"x": SPECS[spec](tf.io, tf)}
    one = same(lambda tf: tf.io.parse_single_example(data, specs(tf)))
    assert one == same(lambda tf: tf.io.parse_example(data, specs(tf)))


@pytest.mark.parametrize("spec", SPECS)
def test_batches_of_examples(spec):
    rng = np.random.default_rng(len(spec))
    specs = lambda tf: {"x": SPECS[spec](tf.io, tf)}
    right = []
    for named in FEATURES.values():
        data = example(gradtape, named)
        if not isinstance(same(lambda tf, d=data: tf.io.parse_example([d], specs(tf))), tuple):
            right.append(data)
    for size in (0, 2, 5):
        if right:
            batch = [right[i] for i in rng.integers(0, len(right), size)]
            same(lambda tf, b=batch: tf.io.parse_example(tf.constant(b, tf.string), specs(tf)))
    batch = [example(gradtape, named) for named in FEATURES.values()]
    same(lambda tf: tf.io.parse_example(batch, specs(tf)))


@pytest.mark.parametrize(
    ("keys", "size", "is_sorted"),
    [("i", 10, False), (["i"], [10], False), (["i", "j"], [10, 3], False), ("i", 10, True)],
)
def test_sparse_features(keys, size, is_sorted):
    rows = [
        example(gradtape, {"i": {"int64_list": [3, 1, 1]}, "j": {"int64_list": [0, 2, 1]},
                           "x": {"float_list": [1.0, 2.0, 3.0]}}),
        example(gradtape, {}),
    ]  # fmt: skip
    spec = lambda tf: {"y": tf.io.SparseFeature(keys, "x", tf.float32, size, is_sorted)}
    assert not isinstance(same(lambda tf: tf.io.parse_example(rows, spec(tf))), tuple)
    same(lambda tf: tf.io.parse_single_example(rows[0], spec(tf)))


SEQUENCES = {
    "both": (
        {"c": {"int64_list": [1]}},
        {"w": [[1.0, 2.0], [3.0, 4.0]], "v": [[1.0], [], [2.0, 3.0]]},
    ),
    "short": ({"c": {"int64_list": [2]}}, {"w": [[5.0, 6.0]], "v": [[9.0]]}),
    "empty": ({"c": {"int64_list": [3]}}, {"w": [], "v": []}),
    "missing": ({}, {}),
    "wrong": ({"c": {"int64_list": [4]}}, {"w": [[1.0]], "v": []}),
}  # fmt: skip


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("names", [[n] for n in SEQUENCES] + [["both", "short", "empty"], []])
def test_sequence_examples(names, missing):
    rows = [
        sequence(
            gradtape, named,
            {key: [{"float_list": step} for step in steps] for key, steps in lists.items()},
        )
        for named, lists in (SEQUENCES[name] for name in names)
    ]  # fmt: skip
    context = lambda io, tf: {
        "c": io.FixedLenFeature([], tf.int64, 0),
        "d": io.VarLenFeature(tf.string),
    }
    lists = lambda io, tf: {
        "w": io.FixedLenSequenceFeature([2], tf.float32, missing),
        "v": io.VarLenFeature(tf.float32),
    }
    both = lambda tf: (context(tf.io, tf), lists(tf.io, tf))
    same(lambda tf: tf.io.parse_sequence_example(tf.constant(rows, tf.string), *both(tf)))
    if len(rows) == 1:
        same(lambda tf: tf.io.parse_single_sequence_example(rows[0], *both(tf)))
        same(lambda tf: tf.io.parse_sequence_example(rows[0], *both(tf)))
        same(lambda tf: tf.io.parse_single_sequence_example(rows[0], None, lists(tf.io, tf)))
        same(lambda tf: tf.io.parse_single_sequence_example(rows[0], context(tf.io, tf)))


def test_json_examples():
    text = '{"features": {"feature": {"x": {"floatList": {"value": [1, 2]}}}}}'
    same(lambda tf: tf.io.parse_example(
        tf.io.decode_json_example([text]), {"x": tf.io.VarLenFeature(tf.float32)}
    ))  # fmt: skip
    same(lambda tf: tf.io.decode_json_example("{"))


# Files


@pytest.fixture
def folder(tmp_path):
    for name in ("x1", "x2", "y1", ".hidden", "a/b/c.txt", "a/d"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(b"text \xff" + name.encode())
    return tmp_path


FILES = {
    "read": lambda tf, d: tf.io.read_file(f"{d}/x1"),
    "read a Tensor's": lambda tf, d: tf.io.read_file(tf.constant(f"{d}/x1")),
    "read none": lambda tf, d: tf.io.read_file(f"{d}/none"),
    "read a folder": lambda tf, d: tf.io.read_file(f"{d}"),
    "read two": lambda tf, d: tf.io.read_file(tf.constant([f"{d}/x1", f"{d}/x2"])),
    "write": lambda tf, d: [
        tf.io.write_file(f"{d}/new/file", "hé"), tf.io.read_file(f"{d}/new/file")
    ][1],
    "write a folder": lambda tf, d: tf.io.write_file(f"{d}/a", "x"),
    "write two": lambda tf, d: tf.io.write_file(f"{d}/q", ["x", "y"]),
    **{
        f"matching {pattern}": lambda tf, d, p=pattern: tf.io.matching_files(f"{d}/{p}")
        for pattern in ("x*", "none*", "*", "a/*/c*", "**/c.txt", "[xy]1", "[^x]1", "{x1,y1}", "x?",
                        "*1", ".*", "x1", "a", "a/", "*/d")
    },
    "matching several": lambda tf, d: tf.io.matching_files([f"{d}/y*", f"{d}/x*", f"{d}/x1"]),
    "matching a matrix": lambda tf, d: tf.io.matching_files([[f"{d}/y*"]]),
}  # fmt: skip


@pytest.mark.parametrize("case", FILES)
def test_files(folder, case):
    same(lambda tf: FILES[case](tf, folder))


def told(tf, call):
    """What a function of gfile gives, or the kind of its error."""
    try:
        found = call(tf, tf.io.gfile)
    except (tf.errors.OpError, TypeError) as error:
        return type(error).__name__
    return sorted(found, key=str) if isinstance(found, list) else found


GFILE = {
    "glob": lambda tf, g, d: g.glob(f"{d}/x*"),
    "glob several": lambda tf, g, d: g.glob([f"{d}/x*", f"{d}/y*"]),
    "listdir": lambda tf, g, d: g.listdir(d),
    "listdir of a file": lambda tf, g, d: g.listdir(f"{d}/x1"),
    "listdir of none": lambda tf, g, d: g.listdir(f"{d}/none"),
    "isdir": lambda tf, g, d: [g.isdir(f"{d}/{n}") for n in ("a", "x1", "none")],
    "exists": lambda tf, g, d: [g.exists(f"{d}/{n}") for n in ("a", "x1", "none")],
    "mkdir": lambda tf, g, d: (g.mkdir(f"{d}/m"), g.mkdir(f"{d}/m"), g.isdir(f"{d}/m")),
    "mkdir too deep": lambda tf, g, d: g.mkdir(f"{d}/m/n"),
    "makedirs": lambda tf, g, d: [g.makedirs(f"{d}/{n}") for n in ("m/n", "m")],
    "folders made": lambda tf, g, d: (g.makedirs(f"{d}/m/n"), g.listdir(f"{d}/m")),
    "remove": lambda tf, g, d: (g.remove(f"{d}/x1"), g.exists(f"{d}/x1")),
    "remove none": lambda tf, g, d: g.remove(f"{d}/none"),
    "remove a folder": lambda tf, g, d: g.remove(f"{d}/a"),
    "rename": lambda tf, g, d: (g.rename(f"{d}/x1", f"{d}/z"), sorted(g.listdir(d))),
    "rename onto": lambda tf, g, d: g.rename(f"{d}/x1", f"{d}/x2"),
    "rename over": lambda tf, g, d: (g.rename(f"{d}/x1", f"{d}/x2", True), g.listdir(f"{d}/a/b")),
    "rename none": lambda tf, g, d: g.rename(f"{d}/none", f"{d}/z"),
    "copy": lambda tf, g, d: (g.copy(f"{d}/x1", f"{d}/z"), g.GFile(f"{d}/z", "rb").read()),
    "copy onto": lambda tf, g, d: g.copy(f"{d}/x1", f"{d}/x2"),
    "copy over": lambda tf, g, d: (
        g.copy(f"{d}/x1", f"{d}/x2", overwrite=True), g.stat(f"{d}/x2").length
    ),
    "copy none": lambda tf, g, d: g.copy(f"{d}/none", f"{d}/z"),
    "stat": lambda tf, g, d: (g.stat(f"{d}/x1").length, g.stat(f"{d}/x1").mtime_nsec),
    "stat of a folder": lambda tf, g, d: g.stat(f"{d}/a").is_directory,
    "stat of none": lambda tf, g, d: g.stat(f"{d}/none"),
    "walk": lambda tf, g, d: sorted((top, sorted(a), sorted(b)) for top, a, b in g.walk(d)),
    "walk up": lambda tf, g, d: [top for top, _, _ in g.walk(f"{d}/a", topdown=False)],
    "walk none": lambda tf, g, d: list(g.walk(f"{d}/none")),
    "join": lambda tf, g, d: g.join("gs://x", "a", "b"),
    "join absolute": lambda tf, g, d: g.join("a", "/b"),
    "join empty": lambda tf, g, d: g.join("", "b", ""),
    "rmtree": lambda tf, g, d: (g.rmtree(f"{d}/a"), g.exists(f"{d}/a")),
    "rmtree of a file": lambda tf, g, d: (g.rmtree(f"{d}/x1"), g.exists(f"{d}/x1")),
    "rmtree none": lambda tf, g, d: g.rmtree(f"{d}/none"),
}  # fmt: skip


@pytest.mark.parametrize("case", GFILE)
def test_gfile(tmp_path, case):
    found = []
    for tf in LIBRARIES:
        place = tmp_path / "same"
        for name in ("x1", "x2", "y1", "a/b/c.txt"):
            (place / name).parent.mkdir(parents=True, exist_ok=True)
            (place / name).write_bytes(b"text " + name.encode())
            os.utime(place / name, ns=(10**18, 10**18))
        found.append(told(tf, lambda tf, g, d=str(place): GFILE[case](tf, g, d)))
        shutil.rmtree(place)
    assert found[0] == found[1]


def steps(tf, path):
    """What an open file says, a step at a time."""
    found = []

    def note(call):
        try:
            found.append(call())
        except tf.errors.OpError as error:
            found.append(type(error).__name__)

    make = tf.io.gfile.GFile
    with make(path, "w") as file:
        note(lambda: file.write("abc\ndéf\n"))
        note(file.read)
        note(lambda: file.write("last"))
        note(file.tell)
    for mode in ("r", "rb", "r+"):
        with make(path, mode) as file:
            for call in (file.readline, file.tell, file.readlines, file.size, file.read,
                         lambda: file.seek(0), lambda: file.read(2), lambda: list(file),
                         lambda: file.seek(1), lambda: file.seek(1, 1), file.tell, file.read,
                         lambda: file.seek(0, 2), file.tell, file.read, lambda: file.seek(-1),
                         lambda: file.read(-5), lambda: file.name == path, lambda: file.mode,
                         file.seekable):  # fmt: skip
                note(call)
    with make(path) as file:
        note(lambda: file.write("x"))
        note(lambda: next(file))
    with make(path, "a") as file:
        file.write(b"more\xc3\xa9")
    note(lambda: make(path).read())
    note(lambda: make(path, "x"))
    note(lambda: make(path, "rw"))
    note(lambda: make(path + "none").read())
    note(lambda: make(path + "none/none", "w").write("x"))
    return found


def test_open_files(tmp_path):
    found = [steps(tf, str(tmp_path / "file")) for tf in LIBRARIES]
    assert found[0] == found[1]


# Numbers and text in strings

RAW = [
    (b"\1\2\3\4", "uint16"), (b"\1\2\3", "uint16"), ([b"\1\2", b"\3\4"], "int16"),
    ([b"\1\2", b"\3"], "uint8"), (b"", "uint8"), ([], "uint8"), (b"\1\0\7", "bool"),
    (bytes(range(16)), "complex64"), (bytes(range(16)), "complex128"), (b"\1\2\3\4", "bfloat16"),
    (bytes(range(8)), "float64"), (bytes(range(8)), "int64"), ([[b"\1"], [b"\2"]], "int8"),
]  # fmt: skip


@pytest.mark.parametrize("little", [True, False])
@pytest.mark.parametrize("fixed", [None, 0, 3, 16])
@pytest.mark.parametrize(("given", "dtype"), RAW)
def test_decode_raw(given, dtype, little, fixed):
    if fixed and dtype.startswith(("bool", "complex")):
        fixed = None  # TensorFlow has no kernels for these
    same(
        lambda tf: tf.io.decode_raw(
            tf.constant(given, tf.string), dtype, little_endian=little, fixed_length=fixed
        )
    )


@pytest.mark.parametrize("data", [b"", b"a", b"ab", b"abc", b"\xff\xfe?>", [[b"a"], [b"b"]]])
def test_encode_base64(data):
    for pad in (False, True):
        same(lambda tf, pad=pad: tf.io.encode_base64(data, pad=pad))
        same(lambda tf, pad=pad: tf.io.decode_base64(tf.io.encode_base64(data, pad=pad)))


@pytest.mark.parametrize("text", ["YQ", "YQ==", "Y+/=", "Y-_a", "a", "", "YR", "YQ=", "Y Q",
                                  "YWI==", "====", "YWI=", "YWJj=", "Y=Q="])  # fmt: skip
def test_decode_base64(text):
    same(lambda tf: tf.io.decode_base64(text))


CSV = {
    "1,2.5,a": [[1], [1.0], ["x"]],
    ",,": [[7], [0.5], ["x"]],
    "1,2": [[1]],
    "1,x": [[1], [2]],
    '"a,""b""",2': ["", [1]],
    'a"b,2': ["", [1]],
    " 1 , 2.5 ": [[1], [1.0]],
    "1.5": [[1]],
    "99999999999": [[1]],
    "-2147483648": [[1]],
    "1e3,inf,-inf,0x1p3,1e400,.5": [[1.0]] * 6,
    "infinity": [[1.0]],
    "1d3": [[1.0]],
    "": [[""]],
    ",": [[""], [""]],
    "a,": [[""], ["d"]],
    '"a"b,2': ["", [1]],
    '"a': [""],
    '"': [""],
    '""': [["d"]],
    '"",1': [[3], [1]],
    "a\n": [""],
    "\na,b": ["", ""],
    "a,\nb": ["", ""],
    "a,b\r\n": ["", ""],
    '"a\nb",c': ["", ""],
    '"a","b"\n': ["", ""],
    "0x10": [[1]],
    "+5,-5": [[1], [1]],
    "+-5": [[1]],
    "1_0": [[1]],
    "1,2,": [[1], [1], [5]],
    "a": [["x", "y"]],
    "\xff": [[""]],
    "true": [[True]],
}


@pytest.mark.parametrize("line", CSV)
def test_decode_csv(line):
    defaults = CSV[line]
    for options in ({}, {"use_quote_delim": False}, {"na_value": "a"}):
        same(lambda tf, o=options: tf.io.decode_csv([line], defaults, **o))
    same(lambda tf: tf.io.decode_csv(line.replace(",", "\t"), defaults, field_delim="\t"))
    same(lambda tf: tf.io.decode_csv([[line], [line]], defaults))


@pytest.mark.parametrize("chosen", [[0, 2], [2, 0], [1, 1], [0, 5], [1, 2], [0]])
def test_columns_of_csv(chosen):
    same(lambda tf: tf.io.decode_csv(["1,2,3", "4,5,"], [[7], [8]], select_cols=chosen))


def test_columns_that_must_not_be_empty():
    for line in ("1,2", ",2"):
        same(lambda tf, line=line: tf.io.decode_csv([line], [tf.constant([], tf.int64), [0.0]]))
    same(lambda tf: tf.io.decode_csv(["1"], [[1]], field_delim=";;"))
    same(lambda tf: tf.io.decode_csv(tf.constant([], tf.string), [[1]]))


# Tensors as strings

TENSORS = [
    *((np.arange(6).reshape(2, 3), dtype) for dtype in (
        "float16", "bfloat16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8",
        "uint16", "uint32", "uint64", "complex64", "complex128", "bool")),
    (np.float32(1.5), "float32"), (np.zeros((0, 2)), "float32"), (["a", b"\xff\0", ""], "string"),
    ("", "string"), (True, "bool"), (np.zeros((2, 0, 3)), "int64"),
]  # fmt: skip


@pytest.mark.parametrize(("values", "dtype"), TENSORS)
def test_tensors_as_strings(values, dtype):
    array = (
        values if dtype == "string" else np.asarray(values).astype(gradtape.as_dtype(dtype).numpy)
    )
    data = same(lambda tf: tf.io.serialize_tensor(tf.constant(array, dtype)))[2]
    same(lambda tf: tf.io.parse_tensor(data, dtype))
    same(lambda tf: tf.io.parse_tensor(data, "float64"))


def protos():
    """Serialized TensorProtos, some of which are none."""
    make = tensor_pb2.TensorProto
    sized = lambda *sizes: {"dim": [{"size": size} for size in sizes]}
    yield b"", "float32"
    yield b"\xff", "float32"
    for values in ([], [1.0, 2.0], [1.0] * 9):
        yield make(dtype=1, float_val=values, tensor_shape=sized(4)), "float32"
        yield make(dtype=1, float_val=values), "float32"
    yield make(dtype=2, double_val=[0.1]), "float64"
    yield make(dtype=3, int_val=[-5], tensor_shape=sized(2, 2)), "int32"
    yield make(dtype=4, int_val=[255]), "uint8"
    yield make(dtype=6, int_val=[-128]), "int8"
    yield make(dtype=5, int_val=[-300]), "int16"
    yield make(dtype=17, int_val=[65535]), "uint16"
    yield make(dtype=22, uint32_val=[2**32 - 1]), "uint32"
    yield make(dtype=23, uint64_val=[2**64 - 1]), "uint64"
    yield make(dtype=9, int64_val=[-(2**63)]), "int64"
    yield make(dtype=10, bool_val=[True], tensor_shape=sized(2)), "bool"
    yield make(dtype=7, string_val=[b"a"], tensor_shape=sized(3)), "string"
    yield make(dtype=7, tensor_content=b"a", tensor_shape=sized(1)), "string"
    yield make(dtype=8, scomplex_val=[1, 2, 3, 4], tensor_shape=sized(2)), "complex64"
    yield make(dtype=18, dcomplex_val=[1, 2]), "complex128"
    yield make(dtype=19, half_val=[15360]), "float16"
    yield make(dtype=14, half_val=[16256], tensor_shape=sized(2)), "bfloat16"
    yield make(dtype=1, tensor_content=b"1234", tensor_shape=sized(2)), "float32"
    yield make(dtype=1, tensor_content=b"12345678", tensor_shape=sized(2)), "float32"
    yield make(dtype=1, tensor_shape=sized(-1)), "float32"
    yield make(dtype=1, tensor_shape=sized(2**60, 2**60)), "float32"
    yield make(dtype=99), "float32"


@pytest.mark.parametrize(("proto", "dtype"), list(protos()))
def test_protos_of_tensors(proto, dtype):
    data = proto if isinstance(proto, bytes) else proto.SerializeToString()
    if proto != b"" and (isinstance(proto, bytes) or proto.dtype):
        same(lambda tf: tf.io.parse_tensor(data, dtype))


@pytest.mark.parametrize("kind", ["GZIP", "ZLIB", ""])
def test_decode_compressed(kind):
    pack = {"GZIP": gzip.compress, "ZLIB": zlib.compress, "": bytes}[kind]
    for given in ([pack(b"abc"), pack(b"")], pack(b"a" * 10**5), b"bad", [], b""):
        same(lambda tf, given=given: tf.io.decode_compressed(tf.constant(given, tf.string), kind))
    same(lambda tf: tf.io.decode_compressed(b"x", "LZ4"))
