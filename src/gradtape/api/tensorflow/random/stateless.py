"""Random numbers of `tf.random` that are pure functions of a seed: `stateless_normal` and related
functions.

A compiled program computes them when it runs, even from a seed that is known only then.
"""

from __future__ import annotations

from enum import Enum
from typing import Any

from gradtape import dtypes
from gradtape.api.tensorflow.accepted import Kind, of_kind
from gradtape.api.tensorflow.arguments import DTypeLike, ShapeLike, TensorLike, as_int, as_shape
from gradtape.api.tensorflow.random import draws
from gradtape.convert import TENSORFLOW, as_indices, on_host
from gradtape.core.batching import BatchedTensor
from gradtape.core.tensor import Tensor
from gradtape.core.xla.tensor import is_traced
from gradtape.errors import invalid_argument
from gradtape.ops.shaping import unstack
from gradtape.published import published

_SEED = Kind("int32 or int64", frozenset((dtypes.int32.numpy, dtypes.int64.numpy)))


@published("random.Algorithm", "random.experimental.Algorithm")
class Algorithm(Enum):
    """The names of random number generators; gradtape has one, Philox, and takes the others for it.

    >>> import gradtape as tf
    >>> tf.random.Algorithm.PHILOX.value
    1
    """

    PHILOX = 1
    THREEFRY = 2
    AUTO_SELECT = 3


def as_algorithm(alg: Any, function: str) -> Algorithm:
    """The algorithm of an `alg` argument: an `Algorithm`, its name or its number."""
    try:
        return Algorithm[alg.upper()] if isinstance(alg, str) else Algorithm(alg)
    except (KeyError, ValueError):
        raise ValueError(
            f"{function}: alg must be 'philox', 'threefry' or 'auto_select', got {alg!r}."
        ) from None


def _seed(seed: Any, function: str) -> Tensor:
    """A seed: a vector of two integers."""
    found = of_kind(seed, _SEED, function, "seed")
    if found.array.shape != (2,):
        raise invalid_argument(
            f"{function}: seed must be a vector of two integers, got shape {found.shape}."
        )
    return found


def stateless_source(seed: Any, function: str, alg: Any = "auto_select") -> Any:
    """The numbers that belong to a seed."""
    as_algorithm(alg, function)
    found = _seed(seed, function)
    if isinstance(found, BatchedTensor):
        return draws.SourceOfExamples(draws.in_all_examples(found))
    return draws.source(_words(found), each=False)


def _words(seed: Tensor) -> list[Any]:
    """The two words of a seed, as scalars of a program if that alone will know them."""
    return (
        [word.array for word in unstack(seed, axis=0)]
        if is_traced(seed)
        else on_host(seed.array).tolist()
    )


@published("random.stateless_normal")
def stateless_normal(
    shape: ShapeLike,
    seed: TensorLike,
    mean: TensorLike = 0.0,
    stddev: TensorLike = 1.0,
    dtype: DTypeLike = dtypes.float32,
    name: str | None = None,
    alg: Any = "auto_select",
) -> Tensor:
    """Numbers of the normal distribution, always the same for one `seed` of two integers.

    >>> import gradtape as tf
    >>> first, second = (tf.random.stateless_normal([3], seed=[1, 2]) for _ in range(2))
    >>> bool(tf.reduce_all(first == second))
    True
    """
    return draws.normal(
        stateless_source(seed, "stateless_normal", alg),
        shape,
        mean,
        stddev,
        dtype,
        "stateless_normal",
    )


@published("random.stateless_truncated_normal")
def stateless_truncated_normal(
    shape: ShapeLike,
    seed: TensorLike,
    mean: TensorLike = 0.0,
    stddev: TensorLike = 1.0,
    dtype: DTypeLike = dtypes.float32,
    name: str | None = None,
    alg: Any = "auto_select",
) -> Tensor:
    """Numbers of the normal distribution within two deviations, always the same for one `seed`.

    >>> import gradtape as tf
    >>> tf.random.stateless_truncated_normal([2], seed=[1, 2]).shape
    TensorShape([2])
    """
    function = "stateless_truncated_normal"
    return draws.normal(
        stateless_source(seed, function, alg),
        shape,
        mean,
        stddev,
        dtype,
        function,
        draws.truncated_normals,
    )


