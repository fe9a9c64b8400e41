"""`vmap` and `vectorized_map`: a function of one example run on a whole batch at once."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, ParamSpec, TypeVar

from gradtape import nest
from gradtape.convert import as_tensor
from gradtape.core.batching import BatchedTensor, Level
from gradtape.core.tensor import Tensor
from gradtape.errors import invalid_argument
from gradtape.ops.broadcasting import broadcast_to
from gradtape.ops.shaping import reshape, transpose
from gradtape.published import published

P = ParamSpec("P")
R = TypeVar("R")


@published("vmap")
def vmap(f: Callable[P, R], in_axes: Any = 0, out_axes: Any = 0) -> Callable[P, R]:
    """A function that runs `f` for every example of a batch,
    without a loop wherever ops have a batching rule.

    `in_axes` says which axis of each argument is the batch (None: the argument is the same for
    all); it is an integer, or a tuple with an entry for each argument, which may itself be a
    structure like that argument. `out_axes` likewise for results.

    >>> import gradtape as tf
    >>> dot = lambda a, b: tf.reduce_sum(a * b)
    >>> tf.vmap(dot, in_axes=(0, None))(
    ...     tf.constant([[1.0, 2.0], [3.0, 4.0]]), tf.constant([1.0, 10.0])
    ... ).numpy()
    array([21., 43.], dtype=float32)
    """
    if not callable(f):
        raise TypeError(f"vmap: f must be a function, got {f!r}.")

    @functools.wraps(f)
    def call(*args: Any) -> Any:
        axes = _spread(in_axes, args, "in_axes")
        leaves = [
            as_tensor(leaf, argument=f"vmap: argument {i}")
            for i, leaf in enumerate(nest.flatten(args))
        ]
        size = _batch_size(leaves, axes)
        with Level(size) as level:
            examples = [
                leaf if axis is None else BatchedTensor(_batch_first(leaf, axis), level)
                for leaf, axis in zip(leaves, axes, strict=True)
            ]
            result = f(*nest.pack_sequence_as(args, examples))  # type: ignore[call-arg]
            flat = [
                as_tensor(leaf, argument="vmap: a result") if leaf is not None else None
                for leaf in nest.flatten(result)
            ]
        placed = [
            None if leaf is None else _batch_at(whole(leaf, level), axis)
            for leaf, axis in zip(flat, _spread(out_axes, result, "out_axes"), strict=True)
        ]
        return nest.pack_sequence_as(result, placed) if nest.is_nested(result) else placed[0]

    return call  # type: ignore[return-value]


@published("vectorized_map")
def vectorized_map(
    fn: Callable[[Any], R],
    elems: Any,
    fallback_to_while_loop: bool = True,
    warn: bool = True,
) -> R:
    """`fn` applied to each entry along the first axis of `elems`, all at once.

    >>> import gradtape as tf
    >>> tf.vectorized_map(
    ...     lambda row: tf.reduce_sum(row * row), tf.constant([[1.0, 2.0], [3.0, 4.0]])
    ... ).numpy()
    array([ 5., 25.], dtype=float32)
    """
    leaves = [as_tensor(leaf, argument="vectorized_map: elems") for leaf in nest.flatten(elems)]
    for leaf in leaves:
        if not leaf.array.ndim:
            raise IndexError(
                "vectorized_map: the tensors of elems must have at least one dimension, got a "
                "scalar."
            )
    sizes = {leaf.array.shape[0] for leaf in leaves}
    if len(sizes - {1}) > 1:
        raise invalid_argument(
            "vectorized_map: the tensors of elems must have the same first dimension, got "
            f"{sorted(sizes)}."
        )
    size = max(sizes - {1}, default=1)
    spread = [
        leaf if len(leaf.array) == size else broadcast_to(leaf, shape=(size, *leaf.array.shape[1:]))
        for leaf in leaves
    ]
    return vmap(fn)(nest.pack_sequence_as(elems, spread) if nest.is_nested(elems) else spread[0])


def _spread(axes: Any, structure: Any, name: str) -> list[int | None]:
    """One axis for each leaf, from an integer, None, or a structure that may be a prefix of the
    argument's.
    """
    if axes is None or isinstance(axes, int):
        return [axes] * len(nest.flatten(structure))
    if (
        isinstance(axes, (list, tuple))
        and isinstance(structure, (list, tuple))
        and len(axes) == len(structure)
    ):
        return [
            axis
            for part, below in zip(axes, structure, strict=True)
            for axis in _spread(part, below, name)
        ]
    if isinstance(axes, dict) and isinstance(structure, dict) and axes.keys() == structure.keys():
        return [
            axis for key in sorted(structure) for axis in _spread(axes[key], structure[key], name)
        ]
    raise ValueError(
        f"vmap: {name}={axes!r} does not match the structure of the arguments or results: use an "
        "integer, None, or the same structure."
    )


def _batch_size(leaves: Sequence[Tensor], axes: Sequence[int | None]) -> int:
    sizes = set()
    for i, (leaf, axis) in enumerate(zip(leaves, axes, strict=True)):
        if axis is None:
            continue
        if not -leaf.array.ndim <= axis < leaf.array.ndim:
            raise ValueError(
                f"vmap: in_axes gives axis {axis} for argument {i}, which has rank "
                f"{leaf.array.ndim}."
            )
        sizes.add(leaf.array.shape[axis])
    if not sizes:
        raise ValueError(
            "vmap: no argument has a batch axis: in_axes must be an integer for at least one."
        )
    if len(sizes) > 1:
        raise ValueError(f"vmap: all arguments must have the same batch size, got {sorted(sizes)}.")
    return sizes.pop()


def _batch_first(x: Tensor, axis: int) -> Tensor:
    rank = x.array.ndim
    axis %= rank
    return x if axis == 0 else transpose(x, perm=(axis, *(i for i in range(rank) if i != axis)))


def _batch_at(x: Tensor, axis: int | None) -> Tensor:
    if axis is None:
        raise ValueError("vmap: out_axes cannot be None: a result has a value for each example.")
    rank = x.array.ndim
    if not -rank <= axis < rank:
        raise ValueError(f"vmap: out_axes={axis} is not an axis of a result of rank {rank}.")
    order = list(range(1, rank))
    order.insert(axis % rank, 0)
    return x if axis % rank == 0 else transpose(x, perm=tuple(order))


def whole(x: Tensor, level: Level) -> Tensor:
    """A result with its batch axis first; one that is the same for all examples is repeated."""
    if isinstance(x, BatchedTensor) and x.level is level:
        return x.inner
    shape = tuple(x.array.shape)
    return broadcast_to(reshape(x, shape=(1, *shape)), shape=(level.size, *shape))
