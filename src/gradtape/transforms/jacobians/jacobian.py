"""`GradientTape.jacobian` and `batch_jacobian`: the derivative of every element of a target with
respect to every element of its sources.

In reverse mode cotangents of the target's elements go back, many in one walk; in forward mode
tangents of the sources' elements go forward. Both run in chunks that fit a memory limit, and as
loops where a custom gradient cannot take a batch.
"""

from __future__ import annotations

import math
import sys
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gradtape import nest
from gradtape.core.departures import DepartureError
from gradtape.core.location import own_files
from gradtape.core.recording import Recording
from gradtape.core.tape import GradientTape
from gradtape.core.tape_arguments import leaves_of, unconnected_value
from gradtape.core.tensor import Tensor
from gradtape.core.thread import here
from gradtape.core.unconnected import UnconnectedGradients, as_unconnected
from gradtape.core.walk import dense, release_all
from gradtape.core.xla.beyond import attempt
from gradtape.ops.broadcasting import cast
from gradtape.ops.shaping import reshape, transpose
from gradtape.transforms.jacobians.probes import differ, probe_for, size_of
from gradtape.transforms.jacobians.pulls import Pace, pull_identity
from gradtape.transforms.jacobians.pushes import NotLinearError, Pushes

Unconnected = UnconnectedGradients | str

# Measured: where the sources have this many times fewer elements, forward mode is the faster one.
_FORWARD_IF = 3


def jacobian(
    tape: GradientTape,
    target: Any,
    sources: Any,
    unconnected_gradients: Unconnected = UnconnectedGradients.NONE,
    parallel_iterations: int | None = None,
    experimental_use_pfor: bool = True,
    *,
    mode: str = "auto",
    memory_limit: int | None = None,
    sparse: bool = False,
) -> Any:
    """`GradientTape.jacobian`."""
    recording = tape._prepare("jacobian")
    unconnected = as_unconnected(unconnected_gradients)
    pace = pace_of("jacobian", parallel_iterations, experimental_use_pfor, memory_limit)
    _check_mode("jacobian", mode)
    targets = leaves_of(target, "jacobian: target")
    leaves = leaves_of(sources, "jacobian: sources")

    def of(one: Any) -> Any:
        if sparse:
            # Few need it, and it is not small.
            from gradtape.transforms.sparse.sparsity import sparse_jacobian  # noqa: PLC0415

            filled = sparse_jacobian(tape, recording, one, leaves, unconnected, mode, pace)
        else:
            found = jacobians(tape, recording, one, leaves, mode, pace)
            filled = [
                unconnected_value(source, unconnected, one.array.shape) if j is None else j
                for j, source in zip(found, leaves, strict=True)
            ]
        tape.explain_missing([one], leaves, filled, ("Jacobian", "None"))
        return nest.pack_sequence_as(sources, filled) if nest.is_nested(sources) else filled[0]

    results = differentiated(
        tape, recording, "jacobian", targets, lambda: [of(one) for one in targets]
    )
    return nest.pack_sequence_as(target, results) if nest.is_nested(target) else results[0]


def batch_jacobian(
    tape: GradientTape,
    target: Any,
    source: Any,
    unconnected_gradients: Unconnected = UnconnectedGradients.NONE,
    parallel_iterations: int | None = None,
    experimental_use_pfor: bool = True,
    *,
    mode: str = "auto",
    memory_limit: int | None = None,
    check_independence: bool = True,
) -> Any:
    """`GradientTape.batch_jacobian`."""
    recording = tape._prepare("batch_jacobian")
    as_unconnected(unconnected_gradients)
    pace = pace_of("batch_jacobian", parallel_iterations, experimental_use_pfor, memory_limit)
    _check_mode("batch_jacobian", mode)
    (one_target,) = leaves_of(target, "batch_jacobian: target")
    (one_source,) = leaves_of(source, "batch_jacobian: source")
    shape, source_shape = one_target.array.shape, one_source.array.shape
    if len(shape) < 2 or len(source_shape) < 2:
        raise ValueError(
            f"batch_jacobian: target and source must have rank 2 or more, got shapes {shape} and "
            f"{source_shape}."
        )
    if shape[0] != source_shape[0]:
        raise ValueError(
            f"batch_jacobian: target and source must have the same batch size, got {shape[0]} and "
            f"{source_shape[0]}."
        )

    def run() -> Any:
        by_example = _by_example(tape, recording, one_target, one_source, mode, pace)
        if by_example is None:
            tape.explain_missing([one_target], [one_source], [None], ("Jacobian", "zero"))
            return Tensor(np.zeros(shape + source_shape[1:], one_source.array.dtype))
        if check_independence:
            _warn_of_dependence(tape, recording, one_target, one_source, by_example)
        return reshape(by_example, shape=shape + source_shape[1:])

    return differentiated(tape, recording, "batch_jacobian", [one_target], run)


