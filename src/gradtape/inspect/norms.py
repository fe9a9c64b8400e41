"""The size of the gradient at each op, from the target back to the sources."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from gradtape.core.node import Node
from gradtape.core.recording import Recording
from gradtape.engines.numpy.engine import Quiet
from gradtape.inspect.backward import WalkAgain


class Norms(WalkAgain):
    """The Euclidean norm of every cotangent of a walk, and the shape and dtype of what it is the
    cotangent of, by Node. `seed` is the norm with which the walk begins. `failure` is the error of
    a gradient function that ended the walk, which was that of the Node `at`.
    """

    failure: Exception | None = None

    def __init__(
        self, recording: Recording, seeds: dict[Node, Any], sources: Iterable[Node] | None = None
    ) -> None:
        self.norms: dict[Node, float] = {}
        self.shapes: dict[Node, str] = {}
        try:
            super().__init__(recording, seeds, sources)
        except Exception as error:  # noqa: BLE001 - of user code
            self.failure, self.gradients = error, {}
        for node, gradient in self.gradients.items():
            self.look_at(node, gradient, (), ())
        self.seed = norm(list(self.seeds.values()))

    def look_at(
        self, node: Node, total: Any, parents: Sequence[Node | None], pulled: Sequence[Any]
    ) -> None:
        arrays = list(total.values()) if type(total) is dict else [total]
        self.norms[node] = norm(arrays)
        self.shapes[node] = ", ".join([dtype_and_shape(array) for array in arrays])


def norm(arrays: Sequence[Any]) -> float:
    """The Euclidean norm of all elements: in float64, and scaled, so that neither tiny nor huge
    ones are lost.
    """
    largest, total = 0.0, 0.0
    sizes = [np.abs(np.asarray(array)).astype(np.float64).ravel() for array in arrays]
    with Quiet():
        largest = max([float(size.max()) for size in sizes if size.size], default=0.0)
        if largest == 0 or not np.isfinite(largest):
            return largest
        total = sum([float(np.sum(np.square(size / largest))) for size in sizes])
    return largest * float(np.sqrt(total))


def dtype_and_shape(array: Any) -> str:
    """The dtype and the shape of an array."""
    array = np.asarray(array)
    return f"{array.dtype}[{', '.join(map(str, array.shape))}]"
