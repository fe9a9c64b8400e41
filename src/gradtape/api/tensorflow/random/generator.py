"""`tf.random.Generator`: random numbers from a state that lives in a Variable.

A compiled program reads and advances the state when it runs, by as much as eager code would.
"""

from __future__ import annotations

import math
import os
from copy import deepcopy
from threading import RLock
from typing import Any

import numpy as np

from gradtape import dtypes, nest
from gradtape.api.tensorflow.arguments import (
    DTypeLike,
    ShapeLike,
    TensorLike,
    as_int,
    as_shape,
    integers,
)
from gradtape.api.tensorflow.random import draws
from gradtape.api.tensorflow.random.stateless import Algorithm, as_algorithm, uniform_from
from gradtape.convert import as_indices, as_tensor
from gradtape.core.batching import BatchedTensor
from gradtape.core.replicas import replica_context
from gradtape.core.tensor import Tensor
from gradtape.core.variable import Variable
from gradtape.core.xla.tensor import is_traced, tensor_of
from gradtape.core.xla.trace import inside_a_program, outside_programs
from gradtape.engines.xla import engine as xla_engine
from gradtape.engines.xla import settings as xla_settings
from gradtape.engines.xla.random import moved_on, of_replica
from gradtape.ops.broadcasting import cast
from gradtape.ops.selection import zeros_like
from gradtape.ops.shaping import getitem, stack, unstack
from gradtape.published import published

_STEPS_PER_NUMBER = 256


