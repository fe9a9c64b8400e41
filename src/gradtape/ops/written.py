"""Generated code: the functions of an op that every training step runs, written as source for that
op alone.

`function_written_later` makes the call: read Variables, run the kernel, record a Node that saves
what the pulls name. `write_pull_into` makes the backward step on plain arrays, `write_pulls` the
same for walks that need the cotangents of only some arguments. All are written and compiled when
the op is first used, as `collections.namedtuple` does; loops over arguments and names would cost
more than the NumPy kernels they serve (1.0 µs against 0.5 µs for a small product).

The call serves Tensors of one dtype, float32 or float64, that one tape records, or none. Everything
else (promotion, plain values, complex numbers, nested tapes, accumulators) goes through
`Op.call_any` and `Op.finish`.
"""

from __future__ import annotations

import linecache
import sys
from collections.abc import Callable, Sequence
from functools import partial
from types import CodeType
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
from gradtape.core.strong_zeros import HIDDEN, repaired, shows_nan
from gradtape.core.tensor import Tensor
from gradtape.core.thread import here
from gradtape.core.variable import Variable
from gradtape.core.walk import summed
from gradtape.engines.arrays import sum_array_to
from gradtape.engines.numpy.threads import LARGE, VERY_LARGE, shared
from gradtape.ops.several import call_several

if TYPE_CHECKING:
    from gradtape.ops.op import Op

Names = tuple[str, ...]

_FLOAT32 = np.dtype(np.float32)

_NAMESPACE = {
    "FLOAT32": np.dtype(np.float32), "FLOAT64": np.dtype(np.float64), "Node": Node,
    "Tensor": Tensor, "Variable": Variable, "LARGE": LARGE, "VERY_LARGE": VERY_LARGE,
    "getframe": sys._getframe, "here": here, "own_files": own_files, "generic": np.generic,
    "ndarray": np.ndarray, "new": object.__new__, "numbers": numbers, "outside": outside,
    "sum_array_to": sum_array_to, "users_files": users_files, "shared": shared, "HIDDEN": HIDDEN,
    "LARGE_OUTPUT": LARGE_OUTPUT, "note_endings": note_endings, "repaired": repaired,
    "shows_nan": shows_nan, "ended": ended, "NOWHERE": NOWHERE, "Ending": Ending, "ref": ref,
    "NO_DERIVATIVE": End.NO_DERIVATIVE, "STOPPED": End.STOPPED, "Recording": Recording,
}  # fmt: skip


def positional_names(function: Any) -> Names:
    """The names of a function's positional parameters."""
    code = getattr(function, "__code__", None)
    return () if code is None else code.co_varnames[: code.co_argcount]


def saved_value(name: str, op: Op) -> str:
    """The expression for what a pull calls `name`, in terms of the arguments, `out` and `params`.

    `x_shows` says that `x` is known to hold no NaN that the output does not show. To find out takes
    time, so it is done only for ops that a rule calls in a walk, which are few and have all of the
    recording behind them.
    """
    arguments = op.arguments
    if name in arguments or name == "out":
        return name
    if name == "args":
        return "list(args)"
    if name == "shapes":
        return "[arg.array.shape for arg in args]"
    argument, _, what = name.rpartition("_")
    if argument in arguments:
        if what in ("shape", "dtype"):
            return f"{argument}.array.{what}"
        if what == "shows":
            return f"(here.state.walking and shows_nan({argument}.array, out))"
        if what == "broadcast":
            return f"(None if {argument}.array.shape == out.shape else {argument}.array.shape)"
    return (
        f"params.get({name!r}, defaults[{name!r}])" if name in op.defaults else f"params[{name!r}]"
    )


def write_save(op: Op, names: Names) -> Callable[..., tuple[Any, ...]]:
    """`save(args, out, params)`: what one pull names."""
    values = "".join(f"{saved_value(name, op)}, " for name in names)
    lines = ["def save(args, out, params):"]
    if op.arguments:
        lines.append(f"    {''.join(f'{argument}, ' for argument in op.arguments)} = args")
    return _define(op, "save", [*lines, f"    return ({values})"], {"defaults": op.defaults})


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
        kernel=op.kernel,
        slow=op.call_any,
        again=op.again,
        finish=op.finish,
        rule=op.rule,
        defaults=op.defaults,
    )
    # The text is this module's own.
    exec(_compiled(op, op.name, _call_lines(op, depth)), namespace)  # noqa: S102
    function.__code__ = namespace[op.name].__code__


