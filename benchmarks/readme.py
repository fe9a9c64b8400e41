"""The figures in the README, which `make bench` writes: some of those of its page.

They stand between comments that name a part; everything else in the README is written by hand.
"""

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from textwrap import fill

from benchmarks.libraries import BY_HAND, FUNCTION, GRADTAPE
from benchmarks.report import as_markdown, quantities, quantity
from benchmarks.results import HERE, Figures, Results
from benchmarks.workloads import TRAINING

README = HERE.parent / "README.md"
EAGER = [GRADTAPE, BY_HAND, "PyTorch", "TensorFlow"]
COMPILED = [FUNCTION, "jax.jit", "tf.function"]
BACKENDS = [GRADTAPE, "Keras on TensorFlow", "Keras on JAX"]
BESIDE_OTHERS = [GRADTAPE, "PyTorch", "TensorFlow"]
_WIDTH = 118


def steps(results: Results) -> str:
    """The times of training steps, of imports and of what is installed."""
    rows = {w.name: results.steps[w.name] for w in TRAINING if w.name in results.steps}
    imports = [
        quantity(results.imports[name], "ms") for name in ("gradtape", "torch", "tensorflow")
    ]
    sizes = [quantity(results.sizes[name], "MB") for name in ("gradtape", "torch", "tensorflow")]
    return "\n\n".join(
        [
            _table("eager", rows, EAGER),
            _table("compiled", rows, COMPILED),
            _filled(
                f"On top of importing NumPy, `import gradtape` takes {imports[0]}, PyTorch "
                f"{imports[1]} and TensorFlow {imports[2]}. Installed with all they need, they "
                f"take {sizes[0]}, {sizes[1]} and {sizes[2]}."
            ),
        ]
    )


def keras(results: Results) -> str:
    """The times of Keras's `fit` for a small model."""
    name = next(name for name in results.tables["keras_fit"] if name.startswith("tabular"))
    fit, first = results.tables["keras_fit"][name], results.tables["keras_first"][name]
    times = [quantity(fit[backend], "ms") for backend in BACKENDS]
    firsts = [quantity(first[backend], "ms") for backend in BACKENDS]
    return _filled(
        f"On two CPU cores a `fit` step of three dense layers takes {times[0]}; Keras takes "
        f"{times[1]} on TensorFlow and {times[2]} on JAX. The first step takes {firsts[0]}, "
        f"{firsts[1]} and {firsts[2]}."
    )


def busy(results: Results) -> str:
    """The times of a step beside other processes."""
    row = results.tables["busy"]["lstm"]
    times = [quantity(row[name], "ms") for name in BESIDE_OTHERS]
    return _filled(
        f"With four other processes on the two cores, a step of the LSTM takes {times[0]}, "
        f"{times[1]} in PyTorch and {times[2]} in TensorFlow (`python -m benchmarks.busy`)."
    )


PARTS: dict[str, Callable[[Results], str]] = {"steps": steps, "keras": keras, "busy": busy}


def part_of(text: str, name: str) -> str:
    """What stands in the README in a part."""
    found = _pattern(name).search(text)
    if found is None:
        raise ValueError(f"the README has no part '{name}' for figures")
    return found[2]


def written(text: str, results: Results) -> str:
    """The README with the figures of a run."""
    for name, made in PARTS.items():
        part_of(text, name)
        figures = made(results)
        text = _pattern(name).sub(lambda m, new=figures: f"{m[1]}{new}{m[3]}", text)
    return text


def write(results: Results, path: Path = README) -> None:
    path.write_text(written(path.read_text(encoding="utf-8"), results), encoding="utf-8")


def _pattern(name: str) -> re.Pattern[str]:
    return re.compile(rf"(<!-- figures: {name} -->\n\n)(.*?)(\n\n<!-- end -->)", re.DOTALL)


def _table(corner: str, rows: Figures, contenders: Sequence[str]) -> str:
    head, *lines = quantities(rows, contenders)
    return as_markdown([[corner, *head[1:]], *lines])


def _filled(sentence: str) -> str:
    """A paragraph in which no figure is parted from its unit."""
    whole = re.sub(r"(\d) (µs|ms|MB)", "\\1\u00a0\\2", sentence)
    lines = fill(whole, _WIDTH, break_long_words=False, break_on_hyphens=False)
    return lines.replace("\u00a0", " ")
