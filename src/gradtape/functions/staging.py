"""`Staged`: a program as JAX traced it, and the parts of it that are compiled.

A staged program is a list of equations over variables. Its inputs are the arguments it was traced
with and the placeholders of what it captured. A part that computes some of its variables from
others is compiled by XLA when it is first run.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Container, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from gradtape.engines.numpy.allocator import LARGEST
from gradtape.engines.xla import devices as xla_devices
from gradtape.engines.xla import engine as xla_engine
from gradtape.engines.xla import host as xla_host
from gradtape.engines.xla import programs as xla_programs
from gradtape.engines.xla import settings as xla_settings
from gradtape.engines.xla.collector import Uncollected
from gradtape.engines.xla.devices import copied
from gradtape.engines.xla.loading import load
from gradtape.engines.xla.meshes import Layout, as_it_was, axes_now, layouts, wait_on_parts_of_cpu
from gradtape.engines.xla.programs import Guarded, UnpreparedError

if TYPE_CHECKING:
    from gradtape.core.xla.held_variable import Writes

Spec = tuple[tuple[int, ...], Any]
"""A shape and a NumPy dtype."""

# Constants of more elements are handed to a program when it runs, and not built into it.
_LITTLE = 256

_NOTHING: Mapping[int, Any] = MappingProxyType({})


class Spared(Guarded):
    """A compiled function that overwrites some of its inputs, called so that its results cannot be
    lost to a signal.

    If JAX is not prepared for a call, it runs Python code after the inputs have been donated to
    XLA, so such a call gets copies of the inputs that it overwrites. Other calls go through
    `Writes.run`.
    """

    def __init__(self, call: Any, donated: Sequence[int], python: Any, *, is_large: bool) -> None:
        super().__init__(call, python, is_large=is_large)
        self._donated = donated

    def __call__(self, given: Sequence[Any], writes: Writes) -> list[Any]:
        """The results, without those that go into the Variables."""
        if not any(setting.value for setting in xla_settings.checks_of_results()):
            with suppress(UnpreparedError):
                return writes.run(self.program, given)
        return self.on_copies(given, writes)

    def on_copies(self, given: Sequence[Any], writes: Writes) -> list[Any]:
        """The same for a call in which JAX prepares itself."""
        given = list(given)
        for i in self._donated:
            given[i] = copied(given[i])
        try:
            found = self.prepare(*given)
        except Exception as error:
            if xla_engine.is_gone(error) and any(given[i].is_deleted() for i in self._donated):
                # By the call itself: a check of its results has failed, and JAX runs it again.
                raise _not_finite() from None
            raise
        return _kept(found, writes)


def _kept(found: list[Any], writes: Writes) -> list[Any]:
    """The results of a call that has not overwritten its inputs, without those that go into the
    Variables.
    """
    writes.store(found[writes.outputs :])
    return found[: writes.outputs]


class Staged:
    """A traced program: `body` is a function of arrays that returns a list of arrays; it is called
    with a tracer before them.

    `outputs` has a variable for each result, `arguments` one for each argument.
    """

    def __init__(self, body: Callable[..., Sequence[Any]], specs: Sequence[Spec]) -> None:
        jax = load()
        mark = jax.ShapeDtypeStruct((), np.dtype(np.bool_))
        with xla_settings.wide():
            closed = jax.make_jaxpr(body, axis_env=axes_now())(
                mark, *[jax.ShapeDtypeStruct(shape, dtype) for shape, dtype in specs]
            )
        self.jaxpr = closed.jaxpr
        self.arguments = list(closed.jaxpr.invars[1:])
        self.outputs = list(closed.jaxpr.outvars)
        self._constants = dict(zip(closed.jaxpr.constvars, closed.consts, strict=True))
        self._by_array = {id(array): variable for variable, array in self._constants.items()}

    def take(self, array: Any) -> Any:
        """The variable of a captured array, which becomes an input; None if the program does not
        use it.
        """
        variable = self._by_array.pop(id(array), None)
        if variable is not None:
            del self._constants[variable]
        return variable

    def captured(self) -> list[Any]:
        """The arrays among its constants that are tracers of an enclosing program."""
        return [array for array in self._constants.values() if xla_engine.is_traced(array)]

    def constant(self, variable: Any) -> Any:
        """The value of a constant variable."""
        return self._constants[variable]

    def equation(self, number: int) -> tuple[list[Any], list[Any]]:
        """The variables that an equation reads, and those that it defines."""
        equation = self.jaxpr.eqns[number]
        read = {id(v): v for v in equation.invars if not is_literal(v)}
        return list(read.values()), [v for v in equation.outvars if type(v).__name__ != "DropVar"]

    def evaluated(self, number: int, *arrays: Any) -> list[Any]:
        """What an equation defines, from arrays for what it reads."""
        read, made = self.equation(number)
        unnamed = self.jaxpr.debug_info.with_unknown_names()
        alone = self.jaxpr.replace(
            constvars=[],
            invars=read,
            outvars=made,
            eqns=[self.jaxpr.eqns[number]],
            debug_info=unnamed,
        )
        return load().core.eval_jaxpr(alone, [], *arrays)

    def needed_for(self, outputs: Sequence[Any], known: Container[int] = frozenset()) -> list[int]:
        """The numbers of the equations that `outputs` depend on, stopping at variables whose ids
        are `known`.
        """
        equations, makers = self.jaxpr.eqns, self._makers
        found: set[int] = set()
        pending = list(outputs)
        while pending:
            variable = pending.pop()
            number = makers.get(id(variable))
            if number is not None and number not in found and id(variable) not in known:
                found.add(number)
                pending += equations[number].invars
        return sorted(found)

    @cached_property
    def _makers(self) -> dict[int, int]:
        """The number of the equation that defines a variable, by the variable's id."""
        equations = enumerate(self.jaxpr.eqns)
        return {id(v): number for number, equation in equations for v in equation.outvars}

    def with_effects(self) -> list[int]:
        """The numbers of the equations that do something besides computing, such as printing; that
        replicas speak to each other is none of that.
        """
        return [
            number
            for number, equation in enumerate(self.jaxpr.eqns)
            if any(type(effect).__name__ != "NamedAxisEffect" for effect in equation.effects)
        ]

    def made_by(self, equations: Sequence[int]) -> set[int]:
        """The ids of the variables that some equations define."""
        return {id(v) for number in equations for v in self.jaxpr.eqns[number].outvars}

    def used_by(self, equations: Sequence[int]) -> list[Any]:
        """The variables that some equations read."""
        return [v for number in equations for v in self.jaxpr.eqns[number].invars]

    def part(
        self,
        equations: Sequence[int],
        inputs: Sequence[Any],
        outputs: Sequence[Any],
        donated: Sequence[int] = (),
        written: Mapping[int, Any] = _NOTHING,
    ) -> Part:
        """The part made of some equations; `donated` are the positions of inputs whose buffers it
        may overwrite, `written` the Variables that outputs are for, by the outputs' positions.
        """
        return Part(self.jaxpr, self._constants, equations, inputs, outputs, donated, written)


