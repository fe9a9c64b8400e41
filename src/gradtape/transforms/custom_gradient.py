"""`custom_gradient` and `grad_pass_through`: functions whose backward step the user defines."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any, ParamSpec, TypeVar, overload
from weakref import ref

import numpy as np

from gradtape import nest
from gradtape.blocks import Block
from gradtape.convert import as_tensor, beside, operand
from gradtape.core.batching import BatchedTensor, Level
from gradtape.core.endings import at_outputs
from gradtape.core.indexed_slices import IndexedSlices, RawSlices
from gradtape.core.naming import is_importable
from gradtape.core.node import Node
from gradtape.core.operators import TensorOperators
from gradtape.core.record import PerOutput, record, with_node
from gradtape.core.recording import Recording, Scope
from gradtape.core.scopes import connect, scope_of
from gradtape.core.tape_arguments import source_object
from gradtape.core.tensor import Tensor
from gradtape.core.thread import here
from gradtape.core.variable import Variable
from gradtape.core.walk import dense
from gradtape.core.xla.tensor import tensor_of
from gradtape.core.xla.trace import Trace
from gradtape.ops.derivative import transposed
from gradtape.ops.reductions import reduce_sum
from gradtape.published import published
from gradtape.transforms.vectorize import whole


class VariableReads(Block):
    """A recorder that records only which Variables are read, and the value each had at its first
    read: its array, or, in a program that is being traced, the Tensor that stands for it.
    """

    pushes = False
    recording = True
    scope: Recording | None = None

    def __init__(self) -> None:
        self.variables: dict[int, Variable] = {}
        self.first_values: dict[int, tuple[Variable, Any]] = {}

    def variable_node(self, variable: Variable) -> Node | None:
        self.before_write(variable, None)
        self.variables[id(variable)] = variable
        return None

    def before_write(self, variable: Variable, value: Any, *, replaces: bool = True) -> None:
        if id(variable) not in self.first_values:
            trace = here.state.trace
            self.first_values[id(variable)] = (
                variable,
                variable.array if trace is None else trace.value(variable),
            )

    def besides(self, given: Sequence[Any]) -> list[Variable]:
        """The trainable Variables read that were not `given` as arguments,
        in the order of their creation.
        """
        arguments = {id(value) for value in given}
        found = (v for key, v in self.variables.items() if v.trainable and key not in arguments)
        return sorted(found, key=lambda v: v.creation)

    def enter(self) -> None:
        here.state.add(self)

    def leave(self) -> None:
        here.state.remove(self)


class RunsAgain:
    """A pull that runs a function once more, under a tape: where it gives None, that is not because
    a gradient function of the user's says so.
    """

    def __init__(self, pull: Pull) -> None:
        self._pull = pull

    def __call__(self, cotangents: list[Tensor]) -> list[Any]:
        return self._pull(cotangents)


class FunctionRule:
    """The rule of a function that was recorded as one op: `pull(cotangents)` returns one cotangent
    for each parent.
    """

    takes_slices = False
    shows_nan = False
    pull_into = None

    def __init__(
        self, name: str, specs: list[tuple[Any, Any]], pull: Callable[[list[Tensor]], list[Any]]
    ) -> None:
        self.name = name
        self.runs_again = isinstance(pull, RunsAgain)
        self._specs = specs
        self._pull = pull

    def pull_tensors(
        self, node: Node, g: PerOutput, wanted: Sequence[Node | None]
    ) -> Sequence[Any]:
        """Every output has a cotangent, zeros if nothing depends on it."""
        given = [g.get(i) for i in range(len(self._specs))]
        tensors = [
            Tensor(np.zeros(*spec))
            if value is None
            else value
            if isinstance(value, Tensor)
            else Tensor(value)
            for value, spec in zip(given, self._specs, strict=True)
        ]
        return [
            None if parent is None else p
            for parent, p in zip(wanted, self._pull(tensors), strict=True)
        ]

    def pull_arrays(self, node: Node, g: PerOutput, wanted: Sequence[Node | None]) -> Sequence[Any]:
        return [_arrays(p) for p in self.pull_tensors(node, g, wanted)]

    def push(self, node: Node, args: Sequence[Any], outputs: Any, tangents: Sequence[Any]) -> Any:
        return transposed(self, node, outputs, tangents)

    def kept(self, node: Node) -> Iterator[tuple[str, str, Any]]:
        """What it captures, see `ops.derivative`."""
        yield "", "", self._pull


def _arrays(pulled: Any) -> Any:
    if isinstance(pulled, RawSlices):
        return RawSlices(pulled.values.array, pulled.indices.array, pulled.shape)
    return None if pulled is None else pulled.array


Pull = Callable[[list[Tensor]], list[Any]]
"""Maps the cotangents of all outputs to those of all inputs: Tensors, RawSlices or None."""


def call_as_one(
    name: str,
    inputs: Sequence[Any],
    outputs: Sequence[Tensor],
    pull: Pull,
    pull_of: Callable[[list[Tensor]], Pull] | None = None,
) -> list[Tensor]:
    """`outputs` as new Tensors that one Node connects with `inputs`,
    whatever was recorded in between.

    In a program that is being traced, `pull` runs once, now, and what it called is kept. With
    `pull_of`, which returns the pull for any inputs, it does not run then.
    """
    state = here.state
    read = [operand(value) for value in inputs]
    if state.trace is not None:
        read, outputs = state.trace.taken_in(read), state.trace.taken_in(outputs)
    levels = [value.level for value in (*read, *outputs) if isinstance(value, BatchedTensor)]
    if levels:
        level = max(levels, key=lambda found: found.depth)
        outputs = _on_whole_batch(name, level, read, outputs, pull)
        return _connected(
            name,
            read,
            outputs,
            pull,
            scope_of(r.scope for r in level.split()[1] if r.scope is not None),
        )
    trace = state.trace
    if trace is None or trace.calls is None:
        return _connected(name, read, outputs, pull, state.scope)
    if not any(map(trace.has_path_to, read)):  # no derivative of the program will ask for the pull
        arrays = trace.listed(
            _constants, outputs, [out.array for out in outputs], [0] * len(outputs)
        )
        return _connected(name, read, [tensor_of(array) for array in arrays], pull, state.scope)
    traced: Any = (
        None
        if pull_of is not None
        else TracedPull(trace, name, [(out.array.shape, out.array.dtype) for out in outputs], pull)
    )
    captured = [] if traced is None else traced.captured()
    places = [i for i, value in enumerate(read) if isinstance(value, Tensor)]
    count, end = len(places), len(places) + len(outputs)

    def again(tensors: list[Tensor]) -> list[Tensor]:
        given = dict(zip(places, tensors, strict=False))
        others = [given.get(i, value) for i, value in enumerate(read)]
        pull = pull_of(others) if pull_of is not None else traced.given(tensors[end:])
        return call_as_one(name, others, tensors[count:end], pull, pull_of)

    given = [*(read[i] for i in places), *outputs, *captured]
    arrays = trace.listed(
        again, given, [out.array for out in outputs], [(1 << count) - 1] * len(outputs)
    )
    return _connected(
        name,
        read,
        [tensor_of(array) for array in arrays],
        pull if traced is None else traced.now,
        state.scope,
    )


def _constants(tensors: list[Tensor]) -> list[Tensor]:
    return [t.with_node(None) for t in tensors]


def _connected(
    name: str, read: Sequence[Any], outputs: Sequence[Tensor], pull: Pull, scope: Scope | None
) -> list[Tensor]:
    """`outputs` as new Tensors with a Node, if something records."""
    results = [out if isinstance(out, BatchedTensor) else out.array for out in outputs]
    nodes = [value.node if isinstance(value, Tensor) else None for value in read]
    connection = connect(nodes, scope)
    if connection is None:
        found = [with_node(result, None) for result in results]
    else:
        rule = FunctionRule(name, [(out.array.shape, out.array.dtype) for out in outputs], pull)
        found = record(rule, (), None, connection, read, results, foreign=True)
    return at_outputs(name, None, nodes, found)


class TracedPull:
    """A pull in a program that is being traced, as a program of its own: its Python runs once, and
    whatever it uses is an input.
    """

    def __init__(self, trace: Trace, name: str, specs: Sequence[Any], pull: Pull) -> None:
        self._trace = ref(trace)  # which ends sooner than the program that keeps this pull
        self._pull = pull
        self._forms: list[
            Any
        ] = []  # for each input the shape of a sparse gradient, or whether there is a gradient
        self._program = trace.program(name, self._run, specs)
        self._error: Exception | None = None
        try:
            self._program.trace()
        except Exception as error:  # noqa: BLE001 - it is for whoever asks for the gradient
            self._error = error.with_traceback(None)
        self._pull = None  # type: ignore[assignment]  # it is not run again

    def _run(self, cotangents: list[Tensor]) -> list[Tensor]:
        pulled = self._pull(cotangents)
        self._forms = [p.shape if type(p) is RawSlices else p is not None for p in pulled]
        return [
            t
            for p in pulled
            if p is not None
            for t in ([p.values, p.indices] if type(p) is RawSlices else [p])
        ]

    def captured(self) -> list[Tensor]:
        """The values, now, of what the pull uses besides cotangents; an enclosing function does not
        read them.
        """
        if self._error is not None:
            return []
        with here.state.only([r for r in here.state.recorders if r.scope is not None]):
            trace = self._trace()
            assert trace is not None
            return trace.values_of(self._program.taken)

    def now(self, cotangents: list[Tensor]) -> list[Any]:
        """The pull at this point of the program: it sees the current values of Variables."""
        return self._called(cotangents, self.captured())

    def given(self, captured: Sequence[Tensor]) -> Pull:
        """The pull for other values of what it uses."""
        return lambda cotangents: self._called(cotangents, captured)

    def _called(self, cotangents: Sequence[Tensor], captured: Sequence[Tensor]) -> list[Any]:
        if self._error is not None:
            raise self._error
        outputs, written = self._program.call([*cotangents, *captured])
        trace = here.state.trace
        if (
            trace is not None and trace is self._trace() and trace.calls is not None
        ):  # or else the program's effects are settled
            for variable, array in zip(self._program.written, written, strict=True):
                trace.write(variable, array)
        found = iter(outputs)
        return [
            RawSlices(next(found), next(found), form)
            if isinstance(form, tuple)
            else next(found)
            if form
            else None
            for form in self._forms
        ]


def _on_whole_batch(
    name: str, level: Level, read: Sequence[Any], outputs: Sequence[Tensor], pull: Pull
) -> list[Tensor]:
    """The outputs of a call under `vmap`, connected with the inner Tensors of its inputs for what
    records outside it.
    """
    mapped = [isinstance(value, BatchedTensor) and value.level is level for value in read]

    def pull_whole(cotangents: list[Tensor]) -> list[Any]:
        with level.again():
            pulled = [dense(p) for p in pull([BatchedTensor(g, level) for g in cotangents])]
            gathered = [None if p is None else whole(p, level) for p in pulled]
        return [
            g if g is None or m else reduce_sum(g, axis=(0,))
            for g, m in zip(gathered, mapped, strict=True)
        ]

    inner = [value.inner if m else value for value, m in zip(read, mapped, strict=True)]
    with here.state.only(level.split()[0]):
        made = call_as_one(name, inner, [whole(out, level) for out in outputs], pull_whole)
    return [BatchedTensor(out, level) for out in made]


P = ParamSpec("P")
R = TypeVar("R")


@overload
def custom_gradient(f: Callable[P, tuple[R, Callable[..., Any]]]) -> Callable[P, R]: ...
@overload
def custom_gradient(
    f: None = None,
) -> Callable[[Callable[P, tuple[R, Callable[..., Any]]]], Callable[P, R]]: ...
@published("custom_gradient")
def custom_gradient(f: Callable[..., Any] | None = None) -> Callable[..., Any]:
    """Defines the gradient of a function: `f` returns its outputs and a function of their
    cotangents.

    If `f` reads Variables that are not arguments, the gradient function must accept `variables` and
    return their gradients too. Gradients must have the shapes of the arguments, which is checked.

    >>> import gradtape as tf
    >>> @tf.custom_gradient
    ... def log1pexp(x):
    ...     e = tf.exp(x)
    ...     return tf.math.log(1 + e), lambda upstream: upstream * (1 - 1 / (1 + e))
    >>> x = tf.constant(100.0)
    >>> with tf.GradientTape() as tape:
    ...     tape.watch(x)
    ...     y = log1pexp(x)
    >>> tape.gradient(y, x).numpy()
    np.float32(1.0)
    """
    if f is None:
        return custom_gradient
    if not callable(f):
        raise TypeError(f"custom_gradient: f must be a function, got {f!r}.")
    return CustomGradient(f)


class CustomGradient:
    """A function with a custom gradient.

    As a method it is bound first, so that `self` is not an input.
    """

    def __init__(self, f: Callable[..., Any]) -> None:
        functools.update_wrapper(self, f)
        self._f = f
        self._name = getattr(f, "__qualname__", repr(f))

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self if instance is None else CustomGradient(self._f.__get__(instance, owner))

    def __reduce__(self) -> Any:
        """As with Python's own functions: pickle knows it by its name, and a copy is itself."""
        name: str = vars(self).get("__qualname__", "")
        return name if is_importable(self) else (CustomGradient, (self._f,))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        inputs = [source_object(leaf) for leaf in nest.flatten(args)]
        with VariableReads() as reads:
            returned = self._f(*args, **kwargs)
        pair = returned
        if not isinstance(pair, (tuple, list, TensorOperators)) and hasattr(pair, "__iter__"):
            pair = tuple(pair)
        if not isinstance(pair, (tuple, list)) or len(pair) != 2 or not callable(pair[1]):
            raise _not_a_pair(self._name, returned)
        result, grad_fn = pair
        variables = reads.besides(
            [*inputs, *(source_object(leaf) for leaf in nest.flatten(kwargs))]
        )
        if variables and not _accepts_variables(grad_fn):
            raise TypeError(
                f"custom_gradient: {self._name} reads the variables {[v.name for v in variables]}, "
                "so its gradient function "
                "must accept a keyword argument `variables` and return (input_gradients, "
                "variable_gradients)."
            )
        outputs = [
            as_tensor(leaf, argument="custom_gradient: an output") for leaf in nest.flatten(result)
        ]

        def pull(cotangents: list[Tensor]) -> list[Any]:
            if not variables:
                return _checked(_flat(grad_fn(*cotangents)), inputs, self._name)
            by_input, by_variable = self._with_variables(
                grad_fn(*cotangents, variables=variables), len(variables)
            )
            return _checked(by_input, inputs, self._name) + _checked(
                by_variable, variables, self._name
            )

        made = call_as_one(self._name, [*inputs, *variables], outputs, pull)
        return nest.pack_sequence_as(result, made) if nest.is_nested(result) else made[0]

    def _with_variables(self, returned: Any, count: int) -> tuple[list[Any], list[Any]]:
        """What a gradient function returns when variables are read: the gradients of inputs,
        and of variables.
        """
        if not isinstance(returned, (tuple, list)) or len(returned) != 2:
            raise ValueError(
                f"custom_gradient: the gradient function of {self._name} must return "
                "(input_gradients, variable_gradients), "
                "since variables are read."
            )
        by_variable = _flat(returned[1])
        if len(by_variable) != count:
            raise ValueError(
                f"custom_gradient: {self._name} reads {count} variables, but its gradient function "
                "returned "
                f"{len(by_variable)} variable gradients."
            )
        return _flat(returned[0]), by_variable


