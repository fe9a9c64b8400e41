"""Writes `src/gradtape/compat/tensorflow_names.txt`: every public name of the TensorFlow that runs
this, a line for each namespace.

    .venv-tf/bin/python tools/tensorflow_names.py
"""

import os
from pathlib import Path
from types import ModuleType

LIST = Path(__file__).parents[1] / "src" / "gradtape" / "compat" / "tensorflow_names.txt"
OWN = ("tensorflow._api", "tensorflow.experimental", "keras.")

AGAIN = ("tf.compat.v1.compat", "tf.compat.v1.keras", "tf.compat.v1.raw_ops", "tf.compat.v2")
"""Namespaces that are listed elsewhere."""


def names(module, namespace):
    """The public names of a namespace and of those in it: pairs of namespace and names."""
    public = [name for name in dir(module) if not name.startswith("_")]
    yield namespace, public
    for name in public:
        below = getattr(module, name)
        full = f"{namespace}.{name}"
        if full in AGAIN or not isinstance(below, ModuleType):
            continue
        if _name(below).startswith(OWN) and not _name(below).startswith("keras.src"):
            yield from names(below, full)


def _name(module):
    try:
        return module.__name__
    except AttributeError:  # a module that TensorFlow cannot load
        return ""


def main():
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    import tensorflow as tf

    lines = [f"{namespace}: {' '.join(public)}" for namespace, public in names(tf, "tf")]
    text = f"# Written by tools/tensorflow_names.py from TensorFlow {tf.__version__}.\n"
    LIST.write_text(text + "\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
