"""The adapter of tensorflow_probability.

Its NumPy backend, which also computes what is known while a function is traced, gives some 500 of
its functions the docstrings and the signatures of TensorFlow's, and asks TensorFlow for each: also
for those of TensorFlow 1's graphs, which gradtape has not. Such a function then keeps its own.
"""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any


def adapt(module: ModuleType) -> None:
    """Lets `_utils.copy_docstring` return the function that it is given where there is no other."""
    copied: Callable[[str, Any], Any] = module.copy_docstring

    def copy_docstring(tf_method_name: str, new_fn: Any) -> Any:
        try:
            return copied(tf_method_name, new_fn)
        except AttributeError:
            return new_fn

    module.copy_docstring = copy_docstring  # type: ignore[attr-defined]
