"""`tf.distribute.experimental`: options of strategies."""

# Written by `make names`: the decorators at the definitions say what is public.

import typing as _typing

from gradtape.distribute.options import (
    CollectiveHints,
    CommunicationImplementation,
    CommunicationOptions,
    ValueContext,
)
from gradtape.distribute.options import CommunicationImplementation as CollectiveCommunication
from gradtape.distribute.strategy import TPUStrategy
from gradtape.distribute.workers import MultiWorkerMirroredStrategy

if not _typing.TYPE_CHECKING:  # a type checker would take any name to be there
    from gradtape.absent import absent_from as _absent_from

    __getattr__ = _absent_from(__name__)

__all__ = [
    "CollectiveCommunication", "CollectiveHints", "CommunicationImplementation",
    "CommunicationOptions", "MultiWorkerMirroredStrategy", "TPUStrategy", "ValueContext",
]  # fmt: skip
