"""The few ops that core itself calls.

Core may not import `gradtape.ops`, so that layer registers them here.
"""

from __future__ import annotations

from typing import Any


class NeededOps:
    """Filled in when `gradtape.ops` is imported; each takes arrays or Tensors, like every op."""

    concatenate_rows: Any
    scatter_rows: Any
    cast: Any
    broadcast_to: Any
    conj: Any
    sum_to_shape: Any
    reshape: Any
    getitem: Any
    matrix_transpose: Any
    stack: Any
    drop: Any
    equal: Any
    times: Any
    operators: Any  # the module of Python's operators
    write_operator: Any  # gives the function of an operator the code of an op
    write_walk: Any  # writes a walk that repeats as a function
    # Of a NumPy kernel, XLA's kernel for the same op; None for what is no op's kernel.
    xla_kernel: Any
    is_pure: Any  # whether a NumPy kernel is an op's that may run again


needed = NeededOps()
