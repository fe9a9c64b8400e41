"""The updates of SGD, Adam and AdamW as NumPy arithmetic in the variables' own memory.

Eager code updates many small variables, and what an op costs for each of them adds up; large ones are updated in blocks that stay
in the processor's cache. A rule answers whether it has done the update: it leaves to Keras what NumPy cannot write into, and
dtypes other than float32 and float64.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import numpy as np

import gradtape as tf
from gradtape.engines.scatter import combine_rows

Array = np.ndarray[Any, Any]
Rule = Callable[[Any, Any, Any, Any], bool]

_BLOCK = 32768


def rule_of(optimizer: Any) -> Rule:
    """The rule for an optimizer; a subclass with an `update_step` of its own has none."""
    return _rules().get(type(optimizer).update_step, nothing)


def nothing(optimizer: Any, gradient: Any, variable: Any, learning_rate: Any) -> bool:
    """Leaves the update to Keras."""
    return False


def decay(optimizer: Any, variable: Any) -> bool:
    """Weight decay: `w -= w * weight_decay * learning_rate`."""
    if not _writable(variable):
        return False
    inner = _inner(variable)
    kind = inner.array.dtype.type
    factor = kind(optimizer.weight_decay) * kind(float(optimizer.learning_rate))
    with np.errstate(all="ignore"):
        for (block,) in _blocks(_buffer(inner)):
            np.subtract(block, block * factor, out=block)
    return True


def _descend(optimizer: Any, gradient: Any, variable: Any, learning_rate: Any) -> bool:
    """SGD, with or without momentum."""
    state = [optimizer.momentums[optimizer._get_variable_index(variable)]] if optimizer.momentum else []
    if not _writable(variable, *state) or not _fits(gradient, variable):
        return False
    inner, *momentum = map(_inner, (variable, *state))
    kind = inner.array.dtype.type
    rate, friction = kind(float(learning_rate)), kind(optimizer.momentum)
    step = _values(gradient, inner)
    with np.errstate(all="ignore"):
        for w, g, *m in _blocks(_buffer(inner), step, *map(_buffer, momentum)):
            pull = g * rate
            if not m:
                np.subtract(w, pull, out=w)
                continue
            np.multiply(m[0], friction, out=m[0])
            np.subtract(m[0], pull, out=m[0])
            np.add(w, m[0] * friction - pull if optimizer.nesterov else m[0], out=w)
    return True


def _adapt(optimizer: Any, gradient: Any, variable: Any, learning_rate: Any) -> bool:
    """Adam and AdamW."""
    place = optimizer._get_variable_index(variable)
    state = optimizer._momentums[place], optimizer._velocities[place]
    rows = isinstance(gradient, tf.IndexedSlices)
    if optimizer.amsgrad or not _writable(variable, *state) or not (rows or _fits(gradient, variable)):
        return False
    inner, momentum, velocity = map(_inner, (variable, *state))
    kind = inner.array.dtype.type
    steps = kind(int(optimizer.iterations) + 1)
    keep_1, keep_2 = kind(float(optimizer.beta_1)), kind(float(optimizer.beta_2))
    new_1, new_2 = kind(1 - float(optimizer.beta_1)), kind(1 - float(optimizer.beta_2))
    epsilon = kind(float(optimizer.epsilon))
    rate = kind(float(learning_rate)) * np.sqrt(1 - keep_2**steps) / (1 - keep_1**steps)
    with np.errstate(all="ignore"):
        w_all, m_all, v_all = map(_buffer, (inner, momentum, velocity))
        if rows:
            where, sums = _summed_rows(gradient)
            m_all -= m_all * new_1
            v_all -= v_all * new_2
            m_all[where] += sums * new_1
            v_all[where] += np.square(sums) * new_2
        dense = [] if rows else [_values(gradient, inner)]
        for w, m, v, *g in _blocks(w_all, m_all, v_all, *dense):
            change = np.empty_like(w)
            if g:
                np.subtract(g[0], m, out=change)
                change *= new_1
                np.add(m, change, out=m)
                np.multiply(g[0], g[0], out=change)
                change -= v
                change *= new_2
                np.add(v, change, out=v)
            np.sqrt(v, out=change)
            change += epsilon
            np.divide(m, change, out=change)
            change *= rate
            np.subtract(w, change, out=w)
    return True


def _inner(variable: Any) -> Any:
    return getattr(variable, "__gradtape_variable__", variable)


def _writable(*variables: Any) -> bool:
    """Whether NumPy can write the variables' values: not if they are on another device, or are scalars."""
    arrays = [_inner(v).array for v in variables if getattr(v, "_layout", None) is None]
    kinds = (np.float32, np.float64)
    return len(arrays) == len(variables) and all(type(a) is np.ndarray and a.dtype.type in kinds for a in arrays)


def _fits(gradient: Any, variable: Any) -> bool:
    return isinstance(gradient, tf.Tensor) and gradient.shape == variable.shape


def _buffer(variable: Any) -> Array:
    """A Variable's memory, to be written to: a new piece of it if somebody holds the old one."""
    variable._before_write()
    if not variable._alone() or not variable.array.flags.c_contiguous:
        variable.array = np.array(variable.array, order="C")
    return variable.array


def _values(gradient: Any, variable: Any) -> Array:
    return np.asarray(gradient.array, dtype=variable.array.dtype)


def _blocks(*arrays: Array) -> Iterator[tuple[Array, ...]]:
    """Arrays of one shape in blocks, as views of the same elements of each."""
    flat = [array.reshape(-1) for array in arrays]
    if flat[0].size <= _BLOCK:
        yield tuple(flat)
        return
    for start in range(0, flat[0].size, _BLOCK):
        yield tuple(array[start : start + _BLOCK] for array in flat)


def _summed_rows(gradient: tf.IndexedSlices) -> tuple[Array, Array]:
    """The rows that a gradient names, each once, and what adds up in them."""
    values = gradient.values.array
    where, inverse = np.unique(gradient.indices.array, return_inverse=True)
    sums = np.zeros((len(where), *values.shape[1:]), values.dtype)
    combine_rows(np.add, sums, inverse.reshape(-1), values)
    return where, sums


@cache
def _rules() -> dict[Any, Rule]:
    from keras.src.optimizers.adam import Adam  # noqa: PLC0415 - Keras's optimizers are made from this package's base
    from keras.src.optimizers.sgd import SGD  # noqa: PLC0415

    return {SGD.update_step: _descend, Adam.update_step: _adapt}
