"""Every op, by its name and by its kernel."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gradtape.core.needed_ops import needed
from gradtape.ops.computing import rounded_to, widened

if TYPE_CHECKING:
    from gradtape.ops.op import Op

registry: dict[str, Op] = {}
"""Every op by name."""

by_kernel: dict[Any, Op] = {}


def forget(name: str) -> None:
    """Takes back the declaration of an op, so that its name is free again;
    what was recorded with it stays as it is.
    """
    if name not in registry:
        raise KeyError(f"forget: there is no op named '{name}'.")
    by_kernel.pop(registry.pop(name).kernel, None)


def _xla_kernel(kernel: Any) -> Any:
    found = by_kernel.get(kernel)
    return None if found is None else found.xla_kernel


needed.xla_kernel = _xla_kernel


def _is_pure(kernel: Any) -> bool:
    found = by_kernel.get(kernel)
    return kernel in (widened, rounded_to) if found is None else found.pure


needed.is_pure = _is_pure


def op_of(kernel: Any) -> Op | None:
    """The op that a kernel, of either engine, belongs to."""
    found = by_kernel.get(kernel)
    if found is not None:
        return found
    # `vars`, since those that nobody has asked for are not made.
    return next((op for op in registry.values() if vars(op).get("xla_kernel") is kernel), None)
