"""`TensorShape` and `TensorSpec`: what is known about a tensor's shape, and about its shape and
dtype.

Everything may use this module.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, overload

from gradtape import dtypes
from gradtape.published import published


@published("TensorShape")
class TensorShape:
    """The sizes of a tensor's dimensions; a size may be None (unknown), and so may the rank.

    >>> import gradtape as tf
    >>> shape = tf.zeros([2, 3]).shape
    >>> shape, shape.rank, shape.as_list(), shape == (2, 3)
    (TensorShape([2, 3]), 2, [2, 3], True)
    """

    __slots__ = ("_dims",)

    def __init__(self, dims: Any) -> None:
        self._dims: tuple[int | None, ...] | None
        if dims is None:
            self._dims = None
        elif isinstance(dims, TensorShape):
            self._dims = dims._dims
        elif isinstance(dims, Iterable):
            self._dims = tuple(_size(d) for d in dims)
        else:
            self._dims = (_size(dims),)

    @property
    def rank(self) -> int | None:
        return None if self._dims is None else len(self._dims)

    @property
    def ndims(self) -> int | None:
        return self.rank

    @property
    def dims(self) -> list[int | None] | None:
        return None if self._dims is None else list(self._dims)

    def as_list(self) -> list[int | None]:
        return list(self._known_rank("as_list()"))

    def num_elements(self) -> int | None:
        """How many elements there are, or None if that is not known."""
        if not self.is_fully_defined():
            return None
        count = 1
        for size in self._dims or ():
            count *= size or 0
        return count

    def is_fully_defined(self) -> bool:
        return self._dims is not None and None not in self._dims

    def assert_is_fully_defined(self) -> None:
        if not self.is_fully_defined():
            raise ValueError(f"{self} is not fully defined.")

    def is_compatible_with(self, other: Any) -> bool:
        """Whether some shape fits both: equal ranks, and equal sizes where both are known."""
        other = TensorShape(other)
        if self._dims is None or other._dims is None:
            return True
        if len(self._dims) != len(other._dims):
            return False
        return all(
            a is None or b is None or a == b for a, b in zip(self._dims, other._dims, strict=True)
        )

    def assert_is_compatible_with(self, other: Any) -> None:
        if not self.is_compatible_with(other):
            raise ValueError(f"Shapes {self} and {TensorShape(other)} are incompatible.")

    def is_subtype_of(self, other: Any) -> bool:
        """Whether every tensor of this shape is one of the other shape, too.

        >>> import gradtape as tf
        >>> (
        ...     tf.TensorShape([2, 3]).is_subtype_of(tf.TensorShape([None, 3])),
        ...     tf.TensorShape([None]).is_subtype_of(tf.TensorShape([2])),
        ... )
        (True, False)
        """
        if not isinstance(other, TensorShape):
            return False
        if other._dims is None:
            return True
        if self._dims is None or len(self._dims) != len(other._dims):
            return False
        return all(
            wanted is None or size == wanted
            for size, wanted in zip(self._dims, other._dims, strict=True)
        )

    def most_specific_common_supertype(self, others: Sequence[Any]) -> TensorShape | None:
        """The shape of everything that has this shape or one of `others`;
        None if one of them is no TensorShape.

        >>> import gradtape as tf
        >>> tf.TensorShape([2, 3]).most_specific_common_supertype([tf.TensorShape([2, 4])])
        TensorShape([2, None])
        """
        if not all(isinstance(other, TensorShape) for other in others):
            return None
        found = self
        for other in others:
            found = found.most_specific_compatible_shape(other)
        return found

    def most_specific_compatible_shape(self, other: Any) -> TensorShape:
        """This shape, with None for the sizes in which the other one differs;
        unknown if their ranks do.

        >>> import gradtape as tf
        >>> tf.TensorShape([2, 3]).most_specific_compatible_shape([5, 3])
        TensorShape([None, 3])
        """
        other = TensorShape(other)
        if self._dims is None or other._dims is None or len(self._dims) != len(other._dims):
            return TensorShape(None)
        return TensorShape(
            [a if a == b else None for a, b in zip(self._dims, other._dims, strict=True)]
        )

    def merge_with(self, other: Any) -> TensorShape:
        """What is known from both shapes together."""
        other = TensorShape(other)
        self.assert_is_compatible_with(other)
        if self._dims is None:
            return other
        if other._dims is None:
            return self
        return TensorShape(
            [b if a is None else a for a, b in zip(self._dims, other._dims, strict=True)]
        )

    def concatenate(self, other: Any) -> TensorShape:
        other = TensorShape(other)
        if self._dims is None or other._dims is None:
            return TensorShape(None)
        return TensorShape(self._dims + other._dims)

    def with_rank(self, rank: int) -> TensorShape:
        """This shape if its rank is `rank`; all unknown sizes if the rank is not known."""
        if self._dims is None:
            return TensorShape([None] * rank)
        if len(self._dims) != rank:
            raise ValueError(f"Shape {self} must have rank {rank}.")
        return self

    def with_rank_at_least(self, rank: int) -> TensorShape:
        """This shape, if its rank is `rank` or more, or not known.

        >>> import gradtape as tf
        >>> tf.TensorShape([2, 3]).with_rank_at_least(1)
        TensorShape([2, 3])
        """
        if self._dims is not None and len(self._dims) < rank:
            raise ValueError(f"Shape {self} must have rank at least {rank}.")
        return self

    def with_rank_at_most(self, rank: int) -> TensorShape:
        """This shape, if its rank is `rank` or less, or not known.

        >>> import gradtape as tf
        >>> tf.TensorShape([2, 3]).with_rank_at_most(2)
        TensorShape([2, 3])
        """
        if self._dims is not None and len(self._dims) > rank:
            raise ValueError(f"Shape {self} must have rank at most {rank}.")
        return self

    def assert_same_rank(self, other: Any) -> None:
        """Raises a ValueError if both ranks are known and differ."""
        other = TensorShape(other)
        if None not in (self.rank, other.rank) and self.rank != other.rank:
            raise ValueError(f"Shapes {self} and {other} must have the same rank.")

    def assert_has_rank(self, rank: int) -> None:
        if self.rank not in (None, rank):
            raise ValueError(f"Shape {self} must have rank {rank}.")

    def _known_rank(self, what: str) -> tuple[int | None, ...]:
        if self._dims is None:
            raise ValueError(f"{what} is not defined for a TensorShape of unknown rank.")
        return self._dims

    def __len__(self) -> int:
        return len(self._known_rank("len()"))

    def __iter__(self) -> Iterator[Any]:
        return iter(self._known_rank("iteration"))

    def __bool__(self) -> bool:
        return self._dims is not None

    @overload
    def __getitem__(self, key: int) -> Any: ...
    @overload
    def __getitem__(self, key: slice) -> TensorShape: ...
    def __getitem__(self, key: int | slice) -> Any:
        dims = self._known_rank("indexing")
        return TensorShape(dims[key]) if isinstance(key, slice) else dims[key]

    def index(self, value: Any) -> int:
        """Where a size stands first."""
        return self._known_rank("index()").index(value)

    def count(self, value: Any) -> int:
        """How often a size is there."""
        return self._known_rank("count()").count(value)

    def __add__(self, other: Any) -> Any:
        return (*self, *other) if _asks_for_the_rest(other) else self.concatenate(other)

    def __radd__(self, other: Any) -> Any:
        return (
            (*other, *self) if _asks_for_the_rest(other) else TensorShape(other).concatenate(self)
        )

    def __eq__(self, other: object) -> bool:
        if isinstance(other, (tuple, list)):
            return self._dims == tuple(other)
        try:
            other = TensorShape(other)
        except TypeError:
            return NotImplemented
        return self._dims == other._dims

    def __hash__(self) -> int:
        return hash(self._dims)

    def __repr__(self) -> str:
        return f"TensorShape({None if self._dims is None else list(self._dims)})"

    def __str__(self) -> str:
        if self._dims is None:
            return "<unknown>"
        return f"({', '.join(map(str, self._dims))}{',' if len(self._dims) == 1 else ''})"

    def __reduce__(self) -> tuple[Any, ...]:
        return TensorShape, (self.dims,)


Sequence.register(TensorShape)  # other libraries ask whether a shape is a sequence of integers


def _asks_for_the_rest(sizes: Any) -> bool:
    """Whether these are an argument of `reshape` rather than a shape, such as the `(-1,)` of
    `(-1,) + x.shape[2:]`: NumPy's are tuples.
    """
    return type(sizes) in (tuple, list) and -1 in sizes


def _size(value: Any) -> int | None:
    if value is None:
        return None
    try:
        size = value.__index__()
    except AttributeError:
        raise TypeError(
            f"A dimension must be an integer or None, got {value!r} of type {type(value).__name__}."
        ) from None
    if size < 0:
        raise ValueError(f"A dimension must be at least 0, got {size}.")
    return int(size)


@published("TensorSpec")
class TensorSpec:
    """A tensor's shape and dtype without its values.

    >>> import gradtape as tf
    >>> tf.TensorSpec([None, 3], tf.float32)
    TensorSpec(shape=(None, 3), dtype=tf.float32, name=None)
    """

    __slots__ = ("dtype", "name", "shape")

    def __init__(self, shape: Any, dtype: Any = dtypes.float32, name: str | None = None) -> None:
        self.shape = TensorShape(shape)
        self.dtype = dtypes.as_dtype(dtype)
        self.name = name

    @classmethod
    def from_tensor(cls, tensor: Any, name: str | None = None) -> TensorSpec:
        return cls(tensor.shape, tensor.dtype, name)

    @classmethod
    def from_spec(cls, spec: TensorSpec, name: str | None = None) -> TensorSpec:
        return cls(spec.shape, spec.dtype, name or spec.name)

    def is_compatible_with(self, spec_or_value: Any) -> bool:
        """Whether a spec, tensor or value has this dtype and a shape that fits."""
        shape, dtype = getattr(spec_or_value, "shape", None), getattr(spec_or_value, "dtype", None)
        return dtype is not None and self.dtype == dtype and self.shape.is_compatible_with(shape)

    def most_specific_compatible_type(self, other: TensorSpec) -> TensorSpec:
        """The spec of everything that either spec describes."""
        if self.dtype != other.dtype:
            raise ValueError(f"{self} and {other} have different dtypes.")
        return TensorSpec(
            self.shape.most_specific_compatible_shape(other.shape), self.dtype, self.name
        )

    def is_subtype_of(self, other: Any) -> bool:
        """Whether every tensor that this spec describes is one of the other's, too; a spec with a
        name, only of one with the same.

        >>> import gradtape as tf
        >>> tf.TensorSpec([2], tf.float32).is_subtype_of(tf.TensorSpec([None], tf.float32))
        True
        """
        return (
            isinstance(other, TensorSpec)
            and self.dtype == other.dtype
            and self.name in (None, other.name)
            and self.shape.is_subtype_of(other.shape)
        )

    def most_specific_common_supertype(self, others: Sequence[Any]) -> TensorSpec | None:
        """The spec of everything that this one or one of `others` describes;
        None if their dtypes or names differ.

        >>> import gradtape as tf
        >>> tf.TensorSpec([2], tf.float32).most_specific_common_supertype(
        ...     [tf.TensorSpec([3], tf.float32)]
        ... )
        TensorSpec(shape=(None,), dtype=tf.float32, name=None)
        """
        if not all(
            isinstance(o, TensorSpec) and (o.dtype, o.name) == (self.dtype, self.name)
            for o in others
        ):
            return None
        return TensorSpec(
            self.shape.most_specific_common_supertype([o.shape for o in others]),
            self.dtype,
            self.name,
        )

    # Libraries call these by their private names.

    def _with_tensor_ranks_only(self) -> TensorSpec:
        rank = self.shape.rank
        return TensorSpec(None if rank is None else [None] * rank, self.dtype, self.name)

    def _without_tensor_names(self) -> TensorSpec:
        return TensorSpec(self.shape, self.dtype)

    def _batch(self, batch_size: int | None) -> TensorSpec:
        return TensorSpec(TensorShape([batch_size]).concatenate(self.shape), self.dtype)

    def _unbatch(self) -> TensorSpec:
        return TensorSpec(None if self.shape.rank is None else self.shape[1:], self.dtype)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TensorSpec):
            return NotImplemented
        return (self.shape, self.dtype, self.name) == (other.shape, other.dtype, other.name)

    def __hash__(self) -> int:
        return hash((self.shape, self.dtype))

    def __repr__(self) -> str:
        return f"TensorSpec(shape={self.shape}, dtype={self.dtype!r}, name={self.name!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        return TensorSpec, (self.shape, self.dtype, self.name)
