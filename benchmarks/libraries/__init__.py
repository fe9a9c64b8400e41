"""The workloads in each library: a module each, with one function per workload that makes the step to be timed.

A step computes the loss and all its gradients, or a Jacobian, and returns these as a list. A module leaves out what its library
has no way to do, or none that a user would wait for.
"""

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from types import ModuleType
from typing import Any

Step = Callable[[], Any]

BASELINE = "NumPy by hand"
BY_HAND = "JAX, compiled"


@dataclass(frozen=True)
class Library:
    title: str
    package: str  # what is imported
    module: str  # in this folder
    memory_is_traced: bool = False  # whether its arrays are NumPy's, which tell tracemalloc of their memory
    distributions: tuple[str, ...] = ()  # where it is installed under other names
    needs: tuple[str, ...] = ()  # other packages that it imports
    compiles: bool = False  # whether each step is compiled as a whole

    @property
    def version(self) -> str:
        for distribution in self.distributions or (self.package,):
            try:
                return version(distribution)
            except PackageNotFoundError:
                continue
        return "(not installed)"

    def steps(self) -> ModuleType:
        return import_module(f"{__name__}.{self.module}")


LIBRARIES = (
    Library("gradtape", "gradtape", "in_gradtape", memory_is_traced=True),
    Library(BASELINE, "numpy", "in_numpy", memory_is_traced=True),
    Library("autograd", "autograd", "in_autograd", memory_is_traced=True),
    Library("PyTorch", "torch", "in_torch"),
    Library("TensorFlow", "tensorflow", "in_tensorflow", distributions=("tensorflow", "tensorflow_cpu")),
    Library("gradtape.function", "gradtape", "in_gradtape_function", needs=("jax",), compiles=True),
    Library("tf.function", "tensorflow", "in_tensorflow_function", distributions=("tensorflow", "tensorflow_cpu"), compiles=True),
    Library(BY_HAND, "jax", "in_jax", compiles=True),
)


def installed() -> list[Library]:
    """gradtape, NumPy, and the peers that this environment has."""
    return [library for library in LIBRARIES if all(map(find_spec, (library.package, *library.needs)))]
