"""The names of TensorFlow that code uses, and the files that have code."""

import ast
import json
import os

import pytest

from gradtape.compat.audit.sources import Code, Unread, codes, files
from gradtape.compat.audit.uses import uses


def names(source):
    return [(use.name, use.line) for use in uses([Code("file.py", ast.parse(source))])]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("import tensorflow as tf\ntf.math.sin(1)", [("math.sin", 2)]),
        ("import tensorflow\ntensorflow.exp(1)", [("exp", 2)]),
        ("import tensorflow.keras\ntensorflow.exp(1)", [("keras", 1), ("exp", 2)]),
        ("import tensorflow.keras as k\nk.layers.Dense", [("keras", 1), ("keras.layers.Dense", 2)]),
        ("from tensorflow import nn as n\nn.relu", [("nn", 1), ("nn.relu", 2)]),
        ("from tensorflow.keras.layers import Dense", [("keras.layers.Dense", 1)]),
        ("from tensorflow.math import *", [("math", 1)]),
        ("from tensorflow import *\nx = exp(nn.relu(1))\nlite.Interpreter",
         [("", 1), ("exp", 2), ("nn.relu", 2), ("lite.Interpreter", 3)]),
        ("from tensorflow.keras.layers import *\nDense(3)\nprint(len([]))",
         [("keras.layers", 1), ("keras.layers.Dense", 2)]),
        (("from tensorflow import *\ndef exp(sin): return sin\nexp(1)\nfor cos in (): cos\n"
         "import tan\ntan(1)\nunknown(1)"), [("", 1)]),
        ("import tensorflow as tf\nt = tf\nk = t.keras\nlayers = k.layers\nlayers.Dense\nt.exp",
         [("keras", 3), ("keras.layers", 4), ("keras.layers.Dense", 5), ("exp", 6)]),
        ("import tensorflow as tf\ndef f():\n    a = tf\n    b = a.lite\n    return b.Interpreter",
         [("lite", 4), ("lite.Interpreter", 5)]),
        ("import keras\nkeras.saving.save_model", []),
        ("import tensorflow as tf\nK = tf.keras.backend\nK.mean(1)",
         [("keras.backend", 2), ("keras.backend.mean", 3)]),
        ("import tensorflow.compat.v1 as tf\ntf.Session()",
         [("compat.v1", 1), ("compat.v1.Session", 2)]),
        ("import tensorflow.compat.v2 as tf\ntf.exp", [("exp", 2)]),
        ("import tensorflow as tf\ntf.Variable.assign", [("Variable", 2)]),
        ("import tensorflow as tf\ntf.nn.relu(1).numpy()", [("nn.relu", 2)]),
        ("import tensorflow as tf\nx = tf.constant(1).shape.nonsense", [("constant", 2)]),
        ("from tensorflow.python.framework import ops\nops.Tensor",
         [("python.framework.ops", 1), ("python.framework.ops.Tensor", 2)]),
        ("def f():\n    import tensorflow as tf\n    return tf.exp(tf.ones([tf.rank(1)]))",
         [("exp", 3), ("ones", 3), ("rank", 3)]),
        ("try:\n    import tensorflow as tf\nexcept ImportError:\n    tf = None", []),
        ("import numpy as tf\ntf.exp", []),
        ("from .tensorflow import x\nx.y", []),
        ("import tensorflow_probability as tfp\ntfp.x", []),
    ],
)  # fmt: skip
def test_names_are_found_where_they_are_used(source, expected):
    assert names(source) == expected


