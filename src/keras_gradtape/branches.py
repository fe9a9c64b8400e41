"""The branch for this backend in the modules of Keras that choose one.

Keras 3.15 chooses its backend in `if` chains that name the backends it knows. These modules are
compiled from their source with one more branch: a copy of the branch for "jax" that points to this
package.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from copy import deepcopy
from importlib.machinery import SourceFileLoader
from types import CodeType
from typing import Any

BACKEND = "gradtape"
ALIAS = f"keras.src.backend.{BACKEND}"

_COPIED = "keras.src.backend.jax"
_CLASSES = {
    "JAXTrainer": "Trainer",
    "JaxLayer": "BackendLayer",
    "JaxExportArchive": "SavedModelExportArchive",
    "JaxOptimizer": "BackendOptimizer",
}


class WithBranch(SourceFileLoader):
    """Compiles a module with one branch more in its choice of a backend;
    never from or to a bytecode file.
    """

    def get_code(self, fullname: str) -> CodeType:
        path = self.get_filename(fullname)
        return compile(with_branch(self.get_data(path), fullname), path, "exec", dont_inherit=True)


def with_branch(source: str | bytes, module: str) -> ast.Module:
    """A module's syntax tree in which every choice of a backend has a branch for this one."""
    tree = ast.parse(source)
    choices = list(_choices(tree))
    if not choices:
        raise ImportError(
            f"gradtape cannot find where {module} chooses a backend: this version of Keras is not "
            "supported."
        )
    for choice in choices:
        branch = ast.If(
            _naming(choice.test), [_pointed(statement) for statement in choice.body], choice.orelse
        )
        choice.orelse = [ast.copy_location(branch, choice)]
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare) and isinstance(node.comparators[0], ast.Tuple):
            names = node.comparators[0].elts
            if any(_is_text(name, "jax") for name in names) and ast.unparse(node.left) == "backend":
                names.append(ast.Constant(BACKEND))
        elif isinstance(node, ast.Dict):  # a table by the backends' names
            for key, value in [
                (k, v)
                for k, v in zip(node.keys, node.values, strict=True)
                if k is not None and _is_text(k, "jax")
            ]:
                node.keys.append(ast.copy_location(ast.Constant(BACKEND), key))
                node.values.append(deepcopy(value))
    return ast.fix_missing_locations(tree)


def _choices(tree: ast.Module) -> Iterator[ast.If]:
    """The `if`s that ask for "jax": at the top of a module,
    and in Keras's class that can change its backend.
    """
    top = ("backend()", "backend.backend()")
    pending: list[ast.stmt] = list(tree.body)
    while pending:
        statement = pending.pop()
        if isinstance(statement, ast.If):
            pending += statement.orelse
            if _asks(statement.test, top):
                yield statement
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and _asks(node.test, ("self._backend",)):
            yield node


def _asks(test: ast.expr, asked: tuple[str, ...]) -> bool:
    return (
        isinstance(test, ast.Compare)
        and isinstance(test.ops[0], ast.Eq)
        and _is_text(test.comparators[0], "jax")
        and ast.unparse(test.left) in asked
    )


def _is_text(node: ast.expr, text: str) -> bool:
    return isinstance(node, ast.Constant) and node.value == text


def _naming(test: ast.expr) -> Any:
    """The same question for this backend."""
    asked: Any = deepcopy(test)
    asked.comparators = [ast.Constant(BACKEND)]
    return asked


def _pointed(statement: ast.stmt) -> ast.stmt:
    """A statement about the copied backend, said about this one."""
    copied = deepcopy(statement)
    for node in ast.walk(copied):
        if isinstance(node, ast.ImportFrom) and node.module is not None:
            node.module = node.module.replace(_COPIED, ALIAS)
            for name in node.names:
                name.name, name.asname = (
                    _CLASSES.get(name.name, name.name),
                    name.asname or _asname(name.name),
                )
        elif isinstance(node, ast.Constant) and node.value == _COPIED:
            node.value = ALIAS
    return copied


def _asname(name: str) -> str | None:
    """A class that gets another name here keeps the one that the importing module uses."""
    return name if name in _CLASSES else None
