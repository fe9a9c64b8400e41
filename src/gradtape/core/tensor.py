"""`Tensor`: an immutable array and, while a tape follows it, the Node that made it.

Its base classes have what else it does: operators and indexing in `core.operators`, and how its
values reach Python, NumPy and other libraries in `core.tensor_values`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gradtape import dtypes
from gradtape.core.needed_ops import needed
from gradtape.core.reference import Reference
from gradtape.core.tensor_values import TensorValues
from gradtape.core.thread import here, plain
from gradtape.dtypes import DType
from gradtape.published import published, shown
from gradtape.shapes import TensorShape

if TYPE_CHECKING:
    from gradtape.core.node import Node


@published("Tensor", "numpy.ndarray")
class Tensor(TensorValues):
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
    def outline(self) -> Any:
        """An array of its shape and dtype, which needs no values from other devices."""
        return self.array

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

    def ref(self) -> Reference:
        """A hashable reference, for sets and dict keys:
        tensors themselves compare element by element.
        """
        return Reference(self)

    experimental_ref = ref

    def __dir__(self) -> list[str]:
        return shown(super().__dir__(), "array", "held", "node", "outline", "with_node")

    def __hash__(self) -> int:
        raise TypeError("Tensor is unhashable: use tensor.ref() as the key.")

    def __copy__(self) -> Tensor:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Tensor:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return Tensor, (self.array,)


plain.tensor = here.state.tensor = Tensor


def full_name(device: str) -> str:
    """TensorFlow's long name of a device such as `GPU:0`."""
    return f"/job:localhost/replica:0/task:0/device:{device}"
