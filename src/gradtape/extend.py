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

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from gradtape.api.tensorflow.checkpoint.late import variables_made
from gradtape.api.tensorflow.random.sequence import counts_kept, states_of_programs
from gradtape.blocks import Block, block
from gradtape.core.location import own_files
from gradtape.core.replicas import replica_context
from gradtape.core.thread import here
from gradtape.core.writing import writing
from gradtape.core.xla.held_variable import DisturbedError, hold, undisturbed
from gradtape.core.xla.joining import join as join_processes
from gradtape.core.xla.layouts import Layout, lay_out
from gradtape.core.xla.tensor import HeldTensor
from gradtape.core.xla.trace import outside_programs
from gradtape.engines.numpy.scatter import combine_rows
from gradtape.engines.xla.processes import of_the_first as of_the_first_process
from gradtape.functions.traced import scan
from gradtape.ops.declare import binary, op, unary
from gradtape.ops.listed import MadeBy
from gradtape.ops.op import ON_HOST
from gradtape.ops.registry import forget

if TYPE_CHECKING:
    from gradtape.core.variable import Variable
    from gradtape.functions.rerun import Regions
    from gradtape.inspect.nonfinite import NonFinite

__all__ = [
    "ON_HOST", "Block", "DisturbedError", "HeldTensor", "Layout", "MadeBy", "binary", "block",
    "combine_rows", "forget", "hide_frames", "hold", "join_processes", "lay_out", "look_into",
    "of_the_first_process", "op", "outside_programs", "quietly", "random_states", "regions",
    "replica_context", "scan", "trace_again", "unary", "undisturbed", "variables_made",
    "why_none", "writing",
]  # fmt: skip


def hide_frames(*folders: str) -> None:
    """Files below these folders, such as "keras", "src", "ops", are a library's: an op that they
    call belongs to the line above.
    """
    own_files.add_between(*folders)


def look_into(
    run: Callable[[Sequence[Any]], Any], inputs: Sequence[Any], **options: Any
) -> NonFinite:
    """Which op makes what `run(inputs)` computes not finite; everything stays as it was.

    The options are those of `gradtape.functions.rerun.looked_into`.
    """
    from gradtape.functions.rerun import looked_into  # noqa: PLC0415 - for those who ask

    with counts_kept():
        return looked_into(run, inputs, **options)


def quietly(function: Callable[..., Any], *args: Any) -> Any:
    """Calls a function of NumPy arrays without NumPy's warnings about overflow and the like."""
    return here.state.quietly(function, *args)


def random_states() -> list[Variable]:
    """The states from which compiled functions draw the random numbers of `tf.random`."""
    return states_of_programs()


def regions() -> Regions:
    """Parts of such code, which a report names: `with found.around("a layer"): ...`."""
    from gradtape.functions.rerun import Regions  # noqa: PLC0415 - for those who ask

    return Regions()


def trace_again() -> None:
    """Has the function that is being traced, if one is, traced once more: what it did so far may
    not have known of new Variables.
    """
    trace = here.state.trace
    if trace is not None:
        trace.made.add(id(trace))


def why_none(variables: Sequence[Any]) -> str:
    """What a tape has found about the last gradients of these Variables that were None, as a
    sentence to add to a message; empty if nothing is known.
    """
    from gradtape.inspect.hints import why_none as said  # noqa: PLC0415 - for those who ask

    return said(variables)
