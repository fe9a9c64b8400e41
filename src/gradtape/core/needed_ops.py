"""The few ops that core itself calls. Core may not import `gradtape.ops`, so that layer puts them in here."""

from __future__ import annotations

from typing import Any


class NeededOps:
    """Filled in when `gradtape.ops` is imported; each takes arrays or Tensors, like every op."""

    add: Any
    concatenate_rows: Any
    scatter_rows: Any
    cast: Any
    broadcast_to: Any
    conj: Any
    sum_to_shape: Any


needed = NeededOps()
