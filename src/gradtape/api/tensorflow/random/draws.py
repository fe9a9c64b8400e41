"""What all functions of `tf.random` share: arrays of random numbers from a generator,
and Tensors made of them.

A `Source` is made for one call, so that threads share nothing and a call's numbers depend only on
its key. Means, deviations and bounds are applied by recorded arithmetic, so they have gradients.
The generator is NumPy's in eager code. A program that is being traced draws from XLA's,
`XlaRandom`, whose key it computes when it runs.
"""

# mypy: disable-error-code="no-any-return"
# An op gives a Tensor for Tensors and an array for arrays, so its result is Any; here the arguments
# are Tensors.

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from copy import deepcopy
from typing import TYPE_CHECKING, Any, NamedTuple

import ml_dtypes
import numpy as np

from gradtape import dtypes
from gradtape.api.tensorflow.accepted import FLOATING, REAL, of_kind
from gradtape.api.tensorflow.arguments import as_int, as_shape
from gradtape.convert import TENSORFLOW, as_tensor, on_host
from gradtape.core.batching import BatchedTensor
from gradtape.core.device import placed
from gradtape.core.tensor import Tensor
from gradtape.core.thread import IN_A_FUNCTION, here
from gradtape.core.xla.placement import XlaDevice
from gradtape.core.xla.tensor import is_traced, tensor_of
from gradtape.core.xla.trace import inside_a_program
from gradtape.engines.engine import NUMPY, engine_of, is_traced_array
from gradtape.engines.xla import random as xla_random
from gradtape.engines.xla.random import XlaRandom
from gradtape.errors import invalid_argument
from gradtape.ops.broadcasting import broadcast_to, cast
from gradtape.ops.indexing import take
from gradtape.ops.sampling import class_of, gamma_sample, truncated_sample

if TYPE_CHECKING:
    # NumPy loads its random module when a number is first drawn.
    RNG = np.random.Generator | XlaRandom

Shape = tuple[int, ...]

_MASK = (1 << 64) - 1


class Source(NamedTuple):
    """The numbers of one call; under `vmap`, either `each` example gets its own or all get the
    same.
    """

    rng: Any
    each: bool

    def array(self, sample: Callable[..., Any], shape: Shape, *params: Any) -> Any:
        """`sample(rng, shape, *params)`."""
        if not isinstance(self.rng, XlaRandom):
            return sample(self.rng, shape, *params)
        drawn = self.rng.draw(sample, shape, *params)
        return drawn if here.state.op_by_op is None else on_host(drawn)

    def tensor(self, sample: Callable[..., Any], shape: Shape, *params: Any) -> Tensor:
        """`sample(rng, shape, *params)` as a Tensor."""
        levels = here.state.levels if self.each else ()
        drawn = self._drawn(sample, (*[level.size for level in levels], *shape), params)
        for level in levels:
            drawn = BatchedTensor(drawn, level)
        return drawn

    def _drawn(self, sample: Callable[..., Any], shape: Shape, params: tuple[Any, ...]) -> Tensor:
        """A draw.

        A program that is being traced keeps it as a call: run again under `vmap`, each example gets
        its own numbers.
        """
        trace = here.state.trace
        if trace is None or not isinstance(self.rng, XlaRandom):
            return placed(self.array(sample, shape, *params))
        (pair, draws), each = self.rng.state, self.each
        traced = [i for i, value in enumerate(params) if is_traced_array(value)]

        def again(tensors: list[Tensor]) -> list[Tensor]:
            values = dict(zip(traced, [t.array for t in tensors[1:]], strict=True))
            rng = XlaRandom.at(tensors[0].array, draws)
            return [
                Source(rng, each and not here.state.same_draws).tensor(
                    sample, shape, *[values.get(i, value) for i, value in enumerate(params)]
                )
            ]

        given = trace.taken_in([tensor_of(pair), *(tensor_of(params[i]) for i in traced)])
        (array,) = trace.listed(again, given, [self.array(sample, shape, *params)])
        return tensor_of(array)

    def tensor_of(self, sample: Callable[..., Any], shape: Shape, parameter: Tensor) -> Tensor:
        """`sample(rng, shape, values)` for the values of a tensor; under `vmap`,
        for those that each example has.
        """
        levels = here.state.levels
        if not isinstance(parameter, BatchedTensor):
            return self.tensor(sample, shape, parameter.array)
        sizes = tuple(level.size for level in levels)
        values = in_all_examples(parameter)
        if isinstance(self.rng, XlaRandom):
            result = placed(self.rng.for_each(sample, sizes, shape, values, same=not self.each))
        else:
            values = np.broadcast_to(values, (*sizes, *parameter.array.shape))
            drawn = np.empty((*sizes, *shape), parameter.array.dtype)
            for example in np.ndindex(sizes):
                drawn[example] = sample(
                    self.rng if self.each else deepcopy(self.rng), shape, values[example]
                )
            result = Tensor(drawn)
        for level in levels:
            result = BatchedTensor(result, level)
        return result

    def on_host(
        self, sample: Callable[[Any], Sequence[Any]], specs: Sequence[tuple[Shape, Any]]
    ) -> list[Tensor]:
        """What `sample(rng)` draws with a generator of NumPy's, also in a program;
        `specs` are the shapes and dtypes.
        """
        drawn = (
            self.rng.on_host(sample, specs) if isinstance(self.rng, XlaRandom) else sample(self.rng)
        )
        return [placed(array) for array in drawn]