class Part:
    """A part of a staged program: called with an array for each input, it returns a list with one
    for each output.

    `batches` says how its arguments may have been divided among devices, with a few rows more.
    """

    def __init__(
        self,
        jaxpr: Any,
        constants: dict[Any, Any],
        equations: Sequence[int],
        inputs: Sequence[Any],
        outputs: Sequence[Any],
        donated: Sequence[int],
        written: Mapping[int, Any] = _NOTHING,
    ) -> None:
        jax = load()
        chosen = [jaxpr.eqns[number] for number in equations]
        read = {id(v) for equation in chosen for v in equation.invars} | {id(v) for v in outputs}
        self.used = [i for i, v in enumerate(inputs) if v is not None and id(v) in read]
        self._takes_all = len(self.used) == len(inputs)
        given = {id(inputs[i]) for i in self.used}
        constants = {
            v: value for v, value in constants.items() if id(v) in read and id(v) not in given
        }
        little = {
            v: c
            for v, c in constants.items()
            if math.prod(c.shape) <= _LITTLE or xla_engine.is_traced(c)
        }
        # For later calls too, also if this is inside another program.
        with xla_settings.folding():
            self.large = [
                jax.device_put(np.asarray(value))
                for v, value in constants.items()
                if v not in little
            ]
        taken = [*(inputs[i] for i in self.used), *(v for v in constants if v not in little)]
        # The invars of some versions of JAX have the constants too.
        self._specs = [(v.aval.shape, v.aval.dtype) for v in taken]
        self._jaxpr = jaxpr.replace(
            constvars=list(little),
            invars=taken,
            outvars=list(outputs),
            eqns=chosen,
            debug_info=jaxpr.debug_info.with_unknown_names(),
        )
        self._little = list(little.values())
        self._primitives, kinds = xla_programs.contents(self._jaxpr)
        self.calls_host = "pure_callback" in self._primitives
        if self.calls_host:  # what loops carry along for nobody would call the host too
            self._jaxpr = _without_the_needless(self._jaxpr)
        # A call that ends in an exception of the host leaves everything as it was.
        overwritten = () if self.calls_host else frozenset(donated)
        self._donated = [place for place, i in enumerate(self.used) if i in overwritten]
        self._written = written
        self.batches: Layout | None = None
        self._changes, self._shardings = layouts.changes, self._divided_now()
        # Then JAX's switch for 64-bit numbers makes no difference.
        self._is_narrow = not (self.calls_host or any(map(xla_host.is_wide, kinds)))

    @property
    def compiled(self) -> Any:
        """The program as JAX calls it, for whichever thread asks first: which options XLA knows is
        found out by compiling, and the first call of a function does not wait for that.
        """
        try:
            return self.__dict__["_compiled"]
        except KeyError:
            shardings = {"out_shardings": self._shardings} if any(self._shardings) else {}
            made = load().jit(
                self._traced,
                donate_argnums=self._donated,
                compiler_options=xla_programs.compiler_options(self._jaxpr, self._primitives),
                **shardings,
            )
            return self.__dict__.setdefault("_compiled", made)

    def _divided_now(self) -> list[Any]:
        """For each output, how the Variable is divided that it is for, if it is."""
        found: list[Any] = [None] * len(self._jaxpr.outvars)
        for place, variable in self._written.items():
            layout = variable.divided_as
            found[place] = None if layout is None else layout.sharding
        return found

    def _divide_anew(self) -> None:
        """Lets JAX trace it again if Variables that it writes have got other layouts."""
        self._changes, before, self._shardings = (
            layouts.changes,
            self._shardings,
            self._divided_now(),
        )
        if before != self._shardings:
            self.__dict__.pop("_compiled", None)
            self.__dict__.pop("_spared", None)

    def is_up_to_date(self) -> bool:
        """Whether no Variable has got another layout since it was compiled."""
        return self._changes == layouts.changes

    def executable(self) -> Spared | None:
        """What XLA compiled, a function of the `used` inputs and of the arrays `large`; None if
        more has to be done around a call.

        It raises a TypeError for arguments of other shapes and dtypes, and needs no switch for
        64-bit numbers.
        """
        if self.calls_host:
            return None
        if self._is_narrow:
            return self._spared
        if xla_devices.are_several():  # it would be compiled for one of them
            return None
        with xla_settings.wide():  # as `compiled` is called, so that nothing is compiled again
            return self._spared_of(self._compiled_now())

    def compile(self) -> None:
        """Lets XLA compile it, so that the first call need not; on any thread."""
        with Uncollected() if self._is_narrow else xla_settings.wide():  # as it is called
            self._compiled_now()

    def _compiled_now(self) -> Any:
        jax = load()
        specs = [jax.ShapeDtypeStruct(shape, dtype) for shape, dtype in self._specs]
        return self.compiled.lower(*specs).compile()

    @cached_property
    def _spared(self) -> Spared:
        return self._spared_of(self.compiled)

    def _spared_of(self, call: Any) -> Spared:
        is_large = xla_programs.size_of_results(self._jaxpr) > LARGEST
        return Spared(call, self._donated, self._traced, is_large=is_large)

    def draws_random_numbers(self) -> bool:
        return xla_programs.uses(self._jaxpr, "random_wrap")

    def _traced(self, *arrays: Any) -> Any:
        """What JAX traces; it has one kind of arguments, so it is traced once."""
        arrays = tuple(
            as_it_was(array, shape, self.batches)
            for array, (shape, _) in zip(arrays, self._specs, strict=True)
        )
        for array, (shape, dtype) in zip(arrays, self._specs, strict=True):
            if array.shape != shape or array.dtype != dtype:
                raise TypeError(
                    "the arguments do not have the shapes and dtypes that the program was "
                    "traced for"
                )
        xla_programs.prepare(self._primitives)
        return self._evaluated(*arrays)

    def _evaluated(self, *arrays: Any) -> list[Any]:
        found = load().core.eval_jaxpr(self._jaxpr, self._little, *arrays)
        # JAX gives a constant result as an array of a class of its own, which knows no device.
        return [np.asarray(array) if isinstance(array, np.ndarray) else array for array in found]

    def run(self, arrays: Sequence[Any], writes: Writes | None = None) -> list[Any]:
        """Runs it compiled.

        The last of its results go into Variables, if there are `writes`, and the others are
        returned.
        """
        return self._run(arrays if self._takes_all else [arrays[i] for i in self.used], writes)

    def _run(self, arrays: Sequence[Any], writes: Writes | None = None) -> list[Any]:
        if not self.calls_host:
            return self._tried(arrays, writes)
        with xla_settings.Kept():
            return self._tried(arrays, writes)

    def _tried(self, arrays: Sequence[Any], writes: Writes | None) -> list[Any]:
        given = [*arrays, *self.large] if self.large else arrays
        if not self.is_up_to_date():
            self._divide_anew()
        try:
            # Throwing the switch takes as long as half a call.
            if self._is_narrow and xla_settings.preferred() is None:
                return self._called(given, writes)
            given = xla_devices.where_wanted(given)
            with xla_settings.wide():
                found = self._called(given, writes)
                # What it does on the host is done, or has failed, when this returns.
                return load().block_until_ready(found) if self.calls_host else found
        except Exception as error:
            if xla_programs.is_inside_another(error):  # of which none of its arguments is a part
                with xla_settings.wide():
                    found = self._evaluated(*given)
                return found if writes is None else _kept(found, writes)
            if xla_engine.are_apart(error):
                return self._run(xla_devices.on_one_device(given)[: len(arrays)], writes)
            if xla_engine.recovers(error):
                return self._run(arrays, writes)
            if type(error).__name__ == "InternalFloatingPointError":  # of jax.debug_nans
                raise _not_finite() from error
            original = xla_host.original(error)
            if original is error:
                raise
            raise original from original.__cause__  # without XLA's own error

    def _called(self, given: Sequence[Any], writes: Writes | None) -> list[Any]:
        found = self._begun(given, writes)
        wait_on_parts_of_cpu(found or ([] if writes is None else writes.written_first()))
        return found

    def _begun(self, given: Sequence[Any], writes: Writes | None) -> list[Any]:
        if writes is None:
            return self._spared.prepare(*given)
        if self.calls_host:
            # It is not to be done again, whatever handlers have written meanwhile.
            return _kept(load().block_until_ready(self.compiled(*given)), writes.after({}))
        return self._spared(given, writes)

    def __call__(self, arrays: Sequence[Any], writes: Writes | None = None) -> list[Any]:
        """Runs it compiled; inside another program, its equations become part of that one."""
        given = [arrays[i] for i in self.used]
        return (
            self.inlined(arrays)
            if any(map(xla_engine.is_traced, given))
            else self._run(given, writes)
        )

    def inlined(self, arrays: Sequence[Any]) -> list[Any]:
        """Its equations as part of the program that is being traced."""
        with xla_settings.wide():
            return self._evaluated(*[arrays[i] for i in self.used], *self.large)


