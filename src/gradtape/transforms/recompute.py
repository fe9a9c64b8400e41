"""`recompute_grad`: trade time for memory by running a function again in the backward step."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, ParamSpec, TypeVar

from gradtape import nest
from gradtape.blocks import Block
from gradtape.convert import as_tensor, operand
from gradtape.core.tape import GradientTape
from gradtape.core.tape_arguments import source_object
from gradtape.core.tensor import Tensor
from gradtape.core.thread import here
from gradtape.core.variable import Variable
from gradtape.core.xla.trace import Trace
from gradtape.ops.broadcasting import identity
from gradtape.published import published
from gradtape.transforms.custom_gradient import RunsAgain, VariableReads, call_as_one

P = ParamSpec("P")
R = TypeVar("R")


@published("recompute_grad")
def recompute_grad(f: Callable[P, R]) -> Callable[P, R]:
    """A function like `f` that keeps only its arguments for the backward step and runs again then.

    The second run sees the Variables as they were in the first, and draws the same random numbers.
    Derivatives of every order are correct.

    >>> import gradtape as tf
    >>> x = tf.constant(2.0)
    >>> with tf.GradientTape() as tape:
    ...     tape.watch(x)
    ...     y = tf.recompute_grad(lambda x: tf.exp(x) * x)(x)
    >>> round(float(tape.gradient(y, x)), 3)
    22.167
    """
    if not callable(f):
        raise TypeError(f"recompute_grad: f must be a function, got {f!r}.")

    @functools.wraps(f)
    def call(*args: P.args, **kwargs: P.kwargs) -> Any:
        trace = here.state.trace
        if trace is not None and trace.calls is not None:
            return _in_a_program(trace, f, args, kwargs)
        leaves = nest.flatten((args, kwargs))
        reads, draws = VariableReads(), Draws()
        with here.state.only([reads]), draws.again():
            result = f(*args, **kwargs)
        variables = _variables(leaves, reads)
        outputs = [
            as_tensor(leaf, argument="recompute_grad: an output") for leaf in nest.flatten(result)
        ]
        before = list(reads.first_values.values())
        kept = [
            leaf if isinstance(source_object(leaf), Variable) else operand(leaf) for leaf in leaves
        ]

        def pull(cotangents: list[Tensor]) -> list[Any]:
            with _AsTheyWere(before), draws.again():
                return _run_again(f, (args, kwargs), kept, variables, cotangents)

        made = call_as_one(
            getattr(f, "__qualname__", "function"),
            [*(value for value in kept if isinstance(value, Tensor)), *variables],
            outputs,
            RunsAgain(pull),
        )
        return nest.pack_sequence_as(result, made) if nest.is_nested(result) else made[0]

    return call


def _variables(leaves: Sequence[Any], reads: VariableReads) -> list[Variable]:
    """Every Variable that may have a gradient, given or read, once: its gradient is the sum over
    all the places where the function meets it.
    """
    given = [found for leaf in leaves if isinstance(found := source_object(leaf), Variable)]
    distinct = {id(variable): variable for variable in (*given, *reads.variables.values())}
    return [variable for variable in distinct.values() if variable.has_gradient]


def _run_again(
    f: Callable[..., Any],
    structure: Any,
    kept: Sequence[Any],
    variables: Sequence[Variable],
    cotangents: list[Tensor],
) -> list[Any]:
    """The gradients by the Tensors among `kept` and by the variables, recorded by whatever records
    around the backward step. They are dense, as in TensorFlow.
    """
    fresh = [identity(value) if isinstance(value, Tensor) else value for value in kept]
    sources: list[Any] = [*(value for value in fresh if isinstance(value, Tensor)), *variables]
    followed = [i for i, source in enumerate(sources) if source.dtype.is_trainable]
    with GradientTape(watch_accessed_variables=False) as tape:
        tape.watch([sources[i] for i in followed])
        args, kwargs = nest.pack_sequence_as(structure, fresh)
        result = [as_tensor(leaf) for leaf in nest.flatten(f(*args, **kwargs))]
    gradients = tape.gradient(result, [sources[i] for i in followed], output_gradients=cotangents)
    found = dict(zip(followed, map(operand, gradients), strict=True))
    return [found.get(i) for i in range(len(sources))]


def _in_a_program(trace: Trace, f: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    """A call in a program that is being traced: `f` runs once,
    and what it called runs again in the backward step.
    """
    leaves = nest.flatten(args)
    places = [i for i, leaf in enumerate(leaves) if isinstance(leaf, Tensor)]
    results: list[Any] = []

    def body(tensors: list[Tensor]) -> list[Tensor]:
        given = dict(zip(places, tensors, strict=True))
        results.append(
            f(
                *nest.pack_sequence_as(args, [given.get(i, leaf) for i, leaf in enumerate(leaves)]),
                **kwargs,
            )
        )
        return [
            as_tensor(leaf, argument="recompute_grad: an output")
            for leaf in nest.flatten(results[0])
        ]

    inputs = [leaves[i] for i in places]
    specs = [(value.array.shape, value.array.dtype) for value in inputs]
    program = trace.program(getattr(f, "__qualname__", "function"), body, specs, recompute=True)
    program.trace()
    outputs, written = program.call([*inputs, *trace.values_of(program.taken)])
    for variable, array in zip(program.written, written, strict=True):
        trace.write(variable, array)
    return nest.pack_sequence_as(results[0], outputs) if nest.is_nested(results[0]) else outputs[0]


class Draws:
    """The random numbers that a block draws in eager code: the first run draws them, and those that
    follow draw the same ones.
    """

    def __init__(self) -> None:
        self.drawn: list[Any] = []

    def again(self) -> _Run:
        """A run of the block."""
        return _Run(self.drawn)


class _Run(Block):
    """One run of a block that draws what it drew before."""

    def __init__(self, drawn: list[Any]) -> None:
        self._drawn = drawn
        self._next = 0
        self._around: _Run | None = None

    def next(self, draw: Callable[[], Any]) -> Any:
        """What the block's next call drew in the first run, which itself drew from the enclosing
        block, if there is one.
        """
        if self._next == len(self._drawn):
            self._drawn.append(draw() if self._around is None else self._around.next(draw))
        self._next += 1
        return self._drawn[self._next - 1]

    def enter(self) -> None:
        self._around, here.state.draws = here.state.draws, self

    def leave(self) -> None:
        if here.state.draws is self:
            here.state.draws = self._around


class _AsTheyWere(Block):
    """A block in which Variables have the values of the first run; their own values are restored
    afterwards.
    """

    def __init__(self, before: Sequence[tuple[Variable, Any]]) -> None:
        self._before = before
        self._now: list[tuple[Variable, Any]] = []

    def enter(self) -> None:
        self._now = [(variable, variable.array) for variable, _ in self._before]
        _put_back(self._before)

    def leave(self) -> None:
        _put_back(self._now)


def _put_back(values: Sequence[tuple[Variable, Any]]) -> None:
    for variable, array in values:
        if variable.array is not array:
            variable.replace(array)
