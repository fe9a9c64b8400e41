"""The import hook through which Keras finds the backend "gradtape".

Keras 3.15 chooses its backend in `if` chains that name the backends it knows. While Keras is
imported, this hook compiles the few modules that have such a chain from their source with one more
branch: a copy of the branch for "jax" that points to this package. Nothing is written to Keras's
folder. `keras.src.backend.gradtape.<module>` are aliases of this package's modules.
"""

from __future__ import annotations

import ast
import json
import os
import re
import sys
from collections.abc import Iterator, Sequence
from copy import deepcopy
from functools import wraps
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from types import CodeType, FrameType, ModuleType
from typing import Any

BACKEND = "gradtape"
KNOWN_VERSIONS = ("3.15",)

_ALIAS = f"keras.src.backend.{BACKEND}"
_COPIED = "keras.src.backend.jax"
_HERE = "keras_gradtape.src"
_OPS = frozenset(("core", "image", "linalg", "math", "nn", "numpy"))

_CHOOSING = frozenset((
    "keras.src.backend",
    "keras.src.layers.layer",
    "keras.src.models.model",
    "keras.src.optimizers.optimizer",
    "keras.src.export.saved_model",
    "keras.src.utils.backend_utils",
))  # fmt: skip
"""The modules with a chain."""

_CLASSES = {
    "JAXTrainer": "Trainer",
    "JaxLayer": "BackendLayer",
    "JaxExportArchive": "SavedModelExportArchive",
    "JaxOptimizer": "BackendOptimizer",
}


def install() -> None:
    """Makes the next `import keras` use this backend; refuses if Keras runs on another one,
    or is told to.

    Does nothing if it has been done already.
    """
    loaded = sys.modules.get("keras.src.backend.config")
    told = os.environ.get("KERAS_BACKEND")
    if loaded is not None and loaded.backend() != BACKEND:
        raise RuntimeError(
            f"Keras runs on '{loaded.backend()}' and cannot change to gradtape now: "
            f"{_why(loaded.backend())}"
        )
    if told and told != BACKEND:
        raise RuntimeError(f"Keras cannot run on gradtape: {_why(told)}")
    check_version()
    offer()


def _why(backend: str) -> str:
    """What made Keras choose another backend, and what to change."""
    if os.environ.get("KERAS_BACKEND") == backend:
        return (
            f"the environment variable KERAS_BACKEND says '{backend}'. Remove the line that sets "
            "it, here or where the program is "
            f'started, or set it to "{BACKEND}" before Keras is imported.'
        )
    return (
        f"Keras was imported before gradtape, and then chooses '{backend}'. Write `import "
        "gradtape` above the first `import keras`, "
        "also above imports that import Keras, or set the environment variable "
        f"KERAS_BACKEND={BACKEND}."
    )


def explain_missing(name: str) -> None:
    """Raises if Keras imports `name` as its backend,
    after everybody who could find it has been asked.
    """
    settings = sys.modules.get("keras.src.backend.config")
    if settings is None or settings.backend() != name:
        return
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and not str(frame.f_globals.get("__name__")).startswith("keras.src."):
        frame = frame.f_back
    if frame is not None and frame.f_code.co_name == "<module>":
        raise ModuleNotFoundError(
            f"Keras wants its backend '{name}', which is not installed: {_why(name)}", name=name
        )


def offer() -> BackendFinder:
    """Makes the next `import keras` use this backend, and looks at Keras's version then: a program
    may only ask whether Keras is there.

    Gives the finder that does it, for one that was asked for Keras just now.
    """
    found = next(
        (finder for finder in sys.meta_path if getattr(finder, "backend", None) == BACKEND), None
    )
    if not isinstance(found, BackendFinder):
        found = BackendFinder()
        sys.meta_path.insert(0, found)
    return found


def offer_if_told() -> BackendFinder | None:
    """Offers the backend if the environment variable KERAS_BACKEND names it, or, where it names
    none, Keras's settings do.
    """
    return offer() if (os.environ.get("KERAS_BACKEND") or _in_settings()) == BACKEND else None


def _in_settings() -> str | None:
    """The backend that `keras.json` names, in the folder where Keras looks for it."""
    home = os.environ.get("KERAS_HOME")
    if home is None:
        base = Path.home()
        # As Keras does.
        home = str((base if os.access(base, os.W_OK) else Path("/tmp")) / ".keras")  # noqa: S108
    try:
        settings = json.loads(
            Path(home).expanduser().joinpath("keras.json").read_text(encoding="utf-8")
        )
    except (OSError, ValueError):
        return None
    return settings.get("backend") if isinstance(settings, dict) else None


