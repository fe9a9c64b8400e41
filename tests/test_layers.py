"""Imports point one way: every module of the package imports only from its own layer and those
below it.

Modules that are imported by name, as with `import_module("gradtape.core.tape")`, count too.
Imports under `if TYPE_CHECKING:` are exempt, because they do not run.
"""

import ast
import graphlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

import gradtape

ROOT = Path(gradtape.__file__).parent

# The lowest layer first. A module that is in none of these, such as `gradtape` itself or
# `gradtape.math`, is a public namespace: the top.
LAYERS = (
    ("absent", "blocks", "crc32c", "errors", "extras", "dtypes", "nest", "published", "shapes"),
    ("engines",),
    ("core",),
    ("convert",),
    ("ops",),
    ("transforms",),
    ("inspect",),
    ("functions",),
    ("api",),
    ("saved_model",),
    ("ragged",),
    ("strings",),
    ("lookup",),
    ("io",),
    ("data",),
    ("summary",),
    ("distribute",),
    ("bridge",),
    ("scipy", "optimize"),
)

ANYWHERE = {"numpy", "ml_dtypes", "optree", "safetensors"}
INSIDE_FUNCTIONS = {"scipy"}  # slow to import, needed by few
XLA = {"jax", "jaxlib", "malt"}
XLA_MODULES = (
    "gradtape.engines.xla",
    "gradtape.functions",
    "gradtape.bridge.jax_primitive",  # it tells JAX how to differentiate a program of gradtape's
)
# Classes whose methods import what they need, from layers above, when they are called.
METHODS = (
    "gradtape.absent",  # which reads its sentences when a name is not found
    "gradtape.core.array_methods",
    "gradtape.core.indexed_slices",
    "gradtape.core.sparse_tensor",
    "gradtape.core.tape_methods",
)
# Libraries that few modules know: one makes them work with Tensors, or offers what they have.
KERAS_IS_KNOWN_BY = ("gradtape.api.tensorflow.keras_imports", "gradtape.callbacks")
SERVED_BY = {
    "absl": ("gradtape.compat.v1.flags",),
    "einops": ("gradtape.api.tensorflow.einops_backend",),
    "keras": KERAS_IS_KNOWN_BY,
    "matplotlib": ("gradtape.optimize.history",),
    "keras_gradtape": KERAS_IS_KNOWN_BY,
    "sympy": ("gradtape.bridge.sympy_code",),
    "torch": ("gradtape.bridge.torch_arrays",),
}
# Functions whose first argument is the name of a module that they import.
BY_NAME = {"import_module", "__import__", "imported_when_called"}


class Import(NamedTuple):
    name: str  # dotted, such as `gradtape.core.tape` or `numpy`
    line: int
    inside_function: bool


