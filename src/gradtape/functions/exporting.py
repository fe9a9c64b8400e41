"""Traced functions as bytes that run without their Python: StableHLO, by `jax.export`.

A function is exported with its derivatives: level 0 is its program, level 1 the program of its
gradients, as a function of the inputs and the cotangents, and level 2 that of those gradients'
gradients. They are gradtape's own derivatives. `exported` runs what this makes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from gradtape import dtypes, nest
from gradtape.core.tensor import Tensor
from gradtape.core.xla.trace import inputs_of_path
from gradtape.dtypes import DType
from gradtape.engines.xla import engine as xla_engine
from gradtape.engines.xla import settings as xla_settings
from gradtape.engines.xla.loading import load
from gradtape.extras import needed_for
from gradtape.functions.eager_function import EagerFunction
from gradtape.functions.open_numbers import NotOpenError, Sizes, extremes, samples
from gradtape.functions.open_sizes import Merged
from gradtape.functions.program import Program
from gradtape.functions.reason import NoGradientError
from gradtape.functions.signature import Arguments
from gradtape.shapes import TensorShape, TensorSpec

if TYPE_CHECKING:
    from gradtape.functions.concrete_function import ConcreteFunction
    from gradtape.functions.function import Function

ORDER = 2
_PLATFORMS = ("cpu", "cuda", "tpu")
_MOST_OPEN = 4
_MOST_BOUNDS = 8
# What JAX says where it has to know more about a size: that it is not too small.
_BOUND = re.compile(r"comparison '((?:\d+\*)?n\d+(?: [+-] \d+)?)' >= '(\d+)' is inconclusive")


class Level(NamedTuple):
    """A program, or that of the gradients of the level before.

    Its inputs are those of the level before, cotangents, and what is `captured`; its results are
    `outputs` and then what is `written`. `connected` are the inputs that the next level has
    gradients for, and `why` says why there is none.
    """

    data: bytes
    captured: tuple[Any, ...]
    written: tuple[Any, ...]
    outputs: tuple[TensorSpec, ...]
    connected: tuple[bool, ...]
    why: str


class Exported(NamedTuple):
    """A function for one kind of arguments: their structure with specs, that of the results, and
    the programs.
    """

    arguments: Any
    results: Any
    levels: tuple[Level, ...]


def export(function: Function, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Exported:
    """A function for arguments of the kind that specs describe, which may leave sizes open.

    Open sizes are independent of each other if the function allows it; else those of the same axis
    are the same.
    """
    needed_for("Saving a function", "flatbuffers", "xla")
    leaves = nest.flatten((args, kwargs))
    specs = [leaf for leaf in leaves if isinstance(leaf, TensorSpec)]
    _refuse_what_no_program_takes(function, leaves)
    open_sizes = [
        (i, axis)
        for i, spec in enumerate(specs)
        for axis, size in enumerate(spec.shape)
        if size is None
    ]
    alike = {place: axis for place in open_sizes for axis in place[1:]}
    apart = {place: number for number, place in enumerate(open_sizes)}
    possible = (apart, alike) if len(open_sizes) > 1 else (apart,)
    ways = [numbered for numbered in possible if len({*numbered.values()}) <= _MOST_OPEN]
    for way in ways:
        try:
            with xla_settings.making_for_any_device():
                return _Exporting(function, args, kwargs, way).exported()
        except Exception as error:  # noqa: BLE001 - raised where there is no other way
            if way is ways[-1]:
                refused = _refused(function, error)
                raise refused from (None if refused is error else error)
    raise ValueError(f"{function._name}: more than {_MOST_OPEN} sizes are open: fix some of them.")


def _refuse_what_no_program_takes(function: Function, leaves: Sequence[Any]) -> None:
    for leaf in leaves:
        if isinstance(leaf, TensorSpec):
            if leaf.dtype == dtypes.string:
                raise ValueError(
                    f"{function._name} cannot be saved: its argument {leaf} holds strings, which "
                    "XLA's programs do not take. Save the part of the model that computes with "
                    "numbers, and look text up before: a Keras model with text layers is saved "
                    "with model.save('model.keras')."
                )
        elif hasattr(leaf, "is_compatible_with") and not isinstance(leaf, (DType, TensorShape)):
            # The spec of a RaggedTensor or a SparseTensor.
            raise ValueError(
                f"{function._name} cannot be saved with the argument {leaf}: a saved function "
                "takes tensors only. Pass the parts, such as flat_values and row_splits, and put "
                "them together in the function."
            )


def _refused(function: Function, error: Exception) -> Exception:
    if not _is_about_sizes(error):
        return error
    return ValueError(
        f"{function._name} cannot be saved with open sizes ({_first_line(error)}): give all sizes "
        "in its input_signature, or compute with tf.shape(x) instead of numbers made from a size."
    )


def _is_about_sizes(error: Exception) -> bool:
    return isinstance(error, NotOpenError) or "shape_poly" in type(error).__module__


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0].removesuffix(".")


class _Exporting:
    """One way to number the open sizes, and the programs for several sizes each."""

    def __init__(
        self, function: Function, args: Any, kwargs: Any, numbered: dict[tuple[int, int], int]
    ) -> None:
        # A function of its own: the given one is not to have programs for samples, or for any
        # device.
        self._function = _twin(function)
        self._kind = args, kwargs
        places = sorted({*numbered.values()})
        self._numbered = {place: places.index(n) for place, n in numbered.items()}
        self._count = len(places)
        self._bounds: list[str] = []
        self._symbols: Sequence[Any] = ()
        self._make_symbols()

    def _make_symbols(self) -> None:
        if self._count:
            names = ", ".join(f"n{i}" for i in range(self._count))
            self._symbols = load().export.symbolic_shape(names, constraints=self._bounds)

    def exported(self) -> Exported:
        sizes = samples(self._count)
        concrete = [self._traced(one) for one in sizes]
        for one in extremes(self._count):
            try:
                found = self._traced(one)
            except Exception:  # noqa: BLE001, S112 - whatever it is, it is so without saving too
                continue
            if one < sizes[0] and _is_empty(found):
                continue  # as a convolution of fewer rows than its kernel has
            concrete.append(found)
            sizes.append(one)
        for found in concrete:
            if isinstance(found, EagerFunction):
                raise ValueError(
                    f"{found.name} cannot be saved: XLA cannot compile it ({found.why})."
                )
        programs = [found.program for found in concrete]
        leaves = nest.flatten(concrete[0].structured_outputs)
        if any(isinstance(leaf, TensorSpec) and leaf.dtype == dtypes.string for leaf in leaves):
            raise ValueError(
                f"{self._function._name} cannot be saved: it returns strings, which XLA's programs "
                "do not give. Return numbers, such as places in a list of names."
            )
        for program in programs:
            if len(program.outputs) != len(programs[0].outputs):
                raise NotOpenError("it does not have as many results for each size")
        results = nest.map_structure(_merged_spec, *[one.structured_outputs for one in concrete])
        while True:
            try:
                return Exported(self._kind, results, tuple(self._levels(programs, sizes)))
            except Exception as error:
                if not self._learn_bound(error):
                    raise

    def _learn_bound(self, error: Exception) -> bool:
        """Whether a size is to have a lower bound now, since JAX needs to know one, and what the
        function was traced with is not below it.
        """
        found = _BOUND.search(str(error)) if _is_about_sizes(error) else None
        if found is None or len(self._bounds) == _MOST_BOUNDS:
            return False
        bound = f"{found[1]} >= {found[2]}"
        if bound in self._bounds:
            return False
        self._bounds.append(bound)
        self._make_symbols()
        return True

    def _levels(self, programs: Sequence[Program], sizes: Sequence[Sizes]) -> list[Level]:
        specs = [leaf for leaf in nest.flatten(self._kind) if isinstance(leaf, TensorSpec)]
        inputs = [(self._shape(i, spec), spec.dtype.numpy) for i, spec in enumerate(specs)]
        level, seeds = self._level(programs, sizes, inputs)
        levels = [level]
        for order in range(1, ORDER + 1):
            if not any(level.connected):
                break
            inputs = [*inputs, *map(_spec_of, programs[0].taken), *seeds]
            try:
                programs = [p.gradient_program(level.connected, _given(p)) for p in programs]
                level, seeds = self._level(programs, sizes, inputs, last=order == ORDER)
            except (NoGradientError, xla_engine.NotTraceableError, LookupError) as error:
                levels[-1] = levels[-1]._replace(connected=(), why=str(error))
                break
            except Exception as error:
                if not _is_about_sizes(error) or _BOUND.search(str(error)):
                    raise
                levels[-1] = levels[-1]._replace(connected=(), why=self._no_gradient(error))
                break
            levels.append(level)
        return levels

    def _no_gradient(self, error: Exception) -> str:
        return (
            f"{self._function._name}: its gradient could not be saved with open sizes "
            f"({_first_line(error)}): give all sizes in its input_signature, and save it again."
        )

    def _traced(self, sizes: Sequence[int]) -> ConcreteFunction:
        numbers = iter(range(len(nest.flatten(self._kind))))

        def example(leaf: Any) -> Any:
            if not isinstance(leaf, TensorSpec):
                return leaf
            i = next(numbers)
            shape = [
                sizes[self._numbered[i, axis]] if n is None else n
                for axis, n in enumerate(leaf.shape)
            ]
            return Tensor(np.broadcast_to(np.zeros((), leaf.dtype.numpy), shape))

        args, kwargs = nest.map_structure(example, self._kind)
        return self._function._traced_for(Arguments(args, kwargs))

    def _shape(self, i: int, spec: TensorSpec) -> tuple[Any, ...]:
        return tuple(
            self._symbols[self._numbered[i, axis]] if n is None else n
            for axis, n in enumerate(spec.shape)
        )

    def _level(
        self,
        programs: Sequence[Program],
        sizes: Sequence[Sizes],
        inputs: Sequence[tuple[Any, Any]],
        *,
        last: bool = False,
    ) -> tuple[Level, list[tuple[Any, Any]]]:
        """A level, and the shapes and dtypes of its outputs' cotangents."""
        first = programs[0]
        for program in programs:
            if list(map(id, program.taken)) != list(map(id, first.taken)):
                raise NotOpenError("it uses other Variables for other sizes")
            if program.compiled_plain().calls_host:
                raise ValueError(
                    f"{first.name} cannot be saved: it calls Python while it runs (tf.print, "
                    "tf.py_function), and a saved function runs without the program it was in."
                )
        jax = load()
        with xla_settings.wide():
            merged = Merged([jaxpr_of(program) for program in programs], sizes, self._symbols)
            given = [*inputs, *map(_spec_of, first.taken)]
            specs = [jax.ShapeDtypeStruct(shape, dtype) for shape, dtype in given]
            data = _serialized(merged, specs)
        found = [
            (merged.shape([p.outputs[i][0] for p in programs]), dtype)
            for i, (_, dtype) in enumerate(first.outputs)
        ]
        outputs = tuple(
            TensorSpec(_sizes(shape), dtypes.from_numpy(dtype)) for shape, dtype in found
        )
        connected = () if last else _connected(first)
        level = Level(data, tuple(first.taken), tuple(first.written), outputs, connected, "")
        return level, [(shape, dtype) for shape, dtype in found if dtype in dtypes.TRAINABLE]


