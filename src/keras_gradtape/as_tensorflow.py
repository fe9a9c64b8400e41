"""What parts of Keras find where they ask for TensorFlow: gradtape.

Layers for text and categories compute with `tf.strings`, `tf.lookup` and `tf.RaggedTensor` on every
backend of Keras's, and utilities make datasets with `tf.data`. The import hook gives their modules
`tf` and `backend` from here instead of the `tensorflow` package and of Keras's backend for it; no
other module of Keras sees them.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from importlib import import_module
from typing import Any

import gradtape


class _TensorFlow:
    """gradtape, with what these modules ask for in addition."""

    available = True

    @staticmethod
    def map_fn(fn: Callable[[Any], Any], elems: Any, **options: Any) -> Any:
        """`tf.map_fn`, also over the rows of a RaggedTensor, whose results may differ in length."""
        if isinstance(elems, gradtape.RaggedTensor):
            rows = [fn(row) for row in elems]
            return gradtape.ragged.stack(rows) if rows else elems
        return gradtape.map_fn(fn, elems, **options)

    def __getattr__(self, name: str) -> Any:
        return getattr(gradtape, name)


class _Numpy:
    """This backend's NumPy functions; counts in a RaggedTensor are multiplied by weights too."""

    @staticmethod
    def multiply(x1: Any, x2: Any) -> Any:
        if isinstance(x1, gradtape.RaggedTensor):
            return gradtape.multiply(x1, x2)
        return import_module("keras_gradtape.src").numpy.multiply(x1, x2)

    def __getattr__(self, name: str) -> Any:
        return getattr(import_module("keras_gradtape.src").numpy, name)


class _Backend:
    """This backend under the name of TensorFlow's, by which Keras knows that it can count numbers
    in the rows of a RaggedTensor.
    """

    __name__ = "keras.src.backend.tensorflow"
    numpy = _Numpy()

    def __getattr__(self, name: str) -> Any:
        return getattr(import_module("keras_gradtape.src"), name)


class _BackendOfFeatures:
    """`keras.backend` under TensorFlow's name, by which a FeatureSpace knows that its layers' own
    results are what it gives.
    """

    @staticmethod
    def backend() -> str:
        return "tensorflow"

    def __getattr__(self, name: str) -> Any:
        return getattr(import_module("keras.src.backend"), name)


class _BackendUtilsOfFeatures:
    """What a FeatureSpace asks of Keras's `backend_utils`: its layers compute as they do
    elsewhere.
    """

    TFGraphScope = nullcontext


tf = _TensorFlow()
backend = _Backend()
backend_of_features = _BackendOfFeatures()
backend_utils_of_features = _BackendUtilsOfFeatures()
