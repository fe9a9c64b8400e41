"""Tables that are filled once: `StaticHashTable`, and `StaticVocabularyTable`, which has buckets
for words that are not in it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gradtape import dtypes
from gradtape.api.tensorflow.arguments import as_int, known
from gradtape.api.tensorflow.counting import searchsorted
from gradtape.api.tensorflow.creation import cast
from gradtape.api.tensorflow.indexing import gather, where
from gradtape.api.tensorflow.shaping import reshape
from gradtape.convert import as_tensor
from gradtape.core.tensor import Tensor
from gradtape.core.xla.tensor import is_traced
from gradtape.errors import FailedPreconditionError
from gradtape.lookup.keys import check_key_dtype, listed, of_flat
from gradtape.published import published
from gradtape.strings.buckets import to_hash_bucket_fast
from gradtape.strings.joining import as_string


@published("lookup.StaticHashTable")
class StaticHashTable:
    """A table that gives the value of each key, and `default_value` for a key that is not in it.

    In a `function`, a table of integers and numbers is compiled; strings are constants there.

    >>> import gradtape as tf
    >>> entries = tf.lookup.KeyValueTensorInitializer(["emerson", "lake"], [0, 1])
    >>> table = tf.lookup.StaticHashTable(entries, default_value=-1)
    >>> table.lookup(tf.constant([["lake", "palmer"]])).numpy()
    array([[ 1, -1]], dtype=int32)
    """

    def __init__(
        self,
        initializer: Any,
        default_value: Any,
        name: str | None = None,
        experimental_is_anonymous: bool = False,
    ) -> None:
        if not hasattr(initializer, "initialize"):
            raise TypeError(
                "StaticHashTable: initializer must be a KeyValueTensorInitializer or a "
                f"TextFileInitializer, got {type(initializer).__name__}."
            )
        self._key_dtype = dtypes.as_dtype(initializer.key_dtype)
        self._value_dtype = dtypes.as_dtype(initializer.value_dtype)
        check_key_dtype(self._key_dtype, "StaticHashTable")
        self._default = as_tensor(
            default_value, self._value_dtype, argument="StaticHashTable: default_value"
        )
        if self._default.ndim:
            raise ValueError(
                f"StaticHashTable: default_value must be a scalar, got {self._default.shape}."
            )
        self._name = name
        self._places: dict[Any, int] = {}
        self._values: Any = np.empty(0, self._value_dtype.numpy)
        self._filled = False
        initializer.initialize(self)

    def fill(self, keys: Any, values: Any) -> None:
        """What an initializer calls: sets all entries."""
        self._places = {}
        self._values = _without_repetitions(listed(keys), values, self._places)
        self._filled = True

    @property
    def key_dtype(self) -> dtypes.DType:
        return self._key_dtype

    @property
    def value_dtype(self) -> dtypes.DType:
        return self._value_dtype

    @property
    def default_value(self) -> Tensor:
        return self._default

    @property
    def name(self) -> str | None:
        return self._name

    def lookup(self, keys: Any, name: str | None = None) -> Any:
        """The values of keys, in a tensor of the same shape or in the same rows."""
        if not self._filled:
            raise FailedPreconditionError(
                None,
                None,
                "lookup: the table has not been filled by its initializer. Of a Keras layer, call "
                "adapt() or set_vocabulary() first, or give it a vocabulary.",
            )
        return of_flat(keys, self._key_dtype, self._find)

    def __getitem__(self, keys: Any) -> Any:
        return self.lookup(keys)

    def _find(self, keys: Tensor) -> Tensor:
        if is_traced(keys):
            return self._traced(keys)
        missing = len(self._values)
        places = [self._places.get(key, missing) for key in listed(keys.array)]
        default = known(self._default, "default_value", "use a constant").reshape(1)
        both = np.concatenate([self._values, default])
        return Tensor(both[places].reshape(keys.array.shape)[()] if places else _empty(keys, both))

    def _traced(self, keys: Tensor) -> Tensor:
        """In a program: keys are integers, found among the sorted ones."""
        if not self._places:
            return keys * 0 + self._default
        known_keys = np.array(list(self._places), self._key_dtype.numpy)
        order = np.argsort(known_keys)
        flat = reshape(keys, (int(np.prod(keys.array.shape)),))
        place = searchsorted(known_keys[order], flat)
        inside = where(place < len(order), place, 0)
        is_there = gather(known_keys[order], inside) == flat
        found = where(is_there, gather(self._values[order], inside), self._default)
        return reshape(found, tuple(keys.array.shape))

    def size(self, name: str | None = None) -> Tensor:
        """How many keys there are."""
        return Tensor(np.int64(len(self._places)))

    def export(self, name: str | None = None) -> tuple[Tensor, Tensor]:
        """All keys, and all values."""
        keys = np.empty(len(self._places), self._key_dtype.numpy)
        keys[:] = list(self._places)
        return Tensor(keys), Tensor(self._values.copy())

    def __repr__(self) -> str:
        return (
            f"<tf.lookup.StaticHashTable: {len(self._places)} keys of {self._key_dtype.name}, "
            f"values of {self._value_dtype.name}>"
        )


def _empty(keys: Tensor, values: Any) -> Any:
    return np.empty(keys.array.shape, values.dtype)


def _without_repetitions(keys: list[Any], values: Any, places: dict[Any, int]) -> Any:
    """Notes where each key's value stands, and gives the values; a key may come again with the same
    value only.
    """
    kept: list[int] = []
    for i, key in enumerate(keys):
        before = places.setdefault(key, len(kept))
        if before == len(kept):
            kept.append(i)
        elif values[kept[before]] != values[i]:
            raise FailedPreconditionError(
                None,
                None,
                f"StaticHashTable: the key {key!r} has the values {values[kept[before]]!r} and "
                f"{values[i]!r}.",
            )
    return values[kept]


@published("lookup.StaticVocabularyTable")
class StaticVocabularyTable:
    """A table of numbers for words, with `num_oov_buckets` more numbers for words that are not in
    it: which one, a hash says.

    >>> import gradtape as tf
    >>> words = tf.lookup.KeyValueTensorInitializer(
    ...     ["a", "b"], tf.constant([0, 1], tf.int64)
    ... )
    >>> table = tf.lookup.StaticVocabularyTable(words, num_oov_buckets=3)
    >>> table.lookup(tf.constant(["b", "c", "d"])).numpy()
    array([1, 3, 4])
    """

    def __init__(
        self,
        initializer: Any,
        num_oov_buckets: int,
        lookup_key_dtype: Any = None,
        name: str | None = None,
        experimental_is_anonymous: bool = False,
    ) -> None:
        self._buckets = as_int(num_oov_buckets, "StaticVocabularyTable: num_oov_buckets")
        if self._buckets < 1:
            raise ValueError(
                "StaticVocabularyTable: num_oov_buckets must be at least 1, got "
                f"{self._buckets}; without buckets, use StaticHashTable."
            )
        given = None if lookup_key_dtype is None else dtypes.as_dtype(lookup_key_dtype)
        if initializer is None:
            self._table, self._key_dtype = None, given or dtypes.string
        else:
            if initializer.value_dtype != dtypes.int64:
                raise TypeError(
                    "StaticVocabularyTable: the values must be int64, got "
                    f"{initializer.value_dtype.name}."
                )
            self._table = StaticHashTable(initializer, -1)
            self._key_dtype = given or initializer.key_dtype
        self._name = name
        check_key_dtype(self._key_dtype, "StaticVocabularyTable")

    @property
    def key_dtype(self) -> dtypes.DType:
        return self._key_dtype

    @property
    def value_dtype(self) -> dtypes.DType:
        return dtypes.int64

    @property
    def name(self) -> str | None:
        return self._name

    def lookup(self, keys: Any, name: str | None = None) -> Any:
        """The numbers of words, in a tensor of the same shape or in the same rows."""
        return of_flat(keys, self._key_dtype, self._find)

    def __getitem__(self, keys: Any) -> Any:
        return self.lookup(keys)

    def _find(self, keys: Tensor) -> Any:
        words = keys if keys.dtype == dtypes.string else as_string(keys)
        buckets = to_hash_bucket_fast(words, self._buckets)
        if self._table is None:
            return buckets
        inside = self._table.lookup(cast(keys, self._table.key_dtype))
        return where(inside < 0, buckets + self._table.size(), inside)

    def size(self, name: str | None = None) -> Tensor:
        """How many numbers there are: of the words in the table, and of buckets."""
        inside = 0 if self._table is None else int(self._table.size())
        return Tensor(np.int64(inside + self._buckets))
