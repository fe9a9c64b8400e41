"""`tf.saved_model.save`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from inspect import Parameter, Signature
from typing import Any

from gradtape import nest
from gradtape.api.tensorflow.checkpoint.object_graph import (
    children,
    identity,
    is_followed,
    is_keras_like,
    variable_of,
)
from gradtape.convert import on_host
from gradtape.core.module import Module
from gradtape.core.tensor import Tensor
from gradtape.core.variable import Variable
from gradtape.core.writing import writing
from gradtape.core.xla.trace import inside_a_program
from gradtape.functions.concrete_function import ConcreteFunction
from gradtape.functions.decorator import function
from gradtape.functions.exported import LoadedLevel
from gradtape.functions.exporting import Exported, Level, export
from gradtape.functions.function import Function
from gradtape.functions.open_function import OpenFunction
from gradtape.published import published
from gradtape.saved_model.folder import PathLike, Writing
from gradtape.saved_model.loaded import (
    LoadedFunction,
    LoadedKind,
    LoadedModel,
    LoadedSignature,
    is_free,
)
from gradtape.saved_model.ranks import MOST_AXES, any_rank_is_open, of_every_rank
from gradtape.saved_model.structures import to_json
from gradtape.shapes import TensorSpec

DEFAULT = "serving_default"
_FUNCTIONS = (Function, ConcreteFunction, OpenFunction, LoadedFunction, LoadedSignature)


@published("saved_model.save")
def save(obj: Any, export_dir: PathLike, signatures: Any = None, options: Any = None) -> None:
    """Saves an object's Variables and its functions, so that `load` needs none of its source.

    Functions are saved for their `input_signature`, in which sizes may be open, and for the kinds
    of arguments that they have been called with; with gradients to the second order.

    >>> import gradtape as tf
    >>> import tempfile
    >>> class Line(tf.Module):
    ...     def __init__(self):
    ...         self.slope = tf.Variable(2.0)
    ...
    ...     @tf.function(input_signature=[tf.TensorSpec([None])])
    ...     def __call__(self, x):
    ...         return self.slope * x
    >>> folder = tempfile.mkdtemp()
    >>> tf.saved_model.save(Line(), folder)
    >>> line = tf.saved_model.load(folder)
    >>> x = tf.constant([1.0, 2.0, 3.0])
    >>> with tf.GradientTape() as tape:
    ...     y = tf.reduce_sum(line(x))
    >>> tape.gradient(y, line.slope).numpy()
    np.float32(6.0)
    """
    if inside_a_program():
        raise NotImplementedError(
            "saved_model.save writes files, which a compiled function cannot: call it outside."
        )
    if isinstance(obj, _FUNCTIONS) or not is_followed(obj):
        raise ValueError(
            "saved_model.save: obj must be a tf.Module, a Keras model, or a list or dict of "
            f"Variables, got {obj!r}: make the function an attribute of a tf.Module."
        )
    if "signatures" in children(obj) and not isinstance(obj, LoadedModel):
        raise ValueError(
            "saved_model.save: obj has an attribute 'signatures', under which a loaded object has "
            "its signatures: rename it."
        )
    if signatures is not None and isinstance(obj, (Mapping, list, tuple)):
        raise ValueError(
            f"saved_model.save: a {type(obj).__name__} cannot have signatures when it is loaded: "
            "make it an attribute of a tf.Module."
        )
    Saving(obj, signatures).write(Writing(export_dir))


class Saving:
    """An object, and everything below it, as entries of a SavedModel."""

    def __init__(self, root: Any, signatures: Any) -> None:
        self._numbers: dict[int, int] = {}
        self._things: list[Any] = []  # kept alive, so that identities stay theirs
        self._objects: list[dict[str, Any]] = []
        self._variables: dict[str, Any] = {}
        self._kinds: dict[int, list[tuple[Any, list[Exported]]]] = {}
        self._root = root
        self._signatures = _named_signatures(signatures, root)

    def write(self, folder: Writing) -> None:
        self._number(self._root, "")
        queue = 0
        while queue < len(self._things):
            self._describe(queue, folder)
            queue += 1
        given = {
            name: self._function(found, folder, f"signature {name}", names=True)
            for name, found in self._signatures.items()
        }
        with writing.lock:  # all of one moment
            arrays = {key: on_host(value.array) for key, value in self._variables.items()}
        folder.finish({"objects": self._objects, "signatures": given}, arrays)

    def _number(self, thing: Any, path: str) -> int:
        """The number of an object, which is a new one if it was not met before."""
        found = self._numbers.get(identity(thing))
        if found is None:
            found = self._numbers[identity(thing)] = len(self._things)
            self._things.append(thing)
            self._objects.append({"path": path})
        return found

    def _describe(self, number: int, folder: Writing) -> None:
        thing, entry = self._things[number], self._objects[number]
        path = entry.pop("path")
        variable = variable_of(thing)
        if variable is not None or isinstance(thing, Tensor):
            entry |= self._of_variable(thing, variable, path or "root")
        elif isinstance(thing, (Function, LoadedFunction)):
            entry |= {"kind": "function", **self._function(thing, folder, path)}
        else:
            kind = "list" if isinstance(thing, (list, tuple)) else "object"
            kind = "dict" if isinstance(thing, Mapping) else kind
            self._let_functions_create(thing)
            below = _below(thing)
            taken = [name for name in below if kind == "object" and not is_free(name)]
            if taken:
                raise ValueError(
                    f"saved_model.save: {path or 'obj'} has {taken[0]!r}, a name that a loaded "
                    "object has itself: rename it."
                )
            entry |= {
                "kind": kind,
                "children": {
                    name: self._number(child, f"{path}/{name}" if path else name)
                    for name, child in below.items()
                },
            }

    def _of_variable(self, thing: Any, variable: Variable | None, path: str) -> dict[str, Any]:
        key, again = path, 1
        while key in self._variables:
            again += 1
            key = f"{path} ({again})"
        self._variables[key] = variable if variable is not None else thing
        if variable is None:
            return {"kind": "constant", "key": key}
        return {
            "kind": "variable",
            "key": key,
            "name": getattr(thing, "path", None) or variable.name.removesuffix(":0"),
            "trainable": bool(variable.trainable),
            "hidden": bool(getattr(variable, "hidden", False)),
            "shape": None if variable.shape.rank is None else list(variable.shape),
        }

    def _function(
        self, found: Any, folder: Writing, path: str, *, names: bool = False
    ) -> dict[str, Any]:
        """A function's parameters, and its programs for each kind of arguments."""
        if isinstance(found, LoadedSignature):
            found = found.function
        if isinstance(found, LoadedFunction):
            signature, name = found.signature, found.__name__
            kinds = [self._again(kind, folder) for kind in found.concrete_functions]
        else:
            made, specs = _kinds_of(found)
            signature, name = made._parameters._signature, made._name
            kinds = [entry for kind in specs for entry in self._entries(made, kind, folder)]
        if names and not kinds:
            raise ValueError(
                f"saved_model.save: {path} has no input_signature and was never called: give it "
                "one, or pass function.get_concrete_function(...)."
            )
        every = None if signature is None else signature.parameters.values()
        return {
            "name": name,
            "parameters": None if every is None else [_parameter(p) for p in every],
            "kinds": kinds,
        }

    def _again(self, kind: LoadedKind, folder: Writing) -> dict[str, Any]:
        """A kind of a function that was loaded, as it was saved before."""
        args, kwargs = kind.structured_input_signature
        return {
            "arguments": to_json([list(args), kwargs], "a loaded function"),
            "results": to_json(kind.structured_outputs, "a loaded function"),
            "levels": [self._level(level, folder) for level in kind.levels],
        }

    def _entries(self, made: Function, kind: Any, folder: Writing) -> list[dict[str, Any]]:
        return [
            {
                "arguments": to_json([list(args), kwargs], made._name),
                "results": to_json(results, made._name),
                "levels": [self._level(level, folder) for level in levels],
            }
            for (args, kwargs), results, levels in self._exported(made, kind)
        ]

    def _exported(self, made: Function, kind: Any) -> list[Exported]:
        """A function's programs for a kind of arguments, made once.

        Where ranks are open, it is saved for those that it can be saved for.
        """
        known = self._kinds.setdefault(id(made), [])
        found = next((programs for one, programs in known if one == kind), None)
        if found is None:
            args, kwargs = kind
            to_json([list(args), kwargs], made._name)  # or it says what cannot be saved
            found, refused = [], None
            for one in of_every_rank(kind):
                try:
                    found.append(export(made, *one))
                except Exception as error:  # noqa: BLE001 - raised if there is no other rank
                    refused = error
            if refused is not None and not found:
                if any_rank_is_open(kind):
                    refused.add_note(
                        f"{made._name} has arguments of unknown rank, and could be saved for none "
                        f"of 0 to {MOST_AXES} axes of open sizes: give the rank in its "
                        "input_signature, as in TensorSpec([None, 3])."
                    )
                raise refused
            known.append((kind, found))
        return found

    def _let_functions_create(self, thing: Any) -> None:
        """Traces an object's functions, which may give it Variables in their first call."""
        for _, found in _functions_of(thing):
            if isinstance(found, Function):
                made, kinds = _kinds_of(found)
                for kind in kinds:
                    self._exported(made, kind)

    def _level(self, level: Level | LoadedLevel, folder: Writing) -> dict[str, Any]:
        return {
            "program": folder.program(level.data),
            "captured": [self._number(outside, "captured") for outside in level.captured],
            "written": [self._number(outside, "captured") for outside in level.written],
            "outputs": to_json(list(level.outputs), "a program"),
            "connected": list(level.connected),
            "why": level.why,
        }


