"""The few ops that core itself calls. Core may not import `gradtape.ops`, so that layer puts them in here."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradtape.core.tensor import Tensor


class NeededOps:
    """Filled in when `gradtape.ops` is imported; each takes arrays or Tensors, like every op."""

    concatenate_rows: Any
    scatter_rows: Any
    cast: Any
    convert: Any
    broadcast_to: Any
    conj: Any
    sum_to_shape: Any
    reshape: Any
    getitem: Any
    stack: Any
    drop: Any
    equal: Any
    times: Any
    xla_kernel: Any  # of a NumPy kernel, XLA's kernel for the same op; None for what is no op's kernel

    @staticmethod
    def zeros(shape: tuple[int, ...], dtype: Any) -> Tensor:
        return Tensor(np.zeros(shape, dtype))


needed = NeededOps()
