"""Run at the start of every Python process where gradtape is installed, by the line in
`keras_gradtape.pth`: it only adds two import finders.

With them `KERAS_BACKEND=gradtape`, or `"backend": "gradtape"` in Keras's settings, is enough for a
program that imports only Keras. It imports nothing but `sys`: programs that never use Keras pay for
it too.
"""

from __future__ import annotations

import sys
from typing import Any

_BACKENDS = frozenset(("tensorflow", "jax", "torch", "openvino"))


class _First:
    """Asked before all others: when Keras is imported,
    gives it the backend if it is told to use it.
    """

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        if name != "keras":
            return None
        from keras_gradtape.hook import offer_if_told  # noqa: PLC0415 - for programs that use Keras

        finder = offer_if_told()
        return None if finder is None else finder.find_spec(name, path, target)


class _Last:
    """Asked for what nobody has found: if it is a backend that Keras wants,
    the error says why Keras does.
    """

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> None:
        if name in _BACKENDS and "keras" in sys.modules:
            from keras_gradtape.hook import explain_missing  # noqa: PLC0415 - as above

            explain_missing(name)


sys.meta_path.insert(0, _First())
sys.meta_path.append(_Last())
