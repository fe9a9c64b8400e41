"""What users are shown runs: the Python blocks of README.md and docs/, and the demo.

The blocks of one document run in order in one namespace. Where a `text` or `output` block follows,
it is what the Python block above it prints; a block that begins with `>>>` is a doctest.
"""

import contextlib
import doctest
import io
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from gradtape.ops.registry import forget, registry

ROOT = Path(__file__).parent.parent
WITH_PYTORCH = ROOT / "docs" / "pytorch.md"  # `make test-bridges` runs it
DOCUMENTS = [
    path
    for path in [
        ROOT / "README.md",
        ROOT / "CONTRIBUTING.md",
        *sorted((ROOT / "docs").rglob("*.md")),
    ]
    if path.exists() and path != WITH_PYTORCH
]

_FENCED = re.compile(
    r"^```(?P<language>\w*)[^\n`]*\n(?P<body>.*?)^```[ \t]*$", re.MULTILINE | re.DOTALL
)


class Example(NamedTuple):
    code: str
    line: int  # of the document, where the code begins
    output: str | None  # what it must print, where the document says so


def examples(text):
    """The Python blocks of a Markdown text, each with the output that is shown below it."""
    found = []
    end_of_code = None
    for block in _FENCED.finditer(text):
        if block["language"] == "python":
            found.append(Example(block["body"], text.count("\n", 0, block.start("body")), None))
            end_of_code = block.end()
        elif (
            block["language"] in ("text", "output")
            and end_of_code is not None
            and not text[end_of_code : block.start()].strip()
        ):
            found[-1] = found[-1]._replace(output=block["body"])
            end_of_code = None
    return found


def run(path):
    """Runs a document's examples; an error's traceback and a tape's report show the document's own
    lines.
    """
    namespace = {"__name__": "__main__"}
    for code, line, output in examples(path.read_text(encoding="utf-8")):
        if code.lstrip().startswith(">>>"):
            run_doctest(code, namespace, path, line)
            continue
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile("\n" * line + code, str(path), "exec"), namespace)
        if output is not None:
            assert lines(printed.getvalue()) == lines(output), (
                f"{path.name}, line {line}: prints something else"
            )


def run_doctest(code, namespace, path, line):
    test = doctest.DocTestParser().get_doctest(code, namespace, path.name, str(path), line)
    said = io.StringIO()
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    runner.run(test, out=said.write, clear_globs=False)
    assert not runner.failures, said.getvalue()
    namespace.update(test.globs)  # get_doctest works on a copy


def lines(text):
    return [line.rstrip() for line in text.strip().splitlines()]


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_document(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    before = dict(registry)
    try:
        run(path)
    finally:
        for name in registry.keys() - before.keys():  # ops that a document declares
            forget(name)


RIGHT = """
```python
x = 3
print(x * 2)
```

```text
6
```

Words, and a block of another language:

```bash
exit 1
```

```python
>>> x + 1
4
>>> y = x
```

```python
assert x == y == 3, "not three"
```
"""


def test_a_right_document_passes(tmp_path):
    document = tmp_path / "right.md"
    document.write_text(RIGHT)
    assert [example.output for example in examples(RIGHT)] == ["6\n", None, None]
    run(document)


@pytest.mark.parametrize(
    ("right", "wrong", "error"),
    [
        ("print(x * 2)", "print(x * 3)", "line 2: prints something else"),
        ("4\n", "5\n", "Expected"),
        ("== y == 3", "== y == 4", "not three"),
        ("6\n", "", "prints something else"),
    ],
)
def test_a_wrong_document_fails(tmp_path, right, wrong, error):
    document = tmp_path / "wrong.md"
    document.write_text(RIGHT.replace(right, wrong))
    with pytest.raises(AssertionError, match=error):
        run(document)


def test_an_error_shows_the_line_of_the_document(tmp_path):
    document = tmp_path / "wrong.md"
    document.write_text("Words\n\n```python\nx = 1\nraise KeyError(x)\n```\n")
    with pytest.raises(KeyError) as caught:
        run(document)
    assert caught.traceback[-1].lineno + 1 == 5
    assert str(caught.traceback[-1].path) == str(document)


def test_the_demo_reaches_its_accuracy_and_leaves_its_files(tmp_path):
    pytest.importorskip("sklearn")
    pytest.importorskip("matplotlib")
    done = subprocess.run(
        [sys.executable, ROOT / "examples" / "digits.py", "--out", tmp_path],
        # The other cores run other tests.
        env=os.environ | {"PYTHONPATH": str(ROOT / "src"), "OPENBLAS_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    accuracy = re.search(r"test accuracy: ([0-9.]+) %", done.stdout)
    assert accuracy is not None, done.stdout
    assert float(accuracy[1]) >= 97
    assert (tmp_path / "digits.png").stat().st_size > 10_000
    page = (tmp_path / "tape.html").read_text(encoding="utf-8")
    for part in ("matmul", '"dense_1"', "ops.matmul(inputs, self.kernel)", '"seed":1.0'):
        assert part in page


# What the tours of the source say is there


def missing_files(text: str) -> list[str]:
    """The files that a text names in backquotes and that do not exist, as paths from the root, or
    from a package.
    """
    bases = [ROOT, *(ROOT / "src" / name for name in ("gradtape", "keras_gradtape/src"))]
    named = re.findall(r"`([\w./-]+\.(?:py|md|yaml|toml))`", _FENCED.sub("", text))
    return [name for name in named if not any((base / name).exists() for base in bases)]


def misplaced_names(text: str) -> list[str]:
    """What a text says is in a file, as in `walk` in `core/walk.py`, and is not defined there."""
    said = re.findall(r"`(\w+)` in\s+`([\w/]+\.py)`|`(\w+)` \(`([\w/]+\.py)`\)", text)
    pairs = [(a or c, b or d) for a, b, c, d in said]
    defined = r"^(?:class |def |    def |)%s\b"
    return [
        f"{name} in {file}"
        for name, file in pairs
        if not re.search(defined % name, (ROOT / "src/gradtape" / file).read_text(), re.MULTILINE)
    ]


@pytest.mark.parametrize("document", ["docs/how-it-works.md", "CONTRIBUTING.md"])
def test_a_tour_names_what_is_there(document):
    text = (ROOT / document).read_text(encoding="utf-8")
    assert missing_files(text) == []
    assert misplaced_names(text) == []


def test_what_a_tour_names_wrongly_is_found():
    assert missing_files("`core/nowhere.py` and `core/tape.py`, `make test`") == ["core/nowhere.py"]
    wrong = "`nothing` in `core/walk.py`, `walk` in\n`core/walk.py`, `Node` (`core/tape.py`)"
    assert misplaced_names(wrong) == ["nothing in core/walk.py", "Node in core/tape.py"]
