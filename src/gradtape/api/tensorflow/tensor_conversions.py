"""`tf.register_tensor_conversion_function`: how values of a class become tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gradtape.convert import as_tensor
from gradtape.published import published

_PRIORITIES: dict[type, int] = {}


@published("register_tensor_conversion_function")
def register_tensor_conversion_function(
    base_type: Any, conversion_func: Callable[..., Any], priority: int = 100
) -> None:
    """Lets values of a class, and of its subclasses, be used wherever a tensor is expected.

    `conversion_func(value, dtype, name, as_ref)` gives the tensor. The function of the lowest
    `priority` counts. Classes of Python itself, such as `int`, cannot be registered.

    >>> import gradtape as tf
    >>> class Celsius:
    ...     def __init__(self, degrees):
    ...         self.degrees = degrees
    >>> tf.register_tensor_conversion_function(
    ...     Celsius, lambda value, dtype=None, name=None, as_ref=False: tf.constant(value.degrees)
    ... )
    >>> tf.add(Celsius(20.0), tf.constant(1.0)).numpy()
    np.float32(21.0)
    """
    if not callable(conversion_func):
        raise TypeError(
            "register_tensor_conversion_function: conversion_func must be a function, got "
            f"{conversion_func!r}."
        )
    for kind in base_type if isinstance(base_type, tuple) else (base_type,):
        if not isinstance(kind, type):
            raise TypeError(
                f"register_tensor_conversion_function: base_type must be a class, got {kind!r}."
            )
        if priority >= _PRIORITIES.get(kind, priority + 1):
            continue
        try:
            kind.__gradtape_tensor__ = _conversion(conversion_func)  # type: ignore[attr-defined]
        except TypeError as error:
            raise TypeError(
                "register_tensor_conversion_function: gradtape converts values of "
                f"{kind.__name__} by itself: register a class of your own."
            ) from error
        _PRIORITIES[kind] = priority


def _conversion(conversion_func: Callable[..., Any]) -> Callable[[Any], Any]:
    def convert(self: Any) -> Any:
        found = conversion_func(self, dtype=None, name=None, as_ref=False)
        if found is NotImplemented:
            raise TypeError(f"A {type(self).__name__} cannot be converted to a tensor.")
        return as_tensor(found)

    return convert
