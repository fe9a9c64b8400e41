"""The exceptions of `tf.errors`, with TensorFlow's names, codes and constructor arguments.

The lowest layer: everything may use it. gradtape raises `InvalidArgumentError` where TensorFlow
does and plain Python exceptions (`TypeError`, `ValueError`, `RuntimeError`) where TensorFlow does.
"""

from __future__ import annotations

from typing import Any

__all__ = [
    "ABORTED",
    "ALREADY_EXISTS",
    "CANCELLED",
    "DATA_LOSS",
    "DEADLINE_EXCEEDED",
    "FAILED_PRECONDITION",
    "INTERNAL",
    "INVALID_ARGUMENT",
    "NOT_FOUND",
    "OK",
    "OUT_OF_RANGE",
    "PERMISSION_DENIED",
    "RESOURCE_EXHAUSTED",
    "UNAUTHENTICATED",
    "UNAVAILABLE",
    "UNIMPLEMENTED",
    "UNKNOWN",
    "AbortedError",
    "AlreadyExistsError",
    "CancelledError",
    "DataLossError",
    "DeadlineExceededError",
    "FailedPreconditionError",
    "InternalError",
    "InvalidArgumentError",
    "NotFoundError",
    "OpError",
    "OperatorNotAllowedInGraphError",
    "OutOfRangeError",
    "PermissionDeniedError",
    "ResourceExhaustedError",
    "UnauthenticatedError",
    "UnavailableError",
    "UnimplementedError",
    "UnknownError",
]

OK = 0
CANCELLED = 1
UNKNOWN = 2
INVALID_ARGUMENT = 3
DEADLINE_EXCEEDED = 4
NOT_FOUND = 5
ALREADY_EXISTS = 6
PERMISSION_DENIED = 7
RESOURCE_EXHAUSTED = 8
FAILED_PRECONDITION = 9
ABORTED = 10
OUT_OF_RANGE = 11
UNIMPLEMENTED = 12
INTERNAL = 13
UNAVAILABLE = 14
DATA_LOSS = 15
UNAUTHENTICATED = 16


class OpError(Exception):
    """The base of the errors that an op raises: `message`, `error_code`,
    and TensorFlow's `node_def` and `op`.

    A message alone makes one too: so Keras, which adds the arguments of a layer's call to the
    message, keeps the class of the error.
    """

    error_code = UNKNOWN

    def __init__(
        self,
        node_def: Any,
        op: Any = None,
        message: str | None = None,
        error_code: int | None = None,
        *args: Any,
    ) -> None:
        if message is None:
            if not isinstance(node_def, str) or op is not None:
                raise TypeError(f"{type(self).__name__}: give node_def, op and message.")
            node_def, message = None, node_def
        super().__init__(message, *args)
        self.node_def = node_def
        self.op = op
        self.message = message
        self.experimental_payloads: dict[str, Any] = {}
        if error_code is not None:
            self.error_code = error_code

    def __str__(self) -> str:
        return self.message

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self)._rebuild, (self.node_def, self.op, self.message, self.error_code)

    @classmethod
    def _rebuild(cls, node_def: Any, op: Any, message: str, error_code: int) -> OpError:
        error = cls.__new__(cls)
        OpError.__init__(error, node_def, op, message, error_code)
        return error


class _CodedError(OpError):
    """An `OpError` whose class fixes its code."""

    def __init__(
        self, node_def: Any, op: Any = None, message: str | None = None, *args: Any
    ) -> None:
        super().__init__(node_def, op, message, None, *args)


class CancelledError(_CodedError):
    """The operation was cancelled."""

    error_code = CANCELLED


class UnknownError(_CodedError):
    """An error with no better class."""

    error_code = UNKNOWN


class InvalidArgumentError(_CodedError):
    """An op received values, shapes or dtypes that it cannot take."""

    error_code = INVALID_ARGUMENT


class DeadlineExceededError(_CodedError):
    """A deadline expired before the operation finished."""

    error_code = DEADLINE_EXCEEDED


class NotFoundError(_CodedError):
    """A requested entity, such as a file, does not exist."""

    error_code = NOT_FOUND


class AlreadyExistsError(_CodedError):
    """An entity that was to be created exists already."""

    error_code = ALREADY_EXISTS


class PermissionDeniedError(_CodedError):
    """The caller may not do this."""

    error_code = PERMISSION_DENIED


class ResourceExhaustedError(_CodedError):
    """Memory or another resource has run out."""

    error_code = RESOURCE_EXHAUSTED


class FailedPreconditionError(_CodedError):
    """The system is not in the state that the operation needs."""

    error_code = FAILED_PRECONDITION


class AbortedError(_CodedError):
    """The operation was aborted."""

    error_code = ABORTED


class OutOfRangeError(_CodedError):
    """An iteration went past its valid range."""

    error_code = OUT_OF_RANGE


class UnimplementedError(_CodedError):
    """The operation is not implemented for these arguments."""

    error_code = UNIMPLEMENTED


class InternalError(_CodedError):
    """Something in the library itself broke."""

    error_code = INTERNAL


class UnavailableError(_CodedError):
    """The service is unavailable for now."""

    error_code = UNAVAILABLE


class DataLossError(_CodedError):
    """Data was lost or corrupted beyond recovery."""

    error_code = DATA_LOSS


class UnauthenticatedError(_CodedError):
    """The request has no valid credentials."""

    error_code = UNAUTHENTICATED


class OperatorNotAllowedInGraphError(TypeError):
    """A Python operator was used on a traced tensor that has no value yet."""


def invalid_argument(message: str) -> InvalidArgumentError:
    """An `InvalidArgumentError` with only a message, as gradtape itself raises it."""
    return InvalidArgumentError(None, None, message)
