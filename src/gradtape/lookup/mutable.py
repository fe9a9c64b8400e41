"""Tables whose entries can be changed: `MutableHashTable` and `DenseHashTable`.

A compiled program cannot change a Python dict, so a function that uses one runs op by op.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gradtape import dtypes
from gradtape.api.tensorflow.arguments import known
from gradtape.convert import as_tensor
from gradtape.core.tensor import Tensor
from gradtape.core.xla.beyond import BeyondXlaError
from gradtape.core.xla.trace import inside_a_program
from gradtape.errors import invalid_argument
from gradtape.lookup.keys import check_key_dtype, listed, of_flat
from gradtape.published import published

_WHY = "the table is not part of a compiled program"


@published("lookup.experimental.MutableHashTable")
class MutableHashTable:
    """A table to which entries can be added; its values may be vectors.

    >>> import gradtape as tf
    >>> table = tf.lookup.experimental.MutableHashTable(tf.string, tf.int64, default_value=-1)
    >>> table.insert(["a", "b"], [1, 2])
    >>> table.lookup(tf.constant(["b", "c"])).numpy()
    array([ 2, -1])
    """

    def __init__(
        self,
        key_dtype: Any,
        value_dtype: Any,
        default_value: Any,
        name: str = "MutableHashTable",
        checkpoint: bool = True,
        experimental_is_anonymous: bool = False,
    ) -> None:
        self._key_dtype, self._value_dtype = (
            dtypes.as_dtype(key_dtype),
            dtypes.as_dtype(value_dtype),
        )
        check_key_dtype(self._key_dtype, type(self).__name__)
        self._default = as_tensor(default_value, self._value_dtype, argument="default_value")
        if self._default.ndim > 1:
            raise ValueError(
                f"{type(self).__name__}: default_value must be a scalar or a vector, got shape "
                f"{self._default.shape}."
            )
        self._name = name
        self._entries: dict[Any, Any] = {}

    @property
    def key_dtype(self) -> dtypes.DType:
        return self._key_dtype

    @property
    def value_dtype(self) -> dtypes.DType:
        return self._value_dtype

    @property
    def name(self) -> str:
        return self._name

    def insert(self, keys: Any, values: Any, name: str | None = None) -> None:
        """Adds entries, in place of others with the same keys."""
        found = self._keys(keys, "insert")
        given = as_tensor(values, self._value_dtype, argument="insert: values")
        rows = known(given, "insert: values", why=_WHY)
        wanted = (*found.shape, *self._default.array.shape)
        if rows.shape != wanted:
            raise invalid_argument(
                f"insert: values must have the shape {wanted} for keys of shape {found.shape}, got "
                f"{rows.shape}."
            )
        flat = rows.reshape(found.size, *self._default.array.shape)
        self._entries.update(zip(listed(found), list(flat), strict=True))

    def remove(self, keys: Any, name: str | None = None) -> None:
        """Removes entries; keys that are not there are ignored."""
        for key in listed(self._keys(keys, "remove")):
            self._entries.pop(key, None)

    def lookup(self, keys: Any, dynamic_default_values: Any = None, name: str | None = None) -> Any:
        """The values of keys; of those that are not there, the default, or for each key one of
        `dynamic_default_values`.
        """
        _refuse_programs()
        default = known(self._default, "default_value", "use a constant")

        def find(wanted: Tensor) -> Tensor:
            array = self._keys(wanted, "lookup")
            shape = (*array.shape, *default.shape)
            if dynamic_default_values is None:
                defaults = np.broadcast_to(default, shape)
            else:
                given = as_tensor(dynamic_default_values, self._value_dtype)
                defaults = known(given, "dynamic_default_values", why=_WHY)
                if defaults.shape != shape:
                    raise invalid_argument(
                        f"lookup: dynamic_default_values must have the shape {shape}, got "
                        f"{defaults.shape}."
                    )
            rows = defaults.reshape(array.size, *default.shape)
            found = np.empty(rows.shape, self._value_dtype.numpy)
            for i, key in enumerate(listed(array)):
                found[i] = self._entries.get(key, rows[i])
            return Tensor(found.reshape(shape)[()])

        return of_flat(keys, self._key_dtype, find)

    def __getitem__(self, keys: Any) -> Any:
        return self.lookup(keys)

    def size(self, name: str | None = None) -> Tensor:
        """How many keys there are."""
        _refuse_programs()
        return Tensor(np.int64(len(self._entries)))

    def export(self, name: str | None = None) -> tuple[Tensor, Tensor]:
        """All keys, and all values."""
        _refuse_programs()
        keys = np.empty(len(self._entries), self._key_dtype.numpy)
        values = np.empty((len(keys), *self._default.array.shape), self._value_dtype.numpy)
        for i, (key, value) in enumerate(self._entries.items()):
            keys[i], values[i] = key, value
        return Tensor(keys), Tensor(values)

    def _keys(self, keys: Any, function: str) -> Any:
        _refuse_programs()
        plain = isinstance(keys, (str, bytes, int, list, tuple))
        given = as_tensor(keys, self._key_dtype if plain else None, argument=f"{function}: keys")
        if given.dtype != self._key_dtype:
            raise TypeError(
                f"{function}: keys must have the dtype {self._key_dtype.name} of the table's keys, "
                f"got {given.dtype.name}."
            )
        return known(given, f"{function}: keys", why=_WHY)


def _refuse_programs() -> None:
    if inside_a_program():
        raise BeyondXlaError(
            "A compiled program cannot use a table whose entries change: call it outside the "
            "function."
        )


@published("lookup.experimental.DenseHashTable")
class DenseHashTable(MutableHashTable):
    """A table to which entries can be added, with two keys that it keeps for itself; in TensorFlow
    it is faster than MutableHashTable, here it is the same.

    >>> import gradtape as tf
    >>> table = tf.lookup.experimental.DenseHashTable(
    ...     tf.string, tf.int64, default_value=-1, empty_key="$", deleted_key="#"
    ... )
    >>> table.insert(["a"], [1])
    >>> table["a"].numpy()
    np.int64(1)
    """

    def __init__(
        self,
        key_dtype: Any,
        value_dtype: Any,
        default_value: Any,
        empty_key: Any,
        deleted_key: Any,
        initial_num_buckets: int | None = None,
        name: str = "MutableDenseHashTable",
        checkpoint: bool = True,
        experimental_is_anonymous: bool = False,
    ) -> None:
        super().__init__(key_dtype, value_dtype, default_value, name, checkpoint)
        self._own = {
            argument: as_tensor(key, self._key_dtype, argument=argument).array.item()
            for argument, key in (("empty_key", empty_key), ("deleted_key", deleted_key))
        }
        if len(set(self._own.values())) < 2:
            raise invalid_argument("DenseHashTable: empty_key and deleted_key must be different.")

    def erase(self, keys: Any, name: str | None = None) -> None:
        """Removes entries; keys that are not there are ignored."""
        self.remove(keys)

    def _keys(self, keys: Any, function: str) -> Any:
        found = super()._keys(keys, function)
        given = listed(found)
        for argument, key in self._own.items():
            if key in given:
                raise invalid_argument(
                    f"{function}: {key!r} is the {argument} of this table, and cannot be a key."
                )
        return found
