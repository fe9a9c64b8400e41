"""Changes to a function's syntax tree before the package malt converts it, for what malt ignores or
refuses.
"""

from __future__ import annotations

import ast
from typing import Any

from gradtape.functions.autograph.fallback import NotConvertedError

_FunctionNode = ast.FunctionDef | ast.Lambda


def prepared(node: _FunctionNode, qualified_name: str) -> _FunctionNode:
    """A definition without decorators, defaults and annotations, and with everything made explicit
    that depends on its context.
    """
    _refuse_what_cannot_be_converted(node)
    _without_surroundings(node)
    found = _Spelled(_class_of(qualified_name)).visit(node)
    return ast.fix_missing_locations(found)


def _without_surroundings(node: _FunctionNode) -> None:
    """Removes what was evaluated when the function was defined; the converted function gets the
    same default objects.
    """
    nothing = ast.Constant(None)
    node.args.defaults = [nothing for _ in node.args.defaults]
    node.args.kw_defaults = [
        None if default is None else nothing for default in node.args.kw_defaults
    ]
    if isinstance(node, ast.FunctionDef):
        node.decorator_list = []
        node.returns = None
        given = node.args
        for parameter in [
            *given.posonlyargs,
            *given.args,
            *given.kwonlyargs,
            given.vararg,
            given.kwarg,
        ]:
            if parameter is not None:
                parameter.annotation = None


def _class_of(qualified_name: str) -> str | None:
    """The class that a function with such a name is a method of."""
    *_, owner, _ = ["", *qualified_name.split(".")]
    return None if owner in ("", "<locals>") else owner


class _Spelled(ast.NodeTransformer):
    """Makes explicit what depends on its context.

    `super()` and private names get their class; `assert` and `append` become calls of operators,
    the latter with an assignment to the list, so that it counts as changed.
    """

    def __init__(self, owner: str | None) -> None:
        self._owner = owner
        self._first: list[str | None] = []  # the first parameter of the functions around
        self._assigned: list[set[str]] = []  # the names that they assign

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        return self._function(node)

    def visit_Lambda(self, node: ast.Lambda) -> ast.AST:
        return self._function(node)

    def _function(self, node: Any) -> ast.AST:
        positional = [*node.args.posonlyargs, *node.args.args]
        self._first.append(positional[0].arg if positional else None)
        self._assigned.append(_assigned_in(node))
        self.generic_visit(node)
        self._first.pop()
        self._assigned.pop()
        return node

    def visit_Expr(self, node: ast.Expr) -> ast.AST:
        self.generic_visit(node)
        call = node.value
        if (
            not isinstance(call, ast.Call)
            or not isinstance(call.func, ast.Attribute)
            or not isinstance(call.func.value, ast.Name)
        ):
            return node
        name = call.func.value.id
        if (
            call.func.attr != "append"
            or len(call.args) != 1
            or call.keywords
            or name not in self._assigned[-1]
        ):
            return node
        appended = _operator("list_append", [call.func.value, *call.args])
        return _at(ast.Assign([ast.Name(name, ast.Store())], appended), node)

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        # Python itself knows private names in the body of a class.
        owner, self._owner = self._owner, None
        self.generic_visit(node)
        self._owner = owner
        return node

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> ast.AST:
        self.generic_visit(node)
        if node.name is not None:  # malt looks for a node where Python has a name
            caught = ast.Assign(
                [ast.Name(node.name, ast.Store())], _operator("caught_exception", [])
            )
            node.body.insert(0, _at(caught, node))
            node.name = None
        return node

    def visit_Try(self, node: ast.Try) -> ast.AST:
        self.generic_visit(node)
        if node.orelse:  # malt cannot tell a block from an `if` that is its first statement
            node.orelse.insert(0, _at(ast.Pass(), node))
        return node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        if (
            isinstance(node.func, ast.Name)
            and node.func.id == "super"
            and not node.args
            and self._first[-1] is not None
        ):
            names = [ast.Name("__class__", ast.Load()), ast.Name(self._first[-1], ast.Load())]
            node.args = [ast.copy_location(name, node) for name in names]
        return node

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        self.generic_visit(node)
        node.attr = self._mangled(node.attr)
        return node

    def visit_Name(self, node: ast.Name) -> ast.AST:
        node.id = self._mangled(node.id)
        return node

    def _mangled(self, name: str) -> str:
        private = name.startswith("__") and not name.endswith("__")
        return f"_{self._owner.lstrip('_')}{name}" if private and self._owner else name

    def visit_Assert(self, node: ast.Assert) -> ast.AST:
        self.generic_visit(node)
        message = ast.Constant(None) if node.msg is None else node.msg
        nothing = ast.arguments(posonlyargs=[], args=[], kwonlyargs=[], kw_defaults=[], defaults=[])
        return _at(
            ast.Expr(_operator("assert_stmt", [node.test, ast.Lambda(nothing, message)])), node
        )


def _assigned_in(function: ast.AST) -> set[str]:
    """The names that a function assigns itself, without those of functions and classes in it."""
    found: set[str] = set()
    elsewhere: set[str] = set()
    todo = list(ast.iter_child_nodes(function))
    while todo:
        node = todo.pop()
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
        elif isinstance(node, (ast.Global, ast.Nonlocal)):
            elsewhere.update(node.names)
        if not isinstance(node, (ast.FunctionDef, ast.Lambda, ast.ClassDef)):
            todo += ast.iter_child_nodes(node)
    return found - elsewhere


def _operator(name: str, arguments: list[ast.expr]) -> ast.Call:
    return ast.Call(ast.Attribute(ast.Name("ag__", ast.Load()), name, ast.Load()), arguments, [])


def _at(made: ast.stmt, node: ast.AST) -> ast.stmt:
    """A node made from another one, with its position."""
    return ast.fix_missing_locations(ast.copy_location(made, node))


def _refuse_what_cannot_be_converted(node: ast.AST) -> None:
    refused = {
        ast.Match: "a match statement",
        ast.TryStar: "except*",
        ast.AsyncFunctionDef: "an asynchronous function",
        ast.AsyncFor: "an asynchronous loop",
        ast.AsyncWith: "an asynchronous with",
        ast.Await: "await",
        ast.Yield: "a generator",
        ast.YieldFrom: "a generator",
    }
    for part in ast.walk(node):
        if type(part) in refused:
            line = part.lineno  # type: ignore[attr-defined]
            raise NotConvertedError(f"it contains {refused[type(part)]} (line {line})")
        for name in _names_lost_in(part):
            raise NotConvertedError(
                f"it assigns '{name.target.id}' with := where the assignment would be lost (line "
                f"{name.lineno}): assign it with = before"
            )


def _names_lost_in(node: ast.AST) -> list[ast.NamedExpr]:
    """The `:=` in those parts of a node that are converted into functions of their own."""
    parts: list[ast.AST] = []
    if isinstance(node, ast.While):
        parts = [node.test]
    elif isinstance(node, ast.BoolOp):
        parts = list(node.values)
    elif isinstance(node, ast.IfExp):
        parts = [node.body, node.orelse]
    elif isinstance(node, ast.Compare) and len(node.ops) > 1:
        parts = [node.left, *node.comparators]
    return [found for part in parts for found in ast.walk(part) if isinstance(found, ast.NamedExpr)]
