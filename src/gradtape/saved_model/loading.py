"""`tf.saved_model.load` and `contains_saved_model`."""

from __future__ import annotations

import os
from typing import Any

from gradtape.core.tensor import Tensor
from gradtape.core.variable import Variable
from gradtape.core.xla.held_variable import HiddenState
from gradtape.core.xla.trace import inside_a_program
from gradtape.functions.exported import LoadedLevel
from gradtape.published import published
from gradtape.saved_model.folder import Reading, is_saved_model
from gradtape.saved_model.loaded import (
    EMPTY,
    LoadedFunction,
    LoadedKind,
    LoadedModel,
    LoadedSignature,
    parameter,
)
from gradtape.saved_model.structures import from_json


@published("saved_model.contains_saved_model")
def contains_saved_model(export_dir: str | os.PathLike[str]) -> bool:
    """Whether a folder holds what `save` wrote.

    >>> import gradtape as tf
    >>> import tempfile
    >>> tf.saved_model.contains_saved_model(tempfile.mkdtemp())
    False
    """
    return is_saved_model(export_dir)


@published("saved_model.load")
def load(export_dir: str | os.PathLike[str], tags: Any = None, options: Any = None) -> Any:
    """The object that `save` saved: its Variables and functions under their names.

    The functions need none of the source they were made from. They can be differentiated and called
    in functions, and what they assign are the loaded Variables. See `save` for an example.
    """
    if inside_a_program():
        raise NotImplementedError(
            "saved_model.load reads files, which a compiled function cannot: call it outside."
        )
    reading = Reading(export_dir)
    try:
        return Loading(reading).root()
    except (KeyError, IndexError, TypeError, AttributeError, RecursionError) as error:
        raise reading.damaged(f"its description is not complete: {error!r}") from error


class Loading:
    """A SavedModel's entries as objects, each made once."""

    def __init__(self, reading: Reading) -> None:
        self._reading = reading
        self._entries = reading.manifest["objects"]
        self._arrays = reading.variables(reading.manifest["variables"])
        self._made: dict[int, Any] = {}

    def root(self) -> Any:
        made = self._object(0)
        signatures = {
            name: LoadedSignature(self._function(entry))
            for name, entry in self._reading.manifest["signatures"].items()
        }
        if isinstance(made, LoadedModel):
            made.signatures = signatures
        return made

    def _object(self, number: Any) -> Any:
        if type(number) is not int or not 0 <= number < len(self._entries):
            raise IndexError(f"there is no object {number!r}")
        if number not in self._made:
            entry = self._entries[number]
            kind = entry["kind"]
            if kind == "object":
                made = self._made[number] = LoadedModel()
                for name, child in entry["children"].items():
                    object.__setattr__(made, name, self._object(child))
            elif kind == "list":
                found = self._made[number] = []
                found.extend(self._object(child) for child in entry["children"].values())
            elif kind == "dict":
                held = self._made[number] = {}
                held.update((key, self._object(c)) for key, c in entry["children"].items())
            elif kind == "function":
                self._made[number] = self._function(entry)
            else:
                self._made[number] = self._value(kind, entry)
        return self._made[number]

    def _value(self, kind: str, entry: Any) -> Any:
        array = self._arrays[entry["key"]]
        if kind == "constant":
            return Tensor(array)
        if kind != "variable":
            raise KeyError(f"objects of the kind {kind!r}")
        if entry["hidden"]:
            return HiddenState(array, entry["name"])
        return Variable(array, trainable=entry["trainable"], name=entry["name"])

    def _function(self, entry: Any) -> LoadedFunction:
        name = entry["name"]
        parameters = entry["parameters"] and [
            parameter(p["name"], p["kind"], from_json(p["default"]) if "default" in p else EMPTY)
            for p in entry["parameters"]
        ]
        kinds = []
        for kind in entry["kinds"]:
            args, kwargs = from_json(kind["arguments"])
            levels = [self._level(level) for level in kind["levels"]]
            kinds.append(LoadedKind(name, args, kwargs, from_json(kind["results"]), levels))
        return LoadedFunction(name, parameters, kinds)

    def _level(self, level: Any) -> LoadedLevel:
        return LoadedLevel(
            self._reading.program(level["program"]),
            tuple(self._object(number) for number in level["captured"]),
            tuple(self._object(number) for number in level["written"]),
            tuple(from_json(level["outputs"])),
            tuple(bool(c) for c in level["connected"]),
            str(level["why"]),
        )
