"""`python -m gradtape`: a program runs as under Python itself, and `tensorflow` means gradtape."""

import py_compile
import re
import signal
import zipfile

import pytest

from tests.compat.programs import python

SHOW = """import sys
import tensorflow as tf
print(sys.argv, sys.path[0], __file__, __name__, __package__, __spec__ is None, tf.__name__)
"""


PLAIN = """import sys
names = "__file__", "__name__", "__package__", "__cached__", "__spec__"
print(sys.argv, sys.path[0], [globals().get(name, "-") for name in names])
"""


def run(*arguments, **keywords):
    return python("-m", "gradtape", *arguments, **keywords)


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "beside.py").write_text("VALUE = 7\n")
    (tmp_path / "sub" / "script.py").write_text(SHOW + "from beside import VALUE\n")
    package = tmp_path / "package"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "__main__.py").write_text(SHOW)
    (package / "module.py").write_text(SHOW + "from . import __main__\n")
    return tmp_path


def test_a_script(folder):
    done = run("sub/script.py", "a", "--b", folder=folder)
    assert done.returncode == 0, done.stderr
    place = folder / "sub"
    assert done.stdout.strip() == (
        f"['sub/script.py', 'a', '--b'] {place} {place}/script.py __main__ None True gradtape"
    )


@pytest.mark.parametrize(
    ("arguments", "given"),
    [
        (["plain.py"], None), (["folder"], None), (["plain.zip"], None), (["link.py"], None),
        (["-c", PLAIN], None), (["-"], PLAIN), (["-m", "plain"], None),
        (["-m", "folder"], None), (["-m", "folder.sub.plain"], None), (["folder/"], None),
        (["link/../beside.py"], None), (["link/.."], None), (["zip.py"], None),
        (["plain.zip/sub"], None), (["plain.pyc"], None),
    ],
)  # fmt: skip
def test_what_a_program_knows_of_itself_is_pythons(tmp_path, arguments, given):
    names = ("plain.py", "folder/__main__.py", "folder/sub/plain.py", "folder/beside.py")
    for name in names:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(PLAIN)
    (tmp_path / "folder" / "__init__.py").write_text(PLAIN)
    (tmp_path / "link.py").symlink_to("folder/__main__.py")
    (tmp_path / "link").symlink_to("folder/sub")
    py_compile.compile(str(tmp_path / "plain.py"), cfile=str(tmp_path / "plain.pyc"))
    for name in ("plain.zip", "zip.py"):
        with zipfile.ZipFile(tmp_path / name, "w") as archive:
            archive.writestr("__main__.py", PLAIN)
            archive.writestr("sub/__main__.py", PLAIN)
    ours = run(*arguments, "a", "--b", folder=tmp_path, given=given, PYTHONDONTWRITEBYTECODE="1")
    pythons = python(*arguments, "a", "--b", folder=tmp_path, given=given)
    assert re.sub("0x[0-9a-f]+", "", ours.stdout) == re.sub("0x[0-9a-f]+", "", pythons.stdout)
    assert ours.stderr == pythons.stderr == ""


@pytest.mark.parametrize("module", ["package", "package.module"])
def test_a_module(folder, module):
    done = run("-m", module, "a", folder=folder)
    assert done.returncode == 0, done.stderr
    file = folder / "package" / ("__main__.py" if module == "package" else "module.py")
    first = done.stdout.splitlines()[0]
    assert first == f"['{file}', 'a'] {folder} {file} __main__ package False gradtape"


@pytest.mark.parametrize(
    ("code", "status"),
    [
        ("raise SystemExit(7)", 7), ("import sys; sys.exit('words')", 1),
        ("import os; os._exit(3)", 3),
        ("raise ValueError('wrong')", 1), ("pass", 0), ("def f(:", 1), ("import nonsense", 1),
        ("import threading as t; X = 'abc'; t.Timer(0.3, lambda: print(len(X))).start()", 0),
        ("import atexit; X = 'abc'; atexit.register(lambda: print(len(X)))", 0),
        ("def f():\n    raise KeyboardInterrupt\nf()", -signal.SIGINT),
        ("class Stop(BaseException): ...\nraise Stop('words')", 1),
        ("try:\n    1 / 0\nexcept Exception as e:\n    raise ValueError('wrong') from e", 1),
        ("import sys; sys.excepthook = lambda kind, *_: print(kind); 1 / 0", 1),
        ("import sys; sys.excepthook = lambda *_: sys.exit(5); 1 / 0", 5),
        ("import atexit, sys; atexit.register(lambda: print(sys.last_value)); 1 / 0", 1),
        (("import atexit, sys, traceback as t\n"
          "atexit.register(lambda: t.print_tb(sys.last_traceback)); 1 / 0"), 1),
        ("print(list(globals()))", 0),
    ],
)  # fmt: skip
def test_exit_codes_and_output_are_pythons(tmp_path, code, status):
    (tmp_path / "script.py").write_text(f"{code}\n")
    ours, pythons = run("script.py", folder=tmp_path), python("script.py", folder=tmp_path)
    assert ours.returncode == pythons.returncode == status
    assert ours.stdout == pythons.stdout
    assert ours.stderr == pythons.stderr


def test_a_traceback_is_the_programs_own(tmp_path):
    code = "import tensorflow as tf\n\ndef f():\n    return tf.reshape([1, 2, 3], [2])\n\nf()\n"
    (tmp_path / "script.py").write_text(code)
    done = run("script.py", folder=tmp_path)
    last = done.stderr.rpartition("Traceback (most recent call last):\n")[2].splitlines()
    assert last[0].endswith('script.py", line 6, in <module>')
    assert "running.py" not in done.stderr
    assert "runpy" not in done.stderr