def keras_version() -> str:
    """The version of the Keras that an `import keras` finds; an ImportError if there is none."""
    spec = PathFinder.find_spec("keras")
    if spec is None or spec.origin is None:
        raise ImportError(
            "gradtape.keras is Keras 3, which is not installed: pip install 'gradtape[keras]'.",
            name="keras",
        )
    try:
        text = Path(spec.origin).with_name("src").joinpath("version.py").read_text(encoding="utf-8")
    except FileNotFoundError:  # Keras 2
        text = Path(spec.origin).read_text(encoding="utf-8")
    found = re.search(r"__version__\s*=\s*[\"']([^\"']+)", text)
    return found[1] if found else "of unknown version"


def check_version() -> None:
    """Refuses a Keras that is older than those this package has been written for, or not Keras 3.

    A newer one is tried.
    """
    version = keras_version()
    if not _is_known(version) and not _is_newer(version):
        raise ImportError(
            f"gradtape supports Keras {_KNOWN}, but Keras {version} is installed: {_ADVICE}"
        )


_KNOWN = " or ".join(KNOWN_VERSIONS)
_ADVICE = (
    f"pip install 'keras=={KNOWN_VERSIONS[-1]}.*' installs a supported version. To use Keras "
    "without gradtape, set the environment variable KERAS_BACKEND to another backend."
)


def _is_known(version: str) -> bool:
    return version.startswith(tuple(f"{known}." for known in KNOWN_VERSIONS))


def _is_newer(version: str) -> bool:
    """Whether a version is of Keras 3, and later than those that are known."""
    found = re.match(r"3\.(\d+)\.", version)
    return found is not None and int(found[1]) > max(
        int(known.partition(".")[2]) for known in KNOWN_VERSIONS
    )


class BackendFinder(MetaPathFinder):
    """Finds the backend's modules under Keras's names for them,
    and Keras's modules that choose a backend.
    """

    backend = BACKEND

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name == "keras" and os.environ.get("KERAS_BACKEND", BACKEND) in {"", BACKEND}:
            spec = PathFinder.find_spec(name, path, target)
            if spec is not None and type(spec.loader) is SourceFileLoader:
                spec.loader = _Tried(spec.loader.name, spec.loader.path)
            return spec
        if not name.startswith("keras.src."):
            return None
        if name == _ALIAS or name.startswith(_ALIAS + "."):
            return ModuleSpec(name, _Alias(_target(name)), is_package=name == _ALIAS)
        loader = _LOADERS.get(name, _WithBranch if name in _CHOOSING else None)
        if loader is None:
            return None
        spec = PathFinder.find_spec(name, path, target)
        if spec is not None and type(spec.loader) is SourceFileLoader:
            spec.loader = loader(spec.loader.name, spec.loader.path)
        return spec


def _target(alias: str) -> str:
    """The module of this package that has a name among Keras's backends."""
    module = alias[len(_ALIAS) + 1 :]
    if not module:
        return _HERE
    return f"{_HERE}.ops.{module}" if module in _OPS else f"{_HERE}.{module}"


class _Alias(Loader):
    """Puts an existing module under another name."""

    def __init__(self, target: str) -> None:
        self._target = target

    def create_module(self, spec: ModuleSpec) -> None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        sys.modules[module.__name__] = import_module(self._target)


class _Tried(SourceFileLoader):
    """Loads Keras.

    If it is newer than what this package was written for, whatever goes wrong is said to be about
    that.
    """

    def exec_module(self, module: ModuleType) -> None:
        version = keras_version()
        if not _is_newer(version):
            super().exec_module(module)
            return
        try:
            super().exec_module(module)
            check_bases()
        except Exception as error:
            raise ImportError(
                f"gradtape supports Keras {_KNOWN}. It tried Keras {version}, which failed: "
                f"{type(error).__name__}: {error} {_ADVICE}"
            ) from error


def check_bases() -> None:
    """Checks that Keras runs on this backend and that its classes are built on those of this
    package.
    """
    chosen = sys.modules["keras.src.backend.config"].backend()
    if chosen != BACKEND:
        raise ImportError(f"Keras has chosen the backend '{chosen}'.")
    for module, name in _ON_THE_BACKEND:
        bases = getattr(import_module(module), name).__mro__
        if not any(base.__module__.startswith("keras_gradtape.") for base in bases):
            raise ImportError(f"{module}.{name} is not built on a class of the backend's.")


_ON_THE_BACKEND = (
    ("keras.src.layers.layer", "Layer"),
    ("keras.src.models.model", "Model"),
    ("keras.src.optimizers.optimizer", "Optimizer"),
    ("keras.src.backend", "Variable"),
)
"""Modules and classes of Keras that choose a base by the backend."""


