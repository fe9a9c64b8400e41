"""The segments of isotonic regression: where a sequence must be levelled to become decreasing.

The levelling itself is the mean of each segment.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gradtape.ops.batching import as_it_is
from gradtape.ops.declare import op
from gradtape.ops.op import ON_HOST


def _isotonic_segments(xp: Any, x: Any) -> Any:
    """For each element of the last axis, the number of its segment.

    A value joins the segments before it for as long as the mean of these is lower, so that the
    means of what remains fall.
    """
    flat = x.reshape(-1, x.shape[-1]).astype(np.float64)
    found = np.zeros(flat.shape, np.int64)
    for row, values in enumerate(flat):
        totals: list[float] = []
        counts: list[int] = []
        for value in values.tolist():
            total, count = value, 1
            while totals and totals[-1] * count < total * counts[-1]:
                total += totals.pop()
                count += counts.pop()
            totals.append(total)
            counts.append(count)
        found[row] = np.repeat(np.arange(len(counts)), counts)
    return found.reshape(x.shape)


# The loop of each row is as long as its values make it, which XLA could only run for all rows in
# step.
isotonic_segments = op("isotonic_segments", _isotonic_segments, [None], batch=as_it_is, xla=ON_HOST)
