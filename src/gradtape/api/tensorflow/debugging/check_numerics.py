"""`tf.debugging.enable_check_numerics`: the first op, forward or backward, that produces NaN or
infinity raises an error.

It costs nothing while it is off. While it is on, it is an observer of the thread (see
`core.observers`):

- it looks at the result of every kernel on NumPy;
- as `here.state.checker` it sees the results of ops on XLA. In a program that is being traced, it
  adds a call to the host that raises if a result is not finite; programs that were traced without
  it are not used meanwhile. A program that fails the check has written nothing;
- the backward walk uses rules that check the cotangents they pass on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from gradtape.core import observers
from gradtape.core.batching import BatchedTensor
from gradtape.core.indexed_slices import RawSlices
from gradtape.core.location import caller, locate
from gradtape.core.node import Node
from gradtape.core.observers import Observer, OtherRules
from gradtape.core.path import Path
from gradtape.core.record import PerOutput
from gradtape.core.recording import Recording
from gradtape.core.tensor import Tensor
from gradtape.core.thread import here
from gradtape.core.xla.tensor import is_traced
from gradtape.engines.engine import XLA, is_traced_array, is_xla
from gradtape.engines.numpy.engine import quiet_runner
from gradtape.errors import invalid_argument
from gradtape.ops.checks import FOUND, FOUND_BY_CHECK, check_numerics, check_numerics_on_xla
from gradtape.ops.derivative import Derivative
from gradtape.ops.op import Op
from gradtape.ops.registry import registry
from gradtape.published import published


@published("debugging.enable_check_numerics")
def enable_check_numerics(stack_height_limit: int = 30, path_length_limit: int = 50) -> None:
    """From now on, an op of this thread whose result has NaN or infinity raises an
    InvalidArgumentError, and so does a gradient.

    Ops that only move values about are not to blame for what they are given, and are not checked.
    The limits shorten TensorFlow's messages; here the message names the op, its inputs and, for a
    gradient or in a `function`, the line that ran the op. Functions are traced anew, with the
    checks in their programs; a call that fails leaves all Variables as they were, and runs once
    more, op by op, so that a note at the error says what `tf.debugging.why_nonfinite` finds.

    >>> import gradtape as tf
    >>> tf.debugging.enable_check_numerics()
    >>> try:
    ...     tf.math.log(tf.constant([1.0, 0.0]))
    ... except tf.errors.InvalidArgumentError as error:
    ...     print(error)
    ... finally:
    ...     tf.debugging.disable_check_numerics()
    log(float32[2]): the result has Inf values (found by enable_check_numerics)
    """
    observers.begin(_CHECKS)


@published("debugging.disable_check_numerics")
def disable_check_numerics() -> None:
    """Ends what `enable_check_numerics` began on this thread.

    >>> import gradtape as tf
    >>> tf.debugging.enable_check_numerics()
    >>> tf.debugging.disable_check_numerics()
    >>> tf.math.log(0.0).numpy()
    np.float32(-inf)
    """
    observers.end(_CHECKS)


class _CheckingRun:
    """Runs a kernel and looks at its result. The op adds its name and inputs to the error."""

    def __init__(self, run: Callable[..., Any]) -> None:
        self._run = run
        self._look = quiet_runner()
        self._unchecked = {op.kernel for op in registry.values() if op.chooses}

    def __call__(self, kernel: Callable[..., Any], *args: Any, **params: Any) -> Any:
        result = self._run(kernel, *args, **params)
        self.look_at(kernel, result)
        return result

    def look_at(self, kernel: Callable[..., Any], result: Any) -> None:
        """Refuses a kernel's result that is not finite."""
        if kernel not in self._unchecked:
            found = self._look(_not_finite, result)
            if found:
                raise FloatingPointError(f"the result has {found} values ({FOUND_BY_CHECK})")


def _checked_on_xla(op: Op, arrays: Sequence[Any], params: dict[str, Any], result: Any) -> Any:
    """An op's result on XLA: refused at once if it is there, or else by the program."""
    results = list(result) if op.several else [result]
    if op.chooses or not any(map(is_xla, results)):
        return result
    place = locate(*caller())
    error = op.explained(
        FloatingPointError(
            f"the result has {FOUND} values ({FOUND_BY_CHECK}); the op ran at {place}."
        ),
        arrays,
        params,
    )
    looked_at = [_looked_at(array, str(error)) for array in results]
    return looked_at if op.several else looked_at[0]


