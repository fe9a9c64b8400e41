"""Random numbers on XLA: a generator with those methods of NumPy's generator that `tf.random` uses.

Its numbers depend only on its key words, through the cipher Threefry, so a compiled program can
compute them from words that it reads.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

import numpy as np

from gradtape.engines.xla.engine import namespace, to_xla
from gradtape.engines.xla.host import call_host
from gradtape.engines.xla.loading import load
from gradtape.engines.xla.meshes import axes_now
from gradtape.engines.xla.settings import wide

Shape = tuple[int, ...]


class XlaRandom:
    """The random numbers that belong to some 64-bit words: Python integers, or a program's scalars
    or pairs of uint32.

    As with NumPy's generators, every draw returns new numbers.
    """

    def __init__(self, words: Sequence[Any]) -> None:
        with wide():
            self._pair = _enciphered(words)
        self._draws = 0

    @property
    def state(self) -> tuple[Any, int]:
        """What determines its next draws: a pair of words, and the number of draws so far."""
        return self._pair, self._draws

    @classmethod
    def at(cls, pair: Any, draws: int) -> XlaRandom:
        """The generator with some state."""
        rng = cls.__new__(cls)
        rng._pair, rng._draws = pair, draws
        return rng

    def key(self) -> Any:
        """JAX's key for the next draw."""
        self._draws += 1
        return load().random.wrap_key_data(_hashed(self._pair, self._draws), impl="threefry2x32")

    def draw(self, sample: Callable[..., Any], shape: Shape, *params: Any) -> Any:
        """`sample(self, shape, *params)`; the methods below are for such functions, which may
        compute with 64-bit numbers.
        """
        with wide():
            return sample(self, shape, *params)

    def for_each(
        self, sample: Callable[..., Any], sizes: Shape, shape: Shape, values: Any, *, same: bool
    ) -> Any:
        """`sample(self, shape, own)` for every example of batches of these sizes,
        each with its `own` part of `values`.

        Before the axes of one example, `values` has one for each batch, of size 1 if all have the
        same. All examples draw the `same` numbers, or each its own.
        """
        own = values.shape[len(sizes) :]
        with wide():
            if not same:
                between = (1,) * (len(shape) - len(own))
                return sample(
                    self,
                    (*sizes, *shape),
                    values.reshape(*values.shape[: len(sizes)], *between, *own),
                )
            whole = namespace().broadcast_to(values, (*sizes, *own)).reshape(-1, *own)
            return (
                load().vmap(lambda value: sample(self, shape, value))(whole).reshape(*sizes, *shape)
            )

    def on_host(
        self, sample: Callable[[Any], Sequence[Any]], specs: Sequence[tuple[Shape, Any]]
    ) -> list[Any]:
        """What `sample(rng)` draws with a NumPy generator, for what XLA cannot draw; `specs` are
        its shapes and dtypes.
        """

        def drawn(words: Any) -> Sequence[Any]:
            key = np.array([*np.ascontiguousarray(words, np.uint32).view(np.uint64), 0], np.uint64)
            return sample(np.random.Generator(np.random.Philox(key=key)))

        with wide():
            return call_host(drawn, specs, [load().random.key_data(self.key())])

    def standard_normal(self, shape: Shape, dtype: Any) -> Any:
        return load().random.normal(self.key(), shape, dtype)

    def truncated_normal(self, shape: Shape, dtype: Any) -> Any:
        """Normal numbers within two standard deviations."""
        return load().random.truncated_normal(self.key(), -2.0, 2.0, shape, dtype)

    def random(self, shape: Shape, dtype: Any) -> Any:
        return load().random.uniform(self.key(), shape, dtype)

    def integers(
        self, low: Any, high: Any, shape: Shape, dtype: Any = np.int64, *, endpoint: bool = False
    ) -> Any:
        """Integers in [low, high); with `endpoint`, of the whole range of their dtype."""
        jax, dtype = load(), np.dtype(dtype)
        if not endpoint:
            return jax.random.randint(self.key(), shape, low, high, dtype)
        bits = jax.random.bits(self.key(), shape, np.dtype(f"u{dtype.itemsize}"))
        return jax.lax.bitcast_convert_type(bits, dtype)

    def standard_gamma(self, alpha: Any, shape: Shape) -> Any:
        return load().random.gamma(self.key(), to_xla(alpha), shape, alpha.dtype)

    def poisson(self, rates: Any, shape: Shape) -> Any:
        return load().random.poisson(self.key(), to_xla(rates), shape, np.int64)

    def binomial(self, trials: Any, chances: Any, shape: Shape) -> Any:
        return load().random.binomial(
            self.key(), to_xla(trials.astype(np.float64)), to_xla(chances), shape, np.float64
        )

    def permuted(self, values: Any, axis: int) -> Any:
        """Every row along `axis`, permuted independently."""
        return load().random.permutation(self.key(), to_xla(values), axis, independent=True)


def of_examples(words: Any, sample: Callable[..., Any], shape: Shape, values: Sequence[Any]) -> Any:
    """`sample(rng, shape, *own)` for every row of `words`, a key with the counter 0,
    and of each of `values`.
    """
    with wide():
        given = [to_xla(array) for array in (words, *values)]
        return load().vmap(
            lambda pair, *own: sample(XlaRandom([pair[0], pair[1], 0, 0]), shape, *own)
        )(*given)


def halves(word: int) -> Any:
    """A 64-bit integer as two of 32 bits, the lower one first: a program without 64-bit numbers
    runs without JAX's switch for them.
    """
    return np.array([word % (1 << 32), (word >> 32) % (1 << 32)], np.uint32)


def of_replica(word: int) -> Any:
    """A word of a counter, which is another one for each replica of what is being traced."""
    if not axes_now():
        return word
    with wide():
        lax, xp = load().lax, namespace()
        number = xp.zeros((), np.uint32)
        for axis, size in axes_now():
            number = number * size + lax.axis_index(axis).astype(np.uint32)
        return xp.stack([number * 2 + np.uint32(word), xp.zeros_like(number)])


def next_of(pair: Any) -> Any:
    """The successor of a number given as two of 32 bits."""
    with wide():
        low, high = to_xla(pair)
        after = low + np.uint32(1)
        return namespace().stack([after, high + (after == 0).astype(np.uint32)])


def moved_on(state: Any, steps: Any) -> Any:
    """Three 64-bit words; the first two are a 128-bit counter, which is advanced by `steps`."""
    with wide():
        low, high, key = to_xla(state).astype(np.uint64)
        after = low + namespace().asarray(steps, np.uint64)
        return (
            namespace().stack([after, high + (after < low).astype(np.uint64), key]).astype(np.int64)
        )


def _enciphered(words: Sequence[Any]) -> Any:
    """64-bit words hashed into one, as a pair of 32-bit words."""
    pair = _halves(words[0])
    for word in words[1:]:
        pair = _hashed(pair, word)
    # Without the barrier XLA would draw the numbers of known words while it compiles, one by one.
    return load().lax.optimization_barrier(pair)


def _hashed(pair: Any, word: Any) -> Any:
    return import_module("jax.extend.random").threefry_2x32((pair[0], pair[1]), _halves(word))


def _halves(word: Any) -> Any:
    """A 64-bit integer as two 32-bit words."""
    if isinstance(word, int):
        return namespace().asarray(halves(word))
    if word.ndim:
        return to_xla(word)
    return load().lax.bitcast_convert_type(to_xla(word).astype(np.int64), np.uint32)