class SourceOfExamples(NamedTuple):
    """The numbers of one call under `vmap` in which each example has a seed of its own: the two
    `words` in its last axis.
    """

    words: Any

    def tensor(self, sample: Callable[..., Any], shape: Shape, *params: Any) -> Tensor:
        """`sample(rng, shape, *params)` for each seed as a Tensor."""
        return self._tensor(lambda rng, sizes: sample(rng, sizes, *params), shape, [])

    def tensor_of(self, sample: Callable[..., Any], shape: Shape, parameter: Tensor) -> Tensor:
        """`sample(rng, shape, values)` for each seed and the values that a tensor has in its
        example.
        """
        return self._tensor(sample, shape, [in_all_examples(parameter)])

    def _tensor(self, sample: Callable[..., Any], shape: Shape, values: list[Any]) -> Tensor:
        levels = here.state.levels
        sizes = tuple(level.size for level in levels)
        flat = []
        for array in (self.words, *values):
            own = array.shape[len(sizes) :]
            flat.append(
                broadcast_to(tensor_of(array), shape=(*sizes, *own)).array.reshape(-1, *own)
            )
        if engine_of(flat[0]) is NUMPY and not isinstance(here.state.device, XlaDevice):
            examples = [on_host(array) for array in flat]
            if not len(examples[0]):  # one draw tells the dtype
                examples = [np.ones((1, *array.shape[1:]), array.dtype) for array in examples]
            rows = [
                sample(source(w.tolist(), each=False).rng, shape, *own)
                for w, *own in zip(*examples, strict=True)
            ]
            drawn: Any = np.array(rows)[: len(flat[0])]
        else:
            drawn = xla_random.of_examples(flat[0], sample, shape, flat[1:])
        result = placed(drawn.reshape(*sizes, *shape))
        for level in levels:
            result = BatchedTensor(result, level)
        return result


def in_all_examples(x: Tensor) -> Any:
    """The values of a tensor in all examples: before its own axes stands one for each `vmap`, of
    size 1 if all have the same.
    """
    found, levels = x, here.state.levels
    mapped = []
    for level in reversed(levels):
        mapped.append(isinstance(found, BatchedTensor) and found.level is level)
        found = found.inner if isinstance(found, BatchedTensor) and mapped[-1] else found
    array, added = found.array, [i for i, own in enumerate(reversed(mapped)) if not own]
    for axis in added:
        array = array.reshape(*array.shape[:axis], 1, *array.shape[axis:])
    return array


def holds(condition: Callable[..., Any], *tensors: Tensor) -> bool:
    """Whether a condition holds for the values of tensors in all examples,
    as far as they are known now.
    """
    return any(is_traced(x) for x in tensors) or bool(
        condition(*map(in_all_examples, tensors)).all()
    )


