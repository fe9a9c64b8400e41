"""What the statements of the user's code bind, and what their expressions read.

A *binding* is a name, attribute or element that a statement gives a value. `inspect.flow` says
which of them reach where.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import NamedTuple

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
# What does not depend on values: no gradient passes it.
FACTS = ("shape", "dtype", "name", "ndim", "device", "trainable")
# In a path: any attribute or element, such as what a method adds to.
ANY = "[...]"

Path = tuple[str, ...]
"""A name, and the attributes and constant elements of it: ("parts", "['a']")."""


class Binding:
    """What a statement gives a value: a path, and the expressions that it is computed from.

    It `adds` to an object if it leaves what was there. The value of a `deferred` one is a function,
    which reads when it is called.
    """

    def __init__(
        self,
        path: Path,
        values: Iterable[ast.AST],
        statement: ast.stmt,
        *,
        sure: bool = True,
        adds: bool = False,
        deferred: bool = False,
    ) -> None:
        self.path = path
        self.values = tuple(values)
        self.statement = statement
        self.sure = sure
        self.adds = adds
        self.deferred = deferred

    @cached_property
    def reads(self) -> Sequence[Read]:
        return [read for value in self.values for read in reads_of(value)]

    @property
    def line(self) -> int:
        return self.statement.lineno

    def read_at(self, reader: ast.stmt | None) -> ast.stmt | None:
        """Where it reads what it is computed from: a function, where it is called."""
        return reader if self.deferred else self.statement

    def gives(self, path: Path) -> bool:
        """Whether it gives all of a path its value, or an element of what it adds to."""
        if not self.sure:
            return False
        if self.adds:
            return path[: len(self.path) - 1] == self.path[:-1] and len(path) >= len(self.path)
        return path[: len(self.path)] == self.path and not (
            len(path) > len(self.path) and self.has_parts
        )

    @property
    def is_empty_container(self) -> bool:
        text = ast.unparse(self.values[0]) if len(self.values) == 1 else ""
        return text in ("[]", "{}", "()", "list()", "dict()", "set()")

    @property
    def has_parts(self) -> bool:
        """Whether the value is written as a container: an element need not come from all of it."""
        return any(isinstance(v, (ast.Tuple, ast.List, ast.Dict, ast.Set)) for v in self.values)


class Read(NamedTuple):
    """A path that an expression reads: `sure` if it is sure to, and the result depends on it;
    `later` if a function in it does, when it is called.
    """

    path: Path
    sure: bool
    later: bool = False


def bindings_of(statement: ast.stmt) -> Iterator[Binding]:
    """What a statement itself binds, without the statements in its body."""
    match statement:
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            yield Binding((statement.name,), [statement], statement, deferred=True)
            return
        case ast.Import() | ast.ImportFrom():
            for alias in statement.names:
                yield Binding((alias.asname or alias.name.partition(".")[0],), (), statement)
        case ast.Assign():
            for target in statement.targets:
                yield from _assigned(target, statement.value, statement)
        case ast.AnnAssign(target=target, value=ast.expr() as value):
            yield from _assigned(target, value, statement)
        case ast.AugAssign():
            path = path_of(statement.target)
            if path is not None:
                yield Binding(path, [statement.target, statement.value], statement)
        case ast.For() | ast.AsyncFor():
            for binding in _assigned(statement.target, statement.iter, statement):
                binding.sure = False
                yield binding
        case ast.With() | ast.AsyncWith():
            for item in statement.items:
                if item.optional_vars is not None:
                    yield from _assigned(item.optional_vars, item.context_expr, statement)
        case ast.Match():
            for part in ast.walk(statement):
                name = getattr(part, "name", None)
                if isinstance(part, (ast.MatchAs, ast.MatchStar)) and name is not None:
                    yield Binding((name,), [statement.subject], statement, sure=False)
        case ast.Expr(value=ast.Call() as call):
            yield from _changed(call, statement)
    for part in heads_of(statement):
        for inner in own_parts(part):
            if isinstance(inner, ast.NamedExpr) and isinstance(inner.target, ast.Name):
                yield Binding((inner.target.id,), [inner.value], statement)


def _assigned(target: ast.expr, value: ast.expr, statement: ast.stmt) -> Iterator[Binding]:
    if isinstance(target, (ast.Tuple, ast.List)):
        same = isinstance(value, (ast.Tuple, ast.List)) and len(value.elts) == len(target.elts)
        starred = any(isinstance(part, ast.Starred) for part in target.elts)
        for i, part in enumerate(target.elts):
            given = value.elts[i] if same and not starred else value  # type: ignore[attr-defined]
            yield from _assigned(part, given, statement)
        return
    if isinstance(target, ast.Starred):
        yield from _assigned(target.value, value, statement)
        return
    path = path_of(target)
    if path is None:
        return
    if isinstance(value, ast.Lambda):
        yield Binding(path, [value], statement, deferred=True)
    else:
        yield Binding(path, [value], statement, adds=ANY in path)


def _changed(call: ast.Call, statement: ast.stmt) -> Iterator[Binding]:
    """What a call whose result is not used may have changed: the object of a method, as in
    `losses.append(y)`, and what it was given.
    """
    given = [*call.args, *(keyword.value for keyword in call.keywords)]
    if isinstance(call.func, ast.Attribute):
        path = path_of(call.func.value)
        if path is not None:
            yield Binding((*path, ANY), given, statement, adds=True)
    if len(given) > 1:
        for argument in given:
            path = path_of(argument)
            if path is not None:
                others = [other for other in given if other is not argument]
                yield Binding((*path, ANY), others, statement, sure=False, adds=True)


def reads_of(expression: ast.AST) -> Iterator[Read]:
    """The paths that an expression reads."""
    yield from _reads(expression, True, False, frozenset())


def _reads(node: ast.AST, sure: bool, later: bool, local: frozenset[str]) -> Iterator[Read]:
    if isinstance(node, (ast.Name, ast.Attribute, ast.Subscript)):
        path = path_of(node)
        if path is not None:
            if path[0] not in local and not any(f".{fact}" in path for fact in FACTS):
                yield Read(path, sure, later)
            inner: ast.expr = node
            while not isinstance(inner, ast.Name):
                if isinstance(inner, ast.Subscript):
                    # Which element it is depends on the index, if not on all that gave that.
                    is_name = isinstance(inner.slice, ast.Name)
                    yield from _reads(inner.slice, sure and is_name, later, local)
                inner = inner.value  # type: ignore[attr-defined]
            return
        if isinstance(node, ast.Attribute) and node.attr in FACTS:
            return
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "len":
        return
    if isinstance(node, ast.IfExp):
        for part in (node.test, node.body, node.orelse):
            yield from _reads(part, False, later, local)
        return
    if isinstance(node, (ast.Lambda, *COMPREHENSIONS, ast.FunctionDef, ast.ClassDef)):
        local = local | own_names(node)
        is_now = isinstance(node, COMPREHENSIONS)
        sure, later = sure and is_now, later or not is_now
    elif isinstance(node, ast.BoolOp):
        sure = False
    for child in ast.iter_child_nodes(node):
        yield from _reads(child, sure, later, local)


def own_names(node: ast.AST) -> frozenset[str]:
    """The names that belong to a function or a comprehension itself."""
    found = {part.arg for part in ast.walk(node) if isinstance(part, ast.arg)}
    outer = {
        name
        for part in ast.walk(node)
        if isinstance(part, (ast.Global, ast.Nonlocal))
        for name in part.names
    }
    stored = {
        part.id
        for part in ast.walk(node)
        if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)
    }
    return frozenset(found | (stored - outer))


def path_of(expression: ast.AST) -> Path | None:
    """An expression as a path; None if it is not one, as a call is not."""
    parts: list[str] = []
    while not isinstance(expression, ast.Name):
        if isinstance(expression, ast.Attribute):
            parts.append(f".{expression.attr}")
        elif isinstance(expression, ast.Subscript):
            constant = isinstance(expression.slice, ast.Constant)
            parts.append(f"[{ast.unparse(expression.slice)}]" if constant else ANY)
        else:
            return None
        expression = expression.value
    return (expression.id, *reversed(parts))


def heads_of(statement: ast.stmt) -> Iterator[ast.AST]:
    """The expressions of a statement, without the statements in its body."""
    for child in ast.iter_child_nodes(statement):
        if not isinstance(child, (ast.stmt, ast.excepthandler, ast.match_case)):
            yield child


def own_parts(part: ast.AST) -> Iterator[ast.AST]:
    """A part and what is in it, without functions."""
    yield part
    for child in ast.iter_child_nodes(part):
        if not isinstance(child, FUNCTIONS):
            yield from own_parts(child)


def overlap(path: Path, other: Path) -> bool:
    """Whether one of two paths is, or may be, part of the other."""
    return all(a == b or ANY in (a, b) for a, b in zip(path, other, strict=False))