def _named(function: Any, op: Op) -> Callable[..., Any]:
    function.__name__ = function.__qualname__ = op.name
    function.op = op
    return function


def _call_lines(op: Op, depth: int) -> list[str]:
    """The call of an op with a fixed number of arguments and one output."""
    given = ", ".join(op.arguments)
    keywords = ", **params" if op.has_parameters else ""
    lines = [f"def {op.name}({given}{keywords}):"]
    for argument in op.arguments:
        lines += _read_argument(op, argument, f"slow({given}{keywords})")
    lines += _same_dtype(op, f"slow({given}{keywords})")
    arrays = ", ".join(f"{argument}_array" for argument in op.arguments)
    params = "params" if op.has_parameters else "None"
    return [
        *lines,
        "    state = here.state",
        "    try:",
        *_run(op, f"{arrays}{keywords}"),
        "    except Exception as error:",
        f"        out = again(error, [{arrays}], {params})",
        *_record(op, params, depth),
    ]


def _run(op: Op, arguments: str) -> list[str]:
    """Runs the kernel; that of a function of one variable on a large array in parts,
    on several threads.
    """
    if not shares(op):
        return [f"        out = state.run(kernel, {arguments})"]
    return [
        f"        if {arguments}.size < LARGE or state.device is not None:",
        f"            out = state.run(kernel, {arguments})",
        "        else:",
        f"            out = state.run(shared, kernel, {arguments})",
    ]


def shares(op: Op) -> bool:
    """Whether an op works element by element on one array and nothing else, and so do its pulls."""
    return (
        op.elementwise
        and len(op.arguments) == 1
        and not op.has_parameters
        and {*op.saves[0]} <= {*op.arguments, "out"}
    )


def _read_argument(op: Op, argument: str, slow: str) -> list[str]:
    """Fetches an argument's array and Node."""
    x = argument
    lines = [
        f"    if type({x}) is Tensor:",
        f"        {x}_array = {x}.array",
        f"        {x}_node = {x}.node",
        f"    elif type({x}) is Variable:",
        f"        {x} = {x}.tensor()",
        f"        if type({x}) is not Tensor:",  # in a program that is being traced
        f"            return {slow}",
        f"        {x}_array = {x}.array",
        f"        {x}_node = {x}.node",
    ]
    if op.broadcasts:
        lines += [
            f"    elif type({x}) is float or type({x}) is int:",
            f"        {x}_array = {x}",
            f"        {x}_node = None",
        ]
    elif len(op.arguments) == 1:
        lines += [
            f"    elif isinstance({x}, (ndarray, generic)):",
            f"        return kernel({x}{', **params' if op.has_parameters else ''})",
        ]
    return [*lines, "    else:", f"        return {slow}"]


def _same_dtype(op: Op, slow: str) -> list[str]:
    """Leaves promotion, and every dtype but float32 and float64, to the slow path."""
    together = [argument for i, argument in enumerate(op.arguments) if i not in op.apart]
    if op.broadcasts:
        x, y = together
        first = (
            f"{x}_array.dtype if type({x}) is Tensor else {y}_array.dtype if "
            f"type({y}) is Tensor "
            "else None"
        )
        differs = f"(type({y}) is Tensor and {y}_array.dtype is not dtype)"
    else:
        first = f"{together[0]}_array.dtype"
        differs = " or ".join(f"{x}_array.dtype is not dtype" for x in together[1:])
    other = "(dtype is not FLOAT32 and dtype is not FLOAT64)"
    return [
        f"    dtype = {first}",
        f"    if {other}{' or ' + differs if differs else ''}:",
        f"        return {slow}",
    ]


