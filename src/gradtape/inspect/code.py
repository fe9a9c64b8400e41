"""What the user's source code says: the expressions that a call was given, and the statements from
which the value of a name may have been computed.

Where there is no source, as for code typed into a plain Python prompt, there is no answer.
"""

from __future__ import annotations

import ast
import inspect
import linecache
import textwrap
import tokenize
from collections.abc import Iterator
from types import CodeType
from typing import NamedTuple

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
# What does not depend on values: no gradient passes it.
_FACTS = ("shape", "dtype", "name", "ndim", "device", "trainable")
_CONDITIONS = (ast.If, ast.For, ast.AsyncFor, ast.While, ast.Try, ast.Match, ast.IfExp)


class Statement(NamedTuple):
    """A statement of a function: the lines it takes, the names it binds and the expressions it
    uses, and the line of the branch or loop around it, if any.
    """

    line: int
    end: int
    binds: frozenset[str]
    uses: frozenset[str]
    condition: int | None
    node: ast.stmt

    def covers(self, line: int) -> bool:
        return self.line <= line <= self.end


class Body:
    """The statements of one function, or of a module, in the order of their lines."""

    def __init__(self, tree: ast.AST) -> None:
        self.statements = sorted(_statements(tree, None), key=lambda found: found.line)

    def binding(self, name: str, before: int | None = None) -> list[Statement]:
        """The statements that bind a name, above a line if one is given."""
        return [
            s for s in self.statements if name in s.binds and (before is None or s.line < before)
        ]

    def behind(self, expression: str, before: int) -> list[Statement]:
        """The statements above a line that the value of an expression may come from, the first
        ones first.
        """
        wanted, found = roots(expression), []
        for statement in reversed([s for s in self.statements if s.line < before]):
            if statement.binds & wanted:
                found.append(statement)
                wanted = wanted | {root for use in statement.uses for root in roots(use)}
        return found[::-1]

    def block_of(self, name: str, before: int) -> ast.With | None:
        """The last `with ... as name` above a line."""
        blocks = [
            s.node
            for s in self.statements
            if isinstance(s.node, ast.With)
            and s.line <= before
            and any(
                isinstance(item.optional_vars, ast.Name) and item.optional_vars.id == name
                for item in s.node.items
            )
        ]
        return blocks[-1] if blocks else None


class CallSite(NamedTuple):
    """A call in the user's code: of which method, on what, with which expressions, and in which
    function.
    """

    line: int
    on: str
    arguments: tuple[ast.expr, ...]
    body: Body

    def names(self, position: int, keyword: str, count: int) -> list[str | None]:
        """How the user writes the leaves of an argument, where its expression shows it."""
        expression = self._argument(position, keyword)
        if expression is None:
            return [None] * count
        if isinstance(expression, (ast.List, ast.Tuple)) and len(expression.elts) == count:
            return [ast.unparse(element) for element in expression.elts]
        if count != 1 or isinstance(expression, ast.Starred):
            return [None] * count
        return [ast.unparse(expression)]

    def _argument(self, position: int, keyword: str) -> ast.expr | None:
        given = [a for a in self.arguments if not isinstance(a, _Keyword)]
        for argument in self.arguments:
            if isinstance(argument, _Keyword) and argument.name == keyword:
                return argument.value
        return given[position] if position < len(given) else None


class _Keyword(ast.expr):
    """A keyword argument among the others."""

    def __init__(self, name: str, value: ast.expr) -> None:
        super().__init__()
        self.name = name
        self.value = value


def call_at(code: CodeType, offset: int) -> CallSite | None:
    """The call that an instruction makes; None if the source does not show it."""
    tree = _tree(code)
    position = _position(code, offset)
    if tree is None or position is None:
        return None
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and position == (
            node.lineno,
            node.end_lineno,
            node.col_offset,
            node.end_col_offset,
        ):
            on = ast.unparse(node.func.value) if isinstance(node.func, ast.Attribute) else ""
            arguments = (*node.args, *(_Keyword(k.arg or "", k.value) for k in node.keywords))
            return CallSite(node.lineno, on, arguments, Body(_around(tree, node)))
    return None


def roots(expression: str) -> set[str]:
    """The names with which an expression begins: `model` of `model.w[0]`."""
    return {node.id for node in ast.walk(ast.parse(expression)) if isinstance(node, ast.Name)}


