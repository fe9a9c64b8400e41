"""What this package changes in single modules of Keras, beside their choice of a backend: a loader
for each, by the module's name in `LOADERS`.
"""

from __future__ import annotations

import ast
import sys
from functools import wraps
from importlib import import_module
from importlib.machinery import SourceFileLoader
from types import CodeType, ModuleType
from typing import Any

from keras_gradtape.branches import BACKEND, WithBranch

_HERE = "keras_gradtape.src"


def _needed(module: ModuleType, name: str) -> Any:
    """A name that this package changes in a module of Keras's."""
    if not hasattr(module, name):
        raise ImportError(
            f"gradtape cannot find {name} in {module.__name__}: this version of Keras is not "
            "supported."
        )
    return getattr(module, name)


class _Seeding(SourceFileLoader):
    """Loads `keras.utils.set_random_seed`, and has it set gradtape's seed too,
    as it sets TensorFlow's.
    """

    def exec_module(self, module: ModuleType) -> None:
        super().exec_module(module)
        set_others = _needed(module, "set_random_seed")

        @wraps(set_others)
        def set_random_seed(seed: int) -> None:
            set_others(seed)
            import_module("gradtape").random.set_seed(seed)

        module.set_random_seed = set_random_seed  # type: ignore[attr-defined]


class _Wide(SourceFileLoader):
    """Loads Keras's rules for dtypes, and has float64 stay float64, as on TensorFlow;
    on JAX it becomes float32.
    """

    def exec_module(self, module: ModuleType) -> None:
        super().exec_module(module)
        if module.config.backend() == BACKEND:
            _needed(module, "BIT64_TO_BIT32_DTYPE")["float64"] = "float64"


class _OnGradtape(SourceFileLoader):
    """Compiles a module that computes with TensorFlow on every backend, layers for text and
    datasets, with gradtape in its place: see `keras_gradtape.as_tensorflow`.
    """

    def get_code(self, fullname: str) -> CodeType:
        path = self.get_filename(fullname)
        source: Any = self.get_data(path)
        if _runs_here():
            source = on_gradtape(source, fullname)
        return compile(source, path, "exec", dont_inherit=True)

    def exec_module(self, module: ModuleType) -> None:
        super().exec_module(module)
        if _runs_here() and hasattr(module, "is_tf_dataset"):
            is_tensorflows = module.is_tf_dataset

            def is_tf_dataset(dataset: Any) -> bool:
                iterables = import_module("keras_gradtape.src.iterables")
                return bool(iterables.is_dataset(dataset) or is_tensorflows(dataset))

            module.is_tf_dataset = is_tf_dataset  # type: ignore[attr-defined]


class _Discretizing(_OnGradtape):
    """Compiles Keras's Discretization, and has it refuse boundaries that do not rise, as on
    TensorFlow: `keras.ops.digitize` also takes falling ones.
    """

    def exec_module(self, module: ModuleType) -> None:
        super().exec_module(module)
        layer = _needed(module, "Discretization")
        digitized = layer.call

        @wraps(digitized)
        def call(layer: Any, inputs: Any) -> Any:
            if _runs_here() and layer.bin_boundaries is not None:
                import_module(f"{_HERE}.categories").check_boundaries(layer.bin_boundaries)
            return digitized(layer, inputs)

        layer.call = call


class _OfFeatures(_OnGradtape):
    """Compiles `keras.utils.FeatureSpace` with gradtape in TensorFlow's place.

    On other backends it has its layers compute with TensorFlow, and converts what they give.
    """

    def exec_module(self, module: ModuleType) -> None:
        super().exec_module(module)
        if _runs_here():
            own = import_module("keras_gradtape.as_tensorflow")
            for name in ("backend", "backend_utils"):
                _needed(module, name)
                setattr(module, name, getattr(own, f"{name}_of_features"))


def _runs_here() -> bool:
    """Whether Keras has chosen this backend."""
    return bool(sys.modules["keras.src.backend.config"].backend() == BACKEND)


def on_gradtape(source: str | bytes, module: str) -> ast.Module:
    """A module's syntax tree whose imports of TensorFlow, and of Keras's backend for it, are those
    of `keras_gradtape.as_tensorflow`.
    """
    tree = ast.parse(source)
    found = False
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and [name.name for name in node.names] == [
            "tensorflow"
        ]:
            wanted = _IN_PLACE_OF.get(node.module or "")
            if wanted is not None:
                alias = node.names[0]
                node.module = "keras_gradtape.as_tensorflow"
                alias.name, alias.asname = wanted, alias.asname or "tensorflow"
                found = True
    if not found:
        raise ImportError(
            f"gradtape cannot find where {module} imports TensorFlow: this version of Keras is not "
            "supported."
        )
    return ast.fix_missing_locations(tree)


_IN_PLACE_OF = {"keras.src.utils.module_utils": "tf", "keras.src.backend": "backend"}
"""What `keras_gradtape.as_tensorflow` has in place of a `tensorflow` from these modules."""