def _record(op: Op, params: str, depth: int) -> list[str]:
    """Wraps the result, with a Node if the one tape that records follows an argument."""
    followed = (
        [x for x, pull in zip(op.arguments, op.pulls, strict=True) if pull is not None]
        if op.pulls
        else []
    )
    given = "".join(f"{x}, " for x in op.arguments)
    if not followed:
        return _end_lines(op, params, depth)
    nothing = " and ".join(f"{x}_node is None" for x in followed)
    other = " or ".join(f"({x}_node is not None and {x}_node.scope is not scope)" for x in followed)
    apart = [x for x in op.arguments if x not in followed]
    lines = [
        f"    if {nothing}:",
        f"        if state.trace is None{''.join(f' and {x}_node is None' for x in apart)}:",
        "            return state.tensor(out)",
        # A program is being traced, which may have to know that an argument comes from outside; or
        # a mask is where a chain ends.
        f"        return finish(({given}), {params}, out, state, None)",
        "    scope = state.scope",
        "    ends = None",
        f"    if {other}:",
        # An end of a chain stands in the place of a Node: the call is recorded without it.
        *(
            line
            for x in followed
            for line in (
                f"        if {x}_node is not None and {x}_node.scope is NOWHERE:",
                f"            ends = ({x}_node,) if ends is None else (*ends, {x}_node)",
                f"            {x}_node = None",
            )
        ),
        f"        if ends is None or ({nothing}) or {other}:",
        f"            return finish(({given}), {params}, out, state, scope)",
        "    dtype = out.dtype",
        "    if state.pushers or (dtype is not FLOAT32 and dtype is not FLOAT64):",
        f"        return finish(({given}), {params}, out, state, scope)",
    ]
    if op.broadcasts:
        x, y = op.arguments
        lines += [
            f"    {x}_shape = {y}_shape = None",
            f"    if type({x}) is type({y}) and {x}_array.shape != {y}_array.shape:",
            "        shape = out.shape",
            *(
                f"        {a}_shape = None if {a}_array.shape == shape else {a}_array.shape"
                for a in (x, y)
            ),
        ]
    saved = []
    for argument, pull, names in zip(op.arguments, op.pulls, op.saves, strict=True):
        values = "".join(
            f"{argument}_shape, " if name.endswith("_broadcast") else f"{saved_value(name, op)}, "
            for name in names
        )
        saved.append(
            "None" if pull is None else f"({values}) if {argument}_node is not None else None"
        )
    parents = "".join(
        "None, " if pull is None else f"{x}_node, "
        for x, pull in zip(op.arguments, op.pulls, strict=True)
    )
    nodes = "".join(f"{x}_node, " for x in apart)
    noted = [
        f"    if {''.join(f'{x}_node is not None or ' for x in apart)}ends is not None:",
        f"        note_endings({op.name!r}, node, ({nodes}*(ends or ()),))",
    ]
    return [
        *lines,
        *_frame_lines(depth),
        "    node = new(Node)",  # what calling the classes does, in half the time
        "    node.rule = rule",
        f"    node.saved = ({''.join(f'{s}, ' for s in saved)})",
        f"    node.params = {params}",
        f"    node.parents = ({parents})",
        "    node.scope = scope",
        "    number = node.number = next(numbers)",
        "    node.where = (code, frame.f_lasti)",
        "    scope.nodes.append(node)",
        "    if number > scope.due:",
        "        scope.sweep()",
        "    if out.nbytes > LARGE_OUTPUT:",
        "        scope.has_taken(out.nbytes)",
        *noted,
        "    tensor = new(Tensor)",
        "    tensor.array = out",
        "    tensor.node = node",
        "    return tensor",
    ]


def _frame_lines(depth: int) -> list[str]:
    """Finds the user's frame."""
    return [
        "    try:",
        f"        frame = getframe({depth})",
        "    except ValueError:",  # called from the top of a module, with nothing above
        "        frame = getframe(1)",
        "    code = frame.f_code",
        "    if code.co_filename not in users_files and own_files[code.co_filename]:",
        "        frame = outside(frame)",
        "        code = frame.f_code",
    ]


def _end_lines(op: Op, params: str, depth: int) -> list[str]:
    """Wraps a result that no argument has a derivative of, which may be where a chain ends."""
    first, *others = op.arguments
    given = "".join(f"{x}, " for x in op.arguments)
    nodes = "".join(f"{x}_node, " for x in op.arguments)
    end = "STOPPED" if op.stops else "NO_DERIVATIVE"
    alone = "".join(f"{x}_node is None and " for x in others)
    plain = f"{alone}{first}_node.scope is scope and type(scope) is Recording"
    return [
        f"    if {' or '.join(f'{x}_node is not None' for x in op.arguments)}:",
        "        if state.trace is not None or type(out) is not ndarray:",
        f"            return finish(({given}), {params}, out, state, state.scope)",
        "        tensor = new(Tensor)",
        "        tensor.array = out",
        "        scope = state.scope",
        f"        if {plain} and state.where is None:",
        *(f"        {line}" for line in _frame_lines(depth)),
        "            node = tensor.node = new(Ending)",
        f"            node.about = ({op.name!r}, {end}, (0,))",
        f"            node.origins = (ref({first}_node),)",
        "            node.followed = (ref(scope),)",
        "            node.number = next(numbers)",
        "            node.where = (code, frame.f_lasti)",
        "        else:",
        f"            tensor.node = ended({op.name!r}, {end}, ({nodes}), {depth})",
        "        return tensor",
        "    return state.tensor(out)",
    ]