def _needed(module: ModuleType, name: str) -> Any:
    """A name that this package changes in a module of Keras's."""
    if not hasattr(module, name):
        raise ImportError(
            f"gradtape cannot find {name} in {module.__name__}: this version of Keras is not "
            "supported."
        )
    return getattr(module, name)


class _Chosen(SourceFileLoader):
    """Loads Keras's settings with the backend chosen, unless the environment has chosen one."""

    def exec_module(self, module: ModuleType) -> None:
        if os.environ.get("KERAS_BACKEND", BACKEND) == BACKEND:
            check_version()
        if os.environ.get("KERAS_BACKEND"):
            super().exec_module(module)
            return
        # For the settings alone: programs that this one starts choose for themselves.
        os.environ["KERAS_BACKEND"] = BACKEND
        try:
            super().exec_module(module)
        finally:
            del os.environ["KERAS_BACKEND"]


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


class _WithBranch(SourceFileLoader):
    """Compiles a module with one branch more in its choice of a backend;
    never from or to a bytecode file.
    """

    def get_code(self, fullname: str) -> CodeType:
        path = self.get_filename(fullname)
        return compile(with_branch(self.get_data(path), fullname), path, "exec", dont_inherit=True)


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


class _InGraphs(_WithBranch):
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


_LOADERS: dict[str, type[SourceFileLoader]] = {
    "keras.src.backend.config": _Chosen,
    "keras.src.backend.common.dtypes": _Wide,
    "keras.src.trainers.data_adapters.array_slicing": _Cutting,
    "keras.src.callbacks.tensorboard": _WithSummaries,
    "keras.src.utils.backend_utils": _InGraphs,
    "keras.src.utils.numerical_utils": _Encoding,
    "keras.src.utils.rng_utils": _Seeding,
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


def with_branch(source: str | bytes, module: str) -> ast.Module:
    """A module's syntax tree in which every choice of a backend has a branch for this one."""
    tree = ast.parse(source)
    choices = list(_choices(tree))
    if not choices:
        raise ImportError(
            f"gradtape cannot find where {module} chooses a backend: this version of Keras is not "
            "supported."
        )
    for choice in choices:
        branch = ast.If(
            _naming(choice.test), [_pointed(statement) for statement in choice.body], choice.orelse
        )
        choice.orelse = [ast.copy_location(branch, choice)]
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare) and isinstance(node.comparators[0], ast.Tuple):
            names = node.comparators[0].elts
            if any(_is_text(name, "jax") for name in names) and ast.unparse(node.left) == "backend":
                names.append(ast.Constant(BACKEND))
        elif isinstance(node, ast.Dict):  # a table by the backends' names
            for key, value in [
                (k, v)
                for k, v in zip(node.keys, node.values, strict=True)
                if k is not None and _is_text(k, "jax")
            ]:
                node.keys.append(ast.copy_location(ast.Constant(BACKEND), key))
                node.values.append(deepcopy(value))
    return ast.fix_missing_locations(tree)


def _choices(tree: ast.Module) -> Iterator[ast.If]:
    """The `if`s that ask for "jax": at the top of a module,
    and in Keras's class that can change its backend.
    """
    top = ("backend()", "backend.backend()")
    pending: list[ast.stmt] = list(tree.body)
    while pending:
        statement = pending.pop()
        if isinstance(statement, ast.If):
            pending += statement.orelse
            if _asks(statement.test, top):
                yield statement
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and _asks(node.test, ("self._backend",)):
            yield node


def _asks(test: ast.expr, asked: tuple[str, ...]) -> bool:
    return (
        isinstance(test, ast.Compare)
        and isinstance(test.ops[0], ast.Eq)
        and _is_text(test.comparators[0], "jax")
        and ast.unparse(test.left) in asked
    )


def _is_text(node: ast.expr, text: str) -> bool:
    return isinstance(node, ast.Constant) and node.value == text


def _naming(test: ast.expr) -> Any:
    """The same question for this backend."""
    asked: Any = deepcopy(test)
    asked.comparators = [ast.Constant(BACKEND)]
    return asked


def _pointed(statement: ast.stmt) -> ast.stmt:
    """A statement about the copied backend, said about this one."""
    copied = deepcopy(statement)
    for node in ast.walk(copied):
        if isinstance(node, ast.ImportFrom) and node.module is not None:
            node.module = node.module.replace(_COPIED, _ALIAS)
            for name in node.names:
                name.name, name.asname = (
                    _CLASSES.get(name.name, name.name),
                    name.asname or _asname(name.name),
                )
        elif isinstance(node, ast.Constant) and node.value == _COPIED:
            node.value = _ALIAS
    return copied


def _asname(name: str) -> str | None:
    """A class that gets another name here keeps the one that the importing module uses."""
    return name if name in _CLASSES else None
