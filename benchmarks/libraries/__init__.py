"""The workloads in each library: a module each, whose `STEPS` has a function for each workload that
makes the step to be timed.

A step computes the loss and all its gradients, or a Jacobian, and returns these as a list when they
are there. A module leaves out what its library has no way to do, or none that a user would wait
for.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from shutil import which
from typing import Any

from benchmarks.workloads import Inputs


@dataclass(frozen=True)
class Step:
    """What is timed: a function and its arguments.

    Where it changes something instead of returning it, `read` gives that.
    """

    function: Callable[..., Any]
    arguments: tuple[Any, ...] = ()
    read: Callable[[], Any] | None = None


Maker = Callable[[Inputs], Step]

GRADTAPE = "gradtape"
FUNCTION = "gradtape.function"
BY_HAND = "NumPy by hand"


@dataclass(frozen=True)
class Contender:
    """A library in one of its ways to run: op by op, or compiled."""

    title: str
    package: str  # what is imported
    module: str  # in this folder
    compiled: bool = False
    distribution: str = ""  # where it is installed under another name
    needs: tuple[str, ...] = ()  # other packages that it imports
    compiler: str = ""  # the program that it calls
    slow_to_start: bool = False  # so that a quick run leaves it out

    @property
    def version(self) -> str:
        try:
            return version(self.distribution or self.package)
        except PackageNotFoundError:
            return "from its sources"

    def steps(self) -> Mapping[str, Maker]:
        return import_module(f"{__name__}.{self.module}").STEPS

    @property
    def runs_here(self) -> bool:
        packages = all(map(find_spec, (self.package, *self.needs)))
        return packages and (not self.compiler or which(self.compiler) is not None)


CONTENDERS = (
    Contender(GRADTAPE, "gradtape", "in_gradtape"),
    Contender(BY_HAND, "numpy", "in_numpy"),
    Contender("autograd", "autograd", "in_autograd"),
    Contender("PyTorch", "torch", "in_torch"),
    Contender("TensorFlow", "tensorflow", "in_tensorflow", distribution="tensorflow_cpu"),
    Contender("tinygrad", "tinygrad", "in_tinygrad", compiler="clang", slow_to_start=True),
    Contender(FUNCTION, "gradtape", "in_gradtape_function", compiled=True, needs=("jax",)),
    Contender("jax.jit", "jax", "in_jax", compiled=True),
    Contender(
        "tf.function",
        "tensorflow",
        "in_tensorflow_function",
        compiled=True,
        distribution="tensorflow_cpu",
    ),
    Contender(
        "tf.function, XLA",
        "tensorflow",
        "in_tensorflow_xla",
        compiled=True,
        distribution="tensorflow_cpu",
    ),
    Contender(
        "TinyJit",
        "tinygrad",
        "in_tinygrad_jit",
        compiled=True,
        compiler="clang",
        slow_to_start=True,
    ),
)


def here() -> list[Contender]:
    """gradtape, NumPy, and the peers that run in this environment."""
    return [contender for contender in CONTENDERS if contender.runs_here]


def named(*makers: Callable[..., Step]) -> dict[str, Callable[..., Step]]:
    return {make.__name__: make for make in makers}


def compiled(
    makers: Mapping[str, Maker], compiler: Callable[[Callable[..., Any]], Callable[..., Any]]
) -> dict[str, Maker]:
    """The same steps, each compiled as a whole."""

    def wrapped(make: Maker) -> Maker:
        def make_compiled(inputs: Inputs) -> Step:
            step = make(inputs)
            return replace(step, function=compiler(step.function))

        return make_compiled

    return {name: wrapped(make) for name, make in makers.items()}
