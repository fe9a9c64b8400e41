"""`cond`, `case`, `switch_case`, `while_loop`, `map_fn`, `scan` and folds: in eager code they run
as the Python they stand for.

Whatever their bodies compute is recorded op by op, so they are differentiable to any order. In a
function that is being traced, whatever depends on the program's values is left to XLA, by
`gradtape.functions.traced`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

import numpy as np

from gradtape import nest
from gradtape.convert import as_tensor
from gradtape.core.batching import BatchedTensor, in_all_examples
from gradtape.core.composite import own_function
from gradtape.core.tensor import Tensor
from gradtape.core.thread import here
from gradtape.core.variable import Variable
from gradtape.core.xla.tensor import is_traced
from gradtape.core.xla.trace import inside_a_program
from gradtape.errors import invalid_argument
from gradtape.ops.arithmetic import equal, logical_and
from gradtape.ops.selection import where
from gradtape.ops.shaping import concat, stack, unstack
from gradtape.published import published
from gradtape.shapes import TensorShape

R = TypeVar("R")
Other = TypeVar("Other")


@published("cond")
def cond(
    pred: Any,
    true_fn: Callable[[], R] | None = None,
    false_fn: Callable[[], Other] | None = None,
    name: str | None = None,
) -> R | Other:
    """`true_fn()` if `pred` is true, else `false_fn()`.

    >>> import gradtape as tf
    >>> tf.cond(tf.constant(2.0) > 1.0, lambda: "larger", lambda: "smaller")
    'larger'
    """
    _require_callable("cond", true_fn=true_fn, false_fn=false_fn)
    if is_traced(pred):
        return _traced().switch(
            "cond", _traced().index_of(_scalar(pred, "cond: pred")), [true_fn, false_fn]
        )
    if isinstance(pred, BatchedTensor):
        return _by_example("cond", [_scalar(pred, "cond: pred")], [true_fn, false_fn])
    return (true_fn if _truth(pred, "cond: pred") else false_fn)()  # type: ignore[misc]


@published("case")
def case(
    pred_fn_pairs: Any,
    default: Callable[[], Any] | None = None,
    exclusive: bool = False,
    strict: bool = False,
    name: str = "case",
) -> Any:
    """The result of the first function whose predicate is true, else of `default`.

    >>> import gradtape as tf
    >>> x = tf.constant(0.0)
    >>> tf.case([(x > 0, lambda: "positive"), (x < 0, lambda: "negative")], default=lambda: "zero")
    'zero'
    """
    pairs = (
        list(pred_fn_pairs.items())
        if isinstance(pred_fn_pairs, dict)
        else _entries(pred_fn_pairs, "case: pred_fn_pairs")
    )
    for i, pair in enumerate(pairs):
        if not isinstance(pair, (tuple, list)) or len(pair) != 2 or not callable(pair[1]):
            raise TypeError(
                f"case: pred_fn_pairs[{i}] must be a pair of a predicate and a function, got "
                f"{pair!r}."
            )
    if any(is_traced(pred) for pred, _ in pairs):
        return _traced_case(pairs, default)
    if any(isinstance(pred, BatchedTensor) for pred, _ in pairs):
        functions = [function for _, function in pairs]
        preds = [_scalar(pred, f"case: pred_fn_pairs[{i}][0]") for i, (pred, _) in enumerate(pairs)]
        return _by_example(
            "case",
            preds if default else preds[:-1],
            [*functions, default] if default else functions,
        )
    truths = [_truth(pred, f"case: pred_fn_pairs[{i}][0]") for i, (pred, _) in enumerate(pairs)]
    if exclusive and sum(truths) > 1:
        raise invalid_argument(
            f"case: exclusive=True, but {sum(truths)} of the predicates are true."
        )
    for holds, (_, function) in zip(truths, pairs, strict=True):
        if holds:
            return function()
    if default is None:
        raise invalid_argument("case: no predicate is true, and there is no default: give one.")
    _require_callable("case", default=default)
    return default()


@published("switch_case")
def switch_case(
    branch_index: Any,
    branch_fns: Any,
    default: Callable[[], Any] | None = None,
    name: str = "switch_case",
) -> Any:
    """The result of function number `branch_index`; if there is no such function, of `default`, or
    else of the last one.

    >>> import gradtape as tf
    >>> tf.switch_case(tf.constant(1), [lambda: "zero", lambda: "one"])
    'one'
    """
    if isinstance(branch_fns, dict):
        branches = dict(branch_fns)
    else:
        entries = _entries(branch_fns, "switch_case: branch_fns")
        are_pairs = all(isinstance(entry, (tuple, list)) and len(entry) == 2 for entry in entries)
        branches = dict(entries) if are_pairs else dict(enumerate(entries))
    if not branches:
        raise ValueError("switch_case: branch_fns must hold at least one function.")
    for key, function in branches.items():
        _require_callable("switch_case", **{f"branch_fns[{key}]": function})
    fallback = branches[max(branches)] if default is None else default
    if is_traced(branch_index):
        keys = sorted(branches)
        functions = (
            [branches[key] for key in keys]
            if default is None
            else [*(branches[key] for key in keys), default]
        )
        index = _traced().place_among(
            _scalar(branch_index, "switch_case: branch_index"), keys, len(functions) - 1
        )
        return _traced().switch("switch_case", index, functions)
    if isinstance(branch_index, BatchedTensor):
        index = _scalar(branch_index, "switch_case: branch_index")
        return _by_example(
            "switch_case", [equal(index, key) for key in branches], [*branches.values(), fallback]
        )
    return branches.get(_whole(branch_index, "switch_case: branch_index"), fallback)()


def _entries(values: Any, argument: str) -> list[Any]:
    if isinstance(values, (str, bytes)) or not isinstance(values, Iterable):
        raise TypeError(f"{argument} must be a list or a dict, got {values!r}.")
    return list(values)


def _whole(value: Any, argument: str) -> int:
    """A Python integer from a scalar tensor, or from what can be converted to one."""
    found = as_tensor(value, argument=argument)
    if found.array.dtype.kind == "O" or found.array.ndim:
        raise TypeError(f"{argument} must be one integer, got {value!r}.")
    try:
        return int(found)
    except (ValueError, OverflowError) as error:
        raise TypeError(f"{argument} must be one integer, got {value!r}.") from error


@published("while_loop")
def while_loop(
    cond: Callable[..., Any],
    body: Callable[..., Any],
    loop_vars: Any,
    shape_invariants: Any = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    maximum_iterations: Any = None,
    name: str | None = None,
) -> Any:
    """`loop_vars = body(*loop_vars)` as long as `cond(*loop_vars)` is true.

    In a function, `shape_invariants` (TensorShapes in the structure of `loop_vars`) say which
    variables may change their shapes, and to what; if one does, the function runs op by op.

    >>> import gradtape as tf
    >>> i, total = tf.while_loop(
    ...     lambda i, total: i < 5,
    ...     lambda i, total: (i + 1, total + i),
    ...     (tf.constant(0), tf.constant(0)),
    ... )
    >>> int(total)
    10
    """
    _require_callable("while_loop", cond=cond, body=body)
    if not isinstance(loop_vars, (list, tuple)) or not loop_vars:
        raise ValueError(
            "while_loop: loop_vars must be a list or tuple with at least one entry, got "
            f"{loop_vars!r}."
        )
    values = nest.map_structure(lambda v: _loop_variable(v, "while_loop: loop_vars"), loop_vars)
    limit = (
        None
        if maximum_iterations is None
        else _whole(maximum_iterations, "while_loop: maximum_iterations")
    )
    if inside_a_program():
        may_become = _declared_shapes(shape_invariants, values)
        return _traced().while_loop(cond, body, values, limit, may_become=may_become)
    steps, running, kind = 0, None, type(loop_vars)
    while limit is None or steps < limit:
        holds = cond(*values)
        if isinstance(
            holds, BatchedTensor
        ):  # each example goes on for as long as its own condition holds
            running = holds if running is None else logical_and(running, holds)
            holds = bool(np.any(in_all_examples(running)))
        if not _truth(holds, "while_loop: the result of cond"):
            break
        result = body(*values)
        if {type(result), kind} == {
            list,
            tuple,
        }:  # TensorFlow's eager loop gives what its body returned last
            kind = type(result)
        if not isinstance(result, (list, tuple)):
            result = (result,)
        if len(result) != len(loop_vars):
            raise ValueError(
                f"while_loop: body returned {len(result)} values for {len(loop_vars)} loop_vars."
            )
        packed = nest.pack_sequence_as(loop_vars, nest.flatten(result))
        after = nest.map_structure(
            lambda v: _loop_variable(v, "while_loop: the result of body"), packed
        )
        values = (
            after
            if running is None
            else nest.map_structure(functools.partial(where, running), after, values)
        )
        steps += 1
    return values if type(values) is kind else kind(values)


def _declared_shapes(invariants: Any, loop_vars: Any) -> list[TensorShape | None]:
    """The shapes that loop variables may have after a step, or None, one for each leaf."""
    if invariants is None:
        return []
    argument = "while_loop: shape_invariants"
    try:
        nest.assert_same_structure(loop_vars, invariants, check_types=False)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{argument} must have the structure of loop_vars: {error}") from None
    found = []
    for given in nest.flatten(invariants):
        shape = getattr(given, "shape", given)
        if shape is not None and not isinstance(shape, TensorShape):
            raise TypeError(
                f"{argument} must hold TensorShapes, TensorSpecs or None, got {given!r}."
            )
        found.append(shape)
    return found


def _loop_variable(value: Any, argument: str) -> Any:
    """A loop variable as a Tensor; a TensorArray is returned unchanged."""
    return value if nest.is_composite(value) else as_tensor(value, argument=argument)


@published("map_fn")
def map_fn(
    fn: Callable[[Any], R],
    elems: Any,
    dtype: Any = None,
    parallel_iterations: int | None = None,
    back_prop: bool = True,
    swap_memory: bool = False,
    infer_shape: bool = True,
    name: str | None = None,
    fn_output_signature: Any = None,
) -> R:
    """`fn` applied to each entry along the first axis of `elems`, the results stacked.

    >>> import gradtape as tf
    >>> tf.map_fn(lambda row: tf.reduce_sum(row), tf.constant([[1.0, 2.0], [3.0, 4.0]])).numpy()
    array([3., 7.], dtype=float32)
    """
    _require_callable("map_fn", fn=fn)
    signature = dtype if fn_output_signature is None else fn_output_signature
    other = own_function(map_fn, *nest.flatten(elems), *nest.flatten(signature))
    if other is not None:
        return other(fn, elems, fn_output_signature=signature)
    tensors, length = _elements(elems, "map_fn")
    if inside_a_program():
        return _traced().scan(
            "map_fn",
            fn,
            None,
            _structure(elems),
            tensors,
            length,
            reverse=False,
            collect=lambda _, result: result,
        )[1]
    rows = [unstack(t, axis=0) for t in tensors]
    results = [fn(_entry(elems, rows, i)) for i in range(length)]
    return _stacked(results) if results else _nothing_like(lambda: fn(_zero_entry(elems, tensors)))


@published("foldl")
def foldl(
    fn: Callable[[Any, Any], R],
    elems: Any,
    initializer: Any = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    name: str | None = None,
) -> R:
    """`fn(...fn(fn(initializer, elems[0]), elems[1])..., elems[-1])`.

    >>> import gradtape as tf
    >>> tf.foldl(lambda total, x: total * 10 + x, tf.constant([1, 2, 3])).numpy()
    np.int32(123)
    """
    return _fold(fn, elems, initializer, "foldl", reverse=False)


@published("foldr")
def foldr(
    fn: Callable[[Any, Any], R],
    elems: Any,
    initializer: Any = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    name: str | None = None,
) -> R:
    """`foldl` from the last entry to the first.

    >>> import gradtape as tf
    >>> tf.foldr(lambda total, x: total * 10 + x, tf.constant([1, 2, 3])).numpy()
    np.int32(321)
    """
    return _fold(fn, elems, initializer, "foldr", reverse=True)


@published("scan")
def scan(
    fn: Callable[[Any, Any], R],
    elems: Any,
    initializer: Any = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    infer_shape: bool = True,
    reverse: bool = False,
    name: str | None = None,
) -> R:
    """All the intermediate results of a fold, stacked.

    >>> import gradtape as tf
    >>> tf.scan(lambda total, x: total + x, tf.constant([1, 2, 3])).numpy()
    array([1, 3, 6], dtype=int32)
    """
    length = _elements(elems, "scan")[1]
    if inside_a_program() and initializer is not None:
        return _scanned(
            fn, elems, initializer, "scan", reverse=reverse, collect=lambda _, result: result
        )[1]
    if inside_a_program() and length > 1:
        first, rest = _parted(elems, "scan", reverse)
        results = _scanned(
            fn, rest, first, "scan", reverse=reverse, collect=lambda _, result: result
        )[1]
        return nest.map_structure(functools.partial(_with_first, at_end=reverse), first, results)
    states = _states(fn, elems, initializer, "scan", reverse=reverse)
    if initializer is not None:
        first, *states = states
        if not states:
            return _nothing_like(lambda: fn(first, _zero_entry(elems, _elements(elems, "scan")[0])))
    return _stacked(states[::-1] if reverse else states)


def _fold(
    fn: Callable[[Any, Any], Any], elems: Any, initializer: Any, function: str, *, reverse: bool
) -> Any:
    length = _elements(elems, function)[1]
    if inside_a_program() and initializer is None and length > 1:
        initializer, elems = _parted(elems, function, reverse)
    if inside_a_program() and initializer is not None:
        return _scanned(fn, elems, initializer, function, reverse=reverse, collect=lambda *_: ())[0]
    return _states(fn, elems, initializer, function, reverse=reverse)[-1]


def _scanned(
    fn: Callable[[Any, Any], Any],
    elems: Any,
    initializer: Any,
    function: str,
    *,
    reverse: bool,
    collect: Callable[[Any, Any], Any],
) -> tuple[Any, Any]:
    """The last state, and what is collected from all states, by an XLA loop."""
    _require_callable(function, fn=fn)
    tensors, length = _elements(elems, function)
    state = nest.map_structure(
        lambda leaf: _loop_variable(leaf, f"{function}: initializer"), initializer
    )
    return _traced().scan(
        function, fn, state, _structure(elems), tensors, length, reverse=reverse, collect=collect
    )


def _parted(elems: Any, function: str, reverse: bool) -> tuple[Any, Any]:
    """The first entry, with which a fold without an initializer begins, and the others."""
    tensors, _ = _elements(elems, function)
    first, rest = (
        [t[-1 if reverse else 0] for t in tensors],
        [t[:-1] if reverse else t[1:] for t in tensors],
    )
    return (
        (nest.pack_sequence_as(elems, first), nest.pack_sequence_as(elems, rest))
        if _opened(elems)
        else (first[0], rest[0])
    )


def _with_first(first: Tensor, results: Tensor, at_end: bool) -> Tensor:
    parts = [stack(first, axis=0), results]
    return concat(*(reversed(parts) if at_end else parts), axis=0)


def _structure(elems: Any) -> Any:
    """What an entry of `elems` is packed like."""
    return elems if _opened(elems) else None


def _traced() -> Any:
    """The control flow of compiled programs, which is imported when the first one is traced."""
    from gradtape.functions import traced  # noqa: PLC0415

    return traced


def _traced_case(pairs: Sequence[Any], default: Callable[[], Any] | None) -> Any:
    """A chain of conditions; where none is true and there is no default, it is the last function's
    result.
    """
    (pred, function), *rest = pairs
    if not rest and default is None:
        return function()
    otherwise: Any = (lambda: _traced_case(rest, default)) if rest else default
    return cond(pred, function, otherwise)


def _by_example(function: str, preds: Sequence[Tensor], functions: Sequence[Any]) -> Any:
    """Under `vmap`, where each example chooses for itself: all functions run, and the result is
    that of the first one whose predicate is true.

    There is one more function than predicates, for where none is true.
    """
    *results, found = [branch() for branch in functions]
    for pred, result in reversed(list(zip(preds, results, strict=True))):
        try:
            nest.assert_same_structure(result, found)
        except (TypeError, ValueError) as error:
            raise type(error)(
                f"{function}: the branches return different structures: {error}"
            ) from None
        found = nest.map_structure(functools.partial(where, pred), result, found)
    return found


def _scalar(value: Any, argument: str) -> Tensor:
    found = as_tensor(value, argument=argument)
    if found.array.ndim:
        raise ValueError(f"{argument} must be a scalar, got shape {found.shape}.")
    return found


def _states(
    fn: Callable[[Any, Any], Any], elems: Any, initializer: Any, function: str, *, reverse: bool
) -> list[Any]:
    """The first state and the state after each entry."""
    _require_callable(function, fn=fn)
    tensors, length = _elements(elems, function)
    rows = [unstack(t, axis=0) for t in tensors]
    order = list(range(length))[:: -1 if reverse else 1]
    if initializer is not None:
        state = nest.map_structure(
            lambda leaf: _loop_variable(leaf, f"{function}: initializer"), initializer
        )
    elif order:
        state = _entry(elems, rows, order.pop(0))
    else:
        raise ValueError(f"{function}: elems has no entries: give an initializer.")
    states = [state]
    for i in order:
        state = fn(state, _entry(elems, rows, i))
        states.append(state)
    return states


def _elements(elems: Any, function: str) -> tuple[list[Tensor], int]:
    """The flat tensors to run over and their common length."""
    tensors = (
        [as_tensor(leaf, argument=f"{function}: elems") for leaf in nest.flatten(elems)]
        if _opened(elems)
        else [as_tensor(elems)]
    )
    if not tensors:
        raise ValueError(f"{function}: elems must contain at least one tensor.")
    for t in tensors:
        if not t.array.ndim:
            raise ValueError(
                f"{function}: the tensors of elems must have at least one dimension, got a scalar."
            )
    lengths = {len(t.array) for t in tensors}
    if len(lengths) > 1:
        raise ValueError(
            f"{function}: the tensors of elems must have the same first dimension, got "
            f"{sorted(lengths)}."
        )
    return tensors, lengths.pop()


def _opened(elems: Any) -> bool:
    """Whether `elems` is a structure of tensors rather than one value such as a list of numbers."""
    return nest.is_nested(elems) and any(
        isinstance(leaf, (Tensor, Variable)) or hasattr(leaf, "ndim")
        for leaf in nest.flatten(elems)
    )


def _entry(structure: Any, rows: Sequence[Sequence[Tensor]], i: int) -> Any:
    """Entry i of all tensors, which were unstacked together, so that their gradients are stacked
    together.
    """
    entries = [row[i] for row in rows]
    return nest.pack_sequence_as(structure, entries) if _opened(structure) else entries[0]


def _zero_entry(structure: Any, tensors: Sequence[Tensor]) -> Any:
    entries = [Tensor(np.zeros(t.array.shape[1:], t.array.dtype)) for t in tensors]
    return nest.pack_sequence_as(structure, entries) if _opened(structure) else entries[0]


def _nothing_like(example: Callable[[], Any]) -> Any:
    """An empty stack of results: their shapes come from one unrecorded run on zeros."""
    with here.state.only([]):
        result = example()
    return nest.map_structure(
        lambda leaf: Tensor(np.zeros((0, *(t := as_tensor(leaf).array).shape), t.dtype)), result
    )


def _stacked(results: Sequence[Any]) -> Any:
    flat = [[as_tensor(leaf) for leaf in nest.flatten(result)] for result in results]
    joined = [stack(*column, axis=0) for column in zip(*flat, strict=True)]
    return nest.pack_sequence_as(results[0], joined) if nest.is_nested(results[0]) else joined[0]


def _truth(value: Any, argument: str) -> bool:
    """A Python bool from a bool or a scalar boolean tensor."""
    if isinstance(value, bool):
        return value
    array = as_tensor(value, argument=argument).array
    if array.ndim:
        raise ValueError(f"{argument} must be a scalar, got shape {array.shape}.")
    return bool(array)


def _require_callable(function: str, **arguments: Any) -> None:
    for name, value in arguments.items():
        if not callable(value):
            raise TypeError(f"{function}: {name} must be callable, got {value!r}.")
