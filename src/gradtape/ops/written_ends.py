"""Generated code for ops that no argument has a derivative of: the end of their call, which may be
where a chain ends that a tape follows.
"""

from __future__ import annotations

from textwrap import indent
from typing import TYPE_CHECKING

from gradtape.ops.source import frame_text, tuple_text

if TYPE_CHECKING:
    from gradtape.ops.op import Op


def end_text(op: Op, params: str, depth: int) -> str:
    """Wraps the result; what stands for its Node says why it has none: see `core.endings`."""
    first, *others = op.arguments
    nodes = [f"{x}_node" for x in op.arguments]
    end = "STOPPED" if op.stops else "NO_DERIVATIVE"
    alone = "".join(f"{x}_node is None and " for x in others)
    return f"""
    if {" or ".join(f"{node} is not None" for node in nodes)}:
        if state.trace is not None or type(out) is not ndarray:
            return finish({tuple_text(op.arguments)}, {params}, out, state, state.scope)
        tensor = new(Tensor)
        tensor.array = out
        scope = state.scope
        if {alone}{first}_node.scope is scope and type(scope) is Recording and state.where is None:
{indent(frame_text(depth), "        ")}
            node = tensor.node = new(Ending)
            node.about = ({op.name!r}, {end}, (0,))
            node.origins = (ref({first}_node),)
            node.followed = (ref(scope),)
            node.number = next(numbers)
            node.where = (code, frame.f_lasti)
        else:
            tensor.node = ended({op.name!r}, {end}, {tuple_text(nodes)}, {depth})
        return tensor
    return state.tensor(out)"""
