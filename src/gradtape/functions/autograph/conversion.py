"""`converted`: returns a function whose `if`, `while`, `for`, `and`, ... have become calls of the
operators of this package.

The work is done by the converters of the package malt. The converted function has the globals, the
closure and the defaults of the original, and its code has the line numbers of the user's file, for
tracebacks and source locations.
"""

from __future__ import annotations
import __future__

import ast
import threading
import weakref
from collections.abc import Callable
from types import CodeType, FunctionType, ModuleType
from typing import Any

from malt.converters import (
    break_statements,
    call_trees,
    conditional_expressions,
    continue_statements,
    control_flow,
    directives,
    functions,
    logical_expressions,
    return_statements,
    variables,
)
from malt.core import converter
from malt.lang.directives import set_loop_options as malts_loop_options
from malt.pyct import anno, cfg, inspect_utils, naming, qual_names, transformer
from malt.pyct.static_analysis import activity, reaching_definitions

from gradtape.functions.autograph.fallback import NotConvertedError, talk
from gradtape.functions.autograph.marks import set_loop_options
from gradtape.functions.autograph.prepare import prepared
from gradtape.functions.autograph.source import syntax_tree

_Position = tuple[int, int, int, int]  # first and last line, first and last column
_FUTURE = sum({getattr(__future__, name).compiler_flag for name in __future__.all_feature_names})
_lock = threading.RLock()  # a signal handler may convert a function too
_factories: weakref.WeakKeyDictionary[CodeType, dict[Any, Factory]] = weakref.WeakKeyDictionary()


def converted(
    function: FunctionType, operators: ModuleType, *, recursive: bool = True
) -> FunctionType:
    """A function that does the same as `function`, with `operators` instead of Python's control
    flow.
    """
    code = function.__code__
    key = code.co_filename, recursive  # equal code objects may come from different files
    with _lock:
        by_file = _factories.setdefault(code, {})
        if key not in by_file:
            talk.about(function)
            by_file[key] = Factory(function, recursive=recursive)
        factory = by_file[key]
    return factory.make(function, operators)


def source_code(function: FunctionType, *, recursive: bool = True) -> str:
    """The source code of the converted function."""
    node, _ = _annotated(function)
    name, tree = _converted_tree(node, function, recursive=recursive)
    module = _module_around(name, tree, ())
    _set_positions(module, _first_line(function.__code__))
    return ast.unparse(tree)


class Factory:
    """The converted code of a function, from which the converted form of any function with the same
    code is made.
    """

    def __init__(self, function: FunctionType, *, recursive: bool) -> None:
        code = function.__code__
        node, users = _annotated(function)
        name, tree = _converted_tree(node, function, recursive=recursive)
        module = _module_around(name, tree, code.co_freevars)
        _set_positions(module, _first_line(code))
        compiled = compile(
            module, code.co_filename, "exec", flags=code.co_flags & _FUTURE, dont_inherit=True
        )
        maker = _find(_find(compiled, "outer_"), "inner_")
        self._maker = _replaced(
            maker, name, lambda found: users.renamed(found, code.co_name, code.co_qualname)
        )

    def make(self, function: FunctionType, operators: ModuleType) -> FunctionType:
        """The converted function, with the globals,
        the closure and the defaults of the original.
        """
        cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
        closure = tuple([cells[name] for name in self._maker.co_freevars])
        made: FunctionType = FunctionType(self._maker, function.__globals__, closure=closure)(
            operators
        )
        made.__defaults__, made.__kwdefaults__ = function.__defaults__, function.__kwdefaults__
        made.__name__, made.__qualname__, made.__module__ = (
            function.__name__,
            function.__qualname__,
            function.__module__,
        )
        made.__doc__ = function.__doc__
        return made


def _annotated(function: FunctionType) -> tuple[Any, _UsersFunctions]:
    """A function's syntax tree, whose nodes remember their positions, and the functions in it."""
    node = prepared(syntax_tree(function), function.__code__.co_qualname)
    _remember_positions(node)
    return node, _UsersFunctions(node)


def _converted_tree(node: Any, function: FunctionType, *, recursive: bool) -> tuple[str, Any]:
    """The name and the tree of the converted definition."""
    namespace = inspect_utils.getnamespace(function)
    namer = naming.Namer(namespace)
    name = namer.new_symbol(f"ag__{'lambda' if isinstance(node, ast.Lambda) else node.name}", ())
    info = transformer.EntityInfo(
        name=name, source_code="", source_file="", future_features=(), namespace=namespace
    )
    options = converter.ConversionOptions(recursive=recursive, optional_features=None)
    context = transformer.Context(info, namer, converter.ProgramContext(options=options))
    try:
        return name, _run_converters(node, context)
    except (
        AssertionError,
        AttributeError,
        KeyError,
        LookupError,
        NotImplementedError,
        TypeError,
        ValueError,
    ) as error:
        raise NotConvertedError(
            f"malt could not convert it: {type(error).__name__}: {error}"
        ) from error


def _run_converters(node: Any, context: Any) -> Any:
    node = qual_names.resolve(node)
    graphs = cfg.build(node)
    node = activity.resolve(node, context, None)
    node = reaching_definitions.resolve(node, context, graphs)
    anno.dup(node, {anno.Static.DEFINITIONS: anno.Static.ORIG_DEFINITIONS})
    node = functions.transform(node, context)
    node = _Directives(context).visit(node)
    node = break_statements.transform(node, context)
    node = continue_statements.transform(node, context)
    node = return_statements.transform(node, context)
    node = _Calls(context).visit(qual_names.resolve(node))
    node = control_flow.transform(node, context)
    node = conditional_expressions.transform(node, context)
    node = logical_expressions.transform(node, context)
    return _Reads(context).visit(node)


