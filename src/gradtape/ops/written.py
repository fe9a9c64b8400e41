"""Generated code: the functions of an op that every training step runs, written as source for that
op alone.

Here is the call: read Variables, run the kernel, record a Node that saves what the pulls name. The
backward step is in `ops.written_pulls`. All are written and compiled when the op is first used, as
`collections.namedtuple` does; loops over arguments and names would cost more than the NumPy kernels
they serve (1.0 µs against 0.5 µs for a small product).

The call serves Tensors of one dtype, float32 or float64, that one tape records, or none. Everything
else (promotion, plain values, complex numbers, nested tapes, accumulators) goes through
`Op.call_any` and `Op.finish`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any
from weakref import ref

import numpy as np

from gradtape.core.endings import End, Ending, ended, note_endings
from gradtape.core.late import written_when_called
from gradtape.core.location import outside, own_files, users_files
from gradtape.core.node import Node
from gradtape.core.recording import LARGE as LARGE_OUTPUT
from gradtape.core.recording import Recording, numbers
from gradtape.core.scopes import NOWHERE
from gradtape.core.tensor import Tensor
from gradtape.core.thread import here
from gradtape.core.variable import Variable
from gradtape.engines.numpy.threads import LARGE, shared
from gradtape.ops.saving import USES, saved_value
from gradtape.ops.several import call_several
from gradtape.ops.source import defined, frame_text, tuple_text
from gradtape.ops.written_ends import end_text

if TYPE_CHECKING:
    from gradtape.ops.op import Op

_FLOAT32 = np.dtype(np.float32)

_NAMESPACE = {
    "FLOAT32": _FLOAT32, "FLOAT64": np.dtype(np.float64), "Node": Node, "Tensor": Tensor,
    "Variable": Variable, "LARGE": LARGE, "LARGE_OUTPUT": LARGE_OUTPUT, "shared": shared,
    "getframe": sys._getframe, "own_files": own_files, "users_files": users_files, "here": here,
    "outside": outside, "ndarray": np.ndarray, "generic": np.generic, "new": object.__new__,
    "numbers": numbers, "NOWHERE": NOWHERE, "note_endings": note_endings,
    "ended": ended, "Ending": Ending, "ref": ref, "NO_DERIVATIVE": End.NO_DERIVATIVE,
    "STOPPED": End.STOPPED, "Recording": Recording,
}  # fmt: skip


def function_of(op: Op) -> Callable[..., Any]:
    """The function that users of an op call, when no call is written for it."""
    quick = op.several and op.pull_all is not None

    def call(*args: Any, **params: Any) -> Any:
        if quick and len(args) == 1 and type(args[0]) is Tensor and args[0].array.dtype is _FLOAT32:
            return call_several(op, args[0], params)
        return op.call_any(*args, **params)

    return _named(call, op)


def function_written_later(op: Op, depth: int = 2) -> Callable[..., Any]:
    """The same for an op with a written call: at its first call,
    the function takes on the code that is written for it.

    `depth` is how far above it the user's own line stands, most of the time: 2, since a public
    function stands between, and 1 for an operator of Tensor. It saves looking at frames in between,
    which costs more than anything else in recording.
    """
    return _named(written_when_called(op.name, partial(write_call, op, depth=depth)), op)


def write_call(op: Op, function: Any, namespace: dict[str, Any], depth: int) -> None:
    """Gives a function the lines that are written for an op, and the names that they use."""
    namespace.update(
        _NAMESPACE,
        **USES,
        kernel=op.kernel,
        slow=op.call_any,
        again=op.again,
        finish=op.finish,
        rule=op.rule,
        defaults=op.defaults,
    )
    written = defined(op.name, op.name, _call_text(op, depth), namespace)
    function.__code__ = written.__code__


def _named(function: Any, op: Op) -> Callable[..., Any]:
    function.__name__ = function.__qualname__ = op.name
    function.op = op
    return function


def _call_text(op: Op, depth: int) -> str:
    """The call of an op with a fixed number of arguments and one output."""
    keywords, params = (", **params", "params") if op.has_parameters else ("", "None")
    given = ", ".join(op.arguments)
    arrays = ", ".join(f"{x}_array" for x in op.arguments)
    slow = f"slow({given}{keywords})"
    followed = [x for x, pull in zip(op.arguments, op.pulls, strict=True) if pull is not None]
    end = _record_text(op, followed, params, depth) if followed else end_text(op, params, depth)
    return f"""
def {op.name}({given}{keywords}):
{"".join(_read_text(op, x, slow) for x in op.arguments)}
{_dtype_text(op, slow)}
    state = here.state
    try:
{_run_text(op, f"{arrays}{keywords}")}
    except Exception as error:
        out = again(error, [{arrays}], {params})
{end}
"""


def _read_text(op: Op, x: str, slow: str) -> str:
    """Fetches an argument's array and Node."""
    other = dtype = ""
    if op.broadcasts:
        dtype = f"""
        {x}_dtype = {x}_array.dtype"""
        other = f"""
    elif type({x}) is float or type({x}) is int:
        {x}_array = {x}
        {x}_node = {x}_dtype = None"""
    elif len(op.arguments) == 1:
        other = f"""
    elif isinstance({x}, (ndarray, generic)):
        return kernel({x}{", **params" if op.has_parameters else ""})"""
    return f"""
    if type({x}) is Tensor:
        {x}_array = {x}.array
        {x}_node = {x}.node{dtype}
    elif type({x}) is Variable:
        {x} = {x}.tensor()
        if type({x}) is not Tensor:  # in a program that is being traced
            return {slow}
        {x}_array = {x}.array
        {x}_node = {x}.node{dtype}{other}
    else:
        return {slow}"""


