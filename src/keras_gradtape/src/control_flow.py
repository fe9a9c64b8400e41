"""Keras's branches, loops and scans: Python in eager code, XLA's own inside a function."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from keras.src import tree

import gradtape as tf
import gradtape.numpy as gnp
from gradtape.extend import scan as traced_scan
from keras_gradtape.src.conversion import convert_to_tensor

Function = Callable[..., Any]


def cond(pred: Any, true_fn: Function, false_fn: Function) -> Any:
    """`true_fn()` if `pred` holds, else `false_fn()`."""
    return tf.cond(
        pred if isinstance(pred, bool) else convert_to_tensor(pred, "bool"), true_fn, false_fn
    )


def switch(index: Any, branches: Sequence[Function], *operands: Any) -> Any:
    """The result of the branch number `index`; the first or the last one if there is no such
    number.
    """
    place = tf.clip_by_value(convert_to_tensor(index, "int32"), 0, len(branches) - 1)
    return tf.switch_case(place, [_on(branch, operands) for branch in branches])


def _on(branch: Function, operands: Sequence[Any]) -> Function:
    return lambda: branch(*operands)


def vectorized_map(function: Function, elements: Any) -> Any:
    """`function` on all entries along the first axis at once."""
    return tf.vectorized_map(function, tree.map_structure(convert_to_tensor, elements))


def map(f: Function, xs: Any) -> Any:
    """`f` on each entry along the first axis, the results stacked."""
    return scan(lambda carry, x: (carry, f(x)), (), xs)[1]


def scan(
    f: Function,
    init: Any,
    xs: Any = None,
    length: int | None = None,
    reverse: bool = False,
    unroll: int | bool = 1,
) -> tuple[Any, Any]:
    """`carry, y = f(carry, x)` for each entry: the last carry, and all `y` stacked."""
    if not callable(f):
        raise TypeError(f"scan: f should be a callable. Received: f={f!r}")
    if not isinstance(unroll, int) or (unroll is not False and unroll < 1):
        raise ValueError(
            f"scan: unroll must be a positive integer or boolean. Received: unroll={unroll!r}"
        )
    if xs is None and length is None:
        raise ValueError("scan: give xs or length: there is nothing to scan over.")
    carry, entries = _tensors(init), _tensors(() if xs is None else xs)
    tensors = tree.flatten(entries)
    count = int(tensors[0].shape[0] if length is None else length)

    def step(state: Any, entry: Any) -> tuple[Any, Any]:
        state, output = f(state, None if xs is None else entry)
        return state, _tensors(output)

    run = _scan_in_program if tf.inside_function() and count else _scan_eagerly
    return run(step, carry, entries, tensors, count, reverse=reverse)


def _tensors(structure: Any) -> Any:
    """A structure's leaves as tensors, but for None."""
    return tree.map_structure(
        lambda leaf: None if leaf is None else convert_to_tensor(leaf), structure
    )


def _scan_in_program(
    step: Function,
    carry: Any,
    entries: Any,
    tensors: Sequence[tf.Tensor],
    count: int,
    *,
    reverse: bool,
) -> tuple[Any, Any]:
    """A loop of XLA's, which is told the outputs of a step apart from the state."""
    outputs: list[Any] = []

    def next_state(state: Any, entry: Any) -> Any:
        state, output = step(state, entry)
        outputs[:] = [output]
        return state

    return traced_scan(
        "scan",
        next_state,
        carry,
        entries,
        tensors,
        count,
        reverse=reverse,
        collect=lambda *_: outputs[0],
    )


def _scan_eagerly(
    step: Function,
    carry: Any,
    entries: Any,
    tensors: Sequence[tf.Tensor],
    count: int,
    *,
    reverse: bool,
) -> tuple[Any, Any]:
    """Python's loop.

    Entries are taken apart together, so that their gradients are put together once.
    """
    rows = [tf.unstack(x) for x in tensors]
    outputs: list[Any] = [None] * count
    for i in range(count)[:: -1 if reverse else 1]:
        carry, outputs[i] = step(carry, tree.pack_sequence_as(entries, [row[i] for row in rows]))
    if not outputs:
        return carry, None
    return carry, tree.map_structure(
        lambda *rows: None if rows[0] is None else tf.stack(rows), *outputs
    )


