"""`DType` objects and the promotion lattice.

A `DType` names an element type as TensorFlow does (`float32`, `bfloat16`, `string`); `DType.numpy`
is the NumPy dtype that the engines use. `promote` follows the lattice that JAX documents, with
float32 as the default float and int32 as the default int. Everything may use this module.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import ml_dtypes
import numpy as np

from gradtape.published import published

__all__ = [
    "DType",
    "as_dtype",
    "bfloat16",
    "complex64",
    "complex128",
    "double",
    "float8_e4m3fn",
    "float8_e5m2",
    "float16",
    "float32",
    "float64",
    "half",
    "int8",
    "int16",
    "int32",
    "int64",
    "string",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
]


@published("DType")
class DType:
    """The type of a tensor's elements.

    >>> import gradtape as tf
    >>> tf.float32.is_floating, tf.float32.size, tf.float32 == "float32"
    (True, 4, True)
    """

    __slots__ = ("_kind", "name", "numpy")

    def __init__(self, name: str, numpy_dtype: Any, kind: str) -> None:
        self.name = name
        self.numpy: np.dtype[Any] = np.dtype(numpy_dtype)
        self._kind = kind

    @property
    def as_numpy_dtype(self) -> type:
        """The NumPy scalar type, such as `numpy.float32`."""
        return self.numpy.type

    @property
    def dtype(self) -> np.dtype[Any]:
        """The NumPy dtype, by the name under which NumPy looks for it:
        `numpy.zeros(3, dtype=x.dtype)`.
        """
        return self.numpy

    @property
    def kind(self) -> str:
        """NumPy's letter for the kind: "f" for float32."""
        return self.numpy.kind

    @property
    def itemsize(self) -> int:
        """Bytes in one element, as NumPy has it."""
        return self.numpy.itemsize

    @property
    def type(self) -> Any:
        """NumPy's name for `as_numpy_dtype`."""
        return self.numpy.type

    @property
    def is_floating(self) -> bool:
        return self._kind == "float"

    @property
    def is_complex(self) -> bool:
        return self._kind == "complex"

    @property
    def is_integer(self) -> bool:
        return self._kind in ("int", "uint")

    @property
    def is_unsigned(self) -> bool:
        return self._kind == "uint"

    @property
    def is_bool(self) -> bool:
        return self._kind == "bool"

    @property
    def is_numeric(self) -> bool:
        """Whether arithmetic is defined: true for all but bool and string."""
        return self._kind not in ("bool", "string")

    @property
    def is_quantized(self) -> bool:
        return False

    @property
    def is_trainable(self) -> bool:
        """Whether a tape gives gradients for this dtype: float16, bfloat16, float32,
        float64 and the complex ones.
        """
        return self.numpy in TRAINABLE

    @property
    def size(self) -> int:
        """Bytes in one element; 0 for string, whose elements have no fixed size."""
        return 0 if self._kind == "string" else self.numpy.itemsize

    @property
    def real_dtype(self) -> DType:
        """The dtype of the real part: float32 for complex64, itself for a real dtype."""
        return {"complex64": float32, "complex128": float64}.get(self.name, self)

    @property
    def base_dtype(self) -> DType:
        return self

    @property
    def min(self) -> Any:
        """The smallest finite value."""
        return self._limits()[0]

    @property
    def max(self) -> Any:
        """The largest finite value."""
        return self._limits()[1]

    @property
    def limits(self) -> tuple[Any, Any]:
        """`(min, max)`; TensorFlow's own narrows this for floats to (0, 1),
        which only image code wants.
        """
        return self._limits()

    def _limits(self) -> tuple[Any, Any]:
        if self._kind == "bool":
            return False, True
        if self.is_integer:
            info: Any = np.iinfo(self.numpy)
            return int(info.min), int(info.max)
        if self.is_floating:
            info = ml_dtypes.finfo(self.numpy)  # type: ignore[no-untyped-call]
            return self.numpy.type(info.min), self.numpy.type(info.max)
        raise TypeError(
            f"{self.name} has no min and max: only real dtypes have a smallest and a largest value."
        )

    def is_compatible_with(self, other: Any) -> bool:
        return self == other

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if other is None:
            return False
        try:
            return as_dtype(other) is self
        except TypeError:
            return False

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(self.name)

    def __repr__(self) -> str:
        return f"tf.{self.name}"

    def __str__(self) -> str:
        return f"<dtype: '{self.name}'>"

    def __reduce__(self) -> tuple[Any, ...]:
        return as_dtype, (self.name,)


