"""`tf.experimental.dtensor`: Variables and tensors that are divided among devices."""

# Written by `make names`: the decorators at the definitions say what is public.

import typing as _typing

from gradtape.distribute.layouts import (
    UNSHARDED,
    Layout,
    call_with_layout,
    fetch_layout,
    lay_out,
    relayout,
)
from gradtape.distribute.meshes import Mesh, create_distributed_mesh, create_mesh

if not _typing.TYPE_CHECKING:  # a type checker would take any name to be there
    from gradtape.absent import absent_from as _absent_from

    __getattr__ = _absent_from(__name__)

__all__ = [
    "UNSHARDED", "Layout", "Mesh", "call_with_layout", "create_distributed_mesh", "create_mesh",
    "fetch_layout", "lay_out", "relayout",
]  # fmt: skip
