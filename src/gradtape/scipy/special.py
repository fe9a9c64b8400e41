"""`gradtape.scipy.special`: the functions of `scipy.special` that have derivatives, with SciPy's
names and order of arguments, in eager code and compiled in a `function`.

>>> import gradtape as tf
>>> x = tf.Variable(0.5)
>>> with tf.GradientTape() as tape:
...     y = tf.scipy.special.jv(2.0, x)
>>> round(float(tape.gradient(y, x)), 6)
0.119852
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from gradtape.api.numpy.operands import inexact, promoted, tensors_of
from gradtape.api.numpy.special import FUNCTIONS
from gradtape.api.tensorflow import scipy_functions

_OWN = ("log_softmax", "logsumexp", "softmax")
_NAMES = sorted([*_OWN, *(name for name in FUNCTIONS if name[0] != "_"), "zeta"])


def __getattr__(name: str) -> Callable[..., Any]:
    if name in _NAMES:
        found: Callable[..., Any]
        found = getattr(scipy_functions, name) if name in _OWN else _function(name)
        return found
    raise AttributeError(
        f"gradtape.scipy.special has no '{name}': it has {', '.join(_NAMES)}. For another function "
        "of scipy.special, use bridge.black_box."
    )


def __dir__() -> list[str]:
    return list(_NAMES)


@cache
def _function(name: str) -> Any:
    op = FUNCTIONS["_zeta" if name == "zeta" else name]

    def function(*args: Any) -> Any:
        tensors = [
            inexact(x) for x in tensors_of(args, name, [f"argument {i}" for i in range(len(args))])
        ]
        for i, x in enumerate(tensors):
            if x.array.dtype.kind == "c":
                raise TypeError(f"{name}: argument {i} is complex, which has no derivative here.")
        return op(*promoted(tensors))

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"`scipy.special.{name}`, with derivatives."
    return function
