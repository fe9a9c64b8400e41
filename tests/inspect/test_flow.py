"""`Flow`: which bindings reach an expression, and which are sure to be what it is computed from.

In each program, the value of `target` is asked for in the line that says so; the comments mark the
bindings that it may come from, and those that it is sure to come from.
"""

import ast
import textwrap

import pytest

from gradtape.inspect.bindings import path_of, reads_of
from gradtape.inspect.flow import Flow

PROGRAMS = {
    "a chain": """
        a = f()  # sure
        b = a + 1  # sure
        c = g()
        target = b  # sure
        ask(target)
    """,
    "what is bound again": """
        a = f()
        a = g()  # sure
        target = a * 2  # sure
        a = h()
        ask(target)
    """,
    "branches": """
        a = f()  # may
        if c:
            a = g()  # sure
        target = a  # sure
        ask(target)
    """,
    "a loop that goes on with it": """
        a = f()  # sure
        for i in r:
            a = a * 2  # sure
        target = a  # sure
        ask(target)
    """,
    "a loop with two ways": """
        for i in r:
            if i:
                a = f()  # may
            else:
                a = g()  # may
        target = a  # sure
        ask(target)
    """,
    "break and continue": """
        a = f()  # may
        while True:
            if p:
                a = g()  # may
                break
            if q:
                a = h()  # may
                continue
            a = k()  # may
        target = a  # sure
        ask(target)
    """,
    "a branch that returns": """
        a = f()  # sure
        if c:
            a = g()
            return
        target = a  # sure
        ask(target)
    """,
    "try": """
        a = f()
        try:
            a = g()
            a = h()  # may
        except E:
            a = k()  # may
        target = a  # sure
        ask(target)
    """,
    "attributes": """
        o.a = f()  # sure
        o.b = g()
        target = o.a  # sure
        ask(target)
    """,
    "an object as a whole": """
        o.a = f()  # may
        target = h(o)  # sure
        ask(target)
    """,
    "elements": """
        d = {}  # may
        d["a"] = f()  # sure
        d["b"] = g()
        target = d["a"]  # sure
        ask(target)
    """,
    "a list": """
        p = []  # may
        p.append(f())  # sure
        target = p[0]  # sure
        ask(target)
    """,
    "a list with more": """
        p = [g()]  # may
        p.append(f())  # may
        target = p[0]  # sure
        ask(target)
    """,
    "unpacked": """
        a, b = f(), g()  # sure
        target = a  # sure
        ask(target)
    """,
    "a function": """
        a = f()
        def inner():
            b = a
            return b
        a = g()  # sure
        target = inner()  # sure
        ask(target)
    """,
    "a conditional": """
        a = f()  # may
        b = g()  # may
        target = a if c else b  # sure
        ask(target)
    """,
    "deleted": """
        a = f()
        del a
        a = g()  # sure
        target = a  # sure
        ask(target)
    """,
    "facts": """
        a = f()
        target = a.shape[0] * len(a)  # sure
        ask(target)
    """,
    "a comprehension's own names": """
        a = f()
        b = g()  # sure
        target = [a * 2 for a in b]  # sure
        ask(target)
    """,
    "try that goes on": """
        a = f()  # may
        try:
            a = g()  # may
            b = h()
        except E:
            pass
        target = a  # sure
        ask(target)
    """,
    "match": """
        a = f()  # may
        match v:
            case 1:
                a = g()  # sure
        target = a  # sure
        ask(target)
    """,
}


def marked(text):
    """The lines that comments mark, by what they say."""
    lines = textwrap.dedent(text).strip().splitlines()
    found = {"sure": set(), "may": set()}
    for number, line in enumerate(lines, 1):
        for kind, numbers in found.items():
            if line.endswith(f"# {kind}"):
                numbers.add(number)
    return found


@pytest.mark.parametrize("name", PROGRAMS)
def test_where_a_value_comes_from(name):
    text = textwrap.dedent(PROGRAMS[name]).strip()
    flow = Flow(ast.parse(text))
    at = flow.at(len(text.splitlines()))
    target = ast.parse("target", mode="eval").body
    behind = flow.behind(target, at)
    sure = {b.line for b in behind if flow.is_sure(target, at, b) and not b.deferred}
    lines = {b.line for b in behind if not b.deferred}
    found = marked(text)
    assert lines == found["sure"] | found["may"]
    assert sure == found["sure"]


def test_what_a_function_returns():
    flow = Flow(
        ast.parse(
            textwrap.dedent(
                """
                def f(a):
                    log = g(a)
                    b = a * 2
                    if a:
                        return b
                    return b + 1
                """
            )
        ).body[0]
    )
    statements = {s.lineno: s for s in flow.statements}
    assert not flow.returned(statements[3], surely=True)
    assert flow.returned(statements[4], surely=True)
    assert flow.returned(statements[6], surely=True)


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("a", ("a",)),
        ("a.b['c'][0]", ("a", ".b", "['c']", "[0]")),
        ("a[i].b", ("a", "[...]", ".b")),
        ("f(a)", None),
        ("f(a).b", None),
    ],
)
def test_paths(text, path):
    assert path_of(ast.parse(text, mode="eval").body) == path


def test_reads_of_functions_come_later():
    found = {
        read.path: (read.sure, read.later)
        for read in reads_of(ast.parse("f(a, lambda b: b * c, d[e], g[h + 1])", mode="eval").body)
    }
    assert found == {
        ("f",): (True, False),
        ("a",): (True, False),
        ("c",): (False, True),
        ("d", "[...]"): (True, False),
        ("e",): (True, False),
        ("g", "[...]"): (True, False),
        ("h",): (False, False),
    }
