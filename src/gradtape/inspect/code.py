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
from collections.abc import Iterable, Iterator, Sequence
from types import CodeType
from typing import NamedTuple

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
# What does not depend on values: no gradient passes it.
_FACTS = ("shape", "dtype", "name", "ndim", "device", "trainable")
OWN_NAMES = (ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
LOOPS = (ast.For, ast.AsyncFor, ast.While)
_CONDITIONS = (ast.If, ast.For, ast.AsyncFor, ast.While, ast.Try, ast.Match, ast.IfExp)


class Statement(NamedTuple):
    """A statement of a function: the lines it takes, the expressions it uses, and the branches and
    loops around it, the innermost last.

    It `binds` the names that its values may be found through, and `names` those that mean another
    object then. What it uses at once is `direct`; the rest, the functions in it use when they are
    called.
    """

    line: int
    end: int
    binds: frozenset[str]
    names: frozenset[str]
    uses: frozenset[str]
    direct: frozenset[str]
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
        self._loops = [s.node for s in self.statements if isinstance(s.node, LOOPS)]

    def before(self, line: int) -> list[Statement]:
        """The statements that may have run before a call at a line: those above, and those below
        in a loop that the call is in too.
        """
        loops = [
            node for node in self._loops if node.lineno <= line <= (node.end_lineno or node.lineno)
        ]
        return [
            s for s in self.statements if s.line < line or any(loop in s.around for loop in loops)
        ]

    def is_sure(self, statement: Statement, line: int) -> bool:
        """Whether a statement has run if a call at a line has, and more than once if it is below:
        nothing is around it that is not around the call too.
        """
        return all(_has_both(node, statement.line, line) for node in statement.around)

    def behind(self, expression: str, before: int | None = None) -> list[Statement]:
        """The statements before a line that the value of an expression may come from, the first
        ones first.
        """
        candidates = self.statements if before is None else self.before(before)
        wanted, found = roots(expression), dict[int, Statement]()
        while True:  # in a loop a value may come from below
            known = len(found)
            for i, statement in reversed(list(enumerate(candidates))):
                if i not in found and statement.binds & wanted:
                    found[i] = statement
                    wanted = wanted | {root for use in statement.uses for root in roots(use)}
            if len(found) == known:
                return [found[i] for i in sorted(found)]

    def returned(self) -> list[Statement]:
        """The statements that what the function returns may come from, with the returns."""
        found: dict[int, Statement] = {}
        for statement in self.statements:
            if isinstance(statement.node, ast.Return) and statement.node.value is not None:
                value = ast.unparse(statement.node.value)
                found.update((s.line, s) for s in (statement, *self.behind(value)))
        return list(found.values())

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

    def names(self, position: int, keywords: Sequence[str], count: int) -> list[str | None]:
        """How the user writes the leaves of an argument, where its expression shows it."""
        expression = self._argument(position, keywords)
        if expression is None:
            return [None] * count
        if isinstance(expression, (ast.List, ast.Tuple)) and len(expression.elts) == count:
            return [ast.unparse(element) for element in expression.elts]
        if count != 1 or isinstance(expression, ast.Starred):
            return [None] * count
        return [ast.unparse(expression)]

    def _argument(self, position: int, keywords: Sequence[str]) -> ast.expr | None:
        given = [a for a in self.arguments if not isinstance(a, _Keyword)]
        for argument in self.arguments:
            if isinstance(argument, _Keyword) and argument.name in keywords:
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
        if isinstance(node, _FUNCTIONS) and node.lineno <= line <= (node.end_lineno or node.lineno)
    ]
    return Body(around[-1]) if around else None


def called_at(code: CodeType, offset: int) -> str | None:
    """The name of the function that an instruction calls, as the user wrote it; None for anything
    but a call by name.
    """
    tree, position = _tree(code), _position(code, offset)
    for node in ast.walk(tree) if tree is not None and position is not None else ():
        if isinstance(node, ast.Call) and position == _position_of(node):
            function = node.func
            if isinstance(function, ast.Attribute):
                return function.attr
            return function.id if isinstance(function, ast.Name) else None
    return None


def roots(expression: str) -> set[str]:
    """The names with which an expression begins: `model` of `model.w[0]`."""
    return {node.id for node in ast.walk(ast.parse(expression)) if isinstance(node, ast.Name)}


def mentions(uses: Iterable[str], expression: str) -> bool:
    """Whether an expression is used, or something that it is part of."""
    return any(
        use == expression or use.startswith((f"{expression}.", f"{expression}[")) for use in uses
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


def _position_of(node: ast.expr) -> tuple[int | None, ...]:
    return node.lineno, node.end_lineno, node.col_offset, node.end_col_offset


def _around(tree: ast.Module, wanted: ast.AST) -> ast.AST:
    """The innermost function around a node, or the module."""
    found: ast.AST = tree
    for node in ast.walk(tree):  # outer ones first
        if isinstance(node, _FUNCTIONS) and any(inner is wanted for inner in ast.walk(node)):
            found = node
    return found


def _statements(tree: ast.AST, around: tuple[ast.AST, ...]) -> Iterator[Statement]:
    """The statements of a function, without those of the functions in it."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.stmt):
            yield Statement(
                node.lineno,
                _end_of_head(node),
                frozenset(_bound(node)),
                frozenset(_named(node)),
                frozenset(_used(node)),
                frozenset(_used(node, now=True)),
                around,
                node,
            )
        if not isinstance(node, (*_FUNCTIONS, ast.ClassDef)):
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


def _named(node: ast.stmt) -> Iterator[str]:
    """The names that mean another object after a statement."""
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        yield node.name
        return
    parts = list(_parts(node))
    own = {id(inner) for p in parts if isinstance(p, OWN_NAMES) for inner in ast.walk(p)}
    for part in parts:
        if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store) and id(part) not in own:
            yield part.id


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


def _used(node: ast.stmt, *, now: bool = False) -> Iterator[str]:
    """The expressions that a statement uses; `now` leaves out what functions in it use later."""
    parts = list(_parts(node))
    if now:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            return
        later = {id(inner) for p in parts if isinstance(p, ast.Lambda) for inner in ast.walk(p)}
        parts = [part for part in parts if id(part) not in later]
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
