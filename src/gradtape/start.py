"""What `import gradtape` does besides importing the public names, and the names that are resolved
when they are first used.
"""

import typing
from importlib import import_module

from gradtape import dtypes
from gradtape.api.numpy import choice
from gradtape.api.tensorflow import experimental_dtypes, keras_imports
from gradtape.api.tensorflow.complex_numbers import complex
from gradtape.api.tensorflow.conversion import saturate_cast
from gradtape.api.tensorflow.creation import cast
from gradtape.ops import operators  # noqa: F401 - Tensors have their operators from it

# `tf.dtypes` has functions too; the module itself is the lowest layer, and knows no op.
dtypes.cast = cast  # type: ignore[attr-defined]
dtypes.complex = complex  # type: ignore[attr-defined]
dtypes.saturate_cast = saturate_cast  # type: ignore[attr-defined]
dtypes.experimental = experimental_dtypes  # type: ignore[attr-defined]

keras_imports.serve_keras()
choice.serve_choice()

LOADED_WHEN_USED = (
    "array_api",
    "autograph",
    "bitwise",
    "callbacks",
    "config",
    "experimental",
    "image",
    "io",
    "keras",
    "numpy",
    "profiler",
    "quantization",
    "signal",
    "sparse",
    "summary",
    "test",
    "testing",
    "train",
    "types",
)
"""Namespaces that few programs use, which keeps `import gradtape` short.

Read by `tools/names.py`.
"""

if typing.TYPE_CHECKING:  # what `__getattr__` finds and is not a module of gradtape
    import keras as keras  # noqa: PLC0414 - `gradtape` imports it from here

    __version__: str
    """TensorFlow's version whose interface this is, and then gradtape's own: programs that ask for
    TensorFlow 2.x find it."""


def __getattr__(name: str) -> object:
    """What `gradtape` imports when it is first used; a type checker does not see this,
    so that it finds a misspelt name.
    """
    if name == "__version__":
        return _versions()
    if name in LOADED_WHEN_USED:
        try:
            return import_module(f"gradtape.{name}")
        except ImportError as error:
            if error.name != "keras":
                raise
            # So that `hasattr` can ask for it.
            raise AttributeError(str(error), name=name, obj=None) from None
    raise AttributeError(f"module 'gradtape' has no attribute '{name}'")


def __dir__() -> list[str]:
    """The public names of `gradtape` and what every module has,
    without the folders that they are defined in.
    """
    gradtape = import_module("gradtape")
    own = [name for name in vars(gradtape) if name.startswith("__")]
    return sorted({*gradtape.__all__, *LOADED_WHEN_USED, *own, "__version__"})


def _versions() -> str:
    from importlib import metadata  # noqa: PLC0415 - it takes long to import, and few ask

    try:
        own = metadata.version("gradtape")
    except metadata.PackageNotFoundError:  # used from a folder, without having been installed
        own = "unknown"
    return f"2.21.0+gradtape.{own}"
