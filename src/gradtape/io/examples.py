"""`tf.train.Example` and what it is made of: messages of protobuf's.

Each class here stands for the message's own class, which is made when it is first used: calling it
makes a message, `isinstance` knows such messages, and its other attributes are those of the class.
What a type checker reads is here too.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, MutableMapping, MutableSequence
from typing import TYPE_CHECKING, Any, Self

from gradtape.api.tensorflow.arguments import TensorLike
from gradtape.core.tensor import Tensor
from gradtape.extras import needed_for
from gradtape.io.byte_strings import mapped, strings
from gradtape.io.messages import message_class
from gradtape.published import published


class MessageType(type):
    """The type of a class that stands for one of protobuf's."""

    if not TYPE_CHECKING:

        def __call__(cls, *args: Any, **kwargs: Any) -> Any:
            return message_class(cls.__name__)(*args, **kwargs)

        def __getattr__(cls, name: str) -> Any:
            if name.startswith("__"):  # Python's own machinery asks for these
                raise AttributeError(f"type object '{cls.__name__}' has no attribute '{name}'")
            return getattr(message_class(cls.__name__), name)

        def __instancecheck__(cls, instance: Any) -> bool:
            return isinstance(instance, message_class(cls.__name__))

        def __dir__(cls) -> list[str]:
            return sorted({*super().__dir__(), *dir(message_class(cls.__name__))})


if TYPE_CHECKING:

    class Message(metaclass=MessageType):
        """What every message has; protobuf documents more."""

        @classmethod
        def FromString(cls, s: bytes) -> Self: ...  # noqa: N802
        def SerializeToString(self, *, deterministic: bool = False) -> bytes: ...  # noqa: N802
        def ParseFromString(self, serialized: bytes) -> int: ...  # noqa: N802
        def MergeFromString(self, serialized: bytes) -> int: ...  # noqa: N802
        def CopyFrom(self, other_msg: Self) -> None: ...  # noqa: N802
        def MergeFrom(self, other_msg: Self) -> None: ...  # noqa: N802
        def Clear(self) -> None: ...  # noqa: N802
        def ClearField(self, field_name: str) -> None: ...  # noqa: N802
        def HasField(self, field_name: str) -> bool: ...  # noqa: N802
        def WhichOneof(self, oneof_group: str) -> str | None: ...  # noqa: N802
        def ByteSize(self) -> int: ...  # noqa: N802

else:

    class Message(metaclass=MessageType):
        """A message of protobuf's."""


@published("train.BytesList")
class BytesList(Message):
    """A list of byte strings.

    >>> import gradtape as tf
    >>> tf.train.BytesList(value=[b"a", b"b"]).value[1]
    b'b'
    """

    value: MutableSequence[bytes]
    if TYPE_CHECKING:

        def __init__(self, *, value: Iterable[bytes] = ...) -> None: ...


@published("train.FloatList")
class FloatList(Message):
    """A list of floats.

    >>> import gradtape as tf
    >>> list(tf.train.FloatList(value=[1, 0.5]).value)
    [1.0, 0.5]
    """

    value: MutableSequence[float]
    if TYPE_CHECKING:

        def __init__(self, *, value: Iterable[float] = ...) -> None: ...


@published("train.Int64List")
class Int64List(Message):
    """A list of integers.

    >>> import gradtape as tf
    >>> list(tf.train.Int64List(value=[1, -2]).value)
    [1, -2]
    """

    value: MutableSequence[int]
    if TYPE_CHECKING:

        def __init__(self, *, value: Iterable[int] = ...) -> None: ...


@published("train.Feature")
class Feature(Message):
    """A list of one of the three kinds.

    >>> import gradtape as tf
    >>> feature = tf.train.Feature(int64_list=tf.train.Int64List(value=[1, 2]))
    >>> feature.WhichOneof("kind")
    'int64_list'
    """

    bytes_list: BytesList
    float_list: FloatList
    int64_list: Int64List
    if TYPE_CHECKING:

        def __init__(
            self,
            *,
            bytes_list: BytesList | None = ...,
            float_list: FloatList | None = ...,
            int64_list: Int64List | None = ...,
        ) -> None: ...


