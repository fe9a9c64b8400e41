"""Single functions and classes of `tensorflow.python` that maintained libraries import."""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import Any

import numpy as np

import gradtape
from gradtape import nest
from gradtape.api.tensorflow.environment import get_static_value
from gradtape.core.reference import Reference
from gradtape.core.type_spec import TypeSpec
from gradtape.core.variable import Variable
from gradtape.functions.control_flow import case
from gradtape.shapes import TensorShape, TensorSpec
from gradtape.transforms.custom_gradient import custom_gradient

__all__ = [
    "Reference",
    "TypeSpecRegistry",
    "VariableSpec",
    "case_helper",
    "constant_value_as_shape",
    "context",
    "convert_variables_to_tensors",
    "eager_mode",
    "graph_mode",
    "in_xla_context",
    "name_of_symbol",
    "prevent_gradient",
    "register_type_spec",
    "silence",
    "sticky_attribute_assignment",
    "try_evaluate_constant",
    "type_spec_by_name",
    "type_spec_name",
]  # fmt: skip


# tensorflow.python.eager.context


class Context:
    """`context.context()`: how code runs."""

    def executing_eagerly(self) -> bool:
        return bool(gradtape.executing_eagerly())


def context() -> Context:
    """What `tensorflow.python.eager.context.context` gives."""
    return Context()


class _Block:
    """A block in which nothing changes."""

    def __enter__(self) -> None:
        """Does nothing."""

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Does nothing."""


def eager_mode() -> _Block:
    """A block of eager code, as all code is outside of functions."""
    return _Block()


def graph_mode() -> _Block:
    """TensorFlow's graphs do not exist here."""
    raise NotImplementedError("graph_mode: there are no graphs here: use tf.function.")


def silence() -> _Block:
    """A block in which nothing warns of functions that will go one day: nothing does."""
    return _Block()


def in_xla_context(graph: Any) -> bool:
    """Whether code runs where only XLA's operations may be used: never, for callers' purposes."""
    return False


# Values that are known while a function is traced


def constant_value_as_shape(tensor: Any) -> TensorShape:
    """The shape whose sizes a vector has, open where they are not known."""
    if isinstance(tensor, (list, tuple)):
        tensor = gradtape.convert_to_tensor(tensor)
    found = get_static_value(tensor)
    if found is None:
        size = tensor.shape[0] if tensor.shape.rank else None
        return TensorShape(None if size is None else [None] * size)
    return TensorShape([None if size == -1 else int(size) for size in np.ravel(found)])


def try_evaluate_constant(tensor: Any) -> bool:
    """Whether a tensor's values are looked for: they are there or not, without work."""
    return True


def case_helper(
    cond_fn: Any,
    pred_fn_pairs: Any,
    default: Callable[[], Any] | None,
    exclusive: bool,
    name: str,
    allow_python_preds: bool = False,
    **cond_kwargs: Any,
) -> Any:
    """`tf.case`, which takes Python's booleans as well."""
    return case(pred_fn_pairs, default=default, exclusive=exclusive, name=name)


# Variables and modules


class VariableSpec(TensorSpec):
    """What is known of a Variable without its value."""

    __slots__ = ("alias_id", "trainable")

    def __init__(
        self, shape: Any, dtype: Any = "float32", trainable: bool = True, alias_id: Any = None
    ) -> None:
        super().__init__(shape, dtype)
        self.trainable, self.alias_id = trainable, alias_id

    value_type = Variable

    def _with_tensor_ranks_only(self) -> VariableSpec:
        rank = self.shape.rank
        sizes = None if rank is None else [None] * rank
        return VariableSpec(sizes, self.dtype, self.trainable, self.alias_id)

    def _without_tensor_names(self) -> VariableSpec:
        return self

    def __repr__(self) -> str:
        return (
            f"VariableSpec(shape={self.shape}, dtype={self.dtype!r}, trainable={self.trainable}, "
            f"alias_id={self.alias_id})"
        )


def convert_variables_to_tensors(values: Any) -> Any:
    """A structure with the values of the Variables in it; composites convert their own."""

    def converted(leaf: Any) -> Any:
        if isinstance(leaf, Variable):
            return leaf.read_value()
        own = getattr(leaf, "_convert_variables_to_tensors", None)
        return leaf if own is None else own()

    return nest.map_structure(converted, values)


def sticky_attribute_assignment(trackable: Any, name: str, value: Any) -> Any:
    """What TensorFlow wraps to save it; a checkpoint here finds it as it is."""
    return value


# Gradients


def prevent_gradient(input: Any, message: str = "", name: str | None = None) -> Any:
    """The input, of which no gradient may be asked."""

    @custom_gradient
    def same(x: Any) -> Any:
        def refuse(*gradients: Any) -> Any:
            raise LookupError(f"Gradient explicitly disabled. Reason: {message}")

        return gradtape.identity(x), refuse

    return same(input)


# tensorflow.python.framework.type_spec_registry


class TypeSpecRegistry:
    """The names of TypeSpecs, by which saved models find them."""

    names: dict[type[TypeSpec], str] = {}  # noqa: RUF012 - there is one registry
    specs: dict[str, type[TypeSpec]] = {}  # noqa: RUF012


def register_type_spec(name: str) -> Callable[[Any], Any]:
    """A decorator that gives a TypeSpec a name."""

    def register(spec: Any) -> Any:
        if name in TypeSpecRegistry.specs:
            raise ValueError(f"The TypeSpec name {name!r} is taken.")
        TypeSpecRegistry.specs[name] = spec
        TypeSpecRegistry.names[spec] = name
        return spec

    return register


def type_spec_name(spec: type[TypeSpec]) -> str:
    """The name of a registered TypeSpec."""
    if spec not in TypeSpecRegistry.names:
        raise ValueError(f"TypeSpec {spec.__name__} has not been registered.")
    return TypeSpecRegistry.names[spec]


def type_spec_by_name(name: str) -> type[TypeSpec]:
    """The TypeSpec of that name."""
    if name not in TypeSpecRegistry.specs:
        raise ValueError(f"No TypeSpec has been registered with name {name!r}.")
    return TypeSpecRegistry.specs[name]


NAMES_OF_SPECS = TypeSpecRegistry.names
SPECS_BY_NAME = TypeSpecRegistry.specs


def name_of_symbol(symbol: Any, api_name: str = "tensorflow", add_prefix: bool = False) -> None:
    """The public name of a function: none, so that callers use Python's own."""
