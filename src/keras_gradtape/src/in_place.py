"""The updates of SGD, Adam and AdamW as NumPy arithmetic in the variables' own memory.

Eager code updates many small variables, and the cost of an op for each of them adds up; large ones
are updated in blocks that stay in the processor's cache. A rule returns whether it has done the
update: it leaves to Keras arrays that NumPy cannot write to, and dtypes other than float32 and
float64.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache, wraps
from itertools import chain, repeat, starmap
from operator import call, is_, setitem
from typing import Any

import numpy as np

import gradtape as tf
from gradtape.extend import DisturbedError, combine_rows, quietly, undisturbed, writing

Array = np.ndarray[Any, Any]
UpdateRule = Callable[[Any, Any, Any, Any], bool]

_BLOCK = 32768


def rule_of(optimizer: Any) -> UpdateRule:
    """The rule for an optimizer; a subclass with an `update_step` of its own has none."""
    return _rules().get(type(optimizer).update_step, nothing)


def nothing(optimizer: Any, gradient: Any, variable: Any, learning_rate: Any) -> bool:
    """Leaves the update to Keras."""
    return False


class Update:
    """The arithmetic of one update, which is done as a whole: all of a Variable and its state, or
    nothing, if a signal arrives.

    `steps` are calls of NumPy's, each a function and its arguments. They run one after the other
    without an instruction of Python's in between, which is where Python runs signal handlers. `run`
    notices a handler that has read or written a Variable before; if nothing is written in place
    (`apart`), only one that has written.
    """

    def __init__(self, *, apart: bool = False) -> None:
        self._apart = apart
        self.steps: list[tuple[Any, ...]] = []
        self._known: list[dict[str, Any]] = []  # of the Variables
        self._places: list[str] = []  # where each has its array
        self._seen: list[Array] = []  # which that is
        self._values: list[Array] = []  # their arrays afterwards
        self._emptied: list[dict[str, Any]] = []  # of those that are written in place

    def buffer(self, variable: Any) -> Array:
        """Memory for a Variable's new value, which holds the old one: its own,
        unless somebody else has that too.

        From here on nothing reads the Variable itself: that is how `run` knows that a handler did.
        """
        variable.tell_recorders()
        array, known = variable.array, variable.__dict__
        if not self._apart and array.flags.c_contiguous and variable.owns(array):
            known["aside"] = value = array
            del known["array"]
            place = "aside"
            self._emptied.append(known)
        else:
            value, place = np.array(array, order="C"), "array"
        self._known.append(known)
        self._places.append(place)
        self._seen.append(array)
        self._values.append(value)
        return value

    def run(self) -> bool:
        """Runs the steps, unless a signal handler has read or written one of the Variables since
        they were written down.
        """
        known, none = self._known, repeat(None)
        as_they_were = map(is_, map(dict.get, known, self._places), self._seen)
        others = chain(
            map(dict.get, self._emptied, repeat("held")),
            map(dict.get, self._emptied, repeat("array")),
        )
        in_order = chain(
            map(undisturbed, chain(as_they_were, map(is_, others, none))),
            starmap(call, self.steps),
            map(setitem, known, repeat("array"), self._values),
            map(dict.pop, known, repeat("aside"), none),
            map(dict.pop, known, repeat("held"), none),
        )
        quietly(deque, in_order, 0)
        return True


_ATTEMPTS = 100  # each is short, and Keras's own way follows


def _in_turn(rule: Callable[..., bool]) -> Callable[..., bool]:
    """An update while no other thread updates; begun again, if a signal handler has used one of the
    Variables in the midst of it.
    """

    @wraps(rule)
    def update(*args: Any) -> bool:
        with writing.lock:
            for attempt in range(_ATTEMPTS):
                with suppress(DisturbedError):
                    return rule(Update(apart=attempt > 0), *args)
        return False

    return update


def note(gradient: Any, variable: Any) -> None:
    """Tells tapes around an update from which gradient the new value is."""
    value = gradient.values if isinstance(gradient, tf.IndexedSlices) else gradient
    _inner(variable).tell_recorders(value, replaces=False)


def _corrected(rate: Any, keep_1: Any, keep_2: Any, steps: Any) -> Any:
    """Adam's learning rate, corrected for averages that began with zeros."""
    return rate * np.sqrt(1 - keep_2**steps) / (1 - keep_1**steps)


@_in_turn
def decay(update: Update, optimizer: Any, variable: Any) -> bool:
    """Weight decay: `w -= w * weight_decay * learning_rate`."""
    if not _writable(variable):
        return False
    inner = _inner(variable)
    kind = inner.array.dtype.type
    factor = kind(optimizer.weight_decay) * kind(float(optimizer.learning_rate))
    for w, change in _blocks(update.buffer(inner)):
        update.steps += [(np.multiply, w, factor, change), (np.subtract, w, change, w)]
    return update.run()


