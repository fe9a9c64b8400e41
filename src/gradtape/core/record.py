"""`record`: makes a Node of any call.

Ops with generated code do the same inline, for one tape and plain arrays (see `ops.written`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gradtape import dtypes
from gradtape.core.batching import BatchedTensor
from gradtape.core.location import caller
from gradtape.core.node import Node
from gradtape.core.recording import Scope
from gradtape.core.tensor import Tensor
from gradtape.core.thread import ThreadState, here
from gradtape.core.xla.tensor import tensor_of

Connection = tuple[tuple[Node | None, ...], Scope]
"""The parents of a call and the scope it is recorded in, as `connect` finds them."""


def record(
    rule: Any,
    saved: Any,
    params: dict[str, Any] | None,
    connection: Connection,
    args: Sequence[Any],
    results: Any,
    *,
    foreign: bool = False,
    reached: Sequence[bool] | None = None,
) -> Any:
    """The results of a call with `args`, as Tensors that a Node connects with them: one, or several
    if `results` is a list.

    `foreign` says that the rule runs user code; `reached`, which of several results depend on a
    parent.
    """
    state = here.state
    node = Node(rule, saved, params, *connection, caller())
    if foreign:
        for recording in node.scope.recordings:
            recording.foreign = True
    outputs = (
        several_outputs(node, results, reached)
        if isinstance(results, list)
        else with_node(results, node)
    )
    if state.pushers:
        push_forward(state, node, args, outputs)
    return outputs


def record_same(rule: Any, parents: tuple[Node, ...], scope: Scope) -> Node:
    """A Node for a value that does not change, such as a Variable being read."""
    node = Node(rule, None, None, parents, scope, caller())
    for pusher in here.state.pushers:
        pusher.push(node, [], None)
    return node


def push_forward(state: ThreadState, node: Node, args: Sequence[Any], outputs: Any) -> None:
    """Lets every accumulator push its tangents through an op, and frees what only they needed.

    The outermost goes first: the tangents that an inner one computes from the op's output need
    those of the outer one.
    """
    output_nodes = (
        [out.node for out in outputs if out.node is not None] if isinstance(outputs, list) else []
    )
    for pusher in state.pushers:
        pusher.push(node, args, outputs)
        for output_node in output_nodes:
            pusher.push(output_node, [], None)
    if all(
        any(recording is pusher.scope for pusher in state.pushers)
        for recording in node.scope.recordings
    ):
        for finished in (node, *output_nodes):
            finished.release()


def several_outputs(
    node: Node, results: Sequence[Any], reached: Sequence[bool] | None = None
) -> list[Tensor]:
    """The outputs of one Node, each with a Node of its own if its dtype has gradients."""
    outputs = []
    for i, result in enumerate(results):
        dtype = (result.array if isinstance(result, Tensor) else result).dtype
        connected = dtype in dtypes.TRAINABLE and (reached is None or reached[i])
        own = (
            Node(_output_rule(i), None, None, (node,), node.scope, node.where)
            if connected
            else None
        )
        outputs.append(with_node(result, own))
    return outputs


def with_node(result: Any, node: Node | None) -> Tensor:
    """A kernel's result as a Tensor; under `vmap` it is one already."""
    return result.with_node(node) if isinstance(result, BatchedTensor) else tensor_of(result, node)


class PerOutput(dict[int, Any]):
    """The cotangents of an op with several outputs, by output; one that is missing is zero."""


class OutputRule:
    """Output `index` of an op with several outputs: passes its cotangent to the op's Node."""

    takes_slices = False
    shows_nan = True
    pull_into = None

    def __init__(self, index: int) -> None:
        self.index = index
        self.name = f"output_{index}"

    def pull_arrays(self, node: Node, g: Any, wanted: Sequence[Node | None]) -> Sequence[Any]:
        return (PerOutput({self.index: g}),)

    pull_tensors = pull_arrays

    def push(self, node: Node, args: Sequence[Any], outputs: Any, tangents: Sequence[Any]) -> Any:
        return None if tangents[0] is None else tangents[0][self.index]


_output_rules: list[OutputRule] = []


def _output_rule(index: int) -> OutputRule:
    while len(_output_rules) <= index:
        _output_rules.append(OutputRule(len(_output_rules)))
    return _output_rules[index]
