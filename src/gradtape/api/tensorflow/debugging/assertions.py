"""Assertions of `tf.debugging` about shapes and dtypes.

A failed assertion is a ValueError or a TypeError, since it does not depend on values.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from gradtape import dtypes
from gradtape.api.tensorflow.arguments import DTypeLike, TensorLike, as_int
from gradtape.convert import TENSORFLOW
from gradtape.core.indexed_slices import IndexedSlices
from gradtape.core.settings import settings
from gradtape.core.tensor import Tensor
from gradtape.core.variable import Variable
from gradtape.dtypes import DType
from gradtape.published import published


@published("debugging.assert_integer")
def assert_integer(x: TensorLike, message: str | None = None, name: str | None = None) -> None:
    """Raises a TypeError unless `x` has an integer dtype.

    >>> import gradtape as tf
    >>> tf.debugging.assert_integer([1, 2])
    """
    found = TENSORFLOW.tensor(x, "assert_integer: x").dtype
    if not found.is_integer:
        raise TypeError(
            f"{_said(message)}assert_integer: x must have an integer dtype, got {found.name}."
        )


@published("debugging.assert_type")
def assert_type(
    tensor: TensorLike, tf_type: DTypeLike, message: str | None = None, name: str | None = None
) -> None:
    """Raises a TypeError unless `tensor` has the dtype `tf_type`.

    >>> import gradtape as tf
    >>> tf.debugging.assert_type(tf.constant(1.0), tf.float32)
    """
    wanted, found = dtypes.as_dtype(tf_type), TENSORFLOW.tensor(tensor, "assert_type: tensor").dtype
    if found != wanted:
        raise TypeError(
            f"{_said(message)}assert_type: tensor must have dtype {wanted.name}, got {found.name}."
        )


@published("debugging.assert_same_float_dtype")
def assert_same_float_dtype(
    tensors: Iterable[Any] | None = None, dtype: DTypeLike | None = None
) -> DType:
    """The one floating-point dtype of all `tensors`, or of `dtype`; a ValueError if there is none.

    None entries are skipped.

    >>> import gradtape as tf
    >>> tf.debugging.assert_same_float_dtype([tf.constant(1.0), tf.constant([2.0])])
    tf.float32
    """
    common = None if dtype is None else dtypes.as_dtype(dtype)
    for i, tensor in enumerate(tensors or ()):
        if tensor is None:
            continue
        found = TENSORFLOW.tensor(tensor, f"assert_same_float_dtype: tensors[{i}]").dtype
        if common is not None and found != common:
            raise ValueError(
                f"assert_same_float_dtype: tensors[{i}] has dtype {found.name}, but {common.name} "
                "was expected."
            )
        common = found
    if common is None:
        return dtypes.float32
    if not common.is_floating:
        raise ValueError(
            f"assert_same_float_dtype: the dtype must be floating-point, got {common.name}."
        )
    return common


@published("debugging.assert_scalar")
def assert_scalar(tensor: TensorLike, message: str | None = None, name: str | None = None) -> None:
    """Raises a ValueError unless `tensor` is a scalar.

    >>> import gradtape as tf
    >>> tf.debugging.assert_scalar(3.0)
    """
    found = TENSORFLOW.tensor(tensor, "assert_scalar: tensor")
    if found.array.ndim:
        raise ValueError(
            f"{_said(message)}assert_scalar: tensor must be a scalar, got shape {found.shape}."
        )


@published("debugging.assert_rank_at_least")
def assert_rank_at_least(
    x: TensorLike, rank: int, message: str | None = None, name: str | None = None
) -> None:
    """Raises a ValueError if `x` has fewer axes than `rank` says.

    >>> import gradtape as tf
    >>> tf.debugging.assert_rank_at_least([[1, 2]], 1)
    """
    found, least = (
        TENSORFLOW.tensor(x, "assert_rank_at_least: x"),
        as_int(rank, "assert_rank_at_least: rank"),
    )
    if found.array.ndim < least:
        raise ValueError(
            f"{_said(message)}assert_rank_at_least: x must have rank {least} or more, got shape "
            f"{found.shape}."
        )


@published("debugging.assert_rank_in")
def assert_rank_in(
    x: TensorLike, ranks: Iterable[int], message: str | None = None, name: str | None = None
) -> None:
    """Raises a ValueError unless the number of axes of `x` is one of `ranks`.

    >>> import gradtape as tf
    >>> tf.debugging.assert_rank_in([[1, 2]], [1, 2])
    """
    found, allowed = (
        TENSORFLOW.tensor(x, "assert_rank_in: x"),
        [as_int(rank, "assert_rank_in: ranks") for rank in ranks],
    )
    if found.array.ndim not in allowed:
        raise ValueError(
            f"{_said(message)}assert_rank_in: x must have a rank in {allowed}, got shape "
            f"{found.shape}."
        )


@published("debugging.assert_shapes")
def assert_shapes(
    shapes: Any,
    data: Sequence[Any] | None = None,
    summarize: int | None = None,
    message: str | None = None,
    name: str | None = None,
) -> None:
    """Raises a ValueError unless each tensor has the shape given with it,
    and equal letters stand for equal sizes.

    `shapes` is a list of pairs, or a dict. A shape is a sequence of sizes, names of sizes, and None
    or "." for any size; `...` or "*" may stand first, for any number of axes. A string is a
    sequence of such letters.

    >>> import gradtape as tf
    >>> tf.debugging.assert_shapes([(tf.ones([5, 3]), ("N", 3)), (tf.ones([5]), ("N",))])
    """
    sizes: dict[Any, tuple[int, str]] = {}
    for i, (tensor, wanted) in enumerate(shapes.items() if isinstance(shapes, dict) else shapes):
        shape = tuple(TENSORFLOW.tensor(tensor, f"assert_shapes: tensor {i}").array.shape)
        label = f"{_said(message)}assert_shapes: tensor {i} of shape {shape}"
        if not (hasattr(wanted, "__iter__") or hasattr(wanted, "__getitem__")):
            raise ValueError(f"{label}: its shape in `shapes` must be a sequence, got {wanted!r}.")
        spec = list(wanted)
        if any(_is_rest(entry) for entry in spec[1:]):
            raise ValueError(f"{label}: `...` and '*' may only come first, got {spec}.")
        at_the_end = bool(spec) and _is_rest(spec[0])
        if at_the_end:
            spec = spec[1:]
        if not shape and len(spec) == 1:
            shape = (1,)  # a scalar passes for a vector of one element
        if len(shape) < len(spec) or (len(shape) > len(spec) and not at_the_end):
            raise ValueError(
                f"{label} must have rank {len(spec)}{' or more' if at_the_end else ''}."
            )
        first = len(shape) - len(spec)
        for axis, (entry, size) in enumerate(zip(spec, shape[first:], strict=True), first):
            _check_size(sizes, _size(entry), size, f"tensor {i}, axis {axis}", label)


def _check_size(
    sizes: dict[Any, tuple[int, str]], entry: Any, size: int, place: str, label: str
) -> None:
    """One axis against a number, or against the size that a name has had before."""
    if entry is None:
        return
    wanted, why = (
        (entry, "as specified")
        if isinstance(entry, int)
        else sizes.setdefault(entry, (size, place))
    )
    if size != wanted:
        reason = why if isinstance(entry, int) else f"the size {entry!r} of {why}"
        raise ValueError(
            f"{label}: {place.partition(', ')[2]} must have size {wanted}, {reason}, "
            f"but has {size}."
        )


def _is_rest(entry: Any) -> bool:
    return entry is ... or (isinstance(entry, str) and entry == "*")


def _size(entry: Any) -> Any:
    """A number as an integer, None for any size, or the name of a size."""
    if entry is None or (isinstance(entry, str) and entry == "."):
        return None
    if isinstance(entry, str):
        return int(entry) if entry.isdigit() else entry
    return int(entry) if isinstance(entry, (int, float, np.number, Tensor, Variable)) else entry


@published("debugging.assert_proper_iterable")
def assert_proper_iterable(values: Any) -> None:
    """Raises a TypeError unless `values` is a list, tuple, dict or the like: a tensor, an array or
    a string is not meant by that.

    >>> import gradtape as tf
    >>> tf.debugging.assert_proper_iterable([tf.constant(1.0)])
    """
    if isinstance(
        values, (Tensor, Variable, IndexedSlices, np.ndarray, np.generic, str, bytes)
    ) or not hasattr(values, "__iter__"):
        raise TypeError(
            "assert_proper_iterable: values must be a list or another collection, got "
            f"{type(values).__name__}."
        )


@published("debugging.is_numeric_tensor")
def is_numeric_tensor(tensor: Any) -> bool:
    """Whether `tensor` is a Tensor of numbers: neither a Variable, nor an array,
    nor of bool or string dtype.

    >>> import gradtape as tf
    >>> tf.debugging.is_numeric_tensor(tf.constant(1)), tf.debugging.is_numeric_tensor(1)
    (True, False)
    """
    return isinstance(tensor, Tensor) and (
        tensor.dtype.is_integer or tensor.dtype.is_floating or tensor.dtype.is_complex
    )


@published("debugging.enable_traceback_filtering")
def enable_traceback_filtering() -> None:
    """Has errors that leave a function show the lines of the user's code alone,
    as they do at the start.

    The environment variable GRADTAPE_FULL_TRACEBACK=1 shows all frames in any case.

    >>> import gradtape as tf
    >>> tf.debugging.enable_traceback_filtering()
    >>> tf.debugging.is_traceback_filtering_enabled()
    True
    """
    settings.short_tracebacks = True


@published("debugging.disable_traceback_filtering")
def disable_traceback_filtering() -> None:
    """Has errors that leave a function show all frames, also those of gradtape and JAX.

    >>> import gradtape as tf
    >>> tf.debugging.disable_traceback_filtering()
    >>> tf.debugging.is_traceback_filtering_enabled()
    False
    >>> tf.debugging.enable_traceback_filtering()
    """
    settings.short_tracebacks = False


@published("debugging.is_traceback_filtering_enabled")
def is_traceback_filtering_enabled() -> bool:
    """Whether errors that leave a function show the lines of the user's code alone;
    they do at the start.

    >>> import gradtape as tf
    >>> tf.debugging.is_traceback_filtering_enabled()
    True
    """
    return settings.short_tracebacks


def _said(message: str | None) -> str:
    return f"{message} " if message else ""