class _Cutting(SourceFileLoader):
    """Compiles the module that cuts arrays into batches so that arrays of strings are no error: it
    asks whether they are floats, of which Keras knows only numbers. And has it cut gradtape's
    SparseTensors.
    """

    def get_code(self, fullname: str) -> CodeType:
        path = self.get_filename(fullname)
        return compile(
            taking_strings(self.get_data(path), fullname), path, "exec", dont_inherit=True
        )

    def exec_module(self, module: ModuleType) -> None:
        super().exec_module(module)
        if module.backend.backend() == BACKEND:
            for name in ("Sliceable", "can_slice_array", "convert_to_sliceable"):
                _needed(module, name)
            own = import_module(f"{_HERE}.slicing")
            can_slice_array, convert_to_sliceable = own.with_sparse(module)
            module.can_slice_array = can_slice_array  # type: ignore[attr-defined]
            module.convert_to_sliceable = convert_to_sliceable  # type: ignore[attr-defined]


def taking_strings(source: str | bytes, module: str) -> ast.Module:
    """A module's syntax tree that asks for NumPy's kinds of strings where it asks for `object`."""
    tree = ast.parse(source)
    asked = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Compare) and ast.unparse(node) == "dtype is not object"
    ]
    if len(asked) != 1:
        raise ImportError(
            f"gradtape cannot find where {module} asks for floats: this version of Keras is not "
            "supported."
        )
    kinds: Any = ast.parse("getattr(dtype, 'kind', 'f') not in 'OSUT'", mode="eval").body
    asked[0].left, asked[0].ops, asked[0].comparators = kinds.left, kinds.ops, kinds.comparators
    return ast.fix_missing_locations(tree)


class _WithSummaries(SourceFileLoader):
    """Loads Keras's TensorBoard callback, and has it write with gradtape's summaries where Keras
    would import TensorFlow.
    """

    def exec_module(self, module: ModuleType) -> None:
        super().exec_module(module)
        if module.backend.backend() == BACKEND:
            own = import_module(f"{_HERE}.tensorboard")
            module.TensorBoard = own.with_summaries(  # type: ignore[attr-defined]
                _needed(module, "TensorBoard")
            )
            _needed(module, "keras_model_summary")
            module.keras_model_summary = own.keras_model_summary  # type: ignore[attr-defined]


class _Encoding(SourceFileLoader):
    """Loads the function that encodes categories, and has it take sparse and ragged tensors."""

    def exec_module(self, module: ModuleType) -> None:
        super().exec_module(module)
        encode_dense = _needed(module, "encode_categorical_inputs")

        @wraps(encode_dense)
        def encode_categorical_inputs(*args: Any, **kwargs: Any) -> Any:
            if not _runs_here():
                return encode_dense(*args, **kwargs)
            return import_module(f"{_HERE}.categories").encode(encode_dense, *args, **kwargs)

        module.encode_categorical_inputs = encode_categorical_inputs  # type: ignore[attr-defined]


class _InGraphs(WithBranch):
    """Loads the module that knows whether TensorFlow builds a graph, where layers would compute
    with it: never where `tensorflow` means gradtape, as under `python -m gradtape`.
    """

    def exec_module(self, module: ModuleType) -> None:
        super().exec_module(module)
        in_graph_of_tensorflow = _needed(module, "in_tf_graph")

        def in_tf_graph() -> bool:
            named = sys.modules.get("tensorflow")
            here = named is not None and named is sys.modules.get("gradtape")
            return not here and bool(in_graph_of_tensorflow())

        module.in_tf_graph = in_tf_graph  # type: ignore[attr-defined]


class _Refusing(SourceFileLoader):
    """Loads a module that exports models for other programs, and has it say what to do instead:
    Keras converts only what TensorFlow, JAX or PyTorch has made.
    """

    def exec_module(self, module: ModuleType) -> None:
        super().exec_module(module)
        kind = module.__name__.rpartition(".")[2]
        exports = _needed(module, f"export_{kind}")

        @wraps(exports)
        def export(*args: Any, **kwargs: Any) -> Any:
            if not _runs_here():
                return exports(*args, **kwargs)
            raise NotImplementedError(
                f"On gradtape, Keras cannot export the format '{kind}'. Save the model with "
                "model.save('model.keras'), load it where Keras runs on another backend "
                "(KERAS_BACKEND=tensorflow, with TensorFlow installed there), and call "
                f"model.export(..., format='{kind}') there."
            )

        setattr(module, f"export_{kind}", export)


LOADERS: dict[str, type[SourceFileLoader]] = {
    "keras.src.backend.common.dtypes": _Wide,
    "keras.src.trainers.data_adapters.array_slicing": _Cutting,
    "keras.src.callbacks.tensorboard": _WithSummaries,
    "keras.src.utils.backend_utils": _InGraphs,
    "keras.src.utils.numerical_utils": _Encoding,
    "keras.src.utils.rng_utils": _Seeding,
    **{f"keras.src.export.{name}": _Refusing for name in ("onnx", "openvino")},
    "keras.src.layers.preprocessing.discretization": _Discretizing,
    "keras.src.layers.preprocessing.feature_space": _OfFeatures,
    **{f"keras.src.layers.preprocessing.{name}": _OnGradtape for name in (
        "hashed_crossing", "hashing", "index_lookup", "integer_lookup", "normalization",
        "string_lookup", "text_vectorization",
    )},
    **{f"keras.src.utils.{name}": _OnGradtape for name in (
        "dataset_utils", "image_dataset_utils", "text_dataset_utils", "tf_utils",
        "timeseries_dataset_utils",
    )},
}  # fmt: skip