@published("random.Generator", "random.experimental.Generator")
class Generator:
    """Random numbers from a state of three integers: two of a counter,
    which every draw moves on, and a key.

    >>> import gradtape as tf
    >>> g = tf.random.Generator.from_seed(1)
    >>> first = g.normal([2])
    >>> g.reset_from_seed(1)
    >>> bool(tf.reduce_all(first == g.normal([2])))
    True
    """

    def __init__(
        self, copy_from: Generator | None = None, state: Any = None, alg: Any = None
    ) -> None:
        if copy_from is not None:
            if state is not None or alg is not None:
                raise ValueError("Generator: give copy_from, or state and alg, but not both.")
            state, alg = copy_from.state, copy_from.algorithm
        if state is None or alg is None:
            raise ValueError("Generator: give state and alg, or use Generator.from_seed(seed).")
        as_algorithm(alg, "Generator")
        self._lock = RLock()
        self._state = Variable(_state(state), trainable=False, dtype=dtypes.int64, name="StateVar")

    @classmethod
    def from_seed(cls, seed: Any, alg: Any = None) -> Generator:
        """A generator whose numbers depend on `seed` alone.

        >>> import gradtape as tf
        >>> tf.random.Generator.from_seed(5).state.numpy()
        array([5, 0, 0])
        """
        return cls(
            state=create_rng_state(seed, alg or Algorithm.PHILOX), alg=alg or Algorithm.PHILOX
        )

    @classmethod
    def from_state(cls, state: Any, alg: Any) -> Generator:
        """A generator that goes on from a saved state.

        >>> import gradtape as tf
        >>> tf.random.Generator.from_state([1, 2, 3], alg="philox").state.numpy()
        array([1, 2, 3])
        """
        return cls(state=state, alg=alg)

    @classmethod
    def from_key_counter(cls, key: Any, counter: Any, alg: Any) -> Generator:
        """A generator from a key and a counter of two integers.

        >>> import gradtape as tf
        >>> tf.random.Generator.from_key_counter(3, [1, 2], alg="philox").state.numpy()
        array([1, 2, 3])
        """
        return cls(
            state=[
                *integers(counter, "from_key_counter: counter"),
                as_int(key, "from_key_counter: key"),
            ],
            alg=alg,
        )

    @classmethod
    def from_non_deterministic_state(cls, alg: Any = None) -> Generator:
        """A generator with other numbers in each process.

        >>> import gradtape as tf
        >>> tf.random.Generator.from_non_deterministic_state().state.shape
        TensorShape([3])
        """
        return cls(state=np.frombuffer(os.urandom(24), np.int64), alg=alg or Algorithm.PHILOX)

    @property
    def state(self) -> Variable:
        return self._state

    @property
    def algorithm(self) -> int:
        return Algorithm.PHILOX.value

    @property
    def key(self) -> Tensor:
        return getitem(self._state.tensor(), key=(2,))

    def reset(self, state: Any) -> None:
        """Goes on from another state.

        >>> import gradtape as tf
        >>> g = tf.random.Generator.from_seed(1)
        >>> g.reset([4, 5, 6])
        >>> g.state.numpy()
        array([4, 5, 6])
        """
        with self._lock:
            self._state.assign(_state(state))

    def reset_from_seed(self, seed: Any) -> None:
        self.reset(create_rng_state(seed, Algorithm.PHILOX))

    def reset_from_key_counter(self, key: Any, counter: Any) -> None:
        self.reset(
            [
                *integers(counter, "reset_from_key_counter: counter"),
                as_int(key, "reset_from_key_counter: key"),
            ]
        )

    def skip(self, delta: int) -> Tensor:
        """Moves on as if `delta` numbers had been drawn, and gives the state from before.

        >>> import gradtape as tf
        >>> tf.random.Generator.from_seed(1).skip(3).numpy()
        array([1, 0, 0])
        """
        if inside_a_program():
            return self._advance_program(as_indices(delta, "skip: delta").array)
        return Tensor(np.array(self._advance(as_int(delta, "skip: delta")), np.int64))

    def _advance_program(self, numbers: Any) -> Tensor:
        """The same in a program that is being traced, as a vector of three integers."""
        before = self._state.tensor()
        if isinstance(before, BatchedTensor):
            raise ValueError(
                "Generator: it cannot draw in a loop inside vmap, where each example would "
                "advance its state separately: draw outside the loop."
            )
        with xla_settings.wide():
            steps = xla_engine.to_xla(numbers).astype(np.int64) * _STEPS_PER_NUMBER
        self._state.assign(tensor_of(moved_on(before.array, steps)), read_value=False)
        return before

    def _advance(self, numbers: int) -> list[int]:
        """The state before `numbers` draws; the counter, of 128 bits, moves on."""
        with self._lock:
            before: list[int] = self._state.array.tolist()
            low, high = (word % (1 << 64) for word in before[:2])
            counter = (low + (high << 64) + numbers * _STEPS_PER_NUMBER) % (1 << 128)
            words = np.array([counter % (1 << 64), counter >> 64], np.uint64).view(np.int64)
            self._state.assign(np.array([*words, before[2]], np.int64))
        return before

    def _source(self, shape: Any) -> draws.Source:
        """The numbers for a draw of this shape; each replica of a strategy draws its own."""
        numbers = max(1, math.prod(as_shape(shape)))
        kind: Any = 1
        if inside_a_program():
            low, high, key = (
                word.array for word in unstack(self._advance_program(np.int64(numbers)), axis=0)
            )
            kind = of_replica(kind)
        else:
            low, high, key = self._advance(numbers)
            if (replica := replica_context()) is not None:
                kind += 2 * replica.replica_id_in_sync_group
        return draws.source((key, kind), (low, high))

    def normal(
        self,
        shape: ShapeLike,
        mean: TensorLike = 0.0,
        stddev: TensorLike = 1.0,
        dtype: DTypeLike = dtypes.float32,
        name: str | None = None,
    ) -> Tensor:
        """Numbers of the normal distribution.

        >>> import gradtape as tf
        >>> tf.random.Generator.from_seed(1).normal([2, 3]).shape
        TensorShape([2, 3])
        """
        return draws.normal(self._source(shape), shape, mean, stddev, dtype, "normal")

    def truncated_normal(
        self,
        shape: ShapeLike,
        mean: TensorLike = 0.0,
        stddev: TensorLike = 1.0,
        dtype: DTypeLike = dtypes.float32,
        name: str | None = None,
    ) -> Tensor:
        """Numbers of the normal distribution within two deviations of `mean`.

        >>> import gradtape as tf
        >>> tf.random.Generator.from_seed(1).truncated_normal([2]).shape
        TensorShape([2])
        """
        numbers = self._source(shape)
        return draws.normal(
            numbers, shape, mean, stddev, dtype, "truncated_normal", draws.truncated_normals
        )

    def uniform(
        self,
        shape: ShapeLike,
        minval: TensorLike | None = 0,
        maxval: TensorLike | None = None,
        dtype: DTypeLike = dtypes.float32,
        name: str | None = None,
    ) -> Tensor:
        """Numbers spread evenly over [minval, maxval).

        >>> import gradtape as tf
        >>> tf.random.Generator.from_seed(1).uniform([2], maxval=10, dtype=tf.int32).dtype
        tf.int32
        """
        return uniform_from(self._source(shape), shape, minval, maxval, dtype, "uniform")

    def uniform_full_int(
        self, shape: ShapeLike, dtype: DTypeLike = dtypes.uint64, name: str | None = None
    ) -> Tensor:
        """Integers from the whole range of their dtype.

        >>> import gradtape as tf
        >>> tf.random.Generator.from_seed(1).uniform_full_int([2]).dtype
        tf.uint64
        """
        wanted = dtypes.as_dtype(dtype)
        if not wanted.is_integer:
            raise ValueError(
                f"uniform_full_int: dtype must be an integer dtype, got {wanted.name}."
            )
        return self.uniform(shape, None, None, wanted)

    def binomial(
        self,
        shape: ShapeLike,
        counts: TensorLike,
        probs: TensorLike,
        dtype: DTypeLike = dtypes.int32,
        name: str | None = None,
    ) -> Tensor:
        """How many of `counts` trials succeed with probability `probs`;
        `shape` ends with the shape of both.

        >>> import gradtape as tf
        >>> tf.random.Generator.from_seed(1).binomial([3], counts=10.0, probs=1.0).numpy()
        array([10, 10, 10], dtype=int32)
        """
        return draws.binomial(self._source(shape), shape, counts, probs, dtype, "binomial")

    def make_seeds(self, count: int = 1) -> Tensor:
        """Seeds for the stateless functions, as the columns of a matrix of two rows.

        >>> import gradtape as tf
        >>> tf.random.Generator.from_seed(1).make_seeds(3).shape
        TensorShape([2, 3])
        """
        number = as_int(count, "make_seeds: count")
        drawn = self._source([number]).tensor(draws.full_integers, (number,), np.dtype(np.int64))
        return stack(drawn, zeros_like(drawn), axis=0)

    def split(self, count: int = 1) -> list[Generator]:
        """`count` generators that are independent of each other and of this one.

        >>> import gradtape as tf
        >>> len(tf.random.Generator.from_seed(1).split(2))
        2
        """
        keys = unstack(getitem(self.make_seeds(count), key=(0,)), axis=0)
        return [Generator(state=[0, 0, key], alg=Algorithm.PHILOX) for key in keys]

    def __copy__(self) -> Generator:
        return deepcopy(self)  # two that move one state on would need one lock

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_lock"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, _lock=RLock())


