"""Messages of protobuf's that TensorFlow's files hold, made when one is first needed.

Their descriptors are in a pool of their own, so that they can meet TensorFlow's and TensorBoard's,
which have the same names, in one process. On the wire they are the same. `message_class("Example")`
is the class of a message; Python's pickle finds it as an attribute of this module.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from gradtape.extras import needed_for

_FIELDS: dict[str, tuple[str, ...]] = {
    "BytesList": ("repeated bytes value 1",),
    "FloatList": ("repeated float value 1",),
    "Int64List": ("repeated int64 value 1",),
    "Feature": (
        "oneof BytesList bytes_list 1",
        "oneof FloatList float_list 2",
        "oneof Int64List int64_list 3",
    ),
    "Features": ("map Feature feature 1",),
    "FeatureList": ("repeated Feature feature 1",),
    "FeatureLists": ("map FeatureList feature_list 1",),
    "Example": ("one Features features 1",),
    "SequenceExample": ("one Features context 1", "one FeatureLists feature_lists 2"),
    "Dim": ("one int64 size 1", "one string name 2"),
    "TensorShapeProto": ("repeated Dim dim 2", "one bool unknown_rank 3"),
    "TensorProto": (
        "one int32 dtype 1",  # an enum in TensorFlow, which is the same on the wire
        "one TensorShapeProto tensor_shape 2",
        "one int32 version_number 3",
        "one bytes tensor_content 4",
        "repeated float float_val 5",
        "repeated double double_val 6",
        "repeated int32 int_val 7",
        "repeated bytes string_val 8",
        "repeated float scomplex_val 9",
        "repeated int64 int64_val 10",
        "repeated bool bool_val 11",
        "repeated double dcomplex_val 12",
        "repeated int32 half_val 13",
        "repeated uint32 uint32_val 16",
        "repeated uint64 uint64_val 17",
        "one bytes float8_val 18",
    ),
}
"""By message, its fields: how many values, of which type, name and number."""

_PACKAGE = "tensorflow"
_ONE, _MANY = 1, 3  # how protobuf says it
_TYPES = {
    "double": 1, "float": 2, "int64": 3, "uint64": 4, "int32": 5, "bool": 8, "string": 9,
    "message": 11, "bytes": 12, "uint32": 13,
}  # fmt: skip


def message_class(name: str) -> Any:
    """The class of a message."""
    return _classes()[name]


def decode_error() -> type[Exception]:
    """What protobuf raises for bytes that are no message."""
    found: type[Exception] = needed_for(
        "tf.train.Example", "google.protobuf.message", "io"
    ).DecodeError
    return found


def __getattr__(name: str) -> Any:
    if name in _FIELDS:
        return message_class(name)
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")


@cache
def _classes() -> dict[str, Any]:
    what, protobuf = "tf.train.Example", "google.protobuf."
    factory = needed_for(what, protobuf + "message_factory", "io")
    pool = needed_for(what, protobuf + "descriptor_pool", "io").DescriptorPool()
    pool.Add(_file(needed_for(what, protobuf + "descriptor_pb2", "io")))
    found = {}
    for name in _FIELDS:
        made = factory.GetMessageClass(pool.FindMessageTypeByName(f"{_PACKAGE}.{name}"))
        made.__module__ = __name__
        found[name] = made
    return found


def _file(descriptors: Any) -> Any:
    """The description of all messages, as protobuf's own compiler would give it."""
    file = descriptors.FileDescriptorProto(
        name="gradtape/messages.proto", package=_PACKAGE, syntax="proto3"
    )
    for name, fields in _FIELDS.items():
        message = file.message_type.add(name=name)
        for text in fields:
            kind, type_name, field_name, number = text.split()
            label = _MANY if kind in ("repeated", "map") else _ONE
            field = message.field.add(name=field_name, number=int(number), label=label)
            if kind == "oneof":
                if not message.oneof_decl:
                    message.oneof_decl.add(name="kind")
                field.oneof_index = 0
            if kind == "map":
                type_name = _add_entry(message, field_name, type_name)
            if type_name in _TYPES:
                field.type = _TYPES[type_name]
            else:
                field.type = _TYPES["message"]
                field.type_name = f".{_PACKAGE}.{type_name}"
    return file


def _add_entry(message: Any, field_name: str, type_name: str) -> str:
    """Adds the message that an entry of a map is, and gives its name."""
    own = "".join(word.capitalize() for word in field_name.split("_")) + "Entry"
    entry = message.nested_type.add(name=own)
    entry.options.map_entry = True
    entry.field.add(name="key", number=1, label=_ONE, type=_TYPES["string"])
    entry.field.add(
        name="value", number=2, label=_ONE, type=_TYPES["message"],
        type_name=f".{_PACKAGE}.{type_name}",
    )  # fmt: skip
    return f"{message.name}.{own}"
