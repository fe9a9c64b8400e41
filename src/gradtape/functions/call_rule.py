"""`CallRule`: the derivative of a call of a program, and what is raised where a program has no
gradient.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from gradtape import dtypes
from gradtape.core.indexed_slices import RawSlices
from gradtape.core.node import Node
from gradtape.core.record import PerOutput
from gradtape.core.tensor import Tensor
from gradtape.core.thread import here
from gradtape.core.xla.tensor import array_for_xla, result_array, tensor_of
from gradtape.core.xla.trace import Trace
from gradtape.functions.reason import NoGradientError, NotCompiled

if TYPE_CHECKING:
    from gradtape.functions.program import Program
    from gradtape.functions.tracing import Variant


class CallRule:
    """The derivative of a call of a program."""

    takes_slices = False
    shows_nan = False
    pull_into = None

    def __init__(self, program: Program, variant: Variant) -> None:
        self.name = program.name
        self._program = program
        self._variant = variant

    def why_no_path(self, output: int, places: Sequence[int]) -> Any:
        """The reason why an output has no gradient by certain inputs."""
        return self._program.why_no_path(output, places)

    def pull_arrays(self, node: Node, g: PerOutput, wanted: Sequence[Node | None]) -> Sequence[Any]:
        inputs, arrays, residuals, _ = node.saved
        found = self._variant.backward(arrays, residuals, self._cotangents(g))
        return [_pulled(parts, value) for parts, value in zip(found, inputs, strict=True)]

    def pull_tensors(
        self, node: Node, g: PerOutput, wanted: Sequence[Node | None]
    ) -> Sequence[Any]:
        state = here.state
        inputs, _, _, trace = node.saved
        if state.scope is None and not state.levels and trace is state.trace:
            plain = PerOutput(
                (i, array_for_xla(c) if isinstance(c, Tensor) else c) for i, c in g.items()
            )
            pulled = self.pull_arrays(node, plain, wanted)
            return [
                None if p is None else _as_tensors(p)
                for p in self._listed(trace, inputs, plain, pulled)
            ]
        cotangents = [c if isinstance(c, Tensor) else tensor_of(c) for c in self._cotangents(g)]
        found = iter(self._program.gradient_of(self._variant.connected, inputs, cotangents))
        return [next(found) if c else None for c in self._variant.connected]

    def _listed(
        self, trace: Trace | None, inputs: Sequence[Tensor], g: PerOutput, pulled: Sequence[Any]
    ) -> Sequence[Any]:
        """What the backward part pulled, for a call inside a program, which lists it so that it can
        be differentiated again.
        """
        if trace is None:
            return pulled
        program, connected, count = self._program, self._variant.connected, len(inputs)
        places = [i for i, p in enumerate(pulled) if p is not None]
        with trace.unlisted():
            dense = [
                dense_gradient(_as_tensors(p).finished()).array if type(p) is RawSlices else p
                for p in pulled
            ]

        def again(tensors: list[Tensor]) -> list[Tensor]:
            found = iter(program.gradient_of(connected, tensors[:count], tensors[count:]))
            by_input = [next(found) if c else None for c in connected]
            return [by_input[i] for i in places]  # type: ignore[misc]

        given = [*inputs, *map(tensor_of, self._cotangents(g))]
        arrays = iter(trace.listed(again, given, [dense[i] for i in places]))
        return [None if p is None else next(arrays) for p in pulled]

    def push(self, node: Node, args: Sequence[Any], outputs: Any, tangents: Sequence[Any]) -> Any:
        return dict(enumerate(self._program.tangents_of(args, tangents)))

    def op_by_op(self, node: Node) -> tuple[Sequence[Tensor], Callable[..., list[Tensor]]]:
        """The inputs of a recorded call, and a function that runs it again, recorded by whatever
        records.
        """
        return node.saved[0], lambda inputs: self._program.again(inputs)[0]

    def kept(self, node: Node) -> Iterator[tuple[str, str, Any]]:
        """What a Node keeps, see `ops.derivative`."""
        inputs, arrays, residuals, _ = node.saved
        yield "", "input", [inputs, arrays]
        yield "", "residual", residuals

    def _cotangents(self, g: PerOutput) -> list[Any]:
        """One for each output that has gradients, zeros if nothing depends on it."""
        specs = enumerate(self._program.outputs)
        return [
            g[i] if i in g else np.zeros(shape, dtype)
            for i, (shape, dtype) in specs
            if dtype in dtypes.TRAINABLE
        ]


class RunEagerly(Exception):  # noqa: N818 - it asks for something, and is no error
    """A program without a gradient was called where one may be wanted."""

    def __init__(self, reason: NotCompiled) -> None:
        super().__init__(reason.text)
        self.reason = reason


class WithoutGradient:
    """The rule of a call whose program has no gradient: forward mode works, the backward step
    raises the reason.
    """

    takes_slices = False
    shows_nan = False
    pull_into = None

    def __init__(self, program: Program, why: NotCompiled) -> None:
        self.name = program.name
        self._program = program
        self._why = why

    def pull_arrays(self, node: Node, g: PerOutput, wanted: Sequence[Node | None]) -> Sequence[Any]:
        raise NoGradientError(self._why.text) from None

    pull_tensors = pull_arrays

    def push(self, node: Node, args: Sequence[Any], outputs: Any, tangents: Sequence[Any]) -> Any:
        return dict(enumerate(self._program.tangents_of(args, tangents)))


def _pulled(parts: list[Any] | None, value: Tensor) -> Any:
    if parts is None:
        return None
    arrays = [result_array(part) for part in parts]
    return arrays[0] if len(arrays) == 1 else RawSlices(arrays[0], arrays[1], value.array.shape)


def _as_tensors(pulled: Any) -> Any:
    if type(pulled) is RawSlices:
        return RawSlices(tensor_of(pulled.values), tensor_of(pulled.indices), pulled.shape)
    return tensor_of(pulled)


def dense_gradient(gradient: Any) -> Tensor:
    """A gradient as a Tensor, also if it is sparse."""
    return gradient if isinstance(gradient, Tensor) else gradient.__gradtape_tensor__()
