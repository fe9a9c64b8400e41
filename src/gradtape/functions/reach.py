"""Which objects a Python function can reach without being passed them: through its closure, its
globals, its defaults or its `self`.
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterator
from gc import get_referents
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any
from weakref import ref

from gradtape.core.tensor import Tensor
from gradtape.core.variable import Variable

_MANY = 20_000
"""After this many objects the search gives up, and assumes that the function can see what it looks
for.
"""

_LIBRARIES = frozenset(sys.stdlib_module_names) - {"__main__"} | frozenset(
    ["gradtape", "keras_gradtape", "keras", "numpy", "scipy", "jax", "jaxlib", "optree"]
)
"""Packages whose functions and classes hold no user objects."""

_ENDS = (str, bytes, int, float, complex, type(None), Tensor, Variable, CodeType)


def seen_by(python_function: Any, wanted: Collection[Any]) -> set[int]:
    """The ids of those `wanted` objects that a function can see, or that could not be ruled out."""
    missing = {id(value) for value in wanted}
    found: set[int] = set()
    seen: set[int] = set()
    # That a code uses, which are the attributes that it may read of a module.
    names: set[str] = set()
    stack = [python_function]
    while stack and missing:
        value = stack.pop()
        if id(value) in seen:
            continue
        seen.add(id(value))
        if len(seen) > _MANY:
            return found | missing
        if id(value) in missing:
            missing.discard(id(value))
            found.add(id(value))
        if (
            isinstance(value, (FunctionType, type))
            and (value.__module__ or "").partition(".")[0] in _LIBRARIES
        ):
            continue
        if isinstance(value, FunctionType):
            names.update(_names(value.__code__))
            stack += _around(value)
        elif isinstance(value, ModuleType):
            stack += [
                vars(value)[name]
                for name in names
                if name in vars(value) and not isinstance(vars(value)[name], ModuleType)
            ]
        elif isinstance(value, MethodType):
            stack += [value.__func__, value.__self__]
        elif isinstance(value, ref):
            stack.append(value())
        elif isinstance(value, type):
            stack += [*vars(value).values(), *value.__bases__]
        elif not isinstance(value, _ENDS):
            stack += [
                part for part in get_referents(value) if not isinstance(part, (type, ModuleType))
            ]
            stack.append(type(value))
    return found


def _around(function: FunctionType) -> Iterator[Any]:
    for cell in function.__closure__ or ():
        try:
            yield cell.cell_contents
        except ValueError:  # a name that is not bound yet
            continue
    known = function.__globals__
    yield from (known[name] for name in _names(function.__code__) if name in known)
    yield from function.__defaults__ or ()
    yield from (function.__kwdefaults__ or {}).values()
    yield from vars(function).values()


def _names(code: CodeType) -> set[str]:
    """The names that a code object uses, and the code objects of the functions defined in it."""
    names = set(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            names |= _names(constant)
    return names
