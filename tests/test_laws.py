"""Laws of the source beside those of imports (`test_layers.py`): facts about single ops stand in
`ops/`, classes are defined where they stand, plain values become Tensors through one door, rules
name no engine, few know XLA's, private names stay in their module, blocks end whenever a signal
comes, lines are at most 100 wide.

Every checker is tested with code that breaks its law.
"""

import ast
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

from gradtape.ops.op import registry
from tests.test_layers import FILES, imports

SOURCES = {module: path.read_text(encoding="utf-8") for module, path in FILES.items()}
OPS = [module for module in FILES if module.startswith("gradtape.ops.")]
for _module in OPS:
    import_module(_module)
OP_NAMES = frozenset(registry)


# What is known about a single op stands in its declaration


def facts_about_ops(source: str) -> list[str]:
    """Where a module tells one op from others: by comparing an op, its function or its name, by a
    table of ops, or by asking for the Op of a function.
    """
    tree = ast.parse(source)
    found = _FactsAboutOps(*_imported_from_ops(tree))
    return [
        f"line {node.lineno}: {kind}: {ast.unparse(node)}"
        for node in ast.walk(tree)
        for kind in found.kinds(node)
    ]


def _imported_from_ops(tree: ast.Module) -> tuple[set[str], set[str]]:
    """The names of functions, and of modules, that come from `gradtape.ops`."""
    functions, modules = set(), set()
    for statement in ast.walk(tree):
        match statement:
            case ast.ImportFrom("gradtape.ops", names):
                modules |= {alias.asname or alias.name for alias in names}
            case ast.ImportFrom(str() as module, names) if module.startswith("gradtape.ops."):
                functions |= {alias.asname or alias.name for alias in names}
            case ast.Import(names):
                modules |= {
                    alias.asname
                    for alias in names
                    if alias.asname and alias.name.startswith("gradtape.ops.")
                }
    # What begins with a capital is a class.
    return {name for name in functions if name.islower()}, modules


class _FactsAboutOps:
    """The checks of one module, which has `functions` and `modules` of `gradtape.ops`."""

    def __init__(self, functions: set[str], modules: set[str]) -> None:
        self._functions, self._modules = functions, modules

    def kinds(self, node: ast.AST) -> Iterator[str]:
        """What is wrong with one expression or statement, in words."""
        match node:
            case ast.Compare(left, how, others):
                if any(map(_is_none, others)) or _asks_whether_it_was_met(left, how, others):
                    return
                if self._compares([left, *others]):
                    yield "compares an op"
            case ast.Match(subject):
                if self._is_an_op(subject) or _is_a_name(subject):
                    yield "compares an op"
            case ast.Dict(keys):
                yield from self._table(keys)
            case ast.Set(keys):
                yield from self._table(keys)
            case ast.Call(ast.Name("set" | "frozenset" | "dict"), [ast.Tuple(k) | ast.List(k)]):
                yield from self._table(
                    [e.elts[0] if isinstance(e, ast.Tuple) and e.elts else e for e in k]
                )
            case ast.Call(ast.Name("dict"), [], keywords):
                yield from self._table([ast.Constant(k.arg) for k in keywords])
            case ast.Subscript(ast.Name("registry") | ast.Attribute(_, "registry")):
                yield "takes one op from the registry"
            case ast.Call(ast.Attribute(ast.Name("registry"), "get" | "pop")):
                yield "takes one op from the registry"
            case ast.Subscript(_, key) | ast.Call(ast.Attribute(_, "get" | "pop"), [key, *_]):
                if self._is_an_op(key):
                    yield "looks up an op"
            case ast.Attribute(function, "op"):
                if self._is_a_function(function):
                    yield "asks for the Op of a function"

    def _compares(self, sides: list[ast.expr]) -> bool:
        """Whether a comparison is about an op: its sides, or what a side lists."""
        parts = [*sides]
        for side in sides:
            if isinstance(side, (ast.Tuple, ast.List, ast.Set)):
                parts += side.elts
        if any(map(self._is_an_op, parts)):
            return True
        return any(map(_is_a_name, parts)) and any(map(_names_ops, parts))

    def _table(self, keys: list[ast.expr | None]) -> Iterator[str]:
        if any(key is not None and self._has_an_op(key) for key in keys):
            yield "a table of ops"
        elif any(isinstance(key, ast.Constant) and key.value in OP_NAMES for key in keys):
            yield "a table of names"

    def _has_an_op(self, key: ast.expr) -> bool:
        """Whether a key is made of one op, and not of whichever op is at hand."""
        return any(
            self._is_a_function(part) or (_is_of(part, "op") and not _is_at_hand(part.value))
            for part in ast.walk(key)
        )

    def _is_an_op(self, node: ast.AST) -> bool:
        """Whether an expression stands for an op, its function, its kernel or its name."""
        match node:
            case ast.Attribute(ast.Name("rule") | ast.Attribute(_, "rule"), "name"):
                return True
            case ast.Attribute(value, "name" | "kernel"):
                return self._is_an_op(value)
            case ast.Name("op") | ast.Attribute(_, "op"):
                return True
        return self._is_a_function(node)

    def _is_a_function(self, node: ast.AST) -> bool:
        match node:
            case ast.Name(name):
                return name in self._functions - {"registry"}
            case ast.Attribute(ast.Name(module), name):
                return module in self._modules and name.islower()
        return False


