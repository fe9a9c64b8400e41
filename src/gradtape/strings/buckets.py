"""`tf.strings.to_hash_bucket` and related functions: a number for each string, the same in every
process and in TensorFlow.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gradtape.api.tensorflow.arguments import as_int, integers
from gradtape.core.tensor import Tensor
from gradtape.errors import invalid_argument
from gradtape.published import published
from gradtape.ragged.tensor import RaggedTensor
from gradtape.strings.hashing import fingerprint64, hash64, hashes, siphash
from gradtape.strings.texts import texts


@published("strings.to_hash_bucket_fast")
def to_hash_bucket_fast(input: Any, num_buckets: int, name: str | None = None) -> Any:
    """The bucket of each string: FarmHash's Fingerprint64, modulo `num_buckets`.

    >>> import gradtape as tf
    >>> tf.strings.to_hash_bucket_fast(["Hello", "TensorFlow", "2.x"], 3).numpy()
    array([0, 2, 2])
    """
    return _buckets(input, num_buckets, fingerprint64, "to_hash_bucket_fast")


@published("strings.to_hash_bucket")
def to_hash_bucket(input: Any, num_buckets: int, name: str | None = None) -> Any:
    """The bucket of each string by TensorFlow's older hash, modulo `num_buckets`.

    >>> import gradtape as tf
    >>> tf.strings.to_hash_bucket(["a", "bc"], 1000).numpy()
    array([868, 262])
    """
    return _buckets(input, num_buckets, hash64, "to_hash_bucket")


@published("strings.to_hash_bucket_strong")
def to_hash_bucket_strong(
    input: Any, num_buckets: int, key: Sequence[int], name: str | None = None
) -> Any:
    """The bucket of each string by SipHash with a `key` of two integers, for strings from people
    who would like them to collide.

    >>> import gradtape as tf
    >>> tf.strings.to_hash_bucket_strong(["a", "bc"], 1000, key=[1, 2]).numpy()
    array([646, 507])
    """
    words = integers(key, "to_hash_bucket_strong: key")
    if len(words) != 2:
        raise invalid_argument(
            f"to_hash_bucket_strong: key must have two integers, got {len(words)}."
        )
    return _buckets(input, num_buckets, siphash(words), "to_hash_bucket_strong")


def _buckets(
    input: Any, num_buckets: Any, of_equal_lengths: Callable[[Any], Any], function: str
) -> Any:
    count = as_int(num_buckets, f"{function}: num_buckets")
    if count < 1:
        raise invalid_argument(f"{function}: num_buckets must be at least 1, got {count}.")
    if isinstance(input, RaggedTensor):
        return input.with_flat_values(
            _buckets(input.flat_values, count, of_equal_lengths, function)
        )
    array = texts(input, f"{function}: input")
    found = hashes(array.reshape(-1).tolist(), of_equal_lengths) % np.uint64(count)
    return Tensor(found.astype(np.int64).reshape(array.shape)[()])
