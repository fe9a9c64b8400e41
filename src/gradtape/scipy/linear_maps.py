"""`linear_on_host`: a linear map that SciPy computes, such as a solve with a sparse matrix, as an
op.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from gradtape.bridge.foreign import OnHost, Recorded, call
from gradtape.core.tensor import Tensor

Map = Callable[[Any], Any]


def linear_on_host(name: str, forward: Map, backward: Map, x: Tensor) -> Tensor:
    """`forward(x)`, a real linear map along the first axis of a matrix, whose other axis has
    columns that do not meet; `backward` is its transpose.
    """
    (result,) = call(_LinearCall(name, forward, backward), [x])
    return result


def solves_with(matrix: Any) -> tuple[Map, Map]:
    """Solves with a sparse matrix, and with its transpose."""
    from scipy.sparse.linalg import splu  # noqa: PLC0415

    factors = splu(matrix.tocsc())
    return (
        lambda a: factors.solve(np.asarray(a, np.float64)),
        lambda a: factors.solve(np.asarray(a, np.float64), trans="T"),
    )


class _LinearCall(OnHost):
    """A linear map as an op, of matrices with `depth` batch axes."""

    def __init__(self, name: str, forward: Map, backward: Map, depth: int = 0) -> None:
        self.name = name
        self._forward, self._backward, self._depth = forward, backward, depth

    def on_arrays(self, arrays: list[Any]) -> list[Any]:
        (x,) = arrays
        columns = np.moveaxis(x, self._depth, 0)
        flat = columns.reshape(len(columns), -1)
        if flat.dtype.kind == "c":
            found = self._forward(flat.real) + 1j * self._forward(flat.imag)
        else:
            found = self._forward(flat)
        found = np.asarray(found).reshape(-1, *columns.shape[1:])
        return [np.ascontiguousarray(np.moveaxis(found, 0, self._depth), dtype=x.dtype)]

    def pull(
        self,
        inputs: Sequence[Tensor],
        recorded: Recorded,
        g: Mapping[int, Tensor],
        wanted: Sequence[int],
    ) -> Sequence[Tensor | None]:
        return call(_LinearCall(self.name, self._backward, self._forward, self._depth), [g[0]])

    def push(
        self, inputs: Sequence[Tensor], tangents: Mapping[int, Tensor], outputs: Sequence[Any]
    ) -> Mapping[int, Tensor | None]:
        return dict(enumerate(call(self, [tangents[0]])))

    def call_on_batch(
        self, size: int, mapped: Sequence[bool], inputs: Sequence[Tensor]
    ) -> list[Tensor]:
        deeper = _LinearCall(self.name, self._forward, self._backward, self._depth + 1)
        return call(deeper, inputs)
