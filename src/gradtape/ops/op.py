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

from collections.abc import Callable, Collection, Sequence
from functools import cached_property
from types import BuiltinFunctionType
from typing import Any

from gradtape.convert import operand, pair_of_floats
from gradtape.core.batching import BatchedTensor
from gradtape.core.composite import CompositeOperand
from gradtape.core.endings import End, ending, note_endings
from gradtape.core.node import Node
from gradtape.core.record import record, with_node
from gradtape.core.recording import Scope
from gradtape.core.scopes import NOWHERE, connect
from gradtape.core.tensor import Tensor
from gradtape.core.thread import ThreadState, here
from gradtape.core.xla.placement import Elsewhere
from gradtape.core.xla.tensor import XlaTensor
from gradtape.engines.engine import XLA, host_kernel
from gradtape.engines.numpy.blas import sharing
from gradtape.engines.numpy.engine import Kernel, bind
from gradtape.ops import batching, jets
from gradtape.ops.computing import HALF, Runs, only_computes
from gradtape.ops.derivative import (
    Conjugated,
    Derivative,
    ElementwiseDerivative,
    OnTensors,
    missing_pull,
)
from gradtape.ops.jets import Jet
from gradtape.ops.links import Links
from gradtape.ops.links import elementwise as elementwise_links
from gradtape.ops.listed import MadeBy, listed
from gradtape.ops.operands import in_one_dtype
from gradtape.ops.registry import by_kernel, registry
from gradtape.ops.rows import RowRule
from gradtape.ops.saving import Names, positional_names, write_save
from gradtape.ops.written import function_of, function_written_later

Pull = Callable[..., Any]

# The NumPy kinds of bool, int and string: a result of such a dtype ends a chain.
_WITHOUT_GRADIENT = "biuO"

ON_HOST = "on host"

_are_tensors = frozenset((Tensor, XlaTensor)).issuperset
"""Whether classes are all those of Tensors that need no care."""


