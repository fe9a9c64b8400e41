"""What packages built on gradtape may use besides its public names: to declare ops, and to work
closely with Variables and programs.

`op`, `unary` and `binary` declare an op from its kernel and its derivative; see CONTRIBUTING.md.

>>> import gradtape as tf
>>> from gradtape import extend
>>> cube = extend.unary("doctest_cube", lambda xp, x: x * x * x, lambda g, x: g * x * x * 3)
>>> x = tf.Variable([1.0, 2.0])
>>> with tf.GradientTape() as tape:
...     y = cube(x)
>>> tape.gradient(y, x).numpy().tolist()
[3.0, 12.0]
>>> extend.forget("doctest_cube")
"""

from __future__ import annotations

from gradtape.core.location import own_files
from gradtape.core.thread import here
from gradtape.core.xla.held_variable import DisturbedError, hold, undisturbed
from gradtape.core.xla.tensor import HeldTensor
from gradtape.core.xla.trace import outside_programs
from gradtape.core.xla.writing import writing
from gradtape.engines.numpy.scatter import combine_rows
from gradtape.functions.traced import scan
from gradtape.ops.declare import binary, op, unary
from gradtape.ops.op import ON_HOST, MadeBy, forget

__all__ = [
    "ON_HOST", "DisturbedError", "HeldTensor", "MadeBy", "binary", "combine_rows", "forget",
    "hide_frames", "hold", "op", "outside_programs", "scan", "trace_again", "unary", "undisturbed",
    "writing",
]  # fmt: skip


def hide_frames(*folders: str) -> None:
    """Files below these folders, such as "keras", "src", "ops", are a library's: an op that they
    call belongs to the line above.
    """
    own_files.add_between(*folders)


def trace_again() -> None:
    """Has the function that is being traced, if one is, traced once more: what it did so far may
    not have known of new Variables.
    """
    trace = here.state.trace
    if trace is not None:
        trace.made.add(id(trace))
