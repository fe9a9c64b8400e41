"""`converted_call`: what a call in converted code becomes.

It converts the user's own functions, and leaves those of libraries alone.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from inspect import CO_ASYNC_GENERATOR, CO_COROUTINE, CO_GENERATOR
from types import FunctionType, MethodType
from typing import Any

from malt.core.converter import ConversionOptions

from gradtape.core.xla.tensor import is_traced
from gradtape.functions.autograph import builtins
from gradtape.functions.autograph.conversion import converted
from gradtape.functions.autograph.fallback import NotConvertedError, run_as_it_is, warn_once
from gradtape.functions.autograph.rows import tensor_range
from gradtape.functions.autograph.values import UndefinedReturnValue, location

_NOT_RUN_AT_ONCE = CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR
_LIBRARIES = frozenset(
    {
        *sys.stdlib_module_names,
        *(
            "PIL",
            "absl",
            "einops",
            "gradtape",
            "jax",
            "jaxlib",
            "keras",
            "keras_gradtape",
            "malt",
            "matplotlib",
            "ml_dtypes",
        ),
        *("numpy", "optree", "pandas", "scipy", "sklearn", "tensorflow"),
    }
)
_TAKE_FUNCTIONS_AS_THEY_ARE = ("gradtape.functions.decorator", "gradtape.functions.autograph")
_MARK = "__gradtape_converted__"


class FunctionScope:
    """A converted function that is running."""

    def __init__(self, function_name: str, scope_name: str, options: ConversionOptions) -> None:
        self.recursive: bool = options.recursive
        """Whether the functions that it calls are converted too."""

    def __enter__(self) -> FunctionScope:
        return self

    def __exit__(self, *exception: object) -> None: ...

    def ret(self, value: Any, returned: Any) -> Any:
        """The function's result; `returned` tells whether a return statement was reached, and may
        be a traced tensor.
        """
        if isinstance(value, UndefinedReturnValue):
            return None
        if value is not None and is_traced(returned):
            raise ValueError(
                f"{location()}: a value is returned in only some branches of an `if` on a tensor: "
                "return a value in every branch."
            )
        return value


def with_function_scope(
    body: Callable[[FunctionScope], Any], scope_name: str, options: ConversionOptions
) -> Any:
    """The body of a converted lambda."""
    return body(FunctionScope("<lambda>", scope_name, options))


def autograph_artifact(function: FunctionType) -> FunctionType:
    """Marks a function that was defined in converted code: it is converted already."""
    setattr(function, _MARK, function.__code__)
    return function


def _is_converted(function: FunctionType) -> bool:
    """Whether a function has that mark itself, rather than as a wrapper that copied it."""
    return getattr(function, _MARK, None) is function.__code__


def converted_call(
    f: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any] | None = None,
    scope: FunctionScope | None = None,
) -> Any:
    """Calls a function, converted if it is the user's."""
    given = kwargs or {}
    overload = builtins.overloads.get(id(f))
    if overload is not None:
        return overload(*args, **given)
    if isinstance(f, functools.partial):
        return converted_call(f.func, (*f.args, *args), {**f.keywords, **given}, scope)
    if scope is not None and not scope.recursive:
        return f(*args, **given)
    if id(f) in builtins.takes_functions:
        return f(*map(_converted_argument, args), **given)
    function, owner = python_function(f)
    if function is None:
        return f(*args, **given)
    if _is_of_library(function):
        return _call_of_library(f, args, given)
    try:
        target = to_converted(function)
    except NotConvertedError as error:
        warn_once(function, str(error))
        return run_as_it_is(f, args, given, str(error))
    return target(*owner, *args, **given)


def python_function(f: Any) -> tuple[FunctionType | None, tuple[Any, ...]]:
    """The Python function that a call of `f` runs, and the arguments put before those of the call;
    None for classes and anything that is not Python.
    """
    if isinstance(f, FunctionType):
        return f, ()
    if isinstance(f, MethodType):
        function, owner = python_function(f.__func__)
        return function, (*owner, f.__self__)
    if isinstance(f, type):
        return None, ()
    call = type(f).__call__ if callable(f) else None
    return (call, (f,)) if isinstance(call, FunctionType) else (None, ())


def to_converted(function: FunctionType, *, recursive: bool = True) -> FunctionType:
    """A function in its converted form; itself if it already is, or if it is a generator or
    coroutine.
    """
    # It names this module's functions.
    from gradtape.functions.autograph import operators  # noqa: PLC0415

    if _is_converted(function) or function.__code__.co_flags & _NOT_RUN_AT_ONCE:
        return function
    return autograph_artifact(converted(function, operators, recursive=recursive))


def _is_of_library(function: FunctionType) -> bool:
    """Whether a function is defined in a library; an example in a library's docstring is not."""
    home = str(function.__globals__.get("__name__")).partition(".")[0]
    return home in _LIBRARIES and not function.__code__.co_filename.startswith("<doctest ")


def _call_of_library(f: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Calls a library function without conversion.

    Functions that are passed to one of gradtape's are the user's, and converted.
    """
    module = str(getattr(f, "__module__", ""))
    if (
        not isinstance(f, FunctionType)
        or not module.startswith("gradtape.")
        or module.startswith(_TAKE_FUNCTIONS_AS_THEY_ARE)
    ):
        return run_as_it_is(
            f, args, kwargs, "the functions of libraries, and what these call, are not converted"
        )
    if f.__name__ == "range" and module == "gradtape.api.tensorflow.creation":
        numbers = tensor_range(*args, **kwargs)
        if numbers is not None:
            return numbers
    return f(
        *map(_converted_argument, args),
        **{name: _converted_argument(value) for name, value in kwargs.items()},
    )


def _converted_argument(value: Any) -> Any:
    """An argument, converted if it is a user's function."""
    if isinstance(value, MethodType):
        function = _converted_argument(value.__func__)
        return value if function is value.__func__ else MethodType(function, value.__self__)
    if not isinstance(value, FunctionType) or _is_of_library(value):
        return value
    try:
        return to_converted(value)
    except NotConvertedError as error:
        warn_once(value, str(error))
        return value
