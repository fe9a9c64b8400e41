"""`Described`: the signature of a traced function, as specs and as text.

The text is TensorFlow's, so a signature that is printed or compared reads the same.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from gradtape import nest
from gradtape.core.tape_arguments import source_object
from gradtape.core.tensor import Tensor
from gradtape.core.variable import Variable
from gradtape.functions.signature import Parameters
from gradtape.shapes import TensorShape, TensorSpec

_ARGUMENTS = "structured_input_signature has the specs of the arguments"
_RESULTS = "structured_outputs has the specs of the results"
_DRAWN = "tf.summary.graph draws the program"
_INSTEAD = {
    "graph": f"{_DRAWN}; {_ARGUMENTS}, {_RESULTS}",
    "func_graph": f"{_DRAWN}; {_ARGUMENTS}, {_RESULTS}",
    "function_def": _DRAWN,
    "function_type": f"{_ARGUMENTS}, {_RESULTS}, and pretty_printed_signature() is their text",
    "input_signature": _ARGUMENTS,
    "inputs": f"{_ARGUMENTS}, and captured_inputs what else it reads",
    "outputs": _RESULTS,
    "add_to_graph": "call it where its results are needed",
    "add_gradient_functions_to_graph": "ask a tape for the gradient",
    "set_variables": "it reads the Variables that it was traced with",
    "replace_capture_with_deferred_capture": "pass what changes as an argument",
}
"""What TensorFlow's has, and what serves here."""


class Parameter(NamedTuple):
    """A description of an argument: its name, how it can be passed, and its type."""

    name: str
    kind: str
    type: str


class Described(ABC):
    """A traced function that can describe its signature."""

    @abstractmethod
    def _inputs(self) -> tuple[Parameters, Sequence[Any], dict[str, Any]]:
        """The Python function's parameters, and arguments of the kind it was traced for."""

    @property
    @abstractmethod
    def structured_outputs(self) -> Any:
        """The result's structure, with a TensorSpec for each tensor."""

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise TypeError(
            f"{self!r} is a program of this process, which cannot be copied or pickled: copy or "
            "pickle the tf.function that it comes from, and call its get_concrete_function()."
        )

    @property
    @abstractmethod
    def captured_inputs(self) -> list[Any]:
        """What it captures besides its arguments."""

    if not TYPE_CHECKING:  # a type checker would take any name to be there

        def __getattr__(self, name: str) -> Any:
            """Says what there is instead of what TensorFlow's has and this has not."""
            instead = _INSTEAD.get(name)
            raise AttributeError(
                f"{type(self).__name__!r} object has no attribute {name!r}"
                + ("." if instead is None else f": there is no graph; {instead}")
            )

    @property
    def output_shapes(self) -> Any:
        """The shapes of the results, in their structure; for what is not a tensor, the unknown
        shape.

        >>> import gradtape as tf
        >>> f = tf.function(lambda x: {"double": x + x, "sum": tf.reduce_sum(x)})
        >>> f.get_concrete_function(tf.TensorSpec([2])).output_shapes
        {'double': TensorShape([2]), 'sum': TensorShape([])}
        """
        return nest.map_structure(
            lambda leaf: getattr(leaf, "shape", TensorShape(None)), self.structured_outputs
        )

    @property
    def output_dtypes(self) -> Any:
        """The dtypes of the results, in their structure; None for what is not a tensor.

        >>> import gradtape as tf
        >>> tf.function(lambda x: (x, x > 0)).get_concrete_function(
        ...     tf.TensorSpec([2])
        ... ).output_dtypes
        (tf.float32, tf.bool)
        """
        return nest.map_structure(
            lambda leaf: getattr(leaf, "dtype", None), self.structured_outputs
        )

    def pretty_printed_signature(self, verbose: bool = True) -> str:
        """The arguments, the result and the captured inputs, one per line; without `verbose`,
        arguments and result on one line.

        >>> import gradtape as tf
        >>> program = tf.function(lambda x, n: x * n).get_concrete_function(tf.TensorSpec([2]), 3)
        >>> print(program.pretty_printed_signature(verbose=False))
        (x: TensorSpec(shape=(2,), dtype=tf.float32, name=None),
        n: Literal[3]) -> TensorSpec(shape=(2,), dtype=tf.float32, name=None)
        """
        aliases: dict[int, int] = {}
        parameters = list(_described_parameters(*self._inputs(), aliases))
        result = type_described(self.structured_outputs, aliases)
        if not verbose:
            return f"({', '.join(_in_one_line(parameters))}) -> {result}"
        others = [
            value for value in self.captured_inputs if id(source_object(value)) not in aliases
        ]  # that are no arguments
        captured = [f"{_label(value)}: {type_described(value, aliases)}" for value in others]
        return "\n  ".join(
            ["Input Parameters:"] + [f"{p.name} ({p.kind}): {p.type}" for p in parameters]
        ) + "\n".join(
            [
                "",
                "Output Type:",
                f"  {result}",
                "Captures:",
                *(f"  {line}" for line in captured or ["None"]),
            ]
        )

    def __str__(self) -> str:
        return f"ConcreteFunction {self.pretty_printed_signature()}"


