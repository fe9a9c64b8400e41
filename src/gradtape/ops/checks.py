"""Ops that raise for some values and pass all others through."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradtape.engines.engine import is_traced_array
from gradtape.engines.xla.host import call_host
from gradtape.errors import invalid_argument
from gradtape.ops.batching import as_it_is
from gradtape.ops.declare import op
from gradtape.ops.jets import same_shape
from gradtape.ops.links import elementwise

FOUND = "<found>"
"""In a message, the place for what is wrong; otherwise it comes after the message."""

FOUND_BY_CHECK = "found by enable_check_numerics"
"""In the messages of `tf.debugging.enable_check_numerics`."""


def _check_numerics(xp: Any, x: Any, *, message: str) -> Any:
    if not xp.isfinite(x).all():
        _refuse(not xp.isinf(x).any(), not xp.isnan(x).any(), message=message)
    return x


def check_numerics_on_xla(xp: Any, x: Any, *, message: str) -> Any:
    """The values; in a program, they wait for the host to refuse them if some are not finite."""
    if not is_traced_array(x):
        return _check_numerics(xp, x, message=message)

    def refused(x: Any) -> Any:
        answers = [~xp.isinf(x).any(), ~xp.isnan(x).any()]
        passed = call_host(
            lambda *given: [_refuse(*given, message=message)], [((), np.dtype(np.bool_))], answers
        )[0]
        return xp.where(passed, x, xp.zeros((), x.dtype))

    return xp.lax.cond(xp.isfinite(x).all(), lambda x: x, refused, x)


def _refuse(no_infinities: Any, no_nans: Any, *, message: str) -> Any:
    found = [name for name, absent in (("NaN", no_nans), ("Inf", no_infinities)) if not absent]
    if FOUND in message:
        raise invalid_argument(message.replace(FOUND, " and ".join(found)))
    raise invalid_argument(f"{message} : the tensor has {' and '.join(found)} values.")


check_numerics = op(
    "check_numerics",
    _check_numerics,
    [lambda g, message: check_numerics(g, message=f"In the gradient of check_numerics: {message}")],
    linear=True,
    moves=True,
    batch=as_it_is,
    xla=check_numerics_on_xla,
    links=elementwise,
    input_shape=same_shape,
)