float16 = half = DType("float16", np.float16, "float")
bfloat16 = DType("bfloat16", ml_dtypes.bfloat16, "float")
float32 = DType("float32", np.float32, "float")
float64 = double = DType("float64", np.float64, "float")
float8_e4m3fn = DType("float8_e4m3fn", ml_dtypes.float8_e4m3fn, "float")
float8_e5m2 = DType("float8_e5m2", ml_dtypes.float8_e5m2, "float")
float8_e4m3fnuz = DType("float8_e4m3fnuz", ml_dtypes.float8_e4m3fnuz, "float")
float8_e4m3b11fnuz = DType("float8_e4m3b11fnuz", ml_dtypes.float8_e4m3b11fnuz, "float")
float8_e5m2fnuz = DType("float8_e5m2fnuz", ml_dtypes.float8_e5m2fnuz, "float")
int8 = DType("int8", np.int8, "int")
int16 = DType("int16", np.int16, "int")
int32 = DType("int32", np.int32, "int")
int64 = DType("int64", np.int64, "int")
uint8 = DType("uint8", np.uint8, "uint")
uint16 = DType("uint16", np.uint16, "uint")
uint32 = DType("uint32", np.uint32, "uint")
uint64 = DType("uint64", np.uint64, "uint")
complex64 = DType("complex64", np.complex64, "complex")
complex128 = DType("complex128", np.complex128, "complex")
bool_ = DType("bool", np.bool_, "bool")
string = DType("string", np.object_, "string")

ALL: tuple[DType, ...] = (
    float16, bfloat16, float32, float64, float8_e4m3fn, float8_e5m2, float8_e4m3fnuz,
    float8_e4m3b11fnuz, float8_e5m2fnuz, int8, int16, int32, int64, uint8, uint16, uint32, uint64,
    complex64, complex128, bool_, string,
)  # fmt: skip

TRAINABLE = frozenset(d.numpy for d in (float16, bfloat16, float32, float64, complex64, complex128))
"""The NumPy dtypes that a tape follows."""

_BY_NAME = {d.name: d for d in ALL} | {"half": float16, "double": float64}
_BY_NUMPY = {d.numpy: d for d in ALL}
_BY_PYTHON: dict[type, DType] = {
    float: float32,
    int: int32,
    bool: bool_,
    complex: complex128,
    str: string,
    bytes: string,
}


@published("as_dtype")
def as_dtype(type_value: Any) -> DType:
    """The `DType` for a DType, a name, a NumPy dtype or scalar type, or a Python type.

    >>> import gradtape as tf
    >>> tf.as_dtype("float32"), tf.as_dtype(float)
    (tf.float32, tf.float32)
    """
    if type(type_value) is DType:
        return type_value
    if type_value is None:
        raise TypeError(
            "Cannot convert None to a gradtape dtype; pass one such as gradtape.float32 or "
            "'float32'."
        )
    if isinstance(type_value, str):
        if (found := _BY_NAME.get(type_value)) is not None:
            return found
    elif isinstance(type_value, type) and type_value in _BY_PYTHON:
        return _BY_PYTHON[type_value]
    try:
        numpy_dtype = np.dtype(type_value)
    except (TypeError, ValueError):
        numpy_dtype = None
    if numpy_dtype is not None:
        if numpy_dtype.kind in "SU":
            return string
        if (found := _BY_NUMPY.get(numpy_dtype.newbyteorder("="))) is not None:
            return found
    raise TypeError(
        f"Cannot convert {type_value!r} to a gradtape dtype; pass one such as gradtape.float32 or "
        "'float32'."
    )