def associative_scan(f: Function, elems: Any, reverse: bool = False, axis: int = 0) -> Any:
    """All the running results of an associative `f(left, right)` along an axis, in a number of
    steps that is its logarithm.
    """
    if not callable(f):
        raise TypeError(f"associative_scan: f should be a callable. Received: f={f!r}")
    leaves = [convert_to_tensor(leaf) for leaf in tree.flatten(elems)]
    lengths = [int(leaf.shape[axis]) for leaf in leaves]
    if len(set(lengths)) > 1:
        raise ValueError(
            f"Array inputs to associative_scan must have the same first dimension, got {lengths} "
            f"along axis {axis}."
        )

    def together(left: Sequence[tf.Tensor], right: Sequence[tf.Tensor]) -> list[tf.Tensor]:
        found = f(
            tree.pack_sequence_as(elems, list(left)), tree.pack_sequence_as(elems, list(right))
        )
        return [convert_to_tensor(leaf) for leaf in tree.flatten(found)]

    moved = [_turned(leaf, axis, reverse=reverse) for leaf in leaves]
    return tree.pack_sequence_as(
        elems, [_turned_back(leaf, axis, reverse=reverse) for leaf in _running(together, moved)]
    )


def _turned(x: tf.Tensor, axis: int, *, reverse: bool) -> tf.Tensor:
    moved = gnp.moveaxis(x, axis, 0)
    return tf.reverse(moved, [0]) if reverse else moved


def _turned_back(x: tf.Tensor, axis: int, *, reverse: bool) -> tf.Tensor:
    return gnp.moveaxis(tf.reverse(x, [0]) if reverse else x, 0, axis)


def _running(together: Function, rows: list[tf.Tensor]) -> list[tf.Tensor]:
    """The running results along the first axis: those of pairs first, then the entries between."""
    count = len(rows[0])
    if count < 2:
        return rows
    pairs = together([row[: count - 1 : 2] for row in rows], [row[1::2] for row in rows])
    odd = _running(together, pairs)
    if count > 2:
        before = odd if count % 2 else [row[:-1] for row in odd]
        between = together(before, [row[2::2] for row in rows])
        even = [
            tf.concat([row[:1], later], axis=0) for row, later in zip(rows, between, strict=True)
        ]
    else:
        even = [row[:1] for row in rows]
    return [_interleaved(a, b) for a, b in zip(even, odd, strict=True)]


def _interleaved(even: tf.Tensor, odd: tf.Tensor) -> tf.Tensor:
    """even[0], odd[0], even[1], odd[1], and so on; `even` may have one entry more."""
    count = len(odd)
    pairs = tf.reshape(tf.stack([even[:count], odd], axis=1), [2 * count, *odd.shape[1:]])
    return pairs if len(even) == count else tf.concat([pairs, even[count:]], axis=0)


def while_loop(
    cond: Function, body: Function, loop_vars: Any, maximum_iterations: int | None = None
) -> Any:
    """`loop_vars = body(*loop_vars)` for as long as `cond(*loop_vars)` holds."""
    several = isinstance(loop_vars, (list, tuple))
    values = tree.map_structure(convert_to_tensor, tuple(loop_vars) if several else (loop_vars,))

    def step(*values: Any) -> tuple[Any, ...]:
        found = body(*values)
        return tuple(found) if isinstance(found, (list, tuple)) else (found,)

    found = tf.while_loop(cond, step, values, maximum_iterations=maximum_iterations)
    return tuple(found) if several else found[0]


def fori_loop(lower: Any, upper: Any, body_fun: Function, init_val: Any) -> Any:
    """`value = body_fun(i, value)` for the numbers from `lower` to before `upper`."""
    if not tf.inside_function():
        value = init_val
        for i in range(int(lower), int(upper)):
            value = body_fun(i, value)
        return value
    value = tree.map_structure(convert_to_tensor, init_val)
    first, last = convert_to_tensor(lower, "int32"), convert_to_tensor(upper, "int32")
    return tf.while_loop(
        lambda i, _: i < last, lambda i, value: (i + 1, body_fun(i, value)), (first, value)
    )[1]
