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
from collections.abc import Iterator, Sequence
from functools import cached_property
from types import CodeType
from typing import NamedTuple

from gradtape.inspect.bindings import COMPREHENSIONS, FUNCTIONS, path_of
from gradtape.inspect.flow import Flow

OWN_NAMES = (ast.Lambda, *COMPREHENSIONS)
_CONDITIONS = (ast.If, ast.For, ast.AsyncFor, ast.While, ast.Try, ast.Match, ast.IfExp)


class Statement(NamedTuple):
    """A statement of a function: the lines it takes, and the branches and loops around it, the
    innermost last.
    """

    line: int
    end: int
    around: tuple[ast.AST, ...]
    node: ast.stmt

    @property
    def condition(self) -> int | None:
        """The line of the innermost branch or loop around it, if any."""
        return self.around[-1].lineno if self.around else None  # type: ignore[attr-defined]

    def covers(self, line: int) -> bool:
        return self.line <= line <= self.end


class Body:
    """The statements of one function, or of a module, in the order of their lines."""

    def __init__(self, tree: ast.AST) -> None:
        self.tree = tree
        self.statements = sorted(_statements(tree, ()), key=lambda found: found.line)

    @cached_property
    def flow(self) -> Flow:
        return Flow(self.tree)

    def is_sure(self, statement: Statement, line: int) -> bool:
        """Whether a statement has run if a call at a line has, and more than once if it is below:
        nothing is around it that is not around the call too.
        """
        return all(_has_both(node, statement.line, line) for node in statement.around)

    def statement(self, node: ast.stmt) -> Statement:
        return next(s for s in self.statements if s.node is node)

    def returns(self, line: int, *, surely: bool) -> bool:
        """Whether the function is sure to return what a line of it computes, or may."""
        if isinstance(self.tree, ast.Lambda):
            return True
        at = self.flow.at(line)
        return at is not None and self.flow.returned(at, surely=surely)

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

    def names(
        self, position: int, keywords: Sequence[str], count: int, *, is_list: bool = False
    ) -> list[str | None]:
        """How the user writes the leaves of an argument, where its expression shows it; `is_list`
        says that they are the elements of a list.
        """
        expression = self._argument(position, keywords)
        if expression is None:
            return [None] * count
        elements = getattr(expression, "elts", [expression])
        starred = [i for i, element in enumerate(elements) if isinstance(element, ast.Starred)]
        if starred:  # what follows is at a place that does not show
            known = [ast.unparse(element) for element in elements[: starred[0]]]
            return [*known, *[None] * (count - len(known))]
        if isinstance(expression, (ast.List, ast.Tuple)) and len(elements) == count:
            return [ast.unparse(element) for element in elements]
        if count == 1 and not is_list:
            return [ast.unparse(expression)]
        if is_list and path_of(expression) is not None:
            return [f"{ast.unparse(expression)}[{i}]" for i in range(count)]
        return [None] * count

    def _argument(self, position: int, keywords: Sequence[str]) -> ast.expr | None:
        given = [a for a in self.arguments if not isinstance(a, _Keyword)]
        for argument in self.arguments:
            if isinstance(argument, _Keyword) and argument.name in keywords:
                return argument.value
        if any(isinstance(before, ast.Starred) for before in given[:position]):
            return None
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
        if isinstance(node, ast.Call) and position == _position_of(node):
            on = ast.unparse(node.func.value) if isinstance(node.func, ast.Attribute) else ""
            arguments = (*node.args, *(_Keyword(k.arg or "", k.value) for k in node.keywords))
            return CallSite(node.lineno, on, arguments, Body(_around(tree, node)))
    return None


def body_around(file: str, line: int) -> Body | None:
    """The statements of the innermost function that has a line; None without its source."""
    try:
        tree = ast.parse("".join(linecache.getlines(file)))
    except SyntaxError:
        return None
    around = [
        node
        for node in ast.walk(tree)  # outer ones first
        if isinstance(node, FUNCTIONS) and node.lineno <= line <= (node.end_lineno or node.lineno)
    ]
    return Body(around[-1]) if around else None


def called_at(code: CodeType, offset: int) -> str | None:
    """The name of the function that an instruction calls, as the user wrote it, or as it was
    imported under another name; None for anything but a call by name.
    """
    tree, position = _tree(code), _position(code, offset)
    for node in ast.walk(tree) if tree is not None and position is not None else ():
        if isinstance(node, ast.Call) and position == _position_of(node):
            function = node.func
            if isinstance(function, ast.Attribute):
                return function.attr
            return _imported(tree, function.id) if isinstance(function, ast.Name) else None
    return None


def _imported(tree: ast.AST | None, name: str) -> str:
    """What `name` is called where it comes from, if all imports of it agree."""
    found = {
        alias.name
        for node in ast.walk(tree or ast.Module([], []))
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
        if alias.asname == name
    }
    return found.pop() if len(found) == 1 else name


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


def _position_of(node: ast.expr) -> tuple[int | None, ...]:
    return node.lineno, node.end_lineno, node.col_offset, node.end_col_offset


def _around(tree: ast.Module, wanted: ast.AST) -> ast.AST:
    """The innermost function around a node, or the module."""
    found: ast.AST = tree
    for node in ast.walk(tree):  # outer ones first
        if isinstance(node, FUNCTIONS) and any(inner is wanted for inner in ast.walk(node)):
            found = node
    return found


def _statements(tree: ast.AST, around: tuple[ast.AST, ...]) -> Iterator[Statement]:
    """The statements of a function, without those of the functions in it."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.stmt):
            yield Statement(
                node.lineno,
                _end_of_head(node),
                around,
                node,
            )
        if not isinstance(node, (*FUNCTIONS, ast.ClassDef)):
            yield from _statements(
                node, (*around, node) if isinstance(node, _CONDITIONS) else around
            )


def _has_both(node: ast.AST, first: int, second: int) -> bool:
    """Whether two lines are in one block of a branch or loop, so that both run or none."""
    parts = [node, *getattr(node, "handlers", ()), *getattr(node, "cases", ())]
    blocks = [getattr(p, name, ()) for p in parts for name in ("body", "orelse", "finalbody")]
    return any(
        isinstance(block, list)
        and block
        and all(block[0].lineno <= line <= (block[-1].end_lineno or 0) for line in (first, second))
        for block in blocks
    )


def _end_of_head(node: ast.stmt) -> int:
    """The last line of a statement; of one with a body, the last before it."""
    body = getattr(node, "body", None)
    if isinstance(body, list) and body and not isinstance(node, FUNCTIONS):
        return max(node.lineno, body[0].lineno - 1)
    return node.end_lineno or node.lineno
