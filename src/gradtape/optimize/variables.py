"""`FlatVariables`: Variables of any shapes and dtypes as one vector in double precision."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradtape import nest
from gradtape.core.needed_ops import needed
from gradtape.core.tape_arguments import source_object
from gradtape.core.tensor import Tensor
from gradtape.core.variable import Variable
from gradtape.ops.shaping import concat, reshape

DOUBLE = np.dtype(np.float64)


class FlatVariables:
    """The Variables of a structure, or those that a model or module trains."""

    def __init__(self, variables: Any, who: str) -> None:
        trained = getattr(variables, "trainable_variables", None)
        leaves = nest.flatten(variables if trained is None else list(trained))
        self.variables: list[Variable] = []
        for leaf in map(source_object, leaves):
            if not isinstance(leaf, Variable):
                raise TypeError(
                    f"{who}: variables must be Variables, a structure of them, or a model, got "
                    f"{leaf!r} of type {type(leaf).__name__}."
                )
            if leaf.array.dtype.kind not in "fV":
                raise TypeError(
                    f"{who}: variables must be real and floating, but '{leaf.name}' has dtype "
                    f"{leaf.dtype.name}."
                )
            if not any(leaf is other for other in self.variables):
                self.variables.append(leaf)
        if not self.variables:
            raise ValueError(
                f"{who}: there are no variables to change: a Keras model has some once it is built."
            )
        self._ends = np.cumsum([v.array.size for v in self.variables])

    def read(self) -> Any:
        """Their values."""
        parts = [v.numpy().astype(np.float64).reshape(-1) for v in self.variables]
        return np.concatenate(parts)

    def _split(self, x: Any) -> list[Any]:
        parts = np.split(x, self._ends[:-1])
        return [
            part.reshape(v.array.shape).astype(v.array.dtype)
            for v, part in zip(self.variables, parts, strict=True)
        ]

    def write(self, x: Any) -> None:
        """Gives them other values."""
        for variable, part in zip(self.variables, self._split(x), strict=True):
            variable.assign(part)

    def write_all(self, x: Any) -> None:
        """The same, also if a signal's handler raises an exception meanwhile."""
        try:
            self.write(x)
        except BaseException:
            self.write(x)
            raise

    def tensors(self, x: Any) -> list[Tensor]:
        """A vector of their size, such as a direction, as Tensors of their shapes."""
        return [Tensor(part) for part in self._split(x)]

    def joined(self, gradients: list[Tensor]) -> Tensor:
        """Gradients as one vector, in the dtype of all of them, or in double precision."""
        flat = [
            reshape(g, shape=(v.array.size,))
            for v, g in zip(self.variables, gradients, strict=True)
        ]
        if len({g.array.dtype for g in flat}) > 1:
            flat = [g if g.array.dtype == DOUBLE else needed.cast(g, dtype=DOUBLE) for g in flat]
        return concat(*flat, axis=0)
