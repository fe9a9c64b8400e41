"""The results of a row and their derivatives, in whichever library it is given."""

from __future__ import annotations

from typing import Any

import numpy as np
from table import Row

FLOATING = ("float", "complex", "bfloat")


def outcome(tf: Any, row: Row, arrays: list[Any], order: int) -> list[Any]:
    """The results of a row; for order 1, the gradients of their weighted sum by every
    differentiated argument, and so on.
    """

    def of_order(order):
        if order == 0:
            return tf.nest.flatten(row(tf, *inputs))
        with tf.GradientTape() as tape:
            tape.watch(sources)
            total = weighted(tf, of_order(order - 1), order - 1)
        return [None] * len(sources) if total is None else tape.gradient(total, sources)

    inputs = [tf.constant(a) if isinstance(a, np.ndarray) else a for a in arrays]
    sources = [inputs[i] for i in row.wanted]
    return of_order(order)


def weighted(tf: Any, results: list[Any], seed: int) -> Any:
    """A real number that depends on each element of the floating results in another way;
    None if there are none.
    """
    rng = np.random.default_rng(seed)
    total = None
    for result in results:
        if not tf.is_tensor(result) or not result.dtype.name.startswith(FLOATING):
            continue
        dense = tf.convert_to_tensor(result)
        weights = rng.uniform(0.5, 1.5, tuple(dense.shape))
        if dense.dtype.is_complex:
            weights = weights + 1j * rng.uniform(0.5, 1.5, tuple(dense.shape))
        term = tf.math.real(tf.reduce_sum(tf.cast(dense, weights.dtype) * tf.constant(weights)))
        total = term if total is None else total + term
    return total