def _below(thing: Any) -> dict[str, Any]:
    """What an object holds: Variables, what holds some, and functions."""
    found = children(thing) | dict(_functions_of(thing))
    left_out = {"optimizer"} if is_keras_like(thing) else set()
    if isinstance(thing, LoadedModel):
        left_out = {"signatures"}
    return {name: child for name, child in found.items() if name not in left_out}


def _functions_of(thing: Any) -> Iterator[tuple[str, Any]]:
    """The functions of a Module: attributes and methods, and what a dict or list holds."""
    held: Iterable[tuple[Any, Any]]
    if isinstance(thing, Module):
        for owner in reversed(type(thing).__mro__):
            for name, value in vars(owner).items():
                if isinstance(value, Function):
                    yield name, getattr(thing, name)
        held = vars(thing).items()
    elif isinstance(thing, Mapping):
        held = thing.items()
    elif isinstance(thing, (list, tuple)):
        held = ((str(i), value) for i, value in enumerate(thing))
    elif is_keras_like(thing):
        held = vars(thing).items()
    else:
        return
    for name, value in held:
        if isinstance(value, (Function, LoadedFunction)):
            yield str(name), value


def _kinds_of(found: Any) -> tuple[Function, list[tuple[tuple[Any, ...], dict[str, Any]]]]:
    """A function, and the kinds of arguments that it is saved for."""
    if isinstance(found, (ConcreteFunction, OpenFunction)):
        args, kwargs = found.structured_input_signature
        return found._function, [(tuple(args), dict(kwargs))]
    if found.input_signature is not None:
        signature = found._parameters.in_order(tuple(found.input_signature), {})
        return found, [signature]
    called = [one.structured_input_signature for one in found._concrete.values()]
    kinds = [(tuple(args), dict(kwargs)) for args, kwargs in called]
    of_any_size = found.open_kinds
    kinds = [kind for kind in kinds if not any(_covers(wide, kind) for wide in of_any_size)]
    return found, [*of_any_size, *kinds]


