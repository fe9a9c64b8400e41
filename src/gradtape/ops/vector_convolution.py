"""The convolution of two vectors, in full or only where they overlap completely: each is the
derivative of the other.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gradtape.ops import jets, links
from gradtape.ops.declare import op
from gradtape.ops.shaping import reverse


def _convolve(xp: Any, a: Any, v: Any, *, full: bool) -> Any:
    """All sums of products, or those in which every element of `v`,
    which is not the longer one, takes part.
    """
    if a.ndim != 1 or v.ndim != 1 or not a.size or not v.size:
        raise ValueError("both arguments must be vectors with at least one element")
    if not full and a.size < v.size:
        raise ValueError("the second vector must not be longer than the first")
    # JAX makes floats of integers.
    return xp.convolve(a, v, mode="full" if full else "valid").astype(a.dtype, copy=False)


def _by_a(g: Any, v: Any, full: bool) -> Any:
    return convolve(g, reverse(v, axis=(0,)), full=not full)


def _by_v(g: Any, a: Any, full: bool) -> Any:
    if full:
        return convolve(g, reverse(a, axis=(0,)), full=False)
    return reverse(convolve(a, reverse(g, axis=(0,)), full=False), axis=(0,))


def _links(call: links.LinkedCall, index: int) -> links.Link:
    """Each element with as many others in a row as the other vector is long; by a vector that is
    moved inside it, with all.
    """
    (size,), (input_size,) = call.shape, call.inputs[index]
    first = np.arange(min(size, input_size))
    cut = links.pairs(first, first, size, input_size)
    width = abs(size - input_size) + 1
    if call.params["full"]:
        return links.Link(
            cut, *[links.pairs(*link, size, size) for link in links.united_backwards(size, width)]
        )
    if index == 1:
        return links.aligned(call.shape, "o", call.inputs[1], "i")
    return links.Link(
        *[
            links.pairs(*link[::-1], input_size, input_size)
            for link in links.united_backwards(input_size, width)
        ],
        cut,
    )


convolve = op("convolve", _convolve, [_by_a, _by_v], jet=jets.bilinear, links=_links)