def from_numpy(numpy_dtype: np.dtype[Any]) -> DType:
    """The `DType` of an array."""
    found = _BY_NUMPY.get(numpy_dtype)
    return found if found is not None else as_dtype(numpy_dtype)


# The lattice: each dtype and the ones directly above it; the join of two dtypes is the least one
# above both.
_ABOVE: dict[str, tuple[str, ...]] = {
    "bool": ("uint8", "int8"),
    "uint8": ("int16", "uint16"),
    "uint16": ("int32", "uint32"),
    "uint32": ("int64", "uint64"),
    "uint64": ("float*",),
    "int8": ("int16",),
    "int16": ("int32",),
    "int32": ("int64",),
    "int64": ("float*",),
    "float*": (
        "bfloat16", "float16", "float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz",
        "float8_e4m3b11fnuz", "float8_e5m2fnuz",
    ),
    "float8_e4m3fn": (),
    "float8_e5m2": (),
    "float8_e4m3fnuz": (),
    "float8_e4m3b11fnuz": (),
    "float8_e5m2fnuz": (),
    "bfloat16": ("float32",),
    "float16": ("float32",),
    "float32": ("float64", "complex64"),
    "float64": ("complex128",),
    "complex64": ("complex128",),
    "complex128": (),
    "string": (),
}  # fmt: skip


@cache
def _upward(name: str) -> frozenset[str]:
    """The dtypes that `name` can be promoted to, itself included."""
    return frozenset({name}).union(*(_upward(above) for above in _ABOVE[name]))


@cache
def promote(x: np.dtype[Any], y: np.dtype[Any]) -> np.dtype[Any]:
    """The NumPy dtype in which an op computes with operands of dtypes `x` and `y`."""
    if x == y:
        return x
    names = from_numpy(x).name, from_numpy(y).name
    common = _upward(names[0]) & _upward(names[1])
    for name in common:
        if common <= _upward(name):
            return (float32 if name == "float*" else _BY_NAME[name]).numpy
    raise TypeError(
        f"{names[0]} and {names[1]} have no common dtype: cast one of them with gradtape.cast."
    )


_KIND_RANK = {"b": 0, "u": 1, "i": 1, "f": 2, "V": 2, "c": 3}
_DEFAULT_OF_RANK = (bool_.numpy, int32.numpy, float32.numpy, complex64.numpy)


def _rank(numpy_dtype: np.dtype[Any]) -> int:
    """Where a dtype's kind stands: bool, integer, float, complex;
    object (strings) stands outside.
    """
    return (
        2
        if numpy_dtype in TRAINABLE and numpy_dtype.kind != "c"
        else _KIND_RANK.get(numpy_dtype.kind, -1)
    )


@cache
def promote_weak(strong: np.dtype[Any], weak: np.dtype[Any]) -> np.dtype[Any]:
    """The dtype of a Tensor of dtype `strong` beside a NumPy array or Python number of dtype
    `weak`.

    The Tensor's dtype wins unless the other value is of a higher kind: int32 with 1.5 is float32.
    """
    if _rank(weak) <= _rank(strong) or _rank(strong) < 0:
        return strong
    default = _DEFAULT_OF_RANK[_rank(weak)]
    return promote(strong, default)


PUBLISHED = {
    "bfloat16": bfloat16,
    "bool": bool_,
    "complex128": complex128,
    "complex64": complex64,
    "double": double,
    "float16": float16,
    "float32": float32,
    "float64": float64,
    "half": half,
    "int16": int16,
    "int32": int32,
    "int64": int64,
    "int8": int8,
    "string": string,
    "uint16": uint16,
    "uint32": uint32,
    "uint64": uint64,
    "uint8": uint8,
    "array_api.bool": bool_,
    "array_api.complex128": complex128,
    "array_api.complex64": complex64,
    "array_api.float32": float32,
    "array_api.float64": float64,
    "array_api.int16": int16,
    "array_api.int32": int32,
    "array_api.int64": int64,
    "array_api.int8": int8,
    "array_api.uint16": uint16,
    "array_api.uint32": uint32,
    "array_api.uint64": uint64,
    "array_api.uint8": uint8,
}