def _covers(wide: Any, kind: Any) -> bool:
    """Whether arguments of a kind are also of a kind with open sizes."""
    try:
        nest.assert_same_structure(wide, kind)
    except (ValueError, TypeError):
        return False
    return all(
        a.is_compatible_with(b)
        if isinstance(a, TensorSpec) and isinstance(b, TensorSpec)
        else a == b
        for a, b in zip(nest.flatten(wide), nest.flatten(kind), strict=True)
    )


def _parameter(parameter: Parameter) -> dict[str, Any]:
    entry: dict[str, Any] = {"name": parameter.name, "kind": parameter.kind.name}
    if parameter.default is not Signature.empty:
        with suppress(TypeError):  # then it has to be given
            entry["default"] = to_json(parameter.default, parameter.name)
    return entry


def _named_signatures(signatures: Any, root: Any) -> dict[str, Any]:
    """The functions that `load` gives as `signatures`, by name."""
    if signatures is None:
        if isinstance(root, LoadedModel):
            return dict(root.signatures)
        own = dict(_functions_of(root)).get("__call__")
        if is_keras_like(root) and getattr(root, "inputs", None):
            return {DEFAULT: _of_model(root)}
        if own is not None and own.input_signature is not None:
            return {DEFAULT: own}
        return {}
    given = signatures if isinstance(signatures, Mapping) else {DEFAULT: signatures}
    for name, found in given.items():
        if not isinstance(found, _FUNCTIONS):
            raise ValueError(
                f"saved_model.save: the signature {name!r} must be a tf.function or one of its "
                f"concrete functions, got {found!r}."
            )
    return dict(given)


def _of_model(model: Any) -> Any:
    """What a Keras model predicts, as a function of its inputs."""
    specs = [TensorSpec(one.shape, one.dtype, one.name) for one in model.inputs]
    single = specs[0] if len(specs) == 1 else specs
    held = getattr(model, "_inputs_struct", single)  # a functional model may take a dict
    structure = nest.pack_sequence_as(held, specs) if nest.is_nested(held) else specs[0]
    return function(lambda inputs: model(inputs, training=False), input_signature=[structure])
