"""`call_in_jax`: a gradtape program as a primitive of JAX, whose derivatives and batches are
gradtape's too.

A derivative of a program is linear in some of its inputs. `TangentOp` gives the tangents of the
outputs and is linear in those of inputs, `GradientOp` gives the cotangents of inputs and is linear
in those of the outputs: each is the transpose of the other, which is all that JAX has to know to
differentiate in reverse.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Hashable, Sequence
from functools import cache, partial
from importlib import import_module
from typing import Any

import numpy as np

from gradtape import dtypes
from gradtape.core.tensor import Tensor
from gradtape.core.thread import here
from gradtape.core.xla.trace import outside_programs
from gradtape.engines.xla import settings as xla_settings
from gradtape.engines.xla.loading import load
from gradtape.functions.program import Program
from gradtape.functions.structured import Body, Spec, gradient_body, on_whole_batch, tangent_body

Places = tuple[int, ...]


def call_in_jax(op: ProgramOp, arrays: Sequence[Any]) -> list[Any]:
    """The outputs of a program for JAX arrays, or tracers of them."""
    found: list[Any] = _primitive().bind(*arrays, op=op)
    return found


def traced(name: str, run: Body, specs: Sequence[Spec]) -> Program:
    """A program, traced by itself, whatever records or is traced around it."""
    state = here.state
    levels, state.levels = state.levels, ()
    try:
        with outside_programs(), state.only([]):
            program = Program(name, run, specs)
            program.must_compile = True
            program.trace()
            return program
    finally:
        state.levels = levels


class ProgramOp:
    """A program as JAX calls it: `specs` are the shapes and dtypes of its inputs."""

    def __init__(self, name: str, run: Body, specs: Sequence[Spec]) -> None:
        self.name = name
        self.specs = list(specs)
        self._program = traced(name, run, self.specs)
        self.outputs: list[Spec] = list(self._program.outputs)
        self.compiled = load().jit(self.evaluate, static_argnames="is_wide")
        self._derived: dict[Hashable, Any] = {}

    def run(self, tensors: Sequence[Tensor]) -> list[Tensor]:
        """The outputs, recorded by whatever records. What the program takes in besides its inputs
        is hidden, such as the order of its prints.
        """
        hidden = [variable.tensor() for variable in self._program.taken]
        return self._program.again([*tensors, *hidden])[0]

    def evaluate(self, *arrays: Any, is_wide: bool) -> list[Any]:
        """What JAX traces: the program's own equations, between conversions from and to the dtypes
        that JAX has; call it inside `wide()`.
        """
        convert = load().lax.convert_element_type
        given = [
            a if a.dtype == dtype else convert(a, dtype)
            for a, (_, dtype) in zip(arrays, self.specs, strict=True)
        ]
        hidden = [load().numpy.asarray(variable.array) for variable in self._program.taken]
        found = self._program.compiled_plain().inlined([*given, *hidden])[: len(self.outputs)]
        return [
            a if a.dtype == dtype else convert(a, dtype)
            for a, (_, dtype) in zip(found, self.in_jax(is_wide), strict=True)
        ]

    def in_jax(self, is_wide: bool) -> list[Spec]:
        """The shapes and dtypes that JAX has of the outputs."""
        return [(shape, dtype if is_wide else narrow(dtype)) for shape, dtype in self.outputs]

    def tangent(self, moved: Places) -> ProgramOp:
        """The tangents of the outputs that have gradients, from the inputs and the tangents of
        those `moved`.
        """
        return self._known(("tangent", moved), lambda: TangentOp(self, moved))

    def gradient(self, wanted: Places) -> ProgramOp:
        """The cotangents of the `wanted` inputs, from the inputs and the cotangents of the outputs
        that have gradients.
        """
        return self._known(("gradient", wanted), lambda: GradientOp(self, wanted))

    def batched(self, size: int, mapped: tuple[bool, ...]) -> ProgramOp:
        """The op for a batch of those inputs that are `mapped`, as `to_map` has it; all outputs
        are batches.
        """
        return self._known(("batch", size, mapped), lambda: self._on_batch(size, mapped))

    def to_map(self, mapped: Sequence[bool]) -> tuple[bool, ...]:
        """Which inputs must be batches if those that are `mapped` are."""
        return tuple(mapped)

    def _on_batch(self, size: int, mapped: tuple[bool, ...]) -> ProgramOp:
        specs = [
            ((size, *shape), dtype) if m else (shape, dtype)
            for (shape, dtype), m in zip(self.specs, mapped, strict=True)
        ]
        return ProgramOp(self.name, on_whole_batch(self.run, mapped), specs)

    def _known(self, key: Hashable, make: Callable[[], ProgramOp]) -> ProgramOp:
        if key not in self._derived:
            self._derived[key] = make()
        found: ProgramOp = self._derived[key]
        return found


class LinearOp(ProgramOp):
    """A derivative of `base` by, or along, the inputs `places` of it: its own inputs are those of
    `base`, and then those that it is linear in.
    """

    def __init__(
        self, base: ProgramOp, run: Body, places: Places, linear_in: Sequence[Spec]
    ) -> None:
        super().__init__(base.name, run, [*base.specs, *linear_in])
        self.base, self.places = base, places

    @abstractmethod
    def transposed(self) -> ProgramOp:
        """The op of the same inputs of `base`, and of cotangents of the outputs of this one."""

    @abstractmethod
    def of(self, base: ProgramOp) -> ProgramOp:
        """The same derivative of another op."""

    def to_map(self, mapped: Sequence[bool]) -> tuple[bool, ...]:
        count = len(self.base.specs)
        of_base = self.base.to_map([m or i in self.places for i, m in enumerate(mapped[:count])])
        return (*of_base, *(True for _ in mapped[count:]))

    def _on_batch(self, size: int, mapped: tuple[bool, ...]) -> ProgramOp:
        return self.of(self.base.batched(size, mapped[: len(self.base.specs)]))


class TangentOp(LinearOp):
    def __init__(self, base: ProgramOp, moved: Places) -> None:
        both = tangent_body(base.run, [i in moved for i in range(len(base.specs))])
        count = len(base.outputs)
        super().__init__(
            base, lambda tensors: both(tensors)[count:], moved, [base.specs[i] for i in moved]
        )

    def transposed(self) -> ProgramOp:
        return self.base.gradient(self.places)

    def of(self, base: ProgramOp) -> ProgramOp:
        return base.tangent(self.places)


class GradientOp(LinearOp):
    def __init__(self, base: ProgramOp, wanted: Places) -> None:
        run = gradient_body(base.run, [i in wanted for i in range(len(base.specs))])
        cotangents = [(shape, dtype) for shape, dtype in base.outputs if _is_trainable(dtype)]
        super().__init__(base, run, wanted, cotangents)

    def transposed(self) -> ProgramOp:
        return self.base.tangent(self.places)

    def of(self, base: ProgramOp) -> ProgramOp:
        return base.gradient(self.places)


def narrow(dtype: Any) -> Any:
    """The dtype that JAX has in the place of a 64-bit one, where these are switched off."""
    kinds = {"f8": np.float32, "i8": np.int32, "u8": np.uint32, "c16": np.complex64}
    return np.dtype(kinds.get(np.dtype(dtype).str[1:], dtype))


@cache
def _primitive() -> Any:
    """The primitive, with what JAX asks of one."""
    primitive = import_module("jax.extend.core").Primitive("gradtape")
    derivatives, batching, lowering = (
        import_module(f"jax.interpreters.{name}") for name in ("ad", "batching", "mlir")
    )
    primitive.multiple_results = True
    primitive.def_impl(_computed)
    primitive.def_abstract_eval(_known_of_results)
    derivatives.primitive_jvps[primitive] = _pushed
    derivatives.primitive_transposes[primitive] = _transposed
    batching.primitive_batchers[primitive] = _on_batch
    lowering.register_lowering(primitive, partial(_lowered, lowering.lower_fun))
    return primitive


def _computed(*arrays: Any, op: ProgramOp) -> list[Any]:
    is_wide = xla_settings.users_switch()
    with xla_settings.wide():
        found: list[Any] = op.compiled(*arrays, is_wide=is_wide)
        return found


def _known_of_results(*avals: Any, op: ProgramOp) -> list[Any]:
    shaped = load().core.ShapedArray
    return [shaped(*spec) for spec in op.in_jax(xla_settings.users_switch())]


def _lowered(lower: Any, context: Any, *values: Any, op: ProgramOp) -> Any:
    is_wide = xla_settings.users_switch()
    with xla_settings.wide():
        run = partial(op.evaluate, is_wide=is_wide)
        return lower(run, multiple_results=True)(context, *values)


def _pushed(
    primals: Sequence[Any], tangents: Sequence[Any], *, op: ProgramOp
) -> tuple[list[Any], list[Any]]:
    """The outputs and their tangents."""
    jax = load()
    zero = import_module("jax.interpreters.ad").Zero
    outputs = call_in_jax(op, primals)
    moved = tuple(
        i
        for i, (tangent, (_, dtype)) in enumerate(zip(tangents, op.specs, strict=True))
        if type(tangent) is not zero and _is_trainable(dtype)
    )
    moving = [tangents[i] for i in moved]
    found = iter(call_in_jax(op.tangent(moved), [*primals, *moving]) if moved else ())
    pushed = [
        next(found)
        if moved and _is_trainable(dtype)
        else zero(jax.core.ShapedArray(shape, dtype if _is_trainable(dtype) else jax.dtypes.float0))
        for shape, dtype in op.in_jax(xla_settings.users_switch())
    ]
    return outputs, pushed


def _transposed(cotangents: Sequence[Any], *arrays: Any, op: LinearOp) -> list[Any]:
    """The cotangents of what the op is linear in. JAX's are those of the transpose, gradtape's
    those of the adjoint: for complex numbers they differ.
    """
    derivatives = import_module("jax.interpreters.ad")
    count = len(op.base.specs)
    given = [_conjugated(derivatives.instantiate_zeros(g)) for g in cotangents]
    found = call_in_jax(op.transposed(), [*arrays[:count], *given])
    return [None] * count + [
        _conjugated(g) if derivatives.is_undefined_primal(array) else None
        for g, array in zip(found, arrays[count:], strict=True)
    ]


def _on_batch(
    arrays: Sequence[Any], axes: Sequence[Any], *, op: ProgramOp
) -> tuple[list[Any], list[int]]:
    jnp = load().numpy
    batched = [axis is not None for axis in axes]
    size = next(a.shape[axis] for a, axis in zip(arrays, axes, strict=True) if axis is not None)
    mapped = op.to_map(batched)
    given = [
        jnp.moveaxis(array, axis, 0)
        if axis is not None
        else jnp.broadcast_to(array, (size, *array.shape))
        if m
        else array
        for array, axis, m in zip(arrays, axes, mapped, strict=True)
    ]
    outputs = call_in_jax(op.batched(size, mapped), given)
    return outputs, [0] * len(outputs)


def _conjugated(array: Any) -> Any:
    return array.conj() if np.dtype(array.dtype).kind == "c" else array


def _is_trainable(dtype: Any) -> bool:
    return dtype in dtypes.TRAINABLE
