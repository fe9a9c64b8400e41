"""Gradient checks: `gradtape.testing` for users' own functions, and TensorFlow's
`tf.test.compute_gradient`.

Derivatives are compared with central differences in float64. A complex number counts as its two
real parts: the inner product is the real part of the conjugated one, and the gradient of a real L
is dL/dRe + i dL/dIm.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gradtape import dtypes, nest
from gradtape.convert import TENSORFLOW
from gradtape.core.forward import ForwardAccumulator
from gradtape.core.tape import GradientTape
from gradtape.core.tensor import Tensor
from gradtape.ops import batching
from gradtape.published import published

Function = Callable[..., Any]

_WIDE = {
    "f": np.dtype(np.float64),
    "c": np.dtype(np.complex128),
    "V": np.dtype(np.float64),
}  # V is bfloat16 and its kin
# How far the two sides of the adjoint identity may be apart: both are exact but for rounding.
_ADJOINT = 1e-8


@published("testing.check_gradients")
def check_gradients(
    f: Function,
    x: Any,
    order: int = 2,
    *,
    rtol: float = 1e-5,
    atol: float = 1e-6,
    step: float = 1e-5,
    elements: int = 100,
    seed: int = 0,
) -> None:
    """Raises an AssertionError if a derivative of `f` at `x` is wrong, up to an order,
    in reverse or in forward mode.

    `x` is a list or tuple of the arguments of `f`, or its only one; floats are made float64,
    complex numbers complex128, and those are differentiated by. Of each order, the gradient of
    every element (of `elements` of them, if there are more) and the forward derivative are compared
    with central differences of that `step`, and with each other. The error shows the worst element.

    >>> import gradtape as tf
    >>> import gradtape.testing
    >>> gradtape.testing.check_gradients(lambda a, b: tf.tanh(a) * b, [[1.0, 2.0], 3.0])
    """
    if order < 1:
        raise ValueError(f"check_gradients: order must be at least 1, got {order}.")
    given = list(x) if isinstance(x, (list, tuple)) else [x]
    args = [
        _widened(TENSORFLOW.tensor(arg, f"check_gradients: x[{i}]").array)
        for i, arg in enumerate(given)
    ]
    wanted = [i for i, arg in enumerate(args) if arg.dtype in dtypes.TRAINABLE]
    if not wanted:
        raise ValueError(
            "check_gradients: x has no floating-point or complex argument to differentiate by."
        )
    check = _Check(f, args, wanted, np.random.default_rng(seed), rtol, atol, step, elements)
    check.values()
    for reached in range(1, order + 1):
        check.first_order(f"order {reached}")
        if reached < order:
            check = check.of_the_gradient()


@published("testing.batching_fallbacks")
def batching_fallbacks() -> list[str]:
    """The ops that have run as a loop over the examples under `vmap`,
    for want of a batching rule, in this process.

    >>> import gradtape as tf
    >>> import gradtape.testing
    >>> y = tf.vmap(tf.tanh)(tf.constant([1.0, 2.0]))
    >>> "tanh" in gradtape.testing.batching_fallbacks()
    False
    """
    return sorted(batching.fallbacks)


@published("test.compute_gradient")
def compute_gradient(
    f: Function, x: Sequence[Any], delta: float | None = None
) -> tuple[tuple[np.ndarray[Any, Any], ...], tuple[np.ndarray[Any, Any], ...]]:
    """The Jacobians of `f` by each of its arguments `x`: those of the tape, and those of central
    differences with step `delta`.

    A Jacobian has a row for each element of the output and a column for each of the argument; a
    complex element counts as two.

    >>> import gradtape as tf
    >>> by_tape, by_differences = tf.test.compute_gradient(
    ...     lambda a: a * a, [tf.constant([1.0, 2.0])]
    ... )
    >>> by_tape[0]
    array([[2., 0.],
           [0., 4.]], dtype=float32)
    """
    if not isinstance(x, (list, tuple)):
        raise ValueError(
            "compute_gradient: x must be a list or tuple of the arguments of f, got "
            f"{type(x).__name__}."
        )
    args = [TENSORFLOW.tensor(arg, f"compute_gradient: x[{i}]").array for i, arg in enumerate(x)]
    for i, arg in enumerate(args):
        if arg.dtype not in dtypes.TRAINABLE:
            name = dtypes.from_numpy(arg.dtype).name
            raise AssertionError(
                f"compute_gradient: x[{i}] has dtype {name}, which has no gradient: "
                "make it a float."
            )
    numbers = range(len(args))
    return tuple(_by_tape(f, args, i) for i in numbers), tuple(
        _by_differences(f, args, i, delta) for i in numbers
    )


class _Check:
    """A function at a place: `args` in double precision,
    to be differentiated by those that are `wanted`.
    """

    def __init__(
        self,
        function: Function,
        args: Sequence[Any],
        wanted: Sequence[int],
        rng: np.random.Generator,
        rtol: float,
        atol: float,
        step: float,
        elements: int,
    ) -> None:
        self.function, self.args, self.wanted, self.rng = function, list(args), list(wanted), rng
        self.rtol, self.atol, self.step, self.elements = rtol, atol, step, elements
        self.results = _values(function, self.args)
        if not self.results:
            raise ValueError(
                "check_gradients: f returns no floating-point or complex tensor, so there is no "
                "gradient to check."
            )
        self.cotangents = [self._random(result) for result in self.results]

    def values(self) -> None:
        """The value is finite, the same at every call, and the same when a tape records."""
        for i, result in enumerate(self.results):
            if not np.isfinite(result).all():
                place = _index(np.argmin(np.isfinite(result)), result.shape)
                raise AssertionError(
                    f"check_gradients: output {i} at index {place} is {result[place]}: choose "
                    "another x."
                )
        tensors = [Tensor(arg) for arg in self.args]
        with GradientTape(watch_accessed_variables=False) as tape:
            tape.watch([tensors[i] for i in self.wanted])
            recorded = [out.array for out in _outputs(self.function, tensors)]
        for i, (found, expected) in enumerate(zip(recorded, self.results, strict=True)):
            self._compare(
                found,
                expected,
                f"value: output {i}",
                "the value of another call",
                rtol=1e-12,
                atol=0,
            )

    def first_order(self, what: str) -> None:
        """The gradient and the forward derivative against differences, and against each other."""
        gradients = _pulled(self.function, self._tensors(), self.wanted, self.cotangents)
        found = [self._array(g, self.args[i]) for g, i in zip(gradients, self.wanted, strict=True)]
        for i, gradient, given in zip(self.wanted, found, gradients, strict=True):
            self._gradient_of(
                i, gradient, f"{what}: gradient of argument {i}{' (None)' if given is None else ''}"
            )
        tangents = [self._random(self.args[i]) for i in self.wanted]
        pushes = _pushed(self.function, self._tensors(), self.wanted, tangents)
        pushed = [self._array(p, like) for p, like in zip(pushes, self.results, strict=True)]
        ahead, behind = (self._moved(sign * self.step, tangents) for sign in (1, -1))
        for i, (one, plus, minus) in enumerate(zip(pushed, ahead, behind, strict=True)):
            expected = (plus - minus) / (2 * self.step)
            self._compare(
                one, expected, f"{what}: forward derivative of output {i}", "a central difference"
            )
        forward, reverse = _inner(self.cotangents, pushed), _inner(found, tangents)
        if not abs(forward - reverse) <= _ADJOINT * max(1.0, abs(forward)):
            raise AssertionError(
                f"check_gradients: {what}: forward and reverse mode disagree: <u, J t> is "
                f"{forward}, but <Jᵀ u, t> is {reverse}."
            )

    def of_the_gradient(self) -> _Check:
        """The check of the gradient along the cotangents, as a function of the same arguments."""
        function, wanted, cotangents = self.function, self.wanted, self.cotangents

        def gradient(*tensors: Any) -> list[Tensor]:
            found = _pulled(function, tensors, wanted, cotangents)
            return [
                Tensor(np.zeros_like(self.args[i])) if g is None else g
                for g, i in zip(found, wanted, strict=True)
            ]

        return _Check(
            gradient, self.args, wanted, self.rng, self.rtol, self.atol, self.step, self.elements
        )

    def _gradient_of(self, index: int, gradient: Any, what: str) -> None:
        """One argument's gradient against differences of <cotangents, f>, element by element."""
        arg = self.args[index]
        chosen = np.arange(arg.size)
        if arg.size > self.elements:
            chosen = np.sort(self.rng.choice(arg.size, self.elements, replace=False))
        expected = np.array(gradient, copy=True).reshape(-1)  # what is not chosen is not compared
        for place in chosen:
            expected[place] = self._difference(index, place, 1)
            if arg.dtype.kind == "c":
                expected[place] += 1j * self._difference(index, place, 1j)
        self._compare(gradient, expected.reshape(arg.shape), what, "a central difference")

    def _difference(self, index: int, place: int, direction: complex) -> float:
        step = self.step * max(1.0, abs(self.args[index].reshape(-1)[place]))
        found = []
        for sign in (1, -1):
            moved = np.array(self.args[index], copy=True)
            moved.reshape(-1)[place] += sign * step * direction
            args = [moved if i == index else arg for i, arg in enumerate(self.args)]
            found.append(_inner(self.cotangents, self._values_at(args)))
        return (found[0] - found[1]) / (2 * step)

    def _moved(self, step: float, tangents: Sequence[Any]) -> list[Any]:
        """The values of the function a step along the tangents."""
        args = list(self.args)
        for i, tangent in zip(self.wanted, tangents, strict=True):
            args[i] = args[i] + step * tangent
        return self._values_at(args)

    def _values_at(self, args: Sequence[Any]) -> list[Any]:
        """The values of the function beside `x`, which must have the shapes that they have at
        `x`.
        """
        found = _values(self.function, args)
        before, after = (
            [result.shape for result in self.results],
            [result.shape for result in found],
        )
        if before != after:
            raise AssertionError(
                f"check_gradients: the shapes of the outputs are {before} at x, but {after} a "
                "small step away."
            )
        return found

    def _compare(
        self,
        found: Any,
        expected: Any,
        what: str,
        source: str,
        rtol: float | None = None,
        atol: float | None = None,
    ) -> None:
        """Raises the error that shows the worst element."""
        if found.shape != expected.shape:
            raise AssertionError(
                f"check_gradients: {what}: shape {found.shape}, expected {expected.shape}."
            )
        allowed = (self.atol if atol is None else atol) + (
            self.rtol if rtol is None else rtol
        ) * np.abs(expected)
        error = np.abs(found - expected)
        wrong = ~(error <= allowed)  # NaN is wrong too
        if wrong.any():
            worst = _index(
                np.argmax(np.where(np.isnan(error), np.inf, error - allowed)), error.shape
            )
            raise AssertionError(
                f"check_gradients: {what}, index {worst}: found {found[worst]}, expected "
                f"{expected[worst]} from {source}; "
                f"{wrong.sum()} of {wrong.size} elements are wrong."
            )

    def _tensors(self) -> list[Tensor]:
        return [Tensor(arg) for arg in self.args]

    def _random(self, array: Any) -> Any:
        values = self.rng.uniform(-1, 1, array.shape)
        return np.asarray(
            values + 1j * self.rng.uniform(-1, 1, array.shape)
            if array.dtype.kind == "c"
            else values
        )

    @staticmethod
    def _array(derivative: Any, like: Any) -> Any:
        return np.zeros_like(like) if derivative is None else np.asarray(derivative.array)


