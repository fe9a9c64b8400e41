"""How near matrices are to singular ones: questions about values, which are not known while a
function is traced.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gradtape.core.batching import BatchedTensor
from gradtape.core.tensor import Tensor
from gradtape.engines.engine import is_traced_array
from gradtape.ops.decompositions import rounding


def known_values(x: Any) -> Any:
    """The values of an array or Tensor, under `vmap` those of the whole batch; None while a
    function is traced.
    """
    while isinstance(x, BatchedTensor):
        x = x.inner
    array = x.array if isinstance(x, Tensor) else x
    return None if is_traced_array(array) else np.asarray(array)


def are_ill_conditioned(x: Any, inverted: Any) -> bool:
    """Whether the product with the inverse of one of these matrices would lose its digits."""
    values = known_values(x)
    condition = np.linalg.norm(values, axis=(-2, -1)) * np.linalg.norm(
        known_values(inverted), axis=(-2, -1)
    )
    return bool(np.any(condition * _small(values) > 1))


def count_large(s: Any) -> int:
    """How many singular values, the largest first, are large in each of some ill-conditioned
    matrices.

    Not all: the norms that call a matrix ill-conditioned are a little larger than its singular
    values.
    """
    values = known_values(s)
    small = np.sum(values <= _small(values) * values[..., :1], axis=-1)
    return values.shape[-1] - max(1, int(np.max(small)))


def _small(x: Any) -> float:
    """The share of the largest singular value up to which one is small:
    two thirds of the digits are left at least.
    """
    return rounding(x) ** (1 / 3)
