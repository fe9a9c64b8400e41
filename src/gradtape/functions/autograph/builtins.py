"""Replacements for Python's builtin functions that would otherwise ask a traced tensor for its
value.
"""

from __future__ import annotations

import builtins
import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from gradtape.convert import as_tensor
from gradtape.core.tape_arguments import source_object
from gradtape.core.tensor import Tensor
from gradtape.core.xla.tensor import is_traced
from gradtape.functions.autograph.rows import enumerate_, range_, zip_
from gradtape.functions.autograph.truth import and_, or_, truth
from gradtape.ops.arithmetic import maximum, minimum
from gradtape.ops.broadcasting import cast


def _int(*args: Any, **kwargs: Any) -> Any:
    return (
        _as_dtype(np.int32, *args)
        if len(args) == 1 and is_traced(args[0])
        else int(*args, **kwargs)
    )


def _float(*args: Any) -> Any:
    return _as_dtype(np.float32, *args) if len(args) == 1 and is_traced(args[0]) else float(*args)


def _as_dtype(dtype: Any, value: Any) -> Tensor:
    return cast(as_tensor(source_object(value)), dtype=np.dtype(dtype))


def _extremum(python: Callable[..., Any], op: Callable[..., Any]) -> Callable[..., Any]:
    """`min` or `max`; an op for traced tensors."""

    def of(*args: Any, **kwargs: Any) -> Any:
        values = list(args[0]) if len(args) == 1 else list(args)
        if kwargs or not any(map(is_traced, values)):
            return python(values, **kwargs)
        return functools.reduce(
            op, [as_tensor(source_object(value)) if is_traced(value) else value for value in values]
        )

    return of


def _any(iterable: Any) -> Any:
    return _folded(or_, iterable, start=False)


def _all(iterable: Any) -> Any:
    return _folded(and_, iterable, start=True)


def _folded(logic: Callable[..., Any], iterable: Any, *, start: bool) -> Any:
    """The truth values of `iterable` combined, up to the first that decides the result."""
    found: Any = start
    for value in iterable:
        found = logic(_constant(found), _constant(bool_(value)))
        if found is (not start):
            break
    return found


def _constant(value: Any) -> Callable[[], Any]:
    return lambda: value


def bool_(value: Any = False) -> Any:
    """`bool`; for a traced tensor, its truth value as a tensor."""
    return truth(value, "bool()") if is_traced(value) else bool(value)


overloads: dict[int, Callable[..., Any]] = {
    id(function): overload
    for function, overload in {
        builtins.bool: bool_,
        builtins.int: _int,
        builtins.float: _float,
        builtins.range: range_,
        builtins.enumerate: enumerate_,
        builtins.zip: zip_,
        builtins.min: _extremum(builtins.min, minimum),
        builtins.max: _extremum(builtins.max, maximum),
        builtins.any: _any,
        builtins.all: _all,
    }.items()
}
"""Replacements for builtin functions, by id: not everything that is called can be hashed."""

takes_functions = frozenset(
    map(id, (builtins.map, builtins.filter, builtins.sorted, functools.reduce))
)
"""The ids of builtin functions that call their arguments."""