def _is_a_name(node: ast.AST) -> bool:
    return _is_of(node, "name")


def _is_of(node: ast.AST, attribute: str) -> bool:
    return isinstance(node, ast.Attribute) and node.attr == attribute


def _is_at_hand(node: ast.expr) -> bool:
    """Whether an expression is the rule or the object that a function works with."""
    match node:
        case ast.Name(name) | ast.Attribute(_, name):
            return name in ("rule", "_rule", "self", "node")
    return False


def _asks_whether_it_was_met(left: ast.expr, how: list[ast.cmpop], others: list[ast.expr]) -> bool:
    """`rule.name in within`: a set that is filled on the way, as a variable in small letters is."""
    match how, others:
        case [ast.In() | ast.NotIn()], [ast.Name(name)]:
            is_rule = _is_a_name(left) and _is_at_hand(left.value)
            return is_rule and name.islower() and name != "registry"
    return False


def _names_ops(node: ast.AST) -> bool:
    """Whether an expression is the registry, or the name of an op."""
    match node:
        case ast.Name("registry") | ast.Attribute(_, "registry"):
            return True
        case ast.Constant(str() as value):
            return value in OP_NAMES
    return False


def _is_none(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


SAME_NAMES = {
    "gradtape.scipy.optimize.roots": (1, "options of SciPy's fsolve"),
    "gradtape.bridge.sympy_code": (1, "the functions that stand for SymPy's"),
    "gradtape.api.numpy.padding": (2, "modes of np.pad"),
    "gradtape.api.numpy.protocol": (1, "np.fft is a namespace"),
    "gradtape.api.numpy.special": (1, "the functions of scipy.special by their names there"),
    "gradtape.api.numpy.ufunc": (1, "`where` is a keyword of ufuncs"),
    "gradtape.api.numpy.ufunc_methods": (1, "`where` is a keyword of ufuncs"),
    "gradtape.engines.xla.direct": (3, "the functions of jax.numpy by their names there"),
    "gradtape.functions.replay": (1, "JAX's primitives by their names"),
    "gradtape.inspect.picture": (4, "what a page is told, by the names that its scripts use"),
}
"""How many tables a module keeps of things that are called as an op is, and what they are."""


@pytest.mark.parametrize("module", [m for m in FILES if not m.startswith("gradtape.ops")])
def test_facts_about_single_ops_stand_in_ops(module):
    found = facts_about_ops(SOURCES[module])
    allowed, _ = SAME_NAMES.get(module, (0, ""))
    names = [fact for fact in found if "a table of names" in fact]
    assert [fact for fact in found if fact not in names] == []
    assert len(names) == allowed, names


@pytest.mark.parametrize("wrong", [
    "if rule.op is MATMUL: pass",
    "if op is not other: pass",
    "if op.name == 'transpose': pass",
    "if node.rule.op.name in ('lu', 'qr'): pass",
    "if rule.name == 'matmul': pass",
    "if node.rule.name in ('lu', 'qr'): pass",
    "if rule.name in SINGULAR: pass",
    "if self.name == 'matmul': pass",
    "if self.name not in registry: pass",
    "if run is op.kernel: pass",
    "match op.name:\n    case 'lu': pass",
    "match op:\n    case _: pass",
    "match self.name:\n    case 'lu': pass",
    "move = PULLS.get(rule.op)",
    "rule = _RULES[op.name]",
    "rule = _RULES[rule.name]",
    "T = registry['matmul']",
    "T = registry.get('matmul')",
    "from gradtape.ops import op as o\nT = o.registry['matmul']",
    "from gradtape.ops.matrix import matmul\nMATMUL = matmul.op",
    "from gradtape.ops import matrix\nMATMUL = matrix.matmul.op",
    "from gradtape.ops.matrix import matmul\nif call is matmul: pass",
    "from gradtape.ops.matrix import matmul as m\nif call == m: pass",
    "from gradtape.ops.matrix import matmul, einsum\nif call in (matmul, einsum): pass",
    "from gradtape.ops import matrix\nif call is matrix.matmul: pass",
    "import gradtape.ops.matrix as m\nif call is m.matmul: pass",
    "from gradtape.ops.matrix import matmul\nT = {matmul: 1}",
    "from gradtape.ops.matrix import matmul\nT = {matmul}",
    "from gradtape.ops.matrix import matmul\nT = {(matmul, 0): 1}",
    "from gradtape.ops.matrix import matmul\nT = dict([(matmul, 1)])",
    "from gradtape.ops.matrix import matmul\nT[matmul] = 1",
    "U = {matmul.op.kernel}",
    "T = {'matmul': 1, 'transpose': 2}",
    "T = {'matmul', 'mine'}",
    "T = frozenset(['matmul'])",
    "T = dict(matmul=1)",
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
        "if type(rule) is Derivative: pass",
        "if rule.name in within: pass",
        "within = {rule.name}",
        "within = {node.rule.op}",
        "if name in registry: pass",
        "chosen = {op.kernel for op in registry.values() if op.chooses}",
        "from gradtape.ops.matrix import matmul\nT = {'mine': matmul}",
        "from gradtape.ops.matrix import matmul\nf = matmul if wide else narrow",
        "from gradtape.ops.op import Op\nif type(x) is Op: pass",
        "if dtype.name == 'float32': pass",
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
"""Classes to which nothing is added, not even in their own module."""


def patches(source: str) -> list[str]:
    """Where a module gives an attribute to a class of another one, or to one of tensors, Variables
    or tapes, or gives an object another class.
    """
    tree = ast.parse(source)
    own = {node.name for node in ast.walk(tree) if isinstance(node, ast.ClassDef)} - CLASSES
    return [
        f"line {node.lineno}: {ast.unparse(node)}" for node in ast.walk(tree) if _patches(node, own)
    ]


def _patches(node: ast.AST, own: set[str]) -> bool:
    match node:
        case ast.Attribute(thing, name, ast.Store() | ast.Del()):
            return name == "__class__" or _is_a_class(thing, own)
        case ast.Call(
            ast.Name("setattr" | "delattr") | ast.Attribute(_, "__setattr__" | "__delattr__"),
            [thing, *names],
        ):
            return _is_a_class(thing, own) or any(
                isinstance(name, ast.Constant) and name.value == "__class__" for name in names
            )
    return False


def _is_a_class(node: ast.expr, own: set[str]) -> bool:
    """Whether an expression is a class: by its name, which is in capitals and small letters, or
    asked of an object.
    """
    match node:
        case ast.Call(ast.Name("type"), [_]) | ast.Attribute(_, "__class__"):
            return True
        case ast.Name(name) | ast.Attribute(_, name):
            word = name.lstrip("_")
            return name not in own and word[:1].isupper() and not word.isupper()
    return False


CHANGE_CLASS = {
    "gradtape.core.xla.tensor": ["self.__class__ = Tensor"],
    "gradtape.core.xla.placement": ["variable.__class__ = PlacedVariable"],
}
"""Where an object takes on another class, once it is known what it is. The reasons stand there."""


def class_changes(source: str) -> list[str]:
    """The assignments that give an object another class."""
    return [
        ast.unparse(node)
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Assign) and any(_is_of(t, "__class__") for t in node.targets)
    ]


@pytest.mark.parametrize("module", sorted(FILES))
def test_classes_are_defined_where_they_stand(module):
    found, changes = patches(SOURCES[module]), class_changes(SOURCES[module])
    assert changes == CHANGE_CLASS.get(module, [])
    assert len(found) == len(changes), found


def test_a_change_of_class_is_found():
    assert class_changes("x = 1\ndef f(y):\n    y.__class__ = T") == ["y.__class__ = T"]
    assert class_changes("t = x.__class__") == []


@pytest.mark.parametrize(
    "wrong",
    [
        "GradientTape.jacobian = f",
        "Tensor.x: int = 1",
        "Tensor.x += 1",
        "Tensor.x, other = 1, 2",
        "[first, *Tensor.rest] = values",
        "del Tensor.x",
        "for Tensor.x in values: pass",
        "with f() as Tensor.x: pass",
        "tensor.Tensor.x = 1",
        "ThreadState.plain_tensor = Tensor",
        "class Tensor: pass\nTensor.x = 1",
        "x.__class__ = Tensor",
        "x.__class__.y = 1",
        "type(x).y = 1",
        "def f():\n    setattr(Tensor, name, value)",
        "setattr(tensor.Tensor, name, value)",
        "setattr(type(x), 'a', 1)",
        "setattr(x, '__class__', T)",
        "delattr(Tensor, 'x')",
        "type.__setattr__(Tensor, 'x', 1)",
        "object.__setattr__(x, '__class__', Tensor)",
    ],
)
def test_a_patch_is_found(wrong):
    assert len(patches(wrong)) == 1


@pytest.mark.parametrize(
    "right",
    [
        "self.x = 1",
        "tensor.x = 1",
        "LIMITS.x = 1",
        "class Running:\n    now = None\ndef f():\n    Running.now = 1",
        "setattr(self, name, 1)",
        "object.__setattr__(self, 'x', 1)",
        "y = Tensor.x",
    ],
)
def test_the_checker_of_patches_lets_others_pass(right):
    assert patches(right) == []


# One door

DOOR = "gradtape.convert"


@pytest.mark.parametrize("module", [m for m in FILES if not m.startswith(("gradtape.core", DOOR))])
def test_plain_values_become_tensors_through_one_door(module):
    """What makes an array of anything is core's own, and for all others in `convert`,
    with the policies.
    """
    found = imports(SOURCES[module], module, package=FILES[module].name == "__init__.py")
    assert [name for name, *_ in found if name.startswith("gradtape.core.values")] == []


# Rules name no engine

ENGINES = {
    "engine_of",
    "generic",
    "is_traced",
    "is_traced_array",
    "is_xla",
    "jax",
    "jnp",
    "ndarray",
    "numpy_engine",
    "products",
    "xla",
    "xla_engine",
    "XlaTensor",
}
"""Names with which code asks for an engine, or calls one."""
RULES = {"g", "rows", "tangents"}
"""What the first parameter of a rule is called: a pull's, and those of the rules for rows."""
CONSTANTS = {"arange", "dtype", "eye", "finfo", "full", "iinfo", "ones", "zeros"}
"""What a pull may call in NumPy: it makes a constant, of numbers that are known."""
GENERAL = {
    f"gradtape.ops.{name}" for name in ("derivative", "op", "rows", "written")
}  # what serves all ops, and both engines
FAMILIES = [m for m in OPS if m not in GENERAL and not m.endswith("_on_xla")]


def engines_in_rules(source: str) -> list[str]:
    """Where a rule, known by the name of its first parameter, or a function of the same module that
    it names, asks of which engine an array is, or calls one.

    Rows are NumPy's arrays, so a rule for rows computes with NumPy; a pull only makes constants.
    """
    tree = ast.parse(source)
    helpers = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    found = []
    for rule in ast.walk(tree):
        first = _first_parameter(rule)
        if first not in RULES:
            continue
        for function in _with_helpers(rule, helpers):
            for part in ast.walk(function):
                asks = _name(part) in ENGINES
                computes = first == "g" and _numpy_function(part) not in CONSTANTS | {""}
                if asks or computes:
                    found.append(f"line {part.lineno}: {ast.unparse(part)}")
    return found


def _with_helpers(rule: ast.AST, helpers: dict[str, ast.FunctionDef]) -> list[ast.AST]:
    """A rule and the functions of its module that it names, and that these name."""
    found = [rule]
    for function in found:
        for part in ast.walk(function):
            helper = helpers.get(part.id) if isinstance(part, ast.Name) else None
            if helper is not None and helper not in found:
                found.append(helper)
    return found


def _first_parameter(node: ast.AST) -> str:
    if not isinstance(node, (ast.FunctionDef, ast.Lambda)):
        return ""
    return next((a.arg for a in (*node.args.posonlyargs, *node.args.args)), "")


def _name(node: ast.AST) -> str:
    match node:
        case ast.Name(name) | ast.Attribute(_, name):
            return name
    return ""


def _numpy_function(node: ast.AST) -> str:
    """`linalg.norm` of a call of `np.linalg.norm`; empty for anything else."""
    if not isinstance(node, ast.Call):
        return ""
    module, _, function = ast.unparse(node.func).partition(".")
    return function if module in ("np", "numpy") else ""


@pytest.mark.parametrize("module", sorted(FAMILIES))
def test_rules_name_no_engine(module):
    assert engines_in_rules(SOURCES[module]) == []


@pytest.mark.parametrize(
    "wrong",
    [
        "def pull(g, x):\n    return x if type(g) is np.ndarray else g",
        "def pull(g, wanted, x):\n    return xp.isinstance(x, np.generic)",
        "lambda g, b: products.matmul(g, b)",
        "lambda g, x: np.where(g, x, 0)",
        "lambda g, x: np.linalg.norm(x)",
        "lambda g, x: xla_engine.run(k, g)",
        "lambda g, x: xla.run(k, g)",
        "def _h(a):\n    return type(a) is np.ndarray\nlambda g, a: g if _h(a) else a",
        "def _a(x):\n    return _b(x)\ndef _b(x):\n    return is_traced(x)\nlambda g, x: _a(x)",
        "def _by_x(x):\n    return np.exp(x)\nlambda g, x: apply(_by_x, x)",
        "lambda rows, b: np.matmul(rows, b.T) if type(b) is np.ndarray else None",
        "def _h(a):\n    return type(a) is np.ndarray\nlambda tangents, b: _h(b)",
    ],
)
def test_an_engine_in_a_rule_is_found(wrong):
    assert engines_in_rules(wrong)


@pytest.mark.parametrize(
    "right",
    [
        "def pull(g, x):\n    return matmul(g, np.eye(2, dtype=dtype_of(x)))",
        "def kernel(xp, x):\n    return products.matmul(x, x) if xp is np else xp.matmul(x, x)",
        "lambda rows, x_shape: np.broadcast_to(rows, x_shape)",
        "lambda g, x: g * np.pi",
        "def _helper(x):\n    return type(x) is np.ndarray\nlambda g, x: g * x",
    ],
)
def test_the_checker_of_rules_lets_others_pass(right):
    assert engines_in_rules(right) == []


# XLA's engine is known to few

KNOW_XLA = {
    "gradtape.api.tensorflow.config": "devices, and the cache of programs",
    "gradtape.api.tensorflow.execution": "devices",
    "gradtape.api.tensorflow.profiler": "XLA's profiler",
    "gradtape.api.tensorflow.python_functions": "Python that a program calls back",
    "gradtape.api.tensorflow.random.draws": "random numbers of programs",
    "gradtape.api.tensorflow.random.generator": "random numbers of programs",
    "gradtape.api.tensorflow.random.sequence": "random numbers of programs",
    "gradtape.bridge.as_jax": "functions of JAX's arrays, in JAX's own programs",
    "gradtape.bridge.foreign": "Python that a program calls back",
    "gradtape.bridge.jax_arguments": "the structures that JAX knows",
    "gradtape.bridge.jax_functions": "the user's own JAX code, and the switch that it runs with",
    "gradtape.bridge.jax_primitive": "a primitive of JAX's",
    "gradtape.bridge.jax_programs": "the user's own JAX code, and the switch that it runs with",
    "gradtape.compat.local_devices": "devices",
    "gradtape.core.buffered": "a Variable's memory may have gone to a program",
    "gradtape.core.device": "devices",
    "gradtape.core.sparse_writes": "XLA writes to parts of an array in a way of its own",
    "gradtape.distribute.datasets": "what all processes have",
    "gradtape.distribute.workers": "processes that train together",
    "gradtape.extend": "processes that train together",
    "gradtape.core.thread": "`init_scope` leaves a program that is being traced",
    "gradtape.inspect.profile": "XLA's profiler",
    "gradtape.ops.checks": "a check that a program calls back",
    "gradtape.ops.computing": "errors of what a program calls back",
}
"""The modules outside the engines, `core/xla` and `functions/` that import from `engines.xla`, and
why. Others ask `engines.engine` and `core.xla`.
"""
AT_HOME = ("gradtape.engines", "gradtape.core.xla", "gradtape.functions")


@pytest.mark.parametrize("module", [m for m in FILES if not m.startswith(AT_HOME)])
def test_few_modules_know_xla(module):
    found = imports(SOURCES[module], module, package=FILES[module].name == "__init__.py")
    knows = any(name.startswith("gradtape.engines.xla") for name, *_ in found)
    assert knows == (module in KNOW_XLA), "ask engines.engine, or say in KNOW_XLA why not"


# What begins with an underscore is its module's own


def private_imports(source: str) -> list[str]:
    """The private names that a module imports from others of the package."""
    return [
        alias.name
        for statement in ast.walk(ast.parse(source))
        if isinstance(statement, ast.ImportFrom)
        and (statement.level or (statement.module or "").partition(".")[0] == "gradtape")
        for alias in statement.names
        if alias.name.startswith("_") and not alias.name.endswith("__")
    ]


@pytest.mark.parametrize("module", FILES)
def test_no_module_imports_private_names_of_another(module):
    assert private_imports(SOURCES[module]) == []


def test_a_private_import_is_found():
    wrong = ["from gradtape.ops.elementary import _f, exp", "def g():\n    from .a import _f"]
    assert [private_imports(source) for source in wrong] == [["_f"], ["_f"]]
    assert private_imports("from gradtape import __version__\nfrom jax import _src") == []


# Lines are at most 100 wide

WIDTH = 100
ROOT = Path(__file__).parent.parent
FOLDERS = ("src", "tests", "tests_bridges", "tests_tf", "tools", "examples")


# Blocks end at whatever moment a signal comes


def blocks_that_stay(source: str) -> list[str]:
    """Where a module uses a context manager that stays entered if an exception comes as it begins
    or ends: a `gradtape.blocks.Block` does not.
    """
    names = {"errstate", "contextmanager"}
    return [
        f"line {node.lineno}: {node.id if isinstance(node, ast.Name) else node.attr}"
        for call in ast.walk(ast.parse(source))
        for node in _entered(call)
        if (isinstance(node, ast.Name) and node.id in names)
        or (isinstance(node, ast.Attribute) and node.attr in names)
    ]


def _entered(node: ast.AST) -> list[ast.AST]:
    """What is entered by a `with`, or makes what can be."""
    if isinstance(node, (ast.With, ast.AsyncWith)):
        return [getattr(item.context_expr, "func", item.context_expr) for item in node.items]
    return list(getattr(node, "decorator_list", ()))


@pytest.mark.parametrize("module", FILES)
def test_blocks_end_whenever_a_signal_comes(module):
    assert blocks_that_stay(SOURCES[module]) == []


@pytest.mark.parametrize(
    "wrong",
    [
        "with np.errstate(all='ignore'):\n    pass",
        "with other(), errstate():\n    pass",
        "@contextmanager\ndef f():\n    yield",
        "class C:\n    @contextlib.contextmanager\n    def f(self):\n        yield",
    ],
)
def test_a_block_that_stays_is_found(wrong):
    assert len(blocks_that_stay(wrong)) == 1


def test_other_blocks_pass():
    right = "import numpy as np\nPUBLISHED = {'errstate': np.errstate}\nwith Quiet():\n    pass"
    assert blocks_that_stay(right) == []


def too_wide(source: str) -> list[int]:
    """The numbers of lines that are too wide; ruff lets those pass that end in a comment for a
    tool.
    """
    return [number for number, line in enumerate(source.splitlines(), 1) if len(line) > WIDTH]


@pytest.mark.parametrize("folder", FOLDERS)
def test_lines_are_at_most_100_wide(folder):
    wide = {path: too_wide(path.read_text("utf-8")) for path in (ROOT / folder).rglob("*.py")}
    assert {str(path): lines for path, lines in wide.items() if lines} == {}


def test_a_line_that_is_too_wide_is_found():
    assert too_wide("x" * WIDTH) == []
    assert too_wide(f"x\n{'x' * 80}  # noqa: F401 - with a long reason") == [2]