def source(key: Sequence[Any], counter: Sequence[Any] = (0, 0), *, each: bool = True) -> Source:
    """The source for two words of key and two of counter: each choice has a sequence of its own."""
    state = here.state
    if inside_a_program() or isinstance(state.device, XlaDevice) or state.op_by_op == IN_A_FUNCTION:
        return Source(XlaRandom([*key, *counter]), each)
    words = [0, counter[0] & _MASK, counter[1] & _MASK, 0]
    philox = np.random.Philox(
        key=np.array([word & _MASK for word in key], np.uint64), counter=np.array(words, np.uint64)
    )
    return Source(np.random.Generator(philox), each)


def float_dtype(dtype: Any, function: str) -> Any:
    """The NumPy dtype of a `dtype` argument that must be a float."""
    found = dtypes.as_dtype(dtype)
    if not found.is_floating:
        message = f"{function}: dtype must be a float such as gradtape.float32, got {found.name}."
        raise invalid_argument(message) if found.is_complex else TypeError(message)
    return found.numpy


def normals(rng: RNG, shape: Shape, dtype: Any) -> Any:
    return rng.standard_normal(shape, np.float64 if dtype == np.float64 else np.float32).astype(
        dtype
    )


def truncated_normals(rng: RNG, shape: Shape, dtype: Any) -> Any:
    """Normal numbers of at most two deviations: those beyond are drawn again."""
    if isinstance(rng, XlaRandom):
        return rng.truncated_normal(
            shape, np.float64 if dtype == np.float64 else np.float32
        ).astype(dtype)
    drawn = np.asarray(normals(rng, shape, np.float64 if dtype == np.float64 else np.float32))
    while (beyond := np.abs(drawn) > 2).any():
        drawn[beyond] = normals(rng, (int(beyond.sum()),), drawn.dtype)
    return drawn.astype(dtype)


def uniforms(rng: RNG, shape: Shape, dtype: Any) -> Any:
    """Numbers in [0, 1). Half precision has few of them; rounding others would give 1."""
    if dtype in (np.float32, np.float64):
        return rng.random(shape, dtype)
    digits = 11 if dtype == np.float16 else 8
    return (rng.integers(0, 1 << digits, shape) / (1 << digits)).astype(dtype)


def quantiles(rng: RNG, shape: Shape, dtype: Any) -> Any:
    """Numbers in (0, 1), neither end among them, so that every quantile is finite."""
    digits = int(ml_dtypes.finfo(dtype).nmant)  # type: ignore[no-untyped-call]
    return ((rng.integers(0, 1 << digits, shape) + 0.5) / (1 << digits)).astype(dtype)


def full_integers(rng: RNG, shape: Shape, dtype: Any) -> Any:
    """Integers from the whole range of their dtype."""
    limits = np.iinfo(dtype)
    return rng.integers(limits.min, limits.max, shape, dtype, endpoint=True)


def integers_between(rng: RNG, shape: Shape, dtype: Any, bounds: tuple[Any, Any]) -> Any:
    return (
        rng.integers(*bounds, shape, dtype) if np.prod(shape, dtype=int) else np.zeros(shape, dtype)
    )


def integer_bounds(
    minval: Any, maxval: Any, shape: Shape, dtype: Any, function: str
) -> tuple[Any, Any]:
    """The bounds of an integer draw as Python integers,
    or as scalars of the program that will know them.
    """
    for name, bound in (("minval", minval), ("maxval", maxval)):
        if np.ndim(getattr(bound, "array", bound)):
            raise invalid_argument(
                f"{function}: {name} must be a scalar for integers, got {bound!r}."
            )
    if is_traced(minval) or is_traced(maxval):
        return tuple(
            TENSORFLOW.tensor(bound, f"{function}: {name}").array
            for name, bound in (("minval", minval), ("maxval", maxval))
        )
    low, high = as_int(minval, f"{function}: minval"), as_int(maxval, f"{function}: maxval")
    limits = np.iinfo(dtype)
    if np.prod(shape, dtype=int) and not limits.min <= low < high <= limits.max + 1:
        raise invalid_argument(
            f"{function}: minval must be less than maxval, and both must be in the range of "
            f"{np.dtype(dtype).name}, got {low} and {high}."
        )
    return low, high


