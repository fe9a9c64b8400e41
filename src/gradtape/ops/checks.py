"""Ops that refuse some values and hand on the others as they are."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradtape.engines.xla_host import on_host
from gradtape.errors import invalid_argument
from gradtape.ops.batching import as_it_is
from gradtape.ops.declare import op


def _check_numerics(xp: Any, x: Any, *, message: str) -> Any:
    if not xp.isfinite(x).all():
        _refuse(not xp.isinf(x).any(), not xp.isnan(x).any(), message=message)
    return x


def _check_numerics_on_xla(xp: Any, x: Any, *, message: str) -> Any:
    """The two answers go to the host, which can refuse; the values wait for it."""
    passed = on_host(_refuse)(~xp.isinf(x).any(), ~xp.isnan(x).any(), message=message)
    return xp.where(passed, x, xp.zeros((), x.dtype))


def _refuse(no_infinities: Any, no_nans: Any, *, message: str) -> Any:
    found = [name for name, absent in (("Inf", no_infinities), ("NaN", no_nans)) if not absent]
    if found:
        raise invalid_argument(f"{message} : the tensor has {' and '.join(found)} values.")
    return np.True_


check_numerics = op(
    "check_numerics",
    _check_numerics,
    [lambda g, message: check_numerics(g, message=f"In the gradient of check_numerics: {message}")],
    linear=True,
    moves=True,
    batch=as_it_is,
    xla=_check_numerics_on_xla,
)