def _twin(function: Function) -> Function:
    """A function of the same Python function, for any arguments."""
    return type(function)(
        function.python_function, **(function._options | {"input_signature": None})
    )


def _is_empty(concrete: ConcreteFunction) -> bool:
    """Whether a result has no elements."""
    leaves = nest.flatten(concrete.structured_outputs)
    return any(isinstance(leaf, TensorSpec) and 0 in tuple(leaf.shape) for leaf in leaves)


def _given(program: Program) -> list[Tensor]:
    """Tensors of the shapes and dtypes of a program's inputs and cotangents."""
    specs = [*program.specs, *map(_spec_of, program.taken)]
    cotangents = [spec for spec in program.outputs if spec[1] in dtypes.TRAINABLE]
    return [
        Tensor(np.broadcast_to(np.zeros((), dtype), shape))
        for shape, dtype in (*specs, *cotangents)
    ]


def _connected(program: Program) -> tuple[bool, ...]:
    """The inputs that have a gradient: floats from which there is a path to a float output."""
    specs = [*program.specs, *map(_spec_of, program.taken)]
    paths = [
        path
        for path, (_, dtype) in zip(program.paths, program.outputs, strict=False)
        if dtype in dtypes.TRAINABLE
    ]
    return tuple(
        dtype in dtypes.TRAINABLE
        and any(inputs_of_path(path, [j == i for j in range(len(specs))]) for path in paths)
        for i, (_, dtype) in enumerate(specs)
    )


