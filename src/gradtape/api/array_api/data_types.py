"""The Array API's dtype functions, and what a program can ask about the library.

A dtype is one of `gradtape.dtypes`; the functions also take names and NumPy dtypes, such as
"float32" or `numpy.float32`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import ml_dtypes
import numpy as np

from gradtape import dtypes
from gradtape.api.numpy.operands import tensor_of
from gradtape.convert import is_tensor_like, operand
from gradtape.core.device import check_device
from gradtape.core.tensor import Tensor
from gradtape.dtypes import DType
from gradtape.errors import invalid_argument
from gradtape.ops.broadcasting import cast, identity
from gradtape.published import published

__array_api_version__ = "2024.12"

DEVICE = Tensor(np.float32(0)).device

_STANDARD = {
    "bool": (dtypes.bool_,),
    "signed integer": (dtypes.int8, dtypes.int16, dtypes.int32, dtypes.int64),
    "unsigned integer": (dtypes.uint8, dtypes.uint16, dtypes.uint32, dtypes.uint64),
    "real floating": (dtypes.float32, dtypes.float64),
    "complex floating": (dtypes.complex64, dtypes.complex128),
}
_SHORTHAND = {
    "integral": ("signed integer", "unsigned integer"),
    "numeric": ("signed integer", "unsigned integer", "real floating", "complex floating"),
}


class FloatInfo(NamedTuple):
    """The limits of a floating-point dtype."""

    bits: int
    eps: float
    max: float
    min: float
    smallest_normal: float
    dtype: DType


class IntegerInfo(NamedTuple):
    """The limits of an integer dtype."""

    bits: int
    max: int
    min: int
    dtype: DType


@published("array_api.astype")
def astype(x: Any, dtype: Any, /, *, copy: bool = True, device: Any = None) -> Tensor:
    """`x` in another dtype; complex numbers are not made real, since that would lose a part.

    >>> import gradtape as tf
    >>> xp = tf.array_api
    >>> xp.astype(xp.asarray([0.0, 1.5]), xp.int32).numpy()
    array([0, 1], dtype=int32)
    """
    check_device(device)
    found, wanted = tensor_of(x, "astype"), dtypes.as_dtype(dtype)
    if found.dtype.is_complex and not (wanted.is_complex or wanted.is_bool):
        raise TypeError(
            f"astype: x has dtype {found.dtype.name}, which {wanted.name} cannot hold: take "
            "real(x) or imag(x) first."
        )
    if found.dtype == wanted:
        return identity(found) if copy else found
    return cast(found, dtype=wanted.numpy)


@published("array_api.can_cast")
def can_cast(from_: Any, to: Any, /) -> bool:
    """Whether values of one dtype go into another by promotion, without being told to.

    >>> import gradtape as tf
    >>> xp = tf.array_api
    >>> xp.can_cast(xp.int8, xp.int32), xp.can_cast(xp.float64, xp.float32)
    (True, False)
    """
    source, target = _dtype(from_), dtypes.as_dtype(to)
    try:
        return dtypes.promote(source.numpy, target.numpy) == target.numpy
    except TypeError:
        return False


@published("array_api.finfo")
def finfo(type: Any, /) -> FloatInfo:
    """The limits of a floating-point dtype, or of the parts of a complex one.

    >>> import gradtape as tf
    >>> tf.array_api.finfo(tf.float32).eps
    1.1920928955078125e-07
    """
    dtype = _dtype(type).real_dtype
    if not dtype.is_floating:
        raise ValueError(
            f"finfo: type must be a floating-point or complex dtype, got {dtype.name}; use iinfo "
            "for integers."
        )
    info = ml_dtypes.finfo(dtype.numpy)  # type: ignore[no-untyped-call]
    return FloatInfo(
        int(info.bits), float(info.eps), float(info.max), float(info.min),
        float(info.smallest_normal), dtype
    )  # fmt: skip


@published("array_api.iinfo")
def iinfo(type: Any, /) -> IntegerInfo:
    """The limits of an integer dtype.

    >>> import gradtape as tf
    >>> tf.array_api.iinfo(tf.int8)
    IntegerInfo(bits=8, max=127, min=-128, dtype=tf.int8)
    """
    dtype = _dtype(type)
    if not dtype.is_integer:
        raise ValueError(
            f"iinfo: type must be an integer dtype, got {dtype.name}; use finfo for floating-point "
            "numbers."
        )
    return IntegerInfo(8 * dtype.size, int(dtype.max), int(dtype.min), dtype)


@published("array_api.isdtype")
def isdtype(dtype: Any, kind: Any) -> bool:
    """Whether a dtype is `kind`, or of that kind: "integral", "real floating" and so on;
    a tuple means any of several.

    >>> import gradtape as tf
    >>> xp = tf.array_api
    >>> xp.isdtype(xp.float32, "real floating"), xp.isdtype(xp.float32, (xp.int32, "bool"))
    (True, False)
    """
    found = dtypes.as_dtype(dtype)
    return any(_is_kind(found, one) for one in (kind if isinstance(kind, tuple) else (kind,)))


def _is_kind(dtype: DType, kind: Any) -> bool:
    """float16, bfloat16 and float8, which the standard does not know, count as real floating."""
    if not isinstance(kind, str):
        return dtype == dtypes.as_dtype(kind)
    own = (
        "bool" if dtype.is_bool
        else "real floating" if dtype.is_floating
        else "complex floating" if dtype.is_complex
        else "unsigned integer" if dtype.is_unsigned
        else "signed integer" if dtype.is_integer
        else ""
    )  # fmt: skip
    return own in _kinds(kind, "isdtype")


def _kinds(kind: str, function: str) -> tuple[str, ...]:
    if kind in _SHORTHAND:
        return _SHORTHAND[kind]
    if kind in _STANDARD:
        return (kind,)
    raise ValueError(
        f"{function}: kind must be a dtype or one of {', '.join([*_STANDARD, *_SHORTHAND])}, got "
        f"{kind!r}."
    )


@published("array_api.result_type")
def result_type(*arrays_and_dtypes: Any) -> DType:
    """The dtype in which these arrays, dtypes and Python numbers meet.

    >>> import gradtape as tf
    >>> xp = tf.array_api
    >>> xp.result_type(xp.int8, xp.asarray([1, 2]), 3)
    tf.int32
    """
    numbers = [value for value in arrays_and_dtypes if type(value) in (bool, int, float, complex)]
    others = [
        _dtype(value).numpy
        for value in arrays_and_dtypes
        if type(value) not in (bool, int, float, complex)
    ]
    if not others:
        raise ValueError(
            "result_type: at least one argument must be an array or a dtype, got "
            f"{arrays_and_dtypes!r}."
        )
    common = others[0]
    for dtype in others[1:]:
        common = dtypes.promote(common, dtype)
    for number in numbers:
        common = dtypes.promote_weak(common, np.asarray(number).dtype)
    return dtypes.from_numpy(common)


def _dtype(value: Any) -> DType:
    """The dtype of an array, or a dtype itself."""
    if is_tensor_like(value):
        return operand(value).dtype
    return dtypes.as_dtype(value.dtype if isinstance(value, (np.ndarray, np.generic)) else value)


class Info:
    """What `__array_namespace_info__` gives: the devices,
    the dtypes and what the library can do.
    """

    def capabilities(self) -> dict[str, Any]:
        """What the library can do.

        >>> import gradtape as tf
        >>> tf.array_api.__array_namespace_info__().capabilities()
        {'boolean indexing': True, 'data-dependent shapes': True, 'max dimensions': 64}
        """
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 64}

    def default_device(self) -> str:
        """The device of new tensors.

        >>> import gradtape as tf
        >>> tf.array_api.__array_namespace_info__().default_device()
        '/job:localhost/replica:0/task:0/device:CPU:0'
        """
        return DEVICE

    def devices(self) -> list[str]:
        """The devices there are.

        >>> import gradtape as tf
        >>> tf.array_api.__array_namespace_info__().devices()
        ['/job:localhost/replica:0/task:0/device:CPU:0']
        """
        return [DEVICE]

    def default_dtypes(self, *, device: Any = None) -> dict[str, DType]:
        """The dtypes that new tensors have if nothing says otherwise.

        >>> import gradtape as tf
        >>> tf.array_api.__array_namespace_info__().default_dtypes()["real floating"]
        tf.float32
        """
        _known_device(device, "default_dtypes")
        return {
            "real floating": dtypes.float32,
            "complex floating": dtypes.complex64,
            "integral": dtypes.int32,
            "indexing": dtypes.int64,
        }

    def dtypes(self, *, device: Any = None, kind: Any = None) -> dict[str, DType]:
        """The dtypes of the standard by name, all or those of a kind.

        >>> import gradtape as tf
        >>> tf.array_api.__array_namespace_info__().dtypes(kind="real floating")
        {'float32': tf.float32, 'float64': tf.float64}
        """
        _known_device(device, "dtypes")
        asked = tuple(_STANDARD) if kind is None else kind if isinstance(kind, tuple) else (kind,)
        kinds = {one for entry in asked for one in _kinds(entry, "dtypes")}
        return {
            dtype.name: dtype
            for one, members in _STANDARD.items()
            if one in kinds
            for dtype in members
        }


def _known_device(device: Any, function: str) -> None:
    try:
        check_device(device)
    except (ValueError, TypeError) as error:
        raise invalid_argument(
            f"{function}: this machine has no device {device!r}: the only one is {DEVICE!r}."
        ) from error


@published("array_api.__array_namespace_info__")
def namespace_info() -> Info:
    """What a program can ask about this library: devices, dtypes, capabilities.

    >>> import gradtape as tf
    >>> tf.array_api.__array_namespace_info__().default_dtypes()["integral"]
    tf.int32
    """
    return Info()


PUBLISHED = {"array_api.__array_api_version__": __array_api_version__}
