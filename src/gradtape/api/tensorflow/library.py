"""`tf.version` and `tf.sysconfig`: what the library says of itself."""

from __future__ import annotations

import platform
from importlib import metadata
from pathlib import Path

from gradtape.published import published

INTERFACE = "2.21.0"
"""TensorFlow's version whose interface this is."""


def full_version() -> str:
    """TensorFlow's version, and gradtape's own as its local part."""
    try:
        own = metadata.version("gradtape")
    except metadata.PackageNotFoundError:  # used from a folder, without having been installed
        own = "unknown"
    return f"{INTERFACE}+gradtape.{own}"


VERSION = full_version()
GIT_VERSION = f"v{VERSION}"
COMPILER_VERSION = platform.python_compiler()
"""That of Python: gradtape itself is not compiled."""
GRAPH_DEF_VERSION = 2474
"""TensorFlow's number for the graphs of this interface; there are no such graphs here."""
GRAPH_DEF_VERSION_MIN_CONSUMER = 0
GRAPH_DEF_VERSION_MIN_PRODUCER = 0


@published("sysconfig.get_build_info")
def get_build_info() -> dict[str, bool]:
    """For which devices the library itself was built: for none, since it is pure Python.

    GPUs are JAX's matter, see `tf.config.list_physical_devices`.

    >>> import gradtape as tf
    >>> tf.sysconfig.get_build_info()["is_cuda_build"]
    False
    """
    return {"is_cuda_build": False, "is_rocm_build": False, "is_tensorrt_build": False}


@published("sysconfig.get_lib")
def get_lib() -> str:
    """The folder of the library.

    >>> import gradtape as tf
    >>> tf.sysconfig.get_lib().endswith("gradtape")
    True
    """
    return str(Path(__file__).parents[2])


PUBLISHED = {
    "version.COMPILER_VERSION": COMPILER_VERSION,
    "version.GIT_VERSION": GIT_VERSION,
    "version.GRAPH_DEF_VERSION": GRAPH_DEF_VERSION,
    "version.GRAPH_DEF_VERSION_MIN_CONSUMER": GRAPH_DEF_VERSION_MIN_CONSUMER,
    "version.GRAPH_DEF_VERSION_MIN_PRODUCER": GRAPH_DEF_VERSION_MIN_PRODUCER,
    "version.VERSION": VERSION,
}