@published("train.Features")
class Features(Message):
    """Features by name.

    >>> import gradtape as tf
    >>> label = tf.train.Feature(int64_list=tf.train.Int64List(value=[3]))
    >>> tf.train.Features(feature={"label": label}).feature["label"].int64_list.value[0]
    3
    """

    feature: MutableMapping[str, Feature]
    if TYPE_CHECKING:

        def __init__(self, *, feature: Mapping[str, Feature] = ...) -> None: ...


@published("train.FeatureList")
class FeatureList(Message):
    """Features one after the other, such as one for each step of time.

    >>> import gradtape as tf
    >>> step = tf.train.Feature(float_list=tf.train.FloatList(value=[1.0]))
    >>> len(tf.train.FeatureList(feature=[step, step]).feature)
    2
    """

    feature: MutableSequence[Feature]
    if TYPE_CHECKING:

        def __init__(self, *, feature: Iterable[Feature] = ...) -> None: ...


@published("train.FeatureLists")
class FeatureLists(Message):
    """Lists of features by name.

    >>> import gradtape as tf
    >>> step = tf.train.Feature(float_list=tf.train.FloatList(value=[1.0]))
    >>> steps = tf.train.FeatureList(feature=[step, step])
    >>> list(tf.train.FeatureLists(feature_list={"x": steps}).feature_list)
    ['x']
    """

    feature_list: MutableMapping[str, FeatureList]
    if TYPE_CHECKING:

        def __init__(self, *, feature_list: Mapping[str, FeatureList] = ...) -> None: ...


@published("train.Example")
class Example(Message):
    """One example of a dataset, as TFRecords hold it: features by name.

    >>> import gradtape as tf
    >>> x = tf.train.Feature(float_list=tf.train.FloatList(value=[1.0, 2.0]))
    >>> example = tf.train.Example(features=tf.train.Features(feature={"x": x}))
    >>> data = example.SerializeToString()
    >>> tf.train.Example.FromString(data) == example
    True
    >>> tf.io.parse_single_example(data, {"x": tf.io.FixedLenFeature([2], tf.float32)})["x"].numpy()
    array([1., 2.], dtype=float32)
    """

    features: Features
    if TYPE_CHECKING:

        def __init__(self, *, features: Features | None = ...) -> None: ...


@published("train.SequenceExample")
class SequenceExample(Message):
    """An example with features of its own, `context`, and lists of features, such as one for each
    step of time.

    >>> import gradtape as tf
    >>> step = tf.train.Feature(float_list=tf.train.FloatList(value=[1.0]))
    >>> steps = tf.train.FeatureList(feature=[step, step])
    >>> example = tf.train.SequenceExample(
    ...     feature_lists=tf.train.FeatureLists(feature_list={"x": steps})
    ... )
    >>> len(example.feature_lists.feature_list["x"].feature)
    2
    """

    context: Features
    feature_lists: FeatureLists
    if TYPE_CHECKING:

        def __init__(
            self, *, context: Features | None = ..., feature_lists: FeatureLists | None = ...
        ) -> None: ...


@published("io.decode_json_example")
def decode_json_example(json_examples: TensorLike, name: str | None = None) -> Tensor:
    """Serialized `tf.train.Example`s of those that are written in JSON, as protobuf has it.

    >>> import gradtape as tf
    >>> text = '{"features": {"feature": {"x": {"int64List": {"value": ["1", "2"]}}}}}'
    >>> data = tf.io.decode_json_example(text).numpy()
    >>> list(tf.train.Example.FromString(data).features.feature["x"].int64_list.value)
    [1, 2]
    """
    argument = "decode_json_example: json_examples"
    given = strings(json_examples, argument)
    json_format = needed_for("decode_json_example", "google.protobuf.json_format", "io")

    def encoded(text: bytes) -> bytes:
        message: Example = json_format.Parse(text, message_class("Example")())
        return message.SerializeToString()

    return mapped(encoded, given, argument, (json_format.ParseError, UnicodeDecodeError))
