"""How the functions of this backend convert their arguments, and Keras's rules for the dtypes in
which they compute.

A rule maps the name of a dtype to that of another; float32 stays float32 under every rule. Python
numbers are weak: they take the dtype of the tensors beside them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from keras.src.backend import config
from keras.src.backend.common import dtypes

import gradtape as tf
from keras_gradtape.src.conversion import convert_to_tensor

DtypeRule = Callable[[str], str]

PYTHON_NUMBERS = frozenset((bool, int, float))
_WHOLE = frozenset(("bool", *dtypes.INT_TYPES))
_SUMS = {"bool": "int32", "int8": "int32", "int16": "int32", "uint8": "uint32", "uint16": "uint32"}


# Rules


def result_type(*found: Any) -> str:
    """Keras's dtype for arguments of these dtypes (names, or the types of Python numbers)."""
    return _result_type(config.floatx(), *found)


@cache
def _result_type(floatx: str, *found: Any) -> str:
    return str(dtypes.result_type(*found))


def floating(dtype: str) -> str:
    """Truth values and integers as floating-point numbers."""
    return config.floatx() if dtype == "int64" else result_type(dtype, float)


def inexact(dtype: str) -> str:
    """Truth values and integers as floating-point numbers; everything else as it is."""
    return config.floatx() if dtype in _WHOLE else dtype


def wide(dtype: str) -> str:
    """As `inexact`, but integers of 64 bits become floating-point numbers of 64 bits."""
    return "float64" if dtype == "int64" else inexact(dtype)


def counting(dtype: str) -> str:
    """Truth values as numbers."""
    return "int32" if dtype == "bool" else dtype


def sum_dtype(dtype: str) -> str:
    """The dtype of a sum: 32 bits at least."""
    return _SUMS.get(dtype, dtype)


def at_least_float32(dtype: str) -> str:
    """The dtype in which a long sum is taken: that of Keras's default float for integers,
    32 bits for 16.
    """
    return result_type(inexact(dtype), "float32")


# Arguments


def cast_to(x: Any, dtype: str) -> Any:
    """A tensor in another dtype."""
    return x if x.dtype.name == dtype else tf.cast(x, dtype)


def by_rule(x: Any, rule: DtypeRule) -> Any:
    """Anything as a tensor in the dtype that a rule gives for its own."""
    x = convert_to_tensor(x)
    return x if x.dtype is tf.float32 else cast_to(x, rule(x.dtype.name))


def together(values: Sequence[Any], *more: Any, rule: DtypeRule | None = None) -> Sequence[Any]:
    """Arguments of one op in the dtype in which they meet each other and `more` dtypes,
    or in what a rule makes of it.

    Python numbers beside tensors stay what they are, as gradtape treats them as Keras does.
    """
    return values if is_settled(values) else _brought_together(values, more, rule)


def _brought_together(
    values: Sequence[Any], more: Sequence[Any], rule: DtypeRule | None
) -> Sequence[Any]:
    read = [
        value if type(value) in PYTHON_NUMBERS else convert_to_tensor(value) for value in values
    ]
    found = [type(value) if type(value) in PYTHON_NUMBERS else value.dtype.name for value in read]
    dtype = result_type(*found, *more)
    if rule is not None:
        dtype = rule(dtype)
    if all(type(value) in PYTHON_NUMBERS for value in read):
        return [convert_to_tensor(value, dtype) for value in read]
    return [value if type(value) in PYTHON_NUMBERS else cast_to(value, dtype) for value in read]


def is_settled(values: Sequence[Any]) -> bool:
    """Whether these are float32 tensors, and Python numbers beside them: no rule changes those, so
    nothing has to be found out.
    """
    found = False
    for value in values:
        if type(value) is tf.Tensor and value.dtype is tf.float32:
            found = True
        elif type(value) not in PYTHON_NUMBERS:
            return False
    return found


def tensors(values: Sequence[Any], *more: Any, rule: DtypeRule | None = None) -> list[Any]:
    """As `together`, with tensors in the place of Python numbers too,
    for functions that need their shapes.
    """
    met = together(values, *more, rule=rule)
    dtype = next(value.dtype for value in met if type(value) not in PYTHON_NUMBERS)
    return [
        convert_to_tensor(value, dtype.name) if type(value) in PYTHON_NUMBERS else value
        for value in met
    ]