def mentions(statement: Statement, expression: str) -> bool:
    """Whether a statement uses an expression, or something that it is part of."""
    return any(
        use == expression or use.startswith((f"{expression}.", f"{expression}["))
        for use in statement.uses
    )


def _tree(code: CodeType) -> ast.Module | None:
    """The file that some code is from; or its function alone, where the rest is not all Python, as
    in a notebook's cell with magic commands, or in a document.
    """
    lines = linecache.getlines(code.co_filename)
    try:
        return ast.parse("".join(lines)) if lines else None
    except SyntaxError:
        return None if code.co_name == "<module>" else _function_alone(lines, code.co_firstlineno)


def _function_alone(lines: list[str], first: int) -> ast.Module | None:
    try:
        block = inspect.getblock(lines[first - 1 :])
        indent = len(block[0]) - len(block[0].lstrip())
        tree = ast.parse(textwrap.dedent("".join(block)))
    except (SyntaxError, IndexError, tokenize.TokenError):
        return None
    for node in ast.walk(ast.increment_lineno(tree, first - 1)):
        if isinstance(node, (ast.expr, ast.stmt)):
            node.col_offset += indent
            node.end_col_offset = (node.end_col_offset or 0) + indent
    return tree


def _position(code: CodeType, offset: int) -> tuple[int | None, ...] | None:
    positions = list(code.co_positions())
    if offset // 2 >= len(positions):
        return None
    line, end_line, column, end_column = positions[offset // 2]
    return line, end_line, column, end_column


def _around(tree: ast.Module, wanted: ast.AST) -> ast.AST:
    """The innermost function around a node, or the module."""
    found: ast.AST = tree
    for node in ast.walk(tree):  # outer ones first
        if isinstance(node, _FUNCTIONS) and any(inner is wanted for inner in ast.walk(node)):
            found = node
    return found


def _statements(tree: ast.AST, condition: int | None) -> Iterator[Statement]:
    """The statements of a function, without those of the functions in it."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.stmt):
            yield Statement(
                node.lineno,
                _end_of_head(node),
                frozenset(_bound(node)),
                frozenset(_used(node)),
                condition,
                node,
            )
        if not isinstance(node, (*_FUNCTIONS, ast.ClassDef)):
            inside = node.lineno if isinstance(node, _CONDITIONS) else condition
            yield from _statements(node, inside)


def _end_of_head(node: ast.stmt) -> int:
    """The last line of a statement; of one with a body, the last before it."""
    body = getattr(node, "body", None)
    if isinstance(body, list) and body and not isinstance(node, _FUNCTIONS):
        return max(node.lineno, body[0].lineno - 1)
    return node.end_lineno or node.lineno


def _parts(node: ast.stmt) -> Iterator[ast.AST]:
    """The expressions of a statement, without the statements in its body."""
    if isinstance(node, (*_FUNCTIONS, ast.ClassDef)):
        yield from ast.walk(node)  # what it captures is what it uses
        return
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, (ast.stmt, ast.excepthandler, ast.match_case)):
            yield from ast.walk(child)


def _bound(node: ast.stmt) -> Iterator[str]:
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        yield node.name
        return
    for part in _parts(node):
        if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store):
            yield part.id
        # What is put into a container or an object is found through it; so is what a method is
        # given, as `losses.append(y)`.
        elif isinstance(part, (ast.Attribute, ast.Subscript)) and isinstance(part.ctx, ast.Store):
            yield from roots(ast.unparse(part.value))
        elif (
            isinstance(node, ast.Expr)
            and isinstance(part, ast.Call)
            and isinstance(part.func, ast.Attribute)
            and part.args
        ):
            yield from roots(ast.unparse(part.func.value))
    if isinstance(node, ast.AugAssign):
        yield from roots(ast.unparse(node.target))


def _used(node: ast.stmt) -> Iterator[str]:
    parts = list(_parts(node))
    facts = {
        id(inner)
        for part in parts
        if (isinstance(part, ast.Attribute) and part.attr in _FACTS)
        or (
            isinstance(part, ast.Call) and isinstance(part.func, ast.Name) and part.func.id == "len"
        )
        for inner in ast.walk(part)
    }
    for part in parts:
        if id(part) in facts:
            continue
        if isinstance(part, (ast.Name, ast.Attribute, ast.Subscript)) and (
            isinstance(part.ctx, ast.Load) or isinstance(node, ast.AugAssign)
        ):
            yield ast.unparse(part)
