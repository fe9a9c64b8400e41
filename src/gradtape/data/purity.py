"""Which functions of users' can run on many elements at once: those that only compute.

A function qualifies if its bytecode shows that it does nothing but call functions of gradtape's
that compute, operators, methods of tensors, and functions of the user's that qualify themselves.
Whatever it may see besides its arguments, such as numbers and Tensors, must be inert. Anything
else, such as a store to what it did not make, a random number or an unknown call, disqualifies it.
An `if` on a tensor shows when the function is tried, since a batch has no truth value.
"""

from __future__ import annotations

import builtins
import dis
import functools
from collections.abc import Callable, Iterator
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np

from gradtape.core.tensor import Tensor
from gradtape.core.variable import Variable
from gradtape.dtypes import DType
from gradtape.shapes import TensorShape

_COMPUTING = tuple(
    f"gradtape.api.tensorflow.{name}"
    for name in (
        "approximation", "arithmetic", "bitwise", "clipping", "complex_numbers", "conversion",
        "counting", "creation", "elementwise", "image.color", "image.geometry", "image.quality",
        "image.resizing", "indexing", "joining", "linalg", "logic", "nn.activations",
        "nn.convolution", "nn.embeddings", "nn.losses", "nn.normalization", "nn.pooling",
        "ordering", "rearranging", "reductions", "segments", "shaping", "signal", "special",
        "trigonometry",
    )
)  # fmt: skip
"""Modules whose functions only compute."""

_BUILTINS = frozenset((
    abs, bool, complex, dict, divmod, enumerate, float, int, isinstance, len, list, max, min, pow,
    range, reversed, round, slice, sorted, str, sum, tuple, zip,
))  # fmt: skip

_METHODS = frozenset(name for name in dir(Tensor) if not name.startswith("_")) - {
    "assign",
    "fill",
    "item",
    "itemset",
    "put",
    "resize",
    "setfield",
    "setflags",
    "sort",
    "tofile",
} | frozenset(("get", "items", "keys", "pop", "rank", "as_list", "values"))
"""Attributes of tensors, shapes and dicts. The dicts that a function is given are its own."""

_SAFE_OPS = (
    "BINARY_", "BUILD_", "CACHE", "CALL", "COMPARE_OP", "CONTAINS_OP", "CONVERT_VALUE", "COPY",
    "COPY_FREE_VARS", "DICT_MERGE", "DICT_UPDATE", "END_FOR", "EXTENDED_ARG", "FOR_ITER",
    "FORMAT_", "GET_ITER", "GET_LEN", "IS_OP", "JUMP", "KW_NAMES", "LIST_APPEND", "LIST_EXTEND",
    "LIST_TO_TUPLE", "LOAD_ATTR", "LOAD_CLOSURE", "LOAD_CONST", "LOAD_DEREF", "LOAD_FAST",
    "LOAD_GLOBAL", "LOAD_METHOD", "LOAD_SMALL_INT", "MAKE_CELL", "MAKE_FUNCTION", "MAP_ADD", "NOP",
    "NOT_TAKEN", "POP_ITER", "POP_JUMP", "POP_TOP", "PRECALL", "PUSH_NULL", "RERAISE",
    "RESUME", "RETURN_CONST", "RETURN_VALUE", "SET_FUNCTION_ATTRIBUTE", "STORE_FAST",
    "STORE_SUBSCR", "SWAP", "TO_BOOL", "UNARY_", "UNPACK_",
)  # fmt: skip
"""How the names of instructions begin that can do nothing but compute."""


def only_computes(function: Callable[..., Any]) -> bool:
    """Whether calling a function has no effect but its result, which depends on its arguments."""
    check = _Check()
    return check.callable(function) and not (check.writes and check.shares)


