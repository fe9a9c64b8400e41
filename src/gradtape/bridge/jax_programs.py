"""`JaxProgram`: a JAX function of flat arrays for one signature, and the programs that are derived
from it; `JaxCall`, a call of one as an op.

Where something records, a call runs the *forward* program, whose outputs are those of the function
and then what JAX keeps for the backward step; the *backward* program takes these and cotangents.
Both are JAX functions of arrays, so that they have forward and backward programs of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np

from gradtape import dtypes
from gradtape.bridge.foreign import Foreign, Recorded, call, is_followed
from gradtape.core.tensor import Tensor
from gradtape.core.thread import here
from gradtape.core.xla.tensor import array_for_xla, array_to_pass, result_array
from gradtape.engines.xla import settings as xla_settings
from gradtape.engines.xla.loading import check_process, load
from gradtape.functions.staging import is_literal
from gradtape.functions.tracing import has_gradient

Run = Callable[[list[Any], list[Any]], Sequence[Any]]
Derived = TypeVar("Derived", bound="JaxProgram")


class JaxProgram:
    """`run(arrays, constants)` compiled by JAX; it gives a sequence of arrays.

    `constants` are what JAX takes and no Tensor can hold: Python's numbers, which have no dtype of
    their own, and keys of random numbers. `wide` says whether 64-bit numbers are switched on.
    """

    def __init__(self, name: str, run: Run, *, wide: bool) -> None:
        self.name = name
        self.wide = wide
        self.trainable: list[bool] = []
        """For each output whether it can have a gradient, once the program has been traced."""
        self._run = run
        self._derived: dict[Hashable, Any] = {}
        self._reaching: list[bool] | None = None
        self.compiled = load().jit(self._traced)

    def _traced(self, arrays: list[Any], constants: list[Any]) -> list[Any]:
        found = list(self._run(arrays, constants))
        self.trainable = [np.dtype(array.dtype) in dtypes.TRAINABLE for array in found]
        return found

    def traced(self, inputs: Sequence[Tensor], constants: Sequence[Any]) -> Any:
        """The program as JAX has it, for inputs of these shapes and dtypes."""
        specs = [load().ShapeDtypeStruct(t.array.shape, t.array.dtype) for t in inputs]
        with xla_settings.switched(self.wide):
            return self.compiled.trace(specs, list(constants)).jaxpr

    def reaching(
        self, inputs: Sequence[Tensor], constants: Sequence[Any], first: int
    ) -> list[bool]:
        """For each output whether it depends on an input from the `first` one on: a derivative that
        does not depend on what it is taken along is none.
        """
        if self._reaching is None:
            jaxpr = self.traced(inputs, constants).jaxpr
            varies = [first <= i < len(inputs) for i in range(len(jaxpr.invars))]
            self._reaching = _depending(jaxpr, varies)
        return self._reaching

    def derived(self, key: Hashable, make: Callable[[], Derived]) -> Derived:
        if key not in self._derived:
            self._derived[key] = make()
        return self._derived[key]

    def forward(self, active: tuple[int, ...]) -> Forward:
        """The program that also gives what a backward step by the `active` inputs needs."""
        return self.derived(("forward", active), lambda: Forward(self, active))

    def gradient(self, count: int, wanted: tuple[int, ...], given: tuple[int, ...]) -> JaxProgram:
        """The program of `count` inputs, and cotangents of the outputs `given`, that gives those of
        the inputs `wanted`.
        """

        def run(arrays: list[Any], constants: list[Any]) -> Sequence[Any]:
            function, moving = self._of(arrays[:count], constants, wanted)
            outputs, pull = load().vjp(function, *moving)
            return _pulled(pull, outputs, given, arrays[count:])

        return self.derived(("gradient", wanted, given), lambda: self._another("gradient", run))

    def tangent(self, count: int, moved: tuple[int, ...]) -> JaxProgram:
        """The program of `count` inputs, and tangents of those `moved`, that gives the tangents of
        the outputs that can have gradients.
        """

        def run(arrays: list[Any], constants: list[Any]) -> Sequence[Any]:
            function, moving = self._of(arrays[:count], constants, moved)
            _, tangents = load().jvp(function, tuple(moving), tuple(arrays[count:]))
            return [t for t, is_one in zip(tangents, self.trainable, strict=True) if is_one]

        return self.derived(("tangent", moved), lambda: self._another("tangent", run))

    def batched(self, mapped: tuple[bool, ...]) -> JaxProgram:
        """The program for a batch of those inputs that are `mapped`."""
        run = _on_batch(self.compiled, mapped)
        return self.derived(("batched", mapped), lambda: self._another("batch", run))

    def _of(
        self, arrays: Sequence[Any], constants: list[Any], places: Sequence[int]
    ) -> tuple[Callable[..., list[Any]], list[Any]]:
        """The program as a function of some of its inputs, and those."""

        def function(*moving: Any) -> list[Any]:
            filled = dict(zip(places, moving, strict=True))
            return self.compiled([filled.get(i, a) for i, a in enumerate(arrays)], constants)

        return function, [arrays[i] for i in places]

    def _another(self, what: str, run: Run) -> JaxProgram:
        return JaxProgram(f"{self.name} ({what})", run, wide=self.wide)


class Forward(JaxProgram):
    """The outputs of a program, and then what its backward step needs."""

    def __init__(self, program: JaxProgram, active: tuple[int, ...]) -> None:
        super().__init__(program.name, self._recording, wide=program.wide)
        self.active = active
        self.outputs = 0
        self._program = program
        self._pull: Any = None  # the structure of JAX's function for the backward step
        self._keys: list[Any] = []
        self._specs: list[Any] = []

    def _recording(self, arrays: list[Any], constants: list[Any]) -> list[Any]:
        jax = load()
        function, moving = self._program._of(arrays, constants, self.active)
        outputs, pull = jax.vjp(function, *moving)
        residuals, self._pull = jax.tree_util.tree_flatten(pull)
        self._keys = [jax.random.key_impl(r) if _is_key(r) else None for r in residuals]
        self.outputs = len(outputs)
        self._specs = [jax.ShapeDtypeStruct(out.shape, out.dtype) for out in outputs]
        kept = [
            jax.numpy.asarray(r) if key is None else jax.random.key_data(r)
            for r, key in zip(residuals, self._keys, strict=True)
        ]
        return [*outputs, *kept]

    def backward(self, wanted: tuple[int, ...], given: tuple[int, ...]) -> JaxProgram:
        """The program of what was kept, and cotangents of the outputs `given`, that gives those of
        the inputs `wanted`.
        """

        def run(arrays: list[Any], constants: list[Any]) -> Sequence[Any]:
            jax = load()
            count = len(self._keys)
            residuals = [
                r if key is None else jax.random.wrap_key_data(r, impl=key)
                for r, key in zip(arrays, self._keys, strict=False)
            ]
            pull = jax.tree_util.tree_unflatten(self._pull, residuals)
            found = _pulled(pull, self._specs, given, arrays[count:])
            return [found[self.active.index(i)] for i in wanted]

        return self.derived(("backward", wanted, given), lambda: self._another("backward", run))

    def batched(self, mapped: tuple[bool, ...]) -> ForwardOnBatch:
        return self.derived(("batched", mapped), lambda: ForwardOnBatch(self, mapped))


class ForwardOnBatch(Forward):
    """A forward program for a batch: so is what it keeps."""

    def __init__(self, program: Forward, mapped: tuple[bool, ...]) -> None:
        JaxProgram.__init__(
            self, program.name, _on_batch(program.compiled, mapped), wide=program.wide
        )
        self.active = program.active
        self._example = program
        self._mapped = mapped

    @property
    def outputs(self) -> int:  # type: ignore[override]
        return self._example.outputs

    def backward(self, wanted: tuple[int, ...], given: tuple[int, ...]) -> JaxProgram:
        example = self._example.backward(wanted, given)

        def run(arrays: list[Any], constants: list[Any]) -> Sequence[Any]:
            found = _on_batch(example.compiled, [True] * len(arrays))(arrays, constants)
            return [g if self._mapped[i] else g.sum(0) for i, g in zip(wanted, found, strict=True)]

        return self.derived(("backward", wanted, given), lambda: self._another("backward", run))


class JaxCall(Foreign):
    """A program with its constants, as an op."""

    def __init__(self, program: JaxProgram, constants: Sequence[Any] = ()) -> None:
        self.name = program.name
        self._program = program
        self._constants = list(constants)

    def compute(self, inputs: Sequence[Tensor]) -> list[Any]:
        check_process()
        arrays = [(array_to_pass if _is_little(t.array) else array_for_xla)(t) for t in inputs]
        with xla_settings.switched(self._program.wide):
            return [result_array(a) for a in self._program.compiled(arrays, self._constants)]

    def first_kept(self, count: int) -> int:
        return self._program.outputs if isinstance(self._program, Forward) else count

    def pull(
        self,
        inputs: Sequence[Tensor],
        recorded: Recorded,
        g: Mapping[int, Tensor],
        wanted: Sequence[int],
    ) -> Sequence[Tensor | None]:
        program, places, given = self._program, tuple(wanted), tuple(g)
        if (
            isinstance(program, Forward)
            and set(places) <= set(program.active)
            and max(given) < program.outputs
        ):
            kept = recorded.outputs()[program.outputs :]
            backward = program.backward(places, given)
            return _along(backward, (), [*kept, *g.values()], len(kept))
        gradient = program.gradient(len(inputs), places, given)
        return _along(gradient, self._constants, [*inputs, *g.values()], len(inputs))

    def push(
        self, inputs: Sequence[Tensor], tangents: Mapping[int, Tensor], outputs: Sequence[Any]
    ) -> Mapping[int, Tensor | None]:
        tangent = self._program.tangent(len(inputs), tuple(tangents))
        found = _along(tangent, self._constants, [*inputs, *tangents.values()], len(inputs))
        trainable = [i for i, output in enumerate(outputs) if has_gradient(output)]
        return dict(zip(trainable, found, strict=True))

    def call_on_batch(
        self, size: int, mapped: Sequence[bool], inputs: Sequence[Tensor]
    ) -> list[Tensor]:
        return call(JaxCall(self._program.batched(tuple(mapped)), self._constants), inputs)


def call_program(
    program: JaxProgram, constants: Sequence[Any], inputs: Sequence[Tensor]
) -> list[Tensor]:
    """A call of a program; where a gradient may be wanted, of its forward program."""
    records = any(r.scope is not None and not r.pushes for r in here.state.recorders)
    if records or here.state.trace is not None:
        active = tuple(i for i, tensor in enumerate(inputs) if is_followed(tensor))
        if active:
            forward = program.forward(active)
            if _can_be_traced(forward, inputs, constants):
                return call(JaxCall(forward, constants), inputs)[: forward.outputs]
    return call(JaxCall(program, constants), inputs)


def _is_little(array: Any) -> bool:
    """Whether JAX copies a NumPy array in less time than it takes to share its memory."""
    return isinstance(array, (np.ndarray, np.generic)) and array.nbytes < 1 << 16


def _can_be_traced(program: JaxProgram, inputs: Sequence[Tensor], constants: Sequence[Any]) -> bool:
    """Whether JAX has a backward step of it. If not, whoever asks for a gradient gets JAX's error,
    and forward mode works.
    """
    if program.trainable:
        return True
    try:
        program.traced(inputs, constants)
    except Exception:  # noqa: BLE001 - it is raised again by what needs the program
        return False
    return True


def _along(
    program: JaxProgram, constants: Sequence[Any], inputs: Sequence[Tensor], first: int
) -> list[Tensor | None]:
    """What a derivative's program gives, None where it does not depend on the inputs from the
    `first` one on.
    """
    reaching = program.reaching(inputs, constants, first)
    if not any(reaching):
        return [None] * len(reaching)
    found = call_program(program, constants, inputs)
    return [tensor if r else None for tensor, r in zip(found, reaching, strict=True)]


def _pulled(pull: Any, outputs: Sequence[Any], given: Sequence[int], g: Sequence[Any]) -> list[Any]:
    """The cotangents of a function's arguments. A gradient here is the adjoint, in JAX it is the
    transpose: they differ for complex numbers.
    """
    jax = load()
    by_output = dict(zip(given, g, strict=True))
    cotangents = []
    for i, out in enumerate(outputs):
        if i in by_output:
            cotangents.append(_conjugated(by_output[i]))
        elif jax.numpy.issubdtype(out.dtype, np.inexact):
            cotangents.append(jax.numpy.zeros(out.shape, out.dtype))
        else:
            cotangents.append(np.zeros(out.shape, jax.dtypes.float0))
    return [_conjugated(found) for found in pull(cotangents)]


def _conjugated(array: Any) -> Any:
    return array.conj() if np.dtype(array.dtype).kind == "c" else array


def _is_key(array: Any) -> bool:
    jax = load()
    return hasattr(array, "dtype") and jax.dtypes.issubdtype(array.dtype, jax.dtypes.prng_key)


def _on_batch(function: Callable[..., Any], mapped: Sequence[bool]) -> Run:
    axes = [0 if m else None for m in mapped]
    return load().vmap(function, in_axes=(axes, None))


def _depending(jaxpr: Any, varies: Sequence[bool]) -> list[bool]:
    """Which outputs of JAX's program depend on those inputs that vary; inside the programs that it
    calls too.
    """
    found = {v for v, one in zip(jaxpr.invars, varies, strict=True) if one}

    def is_in(v: Any) -> bool:
        return not is_literal(v) and v in found

    for equation in jaxpr.eqns:
        given = [is_in(v) for v in equation.invars]
        if not any(given):
            continue
        inner = equation.params.get("jaxpr") if equation.primitive.name in _CALLS else None
        inner = getattr(inner, "jaxpr", inner)
        fits = inner is not None and len(inner.invars) == len(given)
        reached = _depending(inner, given) if fits else [True] * len(equation.outvars)
        found.update(v for v, one in zip(equation.outvars, reached, strict=True) if one)
    return [is_in(v) for v in jaxpr.outvars]


_CALLS = ("jit", "pjit", "closed_call", "core_call", "remat2", "checkpoint")
"""JAX's names of programs that are called once."""