def _not_a_pair(name: str, returned: Any) -> TypeError:
    """The error for a function that forgot its gradient function."""
    if isinstance(returned, Tensor):
        got = f"a Tensor of shape {returned.shape}"
    elif not isinstance(returned, (tuple, list)):
        got = f"{returned!r} of type {type(returned).__name__}"
    elif len(returned) != 2:
        got = f"a {type(returned).__name__} of length {len(returned)}"
    else:
        got = f"a pair whose grad_fn is of type {type(returned[1]).__name__}"
    return TypeError(
        f"custom_gradient: {name} must return (result, grad_fn), where grad_fn is a function of "
        f"the upstream gradients, but it returned {got}."
    )


def _accepts_variables(grad_fn: Callable[..., Any]) -> bool:
    import inspect  # noqa: PLC0415 - 8 ms that only functions with variables need

    parameters = inspect.signature(grad_fn).parameters.values()
    return any(p.name == "variables" or p.kind is p.VAR_KEYWORD for p in parameters)


def _flat(gradients: Any) -> list[Any]:
    return nest.flatten(gradients) if nest.is_nested(gradients) else [gradients]


def _checked(gradients: list[Any], inputs: Sequence[Any], name: str) -> list[Any]:
    """The user's gradients as Tensors or slices, one for each input, with its shape."""
    if len(gradients) != len(inputs):
        raise ValueError(
            f"custom_gradient: {name} has {len(inputs)} inputs, but its gradient function returned "
            f"{len(gradients)} gradients."
        )
    checked: list[Any] = []
    for i, (gradient, value) in enumerate(zip(gradients, inputs, strict=True)):
        if gradient is None or not isinstance(value, (Tensor, Variable)):
            checked.append(None)
            continue
        if isinstance(gradient, IndexedSlices):
            if gradient.values.array.shape[1:] != value.array.shape[1:]:
                raise ValueError(
                    f"custom_gradient: gradient {i} of {name} has rows of shape "
                    f"{gradient.values.array.shape[1:]}, but its input "
                    f"has shape {value.shape}."
                )
            checked.append(RawSlices(gradient.values, gradient.indices, value.array.shape))
            continue
        found = operand(gradient)
        if not isinstance(found, Tensor):
            found = Tensor(beside(found, value.array.dtype, f"custom_gradient: gradient {i}"))
        if found.array.shape != value.array.shape:
            raise ValueError(
                f"custom_gradient: gradient {i} of {name} has shape {found.shape}, but its input "
                f"has shape {value.shape}."
            )
        checked.append(found)
    return checked


@published("grad_pass_through")
def grad_pass_through(f: Callable[P, R]) -> Callable[P, R]:
    """`f` in the forward step and the identity in the backward step,
    as for a straight-through estimator.

    >>> import gradtape as tf
    >>> x = tf.constant(2.7)
    >>> with tf.GradientTape() as tape:
    ...     tape.watch(x)
    ...     y = tf.grad_pass_through(tf.round)(x)
    >>> y.numpy(), tape.gradient(y, x).numpy()
    (np.float32(3.0), np.float32(1.0))
    """

    @custom_gradient
    def passed_through(*args: Any, **kwargs: Any) -> Any:
        def grad(*cotangents: Any, variables: Sequence[Variable] = ()) -> Any:
            return (cotangents, [None] * len(variables)) if variables else cotangents

        return f(*args, **kwargs), grad

    return functools.wraps(f)(passed_through)
