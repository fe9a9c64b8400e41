"""The public functions of AutoGraph: a converted function, its source code, and messages."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FunctionType, MethodType
from typing import Any

from gradtape.functions.autograph import fallback
from gradtape.published import published


@published("autograph.to_graph")
def to_graph(
    entity: Callable[..., Any], recursive: bool = True, experimental_optional_features: Any = None
) -> Callable[..., Any]:
    """A function converted by AutoGraph: it does the same in eager code, and can be called in a
    traced function.

    >>> import gradtape as tf
    >>> def size(x):
    ...     return "large" if x > 10 else "small"
    >>> tf.autograph.to_graph(size)(tf.constant(3.0))
    'small'
    """
    from gradtape.functions.autograph.calls import to_converted  # noqa: PLC0415 - it loads malt

    function = _function(entity, "to_graph")
    try:
        found = to_converted(function, recursive=recursive)
    except fallback.NotConvertedError as error:
        raise ValueError(
            f"to_graph: {function.__qualname__} cannot be converted, because {error}."
        ) from None
    return MethodType(found, entity.__self__) if isinstance(entity, MethodType) else found


@published("autograph.to_code")
def to_code(
    entity: Callable[..., Any], recursive: bool = True, experimental_optional_features: Any = None
) -> str:
    """The source code of a function as AutoGraph converts it.

    >>> import gradtape as tf
    >>> def size(x):
    ...     return "large" if x > 10 else "small"
    >>> print(tf.autograph.to_code(size).splitlines()[0])
    def ag__size(x):
    """
    from gradtape.functions.autograph.conversion import source_code  # noqa: PLC0415 - it loads malt

    function = _function(entity, "to_code")
    try:
        return source_code(function, recursive=recursive)
    except fallback.NotConvertedError as error:
        raise ValueError(
            f"to_code: {function.__qualname__} cannot be converted, because {error}."
        ) from None


def _function(entity: Any, name: str) -> FunctionType:
    """The Python function behind what can be converted."""
    python_function = getattr(entity, "python_function", entity)
    function = (
        python_function.__func__ if isinstance(python_function, MethodType) else python_function
    )
    if not isinstance(function, FunctionType):
        raise TypeError(f"{name}: entity must be a Python function or method, got {entity!r}.")
    return function


@published("autograph.set_verbosity")
def set_verbosity(level: int, alsologtostdout: bool = False) -> None:
    """Sets how much AutoGraph writes to the logger `gradtape`: from level 1 on, which functions it
    converts.

    >>> import gradtape as tf
    >>> tf.autograph.set_verbosity(0)
    """
    fallback.talk.level = int(level)
    fallback.talk.to_stdout = bool(alsologtostdout)


@published("autograph.trace")
def trace(*args: Any) -> None:
    """Prints values when a function is traced, as Python's own `print` does.

    >>> import gradtape as tf
    >>> tf.autograph.trace("tracing")
    tracing
    """
    sys.stdout.write(" ".join(map(str, args)) + "\n")
