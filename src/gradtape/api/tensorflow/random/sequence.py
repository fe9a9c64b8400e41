"""Random numbers of `tf.random` that depend on a seed and on how many calls came before.

With `set_seed(s)`, the n-th call without a seed of its own always gives the same numbers, whatever
the shapes of the others; so does the n-th call of one function with one `seed`. Without any seed,
every call draws its key from the system.

A compiled program counts its draws separately from those of eager code. It reads the seed and the
count when it runs, from hidden Variables, so every run gives new numbers, and the same ones again
after `set_seed`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from threading import RLock
from typing import Any

import numpy as np

from gradtape import dtypes
from gradtape.api.tensorflow.arguments import DTypeLike, ShapeLike, TensorLike, as_int, as_shape
from gradtape.api.tensorflow.random import draws
from gradtape.blocks import block
from gradtape.convert import TENSORFLOW
from gradtape.core.tensor import Tensor
from gradtape.core.thread import IN_A_FUNCTION, here
from gradtape.core.unchanged import keepers
from gradtape.core.variable import Variable
from gradtape.core.xla.held_variable import HiddenState
from gradtape.core.xla.tensor import tensor_of
from gradtape.core.xla.trace import inside_a_program
from gradtape.engines.xla.random import halves, next_of, of_replica
from gradtape.ops.shaping import unstack
from gradtape.published import published

_Kind = tuple[str, int] | None
"""The function and the seed of calls that have one of their own, or None:
what is counted together.
"""


_WORDS = ("seed_words", 0)

_Drawn = tuple[tuple[int, int], tuple[int, int]]


class _Seeds:
    """The global seed, and how often each kind of call has drawn since it was set."""

    def __init__(self) -> None:
        self.lock = RLock()
        self.seed: int | None = None
        self.calls: dict[_Kind, int] = {}


class _SeedsOfPrograms:
    """The same for compiled programs, as states that they read and write.

    There are three words of 64 bits, in halves: a key of two, and the seed, or 0 if there is none.
    """

    def __init__(self) -> None:
        self._lock = RLock()
        self._words: HiddenState | None = None
        self._calls: dict[_Kind, HiddenState] = {}

    def _states(self, kind: _Kind) -> tuple[HiddenState, HiddenState]:
        with self._lock:
            if self._words is None:
                self._words = HiddenState(_words_of(_seeds.seed), "random_seed")
            if kind not in self._calls:
                self._calls[kind] = HiddenState(halves(0), "random_draws")
            return self._words, self._calls[kind]

    def source(self, kind: _Kind) -> draws.Source:
        """The numbers for one call in a program that is being traced."""
        words, calls = self._states(kind)
        first, second, seed = (word.array for word in unstack(words.tensor(), axis=0))
        number = calls.tensor().array
        calls.assign(tensor_of(next_of(number)), read_value=False)
        return (
            draws.source((first, second), (number, of_replica(0)))
            if kind is None
            else draws.source((seed, kind[1]), (number, of_replica(1)))
        )

    def drawn(self, kind: _Kind) -> _Drawn:
        """The key and the counter of the next call in a program, for one that runs op by op."""
        words, calls = self._states(kind)
        first, second, seed = map(_whole, words.array)
        number = _whole(calls.array)
        calls.assign(halves(number + 1), read_value=False)
        if kind is None:
            return (first, second), (number, 0)
        return (seed, kind[1]), (number, 1)

    def states(self) -> list[Variable]:
        with self._lock:
            return [*([] if self._words is None else [self._words]), *self._calls.values()]

    def reset(self, seed: int | None) -> None:
        """Begins again; in a program, whenever it comes by here."""
        if inside_a_program():
            self._states(None)
        with self._lock:
            states = [*self._calls.values()]
        for calls in states:
            calls.assign(halves(0), read_value=False)
        if self._words is not None:
            self._words.assign(_words_of(seed), read_value=False)


_seeds = _Seeds()
_seeds_of_programs = _SeedsOfPrograms()


def states_of_programs() -> list[Variable]:
    """The Variables that hold what programs have drawn so far."""
    return _seeds_of_programs.states()


def _words_of(seed: int | None) -> Any:
    first, second = _entropy() if seed is None else (seed, 0)
    return np.stack([halves(word) for word in (first, second, seed or 0)])


def _whole(word: Any) -> int:
    """The integer of which `halves` gives the halves."""
    low, high = np.asarray(word).tolist()
    return low + (high << 32)


def source(function: str, seed: Any) -> draws.Source:
    """The numbers for one call of a function."""
    own = None if seed is None else as_int(seed, f"{function}: seed")
    kind = None if own is None else (function, own)
    if inside_a_program():
        return _seeds_of_programs.source(kind)
    kept = here.state.draws
    draw = _seeds_of_programs.drawn if here.state.op_by_op == IN_A_FUNCTION else _drawn
    key, counter = draw(kind) if kept is None else kept.next(lambda: draw(kind))
    return draws.source(key, counter)


def _drawn(kind: _Kind) -> _Drawn:
    """The key and the counter of one call in eager code, which no other call has."""
    with _seeds.lock:
        known = _seeds.seed
        number = _seeds.calls[kind] = _seeds.calls.get(kind, -1) + 1
    if kind is None:
        return _entropy() if known is None else (known, 0), (number, 0)
    return (known or 0, kind[1]), (number, 1)


def seed_words(seed: Any, argument: str) -> tuple[int, int]:
    """Two words for what draws its own random numbers: the same ones for the same seeds.

    Without a seed of its own, it is the n-th to ask since `set_seed`, or gets words of its own.
    """
    with _seeds.lock:
        known = _seeds.seed
        if seed is not None:
            words = known or 0, as_int(seed, argument)
        elif known is None:
            words = _entropy()
        else:
            number = _seeds.calls[_WORDS] = _seeds.calls.get(_WORDS, -1) + 1
            words = known, (1 << 63) + number  # no seed that is given is as large
    first, second = (word % (1 << 64) for word in words)
    return first, second


@block
def counts_kept() -> Iterator[None]:
    """A block of eager code after which the next draws are those that would have come before it."""
    with _seeds.lock:
        before = dict(_seeds.calls)
    try:
        yield
    finally:
        with _seeds.lock:
            _seeds.calls = before


keepers.append(counts_kept)


def _entropy() -> tuple[int, int]:
    return int.from_bytes(os.urandom(8), "little"), int.from_bytes(os.urandom(8), "little")


def global_seed() -> int | None:
    """The seed that has been set, if one has."""
    return _seeds.seed


@published("random.set_seed")
def set_seed(seed: int) -> None:
    """Makes the random numbers that follow reproducible.

    >>> import gradtape as tf
    >>> tf.random.set_seed(1)
    >>> first = tf.random.normal([3])
    >>> tf.random.set_seed(1)
    >>> bool(tf.reduce_all(first == tf.random.normal([3])))
    True
    """
    value = None if seed is None else as_int(seed, "set_seed: seed")
    if not inside_a_program():
        with _seeds.lock:
            _seeds.seed = value
            _seeds.calls = {}
    _seeds_of_programs.reset(value)


@published("random.normal")
def normal(
    shape: ShapeLike,
    mean: TensorLike = 0.0,
    stddev: TensorLike = 1.0,
    dtype: DTypeLike = dtypes.float32,
    seed: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Numbers of the normal distribution; gradients flow to `mean` and `stddev`.

    >>> import gradtape as tf
    >>> tf.random.normal([2, 3], mean=5.0).shape
    TensorShape([2, 3])
    """
    return draws.normal(source("normal", seed), shape, mean, stddev, dtype, "normal")