def pace_of(method: str, parallel_iterations: Any, use_pfor: Any, memory_limit: Any) -> Pace:
    """The options that say how many elements to process at once, checked."""
    for name, value in (
        ("parallel_iterations", parallel_iterations),
        ("memory_limit", memory_limit),
    ):
        if value is not None and (
            isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < 1
        ):
            raise ValueError(f"{method}: {name} must be a positive integer or None, got {value!r}.")
    return Pace(parallel_iterations, memory_limit, loop=not use_pfor)


def _check_mode(method: str, mode: Any) -> None:
    if mode not in ("auto", "forward", "reverse"):
        raise ValueError(f"{method}: mode must be 'auto', 'forward' or 'reverse', got {mode!r}.")


def differentiated(
    tape: GradientTape,
    recording: Recording,
    method: str,
    targets: Sequence[Any],
    run: Callable[[], Any],
) -> Any:
    """`run()` as the one differentiation that a non-persistent tape allows."""
    tape._leave_before_differentiating(method)
    nodes = [node for target in targets if (node := tape._node_of(target)) is not None]
    try:
        return run()
    except BaseException as error:
        tape._ended_by = f"a {method}() that failed with {type(error).__name__}: {error}"
        raise
    finally:
        if not tape._persistent:
            release_all(nodes, recording)
            tape._close()


def jacobians(
    tape: GradientTape,
    recording: Recording,
    target: Any,
    sources: Sequence[Any],
    mode: str,
    pace: Pace,
) -> list[Tensor | None]:
    """The Jacobian with respect to each source; None where there is no path."""
    array = target.array

    def reverse() -> list[Tensor | None]:
        rows = pull_identity(tape, recording, target, sources, pace)
        return [
            None if one is None else reshape(one, shape=array.shape + source.array.shape)
            for one, source in zip(rows, sources, strict=True)
        ]

    def forward() -> list[Tensor | None]:
        pushes = Pushes(tape, recording, target, sources)
        return [
            _turned(pushes.push_identity(i, pace), array, source.array)
            for i, source in enumerate(sources)
        ]

    connected = [source for source in sources if tape._node_of(source) is not None]
    size = sum(source.array.size for source in connected)
    smaller = _FORWARD_IF * size < array.size
    return _either("jacobian", tape, target, connected, mode, forward, reverse, smaller=smaller)


def _turned(columns: Tensor | None, array: Any, source: Any) -> Tensor | None:
    """A Jacobian's columns, stacked, as the Jacobian in the source's dtype."""
    if columns is None:
        return None
    rank = array.ndim
    shaped = reshape(columns, shape=source.shape + array.shape)
    turned = transpose(shaped, perm=(*range(source.ndim, source.ndim + rank), *range(source.ndim)))
    return turned if turned.array.dtype == source.dtype else cast(turned, dtype=source.dtype)


