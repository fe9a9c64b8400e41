"""`Op`: its declaration, and how a call becomes a kernel's result and, if something records, a
Node.

A derivative is declared as one *pull* per array argument: `lambda g, y: g * y`. A pull's first
parameter is the output's cotangent; the names of the others say what it needs, and exactly that is
saved when the op is recorded:

- the name of an array argument: that argument;
- `out`: the output;
- `x_shape`, `x_dtype` for an argument `x`: its shape (a tuple) and NumPy dtype; `x_shows`: see
  `written`; `args`, `shapes`: all arguments and their shapes;
- any other name: the parameter of that name.

A pull is written as the transpose of the op's Jacobian, without conjugation; for complex outputs it
is conjugated automatically, so that a gradient is the adjoint (`conjugate=False` declares pulls
that already are the adjoint).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from types import BuiltinFunctionType
from typing import Any, NamedTuple

from gradtape import dtypes
from gradtape.convert import beside, operand, pair_of_floats
from gradtape.core.batching import BatchedTensor
from gradtape.core.composite import CompositeOperand
from gradtape.core.endings import End, ending, note_endings
from gradtape.core.needed_ops import needed
from gradtape.core.node import Node
from gradtape.core.record import record, with_node
from gradtape.core.recording import NOWHERE, Scope, connect
from gradtape.core.tensor import Tensor
from gradtape.core.thread import ThreadState, here
from gradtape.core.xla.placement import Elsewhere
from gradtape.engines.numpy.engine import Kernel, bind
from gradtape.engines.xla import engine as xla_engine
from gradtape.engines.xla.host import host_kernel
from gradtape.errors import invalid_argument
from gradtape.ops import batching, jets
from gradtape.ops.computing import HALF, Runs, only_computes
from gradtape.ops.derivative import (
    Conjugated,
    Derivative,
    ElementwiseDerivative,
    OnTensors,
)
from gradtape.ops.jets import Jet
from gradtape.ops.links import Links
from gradtape.ops.links import elementwise as elementwise_links
from gradtape.ops.listed import listed
from gradtape.ops.registry import by_kernel, registry
from gradtape.ops.rows import RowRule
from gradtape.ops.written import (
    Names,
    function_of,
    function_written_later,
    positional_names,
    write_save,
)

Pull = Callable[..., Any]

_WITHOUT_GRADIENT = (
    "biuO"  # the NumPy kinds of bool, int and string: a result of such a dtype ends a chain
)

ON_HOST = "on host"


class MadeBy(NamedTuple):
    """How a tensor of a program was made."""

    op: str
    argument: Tensor
    params: dict[str, Any]


class Op(Runs):
    """One op: its kernel, its derivative, and how its arguments' dtypes meet.

    `pulls` has one entry for each array argument: None declares that there is no derivative by it
    (an index, a condition, a step function); an entry that is not given at all makes `gradient()`
    raise a LookupError. `pull_all` stands instead for ops with any number of arguments or several
    outputs: one function `(g, wanted, ...)` gives the cotangents of all arguments, and `g` is a
    list if there are `several` outputs. Arguments named in `apart` (indices, conditions) keep their
    dtype. `linear` declares that the op is linear in the arguments that have a pull, so that
    tangents go through the op itself; `moves`, that it computes nothing, so that half precision
    needs no care. `kinds` are the NumPy dtype kinds that the op takes, None for all; `batch` is the
    rule of `ops.batching` by which it runs on a batch. `xla` is a second kernel, for the XLA engine
    alone, where the first one does not serve it: a kernel, or `ON_HOST` for one that calls NumPy
    back. `native` declares that XLA can be left to compute it in half precision: it rounds once, or
    sums products in a wide accumulator. `of_logits` declares that it turns logits into
    probabilities: in a program, as in TensorFlow's graphs, Keras's crossentropies find out what it
    was given.

    Two facts serve strong zeros (see `core.strong_zeros`). `plain`: a NaN anywhere in an argument
    that has a pull shows in the output, and where an elementwise pull is NaN for other reasons,
    NumPy's arithmetic has raised the invalid flag; most elementwise ops whose kernel has a name in
    NumPy are, and where it depends, it is a function of what a Node saved. `selects`: an
    elementwise op's pulls give zero for a zero cotangent as they are written.

    Others serve transformations, which derive them where they can. `jet`: how partial derivatives
    of all orders pass through it, see `ops.jets`; `input_shape` gives the shape of its only
    argument from that of its output and, by name, what its pull saved. `links`: which elements of
    the output depend on which of the arguments, see `ops.links`. `rows`: how many cotangents or
    tangents pass at once, see `ops.rows`. `unique=False`: its results have signs or an order of
    their own on each engine. `chooses`: each element of its result is one of its arguments' own.
    `stops`: it is called to end a chain, which explanations say. `pure`: its kernel only computes,
    so that a tape with a memory limit may run it again; the kernels of NumPy and of this package
    do, others are not run again unless they say so.
    `when_not_finite`: what to do where it makes NaN or infinity of finite numbers; two texts if its
    derivative needs another.
    """

    def __init__(
        self,
        name: str,
        kernel: Kernel,
        pulls: Sequence[Pull | None] = (),
        *,
        pull_all: Pull | None = None,
        arguments: Sequence[str] | None = None,
        apart: Sequence[str] = (),
        elementwise: bool = False,
        linear: bool = False,
        conjugate: bool = True,
        several: bool = False,
        moves: bool = False,
        batch: batching.BatchRule | None = None,
        kinds: str | None = None,
        xla: Kernel | None = None,
        native: bool = False,
        plain: bool | Callable[[Any], bool] | None = None,
        selects: bool = False,
        of_logits: bool = False,
        unique: bool = True,
        chooses: bool = False,
        stops: bool = False,
        pure: bool | None = None,
        jet: Jet | None = None,
        input_shape: Callable[..., tuple[int, ...]] | None = None,
        links: Links | None = None,
        rows: RowRule | None = None,
        when_not_finite: str | tuple[str, str] | None = None,
    ) -> None:
        if name in registry:
            raise KeyError(f"an op named '{name}' already exists: choose another name.")
        registry[name] = self
        self.name = name
        self.kernel = bind(kernel)
        by_kernel[self.kernel] = self
        self._xla = kernel if xla is None else xla
        named = isinstance(self._xla, str) and self._xla != ON_HOST
        self.native = native or named or type(self._xla) is BuiltinFunctionType
        self.arguments: Names = (
            tuple(arguments) if arguments is not None else positional_names(kernel)[1:]
        )
        self.apart = frozenset(self.arguments.index(argument) for argument in apart)
        if pull_all is None:
            pulls = [
                *pulls,
                *(_no_rule(name, argument) for argument in self.arguments[len(pulls) :]),
            ]
        self.pulls = tuple(pulls)
        self.pull_all = pull_all
        self.linear = linear
        self.several = several
        self.moves = moves
        self.kinds = kinds
        self.of_logits = of_logits
        self.unique = unique
        self.chooses = chooses or moves
        self.stops = stops
        self.pure = only_computes(self.kernel) if pure is None else pure
        self.jet = jets.linear if jet is None and linear else jet
        self.input_shape = jets.same_shape if elementwise else input_shape
        in_place = elementwise or batch is batching.elementwise
        self.links = elementwise_links if links is None and in_place else links
        self.by_element = in_place or links is elementwise_links
        self.rows = rows
        self.when_not_finite = when_not_finite
        self.batch = batching.elementwise if elementwise else batch
        function = getattr(self.kernel, "func", self.kernel)
        self.has_parameters = (
            getattr(getattr(function, "__code__", None), "co_kwonlyargcount", 0) > 0
        )
        self.defaults: dict[str, Any] = getattr(function, "__kwdefaults__", None) or {}
        self.elementwise = elementwise
        named = isinstance(kernel, str) or type(kernel) is BuiltinFunctionType
        self.plain = (elementwise and named) if plain is None else plain
        self.broadcasts = elementwise and len(self.arguments) > 1
        if elementwise and len(self.arguments) > 2:
            raise TypeError(
                f"{name}: an elementwise op has one or two arguments; declare it with `op`, and "
                "undo broadcasting in its pulls."
            )
        self.differentiable = pull_all is not None or any(self.pulls)
        if pull_all is not None:
            self.saves: tuple[Names, ...] = (positional_names(pull_all)[2:],)
        else:
            self.saves = tuple(
                () if pull is None else positional_names(pull)[1:] for pull in self.pulls
            )
            if self.broadcasts:
                self.saves = tuple(
                    (f"{argument}_broadcast", *names)
                    for argument, names in zip(self.arguments, self.saves, strict=True)
                )
        values = {*self.arguments, "out"}
        self.guarded = tuple(
            elementwise and not selects and not values.isdisjoint(names) for names in self.saves
        )
        self.rule: Any = ElementwiseDerivative(self) if elementwise else Derivative(self)
        self.complex_rule: Any = Conjugated(self.rule) if conjugate else self.rule
        written = pull_all is None and not several and self.arguments
        self.call = function_written_later(self) if written else function_of(self)

    @cached_property
    def save(self) -> tuple[Callable[..., tuple[Any, ...]], ...]:
        """For each pull, the function that saves what it names."""
        return tuple(write_save(self, names) for names in self.saves)

    @cached_property
    def path(self) -> int:
        """The arguments by which there is a derivative, as bits."""
        if self.pull_all is not None:
            return -1
        return sum(1 << i for i, pull in enumerate(self.pulls) if pull is not None)

    @cached_property
    def xla_kernel(self) -> Callable[..., Any]:
        """The kernel on JAX arrays."""
        return host_kernel(self.kernel) if self._xla == ON_HOST else xla_engine.bind(self._xla)

    def call_any(self, *args: Any, **params: Any) -> Any:
        """A call with arguments of any kind and number."""
        if len(args) == 2 and not self.apart:
            pair = pair_of_floats(*args)
            if pair is not None:
                return self.call(*pair, **params)
        read = [operand(arg) for arg in args]
        tensors = [i for i, a in enumerate(read) if isinstance(a, Tensor)]
        if not tensors:
            return self.kernel(*read, **params)
        composite = next((a for a in read if isinstance(a, CompositeOperand)), None)
        if composite is not None:
            return composite.call(self, read, params)
        strong = next((read[i].array.dtype for i in tensors if i not in self.apart), None)
        operands = self._promoted([
            a if isinstance(a, Tensor)
                else Tensor(beside(a, None if i in self.apart else strong, self._argument(i)))
            for i, a in enumerate(read)
        ])  # fmt: skip
        if self.kinds is not None:
            self._check_kinds(operands)
        if here.state.trace is not None:
            operands = here.state.trace.taken_in(operands)
        state = here.state
        if state.device is not None and state.trace is None:
            operands = [state.device.move(arg) for arg in operands]
        if any(isinstance(arg, BatchedTensor) for arg in operands):
            return batching.call_batched(self, operands, params)
        arrays = [arg.array for arg in operands]
        try:
            result = self.computed(state.run, arrays, params)
        except Exception as error:  # noqa: BLE001 - it is raised again, but for one
            result = self.again(error, arrays, params)
        if state.checker is not None:
            result = state.checker(self, arrays, params, result)
        if state.trace is not None:
            result = listed(self, state.trace, operands, params, result)
        out = self.finish(operands, params, result, state, state.scope)
        if self.of_logits and state.trace is not None:
            out._keras_logits = MadeBy(self.name, operands[0], params)
        return out

    def call_several(self, x: Tensor, params: dict[str, Any]) -> Any:
        """The outputs of an op with several, such as `split`, of a float32 Tensor: the plainest
        call, without the detours.
        """
        state = here.state
        if state.trace is not None or state.device is not None or state.pushers:
            return self.call_any(x, **params)
        try:
            results = state.run(self.kernel, x.array, **params)
        except Exception as error:  # noqa: BLE001 - it is raised again, but for one
            results = self.again(error, [x.array], params)
        parent, scope = x.node, state.scope
        if parent is None:
            return [Tensor(result) for result in results]
        if scope is None or parent.scope is not scope:
            return self.finish((x,), params, results, state, scope)
        saved = (
            self.save[0]((x,), results, params),
            [(result.shape, result.dtype) for result in results],
        )
        return record(self.rule, saved, params, ((parent,), scope), (x,), list(results))

    def _check_kinds(self, args: Sequence[Any]) -> None:
        for i, arg in enumerate(args):
            if i not in self.apart and arg.array.dtype.kind not in (self.kinds or ""):
                raise invalid_argument(
                    f"{self._argument(i)} has dtype {arg.dtype.name}, which {self.name} does not "
                    "take: cast it first."
                )

    def finish(
        self,
        args: Sequence[Any],
        params: dict[str, Any],
        result: Any,
        state: ThreadState,
        scope: Scope | None,
    ) -> Any:
        """The result as Tensors; with a Node, if `scope` follows an argument that has a derivative.

        Under `vmap` the result is of BatchedTensors, else of arrays.
        """
        if type(result) is Elsewhere:
            args, result = (
                [state.device.move(arg) if isinstance(arg, Tensor) else arg for arg in args],
                result.array,
            )
        if state.trace is not None and any(
            taken is not arg for taken, arg in zip(state.trace.taken_in(args), args, strict=True)
        ):
            # Computed before it was known to come from outside the program.
            return self.call_any(*args, **(params or {}))
        given = [arg.node if isinstance(arg, Tensor) else None for arg in args]
        if not self.differentiable:
            return self._constant(result, given, End.STOPPED if self.stops else End.NO_DERIVATIVE)
        if len(given) == 1 and given[0] is not None and given[0].scope is NOWHERE:
            return self._constant(result, given, End.NO_DERIVATIVE)  # the end is carried on
        nodes = given
        if self.pull_all is None:
            nodes = [
                None if pull is None else node for node, pull in zip(nodes, self.pulls, strict=True)
            ]
        connection = connect(nodes, scope)
        if connection is None:
            return self._constant(result, given, End.OUTSIDE if any(nodes) else End.NO_DERIVATIVE)
        arrays = [_array(r) for r in (result if self.several else [result])]
        if all(array.dtype.kind in _WITHOUT_GRADIENT for array in arrays):
            return self._constant(result, given, End.DTYPE)
        parents, _ = connection
        saved = self._saved(args, params, result, parents)
        if self.several:
            saved = (*saved, [(array.shape, array.dtype) for array in arrays])
        rule = self.complex_rule if any(array.dtype.kind == "c" for array in arrays) else self.rule
        if any(
            p is not None and arg.array.dtype in HALF for p, arg in zip(parents, args, strict=True)
        ):
            rule = OnTensors(rule)
        out = record(
            rule, saved, params, connection, args, list(result) if self.several else result
        )
        ends = [node for node, parent in zip(given, parents, strict=True) if node is not parent]
        if ends and not self.several:
            note_endings(self.name, out.node, ends)
        return out

    def _saved(
        self, args: Sequence[Any], params: dict[str, Any], result: Any, parents: Sequence[Any]
    ) -> tuple[Any, ...]:
        """What the pulls of connected arguments name: one tuple for each pull."""
        if self.pull_all is not None:
            return (self.save[0](args, result, params),)
        return tuple([
            None if parent is None else save(args, result, params)
            for save, parent in zip(self.save, parents, strict=True)
        ])  # fmt: skip

    def _constant(self, result: Any, nodes: Sequence[Node | None], end: End) -> Any:
        """The result of a call that is not recorded, which may be where a chain ends."""
        node = ending(self.name, end, nodes) if any(nodes) else None
        return [with_node(r, node) for r in result] if self.several else with_node(result, node)

    def _promoted(self, args: list[Any]) -> list[Any]:
        """The arguments in one dtype, except those that stand apart."""
        found = {arg.array.dtype for i, arg in enumerate(args) if i not in self.apart}
        if len(found) < 2:
            return args
        common, *others = found
        for dtype in others:
            common = dtypes.promote(common, dtype)
        return [
            arg if i in self.apart or arg.array.dtype == common else needed.cast(arg, dtype=common)
            for i, arg in enumerate(args)
        ]

    def _argument(self, index: int) -> str:
        return (
            f"{self.name}: "
            f"{self.arguments[index] if index < len(self.arguments) else f'argument {index}'}"
        )

    def __repr__(self) -> str:
        return f"<op {self.name}>"


def _no_rule(name: str, argument: str) -> Pull:
    """The pull of an argument that nobody wrote one for: a derivative is missing,
    never silently zero.
    """

    def pull(g: Any) -> Any:
        raise LookupError(
            f"{name}: there is no rule for the derivative with respect to '{argument}': use "
            "gradtape.custom_gradient to define one."
        )

    return pull


def _array(value: Any) -> Any:
    return value.array if isinstance(value, Tensor) else value
