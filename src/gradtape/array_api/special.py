"""`gradtape.array_api.special`: the ufuncs of `scipy.special`, which are recorded for Tensors.

The standard has no such extension yet. But SciPy looks for it when SCIPY_ARRAY_API=1 is set, before
it falls back to values.
"""

from __future__ import annotations

from typing import Any

import numpy as np


def __getattr__(name: str) -> Any:
    from scipy import special  # noqa: PLC0415

    found = getattr(special, name, None)
    ufunc = getattr(found, "__wrapped__", found)
    if not isinstance(ufunc, np.ufunc):
        raise AttributeError(f"module 'gradtape.array_api.special' has no attribute '{name}'")
    return ufunc
