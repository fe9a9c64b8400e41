"""Functions with the parameters that they have elsewhere in TensorFlow: in `tf.compat.v1`, where
`keepdims` is `keep_dims` too, and in `tf.raw_ops`, where `input_tensor` is `input`.

A table says how, in words:

    reduce_sum math.reduce_sum mean=math.reduce_mean:
        input_tensor axis keepdims name keep_dims>keepdims

are functions by their names there, and, behind a `=`, in gradtape if that is another; then their
parameters there in their order. One with `>` has the name behind it in gradtape; with nothing
behind the `>` it is accepted and means nothing. A line that begins with a space continues the one
above.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any, NamedTuple

import gradtape


class Row(NamedTuple):
    """How one function is called elsewhere; `parameters` gives its name here for each name there.

    An empty name means that the argument has no effect.
    """

    name: str
    target: str
    parameters: dict[str, str]


def rows_of(table: str) -> dict[str, Row]:
    """The rows of a table by name."""
    found = {}
    for line in table.strip().replace("\n ", " ").split("\n"):
        names, _, parameters = line.partition(":")
        words = [word.partition(">") for word in parameters.split()]
        for entry in names.split():
            name, _, target = entry.partition("=")
            meanings = {old: new if sep else old for old, sep, new in words}
            found[name] = Row(name, target or name, meanings)
    return found


def here(name: str) -> Any:
    """What gradtape has under a dotted name."""
    return reduce(getattr, name.split("."), gradtape)


def respelled(row: Row, prefix: str, *, by_name_only: bool = False) -> Callable[..., Any]:
    """The function of a row. `prefix` is that of its namespace, for errors."""
    target = here(row.target)
    own = row.name.rpartition(".")[2]
    public = f"{prefix}{row.name}"
    names = list(row.parameters)

    def call(*args: Any, **keywords: Any) -> Any:
        if len(args) > (0 if by_name_only else len(names)):
            raise TypeError(
                f"{public} takes keyword arguments only: {', '.join(names)}."
                if by_name_only
                else f"{public} takes {len(names)} arguments, {', '.join(names)}; got {len(args)}."
            )
        given = dict(zip(names, args, strict=False))
        for name, value in keywords.items():
            if name not in row.parameters:
                raise TypeError(f"{public} has no argument {name!r}: it has {', '.join(names)}.")
            if name in given:
                raise TypeError(f"{public} got two values for {name!r}.")
            given[name] = value
        passed: dict[str, Any] = {}
        for name, value in given.items():
            meaning = row.parameters[name]
            if value is None or not meaning:
                continue
            if meaning in passed:
                raise ValueError(
                    f"{public}: {name!r} is another name of {meaning!r}: give one of them."
                )
            passed[meaning] = value
        return target(**passed)

    call.__name__ = call.__qualname__ = own
    call.__doc__ = f"`{public}`, which is `tf.{row.target}` with other names of its arguments."
    return call
