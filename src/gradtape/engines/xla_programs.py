"""Programs before XLA compiles them: what is in them, and what its compiler is told about them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import cache
from typing import Any

from gradtape.engines.threads import cores
from gradtape.engines.xla_engine import load

_LIBRARY = "xla_cpu_experimental_ynn_fusion_type"  # for which operations XLA calls a library on the CPU
_FEW_CORES = 4
_PRODUCTS_ALONE = {_LIBRARY: "LIBRARY_FUSION_TYPE_INDIVIDUAL_DOT"}


def uses(jaxpr: Any, primitive: str) -> bool:
    """Whether a program, or a part of it such as the body of a loop, has an operation of JAX's."""
    return any(
        equation.primitive.name == primitive or any(uses(part, primitive) for part in parts(equation.params))
        for equation in jaxpr.eqns
    )


def parts(params: dict[str, Any]) -> Iterator[Any]:
    """The programs among the parameters of an equation, such as the branches of a condition."""
    for value in params.values():
        for entry in value if isinstance(value, (list, tuple)) else [value]:
            jaxpr = getattr(entry, "jaxpr", entry)
            if hasattr(jaxpr, "eqns"):
                yield jaxpr


def compiler_options(jaxpr: Any) -> dict[str, str] | None:
    """What XLA's compiler is told, beside its defaults and what the user has set in XLA_FLAGS.

    On a CPU it leaves convolutions to a library, which runs some of them on one core where there are two, and takes twice as
    long for others. Its own are as fast as the library's on about eight cores.
    """
    if load().default_backend() != "cpu" or cores() > _FEW_CORES or _LIBRARY in os.environ.get("XLA_FLAGS", ""):
        return None
    return _PRODUCTS_ALONE if uses(jaxpr, "conv_general_dilated") and _is_known() else None


@cache
def _is_known() -> bool:
    """Whether this version of XLA has the option."""
    jax = load()
    try:
        jax.jit(lambda x: x, compiler_options=_PRODUCTS_ALONE).lower(0.0).compile()
    except (jax.errors.JaxRuntimeError, ValueError):
        return False
    return True