@_in_turn
def _descend(
    update: Update, optimizer: Any, gradient: Any, variable: Any, learning_rate: Any
) -> bool:
    """SGD, with or without momentum."""
    state = (
        [optimizer.momentums[optimizer._get_variable_index(variable)]] if optimizer.momentum else []
    )
    if not _writable(variable, *state) or not _fits(gradient, variable):
        return False
    inner, *momentum = map(_inner, (variable, *state))
    kind = inner.array.dtype.type
    rate, friction = kind(float(learning_rate)), kind(optimizer.momentum)
    given = _values(gradient, inner)
    for w, g, *m, change in _blocks(update.buffer(inner), given, *map(update.buffer, momentum)):
        update.steps.append((np.multiply, g, rate, change))
        if not m:
            update.steps.append((np.subtract, w, change, w))
            continue
        update.steps += [(np.multiply, m[0], friction, m[0]), (np.subtract, m[0], change, m[0])]
        if optimizer.nesterov:
            ahead = np.empty_like(change)
            update.steps += [
                (np.multiply, m[0], friction, ahead),
                (np.subtract, ahead, change, ahead),
                (np.add, w, ahead, w),
            ]
        else:
            update.steps.append((np.add, w, m[0], w))
    return update.run()


@_in_turn
def _adapt(
    update: Update, optimizer: Any, gradient: Any, variable: Any, learning_rate: Any
) -> bool:
    """Adam and AdamW."""
    place = optimizer._get_variable_index(variable)
    state = optimizer._momentums[place], optimizer._velocities[place]
    rows = isinstance(gradient, tf.IndexedSlices)
    if (
        optimizer.amsgrad
        or not _writable(variable, *state)
        or not (rows or _fits(gradient, variable))
    ):
        return False
    inner, momentum, velocity = map(_inner, (variable, *state))
    kind = inner.array.dtype.type
    steps = kind(int(optimizer.iterations) + 1)
    keep_1, keep_2 = kind(float(optimizer.beta_1)), kind(float(optimizer.beta_2))
    new_1, new_2 = kind(1 - float(optimizer.beta_1)), kind(1 - float(optimizer.beta_2))
    epsilon = kind(float(optimizer.epsilon))
    rate = quietly(_corrected, kind(float(learning_rate)), keep_1, keep_2, steps)
    dense = [] if rows else [_values(gradient, inner)]
    w_all, m_all, v_all = map(update.buffer, (inner, momentum, velocity))
    if rows:
        where, sums = _summed_rows(gradient)
        for array, new, values in ((m_all, new_1, sums), (v_all, new_2, np.square(sums))):
            some = array[where]
            some = some - some * new + values * new
            update.steps += [
                (np.subtract, array, array * new, array),
                (setitem, array, where, some),
            ]
    for w, m, v, *g, change in _blocks(w_all, m_all, v_all, *dense):
        if g:
            update.steps += [
                (np.subtract, g[0], m, change), (np.multiply, change, new_1, change),
                (np.add, m, change, m), (np.multiply, g[0], g[0], change),
                (np.subtract, change, v, change), (np.multiply, change, new_2, change),
                (np.add, v, change, v),
            ]  # fmt: skip
        update.steps += [
            (np.sqrt, v, change), (np.add, change, epsilon, change), (np.divide, m, change, change),
            (np.multiply, change, rate, change), (np.subtract, w, change, w),
        ]  # fmt: skip
    return update.run()


def _inner(variable: Any) -> Any:
    return getattr(variable, "__gradtape_variable__", variable)


def _writable(*variables: Any) -> bool:
    """Whether NumPy can write the variables' values: not if they are on another device, are
    scalars, or of a class with its own ways.
    """
    inner = [_inner(v) for v in variables if getattr(v, "_layout", None) is None]
    arrays, kinds = [v.array for v in inner], (np.float32, np.float64)
    return (
        len(arrays) == len(variables)
        and all(type(a) is np.ndarray and a.dtype.type in kinds for a in arrays)
        and all("array" in vars(v) for v in inner)
    )


def _fits(gradient: Any, variable: Any) -> bool:
    return isinstance(gradient, tf.Tensor) and gradient.shape == variable.shape


def _values(gradient: Any, variable: Any) -> Array:
    return np.asarray(gradient.array, dtype=variable.array.dtype)


def _blocks(*arrays: Array) -> Iterator[tuple[Array, ...]]:
    """Arrays of one shape in blocks, as views of the same elements of each, and with each block
    memory for as many numbers.
    """
    flat = [array.reshape(-1) for array in arrays]
    size = flat[0].size
    spare = np.empty(min(size, _BLOCK), arrays[0].dtype)
    if size <= _BLOCK:
        yield *flat, spare
        return
    for start in range(0, size, _BLOCK):
        block = [array[start : start + _BLOCK] for array in flat]
        yield *block, spare[: block[0].size]


def _summed_rows(gradient: tf.IndexedSlices) -> tuple[Array, Array]:
    """The rows that a gradient names, each once, and what adds up in them."""
    values = gradient.values.array
    where, inverse = np.unique(gradient.indices.array, return_inverse=True)
    sums = np.zeros((len(where), *values.shape[1:]), values.dtype)
    combine_rows(np.add, sums, inverse.reshape(-1), values)
    return where, sums


@cache
def _rules() -> dict[Any, UpdateRule]:
    # Keras's optimizers are made from this package's base, so they are imported after it.
    from keras.src.optimizers.adam import Adam  # noqa: PLC0415
    from keras.src.optimizers.sgd import SGD  # noqa: PLC0415

    return {SGD.update_step: _descend, Adam.update_step: _adapt}