@published("random.stateless_parameterized_truncated_normal")
def stateless_parameterized_truncated_normal(
    shape: ShapeLike,
    seed: TensorLike,
    means: TensorLike = 0.0,
    stddevs: TensorLike = 1.0,
    minvals: TensorLike = -2.0,
    maxvals: TensorLike = 2.0,
    name: str | None = None,
) -> Tensor:
    """Numbers of the normal distribution between `minvals` and `maxvals`,
    always the same for one `seed`.

    >>> import gradtape as tf
    >>> x = tf.random.stateless_parameterized_truncated_normal(
    ...     [100], seed=[1, 2], minvals=0.5, maxvals=1.0
    ... )
    >>> bool(tf.reduce_min(x) >= 0.5) and bool(tf.reduce_max(x) <= 1.0)
    True
    """
    function = "stateless_parameterized_truncated_normal"
    return draws.bounded_normal(
        stateless_source(seed, function), shape, [means, stddevs, minvals, maxvals], function
    )


@published("random.stateless_uniform")
def stateless_uniform(
    shape: ShapeLike,
    seed: TensorLike,
    minval: TensorLike | None = 0,
    maxval: TensorLike | None = None,
    dtype: DTypeLike = dtypes.float32,
    name: str | None = None,
    alg: Any = "auto_select",
) -> Tensor:
    """Numbers spread evenly over [minval, maxval), always the same for one `seed`;
    integers of all sizes if both are None.

    >>> import gradtape as tf
    >>> bool(tf.random.stateless_uniform([], seed=[1, 2], maxval=10, dtype=tf.int32) < 10)
    True
    """
    return uniform_from(
        stateless_source(seed, "stateless_uniform", alg),
        shape,
        minval,
        maxval,
        dtype,
        "stateless_uniform",
    )


def uniform_from(
    numbers: draws.Source, shape: Any, minval: Any, maxval: Any, dtype: Any, function: str
) -> Tensor:
    """Uniform numbers with the rules that the stateless functions and `Generator` have for
    integers.
    """
    wanted = dtypes.as_dtype(dtype)
    if not (wanted.is_floating or wanted.is_integer):
        raise ValueError(
            f"{function}: dtype must be a floating-point or integer dtype, got {wanted.name}."
        )
    if wanted.is_integer and (minval is None) != (maxval is None):
        raise ValueError(
            f"{function}: for dtype {wanted.name}, give minval and maxval, or None for both; got "
            f"{minval!r} and {maxval!r}."
        )
    if wanted.is_unsigned and minval is not None:
        raise ValueError(
            f"{function}: minval and maxval must be None for unsigned dtypes: use a signed dtype "
            "to give them."
        )
    return draws.uniform(numbers, shape, minval, maxval, wanted, function)


@published("random.stateless_categorical")
def stateless_categorical(
    logits: TensorLike,
    num_samples: int,
    seed: TensorLike,
    dtype: DTypeLike = dtypes.int64,
    name: str | None = None,
) -> Tensor:
    """For each row of `logits`, classes drawn with the probabilities `softmax(logits)`,
    always the same for one `seed`.

    >>> import gradtape as tf
    >>> tf.random.stateless_categorical([[-100.0, 100.0]], num_samples=3, seed=[1, 2]).numpy()
    array([[1, 1, 1]])
    """
    return draws.categories(
        stateless_source(seed, "stateless_categorical"),
        logits,
        num_samples,
        dtype,
        "stateless_categorical",
    )


