"""Functional derivatives, an alternative to tapes: `grad`, `vjp`, `jvp`, `hvp`, `hessian` and
others.

Arguments may be Tensors, Variables, arrays, numbers, or structures of them; everything is built on
tapes and accumulators, so the results can be differentiated again.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Concatenate, Literal, ParamSpec, Protocol, TypeVar, overload

from gradtape import nest
from gradtape.convert import as_tensor
from gradtape.core.forward import ForwardAccumulator
from gradtape.core.indexed_slices import IndexedSlices
from gradtape.core.tape import GradientTape
from gradtape.core.tensor import Tensor
from gradtape.core.unconnected import UnconnectedGradients
from gradtape.core.variable import Variable
from gradtape.ops.reductions import reduce_sum
from gradtape.published import published
from gradtape.transforms.jacobians.jacobian import pace_of
from gradtape.transforms.jacobians.pulls import pull_diagonal

ZERO = UnconnectedGradients.ZERO

P = ParamSpec("P")
R = TypeVar("R")

if TYPE_CHECKING:
    import numpy as np

    from gradtape.core.tape_methods import Gradient

    # What is one tensor, and no structure: then the derivative by it is one too.
    Point_contra = TypeVar(
        "Point_contra",
        bound=Tensor | Variable | np.ndarray[Any, Any] | float | complex,
        contravariant=True,
    )
    R_co = TypeVar("R_co", covariant=True)

    class AtPoint(Protocol[Point_contra, P, R_co]):
        """A derivative with respect to the first argument."""

        def __call__(self, x: Point_contra, /, *args: P.args, **kwargs: P.kwargs) -> R_co: ...


@overload
def value_and_grad(
    f: Callable[Concatenate[Point_contra, P], Any],
    argnums: Literal[0] = 0,
) -> AtPoint[Point_contra, P, tuple[Tensor, Gradient]]: ...
@overload
def value_and_grad(
    f: Callable[P, Any],
    argnums: int = 0,
) -> Callable[P, tuple[Tensor, Any]]: ...
@overload
def value_and_grad(
    f: Callable[P, Any],
    argnums: Sequence[int],
) -> Callable[P, tuple[Tensor, tuple[Any, ...]]]: ...
@published("value_and_grad")
def value_and_grad(f: Callable[..., Any], argnums: int | Sequence[int] = 0) -> Callable[..., Any]:
    """A function that returns `f`'s value and its gradient with respect to the arguments at the
    positions `argnums`.

    >>> import gradtape as tf
    >>> value, gradient = tf.value_and_grad(lambda x: tf.reduce_sum(x**3))(tf.constant([1.0, 2.0]))
    >>> value.numpy(), gradient.numpy()
    (np.float32(9.0), array([ 3., 12.], dtype=float32))
    """
    _check_function(f, "value_and_grad")

    @functools.wraps(f)
    def call(*args: Any, **kwargs: Any) -> tuple[Any, Any]:
        chosen, given = _chosen(args, argnums, "value_and_grad")
        with GradientTape(watch_accessed_variables=False) as tape:
            tape.watch(chosen)
            value = _scalar(f(*given, **kwargs), "value_and_grad")
        return value, tape.gradient(value, chosen, unconnected_gradients=ZERO)

    return call


@overload
def grad(
    f: Callable[Concatenate[Point_contra, P], Any],
    argnums: Literal[0] = 0,
) -> AtPoint[Point_contra, P, Gradient]: ...
@overload
def grad(
    f: Callable[P, Any],
    argnums: int = 0,
) -> Callable[P, Any]: ...
@overload
def grad(
    f: Callable[P, Any],
    argnums: Sequence[int],
) -> Callable[P, tuple[Any, ...]]: ...
@published("grad")
def grad(f: Callable[..., Any], argnums: int | Sequence[int] = 0) -> Callable[..., Any]:
    """A function that returns the gradient of `f`, whose result is a scalar.

    >>> import gradtape as tf
    >>> tf.grad(tf.grad(lambda x: x**3))(2.0).numpy()
    np.float32(12.0)
    """
    _check_function(f, "grad")

    @functools.wraps(f)
    def call(*args: Any, **kwargs: Any) -> Any:
        return value_and_grad(f, argnums)(*args, **kwargs)[1]

    return call


@overload
def vjp(
    f: Callable[..., R],
    *primals: Point_contra,
) -> tuple[R, Callable[[Any], tuple[Gradient, ...]]]: ...
@overload
def vjp(f: Callable[..., R], *primals: Any) -> tuple[R, Callable[[Any], tuple[Any, ...]]]: ...
@published("vjp")
def vjp(f: Callable[..., Any], *primals: Any) -> Any:
    """`f(*primals)`, and the function that maps a cotangent of it to those of the primals.

    >>> import gradtape as tf
    >>> value, pull = tf.vjp(lambda x, y: x * y, tf.constant([1.0, 2.0]), 3.0)
    >>> [g.numpy().tolist() for g in pull(tf.constant([1.0, 10.0]))]
    [[3.0, 30.0], 21.0]
    """
    _check_function(f, "vjp")
    inputs = _tensors(primals)
    with GradientTape(persistent=True, watch_accessed_variables=False) as tape:
        tape.watch(inputs)
        value = f(*inputs)

    def pull(cotangents: Any) -> tuple[Any, ...]:
        nest.assert_same_structure(value, cotangents)
        return tape.gradient(value, inputs, output_gradients=cotangents, unconnected_gradients=ZERO)

    return value, pull


@published("jvp")
def jvp(f: Callable[..., R], primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[R, R]:
    """`f(*primals)` and its derivative along `tangents`.

    >>> import gradtape as tf
    >>> value, tangent = tf.jvp(lambda x, y: x * y, [2.0, 3.0], [1.0, 10.0])
    >>> value.numpy(), tangent.numpy()
    (np.float32(6.0), np.float32(23.0))
    """
    _check_function(f, "jvp")
    if (
        not isinstance(primals, (list, tuple))
        or not isinstance(tangents, (list, tuple))
        or len(primals) != len(tangents)
    ):
        raise ValueError(
            "jvp: primals and tangents must be lists or tuples of the same length, with an entry "
            "for each argument of f."
        )
    inputs = _tensors(tuple(primals))
    with ForwardAccumulator(inputs, tuple(tangents)) as accumulator:
        value = f(*inputs)
    return value, accumulator.jvp(value, unconnected_gradients=ZERO)


@overload
def hvp(f: Callable[..., Any], x: Point_contra, v: Any) -> Tensor: ...
@overload
def hvp(f: Callable[..., Any], x: Any, v: Any) -> Any: ...
@published("hvp")
def hvp(f: Callable[..., Any], x: Any, v: Any) -> Any:
    """The Hessian of `f` at `x` times `v`, without the Hessian:
    the derivative of the gradient along v.

    >>> import gradtape as tf
    >>> tf.hvp(
    ...     lambda x: tf.reduce_prod(x), tf.constant([1.0, 2.0, 3.0]), tf.constant([1.0, 0.0, 0.0])
    ... ).numpy()
    array([0., 3., 2.], dtype=float32)
    """
    return jvp(lambda at: _dense(grad(f)(at)), [x], [v])[1]


@overload
def hessian(
    f: Callable[Concatenate[Point_contra, P], Any],
    argnums: Literal[0] = 0,
    *,
    memory_limit: int | None = None,
) -> AtPoint[Point_contra, P, Tensor]: ...
@overload
def hessian(
    f: Callable[P, Any],
    argnums: int = 0,
    *,
    memory_limit: int | None = None,
) -> Callable[P, Any]: ...
@overload
def hessian(
    f: Callable[P, Any],
    argnums: Sequence[int],
    *,
    memory_limit: int | None = None,
) -> Callable[P, tuple[Any, ...]]: ...
@published("hessian")
def hessian(
    f: Callable[..., Any], argnums: int | Sequence[int] = 0, *, memory_limit: int | None = None
) -> Callable[..., Any]:
    """A function that returns the matrix of second derivatives of `f`, whose shape is that of its
    argument twice.

    For a structure, or several arguments at the positions `argnums`, the result has that structure,
    and inside it the same again: `h["w"]["b"]` is the block for w and b. `memory_limit` is that of
    `GradientTape.jacobian`.

    >>> import gradtape as tf
    >>> tf.hessian(lambda x: tf.reduce_prod(x))(tf.constant([1.0, 2.0, 3.0])).numpy().tolist()
    [[0.0, 3.0, 2.0], [3.0, 0.0, 1.0], [2.0, 1.0, 0.0]]
    """
    _check_function(f, "hessian")

    @functools.wraps(f)
    def call(*args: Any, **kwargs: Any) -> Any:
        tape, chosen, gradient = _recorded_gradient(f, argnums, args, kwargs, "hessian")
        return tape.jacobian(
            gradient, chosen, unconnected_gradients=ZERO, memory_limit=memory_limit
        )

    return call


@overload
def diag_hessian(
    f: Callable[Concatenate[Point_contra, P], Any],
    argnums: Literal[0] = 0,
    *,
    memory_limit: int | None = None,
) -> AtPoint[Point_contra, P, Tensor]: ...
@overload
def diag_hessian(
    f: Callable[P, Any],
    argnums: int = 0,
    *,
    memory_limit: int | None = None,
) -> Callable[P, Any]: ...
@overload
def diag_hessian(
    f: Callable[P, Any],
    argnums: Sequence[int],
    *,
    memory_limit: int | None = None,
) -> Callable[P, tuple[Any, ...]]: ...
@published("diag_hessian")
def diag_hessian(
    f: Callable[..., Any], argnums: int | Sequence[int] = 0, *, memory_limit: int | None = None
) -> Callable[..., Any]:
    """A function that returns the diagonal of the Hessian of `f`, in the argument's structure.

    It takes as long as the whole Hessian, but less memory. `argnums` and `memory_limit` are those
    of `hessian`.

    >>> import gradtape as tf
    >>> tf.diag_hessian(lambda x: tf.reduce_sum(x**3))(tf.constant([1.0, 2.0])).numpy()
    array([ 6., 12.], dtype=float32)
    """
    _check_function(f, "diag_hessian")

    @functools.wraps(f)
    def call(*args: Any, **kwargs: Any) -> Any:
        pace = pace_of("diag_hessian", None, True, memory_limit)
        tape, chosen, gradient = _recorded_gradient(f, argnums, args, kwargs, "diag_hessian")
        recording = tape._prepare("diag_hessian")
        pairs = zip(nest.flatten(gradient), nest.flatten(chosen), strict=True)
        found = [pull_diagonal(tape, recording, target, source, pace) for target, source in pairs]
        return nest.pack_sequence_as(chosen, found) if nest.is_nested(chosen) else found[0]

    return call


@published("laplacian")
def laplacian(
    f: Callable[P, Any],
    argnums: int | Sequence[int] = 0,
    *,
    memory_limit: int | None = None,
) -> Callable[P, Tensor]:
    """A function that returns the sum of `diag_hessian`.

    >>> import gradtape as tf
    >>> tf.laplacian(lambda x: tf.reduce_sum(x**3))(tf.constant([1.0, 2.0])).numpy()
    np.float32(18.0)
    """
    diagonal = diag_hessian(f, argnums, memory_limit=memory_limit)

    @functools.wraps(f)
    def call(*args: P.args, **kwargs: P.kwargs) -> Tensor:
        first, *others = [reduce_sum(part) for part in nest.flatten(diagonal(*args, **kwargs))]
        return functools.reduce(operator.add, others, first)

    return call


def hessians_of(f: Callable[..., Any], xs: Any) -> list[Any]:
    """For each of `xs`, which are the arguments of `f`, the second derivatives, with respect to it,
    of the sum of the results of `f`.
    """

    def total(*args: Any) -> Tensor:
        first, *others = [
            reduce_sum(as_tensor(part, argument="hessians: ys")) for part in nest.flatten(f(*args))
        ]
        return functools.reduce(operator.add, others, first)

    given = _tensors(tuple(xs) if isinstance(xs, (list, tuple)) else (xs,))
    with GradientTape(persistent=True, watch_accessed_variables=False) as tape:
        tape.watch(given)
        gradients = _dense(grad(total, argnums=range(len(given)))(*given))
    return [
        tape.jacobian(g, x, unconnected_gradients=ZERO)
        for g, x in zip(gradients, given, strict=True)
    ]


def _recorded_gradient(
    f: Callable[..., Any],
    argnums: int | Sequence[int],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    function: str,
) -> tuple[GradientTape, Any, Any]:
    """A tape that has recorded the gradient of `f`, the sources, and the gradient."""
    chosen, given = _chosen(args, argnums, function)
    with GradientTape(persistent=True, watch_accessed_variables=False) as tape:
        tape.watch(chosen)
        gradient = _dense(grad(f, argnums)(*given, **kwargs))
    return tape, chosen, gradient


def _dense(gradients: Any) -> Any:
    """Gradients as dense Tensors: that of a gather is an IndexedSlices."""
    return nest.map_structure(
        lambda g: as_tensor(g) if isinstance(g, IndexedSlices) else g, gradients
    )


def _tensors(structure: Any) -> Any:
    """A structure with its plain values converted to Tensors; Variables are kept."""
    return nest.map_structure(
        lambda leaf: leaf if isinstance(leaf, Variable) else as_tensor(leaf), structure
    )


def _chosen(
    args: tuple[Any, ...], argnums: int | Sequence[int], function: str
) -> tuple[Any, list[Any]]:
    """The arguments to differentiate with respect to, as Tensors, and all arguments with those in
    their places.
    """
    numbers = [argnums] if isinstance(argnums, int) else list(argnums)
    if not all(-len(args) <= number < len(args) for number in numbers):
        raise ValueError(
            f"{function}: argnums={argnums!r} must be positions of arguments, but f was called "
            f"with {len(args)}."
        )
    given = list(args)
    for number in numbers:
        given[number] = _tensors(given[number])
    chosen = [given[number] for number in numbers]
    return (chosen[0] if isinstance(argnums, int) else tuple(chosen)), given


def _scalar(value: Any, function: str) -> Tensor:
    found = as_tensor(value, argument=f"{function}: the result of f")
    if found.array.shape != () or found.dtype.is_complex:
        raise ValueError(
            f"{function}: f must return a real scalar, got shape {found.shape}, dtype "
            f"{found.dtype.name}; use vjp or a tape for others."
        )
    return found


def _check_function(f: Any, function: str) -> None:
    if not callable(f):
        raise TypeError(f"{function}: f must be a function, got {f!r}.")
