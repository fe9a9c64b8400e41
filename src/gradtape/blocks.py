"""`Block`: a context manager that is always left, even if a signal interrupts its `__enter__` or
`__exit__`.

An exception raised by a signal handler, such as Ctrl-C's KeyboardInterrupt, can arrive when
`__exit__` has been called but its first line has not run yet, or when all of `__enter__` has run:
then Python never leaves the block, and what it set up would stay for ever. But even then Python
releases the `__exit__` that it fetched. So `__exit__` is an object of its own here, and the block
is left when that object is freed, if it has not been left by then.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ContextDecorator
from functools import partial, wraps
from typing import Any, ParamSpec, Self
from weakref import ref

P = ParamSpec("P")


class _Exit:
    """The `__exit__` of a Block, made anew each time it is fetched: what nobody holds any more has
    been called, or never will be.
    """

    def __get__(self, block: Block | None, owner: type | None = None) -> Callable[..., None]:
        if block is None:
            return _leave
        exit = partial(_leave, block)
        # Else it is in use already, and fetched by somebody who looks at it.
        if block.ending is None:
            block.ending = ref(exit, block._is_gone)
        return exit


def _leave(block: Block, *exception: object) -> None:
    block.leave()
    block.ending = None


class Block:
    """Something with a beginning and an end.

    `leave` may be called again after a call that was interrupted.
    """

    ending: Any = None
    _instead_of_a_copy = "make another one where you need it."

    __exit__ = _Exit()

    def enter(self) -> None:
        """Begins."""

    def leave(self) -> None:
        """Ends."""

    def __enter__(self) -> Self:
        self.enter()
        return self

    def __reduce_ex__(self, protocol: Any) -> Any:
        """Refuses copies: two would begin and end the same thing."""
        raise TypeError(
            f"A {self._kind()} belongs to one thread of this process and cannot be copied or "
            f"pickled: {self._instead_of_a_copy}"
        )

    def _kind(self) -> str:
        return type(self).__name__

    def _is_gone(self, exit: Any) -> None:
        if self.ending is exit:
            self.leave()
            self.ending = None


class _GeneratorBlock(Block, ContextDecorator):
    """A generator that yields once, as `contextlib.contextmanager` has it.

    It hears of no exception, only of the end.
    """

    def __init__(self, make: Callable[[], Iterator[None]]) -> None:
        self._make = make
        self._generator: Any = None

    def _kind(self) -> str:
        return f"block of {getattr(self._make, 'func', self._make).__name__}"

    def enter(self) -> None:
        self._generator = self._make()
        next(self._generator)

    def __enter__(self) -> None:  # type: ignore[override]  # as `contextmanager` has it
        self.enter()

    def leave(self) -> None:
        if self._generator is not None:
            self._generator.close()

    def _recreate_cm(self) -> _GeneratorBlock:
        return _GeneratorBlock(self._make)


def block(function: Callable[P, Iterator[None]]) -> Callable[P, _GeneratorBlock]:
    """A Block made of a generator function.

    What stands in its `finally` is best a plain assignment, which nothing can interrupt.
    """

    @wraps(function)
    def make(*args: P.args, **kwargs: P.kwargs) -> _GeneratorBlock:
        return _GeneratorBlock(partial(function, *args, **kwargs))

    return make
