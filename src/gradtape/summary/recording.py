"""When and at which step a summary is written: `tf.summary.write`, `record_if` and steps.

In a program, summaries are calls to the host, in the program's order. The default writer, step and
condition are those of blocks inside of the function, and else those of each call; without a default
writer, that of the call that was traced.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gradtape import dtypes
from gradtape.api.tensorflow.arguments import TensorLike
from gradtape.convert import as_tensor, on_host
from gradtape.core.batching import BatchedTensor
from gradtape.core.naming import name_scope, scoped
from gradtape.core.tensor import Tensor
from gradtape.core.variable import Variable
from gradtape.core.xla.host_calls import call_in_order
from gradtape.core.xla.tensor import is_traced
from gradtape.core.xla.trace import inside_a_program
from gradtape.io.byte_strings import one_string
from gradtape.io.tensors import proto_of
from gradtape.published import published
from gradtape.summary.state import state_here
from gradtape.summary.writers import Setting, SummaryWriter, tensorboards

# Steps and conditions


@published("summary.experimental.set_step")
def set_step(step: Any) -> None:
    """Sets the step that summaries of this thread have if they are given none; a Variable counts
    with the value that it has then.

    >>> import gradtape as tf
    >>> tf.summary.experimental.set_step(3)
    >>> tf.summary.experimental.get_step()
    3
    >>> tf.summary.experimental.set_step(None)
    """
    state_here().step = step


@published("summary.experimental.get_step")
def get_step() -> Any:
    """The step that summaries of this thread have if they are given none, or None.

    >>> import gradtape as tf
    >>> with tf.summary.create_noop_writer().as_default(step=3):
    ...     tf.summary.experimental.get_step()
    3
    """
    return state_here().step


@published("summary.record_if")
class record_if(Setting):  # noqa: N801 - TensorFlow's name
    """A block in which summaries are written only if a condition holds: a boolean, a tensor of one,
    or a function that gives one.

    >>> import gradtape as tf, tempfile
    >>> with tf.summary.create_file_writer(tempfile.mkdtemp()).as_default():
    ...     for step in range(3):
    ...         with tf.summary.record_if(step % 2 == 0):
    ...             print(tf.summary.scalar("loss", 0.5, step=step).numpy())
    True
    False
    True
    """

    def __init__(self, condition: Any) -> None:
        super().__init__(condition=condition)


@published("summary.should_record_summaries")
def should_record_summaries() -> Tensor:
    """Whether summaries of this thread are written now: there is a default writer, and the
    condition of `record_if` holds.

    >>> import gradtape as tf
    >>> tf.summary.should_record_summaries().numpy()
    np.False_
    """
    state = state_here()
    if state.writer is None:
        return _told(False)
    condition = state.condition() if callable(state.condition) else state.condition
    if is_traced(condition):
        return as_tensor(condition)
    return _told(_holds(condition))


def _holds(condition: Any) -> bool:
    value = condition() if callable(condition) else condition
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    array = np.asarray(on_host(as_tensor(value, argument="record_if: condition").array))
    if array.dtype != bool or array.ndim:
        raise TypeError(f"record_if: condition must be one boolean, got {value!r}.")
    return bool(array)


def _told(value: bool) -> Tensor:
    return Tensor(np.bool_(value))


@published("summary.experimental.summary_scope")
class summary_scope(name_scope):  # noqa: N801 - TensorFlow's name
    """A block with the tag that a summary of this name has, which begins with the name scopes
    around it, and the scope of its ops.

    >>> import gradtape as tf
    >>> with tf.name_scope("model"), tf.summary.experimental.summary_scope("loss") as (tag, scope):
    ...     print(tag, scope)
    model/loss model/loss/
    """

    def __init__(self, name: str, default_name: str = "summary", values: Any = None) -> None:
        own = name or default_name
        if not isinstance(own, str):
            raise TypeError(f"A summary's name must be a string, got {name!r}.")
        super().__init__(own)

    def __enter__(self) -> tuple[str, str]:  # type: ignore[override]
        scope = super().__enter__()
        return scope.removesuffix("/"), scope


# Writing


@published("summary.write")
def write(
    tag: str, tensor: Any, step: Any = None, metadata: Any = None, name: str | None = None
) -> Tensor:
    """Writes a tensor, or what a function gives, with a tag; `metadata` is TensorBoard's message
    that says which plugin shows it. True if it was written.

    >>> import gradtape as tf, tempfile
    >>> with tf.summary.create_file_writer(tempfile.mkdtemp()).as_default():
    ...     print(tf.summary.write("numbers", [1, 2, 3], step=1).numpy())
    True
    """
    if callable(tensor):
        if state_here().writer is None or not (inside_a_program() or _recording()):
            return _told(False)
        tensor = as_tensor(tensor(), argument="write: tensor")
    return record(tag, tensor, lambda array: array, step, lambda: metadata, "write: tensor")


def _recording() -> bool:
    return bool(should_record_summaries())


def record(
    tag: str,
    data: TensorLike,
    shown: Callable[[Any], Any],
    step: Any,
    metadata: Callable[[], Any],
    argument: str,
) -> Tensor:
    """Writes what `shown` makes of the data's array, now or whenever the program comes by."""
    state = state_here()
    writer = state.writer
    if writer is None:
        return _told(False)
    if not isinstance(tag, str):
        raise TypeError(f"A summary's tag must be a string, got {tag!r}.")
    if not tag.isascii() and any("\ud800" <= letter <= "\udfff" for letter in tag):
        raise ValueError(f"A summary's tag must be Unicode text, got {tag!r}.")
    if not inside_a_program():
        if not _holds(state.condition):
            return _told(False)
        number = _step(state.step if step is None else step)
        array = on_host(_plain(as_tensor(data, argument=argument), argument).array)
        return _told(_add(writer, tag, number, shown(array), metadata()))

    inner, traced_step, condition = state.inner, state.step, state.condition
    if step is None and traced_step is None:
        raise _no_step()
    given = _Given([data, traced_step if step is None else step, _known(condition)], argument)

    def call(*arrays: Any) -> Sequence[Any]:
        data, number, holds = given.values(arrays)
        chosen = writer if "writer" in inner or state.writer is None else state.writer
        if (
            step is None
            and "step" not in inner
            and state.step is not None
            and state.step is not traced_step
        ):
            number = state.step
        if holds is None:
            holds = condition if "condition" in inner else state.condition
        if _holds(holds):
            _add(chosen, tag, _step(number), shown(np.asarray(data)), metadata())
        return []

    call_in_order(call, [], given.unknown())
    return _told(True)


