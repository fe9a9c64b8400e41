"""`np.random.choice` for probabilities that are Tensors, which NumPy checks more strictly than
arrays.

NumPy refuses probabilities that do not add up to 1 within 1e-8, and within 3e-4 if they are an
array of float32. A Tensor is not an array, and NumPy has no protocol for this function, so
`np.random.choice(n, p=np.squeeze(probabilities))`, a line found in many reinforcement learning
programs, would be refused for most float32 Tensors. While gradtape is imported, the function passes
their array to NumPy.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import wraps
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import ModuleType
from typing import Any

import numpy as np

from gradtape.convert import is_tensor_like

_MODULE = "numpy.random"


def takes_tensors(original: Callable[..., Any]) -> Callable[..., Any]:
    """NumPy's `choice` with the arrays of Tensors and Variables among its arguments."""

    @wraps(original)
    def choice(*args: Any, **keywords: Any) -> Any:
        return original(
            *map(_array, args), **{name: _array(value) for name, value in keywords.items()}
        )

    choice.takes_tensors = True  # type: ignore[attr-defined]
    return choice


def _array(value: Any) -> Any:
    return np.asarray(value) if is_tensor_like(value) else value


class _Loader(SourceFileLoader):
    """Loads `numpy.random`, which NumPy does when it is first used."""

    def exec_module(self, module: ModuleType) -> None:
        super().exec_module(module)
        _serve(module)


class _Finder:
    serves = _MODULE

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        if name != _MODULE:
            return None
        spec = PathFinder.find_spec(name, path, target)
        if spec is not None and type(spec.loader) is SourceFileLoader:
            spec.loader = _Loader(spec.loader.name, spec.loader.path)
        return spec


def _serve(module: Any) -> None:
    if not hasattr(module.choice, "takes_tensors"):
        module.choice = takes_tensors(module.choice)


def serve_choice() -> None:
    """Has `np.random.choice` take Tensors, now or when NumPy loads it."""
    loaded = sys.modules.get(_MODULE)
    if loaded is not None:
        _serve(loaded)
    elif not any(getattr(finder, "serves", None) == _MODULE for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder())
