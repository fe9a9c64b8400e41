"""Marks in the user's code: functions that must not be converted, and options for loops."""

from __future__ import annotations

import enum
import functools
import threading
from collections.abc import Callable, Iterator
from typing import Any

from gradtape.blocks import block
from gradtape.core.xla.trace import inside_a_program
from gradtape.functions.autograph.fallback import run_as_it_is
from gradtape.published import published


class NeedsConversion(BaseException):
    """Raised where code that is not converted bounds a loop, which only converted code can do. It
    is not an Exception, so that an `except Exception` in the user's code does not catch it.
    """


class _Running(threading.local):
    may_need_conversion = False


_running = _Running()


@block
def needing_conversion(possible: bool) -> Iterator[None]:
    """A block of the user's code as it is, in which a bound of a loop is a request to convert the
    code, if that is `possible`.
    """
    before, _running.may_need_conversion = _running.may_need_conversion, possible
    try:
        yield
    finally:
        _running.may_need_conversion = before


@published("autograph.experimental.Feature")
class Feature(enum.Enum):
    """TensorFlow's names for optional parts of the conversion; they have no effect here.

    >>> import gradtape as tf
    >>> tf.autograph.experimental.Feature.LISTS.name
    'LISTS'
    """

    ALL = "ALL"
    ASSERT_STATEMENTS = "ASSERT_STATEMENTS"
    AUTO_CONTROL_DEPS = "AUTO_CONTROL_DEPS"
    BUILTIN_FUNCTIONS = "BUILTIN_FUNCTIONS"
    EQUALITY_OPERATORS = "EQUALITY_OPERATORS"
    LISTS = "LISTS"
    NAME_SCOPES = "NAME_SCOPES"

    @classmethod
    def all(cls) -> tuple[Feature, ...]:
        """Every feature."""
        return tuple(cls)

    @classmethod
    def all_but(cls, exclude: Feature | tuple[Feature, ...]) -> tuple[Feature, ...]:
        """Every feature except `exclude`."""
        left_out = {cls.ALL, *(exclude if isinstance(exclude, (list, tuple, set)) else (exclude,))}
        return tuple(feature for feature in cls if feature not in left_out)


@published("autograph.experimental.do_not_convert")
def do_not_convert(func: Callable[..., Any] | None = None) -> Any:
    """Marks a function that AutoGraph does not convert, nor anything that it calls.

    >>> import gradtape as tf
    >>> @tf.autograph.experimental.do_not_convert
    ... def sign(x):
    ...     return "positive" if x > 0 else "negative"
    >>> sign(2.0)
    'positive'
    """
    if func is None:
        return do_not_convert
    if not callable(func):
        raise TypeError(f"do_not_convert: func must be callable, got {func!r}.")

    @functools.wraps(func)
    def as_it_is(*args: Any, **kwargs: Any) -> Any:
        return run_as_it_is(func, args, kwargs, "it was marked with do_not_convert")

    return as_it_is


@published("autograph.experimental.set_loop_options")
def set_loop_options(
    parallel_iterations: Any = None,
    swap_memory: Any = None,
    maximum_iterations: Any = None,
    shape_invariants: Any = None,
) -> None:
    """Sets options of the loop whose first statement this is.

    In a function, `maximum_iterations` bounds it and makes its higher derivatives faster.
    `shape_invariants`, pairs of a variable and a TensorShape, let variables change their shapes;
    if one does, the function runs op by op.

    >>> import gradtape as tf
    >>> @tf.function
    ... def doubled_until_100(x):
    ...     while x < 100.0:
    ...         tf.autograph.experimental.set_loop_options(maximum_iterations=10)
    ...         x = 2.0 * x
    ...     return x
    >>> x = tf.constant(30.0)
    >>> with tf.GradientTape() as tape:
    ...     tape.watch(x)
    ...     y = doubled_until_100(x)
    >>> y.numpy(), tape.gradient(y, x).numpy()
    (np.float32(120.0), np.float32(4.0))
    """
    bounds = maximum_iterations is not None
    if bounds and _running.may_need_conversion and not inside_a_program():
        raise NeedsConversion
