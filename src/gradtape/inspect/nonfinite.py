"""`NonFinite`: which op made NaN or infinity of finite numbers, and how it is told."""

from __future__ import annotations

import linecache
from collections.abc import Sequence
from typing import Any, NamedTuple

from gradtape.core.location import Location
from gradtape.published import published

FORWARD, BACKWARD = "forward", "backward"


class Carrier(NamedTuple):
    """An op between the first value that is not finite and what the user sees."""

    op: str
    location: Location | None
    phase: str


class Input(NamedTuple):
    """An input of the op: its number at the place in question, or None if the op uses many of its
    elements at once; and the smallest and the largest of them.
    """

    name: str
    value: Any
    shape: tuple[int, ...]
    least: float | None
    largest: float | None


class Ancestor(NamedTuple):
    """The largest finite number that an overflow was computed from."""

    op: str
    location: Location | None
    value: float


@published("debugging.NonFinite")
class NonFinite:
    """The first op that made NaN or infinity of finite numbers, as `GradientTape.why_nonfinite`
    finds it.

    It is false if everything is finite. `kind` is "op"; "source", "input" or "constant" if a value
    was given so; "seed" for `output_gradients`; "sum" for the sum of several gradients. It is not
    `certain` where what would prove it was not saved: then `missing` and `between` say what.

    >>> import gradtape as tf
    >>> x = tf.constant([1.0, 0.0])
    >>> with tf.GradientTape() as tape:
    ...     tape.watch(x)
    ...     y = tf.reduce_sum(tf.sqrt(x))
    >>> why = tape.why_nonfinite(y)
    >>> isinstance(why, tf.debugging.NonFinite), why.op, why.phase, why.index, why.value
    (True, 'sqrt', 'backward', (1,), inf)
    """

    kind: str
    op: str | None = None
    location: Location | None = None
    phase: str | None = None
    index: tuple[int, ...] | None = None
    value: Any = None
    inputs: tuple[Input, ...] = ()
    chain: tuple[Carrier, ...] = ()
    advice: str = ""
    certain: bool = True
    missing: tuple[str, ...] = ()
    between: tuple[Carrier, ...] = ()
    last_finite: Carrier | None = None
    largest: Ancestor | None = None
    seen: str = ""
    notes: tuple[str, ...] = ()
    layer: str | None = None

    def __init__(self, kind: str, **facts: Any) -> None:
        self.kind = kind
        self.__dict__.update(facts)

    def __repr__(self) -> str:
        return f"<NonFinite: {self._lines()[0]}>"

    def __bool__(self) -> bool:
        return self.kind != FINITE

    def __str__(self) -> str:
        return "\n".join(self._lines())

    def _repr_html_(self) -> str:
        import html  # noqa: PLC0415 - for those who look

        title, *lines = self._lines()
        rows = "".join(f"<div>{html.escape(line)}</div>" for line in lines)
        return f'<div style="white-space: pre-wrap"><b>{html.escape(title)}</b>{rows}</div>'

    def _lines(self) -> list[str]:
        if not self:
            return [f"Everything is finite: {self.seen}."]
        lines = [self._title()]
        if self.location is not None:
            code = linecache.getline(self.location.file, self.location.line).strip()
            lines += [f"    {code}"] if code else []
        if self.layer is not None:
            lines.append(f"  In the Keras layer {self.layer}.")
        if self.kind in {"op", "sum"} and self.inputs:
            lines.append(f"  It was given {_joined([_described(i) for i in self.inputs])}.")
        if not self.certain:
            lines += self._what_is_missing()
        if self.largest is not None:
            place = _place(self.largest.location)
            lines.append(
                f"  The largest finite number before it is {self.largest.value:g}, of "
                f"{self.largest.op}{place}."
            )
        if self.chain:
            ops = [f"{link.op}{_short(link)}" for link in self.chain]
            if len(ops) > _MANY:
                ops = [*ops[: _MANY // 2], f"{len(ops) - _MANY} more", *ops[-_MANY // 2 :]]
            lines.append(f"  From there: {' -> '.join([*ops, self.seen])}.")
        lines += [f"  {note}" for note in self.notes]
        lines.append(f"  What to do: {self.advice}")
        return lines

    def _title(self) -> str:
        place, value = _place(self.location), _number(self.value)
        where = "" if not self.index else f" at index {self.index}"
        if self.kind == "op":
            made = f"made {value}{where} of finite numbers"
            if self.phase == BACKWARD:
                return f"The gradient of {self.op}{place} {made}, in the backward pass."
            if not self.certain:
                return f"{self.op}{place} has {value}{where}; that it made it is not certain."
            return f"{self.op}{place} {made}, in the forward pass."
        if self.kind == "sum":
            return (
                f"The sum of the gradients of {self.op}{place} is {value}{where}: its parts are "
                "finite."
            )
        if self.kind == "constant":
            name = self.inputs[0].name
            return f"{self.op}{place} was given {value}{where}: its constant {name} has it."
        if self.kind == "seed":
            return f"The output_gradients given to gradient() have {value}{where}."
        itself = "" if self.kind == "unknown" else " itself"
        op: Any = self.op
        return f"{op[:1].upper()}{op[1:]}{place}{itself} is {value}{where}."

    def _what_is_missing(self) -> list[str]:
        lines = []
        if self.between:
            ops = ", ".join(f"{link.op}{_short(link)}" for link in self.between)
            before = (
                ""
                if self.last_finite is None
                else f"{self.last_finite.op}{_place(self.last_finite.location)} was still finite; "
            )
            lines.append(f"  {before}what lies between saved nothing: {ops}.")
        lines += [f"  Not kept, so it may be this that is not finite: {m}." for m in self.missing]
        return lines


FINITE = "finite"
_MANY = 12


def finite(what: str) -> NonFinite:
    """That nothing is wrong."""
    return NonFinite(FINITE, seen=what)


def not_recorded(what: str, index: tuple[int, ...], array: Any) -> NonFinite:
    """That something is not finite, of which no op was recorded."""
    return NonFinite(
        "unknown",
        op=what,
        index=index,
        value=array[index].item(),
        advice="run it with tf.debugging.enable_check_numerics(), which looks at every result.",
        certain=False,
        seen=what,
        notes=("No recorded op leads to it.",),
    )


def _described(given: Input) -> str:
    if given.value is not None:
        return f"{given.name} = {_number(given.value)}"
    if given.least is None:
        return f"{given.name} of shape {given.shape}"
    return f"{given.name} of shape {given.shape}, from {given.least:g} to {given.largest:g}"


def _number(value: Any) -> str:
    if isinstance(value, float):
        return {"nan": "NaN", "inf": "Inf", "-inf": "-Inf"}.get(str(value), f"{value:.6g}")
    return str(value)


def _joined(parts: Sequence[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


def _place(location: Location | None) -> str:
    return "" if location is None else f" at {location}"


def _short(link: Carrier) -> str:
    return "" if link.location is None else f" (line {link.location.line})"
