"""Marks in the user's code: functions that are not to be converted, and options of loops."""

from __future__ import annotations

from typing import Any


def set_loop_options(
    parallel_iterations: Any = None, swap_memory: Any = None, maximum_iterations: Any = None, shape_invariants: Any = None
) -> None:
    """Options of the loop whose first statement it is, when AutoGraph has made it a loop of a program: `maximum_iterations` bounds it.

    >>> import gradtape as tf
    >>> @tf.function
    ... def double_until_100(x):
    ...     while x < 100.0:
    ...         tf.autograph.experimental.set_loop_options(maximum_iterations=3)
    ...         x = 2.0 * x
    ...     return x
    >>> double_until_100(tf.constant(1.0)).numpy()
    np.float32(8.0)
    """