def scaled(noise: Tensor, mean: Any, stddev: Any, function: str) -> Tensor:
    """`noise * stddev + mean`; gradients flow to both."""
    dtype = noise.dtype
    if type(stddev) not in (int, float) or stddev != 1:
        noise = noise * as_tensor(stddev, dtype, argument=f"{function}: stddev")
    if type(mean) not in (int, float) or mean != 0:
        noise = noise + as_tensor(mean, dtype, argument=f"{function}: mean")
    return noise


def between(noise: Tensor, minval: Any, maxval: Any, function: str) -> Tensor:
    """Numbers in [0, 1) moved to [minval, maxval); gradients flow to both bounds."""
    if minval is None:
        raise ValueError(f"{function}: minval must be a number for floats, got None.")
    high = 1 if maxval is None else maxval
    if type(minval) in (int, float) and type(high) in (int, float):
        return scaled(noise, minval, high - minval, function)
    low = as_tensor(minval, noise.dtype, argument=f"{function}: minval")
    return noise * (as_tensor(high, noise.dtype, argument=f"{function}: maxval") - low) + low


def normal(
    numbers: Source,
    shape: Any,
    mean: Any,
    stddev: Any,
    dtype: Any,
    function: str,
    sample: Any = normals,
) -> Tensor:
    noise = numbers.tensor(
        sample, as_shape(shape, f"{function}: shape"), float_dtype(dtype, function)
    )
    return scaled(noise, mean, stddev, function)


def uniform(
    numbers: Source, shape: Any, minval: Any, maxval: Any, dtype: dtypes.DType, function: str
) -> Tensor:
    """Floats, or integers; the bounds of integers are both None for their whole range."""
    sizes = as_shape(shape, f"{function}: shape")
    if dtype.is_floating:
        return between(numbers.tensor(uniforms, sizes, dtype.numpy), minval, maxval, function)
    if minval is None:
        return numbers.tensor(full_integers, sizes, dtype.numpy)
    bounds = integer_bounds(minval, maxval, sizes, dtype.numpy, function)
    return numbers.tensor(integers_between, sizes, dtype.numpy, bounds)


def broadcast_shape(*shapes: Shape, function: str) -> Shape:
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError as error:
        raise invalid_argument(
            f"{function}: the shapes of the parameters, {shapes}, do not broadcast."
        ) from error


def ending_in(shape: Any, end: Shape, function: str) -> Shape:
    """`shape`, which must end with the shape of the distribution's parameters."""
    wanted = as_shape(shape, f"{function}: shape")
    if end and wanted[-len(end) :] != end:
        raise invalid_argument(
            f"{function}: shape={list(wanted)} must end with the shape of the parameters, "
            f"{list(end)}."
        )
    return wanted


def gammas(rng: RNG, shape: Shape, alpha: Any) -> Any:
    """Numbers of the gamma distribution with rate 1; never 0, so that their logarithm is finite."""
    smallest = np.finfo(np.float16 if alpha.dtype == np.float16 else np.float32).tiny
    return (
        rng.standard_gamma(alpha.astype(np.float64), shape)
        .clip(float(smallest))
        .astype(alpha.dtype)
    )


def categories(numbers: Source, logits: Any, num_samples: Any, dtype: Any, function: str) -> Tensor:
    x = of_kind(logits, FLOATING, function, "logits")
    count = as_int(num_samples, f"{function}: num_samples")
    if x.ndim != 2 or not x.array.shape[1]:
        raise invalid_argument(
            f"{function}: logits must be a matrix with a row for each distribution, got shape "
            f"{x.shape}."
        )
    if count < 0:
        raise invalid_argument(f"{function}: num_samples must be at least 0, got {count}.")
    wanted = dtypes.as_dtype(dtypes.int64 if dtype is None else dtype)
    if wanted not in (dtypes.int32, dtypes.int64):
        raise ValueError(f"{function}: dtype must be int32 or int64, got {wanted.name}.")
    # 32 bits, so that a number and the number of its row fit into a float64 together.
    uniform = numbers.tensor(
        lambda rng, shape: rng.integers(0, 1 << 32, shape) / (1 << 32), (x.array.shape[0], count)
    )
    return cast(class_of(x, uniform), dtype=wanted.numpy)