def jaxpr_of(program: Program) -> Any:
    """What a program computes without a gradient, as JAX describes it."""
    jax = load()
    part = program.compiled_plain()
    specs = [*program.specs, *map(_spec_of, program.taken)]
    return jax.make_jaxpr(lambda *arrays: part.inlined(arrays))(
        *[jax.ShapeDtypeStruct(shape, dtype) for shape, dtype in specs]
    )


def _serialized(run: Callable[..., list[Any]], specs: Sequence[Any]) -> bytes:
    """The bytes of a program, for all kinds of devices that it can be lowered for."""
    export = load().export.export
    compiled = load().jit(run)
    try:
        return bytes(export(compiled, platforms=_PLATFORMS)(*specs).serialize())
    except NotImplementedError:  # an op of one kind of devices, such as a factorisation on a TPU
        return bytes(export(compiled)(*specs).serialize())


def _spec_of(outside: Any) -> tuple[tuple[int, ...], Any]:
    return tuple(outside.array.shape), outside.array.dtype


def _sizes(shape: Sequence[Any]) -> list[int | None]:
    return [size if isinstance(size, int) else None for size in shape]


def _merged_spec(first: Any, *others: Any) -> Any:
    if not isinstance(first, TensorSpec):
        if any(other != first for other in others):
            raise NotOpenError(f"a result is {first!r} for one size and not for another")
        return first
    if any(other.dtype != first.dtype or other.shape.rank != first.shape.rank for other in others):
        raise NotOpenError("a result is of another kind for each size")
    sizes = zip(first.shape, *[other.shape for other in others], strict=True)
    return TensorSpec([n if {n} == {n, *more} else None for n, *more in sizes], first.dtype)
