"""The tensors that an operator is made of, and operators like it made of others: for
`tf.nest.flatten(..., expand_composites=True)`, and for slices of batches.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from gradtape import nest
from gradtape.api.tensorflow.linalg.operators.values import is_kept, read
from gradtape.core.tensor import Tensor
from gradtape.errors import invalid_argument

if TYPE_CHECKING:
    from gradtape.api.tensorflow.linalg.operators.described import DescribedOperator

Shape = tuple[int, ...]


def is_operator(value: Any) -> bool:
    """Whether a parameter is itself an operator."""
    return hasattr(value, "_composite_tensor_fields")


def _is_tensor(value: Any) -> bool:
    return isinstance(value, Tensor) or (is_kept(value) and not is_operator(value))


def _value(operator: DescribedOperator, name: str) -> Any:
    """A parameter as the operator has it; None where it was left out."""
    given = operator.parameters.get(name, operator)
    return None if given is None else getattr(operator, name, getattr(operator, f"_{name}", given))


def _fields(operator: DescribedOperator) -> dict[str, Any]:
    """The parameters that hold tensors or operators, by name."""
    static = operator._composite_tensor_prefer_static_fields
    found = {
        name: _value(operator, name)
        for name in sorted(operator._composite_tensor_fields)
        if name not in static
    }
    return {
        name: value
        for name, value in found.items()
        if any(_is_tensor(leaf) or is_operator(leaf) for leaf in nest.flatten(value))
    }


def tensors_of(operator: DescribedOperator) -> list[Any]:
    """The Tensors and Variables among the parameters, in the order of their names."""
    return nest.flatten(_fields(operator), expand_composites=True)


def with_tensors(operator: DescribedOperator, tensors: Iterator[Any]) -> Any:
    """An operator like this one, made of the next tensors."""

    def replaced(leaf: Any) -> Any:
        return leaf.__gradtape_unflatten__(tensors) if is_operator(leaf) else next(tensors)

    return _made_again(operator, nest.map_structure(replaced, _fields(operator)))


def _made_again(operator: DescribedOperator, changed: dict[str, Any]) -> Any:
    return type(operator)(**{**operator.parameters, **changed})


# Slices


def sliced(operator: DescribedOperator, slices: Any) -> Any:
    """The operators of a batch that an index takes, of those that `array[slices]` understands
    without looking at values.
    """
    keys = slices if isinstance(slices, tuple) else (slices,)
    batch = tuple(operator.batch_shape.as_list())
    return _sliced(operator, _one_for_each_axis(keys, batch), batch)  # type: ignore[arg-type]


def _one_for_each_axis(keys: tuple[Any, ...], batch: Shape) -> tuple[Any, ...]:
    """The index without an ellipsis, and with a slice for each axis that it leaves out."""
    for key in keys:
        if not (key is Ellipsis or key is None or isinstance(key, slice) or _is_integer(key)):
            raise TypeError(
                f"A batch of operators is indexed by integers, slices, None and ..., got {key!r}."
            )
    dots = [i for i, key in enumerate(keys) if key is Ellipsis]
    if len(dots) > 1:
        raise ValueError(f"An index has at most one ..., got {keys!r}.")
    used = sum(key is not None and key is not Ellipsis for key in keys)
    if used > len(batch):
        raise invalid_argument(
            f"An operator with batch shape {batch} has {len(batch)} axes to index, got {used} "
            "indices."
        )
    place = dots[0] if dots else len(keys)
    every = (slice(None),) * (len(batch) - used)
    whole = (*keys[:place], *every, *keys[place + 1 :])
    return tuple(int(key) if _is_integer(key) else key for key in whole)


def _is_integer(key: Any) -> bool:
    return hasattr(key, "__index__") and not isinstance(key, bool)


def sliced_shape(keys: Any, batch: Shape) -> Shape:
    """The batch shape that an index leaves."""
    whole = _one_for_each_axis(keys if isinstance(keys, tuple) else (keys,), batch)
    try:
        return np.broadcast_to(np.int8(0), batch)[whole].shape
    except IndexError as error:
        raise invalid_argument(f"An index of a batch of operators: {error}.") from None


def _sliced(operator: DescribedOperator, keys: tuple[Any, ...], batch: Shape) -> Any:
    sliced_shape(keys, batch)  # an index outside the batch is refused, also where it broadcasts
    changed: dict[str, Any] = {}
    for name, axes in dict(operator._experimental_parameter_ndims_to_matrix_ndims).items():
        value = _value(operator, name)
        if value is not None:
            changed[name] = nest.map_structure(
                lambda part, kept: _sliced_part(part, kept, keys, batch), value, axes
            )
    return _made_again(operator, changed)


def _sliced_part(part: Any, kept: int, keys: tuple[Any, ...], batch: Shape) -> Any:
    """A parameter of which the last `kept` axes are not indexed."""
    if is_operator(part):
        own = tuple(part.batch_shape.as_list())
        fitting = _fitting(keys, batch, own)
        return part if fitting is None else part[fitting]
    shape = tuple(part.shape)
    fitting = _fitting(keys, batch, shape[: len(shape) - kept])
    return part if fitting is None else read(part)[(*fitting, ..., *(slice(None),) * kept)]


def _fitting(keys: tuple[Any, ...], batch: Shape, own: Shape) -> tuple[Any, ...] | None:
    """The index of a part whose batch axes are broadcast to those of the operator; None if the part
    is the same for all.
    """
    if not own:
        return None
    missing, axis = len(batch) - len(own), 0
    found: list[Any] = []
    for key in keys:
        if key is None:
            found.append(None)
            continue
        if axis >= missing:
            found.append(_on_axis(key, batch[axis], own[axis - missing]))
        elif isinstance(key, slice):
            found.append(None)  # an axis that stays, of size 1
        axis += 1
    return tuple(found)


def _on_axis(key: Any, size: int, own: int) -> Any:
    if own == size:
        return key
    return slice(0, len(range(size)[key]) and 1) if isinstance(key, slice) else 0
