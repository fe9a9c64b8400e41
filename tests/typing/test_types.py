"""What type checkers infer for users of gradtape, and the mistakes that they find.

The programs in `programs/` are checked by mypy and by basedpyright, which is pyright with its own
Node.js, so that it needs no download. A comment behind `reveal_type(...)` says what both infer.
The programs are run, too: what is inferred must be what is there.
"""

import ast
import importlib
import json
import re
import subprocess
import sys
import tomllib
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest
from mypy import api

import gradtape

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
SOURCES = Path(gradtape.__file__).parents[1]
PROGRAMS = {path.stem: path for path in sorted((HERE / "programs").glob("*.py"))}
RIGHT = [name for name in PROGRAMS if name != "mistakes"]
CHECKERS = ("mypy", "basedpyright")

NAMESPACES = (
    "gradtape", "gradtape.array_api", "gradtape.autodiff", "gradtape.bitwise", "gradtape.debugging",
    "gradtape.experimental.numpy", "gradtape.image", "gradtape.io", "gradtape.io.gfile",
    "gradtape.linalg", "gradtape.math",
    "gradtape.nest", "gradtape.nn", "gradtape.numpy", "gradtape.numpy.fft", "gradtape.numpy.linalg",
    "gradtape.quantization", "gradtape.random", "gradtape.signal", "gradtape.sparse",
    "gradtape.summary", "gradtape.test", "gradtape.testing", "gradtape.train",
)  # fmt: skip

ANYTHING = {
    "the result is what the branch, the body or the Python function gives": {
        "case", "numpy_function", "py_function", "switch_case", "while_loop",
        "numpy.fromfunction", "numpy.vectorize", "nest.map_structure",
    },
    "the structure is the caller's": {"nest.pack_sequence_as"},
    "a Tensor or a SparseTensor, as an argument says or as the arguments are": {
        "sparse.add", "sparse.reduce_max", "sparse.reduce_sum",
    },
    "an array, or what it was given, or None": {"get_static_value"},
    "an array, or bytes for one string": {"train.load_variable"},
    "a path for NumPy's einsum": {"numpy.einsum_path"},
    "an array or a dict of them, as the file says": {"numpy.load"},
    "a window is any function": {"signal.inverse_stft_window_fn"},
}  # fmt: skip

VAGUE = re.compile(r"^Any$|^(?!Overload).*-> \(?Any\)*$|Unknown", re.DOTALL)
"""A type that says nothing, or of a function whose result has none."""


def mypy(folder, files):
    """What mypy says: by file and line, errors and revealed types."""
    options = ["--strict", "--no-error-summary", f"--cache-dir={folder / 'mypy'}"]
    options += [f"--config-file={ROOT / 'pyproject.toml'}", "--no-pretty"]
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("MYPYPATH", str(SOURCES))
        printed, failed, _ = api.run([*options, *map(str, files)])
    assert not failed
    found = defaultdict(list)
    for line in printed.splitlines():
        path, number, severity, message = re.fullmatch(r"(.+?):(\d+): (\w+): (.*)", line).groups()
        if severity == "error" or message.startswith("Revealed type"):
            found[Path(path).name, int(number)].append((severity == "error", message))
    return found


def basedpyright(folder, files):
    """What pyright says, in the same form."""
    settings = {
        "include": list(map(str, files)),
        "extraPaths": [str(SOURCES)],
        "typeCheckingMode": "strict",
        "pythonVersion": "3.11",
        "reportUnusedExpression": False,
    }
    project = folder / "pyrightconfig.json"
    project.write_text(json.dumps(settings), encoding="utf-8")
    command = [sys.executable, "-m", "basedpyright", "--outputjson", "--project", str(project)]
    command += ["--pythonpath", sys.executable]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode in (0, 1), done.stdout + done.stderr
    report = json.loads(done.stdout)
    assert report["summary"]["filesAnalyzed"] == len(files)
    found = defaultdict(list)
    for entry in report["generalDiagnostics"]:
        line = entry["range"]["start"]["line"] + 1
        wrong = entry["severity"] != "information"
        found[Path(entry["file"]).name, line].append((wrong, entry["message"]))
    return found


def surface():
    """A program that asks for the type of every public function, and their names by line."""
    lines, names = ["from typing import reveal_type"], {}
    for namespace in NAMESPACES:
        module = importlib.import_module(namespace)
        lines.append(f"import {namespace}")
        for name in module.__all__:
            value = getattr(module, name)
            is_numpys = value is getattr(np, name, None)
            if callable(value) and not isinstance(value, type) and not is_numpys:
                lines.append(f"reveal_type({namespace}.{name})")
                names[len(lines)] = f"{namespace}.{name}".removeprefix("gradtape.")
    return "\n".join(lines) + "\n", names


def readme():
    """The README's Python code, each line where it stands there, checked as checkers come."""
    lines, is_code = [], False
    for line in (ROOT / "README.md").read_text(encoding="utf-8").splitlines():
        if line.startswith("```"):
            is_code = line == "```python"
        lines.append(line if is_code and line[:3] != "```" else "")
    lines[0] = "# pyright: standard"
    lines[1] = "# mypy: allow-untyped-defs, allow-untyped-calls, check-untyped-defs"
    return "\n".join(lines) + "\n"