def _dtype_text(op: Op, slow: str) -> str:
    """Leaves promotion, and every dtype but float32 and float64, to the slow path."""
    if op.broadcasts:  # one of them may be a number
        x, y = op.arguments
        return f"""
    dtype = {x}_dtype
    if dtype is not {y}_dtype:
        if dtype is None:
            dtype = {y}_dtype
        elif {y}_dtype is not None:
            return {slow}
    if dtype is not FLOAT32 and dtype is not FLOAT64:
        return {slow}"""
    x, *others = [argument for i, argument in enumerate(op.arguments) if i not in op.apart]
    differs = "".join(f" or {y}_array.dtype is not dtype" for y in others)
    return f"""
    dtype = {x}_array.dtype
    if (dtype is not FLOAT32 and dtype is not FLOAT64){differs}:
        return {slow}"""


def _run_text(op: Op, arguments: str) -> str:
    """Runs the kernel; that of a function of one variable on a large array in parts,
    on several threads.
    """
    if not shares(op):
        return f"""
        out = state.run(kernel, {arguments})"""
    return f"""
        if {arguments}.size < LARGE or state.device is not None:
            out = state.run(kernel, {arguments})
        else:
            out = state.run(shared, kernel, {arguments})"""


def shares(op: Op) -> bool:
    """Whether an op works element by element on one array and nothing else, and so do its pulls."""
    return (
        op.elementwise
        and len(op.arguments) == 1
        and not op.has_parameters
        and {*op.saves[0]} <= {*op.arguments, "out"}
    )


def _record_text(op: Op, followed: list[str], params: str, depth: int) -> str:
    """Wraps the result, with a Node if the one tape that records follows an argument."""
    nothing = " and ".join(f"{x}_node is None" for x in followed)
    other = " or ".join(f"({x}_node is not None and {x}_node.scope is not scope)" for x in followed)
    apart = [x for x in op.arguments if x not in followed]
    finish = f"finish({tuple_text(op.arguments)}, {params}, out, state"
    ends = "".join(
        f"""
        if {x}_node is not None and {x}_node.scope is NOWHERE:
            ends = ({x}_node,) if ends is None else (*ends, {x}_node)
            {x}_node = None"""
        for x in followed
    )
    saved = (
        f"{tuple_text(_kept(name, x, op) for name in names)} if {x}_node is not None else None"
        if x in followed
        else "None"
        for x, names in zip(op.arguments, op.saves, strict=True)
    )
    noted = [f"{x}_node" for x in apart]
    is_noted = [f"{x}_node is not None" for x in apart]
    if len(followed) > 1:
        noted.append("*(ends or ())")
        is_noted.append("ends is not None")
        elsewhere = f"""
    ends = None
    if {other}:
        # An end of a chain stands in the place of a Node: the call is recorded without it.
{ends}
        if ends is None or ({nothing}) or {other}:
            return {finish}, scope)"""
    else:  # where the chain of the only argument has ended, nothing is recorded
        elsewhere = f"""
    if {other}:
        return {finish}, scope)"""
    note = f"""
    if {" or ".join(is_noted)}:
        note_endings({op.name!r}, node, {tuple_text(noted)})"""
    parents = (f"{x}_node" if x in followed else "None" for x in op.arguments)
    return f"""
    if {nothing}:
        if state.trace is None{"".join(f" and {x}_node is None" for x in apart)}:
            return state.tensor(out)
        # A program is being traced, which may have to know that an argument comes from outside; or
        # a mask is where a chain ends.
        return {finish}, None)
    scope = state.scope
{elsewhere}
    if {_unusual_text(op)} or state.pushers:
        return {finish}, scope)
{_broadcast_text(op)}
{frame_text(depth)}
    node = new(Node)  # what calling the classes does, in half the time
    node.rule = rule
    node.saved = {tuple_text(saved)}
    node.params = {params}
    node.parents = {tuple_text(parents)}
    node.scope = scope
    number = node.number = next(numbers)
    node.where = (code, frame.f_lasti)
    scope.nodes.append(node)
    if number > scope.due:
        scope.sweep()
    if out.nbytes > LARGE_OUTPUT:
        scope.has_taken(out.nbytes)
{note if is_noted else ""}
    tensor = new(Tensor)
    tensor.array = out
    tensor.node = node
    return tensor"""


def _unusual_text(op: Op) -> str:
    """Whether the result is neither float32 nor float64; of a number for each element, most of the
    time, whether it is not what the arguments are.
    """
    if op.elementwise:
        return "out.dtype is not dtype"
    return "(out.dtype is not FLOAT32 and out.dtype is not FLOAT64)"


def _broadcast_text(op: Op) -> str:
    """Finds the shapes that broadcasting changed."""
    if not op.broadcasts:
        return ""
    x, y = op.arguments
    return f"""
    {x}_shape = {y}_shape = None
    if {x}_dtype is {y}_dtype:
        {x}_shape = {x}_array.shape
        {y}_shape = {y}_array.shape
        if {x}_shape == {y}_shape:
            {x}_shape = {y}_shape = None
        else:
            shape = out.shape
            if {x}_shape == shape:
                {x}_shape = None
            if {y}_shape == shape:
                {y}_shape = None"""


def _kept(name: str, argument: str, op: Op) -> str:
    return f"{argument}_shape" if name.endswith("_broadcast") else saved_value(name, op)