class _Directives(directives.DirectivesTransformer):  # type: ignore[misc]
    """malt's converter of `set_loop_options`, which looks for its own function of that name."""

    # A visitor's method is named after the node.
    def visit_Name(self, node: ast.Name) -> Any:  # noqa: N802
        return _as_malts(super().visit_Name(node))

    def visit_Attribute(self, node: ast.Attribute) -> Any:  # noqa: N802
        return _as_malts(super().visit_Attribute(node))


def _as_malts(node: Any) -> Any:
    if anno.getanno(node, directives.STATIC_VALUE, default=None) is set_loop_options:
        anno.setanno(node, directives.STATIC_VALUE, malts_loop_options)
    return node


class _Calls(call_trees.CallTreeTransformer):  # type: ignore[misc]
    """malt's converter of calls.

    Functions that inspect their caller's frame are called directly.
    """

    _frame_readers = frozenset(
        {"breakpoint", "dir", "eval", "exec", "globals", "locals", "print", "super", "vars"}
    )

    def visit_Call(self, node: ast.Call) -> Any:  # noqa: N802
        if isinstance(node.func, ast.Name) and node.func.id in self._frame_readers:
            return self.generic_visit(node)
        return super().visit_Call(node)


class _Reads(variables.VariableAccessTransformer):  # type: ignore[misc]
    """malt's converter of variable reads, which mistakes the name before a `:=` for one."""

    def visit_NamedExpr(self, node: ast.NamedExpr) -> Any:  # noqa: N802
        node.target.ctx = ast.Store()
        node.value = self.visit(node.value)
        return node


def _module_around(name: str, tree: Any, free_variables: tuple[str, ...]) -> ast.Module:
    """A module with the definition inside a function that takes the operators as its parameter,
    inside another that defines the closure's names.
    """
    if isinstance(tree, ast.Lambda):
        tree = ast.Assign([ast.Name(name, ast.Store())], tree)
    else:
        tree.name = name
    closure = " = ".join([*free_variables, "None"])
    module = ast.parse(
        f"def outer_():\n {closure}\n def inner_(ag__):\n  return {name}\n return inner_"
    )
    (outer,) = module.body
    assert isinstance(outer, ast.FunctionDef)
    inner = outer.body[1]
    assert isinstance(inner, ast.FunctionDef)
    inner.body.insert(0, tree)
    return module


# Positions: every node of the user's code remembers its own, and everything that the converters
# made has that of what it was made from.


def _remember_positions(tree: ast.AST) -> None:
    for node in ast.walk(tree):
        position = _position(node)
        if position is not None:
            anno.setanno(node, anno.Basic.ORIGIN, position)


def _first_line(code: CodeType) -> _Position:
    return code.co_firstlineno, code.co_firstlineno, 0, 0


def _position(node: Any) -> _Position | None:
    if not hasattr(node, "lineno"):
        return None
    end = node
    if hasattr(node, "body") and isinstance(node, ast.stmt):  # of a block, its head
        end = getattr(node, "test", None) or getattr(node, "iter", None) or node
        if end is node:
            return node.lineno, node.lineno, node.col_offset, node.col_offset + 1
    return node.lineno, end.end_lineno, node.col_offset, end.end_col_offset


def _set_positions(node: Any, around: _Position) -> None:
    """Gives every node a position: its own, or that of the enclosing node.

    Makes lists of tuples, too, as `compile` wants them.
    """
    position = anno.getanno(node, anno.Basic.ORIGIN, default=around)
    if "lineno" in node._attributes:
        node.lineno, node.end_lineno, node.col_offset, node.end_col_offset = position
    for field in type(node)._fields:
        value = getattr(node, field, None)
        if isinstance(value, (list, tuple)):
            value = list(value)
            setattr(node, field, value)
            for child in value:
                if isinstance(child, ast.AST):
                    _set_positions(child, position)
        elif isinstance(value, ast.AST):
            _set_positions(value, position)


# Names: code objects have the names of the user's functions, those that the converters made that of
# the function around them.


class _UsersFunctions:
    """The functions and lambdas that are in the user's code."""

    def __init__(self, tree: ast.AST) -> None:
        inside = [node for node in ast.walk(tree) if node is not tree]
        self._names = {
            node.name for node in inside if isinstance(node, (ast.FunctionDef, ast.ClassDef))
        }
        self._lambdas = {node.lineno for node in inside if isinstance(node, ast.Lambda)}

    def renamed(self, code: CodeType, name: str, qualified_name: str) -> CodeType:
        constants = tuple(
            [
                self._inner(c, name, qualified_name) if isinstance(c, CodeType) else c
                for c in code.co_consts
            ]
        )
        return code.replace(co_name=name, co_qualname=qualified_name, co_consts=constants)

    def _inner(self, code: CodeType, name: str, qualified_name: str) -> CodeType:
        if not self._is_users(code):
            return self.renamed(code, name, qualified_name)
        return self.renamed(code, code.co_name, f"{qualified_name}.<locals>.{code.co_name}")

    def _is_users(self, code: CodeType) -> bool:
        if code.co_name == "<lambda>":
            return code.co_firstlineno in self._lambdas
        return code.co_name in self._names or code.co_name.startswith("<")


def _find(code: CodeType, name: str) -> CodeType:
    (found,) = [c for c in code.co_consts if isinstance(c, CodeType) and c.co_name == name]
    return found


def _replaced(code: CodeType, name: str, change: Callable[[CodeType], CodeType]) -> CodeType:
    """The code of an outer function, with the code of the function that it defines replaced: the
    one of that name, or its lambda.
    """
    constants = [
        change(c) if isinstance(c, CodeType) and c.co_name in (name, "<lambda>") else c
        for c in code.co_consts
    ]
    return code.replace(co_consts=tuple(constants))