class Op(Runs):
    """One op: its kernel, its derivative, and what else is known of it: the options here.

    `pulls` has one entry for each array argument: None declares that there is no derivative by it
    (an index, a condition, a step function); an entry that is not given at all makes `gradient()`
    raise a LookupError.
    """

    pull_all: Pull | None = None
    """Stands instead of `pulls` for any number of arguments or several outputs: `(g, wanted, ...)`
    gives the cotangents of all arguments, and `g` is a list if there are `several` outputs.
    """
    arguments: Names = ()
    """The names of the array arguments, where the kernel does not say them."""
    apart: Collection[Any] = ()
    """Arguments (indices, conditions) that keep their dtype: by name, and here by position."""
    elementwise: bool = False
    linear: bool = False
    """Linear in the arguments that have a pull, so that tangents go through the op itself."""
    conjugate: bool = True
    several: bool = False
    moves: bool = False
    """It computes nothing, so that half precision needs no care."""
    batch: batching.BatchRule | None = None
    """How it runs on a batch, see `ops.batching`."""
    kinds: str | None = None
    """The NumPy dtype kinds that it takes; None: all."""
    xla: Any = None
    """A second kernel, for the XLA engine alone, where the first one does not serve it; `ON_HOST`
    for one that calls NumPy back.
    """
    work: Callable[..., int] | None = None
    """About how many multiplications it asks of NumPy's BLAS, by what the kernel is given: see
    `engines.numpy.blas`.
    """
    native: bool = False
    """XLA can be left to compute it in half precision: it rounds once, or sums products in a wide
    accumulator.
    """
    of_logits: bool = False
    """It turns logits into probabilities: in a program, as in TensorFlow's graphs, Keras's
    crossentropies find out what it was given.
    """

    # For strong zeros, see `core.strong_zeros`.
    plain: Any = None
    """Whether a NaN anywhere in an argument that has a pull shows in the output, and where an
    elementwise pull is NaN for other reasons, NumPy's arithmetic has raised the invalid flag.

    Most elementwise ops whose kernel has a name in NumPy are plain. Where it depends, it is a
    function of what a Node saved.
    """
    selects: bool = False
    """The pulls of an elementwise op give zero for a zero cotangent as they are written."""

    # For transformations, which derive them where they can.
    jet: Jet | None = None
    """How partial derivatives of all orders pass through it, see `ops.jets`."""
    input_shape: Callable[..., tuple[int, ...]] | None = None
    """The shape of its only argument, from that of its output and, by name, what its pull saved."""
    links: Links | None = None
    """Which elements of the output depend on which of the arguments, see `ops.links`."""
    rows: RowRule | None = None
    """How many cotangents or tangents pass at once, see `ops.rows`."""
    unique: bool = True
    """False: its results have signs or an order of their own on each engine."""
    chooses: bool = False
    """Each element of its result is one of its arguments' own."""
    stops: bool = False
    """It is called to end a chain, which explanations say."""
    pure: Any = None
    """Its kernel only computes, so that a tape with a memory limit may run it again: known of the
    kernels of NumPy and of this package; others are not run again unless they say so.
    """
    when_not_finite: str | tuple[str, str] | None = None
    """What to do where it makes NaN or infinity of finite numbers; two texts if its derivative
    needs another.
    """

    def __init__(
        self, name: str, kernel: Kernel, pulls: Sequence[Pull | None] = (), **options: Any
    ) -> None:
        if name in registry:
            raise KeyError(f"an op named '{name}' already exists: choose another name.")
        unknown = options.keys() - Op.__annotations__.keys()
        if unknown:
            raise TypeError(f"{name}: an op has no option {', '.join(sorted(unknown))}.")
        self.name = name
        vars(self).update(options)
        elementwise = self.elementwise
        self.arguments = tuple(self.arguments) or positional_names(kernel)[1:]
        if elementwise and len(self.arguments) > 2:
            raise TypeError(
                f"{name}: an elementwise op has one or two arguments; declare it with `op`, and "
                "undo broadcasting in its pulls."
            )
        registry[name] = self
        self.kernel = bind(kernel)
        self.xla = kernel if self.xla is None else self.xla
        named = isinstance(self.xla, str) and self.xla != ON_HOST
        self.native = self.native or named or type(self.xla) is BuiltinFunctionType
        self.apart = frozenset(self.arguments.index(argument) for argument in self.apart)
        self.broadcasts = elementwise and len(self.arguments) > 1
        function = getattr(self.kernel, "func", self.kernel)
        code = getattr(function, "__code__", None)
        self.has_parameters = getattr(code, "co_kwonlyargcount", 0) > 0
        self.defaults: dict[str, Any] = getattr(function, "__kwdefaults__", None) or {}
        if self.work is not None:
            self.kernel = sharing(self.kernel, self.work)
        by_kernel[self.kernel] = self
        if self.pull_all is None:
            missing = self.arguments[len(pulls) :]
            pulls = [*pulls, *(missing_pull(name, argument) for argument in missing)]
        self.pulls = tuple(pulls)
        self.differentiable = self.pull_all is not None or any(self.pulls)
        self.saves = self._what_is_saved()
        if self.plain is None:
            self.plain = elementwise and (
                isinstance(kernel, str) or type(kernel) is BuiltinFunctionType
            )
        values = {*self.arguments, "out"}
        self.guarded = tuple(
            elementwise and not self.selects and not values.isdisjoint(names)
            for names in self.saves
        )
        self.chooses = self.chooses or self.moves
        self.pure = only_computes(self.kernel) if self.pure is None else self.pure
        if self.jet is None and self.linear:
            self.jet = jets.linear
        in_place = elementwise or self.batch is batching.elementwise
        self.by_element = in_place or self.links is elementwise_links
        if self.links is None and in_place:
            self.links = elementwise_links
        if elementwise:
            self.batch, self.input_shape = batching.elementwise, jets.same_shape
        self.rule: Any = ElementwiseDerivative(self) if elementwise else Derivative(self)
        self.complex_rule: Any = Conjugated(self.rule) if self.conjugate else self.rule
        written = self.pull_all is None and not self.several and self.arguments
        self.call = function_written_later(self) if written else function_of(self)

    def _what_is_saved(self) -> tuple[Names, ...]:
        """For each pull, the names of what it needs; and of a shape, if broadcasting changes it."""
        if self.pull_all is not None:
            return (positional_names(self.pull_all)[2:],)
        saves = [() if pull is None else positional_names(pull)[1:] for pull in self.pulls]
        if not self.broadcasts:
            return tuple(saves)
        return tuple(
            (f"{argument}_broadcast", *names)
            for argument, names in zip(self.arguments, saves, strict=True)
        )

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
        return host_kernel(self.kernel) if self.xla == ON_HOST else XLA.bind(self.xla)

    def call_any(self, *args: Any, **params: Any) -> Any:
        """A call with arguments of any kind and number."""
        read: Sequence[Any] = args
        if not _are_tensors(map(type, args)):
            if len(args) == 2 and not self.apart:
                pair = pair_of_floats(*args)
                if pair is not None:
                    return self.call(*pair, **params)
            read = [operand(arg) for arg in args]
            if not any(isinstance(arg, Tensor) for arg in read):
                return self.kernel(*read, **params)
            composite = next((a for a in read if isinstance(a, CompositeOperand)), None)
            if composite is not None:
                return composite.call(self, read, params)
        operands = in_one_dtype(self, read)
        state = here.state
        if state.trace is not None:
            operands = state.trace.taken_in(operands)
        if state.device is not None and state.trace is None:
            operands = [state.device.move(arg) for arg in operands]
        if not _are_tensors(map(type, operands)) and any(
            isinstance(arg, BatchedTensor) for arg in operands
        ):
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
        out = self._finished(operands, params, result, state, state.scope)
        if self.of_logits and state.trace is not None:
            out._keras_logits = MadeBy(self.name, operands[0], params)
        return out

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
        if state.trace is not None and any(
            taken is not arg for taken, arg in zip(state.trace.taken_in(args), args, strict=True)
        ):
            # Computed before it was known to come from outside the program.
            return self.call_any(*args, **(params or {}))
        return self._finished(args, params or {}, result, state, scope)

    def _finished(
        self,
        args: Sequence[Any],
        params: dict[str, Any],
        result: Any,
        state: ThreadState,
        scope: Scope | None,
    ) -> Any:
        if type(result) is Elsewhere:
            args, result = (
                [state.device.move(arg) if isinstance(arg, Tensor) else arg for arg in args],
                result.array,
            )
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

    def __repr__(self) -> str:
        return f"<op {self.name}>"


def _array(value: Any) -> Any:
    return value.array if isinstance(value, Tensor) else value
