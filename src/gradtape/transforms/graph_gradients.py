"""TensorFlow's graph functions: `gradients` and `hessians` inside a function, and the registry of
gradient functions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from gradtape import nest
from gradtape.convert import as_tensor
from gradtape.core.tape import GradientTape
from gradtape.core.tape_arguments import source_object, unconnected_value
from gradtape.core.tensor import Tensor
from gradtape.core.thread import here
from gradtape.core.unconnected import UnconnectedGradients, as_unconnected
from gradtape.core.variable import Variable
from gradtape.core.xla.tensor import tensor_of
from gradtape.core.xla.trace import NeedsTracedConstants, NotTracedError, Trace, TracedCall
from gradtape.ops.registry import registry
from gradtape.published import published
from gradtape.transforms.functional import hessians_of

if TYPE_CHECKING:
    from gradtape.core.tape_methods import Gradient

F = TypeVar("F", bound=Callable[..., Any])

_registered: dict[str, Callable[..., Any] | None] = {}


@published("gradients")
def gradients(
    ys: Any,
    xs: Any,
    grad_ys: Any = None,
    name: str = "gradients",
    gate_gradients: bool = False,
    aggregation_method: Any = None,
    stop_gradients: Any = None,
    unconnected_gradients: Any = None,
) -> list[Gradient]:
    """In a `function`, the gradients of the sum of `ys` with respect to each of `xs`, from what has
    been computed so far; no tape is needed.

    `grad_ys` are cotangents of `ys`, None for ones; what is in `stop_gradients` counts as constant.
    In eager code nothing is recorded without a tape, and it raises a `RuntimeError`, as in
    TensorFlow.

    >>> import gradtape as tf
    >>> f = tf.function(lambda x: tf.gradients(x**3, x)[0])
    >>> f(tf.constant(2.0)).numpy()
    np.float32(12.0)
    """
    trace = _trace_of("gradients")
    sources = _sources(xs, "gradients: xs")
    targets = _flat(ys, "gradients: ys")
    cotangents = None if grad_ys is None else _listed(grad_ys)
    if cotangents is not None and len(cotangents) != len(targets):
        raise ValueError(
            f"gradients: grad_ys must have an entry for each of {len(targets)} ys, got "
            f"{len(cotangents)}: give a tensor or None."
        )
    stopped = [] if stop_gradients is None else _flat(stop_gradients, "gradients: stop_gradients")
    with GradientTape(watch_accessed_variables=False) as tape:
        again = _Again(trace, targets, sources, stopped, tape.watch)
    unconnected = (
        UnconnectedGradients.NONE if unconnected_gradients is None else unconnected_gradients
    )
    followed = [target for target in again.targets if target.dtype.is_trainable]
    if cotangents is not None:
        cotangents = [
            c
            for c, target in zip(cotangents, again.targets, strict=True)
            if target.dtype.is_trainable
        ]
    if not followed:
        return [unconnected_value(source, as_unconnected(unconnected)) for source in sources]
    return list(
        tape.gradient(
            followed, again.sources, output_gradients=cotangents, unconnected_gradients=unconnected
        )
    )


@published("hessians")
def hessians(
    ys: Any,
    xs: Any,
    gate_gradients: bool = False,
    aggregation_method: Any = None,
    name: str = "hessians",
) -> list[Tensor]:
    """For each of `xs`, the second derivatives of the sum of `ys` with respect to it. `ys` is a
    function of `xs`, or, in a `function`, tensors.

    >>> import gradtape as tf
    >>> [
    ...     h.numpy().tolist()
    ...     for h in tf.hessians(
    ...         lambda x, y: x * x * y, [tf.constant([1.0, 2.0]), tf.constant(3.0)]
    ...     )
    ... ]
    [[[6.0, 0.0], [0.0, 6.0]], 0.0]
    """
    if callable(ys) and not isinstance(ys, (Tensor, Variable)):
        return hessians_of(ys, xs)
    trace = _trace_of("hessians")
    targets = _flat(ys, "hessians: ys")
    found = []
    for x in _sources(xs, "hessians: xs"):
        with GradientTape(watch_accessed_variables=False) as outer:
            with GradientTape(watch_accessed_variables=False) as inner:
                again = _Again(trace, targets, [x], [], outer.watch, inner.watch)
            gradient = inner.gradient(again.targets, again.sources[0], unconnected_gradients="zero")
        found.append(outer.jacobian(gradient, again.sources[0], unconnected_gradients="zero"))
    return found


class _Again:
    """The calls that lead from some tensors of a program to others, run again with the first ones
    watched.

    `targets` and `sources` are the tensors in that run. What does not depend on a source is as it
    was.
    """

    def __init__(
        self,
        trace: Trace,
        targets: Sequence[Tensor],
        sources: Sequence[Tensor],
        stopped: Sequence[Tensor],
        *watch: Callable[[Tensor], None],
    ) -> None:
        assert trace.calls is not None
        calls = list(trace.calls)
        fixed = {id(t.array) for t in stopped}
        known: dict[int, Tensor] = {}
        by_array = {id(t.array): t for t in sources}
        made = self._depending(calls, set(by_array), fixed)
        for key, source in by_array.items():
            if key not in made:
                known[key] = tensor_of(source.array, source.node)
                for each in watch:
                    each(known[key])
        for call in self._leading_to(calls, {id(t.array) for t in targets} | set(by_array), made):
            results = call.run([known.get(id(t.array), t) for t in call.given])
            for array, result in zip(call.results, results, strict=True):
                if id(array) in made:
                    known[id(array)] = result if isinstance(result, Tensor) else tensor_of(result)
        self.targets = [known.get(id(t.array), t) for t in targets]
        self.sources = [known[id(t.array)] for t in sources]

    @staticmethod
    def _depending(calls: Sequence[TracedCall], sources: set[int], fixed: set[int]) -> set[int]:
        """The arrays that calls compute from the sources, except those that are fixed."""
        reached, made = set(sources), set()
        for call in calls:
            if any(id(t.array) in reached for t in call.given):
                results = {id(array) for array in call.results} - fixed
                made |= results
                reached |= results
        return made

    @staticmethod
    def _leading_to(
        calls: Sequence[TracedCall], wanted: set[int], made: set[int]
    ) -> list[TracedCall]:
        needed = []
        for call in reversed(calls):
            if any(id(array) in wanted and id(array) in made for array in call.results):
                needed.append(call)
                wanted |= {id(t.array) for t in call.given}
        return needed[::-1]


def _trace_of(function: str) -> Trace:
    trace = here.state.trace
    if trace is None or trace.calls is None:
        raise NotTracedError(
            f"{function}() of tensors is available only while a gradtape.function is traced, when "
            "it is known how they were computed: in eager code "
            + (
                "pass a function of xs as ys."
                if function == "hessians"
                else "record with GradientTape and call tape.gradient()."
            )
        )
    if here.state.levels:
        raise NotImplementedError(
            f"{function}() of tensors is not available inside vmap or vectorized_map: record with "
            "GradientTape and call tape.gradient() there."
        )
    return trace


def _listed(values: Any) -> list[Any]:
    return list(values) if isinstance(values, (list, tuple)) else [values]


def _flat(values: Any, argument: str) -> list[Tensor]:
    """Tensors of the program that is being traced."""
    trace = _trace_of(argument.partition(":")[0])
    leaves = [source_object(leaf) for leaf in nest.flatten(_listed(values))]
    found = [as_tensor(leaf, argument=argument) for leaf in leaves if leaf is not None]
    return trace.taken_in(found)


def _sources(values: Any, argument: str) -> list[Tensor]:
    """The same, by which derivatives are asked for."""
    trace = _trace_of(argument.partition(":")[0])
    constants = trace.asks_for(map(source_object, nest.flatten(_listed(values))))
    if constants:
        raise NeedsTracedConstants(constants, trace.constants_of_programs.values())
    return _flat(values, argument)


@published("RegisterGradient")
class RegisterGradient:
    """Registers a gradient function under an op's name; a name that already has one, or that
    gradtape defines, raises a `KeyError`.

    >>> import gradtape as tf
    >>> tf.RegisterGradient("Multiply")
    Traceback (most recent call last):
        ...
    KeyError: "the op 'Multiply' already has a gradient: use gradtape.custom_gradient ...
    """

    def __init__(self, op_type: str) -> None:
        if not isinstance(op_type, str):
            raise TypeError(f"RegisterGradient: op_type must be a string, got {op_type!r}.")
        _refuse_known(op_type)
        self._op_type = op_type

    def __call__(self, f: F) -> F:
        _refuse_known(self._op_type)
        _registered[self._op_type] = f
        return f


@published("no_gradient")
def no_gradient(op_type: str) -> None:
    """Marks an op name as not differentiable.

    >>> import gradtape as tf
    >>> tf.no_gradient("MyOp")
    """
    if not isinstance(op_type, str):
        raise TypeError(f"no_gradient: op_type must be a string, got {op_type!r}.")
    _refuse_known(op_type)
    _registered[op_type] = None


def _refuse_known(op_type: str) -> None:
    snake = "".join(f"_{c.lower()}" if c.isupper() else c for c in op_type).lstrip("_")
    if op_type in _registered or snake in registry:
        raise KeyError(
            f"the op '{op_type}' already has a gradient: use gradtape.custom_gradient for a "
            "function of your own."
        )
