"""`debugging.why_nonfinite`: which op of a call makes NaN or infinity."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from gradtape.api.tensorflow.random.sequence import counts_kept
from gradtape.published import published

if TYPE_CHECKING:
    from gradtape.inspect.nonfinite import NonFinite


@published("debugging.why_nonfinite")
def why_nonfinite(function: Callable[..., Any], *args: Any, **kwargs: Any) -> NonFinite:
    """The first op that makes NaN or infinity of finite numbers when `function` is called with
    these arguments.

    The call runs once more, op by op: a compiled function as the Python code that it was made from,
    with the random numbers that its next call draws. Backward walks of tapes in it are searched
    too. All Variables that it assigns get their values back. To ask about a call that has ended,
    put the Variables back to what they were before it; a call that
    `tf.debugging.enable_check_numerics()` stopped has left them so.

    >>> import gradtape as tf
    >>> w = tf.Variable([1.0, 0.0])
    >>> @tf.function
    ... def step(rate):
    ...     with tf.GradientTape() as tape:
    ...         loss = tf.norm(w[1:])
    ...     w.assign_sub(rate * tape.gradient(loss, w))
    ...     return loss
    >>> why = tf.debugging.why_nonfinite(step, tf.constant(0.1))
    >>> why.op, why.phase, why.location.line, w.numpy().tolist()
    ('sqrt', 'backward', 4, [1.0, 0.0])
    """
    from gradtape.functions.rerun import why_not_finite  # noqa: PLC0415 - for those who ask

    if not callable(function):
        raise TypeError(
            f"why_nonfinite: function must be callable, got {function!r}; for a tensor that a tape "
            "recorded there is tape.why_nonfinite(tensor)."
        )
    with counts_kept():
        return why_not_finite(function, args, kwargs)
