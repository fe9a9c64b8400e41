"""`GradientTape.derivatives`: partial derivatives of any order of a batched output,
all in one forward sweep.

The sweep carries the partials of every value along (`gradtape.transforms.taylor_mode.jets`), which
costs a small multiple of the forward pass, where nested tapes multiply the cost at each order.
Where an op has no rule for it, walks over the recording, one order after another, compute the same
result.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np

from gradtape.core.node import Node
from gradtape.core.recording import Recording
from gradtape.core.tape import GradientTape
from gradtape.core.tape_arguments import leaves_of, unconnected_value
from gradtape.core.tensor import Tensor
from gradtape.core.thread import here
from gradtape.core.unconnected import UnconnectedGradients, as_unconnected
from gradtape.core.walk import dense
from gradtape.ops.jets import NoRule
from gradtape.transforms.jacobians.jacobian import differentiated

Asked = str | tuple[str, ...]
Index = tuple[int, ...]


def derivatives(
    tape: GradientTape,
    target: Any,
    sources: Mapping[str, Any],
    partials: Sequence[Asked],
    unconnected_gradients: UnconnectedGradients | str = UnconnectedGradients.NONE,
) -> dict[Asked, Any]:
    """`GradientTape.derivatives`."""
    recording = tape._prepare("derivatives")
    unconnected = as_unconnected(unconnected_gradients)
    one_target = _one_tensor(target, "target")
    inputs = _named_sources(sources, one_target)
    names = list(inputs)
    asked = {key: tuple(sorted(map(names.index, _names(key, names)))) for key in _listed(partials)}
    connected, found = differentiated(
        tape,
        recording,
        "derivatives",
        [one_target],
        lambda: _found(
            tape, one_target, list(inputs.values()), _with_lower_ones(asked.values()), recording
        ),
    )

    def result(index: Index) -> Any:
        if not all(connected[i] for i in index):
            return unconnected_value(one_target, unconnected)
        partial = found.get(index)
        return (
            unconnected_value(one_target, UnconnectedGradients.ZERO) if partial is None else partial
        )

    return {key: result(index) for key, index in asked.items()}


def _found(
    tape: GradientTape,
    target: Any,
    inputs: Sequence[Any],
    indices: Sequence[Index],
    recording: Recording,
) -> tuple[list[bool], Mapping[Index, Any]]:
    """Which inputs the target depends on, and its partials; one that is missing or None is zero."""
    # These modules are loaded when they are first used.
    from gradtape.transforms.taylor_mode.jets import Jets  # noqa: PLC0415
    from gradtape.transforms.taylor_mode.rules import rule_for  # noqa: PLC0415

    node = tape._node_of(target)
    nodes = [tape._node_of(value) for value in inputs]
    if node is None:
        return [False] * len(inputs), {}
    ones: dict[Node, dict[Index, Any]] = {}
    for i, (source, value) in enumerate(zip(nodes, inputs, strict=True)):
        if source is not None:
            ones.setdefault(source, {})[(i,)] = Tensor(
                np.ones(value.array.shape, value.array.dtype)
            )
    jets = Jets(
        rule_for,
        {source: given.get for source, given in ones.items()},
        node,
        target.array.shape,
        recording,
    )
    connected = [source in jets for source in nodes]
    if not any(connected):
        return connected, {}
    try:
        return connected, jets.sweep(indices)
    except NoRule:
        return connected, _walked(tape, target, inputs, indices, recording)


def _walked(
    tape: GradientTape,
    target: Any,
    inputs: Sequence[Any],
    indices: Sequence[Index],
    recording: Recording,
) -> Mapping[Index, Any]:
    """The target's partials from walks that the tape itself records,
    so that those of the next order can go over them.
    """
    resumed = not tape._recording
    if resumed:
        tape._start(here.state)
    try:
        found: dict[Index, Any] = {(): target}
        for index in indices:
            lower = found[index[:-1]]
            found[index] = (
                None if lower is None else _along(tape, lower, inputs[index[-1]], recording)
            )
    finally:
        if resumed:
            tape._stop()
    return found


def _along(tape: GradientTape, target: Any, source: Any, recording: Recording) -> Any:
    """The derivative of `target` when all elements of `source` vary: the gradient of the backward
    walk with respect to the cotangent it starts from.
    """
    node, source_node = tape._node_of(target), tape._node_of(source)
    if node is None:
        return None
    cotangent = Tensor(np.zeros(target.array.shape, target.array.dtype))
    with GradientTape(watch_accessed_variables=False) as walk:
        walk.watch(cotangent)
        pulled = tape._pull({node: cotangent}, [source_node], recording, release=False).get(
            source_node
        )
    return None if pulled is None else walk.gradient(dense(pulled), cotangent)


def _with_lower_ones(asked: Iterable[Index]) -> list[Index]:
    """The requested indices and all of lower order that they contain, the shorter ones first."""
    every = {
        part
        for index in asked
        for order in range(1, len(index) + 1)
        for part in combinations(index, order)
    }
    return sorted(every, key=lambda index: (len(index), index))


def _one_tensor(value: Any, argument: str) -> Any:
    leaves = leaves_of(value, f"derivatives: {argument}")
    if len(leaves) != 1:
        raise ValueError(
            f"derivatives: {argument} must be one Tensor or Variable, got {len(leaves)} of them."
        )
    return leaves[0]


def _named_sources(sources: Any, target: Any) -> dict[str, Any]:
    """The sources by name, each of which has an element for every example of the target."""
    if (
        not isinstance(sources, Mapping)
        or not sources
        or not all(isinstance(name, str) and name for name in sources)
    ):
        raise TypeError(
            f'derivatives: sources must be a dict from names to tensors, such as {{"x": x, "t": '
            f"t}}, got {sources!r}."
        )
    inputs = {name: _one_tensor(value, f"sources[{name!r}]") for name, value in sources.items()}
    for name, value in inputs.items():
        shape, wanted = tuple(value.array.shape), tuple(target.array.shape)
        one_each = math.prod(shape[1:]) == 1 and shape[:1] == wanted[:1]
        if not (one_each or _broadcasts(shape, wanted)):
            raise ValueError(
                f"derivatives: sources[{name!r}] has shape {shape}, but the target has shape "
                f"{wanted}: a source needs one element for each example. Split the columns inside "
                "the tape, for example x = points[:, 0:1]."
            )
    return inputs


def _broadcasts(shape: tuple[int, ...], wanted: tuple[int, ...]) -> bool:
    """Whether every element of a target of shape `wanted` has an element of a source of `shape`
    beside it.
    """
    fits = zip(reversed(shape), reversed(wanted), strict=False)
    return len(shape) <= len(wanted) and all(size in (1, other) for size, other in fits)


def _listed(partials: Any) -> Sequence[Any]:
    if isinstance(partials, str) or not isinstance(partials, Sequence):
        raise TypeError(
            f'derivatives: partials must be a list of names, such as ["x", "xx"], got {partials!r}.'
        )
    return [tuple(key) if isinstance(key, list) else key for key in partials]


def _names(key: Any, names: Sequence[str]) -> Sequence[str]:
    """The sources that a key names."""
    if isinstance(key, str):
        parts: Sequence[Any] = (
            list(key) if all(len(name) == 1 for name in names) else key.split("_")
        )
        if key in names:
            if all(part in names for part in parts) and len(parts) > 1:
                raise ValueError(
                    f"derivatives: {key!r} is ambiguous, since it is the name of a source and "
                    "also a sequence of names: use a tuple of names."
                )
            parts = [key]
    elif isinstance(key, tuple):
        parts = key
    else:
        raise TypeError(
            f"derivatives: each of partials must be a string or a tuple of names, got {key!r}."
        )
    unknown = [part for part in parts if part not in names]
    if unknown or not parts:
        raise ValueError(
            f"derivatives: {key!r} in partials is not made of the sources' names, which are "
            f"{list(names)}; "
            'join longer names by underscores, or give a tuple such as ("x", "x").'
        )
    return parts
