"""`py_function` and `numpy_function`: Python code as an op. In eager code it is called at once.

A compiled program calls it on the host whenever it runs, in the program's order. XLA has to know
the shapes of the results: they come from `Tout` if it holds TensorSpecs, else from one run on ones
while the program is traced. If that run fails, or a result has another shape when the program runs,
the function around runs op by op.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

import numpy as np

from gradtape import dtypes, errors, nest
from gradtape.api.tensorflow.arguments import as_list
from gradtape.convert import as_tensor, operand
from gradtape.core.batching import BatchedTensor
from gradtape.core.tape import GradientTape
from gradtape.core.tensor import Tensor
from gradtape.core.thread import here
from gradtape.core.xla.beyond import BeyondXlaError, UnforeseenError
from gradtape.core.xla.host_calls import Spec, call_for_results, call_in_order
from gradtape.core.xla.tensor import tensor_of
from gradtape.core.xla.trace import inside_a_program, outside_programs
from gradtape.engines.xla import settings as xla_settings
from gradtape.published import published
from gradtape.shapes import TensorSpec
from gradtape.transforms.custom_gradient import call_as_one

_ERRORS: tuple[tuple[tuple[type[Exception], ...], type[errors.OpError]], ...] = (
    ((ValueError, TypeError), errors.InvalidArgumentError),
    ((StopIteration,), errors.OutOfRangeError),
    ((MemoryError,), errors.ResourceExhaustedError),
    ((NotImplementedError,), errors.UnimplementedError),
)


@published("py_function")
def py_function(
    func: Callable[..., Any] | None = None,
    inp: Any = None,
    Tout: Any = None,
    name: str | None = None,
) -> Any:
    """Calls `func` with the tensors `inp`; it gives a tensor of dtype `Tout`,
    or several for a list of dtypes.

    What it computes with gradtape functions is differentiable to any order; in a `function`, it
    runs again for every derivative. There, `Tout` may hold TensorSpecs, or else `func` runs once on
    ones, to tell the shapes; if they turn out to be others, the call starts again, op by op.
    Without `func` this is a decorator.

    >>> import gradtape as tf
    >>> x = tf.Variable(3.0)
    >>> with tf.GradientTape() as tape:
    ...     y = tf.py_function(lambda x: x * x, [x], tf.float32)
    >>> tape.gradient(y, x).numpy()
    np.float32(6.0)
    """
    _require_dtypes(Tout, "py_function")
    if func is None:
        return _decorator(py_function, Tout, name)
    _require_function(func, "py_function")
    tensors = [
        as_tensor(value, argument=f"py_function: inp[{i}]")
        for i, value in enumerate(as_list(inp, "py_function: inp"))
    ]
    wanted = [dtypes.as_dtype(getattr(out, "dtype", out)) for out in nest.flatten(Tout)]

    def run(*given: Tensor) -> list[Tensor]:
        try:
            result = func(*given)
            values = (
                []
                if result is None
                else list(result)
                if isinstance(result, (list, tuple))
                else [result]
            )
            if len(values) < len(wanted):
                raise ValueError(
                    f"func returned {len(values)} values, but Tout has {len(wanted)} dtypes."
                )
            return [
                as_tensor(v, d, argument=f"the result {i}")
                for i, (v, d) in enumerate(zip(values, wanted, strict=False))
            ]
        except Exception as error:
            raise _translated(error) from error

    if inside_a_program():
        closed, tensors = _without_strings(run, tensors)
        specs = _specs("py_function", closed, nest.flatten(Tout), tensors)
        found = _differentiable("py_function", closed, tensors, specs, call_in_order)
    else:
        found = run(*tensors)
    return found if isinstance(Tout, (list, tuple)) else found[0]


@published("numpy_function")
def numpy_function(
    func: Callable[..., Any] | None = None,
    inp: Any = None,
    Tout: Any = None,
    stateful: bool = True,
    name: str | None = None,
) -> Any:
    """Calls `func` with `inp` as NumPy arrays and makes tensors of what it gives;
    no gradient flows through it.

    >>> import gradtape as tf
    >>> tf.numpy_function(lambda x: x[::-1], [tf.constant([1.0, 2.0])], tf.float32).numpy()
    array([2., 1.], dtype=float32)
    """
    _require_dtypes(Tout, "numpy_function")
    if func is None:
        return _decorator(numpy_function, Tout, name)
    _require_function(func, "numpy_function")

    def run(*given: Any) -> list[Any]:
        result = func(*[_for_numpy(_copied(value)) for value in given])
        return [
            None if value is None else as_tensor(value, argument="numpy_function: the result")
            for value in ([result] if type(result) is np.ndarray else nest.flatten(result))
        ]

    if inside_a_program():
        tensors = [
            as_tensor(value, argument=f"numpy_function: inp[{i}]") for i, value in enumerate(inp)
        ]
        closed, tensors = _without_strings(run, tensors)
        specs = _specs("numpy_function", closed, nest.flatten(Tout), tensors)
        found: list[Any] = [
            tensor_of(array)
            for array in call_in_order(
                _on_arrays("numpy_function", closed, specs), specs, _arrays(tensors)
            )
        ]
    else:
        found = run(*inp)
    return found[0] if len(found) == 1 else found


def _copied(value: Any) -> Any:
    """An array of its own for a function of NumPy arrays, which may write to it."""
    if type(value) is Tensor and value.node is None and type(value.array) is np.ndarray:
        return value.array.copy()
    return np.array(value)


def _for_numpy(array: Any) -> Any:
    """What a function of NumPy arrays is given: one string as Python's bytes."""
    return array[()] if array.dtype == object else array


