"""`Tensor`: an immutable array and, while a tape follows it, the Node that made it.

Arithmetic, comparison and indexing are in its base class, see `core.operators`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from gradtape import dtypes
from gradtape.core.departures import leaving
from gradtape.core.needed_ops import needed
from gradtape.core.operators import TensorOperators
from gradtape.core.thread import here, plain
from gradtape.dtypes import DType
from gradtape.published import published, shown
from gradtape.shapes import TensorShape

if TYPE_CHECKING:
    from gradtape.core.node import Node


@published("Tensor")
class Tensor(TensorOperators):
    """An immutable array of one dtype that a `GradientTape` can follow.

    Made by `constant`, `convert_to_tensor` and every op.

    >>> import gradtape as tf
    >>> tf.constant([1.0, 2.0]) * 3
    <tf.Tensor: shape=(2,), dtype=float32, numpy=array([3., 6.], dtype=float32)>
    """

    __slots__ = ("__weakref__", "_keras_logits", "array", "held", "node")
    # `held`: the same values as a JAX array, once there is one. `_keras_logits`: what probabilities
    # were computed from, where Keras notes it for its crossentropies. Both stay unset in most
    # tensors.

    def __init__(self, array: Any, node: Node | None = None) -> None:
        self.array = array
        self.node = node

    def with_node(self, node: Node | None) -> Tensor:
        """The same values, recorded by another Node."""
        return Tensor(self.array, node)

    @property
    def dtype(self) -> DType:
        return dtypes.from_numpy(self.array.dtype)

    @property
    def shape(self) -> TensorShape:
        return TensorShape(self.array.shape)

    @property
    def ndim(self) -> int:
        return self.array.ndim

    @property
    def device(self) -> str:
        return full_name("CPU:0")

    @property
    # The Array API's name, which lets one rule serve arrays and Tensors.
    def mT(self) -> Tensor:  # noqa: N802
        """The last two axes swapped."""
        return needed.matrix_transpose(self)

    if TYPE_CHECKING:
        held: Any
        _keras_logits: Any

    def get_shape(self) -> TensorShape:
        return self.shape

    def set_shape(self, shape: Any) -> None:
        """Checks that `shape` fits: an eager tensor's shape is known already."""
        if not self.shape.is_compatible_with(shape):
            raise ValueError(
                f"set_shape: this tensor has shape {self.shape}, which does not fit "
                f"{TensorShape(shape)}."
            )

    def numpy(self) -> np.ndarray[Any, Any]:
        """The values as a NumPy array (a scalar for a 0-d tensor):
        a copy that the caller may write to.
        """
        if self.node is not None:
            leaving(self, "numpy")
        array = self.array
        return array.copy() if array.ndim else array[()]

    def ref(self) -> Reference:
        """A hashable reference, for sets and dict keys:
        tensors themselves compare element by element.
        """
        return Reference(self)

    experimental_ref = ref

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

    def __dir__(self) -> list[str]:
        return shown(super().__dir__(), "array", "held", "node", "with_node")

    def __bool__(self) -> bool:
        if self.array.size != 1:
            raise ValueError(
                f"The truth value of a tensor of shape {self.shape} is ambiguous: use "
                "gradtape.reduce_any or reduce_all."
            )
        return bool(self.array)

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

    def __hash__(self) -> int:
        raise TypeError("Tensor is unhashable: use tensor.ref() as the key.")

    def __copy__(self) -> Tensor:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Tensor:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return Tensor, (self.array,)

    def __repr__(self) -> str:
        return (
            f"<tf.Tensor: shape={self.shape}, dtype={self.dtype.name}, "
            f"numpy={values_text(self.array)}>"
        )

    def __str__(self) -> str:
        return f"tf.Tensor({self.array}, shape={self.shape}, dtype={self.dtype.name})"


plain.tensor = here.state.tensor = Tensor


def full_name(device: str) -> str:
    """TensorFlow's long name of a device such as `GPU:0`."""
    return f"/job:localhost/replica:0/task:0/device:{device}"


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


class Reference:
    """A hashable stand-in for a Tensor or Variable; `deref()` gives it back."""

    __slots__ = ("_object",)

    def __init__(self, referred: Any) -> None:
        self._object = referred

    def deref(self) -> Any:
        return self._object

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Reference) and self._object is other._object

    def __hash__(self) -> int:
        return id(self._object)

    def __repr__(self) -> str:
        return f"<Reference wrapping {self._object!r}>"
