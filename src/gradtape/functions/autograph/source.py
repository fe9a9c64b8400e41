"""From a Python function to its syntax tree: the tree has the line and column numbers of the user's
file.
"""

from __future__ import annotations

import ast
import copy
import functools
import inspect
import linecache
import tokenize
from types import CodeType, FunctionType

from gradtape.functions.autograph.fallback import NotConvertedError


def syntax_tree(function: FunctionType) -> ast.FunctionDef | ast.Lambda:
    """The definition of a function, parsed from its file."""
    code = function.__code__
    linecache.checkcache(code.co_filename)
    lines = linecache.getlines(code.co_filename, function.__globals__)
    if len(lines) < code.co_firstlineno:
        raise NotConvertedError(
            f"its source code is not available (it was defined in {code.co_filename})"
        )
    changed = f"line {code.co_firstlineno} of {code.co_filename} has changed since it was loaded"
    try:
        node = _lambda(code, lines) if code.co_name == "<lambda>" else _definition(code, lines)
    except (SyntaxError, tokenize.TokenError) as error:
        raise NotConvertedError(f"{changed}, or cannot be parsed: {error}") from None
    if not isinstance(node, (ast.FunctionDef, ast.Lambda)) or _signature(node) != _signature_of(
        code
    ):
        raise NotConvertedError(changed)
    return node


def _definition(code: CodeType, lines: list[str]) -> ast.AST:
    """A `def`, parsed from its lines; an enclosing block makes the indentation of a method
    valid.
    """
    block = inspect.getblock(lines[code.co_firstlineno - 1 :])
    indented = block[0][:1].isspace()
    tree: ast.AST = ast.parse("".join(["if True:\n", *block] if indented else block))
    for _ in range(1 + indented):
        tree = next(iter(getattr(tree, "body", ())), tree)
    return ast.increment_lineno(tree, code.co_firstlineno - 1 - indented)


def _lambda(code: CodeType, lines: list[str]) -> ast.Lambda:
    """The lambda that a code object was compiled from, among those that begin in its line."""
    wanted = code.co_firstlineno, _signature_of(code)
    found = [node for node in _lambdas("".join(lines)) if (node.lineno, _signature(node)) == wanted]
    if len(found) > 1:
        found = _innermost_around(code, found)
    if len(found) != 1:
        raise NotConvertedError(
            f"there are {len(found)} lambdas like it on line {code.co_firstlineno}: put it on its "
            "own line, or write a def"
        )
    return copy.deepcopy(found[0])


@functools.lru_cache(maxsize=8)
def _lambdas(source: str) -> list[ast.Lambda]:
    """All lambdas of a file, which is parsed only once."""
    return [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Lambda)]


def _innermost_around(code: CodeType, nodes: list[ast.Lambda]) -> list[ast.Lambda]:
    """Those of some lambdas whose body is the smallest that holds all of a code object's
    instructions.
    """
    known = [
        (line, column, end, last)
        for line, end, column, last in code.co_positions()
        if None not in (line, end, column, last)
    ]
    spans = [(p[:2], p[2:]) for p in known if p[:2] != p[2:]]
    if not spans:  # the interpreter was told to keep no columns
        return nodes
    first, last = min(s for s, _ in spans), max(e for _, e in spans)
    around = [node for node in nodes if _begin(node.body) <= first and last <= _end(node.body)]
    return [
        node
        for node in around
        if not any(_begin(node.body) < _begin(other.body) for other in around)
    ]


def _begin(node: ast.expr) -> tuple[int, int]:
    return node.lineno, node.col_offset


def _end(node: ast.expr) -> tuple[int | None, int | None]:
    return node.end_lineno, node.end_col_offset


def _signature(node: ast.FunctionDef | ast.Lambda) -> list[str]:
    """The names of a function and of its parameters."""
    name = "<lambda>" if isinstance(node, ast.Lambda) else node.name
    given = node.args
    several = [parameter for parameter in (given.vararg, given.kwarg) if parameter is not None]
    return [
        name,
        *(
            parameter.arg
            for parameter in [*given.posonlyargs, *given.args, *given.kwonlyargs, *several]
        ),
    ]


def _signature_of(code: CodeType) -> list[str]:
    flags = (inspect.CO_VARARGS, inspect.CO_VARKEYWORDS)
    count = (
        code.co_argcount
        + code.co_kwonlyargcount
        + sum(bool(code.co_flags & flag) for flag in flags)
    )
    return [code.co_name, *code.co_varnames[:count]]
