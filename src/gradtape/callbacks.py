"""Callbacks for Keras models on gradtape: Keras is imported when the first of them is used."""

import typing
from importlib import import_module

__all__ = ["ExplainNonFinite"]

if typing.TYPE_CHECKING:
    from keras_gradtape.src.callbacks import ExplainNonFinite


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        import_module("keras_gradtape").install()
        return getattr(import_module("keras_gradtape.src.callbacks"), name)
    except ImportError as error:
        if error.name != "keras":
            raise
        # So that `hasattr` can ask for it.
        raise AttributeError(str(error), name=name, obj=None) from None


def __dir__() -> list[str]:
    return __all__