def _state(state: Any) -> Any:
    """Three words, from a list, a tensor or a Variable; those of a program as they are."""
    found = (
        as_tensor(state, argument="Generator: state")
        if any(is_traced(leaf) for leaf in nest.flatten(state))
        else None
    )
    if found is not None and found.array.shape == (3,):
        return cast(found, dtype=np.dtype(np.int64))
    words = integers(state, "Generator: state")
    if len(words) != 3:
        raise ValueError(
            "Generator: state must be three integers, a counter of two words and a key, got "
            f"{list(words)}."
        )
    return _as_int64(words)


def _as_int64(words: Any) -> Any:
    return np.array([word % (1 << 64) for word in words], np.uint64).view(np.int64)


@published("random.create_rng_state", "random.experimental.create_rng_state")
def create_rng_state(seed: Any, alg: Any) -> Tensor:
    """The state of a `Generator` for a seed of up to three integers.

    >>> import gradtape as tf
    >>> tf.random.create_rng_state(1, alg="philox").numpy()
    array([1, 0, 0])
    """
    as_algorithm(alg, "create_rng_state")
    words = integers(seed, "create_rng_state: seed")
    if len(words) > 3:
        raise ValueError(
            f"create_rng_state: seed must be at most three integers, got {list(words)}."
        )
    return Tensor(_as_int64((*words, 0, 0)[:3]))


_global_lock = RLock()
_global: Generator | None = None


@published("random.get_global_generator", "random.experimental.get_global_generator")
def get_global_generator() -> Generator:
    """The generator that code shares; it begins in a state that differs in each process.

    >>> import gradtape as tf
    >>> tf.random.set_global_generator(tf.random.Generator.from_seed(1))
    >>> tf.random.get_global_generator().state.numpy()
    array([1, 0, 0])
    """
    global _global
    with _global_lock:
        if _global is None:
            with outside_programs():
                _global = Generator.from_non_deterministic_state()
        return _global


@published("random.set_global_generator", "random.experimental.set_global_generator")
def set_global_generator(generator: Generator) -> None:
    """Replaces the generator that `get_global_generator` gives.

    >>> import gradtape as tf
    >>> g = tf.random.Generator.from_seed(1)
    >>> tf.random.set_global_generator(g)
    >>> tf.random.get_global_generator() is g
    True
    """
    global _global
    with _global_lock:
        _global = generator
