"""What `make bench` measures beside the steps of the workloads: sections of the page, each with its
tables.
"""

from collections.abc import Callable
from dataclasses import dataclass

from benchmarks import busy, changing_shapes, data, keras_models, many_variables
from benchmarks.results import Figures


@dataclass(frozen=True)
class Section:
    """A module's figures, for the run and for the page; `said` stands above its tables, whose
    headings are by the names of the tables.
    """

    title: str
    said: str
    tables: dict[str, str]
    measure: Callable[[bool], dict[str, Figures]]  # told whether the run is a quick one
    unit: str = "ms"


SECTIONS = (
    Section(
        "Keras",
        "Ordinary models of Keras with Adam, on two backends beside gradtape's, from the same "
        "weights on the same batches: `python -m benchmarks.keras_models`.",
        {
            "keras_fit": "A step of `fit`:",
            "keras_predict": "`predict` of one batch:",
            "keras_first": "The first call of `fit`, for one step:",
        },
        keras_models.figures,
    ),
    Section(
        "Shapes that change",
        "A text classifier with attention is trained by a function whose signature leaves sizes "
        "open, for epochs of 60 steps, each of another length: "
        "`python -m benchmarks.changing_shapes`.",
        {"changing_shapes": "The epochs:"},
        changing_shapes.figures,
    ),
    Section(
        "Many Variables",
        "A training step of dense layers, with a Variable for each weight: what tracing it takes, "
        "and a compiled call that reads and writes them all. In JAX they are arguments and "
        "results: `python -m benchmarks.many_variables`.",
        {"many_variables": "Without compiling:"},
        many_variables.figures,
    ),
    Section(
        "Input pipelines",
        "Images of 28 × 28 in batches of 64: `python -m benchmarks.data`.",
        {"data": "A batch:"},
        data.figures,
        "µs",
    ),
    Section(
        "A busy machine",
        "The mean eager step beside four processes that keep the cores busy, and of gradtape also "
        "with one BLAS thread from the start: `python -m benchmarks.busy`.",
        {"busy": "The steps:"},
        busy.figures,
    ),
)