def _without_strings(
    run: Callable[..., Any], tensors: Sequence[Tensor]
) -> tuple[Callable[..., Any], list[Tensor]]:
    """A function of those tensors that a program can have, and these; the others hold strings,
    and are constants of it.
    """
    places = [i for i, tensor in enumerate(tensors) if tensor.array.dtype != object]
    if len(places) == len(tensors):
        return run, list(tensors)

    def closed(*given: Any) -> Any:
        values = list(tensors)
        for i, value in zip(places, given, strict=True):
            values[i] = value
        return run(*values)

    return closed, [tensors[i] for i in places]


def _specs(
    function: str,
    run: Callable[..., Sequence[Any]],
    wanted: Sequence[Any],
    tensors: Sequence[Tensor],
) -> list[Spec]:
    """The shapes and dtypes of the results in a program that is being traced."""
    for i, tensor in enumerate(tensors):
        if isinstance(tensor, BatchedTensor):
            raise BeyondXlaError(
                f"{function}: inp[{i}] is one example of a batch (inside vmap), which cannot be "
                "passed to Python code in a compiled program: call it outside vmap."
            )
    if any(dtypes.as_dtype(getattr(out, "dtype", out)) == dtypes.string for out in wanted):
        raise BeyondXlaError(
            f"{function}: Tout must not contain the dtype string in a gradtape.function, since a "
            "compiled program cannot hold strings: call it outside the function."
        )
    if all(isinstance(out, TensorSpec) and out.shape.is_fully_defined() for out in wanted):
        return [(tuple(out.shape), out.dtype.numpy) for out in wanted]
    ones = [Tensor(np.ones(t.array.shape, t.array.dtype)) for t in tensors]
    try:
        # JAX traces too: a compiled function that `run` calls is to compute.
        with outside_programs(), here.state.only([]), xla_settings.evaluating():
            return [(tuple(result.array.shape), result.array.dtype) for result in run(*ones)]
    except (MemoryError, RecursionError):
        raise
    except Exception as error:
        raise BeyondXlaError(
            f"{function}: in a gradtape.function the shapes of the results must be known. Tout "
            f"does not give them, and a trial run on ones failed ({error}): give Tout as a "
            "TensorSpec, or a list of them."
        ) from error


