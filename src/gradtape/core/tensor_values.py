"""`TensorValues`: how the values of a Tensor reach Python, NumPy and, through DLPack, others.

Where a tape records the Tensor, they leave the tape there, which `core.departures` notes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from gradtape import dtypes
from gradtape.core.departures import leaving
from gradtape.core.operators import TensorOperators

if TYPE_CHECKING:
    from gradtape.core.node import Node
    from gradtape.dtypes import DType
    from gradtape.shapes import TensorShape


class TensorValues(TensorOperators):
    """The methods of `Tensor` that give its values away, or show them."""

    __slots__ = ()

    if TYPE_CHECKING:
        array: Any
        node: Node | None

        @property
        def dtype(self) -> DType: ...
        @property
        def shape(self) -> TensorShape: ...

    def numpy(self) -> np.ndarray[Any, Any]:
        """The values as a NumPy array (a scalar for a 0-d tensor):
        a copy that the caller may write to.
        """
        if self.node is not None:
            leaving(self, "numpy")
        array = self.array
        return array.copy() if array.ndim else array[()]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        if self.node is not None:
            leaving(self, "__array__")
        if copy is False:
            view = np.asarray(self.array, dtype=dtype, copy=False).view()
            view.flags.writeable = False  # a tensor does not change
            return view
        return np.array(self.array, dtype=dtype)

    def __dlpack__(
        self,
        *,
        stream: Any = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[Any, int] | None = None,
        copy: bool | None = None,
    ) -> Any:
        """A DLPack capsule of the values, for another array library: read-only, or a copy for a
        library that does not support that flag.
        """
        if self.node is not None:
            leaving(self, "__dlpack__")
        array = _exportable(self.array)
        if copy or (copy is None and (max_version is None or max_version < (1, 0))):
            array, copy = array.copy(), None
        elif max_version is not None and max_version >= (1, 0):
            array.flags.writeable = False  # a tensor does not change
        try:
            return array.__dlpack__(
                stream=stream, max_version=max_version, dl_device=dl_device, copy=copy
            )
        except ValueError as error:  # of NumPy before 2.3
            raise BufferError(
                f"__dlpack__: {error}: dl_device={dl_device}; a tensor on the CPU is exported to "
                "the CPU."
            ) from error

    def __dlpack_device__(self) -> tuple[Any, int]:
        return np.asarray(self.array).__dlpack_device__()

    def __bool__(self) -> bool:
        if self.array.size != 1:
            raise ValueError(
                f"The truth value of a tensor of shape {self.shape} is ambiguous: use "
                "gradtape.reduce_any or reduce_all."
            )
        return bool(self.array)

    __nonzero__ = __bool__  # which libraries give to classes of their own

    def __float__(self) -> float:
        if self.node is not None:
            leaving(self, "float")
        return float(_scalar(self.array, "float"))

    def __int__(self) -> int:
        if self.node is not None:
            leaving(self, "int")
        return int(_scalar(self.array, "int"))

    def __complex__(self) -> complex:
        if self.node is not None:
            leaving(self, "complex")
        return complex(_scalar(self.array, "complex"))

    def __index__(self) -> int:
        if self.array.ndim or self.array.dtype.kind not in "iu":
            raise TypeError(
                f"Only a scalar integer tensor can be used as an index, got shape {self.shape}, "
                f"dtype {self.dtype.name}."
            )
        return int(self.array)

    def __format__(self, spec: str) -> str:
        return format(self.array if self.array.ndim else self.array[()], spec)

    def __repr__(self) -> str:
        return (
            f"<tf.Tensor: shape={self.shape}, dtype={self.dtype.name}, "
            f"numpy={values_text(self.array)}>"
        )

    def __str__(self) -> str:
        return f"tf.Tensor({self.array}, shape={self.shape}, dtype={self.dtype.name})"


def values_text(array: Any) -> str:
    """The values as a repr shows them: TensorFlow writes a scalar without its NumPy type."""
    return repr(np.asarray(array)) if array.ndim else repr(array.item())


def _exportable(array: Any) -> Any:
    """A view for DLPack, or the error that says why there is none."""
    if array.dtype.isbuiltin != 1 or array.dtype.kind == "O":
        raise BufferError(
            f"__dlpack__: NumPy cannot export {dtypes.from_numpy(array.dtype).name} through "
            "DLPack: cast the tensor first, "
            "to float32 for instance."
        )
    return np.asarray(array).view()


def _scalar(array: Any, wanted: str) -> Any:
    if array.size != 1:
        raise TypeError(
            f"Only a tensor with one element can be converted to a Python {wanted}; this one has "
            f"shape {array.shape}."
        )
    return array.reshape(())[()]
