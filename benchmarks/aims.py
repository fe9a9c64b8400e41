"""What gradtape aims at beside its peers, and whether a run reached it."""

from collections.abc import Iterator
from dataclasses import dataclass

from benchmarks.libraries import BY_HAND, CONTENDERS, FUNCTION, GRADTAPE
from benchmarks.results import Figures, Results

EAGER_PEERS = tuple(
    c.title for c in CONTENDERS if not c.compiled and c.title not in (GRADTAPE, BY_HAND)
)
COMPILED_PEERS = tuple(c.title for c in CONTENDERS if c.compiled and c.title != FUNCTION)
XLA_PEERS = ("jax.jit", "tf.function, XLA")


@dataclass(frozen=True)
class Aim:
    """A figure and its limit: `ours` over the best of `peers`, or the best of the peers over ours
    if that is to be `at_least`.
    """

    workload: str
    ours: str
    peers: tuple[str, ...]
    limit: float
    at_least: bool = False
    measure: str = "steps"

    def figure(self, results: Results) -> float | None:
        """None if the run did not measure it."""
        measured: Figures = getattr(results, self.measure)
        row = measured.get(self.workload, {})
        peers = [row[peer] for peer in self.peers if peer in row]
        if self.ours not in row or not peers:
            return None
        return min(peers) / row[self.ours] if self.at_least else row[self.ours] / min(peers)

    def met(self, results: Results) -> bool | None:
        figure = self.figure(results)
        return (
            None
            if figure is None
            else figure >= self.limit
            if self.at_least
            else figure <= self.limit
        )

    @property
    def said(self) -> str:
        among = {EAGER_PEERS: "the best peer", COMPILED_PEERS: "the best peer"}
        peer = among.get(self.peers, " and ".join(self.peers))
        what = "memory" if self.measure == "memory" else "time"
        if self.at_least:
            return f"{peer} takes at least {self.limit:g} × its {what}"
        return f"at most {self.limit:g} × the {what} of {peer}"


def eager(workload: str, limit: float, *peers: str, at_least: bool = False) -> Aim:
    return Aim(workload, GRADTAPE, peers, limit, at_least)


def compiled(workload: str, limit: float, *peers: str, at_least: bool = False) -> Aim:
    return Aim(workload, FUNCTION, peers, limit, at_least)


AIMS = [
    eager("small_mlp", 2.2, BY_HAND),
    eager("small_mlp", 2.5, "PyTorch", at_least=True),
    eager("small_mlp", 20, "TensorFlow", at_least=True),
    compiled("small_mlp", 3, "tf.function", at_least=True),
    compiled("small_mlp", 1.1, "jax.jit"),
    eager("chain", 3, BY_HAND),
    eager("chain", 1.5, "PyTorch", at_least=True),
    eager("chain", 10, "TensorFlow", at_least=True),
    compiled("chain", 1.1, "jax.jit"),
    eager("large_mlp", 1.05, BY_HAND),
    eager("large_mlp", 1, "PyTorch"),
    eager("large_mlp", 1, "TensorFlow"),
    compiled("large_mlp", 1, *COMPILED_PEERS),
    eager("elementwise", 1, "PyTorch"),
    compiled("elementwise", 1.05, *XLA_PEERS),
    eager("cnn", 1, "TensorFlow"),
    compiled("cnn", 1, *COMPILED_PEERS),
    eager("lstm", 1, "PyTorch"),
    eager("lstm", 1, "TensorFlow"),
    compiled("lstm", 1.05, "jax.jit"),
    eager("transformer", 1, "PyTorch"),
    eager("transformer", 1, "TensorFlow"),
    compiled("transformer", 1.05, "jax.jit"),
    eager("embedding", 1, *EAGER_PEERS),
    compiled("embedding", 1, *COMPILED_PEERS),
    eager("jacobian", 5, "TensorFlow", at_least=True),
    eager("jacobian", 1, "tf.function"),
    compiled("jacobian", 1.1, "jax.jit"),
    eager("batch_jacobian", 5, "TensorFlow", at_least=True),
    eager("batch_jacobian", 1, "tf.function"),
    compiled("batch_jacobian", 1.1, "jax.jit"),
    eager("hessian", 5, "TensorFlow", at_least=True),
    compiled("hessian", 1.1, "jax.jit"),
    eager("burgers_nested", 2, "TensorFlow", at_least=True),
    compiled("burgers", 1.1, "jax.jit"),
    *(Aim(name, GRADTAPE, ("PyTorch",), 1, measure="memory") for name in ("large_mlp", "cnn")),
    *(Aim(name, FUNCTION, ("jax.jit",), 1, measure="memory") for name in ("large_mlp", "cnn")),
]
MEASURED_IN_MEMORY = {
    title for aim in AIMS if aim.measure == "memory" for title in (aim.ours, *aim.peers)
}


@dataclass(frozen=True)
class Outcome:
    """One line of the report: what was asked for, the figure, and whether it was met;
    None if it was not measured.
    """

    workload: str
    by: str
    said: str
    figure: str
    met: bool | None


def outcomes(results: Results) -> Iterator[Outcome]:
    for aim in AIMS:
        figure = aim.figure(results)
        yield Outcome(
            aim.workload,
            aim.ours,
            aim.said,
            "-" if figure is None else f"{figure:.2f} ×",
            aim.met(results),
        )
    ours = {name: row[GRADTAPE] for name, row in results.steps.items() if GRADTAPE in row}
    yield _absolute(
        "import", "under 60 ms on top of NumPy", results.imports.get("gradtape"), 0.06, 1e3, "ms"
    )
    if "tall_jacobian" in ours:
        passes = ours["tall_jacobian"] / (3 * ours["curves"])
        yield _absolute(
            "tall_jacobian",
            "at most 3 forward passes for each of 3 parameters",
            passes,
            3,
            1,
            "passes",
        )
        faster = ours["burgers"] / ours["burgers_nested"]
        yield _absolute("burgers", "`derivatives` faster than nested tapes", faster, 1, 1, "×")
        yield _absolute("sparse_jacobian", "under a second", ours["sparse_jacobian"], 1, 1e3, "ms")
    limited = results.memory.get("limited_jacobian", {}).get(GRADTAPE)
    yield _absolute(
        "limited_jacobian",
        "within 500 MB and its result of 31 MB",
        limited,
        531 * 2**20,
        2**-20,
        "MB",
    )


def _absolute(
    workload: str, said: str, figure: float | None, limit: float, scale: float, unit: str
) -> Outcome:
    if figure is None:
        return Outcome(workload, GRADTAPE, said, "-", None)
    return Outcome(workload, GRADTAPE, said, f"{figure * scale:,.1f} {unit}", figure <= limit)