def test_files_of_folders(tmp_path):
    for name in ("b.py", "a.ipynb", "c.txt", ".venv/x.py", "sub/d.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("")
    found = [file.removeprefix(f"{tmp_path}/") for file in files([str(tmp_path)])]
    assert found == ["a.ipynb", "b.py", "sub/d.py"]
    assert list(files([str(tmp_path / "c.txt"), str(tmp_path / "c.txt")])) == [
        str(tmp_path / "c.txt")
    ]


OTHERS = {
    "a parameter": "def f({name}):\n    return {use}",
    "a parameter with a default": "def f(a, /, b=1, *c, {name}=2, **d):\n    if a: return {use}",
    "the other positional arguments": "def f(*{name}): {use}",
    "the other keywords": "async def f(**{name}): {use}",
    "a parameter of a lambda": "f = lambda {name}: {use}",
    "of an outer function": "def f({name}):\n    def g(): return {use}\n    return g",
    "a method's": "class A:\n    def __init__(self, {name}):\n        self.x = {use}",
    "assigned in a function": "def f():\n    {name} = [1]\n    {use}",
    "a loop's in a function": "def f():\n    for {name} in ():\n        {use}",
    "several in a function": "def f():\n    a, {name} = 1, 2\n    {use}",
    "assigned in the file": "{name} = [1]\n{use}\ndef f():\n    return {use}",
}
TENSORFLOWS = {
    "in a function": "def f(x):\n    return {use}",
    "imported in the function": "def f():\n    {imported}\n    {name} = {name} or 3\n    {use}",
    "beside a parameter": "def f({name}): pass\n{use}",
    "its default": "def f({name}={use}): pass",
    "global": "def f():\n    global {name}\n    {name} = 3\n    {use}",
    "absent where it is not installed": "try:\n    {imported}\nexcept ImportError:\n"
    "    {name} = None\n{use}",
    "imported again": "{name} = None\n{imported}\n{use}",
    "assigned elsewhere": "def f():\n    {name} = 3\ndef g():\n    {use}",
    "before it is something else": "{use}\n{name} = 3",
    "assigned by its value": "{name} = f({use})",
    "a module by another name": "b = a = {name}\nb.nothing",
    "set": "{use} = 3",
    "set to a name": "{use} = f",
}
IMPORTS = {
    "layers": ("from tensorflow.keras import layers", "keras.layers.nothing"),
    "tf": ("import tensorflow as tf", "nothing"),
    "nn": ("import tensorflow.nn as nn", "nn.nothing"),
}


@pytest.mark.parametrize("name", IMPORTS)
@pytest.mark.parametrize("where", [*OTHERS, *TENSORFLOWS])
def test_what_a_name_is_depends_on_where_it_stands(name, where):
    imported, meant = IMPORTS[name]
    text = {**OTHERS, **TENSORFLOWS}[where]
    program = f"{imported}\n" + text.format(name=name, use=f"{name}.nothing", imported=imported)
    found = [use for use, _ in names(program) if use.endswith("nothing")]
    assert found == ([meant] if where in TENSORFLOWS else [])


def write_notebook(path, *cells):
    content = [{"cell_type": kind, "source": source} for kind, source in cells]
    path.write_text(json.dumps({"cells": content, "nbformat": 4}))


def test_a_notebook(tmp_path):
    write_notebook(
        tmp_path / "n.ipynb",
        ("markdown", "# import tensorflow"),
        ("code", ["%matplotlib inline\n", "!pip install x\n", "import tensorflow as tf\n"]),
        ("code", "if True:\n    !ls\n    tf.exp(1)\nfiles = !ls\ntf.exp?"),
        ("code", "%%bash\nls"),
        ("code", "%%time\nimport tensorflow as tf; tf.sin(1)"),
        ("code", "def f(:"),
    )
    first, second, third, broken = codes(str(tmp_path / "n.ipynb"))
    assert first.place.endswith("n.ipynb, cell 2")
    found = [(use.name, use.place[-6:], use.line) for use in uses([first, second, third])]
    assert found == [("exp", "cell 3", 3), ("sin", "cell 5", 2)]
    assert broken == Unread(f"{tmp_path}/n.ipynb, cell 6", "line 1: invalid syntax")


def test_every_sheet_of_an_older_notebook(tmp_path):
    sheets = [
        {"cells": [{"cell_type": "code", "input": text}]}
        for text in ("import tensorflow as tf\ntf.sin", ["tf.", "cos"])
    ]
    (tmp_path / "n.ipynb").write_text(json.dumps({"worksheets": sheets, "nbformat": 3}))
    found = [(use.name, use.place[-6:]) for use in uses(list(codes(str(tmp_path / "n.ipynb"))))]
    assert found == [("sin", "cell 1"), ("cos", "cell 2")]


@pytest.mark.parametrize("nothing", [{"source": None}, {}, {"source": []}, {"source": ""}])
def test_a_cell_without_code_hides_no_other(tmp_path, nothing):
    cells = [{"cell_type": "code", **nothing}, {"cell_type": "code", "source": "import tensorflow"}]
    (tmp_path / "n.ipynb").write_text(json.dumps({"cells": cells}))
    assert not [piece for piece in codes(str(tmp_path / "n.ipynb")) if isinstance(piece, Unread)]


@pytest.mark.parametrize(
    "line",
    [
        "!pip install a \\\n    b \\\n  c", "if True:\n    !ls \\\n   x\n    pass",
        "?tf.exp", "??tf.exp", "tf.exp?", "tf.exp??", "%timeit tf.sin(1)", "%cd ..", "!ls *.py",
        "!!ls", "files = !ls", "a, b = !ls", "now = %time", "x = 7 \\\n  % 4", "x = (7\n  %4)",
        "print('%d'\n      % 3)", 'x = """\n! or %s?\n""" % 3', "assert 1 \\\n  != 2",
    ],
)  # fmt: skip
@pytest.mark.parametrize("other", ["", "%matplotlib inline\n"])
def test_lines_of_a_notebook_that_are_no_python(tmp_path, line, other):
    write_notebook(
        tmp_path / "n.ipynb", ("code", f"{other}import tensorflow as tf\n{line}\ntf.cos(1)\n")
    )
    found = list(codes(str(tmp_path / "n.ipynb")))
    assert [use.name for use in uses(found) if use.name == "cos"] == ["cos"], found


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"def f(:  # tensorflow", "line 1: invalid syntax"),
        (b"\xff\xfe\x00", "encoding"),
        (b"# coding: nonsense\n", "encoding"),
        (b"tensorflow = 1\x00", "null"),
        (b"tensorflow = 1\n\x00\n", "source code string cannot contain null bytes"),
        (b"(" * 100_000 + b"tensorflow", ""),
    ],
)
def test_files_that_are_no_code_are_named(tmp_path, data, says):
    (tmp_path / "x.py").write_bytes(data)
    (found,) = codes(str(tmp_path / "x.py"))
    assert isinstance(found, Unread)
    assert says in found.reason


