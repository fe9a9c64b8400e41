"""`function`, the decorator; what it makes is in `gradtape.functions.function`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Protocol, TypeVar, overload

from gradtape.published import published

if TYPE_CHECKING:
    from gradtape.functions.concrete_function import ConcreteFunction

P = ParamSpec("P")
Q = ParamSpec("Q")
R_co = TypeVar("R_co", covariant=True)
Owner = TypeVar("Owner")


class Compiled(Protocol[P, R_co]):
    """What `function` returns, for type checkers: it is called like the Python function, with its
    types.
    """

    @property
    def python_function(self) -> Callable[P, R_co]: ...
    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R_co: ...
    def get_concrete_function(self, *args: Any, **kwargs: Any) -> ConcreteFunction: ...
    def experimental_get_tracing_count(self) -> int: ...
    def pretty_printed_concrete_signatures(self, verbose: bool = True) -> str: ...
    @overload
    def __get__(self, instance: None, owner: type, /) -> Compiled[P, R_co]: ...
    @overload
    def __get__(
        self: Compiled[Concatenate[Owner, Q], R_co], instance: Owner, owner: type | None = None, /
    ) -> Compiled[Q, R_co]: ...


@overload
def function(
    func: Callable[P, R_co],
    input_signature: Any = None,
    autograph: bool = True,
    jit_compile: bool | None = None,
    reduce_retracing: bool = False,
    experimental_implements: str | None = None,
    experimental_autograph_options: Any = None,
    experimental_attributes: Any = None,
    experimental_relax_shapes: bool | None = None,
    experimental_compile: bool | None = None,
    experimental_follow_type_hints: bool | None = None,
    *,
    check_parity: bool = False,
) -> Compiled[P, R_co]: ...


@overload
def function(
    func: None = None,
    input_signature: Any = None,
    autograph: bool = True,
    jit_compile: bool | None = None,
    reduce_retracing: bool = False,
    experimental_implements: str | None = None,
    experimental_autograph_options: Any = None,
    experimental_attributes: Any = None,
    experimental_relax_shapes: bool | None = None,
    experimental_compile: bool | None = None,
    experimental_follow_type_hints: bool | None = None,
    *,
    check_parity: bool = False,
) -> Callable[[Callable[P, R_co]], Compiled[P, R_co]]: ...


@published("function")
def function(
    func: Callable[..., Any] | None = None,
    input_signature: Any = None,
    autograph: bool = True,
    jit_compile: bool | None = None,
    reduce_retracing: bool = False,
    experimental_implements: str | None = None,
    experimental_autograph_options: Any = None,
    experimental_attributes: Any = None,
    experimental_relax_shapes: bool | None = None,
    experimental_compile: bool | None = None,
    experimental_follow_type_hints: bool | None = None,
    *,
    check_parity: bool = False,
) -> Any:
    """Compiles a Python function with XLA: it runs once as Python for each kind of arguments,
    and as a program after that.

    What XLA cannot compile, such as a shape that depends on values, runs on gradtape's own ops
    instead; `jit_compile` insists on XLA.

    With `check_parity`, the first call for each kind of arguments is computed by NumPy too, op by
    op, and an error names the first op whose results differ.

    >>> import gradtape as tf
    >>> @tf.function
    ... def f(x):
    ...     print("tracing")
    ...     return tf.reduce_sum(x * x)
    >>> f(tf.constant([1.0, 2.0])).numpy()
    tracing
    np.float32(5.0)
    >>> f(tf.constant([3.0, 4.0])).numpy()
    np.float32(25.0)
    """
    if func is None:
        return lambda given: function(
            given,
            input_signature,
            autograph,
            jit_compile,
            reduce_retracing,
            experimental_compile=experimental_compile,
            check_parity=check_parity,
        )
    if not callable(func):
        raise TypeError(f"function: func must be callable, got {func!r}.")
    from gradtape.functions.function import Function  # noqa: PLC0415 - loaded by those who compile

    return Function(
        func,
        input_signature=input_signature,
        autograph=autograph,
        reduce_retracing=reduce_retracing,
        check_parity=check_parity,
        must_compile=bool(jit_compile or experimental_compile),
    )
