"""Exporting models: `model.export` and `keras.export.ExportArchive` write SavedModels of
gradtape's.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from keras.src import layers, tree
from keras.src.backend.common.variables import Variable
from keras.src.export.export_utils import make_input_spec
from keras.src.utils import io_utils

import gradtape as tf

_OWN = frozenset(("variables", "trainable_variables", "non_trainable_variables"))


class SavedModelExportArchive:
    """Functions of a model or layer, each with a name, that `write_out` saves with the variables
    they use.
    """

    def __init__(self) -> None:
        self._saved = tf.Module()
        self._endpoints: dict[str, Any] = {}
        self._tracked: list[Any] = []

    @property
    def variables(self) -> list[Any]:
        return [v for resource in self._tracked for v in resource.variables]

    @property
    def trainable_variables(self) -> list[Any]:
        return [v for v in self.variables if v.trainable]

    @property
    def non_trainable_variables(self) -> list[Any]:
        return [v for v in self.variables if not v.trainable]

    def track(self, resource: Any) -> None:
        """Saves all variables of a layer or model, also those that no endpoint uses."""
        if not isinstance(resource, layers.Layer):
            raise ValueError(
                "Invalid resource type. Expected a Keras `Layer` or `Model`. "
                f"Received object {resource} of type '{type(resource)}'. "
            )
        if not resource.built:
            raise ValueError(
                "The layer provided has not yet been built. It must be built before export."
            )
        self._tracked.append(resource)

    def add_endpoint(
        self, name: str, fn: Callable[..., Any], input_signature: Any = None, **kwargs: Any
    ) -> Any:
        """Adds a function: a `tf.function` that has been called or has a signature, or any function
        with an `input_signature`.
        """
        if name in self._endpoints:
            raise ValueError(f"Endpoint name '{name}' is already taken.")
        if name in _OWN:
            raise ValueError(f"Endpoint name '{name}' is an attribute of what is saved.")
        if kwargs:
            raise ValueError(
                f"{', '.join(map(repr, kwargs))} are only supported with the jax backend. Current "
                "backend: gradtape"
            )
        if input_signature is not None:
            signature = tree.map_structure(_spec, input_signature)
            endpoint: Any = tf.function(_of_inputs(fn), input_signature=signature)
        elif isinstance(fn, tf.types.experimental.GenericFunction):
            endpoint = fn
            if endpoint.input_signature is None and not endpoint.experimental_get_tracing_count():
                raise ValueError(
                    f"The provided tf.function '{fn}' has never been called. To specify the "
                    "expected shape and dtype of the function's arguments, you must either provide "
                    "a function that has been called at least once, or alternatively pass an "
                    "`input_signature` argument in `add_endpoint()`."
                )
        else:
            raise ValueError(
                "If the `fn` argument provided is not a `tf.function`, you must provide an "
                "`input_signature` argument to specify the shape and dtype of the function "
                "arguments, for example input_signature=[keras.InputSpec(shape=(None, 224, 224, 3),"
                " dtype='float32')]."
            )
        self._endpoints[name] = endpoint
        setattr(self._saved, name, endpoint)
        return endpoint

    def track_and_add_endpoint(
        self, name: str, resource: Any, input_signature: Any, **kwargs: Any
    ) -> Any:
        """Saves all variables of a layer or model, and adds its call as an endpoint."""
        self.track(resource)
        return self.add_endpoint(name, resource.__call__, input_signature, **kwargs)

    def add_variable_collection(self, name: str, variables: Sequence[Any]) -> None:
        """Saves variables as a list that the loaded object has under a name."""
        if not isinstance(variables, (list, tuple, set)):
            raise ValueError(
                "Expected `variables` to be a list/tuple/set. "
                f"Received instead object of type '{type(variables)}'."
            )
        if not all(isinstance(v, (tf.Variable, Variable)) for v in variables):
            raise ValueError(
                "Expected all elements in `variables` to be `tf.Variable` instances. Found instead "
                f"the following types: {list({type(v) for v in variables})}"
            )
        setattr(self._saved, name, list(variables))

    def write_out(self, filepath: Any, options: Any = None, verbose: bool = True) -> None:
        """Writes the SavedModel; the first endpoint is its default signature too."""
        if not self._endpoints:
            raise ValueError("No endpoints have been set yet. Call add_endpoint().")
        if self._tracked:
            self._saved._all_variables = self.variables
        first = next(iter(self._endpoints.values()))
        signatures = {"serving_default": first} | self._endpoints
        tf.saved_model.save(self._saved, filepath, signatures=signatures, options=options)
        if verbose:
            io_utils.print_msg(
                f"Saved artifact at '{filepath}'. The following endpoints are available: "
                f"{', '.join(self._endpoints)}."
            )


def _spec(given: Any) -> Any:
    if isinstance(given, tf.TensorSpec):
        return given
    found = make_input_spec(given)
    return tf.TensorSpec(found.shape, found.dtype, found.name)


def _of_inputs(fn: Callable[..., Any]) -> Callable[..., Any]:
    """A function of the arguments that a signature names."""
    return lambda *inputs: fn(*inputs)
