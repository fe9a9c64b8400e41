"""`tf.saved_model.load` and `contains_saved_model`."""

from __future__ import annotations

from typing import Any

from gradtape.core.tensor import Tensor
from gradtape.core.variable import Variable
from gradtape.core.xla.held_variable import HiddenState
from gradtape.core.xla.trace import inside_a_program
from gradtape.functions.exported import LoadedLevel
from gradtape.published import published
from gradtape.saved_model.folder import PathLike, Reading, is_saved_model
from gradtape.saved_model.loaded import (
    EMPTY,
    LoadedFunction,
    LoadedKind,
    LoadedModel,
    LoadedSignature,
    is_free,
    parameter,
)
from gradtape.saved_model.structures import from_json


@published("saved_model.contains_saved_model")
def contains_saved_model(export_dir: PathLike) -> bool:
    """Whether a folder holds what `save` wrote.

    >>> import gradtape as tf
    >>> import tempfile
    >>> tf.saved_model.contains_saved_model(tempfile.mkdtemp())
    False
    """
    return is_saved_model(export_dir)


@published("saved_model.load")
def load(export_dir: PathLike, tags: Any = None, options: Any = None) -> Any:
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
    except (LookupError, TypeError, AttributeError, ValueError, ArithmeticError) as error:
        raise reading.damaged(f"its description does not hold: {error!r}") from error


class Loading:
    """A SavedModel's entries as objects, each made once."""

    def __init__(self, reading: Reading) -> None:
        self._reading = reading
        self._arrays = reading.variables(reading.manifest["variables"])
        entries = reading.manifest["objects"]
        # Functions need Variables, and what holds them may hold itself.
        self._made = [self._empty(entry) for entry in entries]
        for number, entry in enumerate(entries):
            if entry["kind"] == "function":
                self._made[number] = self._function(entry)
        for made, entry in zip(self._made, entries, strict=True):
            self._fill(made, entry)

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
        if type(number) is not int or not 0 <= number < len(self._made):
            raise IndexError(f"there is no object {number!r}")
        return self._made[number]

    def _empty(self, entry: Any) -> Any:
        """An object without what it holds, or a value."""
        kind = entry["kind"]
        made = {"object": LoadedModel, "list": list, "dict": dict, "function": object}.get(kind)
        return self._value(kind, entry) if made is None else made()

    def _fill(self, made: Any, entry: Any) -> None:
        if isinstance(made, list):
            made.extend(map(self._object, entry["children"].values()))
        elif isinstance(made, dict):
            made.update((key, self._object(child)) for key, child in entry["children"].items())
        elif isinstance(made, LoadedModel):
            for name, child in entry["children"].items():
                if not is_free(name):
                    raise KeyError(f"an object has something under the name {name!r}")
                object.__setattr__(made, name, self._object(child))

    def _value(self, kind: str, entry: Any) -> Any:
        array = self._arrays[entry["key"]]
        if kind == "constant":
            return Tensor(array)
        if kind != "variable":
            raise KeyError(f"objects of the kind {kind!r}")
        if entry["hidden"]:
            return HiddenState(array, entry["name"])
        return Variable(
            array, trainable=entry["trainable"], name=entry["name"], shape=entry["shape"]
        )

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
            tuple(self._outside(number, (Variable, Tensor)) for number in level["captured"]),
            tuple(self._outside(number, Variable) for number in level["written"]),
            tuple(from_json(level["outputs"])),
            tuple(bool(c) for c in level["connected"]),
            str(level["why"]),
        )

    def _outside(self, number: Any, kinds: Any) -> Any:
        """A Variable, or a Tensor, that a program uses."""
        found = self._object(number)
        if not isinstance(found, kinds):
            raise TypeError(f"a program uses object {number}, which has no value")
        return found