def _widened(array: Any) -> Any:
    return np.asarray(
        array.astype(_WIDE[array.dtype.kind]) if array.dtype in dtypes.TRAINABLE else array
    )


def _index(place: Any, shape: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(int(i) for i in np.unravel_index(place, shape))


def _outputs(function: Function, tensors: Sequence[Tensor]) -> list[Tensor]:
    """The outputs that can have a gradient."""
    results = [
        TENSORFLOW.tensor(leaf, "check_gradients: an output of f")
        for leaf in nest.flatten(function(*tensors))
        if leaf is not None
    ]
    return [out for out in results if out.array.dtype in dtypes.TRAINABLE]


def _values(function: Function, args: Sequence[Any]) -> list[Any]:
    return [_widened(out.array) for out in _outputs(function, [Tensor(arg) for arg in args])]


def _pulled(
    function: Function, tensors: Sequence[Any], wanted: Sequence[int], cotangents: Sequence[Any]
) -> list[Any]:
    """The gradients of <cotangents, f> by the wanted arguments; None where there is no path."""
    sources = [tensors[i] for i in wanted]
    with GradientTape(watch_accessed_variables=False) as tape:
        tape.watch(sources)
        targets = _outputs(function, tensors)
    seeds = [Tensor(u.astype(out.array.dtype)) for u, out in zip(cotangents, targets, strict=True)]
    return [
        None if g is None else TENSORFLOW.tensor(g, "gradient")
        for g in tape.gradient(targets, sources, output_gradients=seeds)
    ]


def _pushed(
    function: Function, tensors: Sequence[Any], wanted: Sequence[int], tangents: Sequence[Any]
) -> list[Any]:
    """The derivatives of the outputs along the tangents; None where there is no path."""
    with ForwardAccumulator(
        [tensors[i] for i in wanted], [Tensor(t) for t in tangents]
    ) as accumulator:
        targets = _outputs(function, tensors)
    return accumulator.jvp(targets)


def _inner(xs: Sequence[Any], ys: Sequence[Any]) -> float:
    return float(sum(np.sum((np.conj(x) * y).real) for x, y in zip(xs, ys, strict=True)))


# tf.test.compute_gradient


def _one_output(f: Function, tensors: Sequence[Tensor]) -> Tensor:
    result = f(*tensors)
    if not hasattr(result, "shape"):
        raise AttributeError(
            f"compute_gradient: f must return one tensor, got {type(result).__name__}."
        )
    return TENSORFLOW.tensor(result, "compute_gradient: the output of f")


def _real_size(array: Any) -> int:
    return array.size * (2 if array.dtype.kind == "c" else 1)


def _real_parts(array: Any) -> Any:
    """The elements in a row, a complex one as its real and its imaginary part."""
    flat = np.asarray(array).reshape(-1)
    return np.stack([flat.real, flat.imag], axis=-1).reshape(-1) if flat.dtype.kind == "c" else flat


def _by_tape(f: Function, args: Sequence[Any], index: int) -> np.ndarray[Any, Any]:
    """Row by row: the gradient of each real part of the output."""
    tensors = [Tensor(arg) for arg in args]
    with GradientTape(persistent=True, watch_accessed_variables=False) as tape:
        tape.watch(tensors[index])
        out = _one_output(f, tensors)
    source, target = args[index], out.array
    jacobian = np.zeros((_real_size(target), _real_size(source)), _real_dtype(source))
    if target.dtype not in dtypes.TRAINABLE:
        return jacobian
    parts = (1, 1j) if target.dtype.kind == "c" else (1,)
    for row in range(len(jacobian)):
        seed = np.zeros(target.size, target.dtype)
        seed[row // len(parts)] = parts[row % len(parts)]
        gradient = tape.gradient(
            out, tensors[index], output_gradients=Tensor(seed.reshape(target.shape))
        )
        if gradient is not None:
            jacobian[row] = _real_parts(TENSORFLOW.tensor(gradient, "gradient").array)
    return jacobian


def _by_differences(
    f: Function, args: Sequence[Any], index: int, delta: float | None
) -> np.ndarray[Any, Any]:
    """Column by column: how the output changes with each real part of the argument."""
    source = args[index]
    step = (
        delta if delta is not None else 2.0**-5 if source.dtype.kind == "V" else 2.0**-10
    )  # bfloat16 has 8 digits
    parts = (1, 1j) if source.dtype.kind == "c" else (1,)
    columns = []
    for column in range(_real_size(source)):
        found = []
        for sign in (1, -1):
            moved = np.array(source, copy=True)
            moved.reshape(-1)[column // len(parts)] += moved.dtype.type(
                sign * step * parts[column % len(parts)]
            )
            out = _one_output(
                f, [Tensor(moved if i == index else arg) for i, arg in enumerate(args)]
            )
            found.append(_real_parts(_widened(out.array)))
        columns.append((found[0] - found[1]) / (2 * step))
    rows = _real_size(_one_output(f, [Tensor(arg) for arg in args]).array)
    return np.reshape(columns, (len(columns), rows)).T.astype(_real_dtype(source))


def _real_dtype(array: Any) -> Any:
    return array.real.dtype if array.dtype.kind == "c" else array.dtype


# The few facts about this machine that tests ask for


@published("test.is_gpu_available")
def is_gpu_available(
    cuda_only: bool = False, min_cuda_compute_capability: tuple[int, int] | None = None
) -> bool:
    """Whether eager code can run on a GPU: the NumPy engine has the CPU alone.

    >>> import gradtape as tf
    >>> tf.test.is_gpu_available()
    False
    """
    return False


@published("test.gpu_device_name")
def gpu_device_name() -> str:
    """The name of the first GPU, empty if there is none.

    >>> import gradtape as tf
    >>> tf.test.gpu_device_name()
    ''
    """
    return ""


@published("test.is_built_with_cuda")
def is_built_with_cuda() -> bool:
    """Whether the library itself was built for CUDA: it is pure Python.

    >>> import gradtape as tf
    >>> tf.test.is_built_with_cuda()
    False
    """
    return False


@published("test.is_built_with_rocm")
def is_built_with_rocm() -> bool:
    """Whether the library itself was built for ROCm: it is pure Python.

    >>> import gradtape as tf
    >>> tf.test.is_built_with_rocm()
    False
    """
    return False


@published("test.is_built_with_gpu_support")
def is_built_with_gpu_support() -> bool:
    """Whether the library itself was built for a GPU: it is pure Python.

    >>> import gradtape as tf
    >>> tf.test.is_built_with_gpu_support()
    False
    """
    return False


@published("test.is_built_with_xla")
def is_built_with_xla() -> bool:
    """Whether the library itself was built with XLA: it is pure Python.

    >>> import gradtape as tf
    >>> tf.test.is_built_with_xla()
    False
    """
    return False
