"""`pad_to_bucket`: few sizes in place of many, for programs that are compiled for each size."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

import numpy as np

from gradtape.api.tensorflow.arguments import TensorLike, integers, one_axis
from gradtape.api.tensorflow.shaping import pad
from gradtape.convert import TENSORFLOW
from gradtape.core.composite import takes_composites
from gradtape.core.tensor import Tensor
from gradtape.errors import invalid_argument
from gradtape.published import published


@published("pad_to_bucket")
@takes_composites
def pad_to_bucket(
    tensor: TensorLike,
    buckets: Sequence[int] | None = None,
    axis: int = 1,
    constant_values: TensorLike = 0,
    name: str | None = None,
) -> tuple[Tensor, Tensor]:
    """`tensor`, padded at the end of `axis` to the smallest size among `buckets` that holds it,
    and a mask of that size, true where elements were there before.

    Sequences of many lengths then have few shapes, so that a compiled function is compiled a few
    times. Without `buckets` the sizes are the powers of two. Of a RaggedTensor, the rows are padded
    to one size, and the mask has a row for each.

    >>> import gradtape as tf
    >>> padded, mask = tf.pad_to_bucket([[1, 2, 3], [4, 5, 6]], [4, 8])
    >>> padded.numpy(), mask.numpy()
    (array([[1, 2, 3, 0],
           [4, 5, 6, 0]], dtype=int32), array([ True,  True,  True, False]))
    """
    x = TENSORFLOW.tensor(tensor, "pad_to_bucket: tensor")
    sizes = x.array.shape
    place = one_axis(axis, len(sizes), "pad_to_bucket: axis")
    added = bucket_of(sizes[place], buckets) - sizes[place]
    widths = [(0, added if i == place else 0) for i in range(len(sizes))]
    mask = np.arange(sizes[place] + added) < sizes[place]
    return pad(x, widths, constant_values=constant_values), Tensor(mask)


def bucket_of(size: int, buckets: Sequence[int] | None) -> int:
    """The smallest bucket that holds so many; the next power of two if there are none."""
    if buckets is None:
        return 1 << (size - 1).bit_length() if size else 1
    given = sorted(integers(buckets, "pad_to_bucket: buckets"))
    if not given or given[0] < 1:
        raise invalid_argument(
            f"pad_to_bucket: buckets must be sizes of at least 1, got {list(given)}."
        )
    found = bisect_left(given, size)
    if found == len(given):
        raise invalid_argument(
            f"pad_to_bucket: no bucket holds {size} elements; the greatest is {given[-1]}. Add a "
            "greater one, or cut the tensor."
        )
    return given[found]