@pytest.fixture(scope="module", params=CHECKERS)
def checked(request, tmp_path_factory):
    """The checker's name, and what it says of all programs, of the surface and of the README."""
    folder = tmp_path_factory.mktemp(request.param)
    (folder / "surface.py").write_text(surface()[0], encoding="utf-8")
    (folder / "readme.py").write_text(readme(), encoding="utf-8")
    files = [*PROGRAMS.values(), folder / "surface.py", folder / "readme.py"]
    return request.param, globals()[request.param](folder, files)


def expected(line, checker="basedpyright"):
    """The type in the comment of a line; mypy's own, where it knows less."""
    text = line.rpartition("  # ")[2]
    both, _, own = text.partition(" (mypy: ")
    return own.rstrip(")") if own and checker == "mypy" else both


def revealed(message):
    """A revealed type without the modules of its names."""
    text = re.search(r'(?:^Revealed type|^Type of ".*?") is "(.*)"$', message, re.DOTALL)[1]
    plain = re.sub(r"\b(?:\w+\.)+(?=\w)", "", text)
    return re.sub(r"tuple\[[^\[\]]*, fallback=(\w+)\]", r"\1", plain)  # mypy's named tuples


@pytest.mark.parametrize("program", RIGHT)
def test_what_is_inferred(checked, program):
    checker, found = checked
    wrong = []
    for number, line in enumerate(PROGRAMS[program].read_text().splitlines(), start=1):
        said = found[f"{program}.py", number]
        wrong += [(number, message) for is_error, message in said if is_error]
        if line.lstrip().startswith("reveal_type("):
            types = [revealed(message) for is_error, message in said if not is_error]
            if types != [expected(line, checker)]:
                wrong.append((number, line, types))
    assert not wrong


@pytest.mark.parametrize("program", RIGHT)
def test_what_is_inferred_is_what_is_there(program):
    text = PROGRAMS[program].read_text()
    lines = text.splitlines()
    seen = set()

    def reveal_type(value):
        line = lines[sys._getframe(1).f_lineno - 1]
        seen.add(line.strip())
        assert fits(value, ast.parse(expected(line), mode="eval").body), (line, value)

    code = re.sub(r"\breveal_type$", "Any", text, count=1, flags=re.MULTILINE)
    exec(compile(code, program, "exec"), {"__name__": program, "reveal_type": reveal_type})
    assert seen == {line.strip() for line in lines if line.lstrip().startswith("reveal_type(")}


def fits(value, type_):
    """Whether a value has a type, given as the syntax tree of it."""
    match type_:
        case ast.Name("Any"):
            return True
        case ast.Constant(None):
            return value is None
        case ast.BinOp(left, ast.BitOr(), right):
            return fits(value, left) or fits(value, right)
        case ast.Name(name):
            return name in {base.__name__ for base in type(value).__mro__}
        case ast.Subscript(ast.Name("list"), entry):
            return type(value) is list and all(fits(part, entry) for part in value)
        case ast.Subscript(ast.Name("tuple"), ast.Tuple([entry, end])) if ast.unparse(end) == "...":
            return type(value) is tuple and all(fits(part, entry) for part in value)
        case ast.Subscript(ast.Name("tuple"), ast.Tuple(entries)):
            right = type(value) is tuple and len(value) == len(entries)
            return right and all(map(fits, value, entries))
        case ast.Subscript(ast.Name("dict"), ast.Tuple([key, entry])):
            fit = (fits(k, key) and fits(part, entry) for k, part in value.items())
            return type(value) is dict and all(fit)
        case ast.Subscript(ast.Name("ndarray")):
            return isinstance(value, np.ndarray)
    raise ValueError(ast.unparse(type_))


def test_mistakes_are_found(checked):
    _, found = checked
    lines = PROGRAMS["mistakes"].read_text().splitlines()
    missed = []
    for number, line in enumerate(lines, start=1):
        said = [message for is_error, message in found["mistakes.py", number] if is_error]
        if "  # " in line:
            word = expected(line)
            if not any(word in message for message in said):
                missed.append((line, said))
        elif said:
            missed.append((line, said))
    assert not missed


def test_programs_without_types_are_not_complained_about(checked):
    _, found = checked
    assert "tape.gradient(" in readme()
    assert not {line: said for (file, line), said in found.items() if file == "readme.py" and said}


def test_no_public_function_gives_anything(checked):
    _, found = checked
    names = surface()[1]
    types = {
        names[number]: revealed(message)
        for (file, number), said in found.items()
        for is_error, message in said
        if file == "surface.py" and not is_error
    }
    assert types.keys() == set(names.values())
    assert len(types) > 1000
    vague = {name.removeprefix("experimental.") for name in types if VAGUE.search(types[name])}
    assert vague == set().union(*ANYTHING.values())


@pytest.mark.parametrize("package", ["gradtape", "keras_gradtape"])
def test_packages_say_that_they_are_typed(package):
    """By a file beside their modules, which the wheel takes with all others of the folder."""
    assert (SOURCES / package / "py.typed").is_file()
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    wheel = project["tool"]["hatch"]["build"]["targets"]["wheel"]
    assert f"src/{package}" in wheel["packages"]
    assert wheel["exclude"] == ["*.pth"]