def gamma(
    numbers: Source, shape: Shape, alpha: Any, beta: Any, dtype: Any, function: str
) -> Tensor:
    """Gamma numbers; `shape` is put before that of the parameters."""
    wanted = float_dtype(dtype, function)
    shapes = as_tensor(alpha, wanted, argument=f"{function}: alpha")
    rates = None if beta is None else as_tensor(beta, wanted, argument=f"{function}: beta")
    if not holds(lambda alpha: ~(alpha < 0), shapes):
        raise invalid_argument(f"{function}: alpha must not be negative, got {shapes}.")
    end = broadcast_shape(
        shapes.array.shape, () if rates is None else rates.array.shape, function=function
    )
    sample = gamma_sample(shapes, shapes, numbers.tensor_of(gammas, (*shape, *end), shapes))
    return sample if rates is None else sample / rates


def bounded_normal(numbers: Source, shape: Any, params: Sequence[Any], function: str) -> Tensor:
    """Normal numbers between bounds, from means, deviations and both bounds;
    gradients flow to all four.
    """
    names = ("means", "stddevs", "minvals", "maxvals")
    tensors = TENSORFLOW.tensors(params, [f"{function}: {name}" for name in names])
    mean, deviation, low, high = (
        of_kind(x, FLOATING, function, name) for x, name in zip(tensors, names, strict=True)
    )
    sizes = ending_in(
        shape,
        broadcast_shape(*[x.array.shape for x in (mean, deviation, low, high)], function=function),
        function,
    )
    if not holds(operator.gt, deviation, Tensor(np.float32(0))) or not holds(
        operator.lt, low, high
    ):
        raise invalid_argument(
            f"{function}: stddevs must be positive, and minvals less than maxvals."
        )
    lower, upper = (low - mean) / deviation, (high - mean) / deviation
    return (
        truncated_sample(lower, upper, numbers.tensor(quantiles, sizes, lower.array.dtype))
        * deviation
        + mean
    )


def poisson(numbers: Source, shape: Shape, rates: Any, dtype: Any, function: str) -> Tensor:
    wanted = dtypes.as_dtype(dtype)
    if not (wanted.is_floating or wanted.is_integer):
        raise invalid_argument(
            f"{function}: dtype must be a floating-point or integer dtype, got {wanted.name}."
        )
    if rates.dtype not in REAL.dtypes:
        raise invalid_argument(
            f"{function}: lam must be real, got dtype {dtypes.from_numpy(rates.dtype).name}."
        )
    if not is_traced_array(rates) and not (rates >= 0).all():
        raise invalid_argument(f"{function}: lam must not be negative, got {rates}.")
    return numbers.tensor(lambda rng, sizes: rng.poisson(rates, sizes).astype(wanted.numpy), shape)


def binomial(
    numbers: Source, shape: Any, counts: Any, probs: Any, dtype: Any, function: str
) -> Tensor:
    given = of_kind(counts, REAL, function, "counts"), of_kind(probs, REAL, function, "probs")
    if not holds(lambda n: n >= 0, given[0]) or not holds(lambda p: (p >= 0) & (p <= 1), given[1]):
        raise invalid_argument(
            f"{function}: counts must not be negative and probs must be in [0, 1]."
        )
    sizes = ending_in(
        shape, broadcast_shape(*[x.array.shape for x in given], function=function), function
    )
    wanted = dtypes.as_dtype(dtype).numpy

    def sample(rng: RNG, drawn: Shape) -> Any:
        trials, chances = given[0].array.astype(np.int64), given[1].array.astype(np.float64)
        return rng.binomial(trials, chances, drawn).astype(wanted)

    return numbers.tensor(sample, sizes)


def shuffled(numbers: Source, value: Any, function: str) -> Tensor:
    x = TENSORFLOW.tensor(value, f"{function}: value")
    if not x.ndim:
        return x
    rows = np.arange(x.array.shape[0])
    order = numbers.tensor(
        lambda rng, shape: rng.permuted(np.broadcast_to(rows, shape), axis=-1), rows.shape
    )
    return take(x, order, axis=0, sparse=False)
