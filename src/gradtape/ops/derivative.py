"""An op's derivative as the walks use it: its pulls on arrays and on Tensors, conjugated for
complex outputs, and its push.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from gradtape import dtypes
from gradtape.core.batching import BatchedTensor
from gradtape.core.indexed_slices import RawSlices
from gradtape.core.late import imported_when_called
from gradtape.core.needed_ops import needed
from gradtape.core.node import Node
from gradtape.core.record import PerOutput, several_outputs, with_node
from gradtape.core.strong_zeros import HIDDEN, has_nan, has_zero
from gradtape.core.tape import GradientTape
from gradtape.core.tensor import Tensor
from gradtape.core.thread import here
from gradtape.core.walk import dense
from gradtape.core.xla.placement import place_of
from gradtape.ops.written_pulls import write_pull_into, write_pulls

if TYPE_CHECKING:
    from gradtape.ops.op import Op

Wanted = Sequence[Node | None]

needed.write_walk = imported_when_called("gradtape.ops.written_walks", "write_walk")


class Derivative:
    """The rule of an op, as declared: pulls that are transposes of its Jacobian."""

    takes_slices = False
    shows_nan = True  # where an op does not, its pulls on arrays say so themselves

    def __init__(self, op: Op) -> None:
        self.op = op
        self.name = op.name
        self.pull_arrays: Callable[[Node, Any, Wanted], Sequence[Any]] = self._first_pull
        self.pull_into: Callable[[Node, Any, Any, Any, Any], None] | None = (
            self._first_pull_into if op.pull_all is None else None
        )

    def _first_pull(self, node: Node, g: Any, wanted: Wanted) -> Sequence[Any]:
        """Every training step runs `pull_arrays`, so it is written to measure for each op,
        when it is first needed.
        """
        if self.op.pull_all is None:
            self.pull_arrays = write_pulls(self.op)
        else:
            self.pull_arrays = self._pull_all_arrays
        return self.pull_arrays(node, g, wanted)

    def _pull_all_arrays(self, node: Node, g: Any, wanted: Wanted) -> Sequence[Any]:
        if not self.op.plain:
            here.state.watch.append(HIDDEN)
        return self._pull(node, g, wanted, tensors=False)

    def _first_pull_into(
        self, node: Node, g: Any, cotangents: dict[Node, Any], owned: set[Node], watch: list[str]
    ) -> None:
        self.pull_into = write_pull_into(self.op)
        self.pull_into(node, g, cotangents, owned, watch)

    def pull_tensors(self, node: Node, g: Any, wanted: Wanted) -> Sequence[Any]:
        return self._pull(node, g, wanted, tensors=True)

    def _pull(self, node: Node, g: Any, wanted: Wanted, *, tensors: bool) -> Sequence[Any]:
        op = self.op
        if op.several:
            g = _every_output(g, self.output_specs(node), tensors)
        if op.pull_all is not None:
            return op.pull_all(g, wanted, *self.saved(node, 0, tensors))
        as_written = not any(op.guarded) or holds_no_zero(g)
        return [
            None
            if parent is None or pull is None
            else self._pull_one(node, i, g, tensors, as_written)
            for i, (pull, parent) in enumerate(zip(op.pulls, wanted, strict=True))
        ]

    def _pull_one(self, node: Node, index: int, g: Any, tensors: bool, as_written: bool) -> Any:
        saved = self.saved(node, index, tensors)
        as_written = as_written or not self.op.guarded[index]
        pull, names = self.op.pulls[index], self.op.saves[index]
        assert pull is not None
        if not names or not names[0].endswith("_broadcast"):
            return pull(g, *saved) if as_written else guarded_pull(pull, g, saved)
        pulled = pull(g, *saved[1:]) if as_written else guarded_pull(pull, g, saved[1:])
        return pulled if saved[0] is None else needed.sum_to_shape(pulled, shape=saved[0])

    def saved(self, node: Node, index: int, tensors: bool) -> list[Any]:
        """The values that a pull named.

        The output was saved as an array, since its Tensor holds this very Node.
        """
        names, values = self.op.saves[index], node.saved[index]
        if not tensors:
            return [_plain(value) for value in values]
        return [
            self._output(node, value) if name == "out" else value
            for name, value in zip(names, values, strict=True)
        ]

    def named(self, node: Node, index: int) -> dict[str, Any]:
        """What a pull saved, by name, as arrays."""
        names = self.op.saves[index]
        # Strict is slow.
        return {name: _plain(value) for name, value in zip(names, node.saved[index])}  # noqa: B905

    def kept(self, node: Node) -> Iterator[tuple[str, str, Any]]:
        """What a Node keeps: the argument whose pull asked for it, if each has its own, the name of
        the pull's parameter, and the value.
        """
        arguments = self.op.arguments if self.op.pull_all is None else ("",)
        # Strict is wrong: a Node of several outputs keeps their shapes after that.
        for by, names, values in zip(arguments, self.op.saves, node.saved):  # noqa: B905
            if values is not None:
                for name, value in zip(names, values, strict=True):
                    yield by, name, value

    @staticmethod
    def output_specs(node: Node) -> list[tuple[Any, Any]]:
        """The shapes and dtypes of several outputs."""
        return node.saved[-1]

    def _output(self, node: Node, value: Any) -> Any:
        """The output again, as a Tensor; several ones have new Nodes,
        which accumulators have to hear of.
        """
        if not self.op.several:
            return with_node(value, node)
        outputs = several_outputs(node, value)
        for pusher in here.state.pushers:
            for output in outputs:
                if output.node is not None:
                    pusher.push(output.node, [], None)
        return outputs

    def push(self, node: Node, args: Sequence[Any], outputs: Any, tangents: Sequence[Any]) -> Any:
        """The output's tangent: through the op itself if it is linear,
        else through the transpose of its pulls.
        """
        if not self.op.linear:
            return transposed(self, node, outputs, tangents)
        pulls = self.op.pulls or [self.op.pull_all] * len(args)
        moved = [
            arg if pull is None else _or_zeros(t, arg)
            for arg, pull, t in zip(args, pulls, tangents, strict=True)
        ]
        pushed = self.op.call(*moved, **(node.params or {}))
        return dict(enumerate(pushed)) if self.op.several else pushed


class ElementwiseDerivative(Derivative):
    """The rule of an elementwise op: its Jacobian is diagonal,
    so that the pull of each argument is its push too.
    """

    def broadcast_from(self, node: Node, index: int) -> tuple[int, ...] | None:
        """The shape of one of two arguments, if it was broadcast to that of the output."""
        return node.saved[index][0] if self.op.broadcasts else None

    def partial(self, node: Node, index: int, one: Any) -> Any:
        """The partial derivative by an argument, from its pull of `one`: a number or an array."""
        pull = self.op.pulls[index]
        assert pull is not None
        return pull(one, *self.saved(node, index, tensors=False)[self.op.broadcasts :])

    def push(self, node: Node, args: Sequence[Any], outputs: Any, tangents: Sequence[Any]) -> Any:
        total = None
        for i, tangent in enumerate(tangents):
            pull = self.op.pulls[i]
            if tangent is not None and pull is not None:
                saved = self.saved(node, i, tensors=True)[self.op.broadcasts :]
                as_written = not self.op.guarded[i] or holds_no_zero(tangent)
                term = pull(tangent, *saved) if as_written else guarded_pull(pull, tangent, saved)
                total = term if total is None else total + term
        shape = outputs.array.shape
        return (
            total
            if total is None or total.array.shape == shape
            else needed.broadcast_to(total, shape=shape)
        )


class Conjugated:
    """The adjoint from pulls that are written as transposes:
    conjugates what goes in and what comes out.
    """

    takes_slices = False
    pull_into = None

    def __init__(self, rule: Derivative) -> None:
        self._rule = rule
        self.name = rule.name
        self.shows_nan = rule.shows_nan
        self.kept = rule.kept

    def pull_arrays(self, node: Node, g: Any, wanted: Wanted) -> Sequence[Any]:
        return [conjugated(p) for p in self._rule.pull_arrays(node, conjugated(g), wanted)]

    def pull_tensors(self, node: Node, g: Any, wanted: Wanted) -> Sequence[Any]:
        return [conjugated(p) for p in self._rule.pull_tensors(node, conjugated(g), wanted)]

    def push(self, node: Node, args: Sequence[Any], outputs: Any, tangents: Sequence[Any]) -> Any:
        if isinstance(self._rule, ElementwiseDerivative) or self._rule.op.linear:
            return self._rule.push(node, args, outputs, tangents)
        return transposed(self, node, outputs, tangents)


class OnTensors:
    """A rule whose pulls always run on Tensors, for half precision:
    ops round where NumPy's own arithmetic would widen.
    """

    takes_slices = False
    shows_nan = False
    pull_into = None

    def __init__(self, rule: Any) -> None:
        self._rule = rule
        self.name = rule.name
        self.pull_tensors = rule.pull_tensors
        self.push = rule.push
        self.kept = rule.kept

    def pull_arrays(self, node: Node, g: Any, wanted: Wanted) -> Sequence[Any]:
        return [
            _plain_cotangent(p) for p in self._rule.pull_tensors(node, _tensor_cotangent(g), wanted)
        ]


def declared(rule: Any) -> Op | None:
    """The op whose rule this is; None for the rule of a function, a read or one of many outputs."""
    rule = unwrapped(rule)
    return rule.op if isinstance(rule, Derivative) else None


def unwrapped(rule: Any) -> Any:
    """A rule without what wraps it for complex numbers and half precision: with the pulls as they
    are declared.
    """
    while isinstance(rule, (Conjugated, OnTensors)):
        rule = rule._rule
    return rule


def guarded_pull(pull: Callable[..., Any], g: Any, saved: Sequence[Any]) -> Any:
    """An elementwise op's pull on Tensors, with zeros where `g` is zero: of a cotangent,
    or of a tangent.

    If it may be differentiated, it is a product with the partial derivative, which knows of those
    zeros in all its own derivatives too.
    """
    if _may_be_differentiated():
        return needed.times(g, pull(_One(g.array.dtype.type(1)), *saved))
    pulled = pull(g, *saved)
    return needed.drop(pulled, needed.equal(g, 0)) if may_hold_nan(pulled) else pulled


class _One(Tensor):
    """The number one, for the partial derivatives that pulls compute from it: as a factor it asks
    for no op.
    """

    __slots__ = ()

    def __mul__(self, other: Any) -> Any:
        if isinstance(other, Tensor) and other.array.dtype == self.array.dtype:
            return other
        return Tensor(self.array) * other

    __rmul__ = __mul__

    def __sub__(self, other: Any) -> Any:
        return Tensor(self.array) - other

    def __truediv__(self, other: Any) -> Any:
        return Tensor(self.array) / other


def _may_be_differentiated() -> bool:
    """Whether something records what runs now, or a program keeps it to run it again under whatever
    records then.
    """
    state = here.state
    return state.scope is not None or (state.trace is not None and state.trace.calls is not None)


def holds_no_zero(g: Any) -> bool:
    """Whether a cotangent is known to hold no zero, if that is worth knowing:
    what nothing records is repaired afterwards.
    """
    if not _may_be_differentiated():
        return False
    array = _values(g)
    return isinstance(array, (np.ndarray, np.generic)) and not has_zero(array)


def may_hold_nan(x: Any) -> bool:
    """Whether a Tensor holds a NaN, as far as its values are known."""
    found = _values(x)
    return not isinstance(found, (np.ndarray, np.generic)) or has_nan(found)


def _values(x: Any) -> Any:
    """The array of a Tensor; of one example of a batch, that of the whole batch."""
    while isinstance(x, BatchedTensor):
        x = x.inner
    return x.array


def _tensor_cotangent(g: Any) -> Any:
    return (
        PerOutput((i, Tensor(value)) for i, value in g.items())
        if isinstance(g, dict)
        else Tensor(g)
    )


def _plain_cotangent(pulled: Any) -> Any:
    if type(pulled) is RawSlices:
        return RawSlices(_plain(pulled.values), _plain(pulled.indices), pulled.shape)
    return _plain(pulled)


def transposed(rule: Any, node: Node, outputs: Any, tangents: Sequence[Any]) -> Any:
    """The tangent of `outputs`: a pull is linear in its cotangent,
    so the gradient of the pull is the push.
    """
    several = isinstance(outputs, list)
    like = [
        place_of(out).move(Tensor(np.zeros(out.array.shape, out.array.dtype)))
        for out in (outputs if several else [outputs])
    ]
    wanted = [
        None if t is None else parent for parent, t in zip(node.parents, tangents, strict=True)
    ]
    with GradientTape(watch_accessed_variables=False) as tape:
        tape.watch([g for g in like if g.array.dtype in dtypes.TRAINABLE])
        g = PerOutput(enumerate(like)) if several else like[0]
        pulled = rule.pull_tensors(node, g, wanted)
        pairs = [
            (dense(p), t)
            for p, t in zip(pulled, tangents, strict=True)
            if p is not None and t is not None
        ]
    found = tape.gradient([p for p, _ in pairs], like, output_gradients=[t for _, t in pairs])
    if not several:
        return found[0]
    # Backward, every output is connected with every argument.
    return {
        i: g if tangent is None and g.array.dtype in dtypes.TRAINABLE else tangent
        for i, (g, tangent) in enumerate(zip(like, found, strict=True))
    }


def _every_output(g: PerOutput, specs: Sequence[tuple[Any, Any]], tensors: bool) -> list[Any]:
    """The cotangents of all outputs, zeros where none has arrived:
    a NaN in such an output does not show.
    """
    if len(g) < len(specs):
        here.state.watch.append(HIDDEN)
    form = Tensor if tensors else (lambda array: array)
    return [
        g[i] if i in g else form(np.zeros(shape, dtype)) for i, (shape, dtype) in enumerate(specs)
    ]


def conjugated(value: Any) -> Any:
    """The conjugate of a cotangent in whatever form it travels; real ones stay as they are."""
    if value is None:
        return None
    if isinstance(value, dict):
        return PerOutput((i, conjugated(g)) for i, g in value.items())
    if type(value) is RawSlices:
        return RawSlices(conjugated(value.values), value.indices, value.shape)
    array = value.array if isinstance(value, Tensor) else value
    return needed.conj(value) if array.dtype.kind == "c" else value


def _plain(value: Any) -> Any:
    if isinstance(value, Tensor):
        return value.array
    return [_plain(v) for v in value] if type(value) is list else value


def _or_zeros(tangent: Any, arg: Tensor) -> Any:
    return Tensor(np.zeros(arg.array.shape, arg.array.dtype)) if tangent is None else tangent


def missing_pull(name: str, argument: str) -> Callable[..., Any]:
    """The pull of an argument that nobody wrote one for: a derivative is missing,
    never silently zero.
    """

    def pull(g: Any) -> Any:
        raise LookupError(
            f"{name}: there is no rule for the derivative with respect to '{argument}': use "
            "gradtape.custom_gradient to define one."
        )

    return pull