class _Check:
    """One question, about a function and those that it calls."""

    def __init__(self) -> None:
        self._asked: set[int] = set()
        self.writes = False  # whether something changes a list, a dict or an array
        self.shares = False  # whether one is seen that the functions did not make

    def callable(self, function: Any) -> bool:
        own = getattr(function, "python_function", None)  # of a tf.function
        if isinstance(own, FunctionType):
            function = own
        if isinstance(function, functools.partial):
            inert = all(map(self.inert, (*function.args, *function.keywords.values())))
            return inert and self.callable(function.func)
        if isinstance(function, np.ufunc):
            return True
        if isinstance(function, (type, BuiltinFunctionType)):
            return function in _BUILTINS or isinstance(function, type(np.float32))
        if not isinstance(function, FunctionType):
            return False
        module = function.__module__ or ""
        if module.startswith("gradtape."):
            return module.startswith(_COMPUTING)
        if id(function) in self._asked:
            return True  # it calls itself
        self._asked.add(id(function))
        defaults = (*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values())
        return all(map(self.inert, defaults)) and self._code(
            function.__code__, function.__globals__, _closure(function)
        )

    def inert(self, value: Any) -> bool:
        """Whether a value is data, or a function that only computes."""
        if value is None or value is Ellipsis:
            return True
        if isinstance(value, (bool, int, float, complex, str, bytes, np.generic)):
            return True
        if isinstance(value, (np.ndarray, list, dict)):
            self.shares = True
        if isinstance(value, np.ndarray):
            return True
        if isinstance(value, (Tensor, Variable, DType, TensorShape, np.dtype)):
            return True
        if isinstance(value, (tuple, list)):
            return _is_plain(value) and all(map(self.inert, value))
        if isinstance(value, dict):
            return _is_plain(value) and all(map(self.inert, value.values()))
        return self.callable(value)

    def _code(self, code: CodeType, names: dict[str, Any], closure: dict[str, Any]) -> bool:
        if code.co_flags & _NOT_PLAIN:
            return False
        steps = list(dis.get_instructions(code))
        places = iter(range(len(steps)))
        for place in places:
            step = steps[place]
            if step.opname == "STORE_SUBSCR" or step.argval == "pop" or _is_in_place(step):
                self.writes = True
            if step.opname in ("KW_NAMES", "LOAD_CONST") and step.arg is not None:
                constant = code.co_consts[step.arg]
                if isinstance(constant, tuple) and "out" in constant:  # names of arguments
                    self.writes = True
            if not step.opname.startswith(_SAFE_OPS):
                if step.opname != "STORE_DEREF" or step.argval in code.co_freevars:
                    return False
            elif step.opname == "LOAD_CONST" and isinstance(step.argval, CodeType):
                if not self._code(step.argval, names, closure):
                    return False
            elif step.opname in ("LOAD_ATTR", "LOAD_METHOD"):
                if step.argval not in _METHODS:
                    return False
            elif step.opname == "LOAD_GLOBAL" or (
                step.opname == "LOAD_DEREF" and step.argval in closure
            ):
                found = closure if step.opname == "LOAD_DEREF" else names
                value = found.get(step.argval, getattr(builtins, step.argval, _MISSING))
                for attribute in _attributes(steps, place):
                    if not isinstance(value, ModuleType):
                        break
                    value = getattr(value, attribute, _MISSING)
                    next(places)
                if not self.inert(value):
                    return False
        return True


def _is_plain(value: Any) -> bool:
    """Whether an entry of a tuple, list or dict is just looked up; a class of the user's, or a
    defaultdict, may do anything.
    """
    kind = type(value)
    base = next(base for base in (tuple, list, dict) if issubclass(kind, base))
    return kind.__getitem__ is base.__getitem__ and not hasattr(kind, "__missing__")


def _is_in_place(step: dis.Instruction) -> bool:
    """Whether it is an operator such as `+=`."""
    return step.opname == "BINARY_OP" and step.argrepr.endswith("=") and step.argrepr != "=="


_MISSING = object()
_GENERATOR, _COROUTINE, _ASYNC = 0x20, 0x80, 0x200
_NOT_PLAIN = _GENERATOR | _COROUTINE | _ASYNC


def _closure(function: FunctionType) -> dict[str, Any]:
    found = {}
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            found[name] = cell.cell_contents
        except ValueError:  # it has no value yet
            found[name] = _MISSING
    return found


def _attributes(steps: list[dis.Instruction], place: int) -> Iterator[str]:
    """The attributes that are taken from what an instruction has just loaded."""
    for step in steps[place + 1 :]:
        if step.opname not in ("LOAD_ATTR", "LOAD_METHOD"):
            return
        yield step.argval
