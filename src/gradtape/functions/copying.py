"""Copying and pickling a `Function`.

Compiled programs belong to their process and to the Variables they were traced with, so they are
neither copied nor pickled.

As with Python's own functions, a copy of a function is the function itself, a method's copy belongs
to the copy of its object, and a pickle knows a function by its name.
"""

from __future__ import annotations

import copy
import pickle
from types import FunctionType, MethodType
from typing import TYPE_CHECKING, Any

from gradtape.core.naming import is_importable

if TYPE_CHECKING:
    from gradtape.functions.function import Function


def deepcopied(function: Function, memo: dict[int, Any]) -> Function:
    """The function itself, or, if it is made from a method or an object, one made from a copy of
    that.
    """
    source = _source(function)
    copied = copy.deepcopy(source, memo)
    if copied is source:
        return function
    if id(function) in memo:  # the object has it as an attribute
        return memo[id(function)]
    return type(function)(copied, **function._options)


def reduced(function: Function) -> Any:
    """What pickle needs: where to find the function, or what it is made from."""
    if is_importable(function):
        return function._name
    source = _source(function)
    if isinstance(source, MethodType):
        for name in dir(type(source.__self__)):
            if (
                getattr(getattr(type(source.__self__), name, None), "python_function", None)
                is source.__func__
            ):
                return _of_method, (source.__self__, name)
    if isinstance(source, FunctionType) and not is_importable(source):
        raise pickle.PicklingError(
            f"{function._name}: only a function that can be imported by name can be pickled: "
            "define it, with its decorator, at the top level of a module, or pickle the Python "
            "function and call tf.function again."
        )
    return _made, (type(function), source, function._options)


def _source(function: Function) -> Any:
    """What a function is made from; a method with its object,
    which the function itself refers to weakly.
    """
    bound = getattr(function.python_function, "weakly_bound", None)
    return function.python_function if bound is None else MethodType(bound[0], bound[1]())


def _made(kind: type[Function], source: Any, options: dict[str, Any]) -> Function:
    return kind(source, **options)


def _of_method(instance: Any, name: str) -> Function:
    """A method's function that keeps its object alive, as a bound method does; the one that the
    object itself holds does not.
    """
    function = getattr(type(instance), name)
    return type(function)(MethodType(function.python_function, instance), **function._options)
