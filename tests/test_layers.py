"""Imports point one way: every module of the package imports only from its own layer and those
below it.

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
    ("blocks", "errors", "dtypes", "nest", "published", "shapes"),
    ("engines",),
    ("core",),
    ("convert",),
    ("ops",),
    ("transforms", "inspect"),
    ("functions",),
    ("api",),
)

ANYWHERE = {"numpy", "ml_dtypes", "optree", "safetensors"}
INSIDE_FUNCTIONS = {"scipy"}  # slow to import, needed by few
XLA = {"jax", "jaxlib", "malt"}
XLA_MODULES = ("gradtape.engines.xla", "gradtape.functions")
# Classes whose methods import what they need, from layers above, when they are called.
METHODS = ("gradtape.core.tape_methods",)
# Libraries that one module makes work with Tensors.
SERVED_BY = {"einops": "gradtape.api.tensorflow.einops_backend"}


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
            yield from _imports(_blocks(statement), home, inside_function=deeper)


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
            if module != SERVED_BY[root]:
                wrong.append(f"{place}: only {SERVED_BY[root]} may")
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
        ("gradtape.functions.trace", "import keras", "not a dependency"),
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


# What is known about a single op stands in its declaration


def facts_about_ops(source: str) -> list[str]:
    """Where a module tells one op from others: by comparing an op or its name, by a table of ops,
    or by asking a function for its Op.
    """
    tree = ast.parse(source)
    functions = {
        alias.asname or alias.name
        for statement in ast.walk(tree)
        if isinstance(statement, ast.ImportFrom)
        and (statement.module or "").startswith("gradtape.ops")
        for alias in statement.names
    }
    return [
        f"line {node.lineno}: {ast.unparse(node)}"
        for node in ast.walk(tree)
        if _tells_ops_apart(node, functions)
    ]


def _tells_ops_apart(node: ast.AST, functions: set[str]) -> bool:
    match node:
        case ast.Compare(left, _, others):
            return any(map(_is_an_op, [left, *others])) and not any(map(_is_none, others))
        case ast.Subscript(_, key) | ast.Call(ast.Attribute(_, "get" | "pop"), [key, *_]):
            return _is_an_op(key)
        case ast.Attribute(ast.Name(name), "op"):
            return name in functions
    return False


def _is_an_op(node: ast.AST) -> bool:
    """Whether an expression stands for an op, or for its name."""
    match node:
        case ast.Attribute(value, "name"):
            return _is_an_op(value)
        case ast.Name("op") | ast.Attribute(_, "op"):
            return True
    return False


def _is_none(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


@pytest.mark.parametrize("module", [name for name in FILES if not name.startswith("gradtape.ops")])
def test_facts_about_single_ops_stand_in_ops(module):
    assert facts_about_ops(FILES[module].read_text(encoding="utf-8")) == []


@pytest.mark.parametrize("wrong", [
    "if rule.op is MATMUL: pass",
    "if op is not other: pass",
    "if op.name == 'transpose': pass",
    "if node.rule.op.name in ('lu', 'qr'): pass",
    "move = PULLS.get(rule.op)",
    "rule = _RULES[op.name]",
    "from gradtape.ops.matrix import matmul\nMATMUL = matmul.op",
])  # fmt: skip
def test_the_checker_of_facts_finds_them(wrong):
    assert len(facts_about_ops(wrong)) == 1


@pytest.mark.parametrize(
    "right",
    [
        "if op is None: pass",
        "if rule.op.rows is not None: pass",
        "y = op.call(x)",
        "name = op.name",
    ],
)
def test_the_checker_of_facts_lets_others_pass(right):
    assert facts_about_ops(right) == []


# Classes are defined where they stand

CLASSES = {
    "Tensor",
    "Variable",
    "GradientTape",
    "TensorOperators",
    "ArrayMethods",
    "TapeMethods",
    "XlaTensor",
    "BatchedTensor",
}


def patches(source: str) -> list[str]:
    """Where a module gives a class of tensors, Variables or tapes an attribute from outside."""
    return [
        f"line {node.lineno}: {ast.unparse(node)}"
        for node in ast.walk(ast.parse(source))
        if _patches(node)
    ]


def _patches(node: ast.AST) -> bool:
    match node:
        case ast.Assign(targets):
            return any(isinstance(t, ast.Attribute) and _is_of_a_class(t) for t in targets)
        case ast.Call(ast.Name("setattr"), [ast.Name(name), *_]):
            return name in CLASSES
    return False


def _is_of_a_class(target: ast.Attribute) -> bool:
    return target.attr == "__class__" or (
        isinstance(target.value, ast.Name) and target.value.id in CLASSES
    )


CHANGE_CLASS = {"gradtape.core.xla.tensor": 1, "gradtape.core.xla.placement": 1}
"""Where an object takes on another class, once it is known what it is, and the reason stands."""


@pytest.mark.parametrize("module", sorted(FILES))
def test_classes_are_defined_where_they_stand(module):
    found = patches(FILES[module].read_text(encoding="utf-8"))
    assert len(found) == CHANGE_CLASS.get(module, 0)
    assert all("__class__" in line for line in found)


@pytest.mark.parametrize(
    "wrong",
    [
        "GradientTape.jacobian = f",
        "x.__class__ = Tensor",
        "def f():\n    setattr(Tensor, name, value)",
    ],
)
def test_a_patch_is_found(wrong):
    assert len(patches(wrong)) == 1


# One door

DOOR = "gradtape.convert"


@pytest.mark.parametrize("module", [m for m in FILES if not m.startswith(("gradtape.core", DOOR))])
def test_plain_values_become_tensors_through_one_door(module):
    """What makes an array of anything is core's own, and for all others in `convert`,
    with the policies.
    """
    path = FILES[module]
    found = imports(path.read_text(encoding="utf-8"), module, package=path.name == "__init__.py")
    assert [name for name, *_ in found if name.startswith("gradtape.core.values")] == []


# Rules name no engine

ENGINES = {
    "engine_of",
    "ndarray",
    "is_xla",
    "is_traced",
    "XlaTensor",
    "xla_engine",
    "products",
    "jax",
}
GENERAL = {
    f"gradtape.ops.{name}" for name in ("derivative", "op", "written")
}  # what serves all ops, and both engines
FAMILIES = [
    m for m in FILES.keys() - GENERAL if m.startswith("gradtape.ops.") and not m.endswith("_on_xla")
]


def engines_in_rules(source: str) -> list[str]:
    """The pulls, known by the name of their first parameter,
    that ask of which engine an array is.
    """
    return [
        f"line {node.lineno}"
        for node in ast.walk(ast.parse(source))
        if isinstance(node, (ast.FunctionDef, ast.Lambda))
        and [a.arg for a in node.args.args[:1]] == ["g"]
        for part in ast.walk(node)
        if (isinstance(part, ast.Name) and part.id in ENGINES)
        or (isinstance(part, ast.Attribute) and part.attr in ENGINES)
    ]


@pytest.mark.parametrize("module", sorted(FAMILIES))
def test_rules_name_no_engine(module):
    assert engines_in_rules(FILES[module].read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    "wrong",
    [
        "def pull(g, x):\n    return x if type(g) is np.ndarray else g",
        "lambda g, b: products.matmul(g, b)",
    ],
)
def test_an_engine_in_a_rule_is_found(wrong):
    assert engines_in_rules(wrong)
