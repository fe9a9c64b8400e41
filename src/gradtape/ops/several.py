"""The quick call of an op with several outputs, such as `split`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gradtape.core.record import record
from gradtape.core.tensor import Tensor
from gradtape.core.thread import here

if TYPE_CHECKING:
    from gradtape.ops.op import Op


def call_several(op: Op, x: Tensor, params: dict[str, Any]) -> Any:
    """The outputs of an op with several, such as `split`, of a float32 Tensor: the plainest
    call, without the detours.
    """
    state = here.state
    if state.trace is not None or state.device is not None or state.pushers:
        return op.call_any(x, **params)
    try:
        results = state.run(op.kernel, x.array, **params)
    except Exception as error:  # noqa: BLE001 - it is raised again, but for one
        results = op.again(error, [x.array], params)
    parent, scope = x.node, state.scope
    if parent is None:
        return [Tensor(result) for result in results]
    if scope is None or parent.scope is not scope:
        return op.finish((x,), params, results, state, scope)
    saved = (
        op.save[0]((x,), results, params),
        [(result.shape, result.dtype) for result in results],
    )
    return record(op.rule, saved, params, ((parent,), scope), (x,), list(results))
