"""Traced functions as bytes that run without their Python: StableHLO, by `jax.export`.

A function is exported with its derivatives: level 0 is its program, level 1 the program of its
gradients, as a function of the inputs and the cotangents, and level 2 that of those gradients'
gradients. They are gradtape's own derivatives. `exported` runs what this makes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from gradtape import dtypes, nest
from gradtape.core.tensor import Tensor
from gradtape.core.xla.trace import inputs_of_path
from gradtape.engines.xla import engine as xla_engine
from gradtape.engines.xla import settings as xla_settings
from gradtape.engines.xla.loading import load
from gradtape.extras import needed_for
from gradtape.functions.eager_function import EagerFunction
from gradtape.functions.open_sizes import Merged, NotOpenError, samples
from gradtape.functions.program import Program
from gradtape.functions.reason import NoGradientError
from gradtape.functions.signature import Arguments
from gradtape.shapes import TensorSpec

if TYPE_CHECKING:
    from gradtape.functions.concrete_function import ConcreteFunction
    from gradtape.functions.function import Function

ORDER = 2
_PLATFORMS = ("cpu", "cuda", "tpu")
_MOST_OPEN = 6


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
    if any(spec.shape.rank is None for spec in specs):
        raise ValueError(
            f"{function._name}: a function with arguments of unknown rank cannot be saved: give "
            "the rank in its input_signature, as in TensorSpec([None])."
        )
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
            return _Exporting(function, args, kwargs, way).exported()
        except Exception as error:
            if way is ways[-1]:
                raise _refused(function, error) from error
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
        elif hasattr(leaf, "is_compatible_with"):  # the spec of a RaggedTensor or a SparseTensor
            raise ValueError(
                f"{function._name} cannot be saved with the argument {leaf}: a saved function "
                "takes tensors only. Pass the parts, such as flat_values and row_splits, and put "
                "them together in the function."
            )


def _refused(function: Function, error: Exception) -> Exception:
    if not isinstance(error, NotOpenError) and "shape_poly" not in type(error).__module__:
        return error
    said = str(error).partition("\n")[0]
    return ValueError(
        f"{function._name} cannot be saved with open sizes ({said}): give all sizes in its "
        "input_signature, or compute with tf.shape(x) instead of numbers made from a size."
    )


class _Exporting:
    """One way to number the open sizes, and the programs for several sizes each."""

    def __init__(
        self, function: Function, args: Any, kwargs: Any, numbered: dict[tuple[int, int], int]
    ) -> None:
        self._function = function
        self._kind = args, kwargs
        places = sorted({*numbered.values()})
        self._numbered = {place: places.index(n) for place, n in numbered.items()}
        self._samples = samples(len(places))
        self._symbols = list(
            load().export.symbolic_shape(", ".join(f"n{i}" for i in range(len(places))))
            if places else ()
        )  # fmt: skip

    def exported(self) -> Exported:
        concrete = [self._traced(sizes) for sizes in self._samples]
        for one in concrete:
            if isinstance(one, EagerFunction):
                raise ValueError(f"{one.name} cannot be saved: XLA cannot compile it ({one.why}).")
        programs = [one.program for one in concrete]
        results = nest.flatten(concrete[0].structured_outputs)
        if any(isinstance(leaf, TensorSpec) and leaf.dtype == dtypes.string for leaf in results):
            raise ValueError(
                f"{self._function._name} cannot be saved: it returns strings, which XLA's programs "
                "do not give. Return numbers, such as places in a list of names."
            )
        specs = [leaf for leaf in nest.flatten(self._kind) if isinstance(leaf, TensorSpec)]
        inputs = [(self._shape(i, spec), spec.dtype.numpy) for i, spec in enumerate(specs)]
        levels = []
        for order in range(ORDER + 1):
            level, merged = self._level(programs, inputs, last=order == ORDER)
            levels.append(level)
            if not any(level.connected):
                break
            given = [self._given(p) for p in programs]
            seeds = [(s.shape, s.dtype.numpy) for s in level.outputs if s.dtype.is_trainable]
            open_seeds = [
                (merged.shape(shapes), dtype)
                for (_, dtype), shapes in zip(
                    seeds, zip(*[_cotangent_shapes(p) for p in programs], strict=True), strict=True
                )
            ]
            inputs = [*inputs, *map(_spec_of, programs[0].taken), *open_seeds]
            try:
                programs = [
                    p.gradient_program(level.connected, g)
                    for p, g in zip(programs, given, strict=True)
                ]
            except (NoGradientError, xla_engine.NotTraceableError, LookupError) as error:
                levels[-1] = level._replace(connected=(), why=str(error))
                break
        results = nest.map_structure(_merged_spec, *[one.structured_outputs for one in concrete])
        return Exported(self._kind, results, tuple(levels))

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

    def _given(self, program: Program) -> list[Tensor]:
        """Tensors of the shapes and dtypes of a program's inputs and cotangents."""
        specs = [*program.specs, *map(_spec_of, program.taken)]
        cotangents = [spec for spec in program.outputs if spec[1] in dtypes.TRAINABLE]
        return [
            Tensor(np.broadcast_to(np.zeros((), dtype), shape))
            for shape, dtype in (*specs, *cotangents)
        ]

    def _level(
        self, programs: Sequence[Program], inputs: Sequence[tuple[Any, Any]], *, last: bool
    ) -> tuple[Level, Merged]:
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
            merged = Merged([_jaxpr(program) for program in programs], self._symbols)
            given = [*inputs, *map(_spec_of, first.taken)]
            specs = [jax.ShapeDtypeStruct(shape, dtype) for shape, dtype in given]
            data = _serialized(merged, specs)
        shapes = zip(*[[shape for shape, _ in p.outputs] for p in programs], strict=True)
        outputs = tuple(
            TensorSpec(_sizes(merged.shape(found)), dtypes.from_numpy(dtype))
            for (_, dtype), found in zip(first.outputs, shapes, strict=True)
        )
        connected = () if last else _connected(first)
        level = Level(data, tuple(first.taken), tuple(first.written), outputs, connected, "")
        return level, merged


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


def _jaxpr(program: Program) -> Any:
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


def _cotangent_shapes(program: Program) -> list[tuple[int, ...]]:
    return [shape for shape, dtype in program.outputs if dtype in dtypes.TRAINABLE]


def _sizes(shape: Sequence[Any]) -> list[int | None]:
    return [size if isinstance(size, int) else None for size in shape]


def _merged_spec(first: Any, *others: Any) -> Any:
    if not isinstance(first, TensorSpec):
        return first
    sizes = zip(first.shape, *[other.shape for other in others], strict=True)
    return TensorSpec([n if {n} == {n, *more} else None for n, *more in sizes], first.dtype)