def _known(condition: Any) -> Any:
    """A condition that a program knows; others are asked for at each call."""
    return condition if is_traced(condition) or isinstance(condition, Variable) else None


class _Given:
    """What a summary is made of, some of which only a program knows."""

    def __init__(self, values: Sequence[Any], argument: str) -> None:
        self._values = [
            None if value is None else _plain(as_tensor(value, argument=argument), argument)
            for value in values
        ]
        self._places = [i for i, value in enumerate(self._values) if is_traced(value)]

    def unknown(self) -> list[Any]:
        return [self._values[i].array for i in self._places]  # type: ignore[union-attr]

    def values(self, arrays: Sequence[Any]) -> list[Any]:
        found: list[Any] = [
            None if value is None or i in self._places else on_host(value.array)
            for i, value in enumerate(self._values)
        ]
        for place, array in zip(self._places, arrays, strict=True):
            found[place] = array
        return found


def _plain(tensor: Tensor, argument: str) -> Tensor:
    if isinstance(tensor, BatchedTensor):
        raise NotImplementedError(
            f"{argument} is one example of a batch (inside vmap): write summaries outside of it."
        )
    return tensor


def _no_step() -> ValueError:
    return ValueError(
        "A summary has no step: give `step`, or set one with "
        "gradtape.summary.experimental.set_step or writer.as_default(step=...)."
    )


def _step(step: Any) -> int:
    if step is None:
        raise _no_step()
    if isinstance(step, int) and not isinstance(step, bool):
        number = step
    else:
        array = np.asarray(on_host(as_tensor(step, argument="step").array))
        if array.ndim or array.dtype.kind not in "iu":
            raise TypeError(f"step must be an integer, got {step!r}.")
        number = int(array)
    if not -(2**63) <= number < 2**63:
        raise ValueError(f"step must be an integer of 64 bits, got {number}.")
    return number


def _add(writer: SummaryWriter, tag: str, step: int, array: Any, metadata: Any) -> bool:
    """Writes a value as an event."""
    events = tensorboards("compat.proto.event_pb2")
    event = events.Event(step=step)
    value = event.summary.value.add(tag=tag)
    value.tensor.ParseFromString(proto_of(array).SerializeToString())
    if metadata is not None:
        data = metadata if isinstance(metadata, bytes) else metadata.SerializeToString()
        value.metadata.ParseFromString(data)
    return writer.add(event)


@published("summary.experimental.write_raw_pb")
def write_raw_pb(tensor: TensorLike, step: Any = None, name: str | None = None) -> Tensor:
    """Writes a serialized Summary, TensorBoard's message.

    >>> import gradtape as tf
    >>> tf.summary.experimental.write_raw_pb(b"", step=1).numpy()
    np.False_
    """
    state = state_here()
    data = one_string(tensor, "write_raw_pb: tensor")
    if state.writer is None or not _holds(state.condition):
        return _told(False)
    number = _step(state.step if step is None else step)
    event = tensorboards("compat.proto.event_pb2").Event(step=number)
    event.summary.ParseFromString(data)
    return _told(state.writer.add(event))


def tag_of(name: str) -> str:
    """The tag of a summary: its name after those of the name scopes around it."""
    if not isinstance(name, str):
        raise TypeError(f"A summary's name must be a string, got {name!r}.")
    return scoped(name)


STRING = dtypes.string.numpy
"""The dtype of arrays of strings."""