@pytest.mark.parametrize("text", ["", "[]", "{", '{"cells": 1}', '{"cells": [1]}', "[" * 100_000])
def test_what_is_no_notebook_is_named(tmp_path, text):
    (tmp_path / "x.ipynb").write_text(text)
    (found,) = codes(str(tmp_path / "x.ipynb"))
    assert "not a notebook" in found.reason


def test_a_file_that_cannot_be_read(tmp_path):
    (found,) = codes(str(tmp_path / "nothing.py"))
    assert found.reason == "No such file or directory"


def test_a_pipe_is_named_and_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe.py")
    (found,) = codes(str(tmp_path / "pipe.py"))
    assert found.reason == "it is a pipe, a socket or a device"


def test_an_older_encoding(tmp_path):
    (tmp_path / "x.py").write_bytes(
        "# coding: latin-1\nimport tensorflow as tf; tf.exp('ä')".encode("latin-1")
    )
    (found,) = codes(str(tmp_path / "x.py"))
    assert [use.name for use in uses([found])] == ["exp"]


def test_reasons_say_nothing_of_what_is_not_known(tmp_path):
    (tmp_path / "x.py").write_bytes(b"tensorflow = 1\n\x00\n")
    (tmp_path / "x.ipynb").write_text("[1]")
    for name in ("x.py", "x.ipynb"):
        (found,) = codes(str(tmp_path / name))
        assert "None" not in found.reason
        assert "indices" not in found.reason
