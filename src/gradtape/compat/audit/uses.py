"""The names of TensorFlow that a piece of code uses: what its imports call them, and the attributes
that follow.

A name is followed through imports (`import tensorflow as tf`, `from tensorflow.keras import
layers as L`) and plain assignments of modules (`K = tf.keras.backend`), in the whole file but for
functions in which the name is a parameter or is given something else, and lines after which the
file gives it something else. After `from tensorflow import *`, a name that the file does not define
is TensorFlow's, if it has such a name. What a function gets as an argument, or finds by a string,
is not seen.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, TypeAlias

from gradtape.compat import tensorflow_names
from gradtape.compat.audit.sources import Code

_Import: TypeAlias = ast.Import | ast.ImportFrom
_Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
_MODULES = ast.Attribute, ast.Name
_FUNCTIONS = ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda


class Use(NamedTuple):
    """A name, relative to `tf`, and where it is used; `` is TensorFlow itself."""

    name: str
    place: str
    line: int


def uses(codes: Sequence[Code]) -> Iterator[Use]:
    """Every use of a name of TensorFlow's in the pieces of one file, which share their names, in
    the order of their lines.
    """
    parts = [(code, _parts(code.tree)) for code in codes]
    aliases = _Aliases()
    for _, found_parts in parts:
        for statement in found_parts.imports:
            aliases.add(statement)
    if not aliases.known and not aliases.imported:
        return
    bare: dict[int, list[ast.Name]] = {}
    if aliases.stars:
        bare = {id(code): _names(code.tree) for code, _ in parts}
        aliases.add_stars({name for code, _ in parts for name in _bound(code.tree)})
    for code, found_parts in parts:
        aliases.hide(code.tree, found_parts)
        for assignment in sorted(found_parts.assignments, key=lambda node: node.lineno):
            aliases.follow(assignment)
    for code, found_parts in parts:
        imported = aliases.imported_by(found_parts.imports)
        found = {Use(name, code.place, line) for name, line in imported}
        for node in [*found_parts.attributes, *bare.get(id(code), ())]:
            name = aliases.name_of(node)
            if name:
                found.add(Use(_as_far_as_known(name), code.place, node.lineno))
        yield from sorted(found, key=lambda use: (use.line, use.name))


class _Parts(NamedTuple):
    """What counts of a piece of code: its imports, its assignments of modules, the longest
    attributes (`a.b.c`, but not `a.b`), its functions, and the names that are given anything else,
    with the lines.
    """

    imports: list[_Import]
    assignments: list[ast.Assign]
    attributes: list[ast.Attribute]
    functions: list[_Function]
    stored: dict[str, list[int]]


def _parts(tree: ast.AST) -> _Parts:
    found = _Parts([], [], [], [], {})
    waiting: list[Any] = [tree]
    while waiting:
        node = waiting.pop()
        kind = type(node)
        if kind is ast.Name or kind is ast.Constant:
            if kind is ast.Name and type(node.ctx) is ast.Store:
                found.stored.setdefault(node.id, []).append(node.lineno)
            continue
        if kind is ast.Attribute:
            found.attributes.append(node)
            while type(node) is ast.Attribute:
                node = node.value
            waiting.append(node)
            continue
        if kind is ast.Import or kind is ast.ImportFrom:
            found.imports.append(node)
            continue
        if kind is ast.Assign and type(node.value) in _MODULES:
            found.assignments.append(node)
            waiting.append(node.value)
            waiting += [part for part in node.targets if type(part) is not ast.Name]
            continue
        if kind in _FUNCTIONS:
            found.functions.append(node)
        for value in vars(node).values():
            if type(value) is list:
                waiting += [part for part in value if isinstance(part, ast.AST)]
            elif isinstance(value, ast.AST):
                waiting.append(value)
    return found


def _own(function: _Function, stored: set[str]) -> set[str]:
    """The names that are something of a function's own: parameters, and those of `stored` that it
    assigns and neither imports, declares global nor gives a module.
    """
    takes = function.args
    listed = [*takes.posonlyargs, *takes.args, *takes.kwonlyargs, takes.vararg, takes.kwarg]
    own = {argument.arg for argument in listed if argument is not None}
    if isinstance(function, ast.Lambda) or not stored:
        return own
    given, others = set[str](), set[str]()
    waiting: list[ast.AST] = [*function.body]
    while waiting:
        match node := waiting.pop():
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef() | ast.Lambda():
                continue
            case ast.Name(name, ast.Store()):
                given.add(name)
            case ast.Global(names) | ast.Nonlocal(names):
                others.update(names)
            case ast.Import() | ast.ImportFrom():
                others.update(alias.asname or alias.name for alias in node.names)
            case ast.Assign(targets, ast.Attribute() | ast.Name()):
                others.update(_names_of(targets))
        waiting += ast.iter_child_nodes(node)
    return own | ((given & stored) - others)


def _imported(parts: _Parts, before: ast.stmt) -> set[str]:
    """The names that are imported, or are given a module, after a statement."""
    return {
        alias.asname or alias.name
        for node in parts.imports
        if node.lineno > before.lineno
        for alias in node.names
    }.union(*(_names_of(node.targets) for node in parts.assignments if node.lineno > before.lineno))


def _names_of(targets: Sequence[ast.expr]) -> set[str]:
    return {target.id for target in targets if isinstance(target, ast.Name)}


def _names(tree: ast.Module) -> list[ast.Name]:
    """Where a name is read that no attribute follows."""
    followed = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    return [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Name)
        and isinstance(node.ctx, ast.Load)
        and id(node) not in followed
    ]


def _bound(tree: ast.Module) -> Iterator[str]:
    """The names that code gives to something itself."""
    for node in ast.walk(tree):
        match node:
            case ast.Name(name, ast.Store() | ast.Del()):
                yield name
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                yield node.name
            case ast.arg(name):
                yield name
            case ast.alias():
                yield node.asname or node.name.partition(".")[0]


def _as_far_as_known(name: str) -> str:
    """`nn.relu` of `nn.relu.__name__`, and `Variable` of `Variable.assign`: attributes of what is
    no namespace are not names of TensorFlow's.
    """
    parts = name.split(".")
    for length in range(1, len(parts)):
        shorter = ".".join(parts[:length])
        if shorter.startswith("python"):
            return name
        if tensorflow_names.has(shorter) and not tensorflow_names.is_namespace(shorter):
            return shorter
    return name


class _Aliases:
    """What the names of a file stand for."""

    def __init__(self) -> None:
        self.known: dict[str, str] = {}
        self.imported: list[tuple[_Import, str]] = []
        self.stars: list[str] = []
        self.hidden: set[int] = set()  # nodes of names that are something else in a function

    def imported_by(self, statements: Sequence[_Import]) -> Iterator[tuple[str, int]]:
        """What some import statements name themselves, and their lines."""
        own = set(map(id, statements))
        return ((name, node.lineno) for node, name in self.imported if id(node) in own)

    def add(self, node: _Import) -> None:
        """What an import statement brings."""
        if isinstance(node, ast.Import):
            for alias in node.names:
                full = _relative(alias.name)
                if full is None:
                    continue
                if full:
                    self.imported.append((node, full))
                root = alias.name.partition(".")[0]
                whole = alias.asname is not None
                self.known[alias.asname or root] = full if whole else _relative(root) or ""
        elif node.module and not node.level:
            parent = _relative(node.module)
            if parent is None:
                return
            for alias in node.names:
                if alias.name == "*":
                    self.imported.append((node, parent))
                    self.stars.append(parent)
                    continue
                full = f"{parent}.{alias.name}".lstrip(".")
                self.imported.append((node, full))
                self.known[alias.asname or alias.name] = full

    def add_stars(self, bound: set[str]) -> None:
        """What `from tensorflow import *` brings, but for names that the file binds itself."""
        for parent in self.stars:
            for name in tensorflow_names.namespaces().get(parent, ()):
                if name not in bound:
                    self.known.setdefault(name, f"{parent}.{name}".lstrip("."))

    def hide(self, tree: ast.Module, parts: _Parts) -> None:
        """Finds where a name is something else: in a function whose own it is, and after the line
        that gives it something else.
        """
        names = set(self.known).union(*(_names_of(node.targets) for node in parts.assignments))
        stored = {name: parts.stored[name] for name in parts.stored.keys() & names}
        for function in parts.functions:
            lines = range(function.lineno, (function.end_lineno or 0) + 1)
            inside = {name for name, places in stored.items() if any(at in lines for at in places)}
            own = _own(function, inside) & names
            if own:
                body = function.body if isinstance(function.body, list) else [function.body]
                self._hide(body, own)
        for place, statement in enumerate(tree.body if stored else ()):
            match statement:
                case ast.Assign(targets, value) if not isinstance(value, _MODULES):
                    later = tree.body[place + 1 :]
                    self._hide(
                        later, (_names_of(targets) & stored.keys()) - _imported(parts, statement)
                    )

    def _hide(self, nodes: Sequence[ast.AST], names: set[str]) -> None:
        if names:
            self.hidden.update(
                id(node)
                for part in nodes
                for node in ast.walk(part)
                if type(node) is ast.Name and node.id in names
            )

    def follow(self, node: ast.Assign) -> None:
        """Adds a name that is given to a module: `K = tf.keras.backend`."""
        full = self.name_of(node.value)
        if full is not None and tensorflow_names.is_namespace(full):
            for name in _names_of(node.targets):
                self.known.setdefault(name, full)

    def name_of(self, node: ast.expr) -> str | None:
        """The name of an attribute, relative to `tf`; None if it is none of TensorFlow's."""
        parts: list[str] = []
        while isinstance(node, ast.Attribute):
            parts.append(node.attr)
            node = node.value
        if not isinstance(node, ast.Name) or node.id not in self.known or id(node) in self.hidden:
            return None
        return ".".join([*filter(None, [self.known[node.id]]), *reversed(parts)])


def _relative(module: str) -> str | None:
    """The name of a module relative to `tf`; None for a module that is not TensorFlow's, as
    `keras` is not.
    """
    root, _, below = module.partition(".")
    if root == "tensorflow":
        return below.removeprefix("compat.v2").lstrip(".")
    return None
