"""Writes docs/api-coverage.md: which of TensorFlow's symbols gradtape has.

Run it after a change of the public names:

    python -m tools.api_coverage

`api_symbols.csv` lists TensorFlow's public symbols: whether each is differentiable in TensorFlow,
and in which tier it stands (1: nearly every user of a tape calls it; 2: common; 3: rare). Where the
samples of `tests_tf` have a call of the function, its derivatives are computed to say which orders
there are.
"""

import csv
import re
import sys
from collections.abc import Iterable, Iterator
from functools import cache, reduce
from pathlib import Path
from typing import NamedTuple

import gradtape

HERE = Path(__file__).parent
SYMBOLS = HERE / "api_symbols.csv"
PAGE = HERE.parent / "docs" / "api-coverage.md"
SAMPLES = HERE.parent / "tests_tf"

NAMESPACES = (
    "tf", "tf.autodiff", "tf.math", "tf.math.special", "tf.linalg", "tf.linalg.experimental",
    "tf.nn", "tf.nn.experimental", "tf.signal", "tf.random", "tf.random.experimental", "tf.image",
    "tf.sparse", "tf.dtypes", "tf.debugging", "tf.nest", "tf.errors", "tf.config", "tf.test",
)  # fmt: skip
TIERS = (1, 2, 3)

# TensorFlow has no gradient for these, or a broken one.
DIFFERENTIABLE_HERE = {
    "tf.linalg.logm", "tf.linalg.lu", "tf.random.shuffle",
    "tf.random.experimental.stateless_shuffle", "tf.signal.fftnd", "tf.signal.ifftnd",
    "tf.signal.irfft3d", "tf.signal.irfftnd", "tf.signal.rfft3d", "tf.signal.rfftnd",
    "tf.sparse.concat", "tf.sparse.maximum", "tf.sparse.minimum", "tf.sparse.reduce_max",
    "tf.sparse.split", "tf.image.adjust_contrast", "tf.image.adjust_hue",
    "tf.image.adjust_saturation", "tf.image.hsv_to_rgb", "tf.image.random_contrast",
    "tf.image.random_hue", "tf.image.random_saturation", "tf.image.stateless_random_contrast",
    "tf.image.stateless_random_hue", "tf.image.stateless_random_saturation",
}  # fmt: skip

REASONS = (
    (r"\.SparseTensorSpec$", "an input_signature of sparse tensors: XLA has none"),
    (
        r"^tf\.test\.TestCase$",
        "pytest and unittest do this; gradtape.testing has the checks of derivatives",
    ),
)
NOT_YET = "not yet"


class Symbol(NamedTuple):
    name: str
    namespace: str
    differentiable: bool
    tier: int
    present: bool
    orders: int | None = None  # of derivatives that the samples have; None if there is no sample

    @property
    def reason(self) -> str:
        """Why it is missing."""
        return next(
            (reason for pattern, reason in REASONS if re.search(pattern, self.name)), NOT_YET
        )


def has(symbol: str) -> bool:
    """Whether gradtape has what TensorFlow calls `symbol`."""
    try:
        reduce(getattr, symbol.split(".")[1:], gradtape)
    except AttributeError:
        return False
    return True


def orders_of(symbol: str) -> int | None:
    """How many orders of derivatives, up to two, the samples of a function have;
    None if it has no sample.
    """
    if not has(symbol):
        return None
    return measured().get(id(reduce(getattr, symbol.split(".")[1:], gradtape)))


@cache
def measured() -> dict[int, int]:
    """For each function with samples that have floating arguments, by identity: the orders of
    derivatives that are not None.
    """
    sys.path.append(str(SAMPLES))
    try:
        from derivatives import outcome
        from table import all_rows, resolve

        rows = all_rows()
    finally:
        sys.path.remove(str(SAMPLES))
    found: dict[int, int] = {}
    for row in rows:
        if row.wanted and has(row.symbol):
            arrays = row.arrays(row.dtypes[-1])
            orders = 0
            while orders < 2 and any(
                g is not None for g in outcome(gradtape, row, arrays, orders + 1)
            ):
                orders += 1
            key = id(resolve(gradtape, row.symbol))
            found[key] = max(found.get(key, 0), orders)
    return found


def symbols() -> list[Symbol]:
    """The symbols of the page, in its order."""
    with SYMBOLS.open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["namespace"] in NAMESPACES]
    found = [
        Symbol(
            row["symbol"],
            row["namespace"],
            row["differentiable"] == "yes" or row["symbol"] in DIFFERENTIABLE_HERE,
            int(row["tier"]),
            has(row["symbol"]),
            orders_of(row["symbol"]),
        )
        for row in rows
    ]
    return sorted(found, key=lambda s: (NAMESPACES.index(s.namespace), s.tier, s.name.lower()))


def page() -> str:
    """The whole page."""
    return "\n".join(_lines(symbols())) + "\n"


def _lines(every: list[Symbol]) -> Iterator[str]:
    yield "# Which of TensorFlow's functions gradtape has"
    yield ""
    yield (
        "Written by `python -m tools.api_coverage`; a test keeps it true. Tier 1 is what nearly "
        "every user of a tape calls, tier 2 is"
    )
    yield (
        "common, tier 3 rare. *Differentiable* means by a tape and by a ForwardAccumulator, to "
        "every order that exists. *Second order* is"
    )
    yield (
        "what the samples of `make test-tf` showed: yes, or zero for a function that "
        "is linear in "
        "its arguments; empty without a sample."
    )
    yield ""
    yield "| namespace | tier 1 | tier 2 | tier 3 |"
    yield "|---|---|---|---|"
    for namespace in NAMESPACES:
        yield _totals(
            f"[`{namespace}`](#{namespace.replace('.', '')})",
            [s for s in every if s.namespace == namespace],
        )
    yield _totals("all", every)
    for namespace in NAMESPACES:
        inside = [s for s in every if s.namespace == namespace]
        yield ""
        yield f"## {namespace}"
        yield ""
        yield "| symbol | tier | present | differentiable | second order |"
        yield "|---|---|---|---|---|"
        for s in inside:
            present = "yes" if s.present else f"no: {s.reason}"
            second = {2: "yes", 1: "zero"}.get(s.orders or 0, "") if s.differentiable else ""
            yield (
                f"| `{s.name}` | {s.tier} | {present} | {'yes' if s.differentiable else ''} | "
                f"{second} |"
            )


def _totals(label: str, some: Iterable[Symbol]) -> str:
    some = list(some)
    cells = []
    for tier in TIERS:
        inside = [s for s in some if s.tier == tier]
        cells.append(f"{sum(s.present for s in inside)} of {len(inside)}" if inside else "")
    return f"| {label} | {' | '.join(cells)} |"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