def _not_finite() -> FloatingPointError:
    return FloatingPointError("invalid value (NaN or infinity) in a result of a compiled function")


def is_literal(variable: Any) -> bool:
    """Whether a JAX variable is a literal number in the program."""
    return hasattr(variable, "val")


def _without_the_needless(jaxpr: Any) -> Any:
    """A program without the equations that its outputs do not need, in its loops too."""
    return import_module("jax.interpreters.partial_eval").dce_jaxpr(
        jaxpr, [True] * len(jaxpr.outvars), instantiate=True
    )[0]


def depends_on(function: Callable[..., Sequence[Any]], arrays: Sequence[Any]) -> list[set[int]]:
    """For each output of a function of arrays, the positions of the arguments that it depends on;
    -1 for captured values.
    """
    jax = load()
    with xla_settings.wide():
        closed = jax.make_jaxpr(function)(*[jax.ShapeDtypeStruct(a.shape, a.dtype) for a in arrays])
    jaxpr = closed.jaxpr
    found: dict[int, set[int]] = {id(v): {i} for i, v in enumerate(jaxpr.invars)}
    found.update(
        (id(v), {-1})
        for v, c in zip(jaxpr.constvars, closed.consts, strict=True)
        if xla_engine.is_traced(c)
    )
    for equation in jaxpr.eqns:
        together: set[int] = set().union(*(found.get(id(v), set()) for v in equation.invars))
        found.update((id(v), together) for v in equation.outvars)
    return [found.get(id(v), set()) for v in jaxpr.outvars]


