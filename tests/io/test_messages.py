"""Messages of protobuf's: what they are on the wire, and that they meet others of their names."""

import copy
import os
import pickle
import subprocess
import sys
from pathlib import Path

import pytest

import gradtape as tf
from gradtape.io import messages


def feature(**lists):
    kinds = {"bytes_list": tf.train.BytesList, "float_list": tf.train.FloatList,
             "int64_list": tf.train.Int64List}  # fmt: skip
    return tf.train.Feature(**{name: kinds[name](value=value) for name, value in lists.items()})


def example(**features):
    return tf.train.Example(features=tf.train.Features(feature=features))


def test_the_bytes_on_the_wire():
    assert tf.train.Int64List(value=[1, -1]).SerializeToString().hex() == (
        "0a0b01ffffffffffffffffff01"
    )
    assert tf.train.FloatList(value=[1.0]).SerializeToString().hex() == "0a040000803f"
    assert tf.train.BytesList(value=[b"a", b""]).SerializeToString().hex() == "0a01610a00"
    one = example(x=feature(int64_list=[3]))
    assert one.SerializeToString().hex() == "0a0c0a0a0a01781205" + "1a030a0103"


def test_what_a_message_can_do():
    one = example(x=feature(float_list=[1.0, 2.0]), s=feature(bytes_list=[b"a"]))
    data = one.SerializeToString(deterministic=True)
    again = tf.train.Example.FromString(data)
    other = tf.train.Example()
    other.ParseFromString(data)
    assert again == other == one
    assert again != example()
    assert "float_list" in str(one)
    assert list(one.features.feature["x"].float_list.value) == [1.0, 2.0]
    other.features.feature["new"].int64_list.value.extend([7])
    assert other.features.feature["new"].WhichOneof("kind") == "int64_list"
    other.CopyFrom(one)
    assert other == one
    assert copy.deepcopy(one) == one
    assert pickle.loads(pickle.dumps(one)) == one


def test_a_class_stands_for_protobufs_own():
    one = example()
    assert isinstance(one, tf.train.Example)
    assert not isinstance(one, tf.train.Feature)
    assert not isinstance(3, tf.train.Example)
    assert tf.train.Example.DESCRIPTOR.full_name == "tensorflow.Example"
    assert "FromString" in dir(tf.train.Example)
    assert type(one) is messages.Example
    assert repr(tf.train.Example) == "<class 'gradtape.io.examples.Example'>"
    with pytest.raises(AttributeError, match="no_such"):
        _ = tf.train.Example.no_such
    with pytest.raises(AttributeError, match="no attribute 'Exampel'"):
        _ = messages.Exampel


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda: tf.train.Int64List(value=[1.5]), (TypeError, ValueError)),
        (lambda: tf.train.Int64List(value=[2**63]), ValueError),
        (lambda: tf.train.BytesList(value=["text"]), TypeError),
        (lambda: tf.train.FloatList(values=[1.0]), ValueError),
        (lambda: tf.train.Feature(int64_list=[1]), TypeError),
    ],
)
def test_values_that_do_not_fit_are_refused_by_protobuf(call, error):
    with pytest.raises(error):
        call()


def test_a_feature_has_one_kind():
    one = feature(float_list=[1.0])
    one.int64_list.value.append(1)
    assert one.WhichOneof("kind") == "int64_list"
    assert not one.HasField("float_list")


def run(code):
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        env=os.environ | {"PYTHONPATH": str(Path(tf.__file__).parents[1])},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_protobuf_is_imported_when_a_message_is_used():
    assert run("""
import sys, gradtape as tf
tf.train.Checkpoint, tf.io.FixedLenFeature, tf.train.Example
assert not {"google.protobuf", "tensorboard", "PIL", "google_crc32c", "fsspec"} & {*sys.modules}
tf.train.Example()
print("google.protobuf" in sys.modules)
""") == "True"  # fmt: skip


@pytest.mark.parametrize(("package", "extra", "code"), [
    ("google.protobuf", "io", "tf.train.Example()"),
    ("google_crc32c", "io", "tf.io.TFRecordWriter('x')"),
    ("fsspec", "remote", "tf.io.TFRecordWriter('memory://x')"),
])  # fmt: skip
def test_a_package_that_is_missing_is_named(package, extra, code):
    said = run(f"""
import sys, gradtape as tf
class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.startswith({package!r}):
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Missing())
try:
    {code}
except ImportError as error:
    print(error)
""")  # fmt: skip
    name = {"google.protobuf": "protobuf", "google_crc32c": "google-crc32c"}.get(package, package)
    assert f"the package {name}, which is not installed: pip install 'gradtape[{extra}]'" in said


@pytest.mark.parametrize("first", ["ours", "theirs"])
def test_messages_of_the_same_names_in_protobufs_own_pool(first):
    """As TensorFlow's are, before and after gradtape's, and TensorBoard's."""
    theirs = """
from google.protobuf import descriptor_pb2, descriptor_pool
for name in ("feature", "example"):
    file = descriptor_pb2.FileDescriptorProto(
        name=f"tensorflow/core/example/{name}.proto", package="tensorflow", syntax="proto3"
    )
    file.message_type.add(name={"feature": "FloatList", "example": "Example"}[name])
    descriptor_pool.Default().AddSerializedFile(file.SerializeToString())
from tensorboard.compat.proto import tensor_pb2
"""
    ours = """
import gradtape as tf
from gradtape.io import messages
assert messages.TensorProto(dtype=1).dtype == 1
"""
    code = ours + theirs if first == "ours" else theirs + ours
    assert run(f"""{code}
assert tf.train.FloatList(value=[1.0]).value == [1.0]
print(tensor_pb2.TensorProto.FromString(messages.TensorProto(dtype=3).SerializeToString()).dtype)
""") == "3"  # fmt: skip
