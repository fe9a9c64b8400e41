"""What gradtape aims at beside its peers, and whether a run reached it."""

from collections.abc import Iterator
from dataclasses import dataclass

from benchmarks import busy, changing_shapes, data, keras_models, many_variables
from benchmarks.libraries import BY_HAND, CONTENDERS, FUNCTION, GRADTAPE
from benchmarks.results import Results
from benchmarks.workloads import TIMED, TRAINING

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
        row = results.figures(self.measure).get(self.workload, {})
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
        what = _SAID.get(self.measure, "time")
        if self.at_least:
            return f"{peer} takes at least {self.limit:g} × its {what}"
        return f"at most {self.limit:g} × the {what} of {peer}"


_SAID = {
    "memory": "memory",
    "first_calls": "first call",
    "keras_predict": "`predict`",
    "keras_first": "first step",
    "busy": "time on a busy machine",
}
"""What is compared, where it is not the time of a step."""


def eager(workload: str, limit: float, *peers: str, at_least: bool = False) -> Aim:
    return Aim(workload, GRADTAPE, peers, limit, at_least)


def compiled(workload: str, limit: float, *peers: str, at_least: bool = False) -> Aim:
    return Aim(workload, FUNCTION, peers, limit, at_least)


AIMS = [
    eager("small_mlp", 1.8, BY_HAND),
    eager("small_mlp", 2.5, "PyTorch", at_least=True),
    eager("small_mlp", 20, "TensorFlow", at_least=True),
    compiled("small_mlp", 3, "tf.function", at_least=True),
    compiled("small_mlp", 1.05, "jax.jit"),
    eager("chain", 1.9, BY_HAND),
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
    eager("cnn", 1.2, "PyTorch"),
    compiled("cnn", 1, *COMPILED_PEERS),
    eager("lstm", 1, "PyTorch"),
    eager("lstm", 1, "TensorFlow"),
    compiled("lstm", 1.05, "jax.jit"),
    compiled("lstm", 1, "tf.function"),
    eager("transformer", 1.1, "PyTorch"),
    eager("transformer", 1, "TensorFlow"),
    compiled("transformer", 1.05, "jax.jit"),
    eager("embedding", 1, *EAGER_PEERS),
    compiled("embedding", 1, *COMPILED_PEERS),
    eager("jacobian", 5, "TensorFlow", at_least=True),
    eager("jacobian", 1, "tf.function"),
    compiled("jacobian", 1.1, "jax.jit"),
    eager("batch_jacobian", 5, "TensorFlow", at_least=True),
    eager("batch_jacobian", 1, "tf.function"),
    compiled("batch_jacobian", 1.05, "jax.jit"),
    eager("hessian", 5, "TensorFlow", at_least=True),
    compiled("hessian", 1.1, "jax.jit"),
    eager("burgers_nested", 2, "TensorFlow", at_least=True),
    compiled("burgers", 1.1, "jax.jit"),
    eager("burgers", 1, "PyTorch"),
    eager("gaussian_process", 1, "TensorFlow"),
    compiled("burgers_nested", 1, "tf.function"),
    *(Aim(name, GRADTAPE, ("PyTorch",), 1, measure="memory") for name in ("large_mlp", "cnn")),
    *(Aim(name, FUNCTION, ("jax.jit",), 1, measure="memory") for name in ("large_mlp", "cnn")),
    *(Aim(w.name, FUNCTION, ("tf.function",), 1, measure="first_calls") for w in TIMED),
    *(
        Aim(title, GRADTAPE, ("Keras on TensorFlow", "Keras on JAX"), 1, measure=measure)
        for measure in ("keras_fit", "keras_predict")
        for title in keras_models.MODELS
    ),
    *(
        Aim(title, GRADTAPE, ("Keras on TensorFlow",), 1, measure="keras_first")
        for title in keras_models.MODELS
    ),
    Aim(changing_shapes.FIRST, FUNCTION, ("tf.function",), 1.3, measure="changing_shapes"),
    *(
        Aim(row, FUNCTION, ("jax.jit",), limit, measure="many_variables")
        for row, limit in many_variables.LIMITS.items()
    ),
    *(
        Aim(pipeline, GRADTAPE, (data.TENSORFLOW,), limit, at_least=True, measure="data")
        for pipeline, limit in data.LIMITS.items()
    ),
    *(Aim(w.name, GRADTAPE, (busy.ONE_THREAD,), busy.AIM, measure="busy") for w in TRAINING),
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