@published("random.stateless_gamma")
def stateless_gamma(
    shape: ShapeLike,
    seed: TensorLike,
    alpha: TensorLike,
    beta: TensorLike | None = None,
    dtype: DTypeLike = dtypes.float32,
    name: str | None = None,
) -> Tensor:
    """Numbers of the gamma distribution, always the same for one `seed`;
    `shape` ends with that of the parameters.

    >>> import gradtape as tf
    >>> tf.random.stateless_gamma([10, 2], seed=[1, 2], alpha=[0.5, 1.5]).shape
    TensorShape([10, 2])
    """
    function = "stateless_gamma"
    shapes = [
        () if value is None else TENSORFLOW.tensor(value, function).array.shape
        for value in (alpha, beta)
    ]
    end = draws.broadcast_shape(*shapes, function=function)
    wanted = draws.ending_in(shape, end, function)
    return draws.gamma(
        stateless_source(seed, function),
        wanted[: len(wanted) - len(end)],
        alpha,
        beta,
        dtype,
        function,
    )


@published("random.stateless_poisson")
def stateless_poisson(
    shape: ShapeLike,
    seed: TensorLike,
    lam: TensorLike,
    dtype: DTypeLike = dtypes.int32,
    name: str | None = None,
) -> Tensor:
    """Numbers of the Poisson distribution, always the same for one `seed`;
    `shape` ends with that of `lam`.

    >>> import gradtape as tf
    >>> tf.random.stateless_poisson([10, 2], seed=[1, 2], lam=[0.5, 1.5]).dtype
    tf.int32
    """
    function = "stateless_poisson"
    rates = TENSORFLOW.tensor(lam, f"{function}: lam").array
    return draws.poisson(
        stateless_source(seed, function),
        draws.ending_in(shape, rates.shape, function),
        rates,
        dtype,
        function,
    )


@published("random.stateless_binomial")
def stateless_binomial(
    shape: ShapeLike,
    seed: TensorLike,
    counts: TensorLike,
    probs: TensorLike,
    output_dtype: DTypeLike = dtypes.int32,
    name: str | None = None,
) -> Tensor:
    """How many of `counts` trials succeed with probability `probs`, always the same for one `seed`.

    >>> import gradtape as tf
    >>> tf.random.stateless_binomial([3], seed=[1, 2], counts=10.0, probs=1.0).numpy()
    array([10, 10, 10], dtype=int32)
    """
    return draws.binomial(
        stateless_source(seed, "stateless_binomial"),
        shape,
        counts,
        probs,
        output_dtype,
        "stateless_binomial",
    )


@published("random.experimental.stateless_shuffle")
def stateless_shuffle(
    value: TensorLike, seed: TensorLike, alg: Any = "auto_select", name: str | None = None
) -> Tensor:
    """The rows of `value` in an order that is always the same for one `seed`.

    >>> import gradtape as tf
    >>> sorted(tf.random.experimental.stateless_shuffle([1, 2, 3], seed=[1, 2]).numpy().tolist())
    [1, 2, 3]
    """
    return draws.shuffled(
        stateless_source(seed, "stateless_shuffle", alg), value, "stateless_shuffle"
    )


@published("random.split", "random.experimental.stateless_split")
def split(seed: TensorLike, num: int = 2, alg: Any = "auto_select") -> Tensor:
    """`num` new seeds from one, as the rows of a matrix.

    >>> import gradtape as tf
    >>> tf.random.split([1, 2], num=3).shape
    TensorShape([3, 2])
    """
    dtype = _seed(seed, "split").array.dtype
    return stateless_source(seed, "split", alg).tensor(
        draws.full_integers, (*as_shape([num], "split: num"), 2), dtype
    )


@published("random.fold_in", "random.experimental.stateless_fold_in")
def fold_in(seed: TensorLike, data: TensorLike, alg: Any = "auto_select") -> Tensor:
    """A new seed from one and an integer, such as the number of a step.

    >>> import gradtape as tf
    >>> tf.random.fold_in([1, 2], 7).shape
    TensorShape([2])
    """
    as_algorithm(alg, "fold_in")
    old = _seed(seed, "fold_in")
    number = (
        as_indices(data, "fold_in: data").array
        if is_traced(data)
        else as_int(data, "fold_in: data")
    )
    mixed = draws.source(_words(old), (number, 1), each=False)
    return mixed.tensor(draws.full_integers, (2,), old.array.dtype)