@published("random.truncated_normal")
def truncated_normal(
    shape: ShapeLike,
    mean: TensorLike = 0.0,
    stddev: TensorLike = 1.0,
    dtype: DTypeLike = dtypes.float32,
    seed: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Numbers of the normal distribution, none further from `mean` than two deviations.

    >>> import gradtape as tf
    >>> bool(tf.reduce_all(tf.abs(tf.random.truncated_normal([1000])) <= 2.0))
    True
    """
    numbers = source("truncated_normal", seed)
    return draws.normal(
        numbers, shape, mean, stddev, dtype, "truncated_normal", draws.truncated_normals
    )


@published("random.uniform")
def uniform(
    shape: ShapeLike,
    minval: TensorLike = 0,
    maxval: TensorLike | None = None,
    dtype: DTypeLike = dtypes.float32,
    seed: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Numbers spread evenly over [minval, maxval); maxval is 1 for floats if it is not given,
    and needed for integers.

    >>> import gradtape as tf
    >>> dice = tf.random.uniform([100], minval=1, maxval=7, dtype=tf.int32)
    >>> int(tf.reduce_min(dice)) >= 1 and int(tf.reduce_max(dice)) <= 6
    True
    """
    wanted = dtypes.as_dtype(dtype)
    if not wanted.is_floating and wanted not in (dtypes.int32, dtypes.int64):
        raise ValueError(
            f"uniform: dtype must be a floating-point dtype, int32 or int64, got {wanted.name}."
        )
    if wanted.is_integer and (minval is None or maxval is None):
        raise ValueError(f"uniform: minval and maxval must be given for dtype {wanted.name}.")
    return draws.uniform(source("uniform", seed), shape, minval, maxval, wanted, "uniform")


@published("random.gamma")
def gamma(
    shape: ShapeLike,
    alpha: TensorLike,
    beta: TensorLike | None = None,
    dtype: DTypeLike = dtypes.float32,
    seed: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Numbers of the gamma distribution of shape `alpha` and rate `beta`:
    a block of `shape` for each of their elements.

    >>> import gradtape as tf
    >>> tf.random.gamma([10], alpha=[0.5, 1.5]).shape
    TensorShape([10, 2])
    """
    return draws.gamma(
        source("gamma", seed), as_shape(shape, "gamma: shape"), alpha, beta, dtype, "gamma"
    )


@published("random.poisson")
def poisson(
    shape: ShapeLike,
    lam: TensorLike,
    dtype: DTypeLike = dtypes.float32,
    seed: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Numbers of the Poisson distribution of mean `lam`:
    a block of `shape` for each of its elements.

    >>> import gradtape as tf
    >>> tf.random.poisson([10], lam=[0.5, 1.5]).shape
    TensorShape([10, 2])
    """
    rates = TENSORFLOW.tensor(lam, "poisson: lam").array
    return draws.poisson(
        source("poisson", seed),
        (*as_shape(shape, "poisson: shape"), *rates.shape),
        rates,
        dtype,
        "poisson",
    )


@published("random.categorical")
def categorical(
    logits: TensorLike,
    num_samples: int,
    dtype: DTypeLike = None,
    seed: int | None = None,
    name: str | None = None,
) -> Tensor:
    """For each row of `logits`, `num_samples` classes drawn with the probabilities
    `softmax(logits)`.

    >>> import gradtape as tf
    >>> tf.random.categorical([[-100.0, 100.0]], num_samples=3).numpy()
    array([[1, 1, 1]])
    """
    return draws.categories(source("categorical", seed), logits, num_samples, dtype, "categorical")


@published("random.shuffle")
def shuffle(value: TensorLike, seed: int | None = None, name: str | None = None) -> Tensor:
    """The rows of `value` in random order; a gradient goes back to where each row came from.

    >>> import gradtape as tf
    >>> sorted(tf.random.shuffle([1, 2, 3]).numpy().tolist())
    [1, 2, 3]
    """
    return draws.shuffled(source("shuffle", seed), value, "shuffle")
