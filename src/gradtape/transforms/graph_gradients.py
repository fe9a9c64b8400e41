"""What belongs to TensorFlow's graphs: what to use instead, and the registry of gradient functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from gradtape.ops.op import registry
from gradtape.transforms.functional import hessians_of

F = TypeVar("F", bound=Callable[..., Any])

_registered: dict[str, Callable[..., Any] | None] = {}


def gradients(
    ys: Any,
    xs: Any,
    grad_ys: Any = None,
    name: str = "gradients",
    gate_gradients: bool = False,
    aggregation_method: Any = None,
    stop_gradients: Any = None,
    unconnected_gradients: Any = None,
) -> Any:
    """Raises `RuntimeError`: symbolic gradients need a graph; a tape needs none.

    >>> import gradtape as tf
    >>> tf.gradients([], [])
    Traceback (most recent call last):
        ...
    RuntimeError: gradients() works on graphs, and gradtape has none: record with GradientTape and call tape.gradient().
    """
    raise RuntimeError("gradients() works on graphs, and gradtape has none: record with GradientTape and call tape.gradient().")


def hessians(ys: Any, xs: Any, gate_gradients: bool = False, aggregation_method: Any = None, name: str = "hessians") -> Any:
    """For each of `xs`, the second derivatives by it of the sum of `ys`, which is a function of `xs`.

    Of tensors that have been computed already there are none without a graph: that is a `RuntimeError`, as in TensorFlow.

    >>> import gradtape as tf
    >>> [h.numpy().tolist() for h in tf.hessians(lambda x, y: x * x * y, [tf.constant([1.0, 2.0]), tf.constant(3.0)])]
    [[[6.0, 0.0], [0.0, 6.0]], 0.0]
    """
    if callable(ys):
        return hessians_of(ys, xs)
    raise RuntimeError(
        "hessians() of tensors works on graphs, and gradtape has none: give a function of xs for ys, or nest two GradientTapes and "
        "call jacobian() on the outer one."
    )


class RegisterGradient:
    """Registers a gradient function under an op's name; a name that has one, or that gradtape defines, is a `KeyError`.

    >>> import gradtape as tf
    >>> tf.RegisterGradient("Multiply")
    Traceback (most recent call last):
        ...
    KeyError: "the op 'Multiply' has a gradient already: use gradtape.custom_gradient for a function of your own."
    """

    def __init__(self, op_type: str) -> None:
        if not isinstance(op_type, str):
            raise TypeError(f"RegisterGradient: op_type must be a string, got {op_type!r}.")
        _refuse_known(op_type)
        self._op_type = op_type

    def __call__(self, f: F) -> F:
        _refuse_known(self._op_type)
        _registered[self._op_type] = f
        return f


def no_gradient(op_type: str) -> None:
    """Marks an op name as not differentiable.

    >>> import gradtape as tf
    >>> tf.no_gradient("MyOp")
    """
    if not isinstance(op_type, str):
        raise TypeError(f"no_gradient: op_type must be a string, got {op_type!r}.")
    _refuse_known(op_type)
    _registered[op_type] = None


def _refuse_known(op_type: str) -> None:
    snake = "".join(f"_{c.lower()}" if c.isupper() else c for c in op_type).lstrip("_")
    if op_type in _registered or snake in registry:
        raise KeyError(f"the op '{op_type}' has a gradient already: use gradtape.custom_gradient for a function of your own.")