def spec_or_itself(leaf: Any) -> Any:
    """The spec of a Tensor, a Variable or a composite; anything else as it is."""
    found = source_object(leaf)
    if hasattr(found, "__gradtape_spec__"):
        return found.__gradtape_spec__()
    return TensorSpec(found.shape, found.dtype) if isinstance(found, (Tensor, Variable)) else leaf


def type_described(value: Any, aliases: dict[int, int]) -> str:
    """The type of a value as TensorFlow writes it; `aliases` numbers the Variables."""
    found = source_object(value)
    if isinstance(found, Variable):
        number = aliases.setdefault(id(found), len(aliases))
        return (
            f"VariableSpec(shape={found.shape}, dtype={found.dtype!r}, "
            f"trainable={found.trainable}, alias_id={number})"
        )
    if isinstance(found, Tensor):
        return repr(TensorSpec(found.shape, found.dtype))
    if isinstance(value, dict):
        return f"Dict[{_entries(value.items(), aliases)}]"
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return (
            f"{type(value).__name__}[{_entries(zip(value._fields, value, strict=True), aliases)}]"
        )
    if isinstance(value, (list, tuple)):
        name = "List" if isinstance(value, list) else "Tuple"
        return f"{name}[{', '.join(type_described(entry, aliases) for entry in value)}]"
    if value is None or isinstance(value, (bool, int, float, complex, str, bytes)):
        return f"Literal[{value!r}]"
    if isinstance(value, TensorSpec) or hasattr(value, "value_type"):
        return repr(value)
    if hasattr(value, "__gradtape_spec__"):
        return repr(value.__gradtape_spec__())
    return type(value).__name__


def _entries(entries: Any, aliases: dict[int, int]) -> str:
    return ", ".join(f"[{key!r}, {type_described(entry, aliases)}]" for key, entry in entries)


def _described_parameters(
    parameters: Parameters, args: Sequence[Any], kwargs: dict[str, Any], aliases: dict[int, int]
) -> Iterator[Parameter]:
    for (name, kind), value in zip(parameters.positions(len(args)), args, strict=True):
        yield Parameter(name, kind, type_described(value, aliases))
    for name, value in kwargs.items():
        yield Parameter(name, "KEYWORD_ONLY", type_described(value, aliases))


def _in_one_line(parameters: Sequence[Parameter]) -> Iterator[str]:
    """As in a Python signature: a slash after positional-only parameters, a star before
    keyword-only ones.
    """
    kinds = [p.kind for p in parameters]
    for i, parameter in enumerate(parameters):
        if parameter.kind == "KEYWORD_ONLY" and "KEYWORD_ONLY" not in kinds[:i]:
            yield "*"
        yield f"{parameter.name}: {parameter.type}"
        if parameter.kind == "POSITIONAL_ONLY" and "POSITIONAL_ONLY" not in kinds[i + 1 :]:
            yield "/"


def _label(captured: Any) -> str:
    return str(getattr(source_object(captured), "name", "tensor"))