def _differentiable(
    function: str,
    run: Callable[..., Sequence[Tensor]],
    tensors: Sequence[Tensor],
    specs: Sequence[Spec],
    call: Callable[..., list[Any]],
) -> list[Tensor]:
    """The results in a program of a function that the host runs;
    so does it with the function's derivatives.
    """
    trace = here.state.trace
    assert trace is not None
    tensors = trace.taken_in(tensors)
    outputs = [
        tensor_of(array)
        for array in call(_on_arrays(function, run, specs), specs, _arrays(tensors))
    ]
    followed = [i for i, tensor in enumerate(tensors) if tensor.dtype.is_trainable]
    trained = [i for i, output in enumerate(outputs) if output.dtype.is_trainable]

    def gradient(*given: Tensor) -> list[Any]:
        inputs, cotangents = given[: len(tensors)], given[len(tensors) :]
        sources = [inputs[i] for i in followed]
        with GradientTape(watch_accessed_variables=False) as tape:
            tape.watch(sources)
            results = run(*inputs)
        # A derivative may run before the function itself, or without it.
        _require_foreseen(function, _arrays(results), specs)
        targets = [results[i] for i in trained]
        found = tape.gradient(
            targets, sources, output_gradients=list(cotangents), unconnected_gradients="zero"
        )
        return list(map(operand, found))  # dense, as the host promised them

    def pull_of(inputs: list[Tensor]) -> Callable[[list[Tensor]], list[Any]]:
        def pull(cotangents: list[Tensor]) -> list[Any]:
            given = [*inputs, *(cotangents[i] for i in trained)]
            shapes = [(tuple(inputs[i].array.shape), inputs[i].array.dtype) for i in followed]
            found = dict(
                zip(
                    followed,
                    _differentiable(function, gradient, given, shapes, call_for_results),
                    strict=True,
                )
            )
            return [found.get(i) for i in range(len(inputs))]

        return pull

    return call_as_one("py_function", tensors, outputs, pull_of(tensors), pull_of)


def _on_arrays(
    function: str, run: Callable[..., Sequence[Tensor]], specs: Sequence[Spec]
) -> Callable[..., list[Any]]:
    """The function on arrays; its results must be those that the program has been compiled for."""

    def checked(*arrays: Any) -> list[Any]:
        found = _arrays(run(*map(Tensor, arrays)))
        _require_foreseen(function, found, specs)
        return found

    return checked


def _require_foreseen(function: str, found: Sequence[Any], specs: Sequence[Spec]) -> None:
    for i, (array, (shape, dtype)) in enumerate(zip(found, specs, strict=True)):
        if array.shape != shape or array.dtype != dtype:
            raise UnforeseenError(
                f"{function}: result {i} has shape {array.shape} and dtype {array.dtype}, but "
                f"the program was compiled for shape {shape} and dtype {dtype}, which come "
                "from Tout or from a trial run on ones: give Tout as a TensorSpec, and make "
                "func return what it says."
            )


def _arrays(tensors: Sequence[Tensor]) -> list[Any]:
    return [tensor.array for tensor in tensors]


def _require_dtypes(wanted: Any, function: str) -> None:
    if wanted is None:
        raise TypeError(
            f"{function}: Tout is missing: give the dtype of the result, or a list of dtypes."
        )


def _require_function(func: Any, function: str) -> None:
    if not callable(func):
        raise TypeError(f"{function}: func must be a function, got {func!r}.")


def _decorator(of: Callable[..., Any], wanted: Any, name: str | None) -> Callable[..., Any]:
    def decorated(func: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(func)
        def call(*args: Any) -> Any:
            return of(func, args, wanted, name=name)

        return call

    return decorated


def _translated(error: Exception) -> errors.OpError:
    """The error that TensorFlow makes of an exception in the function."""
    wanted = next((to for kinds, to in _ERRORS if isinstance(error, kinds)), errors.UnknownError)
    return wanted(None, None, f"py_function: {type(error).__name__}: {error}")
