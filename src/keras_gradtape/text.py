"""What Keras's layers for text and categories find where they ask for TensorFlow: gradtape.

TextVectorization, StringLookup, IntegerLookup, Hashing, HashedCrossing and Discretization compute
with `tf.strings`, `tf.lookup` and `tf.RaggedTensor` on every backend of Keras's. The import hook
gives their modules `tf` and `backend` from here instead of the `tensorflow` package and of Keras's
backend for it; no other module of Keras sees them.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from importlib import import_module
from types import SimpleNamespace
from typing import Any

import gradtape


class NoDataset:
    """Takes the place of `tf.data.Dataset` where there is none: nothing is one."""


def _as_text(text: Any, encoding: str = "utf-8") -> str:
    return text.decode(encoding) if isinstance(text, bytes) else str(text)


class _TensorFlow:
    """gradtape, with what these layers ask for in addition."""

    available = True

    @property
    def data(self) -> Any:
        return getattr(gradtape, "data", SimpleNamespace(Dataset=NoDataset))

    @property
    def io(self) -> Any:
        files = SimpleNamespace(exists=os.path.exists, join=os.path.join, GFile=open)
        return getattr(gradtape, "io", SimpleNamespace(gfile=files))

    @property
    def compat(self) -> Any:
        texts = SimpleNamespace(as_text=_as_text, as_str=_as_text)
        return getattr(gradtape, "compat", texts)

    @staticmethod
    def map_fn(fn: Callable[[Any], Any], elems: Any, **options: Any) -> Any:
        """`tf.map_fn`, also over the rows of a RaggedTensor, whose results may differ in length."""
        if isinstance(elems, gradtape.RaggedTensor):
            rows = [fn(row) for row in elems]
            return gradtape.ragged.stack(rows) if rows else elems
        return gradtape.map_fn(fn, elems, **options)

    def __getattr__(self, name: str) -> Any:
        return getattr(gradtape, name)


class _Backend:
    """This backend under the name of TensorFlow's, by which Keras knows that it can count numbers
    in the rows of a RaggedTensor.
    """

    __name__ = "keras.src.backend.tensorflow"

    def __getattr__(self, name: str) -> Any:
        return getattr(import_module("keras_gradtape.src"), name)


tf = _TensorFlow()
backend = _Backend()
