"""Tables of results, for a terminal and for Markdown."""

from collections.abc import Iterable, Sequence

from benchmarks.libraries import CONTENDERS, FUNCTION, GRADTAPE
from benchmarks.results import Figures, Results
from benchmarks.workloads import BY_NAME

_UNITS = {"µs": 1e6, "ms": 1e3, "s": 1.0, "MB": 1 / 2**20}

Table = list[list[str]]


def title(workload: str) -> str:
    return BY_NAME[workload].title if workload in BY_NAME else workload


def quantity(value: float, unit: str) -> str:
    scaled = value * _UNITS[unit]
    return (
        f"{scaled:,.0f} {unit}"
        if scaled >= 100
        else f"{scaled:.1f} {unit}"
        if scaled >= 1
        else f"{scaled:.2f} {unit}"
    )


def taking_part(figures: Figures, *, compiled: bool | None = None) -> list[str]:
    """The contenders that have a figure."""
    present = {name for row in figures.values() for name in row}
    return [c.title for c in CONTENDERS if c.title in present and compiled in (None, c.compiled)]


def ratios(figures: Figures, contenders: Sequence[str]) -> Table:
    """How many times as long as gradtape each contender takes;
    gradtape's own columns have the time.
    """
    compiled = {c.title: c.compiled for c in CONTENDERS}
    lines = [["", *contenders]]
    for name, row in figures.items():
        line = [title(name)]
        for contender in contenders:
            ours = FUNCTION if compiled[contender] else GRADTAPE
            if contender not in row or ours not in row:
                line.append("-")
            elif contender == ours:
                line.append(quantity(row[ours], BY_NAME[name].unit))
            else:
                line.append(f"{row[contender] / row[ours]:.2f} ×")
        if set(line[1:]) != {"-"}:
            lines.append(line)
    return lines


def quantities(figures: Figures, contenders: Sequence[str], unit: str | None = None) -> Table:
    lines = [["", *contenders]]
    for name, row in figures.items():
        cells = [
            quantity(row[c], unit or BY_NAME[name].unit) if c in row else "-" for c in contenders
        ]
        if set(cells) != {"-"}:
            lines.append([title(name), *cells])
    return lines


def table_of(figures: Figures, unit: str) -> Table:
    """Figures of contenders that are not those of the workloads."""
    contenders = list(dict.fromkeys(name for row in figures.values() for name in row))
    return quantities(figures, contenders, unit)


def packages(results: Results) -> Table:
    """Imports and sizes."""
    lines = [["", "import, on top of NumPy's", "installed with all it needs"]]
    for package, size in results.sizes.items():
        seconds = results.imports.get(package)
        lines.append(
            [package, "-" if seconds is None else quantity(seconds, "ms"), quantity(size, "MB")]
        )
    return lines


def as_text(table: Table) -> str:
    widths = [max(len(line[column]) for line in table) for column in range(len(table[0]))]
    rows = [
        [
            line[0].ljust(widths[0]),
            *(cell.rjust(width) for cell, width in zip(line[1:], widths[1:], strict=True)),
        ]
        for line in table
    ]
    return "\n".join("  ".join(row) for row in rows)


def as_markdown(table: Table) -> str:
    head, *body = [f"| {' | '.join(line)} |" for line in table]
    return "\n".join([head, "|---|" + "---:|" * (len(table[0]) - 1), *body])


def headed(tables: Iterable[tuple[str, Table]]) -> str:
    """Tables for a terminal, each under a line that says what it has; empty ones left out."""
    return "\n\n".join(
        f"{heading}\n\n{as_text(table)}" for heading, table in tables if len(table) > 1
    )