def _looked_at(array: Any, message: str) -> Any:
    if array.dtype.kind not in "fcV":
        return array
    if not is_traced_array(array):
        found = _not_finite(array)
        if found:
            raise invalid_argument(message.replace(FOUND, found))
        return array
    return XLA.run(XLA.bind(check_numerics_on_xla), array, message=message)


def _checked_walk(
    walk: Callable[..., Any],
    seeds: dict[Node, Any],
    sources: Any,
    recording: Recording,
    release: bool,
) -> Any:
    """A backward walk through rules that look at what they pass on."""
    nodes = Path(seeds, (), recording).nodes
    with OtherRules(nodes, _CheckingRule):
        return walk(seeds, sources, recording, release)


class _Checks(Observer):
    """The observer of a thread while checks are on."""

    checks = True
    checker = staticmethod(_checked_on_xla)

    def around_run(self, run: Callable[..., Any]) -> Callable[..., Any]:
        return _CheckingRun(run)

    def around_walk(self, walk: Callable[..., Any], *args: Any) -> Any:
        return _checked_walk(walk, *args)


_CHECKS = _Checks()


class _CheckingRule:
    """A rule that refuses to hand on a cotangent with NaN or infinity."""

    def __init__(self, rule: Any) -> None:
        self._rule = rule
        self.name = rule.name
        self.takes_slices = rule.takes_slices
        self.shows_nan = rule.shows_nan
        self.pull_into = None
        self.push = rule.push

    def pull_arrays(self, node: Node, g: Any, wanted: Sequence[Node | None]) -> Sequence[Any]:
        return self._checked(node, self._rule.pull_arrays(node, g, wanted))

    def pull_tensors(self, node: Node, g: Any, wanted: Sequence[Node | None]) -> Sequence[Any]:
        state = here.state
        if not isinstance(self._rule, Derivative):  # such as a function, whose ops are checked too
            return self._checked(node, self._rule.pull_tensors(node, g, wanted))
        checker, state.checker = (
            state.checker,
            None,
        )  # so that the error is about the op that was recorded, and not about its rule
        try:
            pulled = list(self._rule.pull_tensors(node, g, wanted))
        finally:
            state.checker = checker
        return self._checked(node, pulled)

    def _checked(self, node: Node, pulled: Iterable[Any]) -> Sequence[Any]:
        return [self._looked_at(node, i, cotangent) for i, cotangent in enumerate(pulled)]

    def _looked_at(self, node: Node, number: int, cotangent: Any) -> Any:
        message = (
            f"The gradient of {self.name} by its argument {number} has {FOUND} values "
            f"({FOUND_BY_CHECK}); "
            f"the op ran at {node.location()}."
        )
        if isinstance(cotangent, PerOutput):
            return PerOutput(
                (i, self._looked_at(node, number, part)) for i, part in cotangent.items()
            )
        if isinstance(cotangent, RawSlices):
            return RawSlices(
                self._looked_at(node, number, cotangent.values), cotangent.indices, cotangent.shape
            )
        # From a loop, a branch or a function, which has checks of its own.
        if is_traced_array(cotangent):
            return cotangent
        if is_traced(cotangent):
            return (
                check_numerics(cotangent, message=message)
                if cotangent.array.dtype.kind in "fcV"
                else cotangent
            )
        found = _not_finite(cotangent)
        if found:
            raise invalid_argument(message.replace(FOUND, found))
        return cotangent


def _not_finite(value: Any) -> str:
    """What is not finite in a result or a cotangent of any form: "NaN", "Inf", both, or nothing."""
    arrays = [array for array in _arrays(value) if array.dtype.kind in "fcV"]
    tests = (("NaN", np.isnan), ("Inf", np.isinf))
    return " and ".join(
        [name for name, test in tests if any(test(array).any() for array in arrays)]
    )


def _arrays(value: Any) -> list[Any]:
    if value is None:
        return []
    if isinstance(value, BatchedTensor):
        return _arrays(value.inner)
    if isinstance(value, Tensor):
        return [value.array]
    if isinstance(value, RawSlices):
        return _arrays(value.values)
    if isinstance(value, (list, tuple)):
        return [array for part in value for array in _arrays(part)]
    if isinstance(value, dict):
        return [array for part in value.values() for array in _arrays(part)]
    return [value]