def write_pulls(op: Op) -> Callable[[Any, Any, Any], Any]:
    """`pull_arrays(node, g, wanted)` on plain arrays: the cotangents of all arguments of an op."""
    lines = ["def pull_arrays(node, g, wanted):", "    saved = node.saved"]
    if any(op.guarded) or op.plain is not True:
        lines += ["    watch = here.state.watch", *_note_hiding(op)]
    for i, pull in enumerate(op.pulls):
        lines.append(f"    pulled_{i} = None")
        if pull is not None:
            lines += [f"    if wanted[{i}] is not None:", *_pull_lines(op, i)]
    lines.append(f"    return ({''.join(f'pulled_{i}, ' for i in range(len(op.pulls)))})")
    return _define(op, "pull_arrays", lines, _pulls_by_name(op))


def write_pull_into(op: Op) -> Callable[[Any, Any, Any, Any, Any], None]:
    """`pull_into(node, g, cotangents, owned, watch)`: the same, added up where the walk keeps the
    cotangents of the parents.
    """
    lines = [
        "def pull_into(node, g, cotangents, owned, watch):",
        "    saved = node.saved",
        "    parents = node.parents",
    ]
    lines += _note_hiding(op)
    for i, pull in enumerate(op.pulls):
        if pull is not None:
            lines += [
                f"    parent = parents[{i}]",
                "    if parent is not None:",
                *_pull_lines(op, i),
                f"        if pulled_{i} is not None:",
                "            earlier = cotangents.get(parent)",
                (
                    f"            cotangents[parent] = pulled_{i} if earlier is None else "
                    f"summed(earlier, pulled_{i}, parent, owned)"
                ),
            ]
    return _define(op, "pull_into", lines, {**_pulls_by_name(op), "summed": summed})


def _pull_lines(op: Op, i: int) -> list[str]:
    """The cotangent of argument `i` as `pulled_i`.

    A saved name that ends in `_broadcast` comes first and says what the pulled cotangent is to be
    summed back to.
    """
    names = op.saves[i]
    values = [f"v.array if isinstance(v := s[{k}], Tensor) else v" if name in op.arguments
        else f"s[{k}]"
              for k, name in enumerate(names)]  # fmt: skip
    broadcasts = bool(names) and names[0].endswith("_broadcast")
    given = ", ".join(["g", *values[broadcasts:]])
    lines = [f"        s = saved[{i}]", f"        pulled_{i} = pull_{i}({given})"]
    if shares(op):
        lines[1] += f" if g.size < VERY_LARGE else shared(pull_{i}, {given})"
    if op.guarded[i]:
        lines += ["        if watch:", f"            pulled_{i} = repaired(pulled_{i}, g, watch)"]
    if broadcasts:
        lines += [
            "        if s[0] is not None:",
            f"            pulled_{i} = sum_array_to(pulled_{i}, s[0])",
        ]
    return lines


def _note_hiding(op: Op) -> list[str]:
    """Puts a note on the watch if a NaN in an argument may not show in the output."""
    if op.plain is True:
        return []
    return [
        "    if not plain(saved):" if op.plain else "    if True:",
        "        watch.append(HIDDEN)",
    ]


def _pulls_by_name(op: Op) -> dict[str, Any]:
    return {"plain": op.plain, **{f"pull_{i}": pull for i, pull in enumerate(op.pulls)}}


def _define(op: Op, name: str, lines: Sequence[str], names: dict[str, Any]) -> Callable[..., Any]:
    """The function `name` that the lines define."""
    namespace = {**_NAMESPACE, **names}
    exec(_compiled(op, name, lines), namespace)  # noqa: S102 - the text is this module's own
    return namespace[name]


def _compiled(op: Op, name: str, lines: Sequence[str]) -> CodeType:
    """The lines as code, with their text where tracebacks and debuggers look for it."""
    filename = f"{_FOLDER}/written/{op.name}.{name}.py"
    source = "\n".join(lines) + "\n"
    linecache.cache[filename] = len(source), None, source.splitlines(keepends=True), filename
    return compile(source, filename, "exec")


_FOLDER = __file__.rpartition("/")[0]
