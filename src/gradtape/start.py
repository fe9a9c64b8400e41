"""What `import gradtape` does besides importing the public names, and the names that are resolved
when they are first used.
"""

import typing
from importlib import import_module

from gradtape import dtypes, errors, nest
from gradtape.absent import absent_from, found_below, serve_absent
from gradtape.api.numpy import choice
from gradtape.api.tensorflow import experimental_dtypes, keras_imports
from gradtape.api.tensorflow.complex_numbers import complex
from gradtape.api.tensorflow.conversion import saturate_cast
from gradtape.api.tensorflow.creation import cast
from gradtape.ops import operators  # noqa: F401 - Tensors have their operators from it
from gradtape.published import published

# `tf.dtypes` has functions too; the module itself is the lowest layer, and knows no op.
dtypes.bool = dtypes.bool_  # type: ignore[attr-defined]
dtypes.cast = cast  # type: ignore[attr-defined]
dtypes.complex = complex  # type: ignore[attr-defined]
dtypes.saturate_cast = saturate_cast  # type: ignore[attr-defined]
dtypes.experimental = experimental_dtypes  # type: ignore[attr-defined]

choice.serve_choice()
serve_absent()
for _module in (dtypes, errors, nest):  # the lowest layer, which knows nothing of this
    vars(_module)["__getattr__"] = absent_from(_module.__name__)
vars(experimental_dtypes)["__getattr__"] = absent_from("gradtape.dtypes.experimental")

LOADED_WHEN_USED = (
    "__internal__",
    "array_api",
    "autograph",
    "bitwise",
    "bridge",
    "callbacks",
    "compat",
    "config",
    "data",
    "distribute",
    "experimental",
    "image",
    "lookup",
    "io",
    "numpy",
    "optimize",
    "profiler",
    "quantization",
    "ragged",
    "raw_ops",
    "saved_model",
    "scipy",
    "sets",
    "signal",
    "sparse",
    "sysconfig",
    "strings",
    "summary",
    "test",
    "testing",
    "train",
    "types",
    "version",
)
"""Namespaces that few programs use, which keeps `import gradtape` short.

Read by `tools/names.py`.
"""

FOUND_WHEN_USED = {
    "RaggedTensor": "gradtape.ragged.tensor",
    "RaggedTensorSpec": "gradtape.ragged.spec",
    "as_string": "gradtape.strings.joining",
}
"""Names of `gradtape` itself that are defined in such namespaces, and their modules.

Read by `tools/names.py`.
"""

IMPORTED_WHEN_USED = ("gradtape.api.tensorflow.linalg.operators",)
"""Folders of definitions that few programs use: their namespaces import them when they are first
used.

Read by `tools/names.py`.
"""

OF_KERAS = (
    "activations",
    "initializers",
    "keras",
    "losses",
    "metrics",
    "optimizers",
    "regularizers",
)
"""Keras, and those of its namespaces that `gradtape` has too.

Read by `tools/names.py`.
"""

keras_imports.serve_keras(OF_KERAS)

if typing.TYPE_CHECKING:  # what `__getattr__` finds and is not a module of gradtape
    import keras as keras  # noqa: PLC0414 - `gradtape` imports it from here
    from keras import activations as activations  # noqa: PLC0414
    from keras import initializers as initializers  # noqa: PLC0414
    from keras import losses as losses  # noqa: PLC0414
    from keras import metrics as metrics  # noqa: PLC0414
    from keras import optimizers as optimizers  # noqa: PLC0414
    from keras import regularizers as regularizers  # noqa: PLC0414

    __version__: str
    """TensorFlow's version whose interface this is, and then gradtape's own: programs that ask for
    TensorFlow 2.x find it."""


@published("install_as_tensorflow")
def install_as_tensorflow() -> None:
    """Lets `import tensorflow` import gradtape from now on, in a notebook for instance.

    `python -m gradtape script.py` does it for a program. It refuses if TensorFlow itself has been
    imported. Processes that `multiprocessing` starts know `tensorflow` too.

    >>> import subprocess, sys
    >>> program = "import gradtape; gradtape.install_as_tensorflow(); import tensorflow as tf; "
    >>> program += "print(tf.reduce_sum([1.0, 2.0]).numpy())"
    >>> print(subprocess.check_output([sys.executable, "-c", program], text=True))
    3.0
    <BLANKLINE>
    """
    import_module("gradtape.compat.tensorflow_imports").install()


def __getattr__(name: str) -> object:
    """What `gradtape` imports when it is first used; a type checker does not see this,
    so that it finds a misspelt name.
    """
    if name == "__version__":
        return import_module("gradtape.api.tensorflow.library").full_version()
    if name == "enable_v2_behavior":  # of tf.compat.v2, which is gradtape itself
        return import_module("gradtape.compat.v1").enable_v2_behavior
    if name in FOUND_WHEN_USED:
        found = getattr(import_module(FOUND_WHEN_USED[name]), name)
        vars(import_module("gradtape"))[name] = found  # the next use asks nobody
        return found
    if name in LOADED_WHEN_USED or name in OF_KERAS:
        try:
            return import_module(f"gradtape.{name}")
        except ImportError as error:
            if error.name != "keras":
                raise
            # So that `hasattr` can ask for it.
            raise AttributeError(str(error), name=name, obj=None) from None
    raise found_below("", name)


def __dir__() -> list[str]:
    """The public names of `gradtape` and what every module has,
    without the folders that they are defined in.
    """
    gradtape = import_module("gradtape")
    own = [name for name in vars(gradtape) if name.startswith("__")]
    return sorted({*gradtape.__all__, *LOADED_WHEN_USED, *OF_KERAS, *own, "__version__"})
