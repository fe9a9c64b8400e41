"""`black_box`: any Python or compiled function of arrays as an op."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from gradtape import dtypes, nest
from gradtape.bridge.differences import Estimate
from gradtape.bridge.foreign import OnHost, Recorded, call
from gradtape.bridge.host_functions import (
    COMPLEX_STEP,
    FINITE_DIFFERENCE,
    HostFunction,
    UserFunction,
)
from gradtape.convert import as_tensor
from gradtape.core.needed_ops import needed
from gradtape.core.tensor import Tensor
from gradtape.ops.batching import every_mapped
from gradtape.ops.broadcasting import broadcast_to
from gradtape.ops.matrix import matmul
from gradtape.ops.shaping import reshape
from gradtape.published import published


@published("bridge.black_box")
def black_box(
    f: Callable[..., Any],
    derivative: str | Callable[..., Any] = FINITE_DIFFERENCE,
    *,
    batched: bool = False,
    elementwise: bool = False,
    step: float | None = None,
    precision: float | None = None,
    tolerance: float = 1e-3,
) -> BlackBox:
    """Any function of NumPy arrays, in Python or compiled, as an op.

    `derivative` is "finite-difference" (central, extrapolated, in double precision),
    "complex-step" (to the last digits, for functions through which complex numbers pass), or a
    function of the same arguments that returns the Jacobians, each of the result's shape and then
    the argument's. The number of calls grows with the number of elements, unless `f` is
    `elementwise`. With `batched`, `f` (and `derivative`) takes arguments with one more axis in
    front and is called once for many points. Every order works, in a `function` too, which calls
    `f` back; higher ones are differences of the lower.

    Errors are estimated: `estimates` returns them, and a derivative that may be off by more than
    `tolerance`, relative to the largest, warns. `precision` is that of the values of `f`, relative
    to them, if they are less precise than their dtype, and `step` replaces the step that is chosen
    from it, relative to the argument (or to 1, if that is larger).

    >>> import gradtape as tf
    >>> import numpy as np
    >>> f = tf.bridge.black_box(lambda x: np.exp(x).sum(), "complex-step")
    >>> x = tf.Variable([0.0, 1.0])
    >>> with tf.GradientTape() as tape:
    ...     y = f(x)
    >>> tape.gradient(y, x).numpy()
    array([1.       , 2.7182817], dtype=float32)
    """
    if not callable(f):
        raise TypeError(f"black_box: f must be a function, got {f!r}.")
    if not callable(derivative) and derivative not in (COMPLEX_STEP, FINITE_DIFFERENCE):
        raise ValueError(
            f"black_box: derivative must be '{FINITE_DIFFERENCE}', '{COMPLEX_STEP}' or a function, "
            f"got {derivative!r}."
        )
    for name, value in {"step": step, "precision": precision, "tolerance": tolerance}.items():
        if value is not None and not value > 0:
            raise ValueError(f"black_box: {name} must be positive, got {value!r}.")
    options = {
        "method": derivative,
        "elementwise": elementwise,
        "chosen_step": step,
        "precision": precision,
        "tolerance": tolerance,
    }
    return BlackBox(f, batched, options)


class BlackBox:
    """A function of arrays as a function of tensors; keyword arguments are passed on as they are.

    >>> import gradtape as tf
    >>> f = tf.bridge.black_box(lambda x, power: x**power)
    >>> f(tf.constant([1.0, 2.0]), power=2).numpy()
    array([1., 4.], dtype=float32)
    """

    def __init__(self, f: Callable[..., Any], batched: bool, options: dict[str, Any]) -> None:
        functools.update_wrapper(self, f, updated=())
        self._f, self._batched, self._options = f, batched, options
        self._name = getattr(f, "__name__", type(f).__name__)
        self._plain = self._function({})

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        function = self._function(kwargs) if kwargs else self._plain
        outputs = call(BoxCall(function), self._tensors(args))
        structure = function.structure
        return (
            nest.pack_sequence_as(structure, outputs) if nest.is_nested(structure) else outputs[0]
        )

    def estimates(self, *args: Any, **kwargs: Any) -> Any:
        """The Jacobian by each floating argument with an estimate of its absolute error, for each
        element; a list of such tuples if there are several results. An elementwise function has
        partial derivatives instead.

        >>> import gradtape as tf
        >>> f = tf.bridge.black_box(lambda x: x**3)
        >>> (by_x,) = f.estimates(2.0)
        >>> abs(by_x.value - 12) <= by_x.error <= 1e-8
        np.True_
        """
        function = self._function(kwargs) if kwargs else self._plain
        arrays = [tensor.numpy()[None] for tensor in self._tensors(args)]
        places = [i for i, a in enumerate(arrays) if a.dtype in dtypes.TRAINABLE]
        if callable(function.method):
            found = [
                [Estimate(by[i][0], np.zeros(by[i][0].shape)) for i in places]
                for by in function.given(arrays)
            ]
        else:
            by_place = [function.estimates(arrays, i) for i in places]
            found = [
                [Estimate(e.value[0], e.error[0]) for e in by_argument]
                for by_argument in zip(*by_place, strict=True)
            ]
        several = [tuple(by_argument) for by_argument in found]
        return several[0] if len(several) == 1 else several

    def _function(self, kwargs: dict[str, Any]) -> UserFunction:
        f = functools.partial(self._f, **kwargs) if kwargs else self._f
        who = f"black_box {self._name}"
        return UserFunction(f, who, batched=self._batched, **self._options)

    def _tensors(self, args: Sequence[Any]) -> list[Tensor]:
        who = f"black_box {self._name}"
        if not args:
            raise TypeError(f"{who}: there must be an argument.")
        tensors = [as_tensor(a, argument=f"{who}: argument {i}") for i, a in enumerate(args)]
        for i, tensor in enumerate(tensors):
            if tensor.dtype == dtypes.string:
                raise TypeError(f"{who}: argument {i} holds strings: pass numbers.")
        if not self._options["elementwise"]:
            return tensors
        shape = np.broadcast_shapes(*[tuple(t.array.shape) for t in tensors])
        return [
            t if tuple(t.array.shape) == shape else broadcast_to(t, shape=shape) for t in tensors
        ]

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self if instance is None else functools.partial(self, instance)

    def __repr__(self) -> str:
        return f"<black_box {self._name}>"


class BoxCall(OnHost):
    """A function of NumPy arrays as an op, on inputs with `depth` batch axes. `dtypes`, if they are
    given, are those of the results.
    """

    def __init__(self, function: HostFunction, depth: int = 0, dtypes: Any = None) -> None:
        self.name = function.who
        self._function, self._depth, self._dtypes = function, depth, dtypes

    def on_arrays(self, arrays: list[Any]) -> list[Any]:
        lead = arrays[0].shape[: self._depth]
        size = int(np.prod(lead, dtype=np.int64))
        flat = [np.reshape(a, (size, *a.shape[self._depth :])) for a in arrays]
        found = [v.reshape((*lead, *v.shape[1:])) for v in self._function.many(flat)]
        if self._dtypes is None:
            return [_known(v) for v in found]
        return [v.astype(d) for v, d in zip(found, self._dtypes, strict=True)]

    def pull(
        self,
        inputs: Sequence[Tensor],
        recorded: Recorded,
        g: Mapping[int, Tensor],
        wanted: Sequence[int],
    ) -> Sequence[Tensor | None]:
        self._refuse_complex([*inputs, *g.values()])
        count = len(recorded.outputs())
        return [self._pulled(inputs, count, g, i) for i in wanted]

    def _pulled(
        self, inputs: Sequence[Tensor], count: int, g: Mapping[int, Tensor], place: int
    ) -> Tensor:
        x = inputs[place]
        derived = BoxCall(self._function.jacobian(place), self._depth, [x.array.dtype] * count)
        jacobians = call(derived, inputs)
        total: Any = None
        for i, cotangent in g.items():
            same = cotangent.array.dtype == x.array.dtype
            term = self._product(
                cotangent if same else needed.cast(cotangent, dtype=x.array.dtype),
                jacobians[i],
                tuple(x.array.shape),
            )
            total = term if total is None else total + term
        return total

    def _product(self, g: Tensor, jacobian: Tensor, shape: tuple[int, ...]) -> Any:
        if self._function.elementwise:
            return needed.times(g, jacobian)
        lead, out = shape[: self._depth], tuple(g.array.shape)[self._depth :]
        rows, columns = (int(np.prod(s, dtype=np.int64)) for s in (out, shape[self._depth :]))
        flat = matmul(
            reshape(g, shape=(*lead, 1, rows)), reshape(jacobian, shape=(*lead, rows, columns))
        )
        return reshape(flat, shape=shape)

    def push(
        self, inputs: Sequence[Tensor], tangents: Mapping[int, Tensor], outputs: Sequence[Any]
    ) -> Mapping[int, Tensor | None]:
        self._refuse_complex([*inputs, *outputs])
        kinds = [out.array.dtype for out in outputs]
        along = BoxCall(self._function.along(list(tangents)), self._depth, kinds)
        found = call(along, [*inputs, *tangents.values()])
        return {i: t for i, t in enumerate(found) if t.array.dtype in dtypes.TRAINABLE}

    def call_on_batch(
        self, size: int, mapped: Sequence[bool], inputs: Sequence[Tensor]
    ) -> list[Tensor]:
        deeper = BoxCall(self._function, self._depth + 1, self._dtypes)
        return call(deeper, every_mapped(size, inputs, mapped))

    def _refuse_complex(self, tensors: Sequence[Tensor]) -> None:
        if any(tensor.array.dtype.kind == "c" for tensor in tensors):
            raise TypeError(
                f"{self.name}: there are no derivatives by complex arguments or of complex "
                "results: pass and return real and imaginary parts."
            )


def _known(array: Any) -> Any:
    """A result with a dtype that Tensors have."""
    if array.dtype == np.longdouble:
        return array.astype(np.float64)
    return array
