"""`BatchedTensor`: what a function sees under `vmap`, one example of a batch, without the batch
axis.

Its values are those of `inner`, a Tensor with the batch as its first axis. Ops compute with the
inner Tensors, which tapes outside the `vmap` record, and tapes inside it record the BatchedTensors;
so tapes work on either side.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from gradtape.blocks import Block, block
from gradtape.core.node import Node
from gradtape.core.tensor import Tensor
from gradtape.core.thread import Recorder, here
from gradtape.published import shown


class Level(Block):
    """One `vmap` that is running: how many examples it has, and what records outside it."""

    __slots__ = ("depth", "outside", "size")

    def __init__(self, size: int) -> None:
        self.size = size
        self.outside: tuple[Recorder, ...] = here.state.recorders
        self.depth = len(here.state.levels)

    def split(self) -> tuple[list[Recorder], list[Recorder]]:
        """What records now, split into what was entered before this `vmap` and what was entered
        inside it.
        """
        now = here.state.recorders
        before = [r for r in now if any(r is other for other in self.outside)]
        return before, [r for r in now if not any(r is other for other in self.outside)]

    def enter(self) -> None:
        here.state.levels = (*here.state.levels, self)

    def leave(self) -> None:
        here.state.levels = here.state.levels[: self.depth]

    @block
    def left(self) -> Iterator[None]:
        """Runs a block on the whole batch, as if this `vmap` were not running."""
        state, before = here.state, here.state.levels
        state.levels = tuple(level for level in before if level is not self)
        try:
            yield
        finally:
            state.levels = before

    @block
    def again(self) -> Iterator[None]:
        """Runs a block on this level's batch after the `vmap` has ended,
        inside what records now.
        """
        state, before = here.state, (self.outside, here.state.levels)
        self.outside, state.levels = state.recorders, (*state.levels, self)
        try:
            yield
        finally:
            self.outside, state.levels = before


class Abstract:
    """Takes the place of a Tensor's array when there is no single array: shape and dtype are known,
    values are not.
    """

    __slots__ = ("dtype", "shape")

    def __init__(self, shape: tuple[int, ...], dtype: Any) -> None:
        self.shape = shape
        self.dtype = dtype

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    def __len__(self) -> int:
        return self.shape[0]

    def __getattr__(self, name: str) -> Any:
        raise TypeError(
            f"A tensor inside vmap or vectorized_map has no single value, so '{name}' is not "
            "available: use gradtape functions on it, such as gradtape.where instead of a Python "
            "if, and return what is to be assigned to a Variable."
        )

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        return self.values

    def __bool__(self) -> bool:
        return bool(self.values)

    def __repr__(self) -> str:
        return f"<one example of a batch, shape={self.shape}, dtype={self.dtype}>"


class BatchedTensor(Tensor):
    """One example of a batch, as a function under `vmap` sees it."""

    __slots__ = ("inner", "level")

    def __init__(self, inner: Tensor, level: Level, node: Node | None = None) -> None:
        super().__init__(Abstract(tuple(inner.array.shape[1:]), inner.array.dtype), node)
        self.inner = inner
        self.level = level

    def with_node(self, node: Node | None) -> BatchedTensor:
        """The same values, recorded by another Node."""
        return BatchedTensor(self.inner, self.level, node)

    def __dir__(self) -> list[str]:
        return shown(super().__dir__(), "inner", "level")

    def __repr__(self) -> str:
        return (
            f"<tf.Tensor: shape={self.shape}, dtype={self.dtype.name}, one example "
            "of a batch of "
            f"{self.level.size}>"
        )

    __str__ = __repr__


def in_all_examples(tensor: Tensor) -> Any:
    """The array of a tensor; for one example of a batch, that of the whole batch."""
    while isinstance(tensor, BatchedTensor):
        tensor = tensor.inner
    return tensor.array