def test_a_program_in_a_pipe():
    done = run("/dev/stdin", given="import tensorflow as tf; print(tf.__name__, __name__)")
    assert done.stdout == "gradtape __main__\n", done.stderr


def test_an_error_in_a_package_above_is_the_packages_own(tmp_path):
    for name, code in (("breaks", "1 / 0"), ("lacks", "import nonsense")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text(f"{code}\n")
        (tmp_path / name / "module.py").write_text("")
        done = run("-m", f"{name}.module", folder=tmp_path)
        lines = done.stderr.splitlines()
        assert done.returncode == 1
        assert lines[:2] == [
            "Traceback (most recent call last):",
            f'  File "{tmp_path / name}/__init__.py", line 1, in <module>',
        ]


@pytest.mark.parametrize("code", ["print(x)", "1 / 0", "raise SystemExit(3)"])
def test_pythons_prompt_after_a_program(tmp_path, code):
    (tmp_path / "script.py").write_text(f"x = 5\n{code}\n")
    given = "print(x + 1)\nimport sys, traceback\ntraceback.print_tb(sys.last_traceback)\n"
    ours, pythons = (
        python("-i", *launcher, "script.py", folder=tmp_path, given=given)
        for launcher in (["-m", "gradtape"], [])
    )
    assert (ours.returncode, ours.stdout) == (pythons.returncode, pythons.stdout)
    assert "6\n" in ours.stdout
    last = pythons.stderr.rpartition("AttributeError: module 'sys'")[1]
    assert bool(last) == (code == "print(x)")
    assert ours.stderr == pythons.stderr


@pytest.mark.parametrize("data", ["x = 'ä'".encode("utf-16"), b"x = 1\n\0\n", b"x = '\xe4'\n"])
def test_an_error_in_what_is_no_text_names_the_file(tmp_path, data):
    (tmp_path / "script.py").write_bytes(data)
    done = run("script.py", folder=tmp_path)
    assert done.returncode == 1
    assert "script.py" in done.stderr
    assert "SyntaxError" in done.stderr
    assert "running.py" not in done.stderr


@pytest.mark.parametrize("error", ["ImportError", "ValueError", "TypeError", "AttributeError"])
@pytest.mark.parametrize("module", ["package", "package.module"])
def test_an_error_that_a_package_raises_is_no_missing_module(tmp_path, module, error):
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "__init__.py").write_text(f"raise {error}('install x first')\n")
    for name in ("module", "__main__"):
        (tmp_path / "package" / f"{name}.py").write_text("")
    done = run("-m", module, folder=tmp_path)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == f"{error}: install x first"


SPAWN = """
import multiprocessing
import tensorflow as tf

class Total:
    def __init__(self, value):
        self.value = value

def total(x):
    return Total(float(tf.reduce_sum([x.value, 1.0])))

if __name__ == "__main__":
    with multiprocessing.get_context("{how}").Pool(1) as pool:
        result = pool.map_async(total, [Total(1.0), Total(2.0)])
        print([isinstance(x, Total) and x.value for x in result.get(timeout=100)])
"""


@pytest.mark.parametrize("how", ["fork", "spawn", "forkserver"])
@pytest.mark.parametrize("arguments", [["script.py"], ["-m", "script"]])
def test_objects_go_to_processes_that_the_program_starts_and_come_back(tmp_path, how, arguments):
    (tmp_path / "script.py").write_text(SPAWN.format(how=how))
    done = run(*arguments, folder=tmp_path)
    assert done.stdout.strip() == "[2.0, 3.0]", done.stderr


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["nonsense.py"], "there is no program 'nonsense.py'"),
        (["-m"], "-m needs the name of a module"),
        (["-c"], "-c needs code"),
        (["folder"], "there is no __main__.py in 'folder'"),
        (["-m", ".nonsense"], "'.nonsense' is relative"),
        (["-m", "script.py"], "(try 'script')"),
        (["-m", "nonsense"], "there is no module 'nonsense'"),
        (["-m", "nonsense.below"], "'nonsense.below' cannot be found"),
        (["-m", "tensorflow"], "'tensorflow' has no Python code of its own"),
        (["--nonsense"], "there is no option --nonsense"),
        (["-u", "script.py"], "Python's own options stand before -m gradtape"),
    ],
)
def test_what_cannot_be_run(tmp_path, arguments, says):
    (tmp_path / "folder").mkdir()
    (tmp_path / "script.py").write_text("")
    done = run(*arguments, folder=tmp_path)
    assert done.returncode == 2
    assert says in done.stderr
    assert "usage: python -m gradtape" in done.stderr


def test_help():
    assert run("--help").returncode == 0
    assert "usage" in run("--help").stdout
    assert run().returncode == 2


def test_a_training_program_runs_unchanged(tmp_path):
    (tmp_path / "train.py").write_text("""
import tensorflow as tf
from tensorflow import keras
tf.random.set_seed(0)
model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(8, "tanh"), keras.layers.Dense(1)])
optimizer = tf.keras.optimizers.Adam(0.1)
x = tf.random.normal([64, 2])
y = x[:, :1] * x[:, 1:]

@tf.function
def step():
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(model(x) - y))
    variables = model.trainable_variables
    optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))
    return loss

first = float(step())
for _ in range(50):
    last = float(step())
print(last < 0.3 * first)
""")
    done = run("train.py", folder=tmp_path)
    assert done.stdout.strip() == "True", done.stderr
