"""Where the value of an expression may come from: the bindings of a function that reach it.

A *binding* is a name, attribute or element that a statement gives a value. It reaches a statement
if no other that is sure to run replaces it in between. Some flows are *sure*: the statement that
binds has run, and what it gave is what is read. Others are possible, as through an element of a
list, a branch of a conditional expression, or a method that may have changed its object.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from gradtape.inspect.bindings import (
    FUNCTIONS,
    Binding,
    Path,
    Read,
    bindings_of,
    heads_of,
    overlap,
    own_names,
    own_parts,
    path_of,
    reads_of,
)

LOOPS = (ast.For, ast.AsyncFor, ast.While)

# The bindings that may hold at some point, by their path.
_Env = dict[Path, frozenset[Binding]]


class Flow:
    """The bindings in the statements of one function or module, and which of them reach where."""

    def __init__(self, tree: ast.AST) -> None:
        self.tree = tree
        self._before: dict[ast.stmt, _Env] = {}
        self._around: dict[ast.stmt, tuple[ast.AST, ...]] = {}
        self._bindings: dict[ast.stmt, list[Binding]] = {}
        self._leaps: list[list[_Env]] = []  # from the loops around, by `break` and `continue`
        self._captured: dict[Binding, list[Read]] = {}
        self.returns: list[ast.Return] = []
        body = getattr(tree, "body", [])
        if isinstance(body, list):
            self._place(body, ())
            self._run(body, {})

    @property
    def statements(self) -> Iterable[ast.stmt]:
        return self._bindings

    def around(self, statement: ast.stmt) -> tuple[ast.AST, ...]:
        """The statements with blocks around a statement, the innermost last."""
        return self._around[statement]

    def bindings(self) -> Iterator[Binding]:
        """All of them."""
        for found in self._bindings.values():
            yield from found

    def reads(self, binding: Binding) -> Sequence[Read]:
        """What a binding is computed from; of a function, what it captures."""
        if not binding.deferred:
            return binding.reads
        if binding not in self._captured:
            self._captured[binding] = captured(binding.values[0])
        return self._captured[binding]

    def at(self, line: int) -> ast.stmt | None:
        """The innermost statement at a line, if it was reached."""
        found = [s for s in self._before if s.lineno <= line <= (s.end_lineno or s.lineno)]
        return max(found, key=lambda s: (s.lineno, -(s.end_lineno or 0)), default=None)

    def reaching(self, path: Path, statement: ast.stmt | None) -> frozenset[Binding]:
        """The bindings of a path, of a part of it or of what it is part of, that may hold when a
        statement begins.
        """
        before = {} if statement is None else self._before.get(statement, {})
        found = [held for known, held in before.items() if overlap(known, path)]
        return frozenset[Binding]().union(*found)

    def behind(self, expression: ast.AST, statement: ast.stmt | None) -> list[Binding]:
        """The bindings that the value of an expression in a statement may come from."""
        found: dict[Binding, None] = {}
        pending = [(read, statement) for read in reads_of(expression)]
        while pending:
            read, at = pending.pop()
            for binding in self.reaching(read.path, at):
                if binding not in found:
                    found[binding] = None
                    then = binding.read_at(at)
                    pending += [(inner, then) for inner in self.reads(binding)]
        return list(found)

    def is_sure(
        self,
        expression: ast.AST,
        statement: ast.stmt | None,
        wanted: Binding,
        within: ast.AST | None = None,
    ) -> bool:
        """Whether the value of an expression in a statement is sure to come from a binding, if that
        has run: there is no other way. `within` is the block that ran once.
        """
        known: dict[Binding, bool] = {}

        def comes(read: Read, at: ast.stmt | None) -> bool:
            held = self.reaching(read.path, at)
            is_held = wanted in held and not wanted.adds
            ways = [
                b
                for b in held
                if not (is_held and b is not wanted and self._is_over(b, wanted, within))
            ]
            if any(b.adds for b in ways):
                ways = [b for b in ways if not b.is_empty_container]
            return (
                bool(ways)
                and read.sure
                and all(b.gives(read.path) and (b is wanted or leads(b, at)) for b in ways)
            )

        def leads(binding: Binding, at: ast.stmt | None) -> bool:
            if binding not in known:
                known[binding] = True  # in a loop, what it was before decides
                then = binding.read_at(at)
                known[binding] = any(comes(read, then) for read in self.reads(binding))
            return known[binding]

        return any(comes(read, statement) for read in reads_of(expression))

    def passes(self, at: ast.stmt, expression: ast.AST, *where: Any) -> bool:
        """Whether all that a statement computes is sure to be in the value of an expression, which
        is the one that `is_sure` is asked about.
        """
        inner = (part for head in heads_of(at) for part in own_parts(head))
        if any(isinstance(part, (ast.IfExp, ast.BoolOp)) for part in inner):
            return False
        statement, *within = where
        bound = self._bindings[at]
        return bool(bound) and all(self.is_sure(expression, statement, b, *within) for b in bound)

    def returned(self, statement: ast.stmt, *, surely: bool) -> bool:
        """Whether the function is sure to return what a statement computes, if it ran; or may."""
        if statement in self.returns:
            return True
        returns = [(at, value) for at in self.returns if (value := at.value) is not None]
        if not surely:
            behind = [b.statement for at, value in returns for b in self.behind(value, at)]
            return statement in behind
        return bool(returns) and all(self.passes(statement, value, at) for at, value in returns)

    def _is_over(self, other: Binding, binding: Binding, within: ast.AST | None) -> bool:
        """Whether another binding does not hold if this one has run: it came before, or stands in
        the other branch.
        """
        if self.share_a_loop(binding, other, within):
            return False
        around, too = (self._around[b.statement] for b in (binding, other))
        if any(isinstance(node, (ast.Try, ast.TryStar)) and node.handlers for node in around):
            return False  # it may have begun, and failed
        return other.line < binding.line or any(
            isinstance(node, ast.If)
            and node in too
            and _branch(node, binding.line) is not _branch(node, other.line)
            for node in around
        )

    def share_a_loop(self, one: Binding, other: Binding, within: ast.AST | None) -> bool:
        """Whether two bindings are in one loop in a block, so that either may come last."""
        first = 0 if within is None else within.lineno  # type: ignore[attr-defined]
        too = self._around[other.statement]
        return any(
            isinstance(node, LOOPS) and node.lineno > first and node in too
            for node in self._around[one.statement]
        )

    # Which bindings reach where

    def _place(self, body: Iterable[ast.stmt], around: tuple[ast.AST, ...]) -> None:
        for statement in body:
            self._around[statement] = around
            self._bindings[statement] = list(bindings_of(statement))
            if isinstance(statement, ast.Return):
                self.returns.append(statement)
            for part in _blocks(statement):
                self._place(part, (*around, statement))

    def _run(self, body: Iterable[ast.stmt], env: _Env | None) -> _Env | None:
        """What holds after some statements; None if they do not end."""
        for statement in body:
            if env is None:
                return None
            known = self._before.get(statement)
            self._before[statement] = env = dict(env) if known is None else _joined(known, env)
            env = self._after(statement, env)
        return env

    def _after(self, statement: ast.stmt, env: _Env) -> _Env | None:
        if isinstance(statement, (ast.Return, ast.Raise)):
            return None
        if isinstance(statement, (ast.Break, ast.Continue)):
            self._leaps[-1].append(env)
            return None
        after = dict(env)
        for binding in self._bindings[statement]:
            _bind(after, binding)
        if isinstance(statement, ast.Delete):
            for target in statement.targets:
                after.pop(path_of(target) or (), None)
        if isinstance(statement, LOOPS):
            result: _Env | None = after
            self._leaps.append([])
            for _ in range(3):  # a value may come from the turn before
                result = _either(result, self._run(statement.body, result))
                for left in self._leaps[-1]:
                    result = _either(result, left)
            leaps = self._leaps.pop()
            last = self._run(statement.orelse, result)
            for left in leaps:
                last = _either(last, left)
            return last
        if isinstance(statement, ast.If):
            return _either(
                self._run(statement.body, after), self._run(statement.orelse, dict(after))
            )
        if isinstance(statement, (ast.Try, ast.TryStar)):
            done = self._run(statement.body, after)
            part_way: _Env | None = _either(after, done)
            for inner in statement.body:  # it may have failed anywhere
                part_way = _either(part_way, self._before.get(inner))
            ends = [self._run(handler.body, dict(part_way or {})) for handler in statement.handlers]
            result = self._run(statement.orelse, done)
            for end in ends:
                result = _either(result, end)
            return self._run(statement.finalbody, result)
        if isinstance(statement, ast.Match):
            result = after
            for case in statement.cases:
                result = _either(result, self._run(case.body, dict(after)))
            return result
        for part in _blocks(statement):
            return self._run(part, after)
        return after


def captured(tree: ast.AST) -> list[Read]:
    """What a function or class reads of the names around it; sure is what it returns for sure."""
    if isinstance(tree, ast.Lambda):
        found = list(reads_of(tree.body))
    elif isinstance(tree, ast.ClassDef):
        found = [read._replace(sure=False) for read in reads_of(tree)]
    else:
        flow = Flow(tree)
        found = [
            read._replace(sure=False)
            for statement in flow.statements
            for part in heads_of(statement)
            for read in reads_of(part)
        ]
        last = flow.returns[0] if len(flow.returns) == 1 else None
        if last is not None and last.value is not None and not flow.around(last):
            found += reads_of(last.value)
            found += [
                read
                for binding in flow.behind(last.value, last)
                if flow.is_sure(last.value, last, binding)
                for read in flow.reads(binding)
            ]
    own = own_names(tree)
    return [read for read in found if read.path[0] not in own]


def _blocks(statement: ast.stmt) -> Iterator[list[ast.stmt]]:
    """The blocks of a statement; those of a function are its own."""
    if isinstance(statement, (*FUNCTIONS, ast.ClassDef)):
        return
    parts = [statement, *getattr(statement, "handlers", ()), *getattr(statement, "cases", ())]
    for part in parts:
        for name in ("body", "orelse", "finalbody"):
            block = getattr(part, name, None)
            if isinstance(block, list) and block:
                yield block


def _branch(node: ast.If, line: int) -> list[ast.stmt]:
    """The branch of an `if` in which a line is."""
    return node.body if line <= (node.body[-1].end_lineno or 0) else node.orelse


def _bind(env: _Env, binding: Binding) -> None:
    path = binding.path
    if binding.adds:
        env[path] = env.get(path, frozenset()) | {binding}
        return
    for known in [known for known in env if known[: len(path)] == path]:
        del env[known]
    env[path] = frozenset((binding,))


def _joined(one: _Env, other: _Env) -> _Env:
    found = dict(one)
    for path, held in other.items():
        found[path] = found.get(path, frozenset()) | held
    return found


def _either(one: _Env | None, other: _Env | None) -> _Env | None:
    if one is None or other is None:
        return one if other is None else other
    return _joined(one, other)
