"""What to do about an op that made NaN or infinity: what its declaration says, and what follows
from its dtype.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gradtape import dtypes
from gradtape.inspect.backward_steps import Passed
from gradtape.inspect.causes import Culprit
from gradtape.inspect.nonfinite import BACKWARD
from gradtape.ops.derivative import declared

_GIVEN = {
    "source": "it was so before this tape recorded anything: check the data, or, for a Variable, "
    "look at the step that assigned it (ask there, or use tf.debugging.enable_check_numerics()).",
    "input": "it was so before the call: check the data, or what computed it.",
    "constant": "nothing recorded where it comes from: check the data, or watch what it was "
    "computed from with tape.watch.",
    "seed": "check what computed them.",
    "sum": "the gradients are too large to be added: scale the loss down, or clip what it is "
    "computed from.",
}
_FORWARD = (
    "keep its arguments where it is finite: clip them with tf.clip_by_value, add a small epsilon, "
    "or choose other values with tf.where."
)
_OVERFLOW = (
    "the result is too large for its dtype: scale its arguments down or clip them, or compute it "
    "in a wider dtype."
)
_UNCERTAIN = (
    "tf.debugging.why_nonfinite(function, ...) runs a function once more and keeps every value, so "
    "that it can tell; and with tf.debugging.enable_check_numerics(), the op raises an error."
)
_BACKWARD = (
    "its derivative is not finite there: keep its arguments away from that place, with an epsilon "
    "or tf.clip_by_value; or mask the result with tf.where, which passes no gradient to what it "
    "hides."
)


def advice_for(culprit: Culprit, value: Any) -> str:
    """One or two sentences in words of the user's code."""
    if culprit.kind in _GIVEN:
        return _GIVEN[culprit.kind]
    if not culprit.certain:
        return _UNCERTAIN
    step = culprit.step
    backward = step.phase == BACKWARD
    op = declared(step.node.rule)
    parts: list[str] = []
    half = _half(culprit)
    if half is not None and isinstance(value, float) and np.isinf(value):
        parts.append(
            f"{half.name} holds numbers up to {half.max:g}: compute "
            "this in float32 (tf.cast), or scale the loss down; in Keras, use the mixed_float16 "
            "policy, whose LossScaleOptimizer does it."
        )
    if op is None:
        parts.append(f"look into {step.name}, which is recorded as one op.")
        return " ".join(parts)
    own = op.when_not_finite
    if isinstance(own, tuple):
        own = own[backward]
    if own is not None:
        parts.append(own)
    elif not parts:
        overflow = isinstance(value, float) and np.isinf(value)
        parts.append(_BACKWARD if backward else _OVERFLOW if overflow else _FORWARD)
    return " ".join(parts)


def _half(culprit: Culprit) -> Any:
    """The dtype, if the op computed in half precision."""
    step = culprit.step
    if isinstance(step, Passed):
        parent: Any = step.node.parents[step.argument]
        made: Any = next(iter(step.backward.passed[parent]))[2]
    else:
        known = step.evidence.value(step.node)
        made = None if known is None else known.array
    if made is None or isinstance(made, (list, dict)):
        return None
    dtype = np.asarray(made).dtype
    return dtypes.from_numpy(dtype) if dtype.itemsize == 2 and dtype.kind in "fV" else None