def count_steps(
    condition: Callable[..., Sequence[Any]],
    body: Callable[..., Sequence[Any]],
    arrays: Sequence[Any],
    known: Sequence[int],
    variables: int,
    limit: int | None,
) -> int:
    """How often a loop runs, found by running now the part of it that the condition depends on,
    from the `known` inputs.
    """
    jax = load()
    changing = [i for i in known if i < variables]

    def filled(values: Sequence[Any]) -> list[Any]:
        given = dict(zip(changing, values, strict=True))
        return [
            given[i] if i in given else a if i in known else jax.numpy.zeros(a.shape, a.dtype)
            for i, a in enumerate(arrays)
        ]

    with xla_settings.wide():
        closed = jax.make_jaxpr(body)(*[jax.ShapeDtypeStruct(a.shape, a.dtype) for a in arrays])
    # Only what the counters need: the rest of the body may print.
    counting = _without_the_needless(
        closed.jaxpr.replace(outvars=[closed.jaxpr.outvars[i] for i in changing])
    )

    def holds(state: Any) -> Any:
        steps, values = state
        return condition(*filled(values))[0] & (True if limit is None else steps < limit)

    def step(state: Any) -> Any:
        steps, values = state
        return steps + 1, jax.core.eval_jaxpr(counting, closed.consts, *filled(values))

    with xla_settings.folding():
        steps, _ = jax.jit(lambda values: jax.lax.while_loop(holds, step, (0, values)))(
            [arrays[i] for i in changing]
        )
    return int(steps)