def _by_example(
    tape: GradientTape, recording: Recording, target: Any, source: Any, mode: str, pace: Pace
) -> Tensor | None:
    """The Jacobians of all examples, with shape [examples, elements of the target,
    elements of the source].
    """
    array, by = target.array, source.array
    examples, outputs, inputs = len(array), math.prod(array.shape[1:]), math.prod(by.shape[1:])

    def reverse() -> Tensor | None:
        (rows,) = pull_identity(tape, recording, target, [source], pace, examples=True)
        return (
            None
            if rows is None
            else transpose(reshape(rows, shape=(outputs, examples, inputs)), perm=(1, 0, 2))
        )

    def forward() -> Tensor | None:
        columns = Pushes(tape, recording, target, [source]).push_identity(0, pace, examples=True)
        if columns is None:
            return None
        turned = transpose(reshape(columns, shape=(inputs, examples, outputs)), perm=(1, 2, 0))
        return turned if turned.array.dtype == by.dtype else cast(turned, dtype=by.dtype)

    connected = [] if tape._node_of(source) is None else [source]
    smaller = _FORWARD_IF * inputs < outputs
    return _either(
        "batch_jacobian", tape, target, connected, mode, forward, reverse, smaller=smaller
    )


def _either(
    method: str,
    tape: GradientTape,
    target: Any,
    connected: Sequence[Any],
    mode: str,
    forward: Callable[[], Any],
    reverse: Callable[[], Any],
    *,
    smaller: bool,
) -> Any:
    """The Jacobian in the mode that was asked for, or in forward mode if its batch is `smaller`."""
    kinds = {leaf.array.dtype.kind for leaf in (target, *connected)}
    without_path = tape._node_of(target) is None or not connected
    if mode == "forward" and "c" in kinds:
        raise ValueError(
            f"{method}: mode='forward' takes only real targets and sources, since a complex "
            "Jacobian is defined by reverse mode: use mode='reverse', or the real and imaginary "
            "parts."
        )
    if mode == "forward" and not without_path:
        try:
            return forward()
        except (DepartureError, LookupError, NotLinearError) as error:
            raise ValueError(
                f"{method}: mode='forward' pushes tangents through the custom gradients between "
                f"source and target, which failed: {error}; use mode='reverse'."
            ) from error
    if mode == "auto" and smaller and "c" not in kinds and not without_path:
        try:
            return attempt(forward)
        except Exception:  # noqa: BLE001
            # Reverse mode needs less of a user's gradient function, and raises what is really
            # wrong.
            return reverse()
    return reverse()


def _warn_of_dependence(
    tape: GradientTape, recording: Recording, target: Any, source: Any, by_example: Tensor
) -> None:
    """Compares the gradient for a random cotangent with its product with the Jacobians of the
    examples.
    """
    jacobians, array = by_example.array, target.array
    node, by = tape._node_of(target), tape._node_of(source)
    if (
        node is None
        or by is None
        or not isinstance(jacobians, np.ndarray)
        or len(jacobians) < 2
        or not jacobians.size
    ):
        return
    probe = probe_for(array)
    with here.state.only([]):
        pulled = dense(tape._pull({node: probe}, [by], recording, release=False)[by])
    expected = (pulled.array if isinstance(pulled, Tensor) else pulled).reshape(len(jacobians), -1)
    found = np.matmul(probe.reshape(len(probe), 1, -1), jacobians)[:, 0, :]
    # One axis after the other, which is several times faster. Of all examples, since a derivative
    # that is near to 0, such as that of a saturated tanh, has lost its digits.
    largest = size_of(jacobians, 1).max()
    if differ(found, expected, largest, jacobians.dtype):
        warnings.warn(
            "GradientTape.batch_jacobian: the examples of the batch depend on each other, so "
            "the result mixes their derivatives. Use jacobian to get all of them, or pass "
            "check_independence=False if this is intended.",
            RuntimeWarning,
            stacklevel=_frames_to_user(),
        )


def _frames_to_user() -> int:
    """The `stacklevel` that makes a warning point to the user's line."""
    frame, level = sys._getframe(1), 1
    while own_files[frame.f_code.co_filename] and frame.f_back is not None:
        frame, level = frame.f_back, level + 1
    return level
