"""Programs that `exporting` made, run again: each is one op to tapes and accumulators, and its
derivatives are the programs that were exported with it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from gradtape.core.batching import BatchedTensor
from gradtape.core.node import Node
from gradtape.core.record import PerOutput, record
from gradtape.core.scopes import connect
from gradtape.core.tensor import Tensor
from gradtape.core.thread import here
from gradtape.core.xla.tensor import array_for_xla, result_array, result_tensor, tensor_of
from gradtape.engines.xla import settings as xla_settings
from gradtape.engines.xla.loading import load
from gradtape.extras import needed_for
from gradtape.functions.reason import NoGradientError
from gradtape.shapes import TensorSpec

_CALLED = re.compile(r"custom_call\"?\s*@?([\w.$]+)|call_target_name = \"([^\"]+)\"")


class LoadedLevel(NamedTuple):
    """A program, see `exporting.Level`: `captured` are the Tensors and Variables here."""

    data: bytes
    captured: tuple[Any, ...]
    written: tuple[Any, ...]
    outputs: tuple[TensorSpec, ...]
    connected: tuple[bool, ...]
    why: str


class ExportedProgram:
    """A program with its derivatives. It is called while a function is traced."""

    def __init__(self, name: str, levels: Sequence[LoadedLevel]) -> None:
        """ValueError if a program cannot be read, is not as its level says, or calls Python."""
        needed_for("Running a saved function", "flatbuffers", "xla")
        self.name = name
        self.levels = levels
        self._programs = [_read(level.data) for level in levels]
        self.inputs = len(self._programs[0].in_avals) - len(levels[0].captured)
        known = self.inputs
        for program, level in zip(self._programs, levels, strict=True):
            known += len(level.captured)
            results = len(level.outputs) + len(level.written)
            if (
                (len(program.in_avals), len(program.out_avals)) != (known, results)
                or (level.connected and len(level.connected) != known)
            ):  # fmt: skip
                raise ValueError("a program has other inputs or results than its description")
            known += sum(spec.dtype.is_trainable for spec in level.outputs)

    def call(self, inputs: Sequence[Tensor], order: int = 0) -> list[Tensor]:
        """The results of a level, outputs and what is written, recorded by whatever records."""
        return self._run([*inputs, *map(_value, self.levels[order].captured)], order)

    def _run(self, given: Sequence[Tensor], order: int) -> list[Tensor]:
        """The same from all inputs."""
        state, level = here.state, self.levels[order]
        assert state.trace is not None
        given = state.trace.taken_in(given)
        if any(isinstance(value, BatchedTensor) for value in given):
            raise NotImplementedError(
                f"{self.name}: a function of a SavedModel cannot run inside vmap or vectorized_map:"
                " call it with the whole batch, or use tf.map_fn."
            )
        try:
            with xla_settings.wide():
                found = self._programs[order].call(*map(array_for_xla, given))
        except ValueError as error:
            shapes = ", ".join(str(tuple(value.shape)) for value in given)
            raise ValueError(
                f"{self.name}: this function of a SavedModel cannot run with the shapes {shapes}, "
                f"since its open sizes are at least 1, and may have to agree: {error}"
            ) from error
        found = state.trace.listed(lambda again: self._run(again, order), given, found)
        nodes = [
            value.node if value.dtype.is_trainable and self._leads_on(level, i) else None
            for i, value in enumerate(given)
        ]
        connection = connect(nodes, state.scope)
        if connection is None:
            return [result_tensor(array) for array in found]
        rule = _ExportedRule(self, order)
        plain = [result_array(array) for array in found]
        saved = tuple(given), [tuple(array.shape) for array in plain]
        return record(rule, saved, None, connection, given, plain, foreign=True)

    def _leads_on(self, level: LoadedLevel, i: int) -> bool:
        return bool(level.why) or not level.connected or level.connected[i]


class _ExportedRule:
    """The derivative of a call."""

    takes_slices = False
    shows_nan = False
    pull_into = None

    def __init__(self, program: ExportedProgram, order: int) -> None:
        self.name = program.name
        self._program = program
        self._order = order

    def pull_arrays(self, node: Node, g: PerOutput, wanted: Sequence[Node | None]) -> Sequence[Any]:
        raise AssertionError("a saved program runs inside functions, where rules have Tensors")

    def pull_tensors(
        self, node: Node, g: PerOutput, wanted: Sequence[Node | None]
    ) -> Sequence[Any]:
        level = self._level()
        found = iter(
            self._program.call([*node.saved[0], *self._cotangents(node, g)], self._order + 1)
        )
        return [next(found) if c else None for c in level.connected]

    def push(self, node: Node, args: Sequence[Any], outputs: Any, tangents: Sequence[Any]) -> Any:
        """The gradient is linear in the cotangents, so that its own gradient by them, for tangents
        in the place of the gradient's cotangents, is the tangents of the outputs.
        """
        level = self._level()
        if self._order + 2 >= len(self._program.levels):
            raise NoGradientError(self._too_high())
        seeds = self._cotangents(node, PerOutput())
        moved = [
            _zeros(value) if tangent is None else tangent
            for value, tangent, c in zip(args, tangents, level.connected, strict=True)
            if c
        ]
        found = self._program.call([*args, *seeds, *moved], self._order + 2)
        above = self._program.levels[self._order + 1]
        by_input = dict(zip([i for i, c in enumerate(above.connected) if c], found, strict=True))
        places = range(len(args), len(args) + len(seeds))
        pushed = iter([by_input.get(i) for i in places])
        return {i: next(pushed) for i, spec in enumerate(level.outputs) if spec.dtype.is_trainable}

    def _level(self) -> LoadedLevel:
        level = self._program.levels[self._order]
        if self._order + 1 >= len(self._program.levels):
            raise NoGradientError(level.why or self._too_high())
        return level

    def _too_high(self) -> str:
        return (
            f"{self.name}: a function of a SavedModel is saved with derivatives up to the order "
            f"{len(self._program.levels) - 1}: differentiate it that often at most."
        )

    def _cotangents(self, node: Node, g: PerOutput) -> list[Tensor]:
        """One for each output that has gradients, zeros if nothing depends on it."""
        outputs = self._program.levels[self._order].outputs
        _, shapes = node.saved
        return [
            (g[i] if isinstance(g[i], Tensor) else tensor_of(g[i]))
            if i in g
            else Tensor(np.zeros(shapes[i], spec.dtype.numpy))
            for i, spec in enumerate(outputs)
            if spec.dtype.is_trainable
        ]


def _read(data: bytes) -> Any:
    """A program from its bytes."""
    try:
        program = load().export.deserialize(bytearray(data))
        text = program.mlir_module()
    except Exception as error:
        raise ValueError(f"a program cannot be read ({error})") from error
    # A callback is the place of a function in this process, which no file can know.
    calls = [name for found in _CALLED.findall(text) for name in found if "callback" in name]
    if calls:
        raise ValueError(f"a program calls '{calls[0]}'")
    return program


def _value(outside: Any) -> Tensor:
    return outside if isinstance(outside, Tensor) else outside.tensor()


def _zeros(value: Tensor) -> Tensor:
    return Tensor(np.zeros(value.array.shape, value.array.dtype))
