"""A bar chart of ratios as an SVG picture."""

from collections.abc import Sequence
from html import escape
from math import log10

from benchmarks.report import taking_part, title
from benchmarks.results import Figures

WIDTH, LEFT, BAR, GAP = 900, 300, 11, 12
COLOURS = ("#4e79a7", "#f28e2b", "#e15759", "#76b7b2", "#59a14f", "#b07aa1")
SMALLEST, LARGEST = 0.1, 1000.0  # of the scale; longer bars are cut there


def chart(figures: Figures, ours: str, *, compiled: bool) -> str:
    """For each workload, how many times as long as `ours` every contender takes,
    on a logarithmic scale.
    """
    contenders = [name for name in taking_part(figures, compiled=compiled) if name != ours]
    shown = {
        name: row
        for name, row in figures.items()
        if ours in row and any(c in row for c in contenders)
    }
    top = 64
    parts: list[str] = []
    y = top
    for name, row in shown.items():
        bars = [(c, row[c] / row[ours]) for c in contenders if c in row]
        parts.append(_text(LEFT - 10, y + len(bars) * BAR / 2 + 4, title(name), anchor="end"))
        for contender, ratio in bars:
            parts.append(_bar(y, ratio, COLOURS[contenders.index(contender) % len(COLOURS)]))
            y += BAR
        y += GAP
    scale = [_grid(10.0**power, top, y) for power in range(-1, 4)]
    heading = f"Time of a step as a multiple of {ours}'s: right of the line, {ours} is faster"
    return "\n".join([
        (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {y + 24}" '
         'font-family="sans-serif" font-size="12">'),
        f'<rect width="{WIDTH}" height="{y + 24}" fill="white"/>',
        _text(16, 20, heading, size=14),
        *_legend(contenders),
        *scale,
        *parts,
        "</svg>\n",
    ])  # fmt: skip


def _x(ratio: float) -> float:
    clipped = min(max(ratio, SMALLEST), LARGEST)
    return LEFT + (WIDTH - LEFT - 60) * (log10(clipped) - log10(SMALLEST)) / (
        log10(LARGEST) - log10(SMALLEST)
    )


def _bar(y: float, ratio: float, colour: str) -> str:
    start, end = sorted((_x(1), _x(ratio)))
    bar = (
        f'<rect x="{start:.1f}" y="{y}" width="{max(end - start, 1):.1f}" height="{BAR - 2}" '
        f'fill="{colour}"/>'
    )
    return bar + _text(max(end, _x(1)) + 4, y + BAR - 2, f"{ratio:.3g}", size=9)


def _grid(ratio: float, top: float, bottom: float) -> str:
    width, x = (1.5, _x(ratio)) if ratio == 1 else (0.5, _x(ratio))
    line = (
        f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{top - 6}" y2="{bottom}" stroke="#888" '
        f'stroke-width="{width}"/>'
    )
    return line + _text(x, bottom + 14, f"{ratio:g} ×", anchor="middle", size=10)


def _legend(contenders: Sequence[str]) -> list[str]:
    parts = []
    for i, contender in enumerate(contenders):
        x = 16 + 140 * i
        parts.append(
            f'<rect x="{x}" y="34" width="10" height="10" fill="{COLOURS[i % len(COLOURS)]}"/>'
        )
        parts.append(_text(x + 15, 43, contender))
    return parts


def _text(x: float, y: float, text: str, *, anchor: str = "start", size: int = 12) -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" '
        f'font-size="{size}">{escape(text)}</text>'
    )