def module_name(path: Path) -> str:
    parts = path.relative_to(ROOT.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


FILES = {module_name(path): path for path in sorted(ROOT.rglob("*.py"))}


def imports(source: str, module: str, *, package: bool = False) -> list[Import]:
    """Everything that a module imports when it is imported or when its functions run."""
    home = module if package else module.rpartition(".")[0]
    return list(_imports(ast.parse(source).body, home, inside_function=False))


def _imports(body: list[ast.stmt], home: str, *, inside_function: bool) -> Iterator[Import]:
    for statement in body:
        if isinstance(statement, ast.Import):
            for alias in statement.names:
                yield Import(alias.name, statement.lineno, inside_function)
        elif isinstance(statement, ast.ImportFrom):
            base = _absolute(statement, home)
            for alias in statement.names:
                # `from gradtape import nest` imports a module, `from gradtape import exp` a name.
                full = f"{base}.{alias.name}"
                yield Import(full if full in FILES else base, statement.lineno, inside_function)
        elif isinstance(statement, ast.If) and _is_type_checking(statement.test):
            yield from _imports(statement.orelse, home, inside_function=inside_function)
        else:
            deeper = inside_function or isinstance(
                statement, (ast.FunctionDef, ast.AsyncFunctionDef)
            )
            yield from _imports_by_name(statement, inside_function=inside_function)
            yield from _imports(_blocks(statement), home, inside_function=deeper)


def _imports_by_name(node: ast.AST, *, inside_function: bool) -> Iterator[Import]:
    """The modules that a statement's own expressions import by name, not those of its blocks."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, (ast.stmt, ast.excepthandler, ast.match_case)):
            continue
        if isinstance(child, ast.Call) and child.args:
            function = _last_name(child.func)
            module = _beginning(child.args[0]).rstrip(".")
            if function in BY_NAME and module:
                later = inside_function or function == "imported_when_called"
                yield Import(module, child.lineno, later)
        yield from _imports_by_name(
            child, inside_function=inside_function or isinstance(child, ast.Lambda)
        )


def _last_name(function: ast.expr) -> str:
    match function:
        case ast.Name(name) | ast.Attribute(_, name):
            return name
    return ""


def _beginning(text: ast.expr) -> str:
    """A string, or what an f-string begins with; empty where that is not known."""
    match text:
        case ast.Constant(str() as value):
            return value
        case ast.JoinedStr([ast.Constant(str() as value), *_]):
            return value
    return ""


def _absolute(statement: ast.ImportFrom, home: str) -> str:
    if not statement.level:
        return statement.module or ""
    parts = home.split(".")
    parts = parts[: len(parts) - statement.level + 1]
    return ".".join([*parts, statement.module] if statement.module else parts)


def _is_type_checking(test: ast.expr) -> bool:
    return (isinstance(test, ast.Name) and test.id.lstrip("_") == "TYPE_CHECKING") or (
        isinstance(test, ast.Attribute) and test.attr == "TYPE_CHECKING"
    )


def _blocks(statement: ast.stmt) -> list[ast.stmt]:
    """The statements inside a compound statement, of all its branches."""
    found = []
    for child in ast.iter_child_nodes(statement):
        if isinstance(child, ast.stmt):
            found.append(child)
        elif isinstance(child, (ast.excepthandler, ast.match_case)):
            found.extend(child.body)
    return found


def layer(module: str) -> int:
    parts = module.split(".")
    for rank, names in enumerate(LAYERS):
        if len(parts) > 1 and parts[1] in names:
            return rank
    return len(LAYERS)


def complaints(module: str, found: list[Import]) -> list[str]:
    """What is wrong with a module's imports, a line each."""
    wrong = []
    for name, line, inside_function in found:
        place = f"{module}, line {line}: imports {name}"
        root = name.partition(".")[0]
        if root == "gradtape":
            if layer(name) > layer(module) and not (module in METHODS and inside_function):
                wrong.append(f"{place}, which is in a layer above")
        elif root in XLA:
            if not module.startswith(XLA_MODULES):
                wrong.append(f"{place}: only the XLA engine and function/ may")
        elif root in SERVED_BY:
            if module not in SERVED_BY[root]:
                wrong.append(f"{place}: only {' and '.join(SERVED_BY[root])} may")
        elif root in INSIDE_FUNCTIONS:
            if not inside_function:
                wrong.append(f"{place} at module level: do it in the function that needs it")
        elif root not in ANYWHERE and root not in sys.stdlib_module_names:
            wrong.append(f"{place}, which is not a dependency")
    return wrong


def test_the_package_was_found():
    assert {"gradtape", "gradtape.core.tape", "gradtape.ops.op"} <= FILES.keys()


@pytest.mark.parametrize("module", FILES)
def test_imports_point_one_way(module):
    path = FILES[module]
    found = imports(path.read_text(encoding="utf-8"), module, package=path.name == "__init__.py")
    assert not complaints(module, found)


def test_no_modules_import_each_other_in_a_circle():
    graph = {}
    for module, path in FILES.items():
        found = imports(
            path.read_text(encoding="utf-8"), module, package=path.name == "__init__.py"
        )
        graph[module] = {
            i.name for i in found if i.name in FILES and i.name != module and not i.inside_function
        }
    graphlib.TopologicalSorter(graph).prepare()


@pytest.mark.parametrize(
    ("module", "source", "complaint"),
    [
        ("gradtape.core.tape", "from gradtape.ops.op import Op", "layer above"),
        ("gradtape.core.tape", "from ..ops.op import Op", "layer above"),
        ("gradtape.core.tape", "from gradtape import ops", "layer above"),
        ("gradtape.core.tape", "import gradtape.ops.op", "layer above"),
        ("gradtape.core.tape", "def f():\n    from gradtape.api import arguments", "layer above"),
        ("gradtape.core.tape", "class C:\n    import gradtape", "layer above"),
        (
            "gradtape.core.tape",
            "try:\n    pass\nexcept OSError:\n    import gradtape",
            "layer above",
        ),
        (
            "gradtape.core.tape",
            "if TYPE_CHECKING:\n    pass\nelse:\n    import gradtape",
            "layer above",
        ),
        ("gradtape.ops.op", "import jax.numpy", "only the XLA engine"),
        ("gradtape.ops.op", "def f():\n    import jax", "only the XLA engine"),
        ("gradtape.ops.op", "from scipy import special", "at module level"),
        ("gradtape.ops.op", "import einops", "only gradtape.api.tensorflow.einops_backend"),
        (
            "gradtape.core.tape",
            "import importlib\ndef f():\n    return importlib.import_module('gradtape.ops.op')",
            "layer above",
        ),
        ("gradtape.core.tape", "x = [import_module('gradtape.ops.op').f]", "layer above"),
        ("gradtape.core.tape", "f = lambda: __import__('gradtape.ops.op')", "layer above"),
        ("gradtape.core.tape", "f = lambda m: import_module(f'gradtape.ops.{m}')", "layer above"),
        ("gradtape.core.tape", "with import_module('gradtape.ops.op').f(): pass", "layer above"),
        ("gradtape.core.tape", "f = imported_when_called('gradtape.ops.op', 'f')", "layer above"),
        ("gradtape.core.array_methods", "o = import_module('gradtape.ops.op')", "layer above"),
        ("gradtape.ops.op", "def f():\n    import_module('jax.numpy')", "only the XLA engine"),
        ("gradtape.functions.trace", "import keras", "keras_imports and gradtape.callbacks may"),
        ("gradtape.functions.trace", "import_module('keras_gradtape')", "keras_imports"),
        ("gradtape.functions.trace", "import torch", "only gradtape.bridge.torch_arrays"),
        ("gradtape.ops.op", "import_module('sympy')", "only gradtape.bridge.sympy_code"),
        ("gradtape.functions.trace", "def f():\n    import tensorflow", "not a dependency"),
    ],
)
def test_a_wrong_import_is_found(module, source, complaint):
    (wrong,) = complaints(module, imports(source, module))
    assert complaint in wrong


@pytest.mark.parametrize(
    ("module", "source"),
    [
        (
            "gradtape.core.tape",
            (
                "from gradtape.engines.arrays import sum_array_to\nfrom gradtape import nest, "
                "dtypes\nimport logging"
            ),
        ),
        ("gradtape.core.tape", "if TYPE_CHECKING:\n    from gradtape.ops.op import Op"),
        ("gradtape.core.tape", "if typing.TYPE_CHECKING:\n    import keras"),
        ("gradtape.ops.special", "def kernel():\n    from scipy import special"),
        ("gradtape.engines.xla.engine", "import jax"),
        ("gradtape.functions.trace", "import jax.numpy as jnp"),
        ("gradtape.math", "from gradtape.api.tensorflow.elementwise import exp"),
        ("gradtape", "from gradtape import math"),
        ("gradtape.core.array_methods", "f = imported_when_called('gradtape.api.a', 'f')"),
        ("gradtape.core.array_methods", "def f():\n    import_module('gradtape.array_api')"),
        ("gradtape.core.tape", "def f(name):\n    return import_module(name)"),
        ("gradtape.core.tape", "x = find('gradtape.ops.op')"),
    ],
)
def test_a_right_import_passes(module, source):
    assert complaints(module, imports(source, module)) == []


KERAS = {
    path.relative_to(ROOT.parent).as_posix(): path
    for path in sorted((ROOT.parent / "keras_gradtape").rglob("*.py"))
}


@pytest.mark.parametrize("file", KERAS)
def test_keras_is_built_on_public_names_and_on_extend(file):
    found = imports(KERAS[file].read_text(encoding="utf-8"), "keras_gradtape")
    inside = [
        i.name
        for i in found
        if i.name.partition(".")[0] == "gradtape" and layer(i.name) < len(LAYERS)
    ]
    assert inside == []
