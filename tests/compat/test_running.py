"""`python -m gradtape`: a program runs as under Python itself, and `tensorflow` means gradtape."""

import zipfile

import pytest

from tests.compat.programs import python

SHOW = """import sys
import tensorflow as tf
print(sys.argv, sys.path[0], __file__, __name__, __package__, __spec__ is None, tf.__name__)
"""


def run(*arguments, folder=None, **environment):
    return python("-m", "gradtape", *arguments, folder=folder, **environment)


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
    plain = "import sys\nprint(sys.argv, sys.path[0], __file__, __name__, __package__, __spec__)\n"
    (place / "plain.py").write_text(plain)
    ours, pythons = run("sub/plain.py", 1, folder=folder), python("sub/plain.py", 1, folder=folder)
    assert ours.stdout == pythons.stdout


@pytest.mark.parametrize("module", ["package", "package.module"])
def test_a_module(folder, module):
    done = run("-m", module, "a", folder=folder)
    assert done.returncode == 0, done.stderr
    file = folder / "package" / ("__main__.py" if module == "package" else "module.py")
    first = done.stdout.splitlines()[0]
    assert first == f"['{file}', 'a'] {folder} {file} __main__ package False gradtape"


def test_a_folder_and_an_archive(folder):
    with zipfile.ZipFile(folder / "program.zip", "w") as archive:
        archive.write(folder / "package" / "__main__.py", "__main__.py")
    for program in ("package", "program.zip"):
        done = run(program, "a", folder=folder)
        assert done.stdout.startswith(f"['{program}', 'a'] {program} "), done.stderr


@pytest.mark.parametrize(
    ("code", "status"),
    [
        ("raise SystemExit(7)", 7), ("import sys; sys.exit('words')", 1),
        ("import os; os._exit(3)", 3),
        ("raise ValueError('wrong')", 1), ("pass", 0), ("def f(:", 1), ("import nonsense", 1),
        ("import threading as t; X = 'abc'; t.Timer(0.3, lambda: print(len(X))).start()", 0),
        ("import atexit; X = 'abc'; atexit.register(lambda: print(len(X)))", 0),
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


SPAWN = """
import multiprocessing
import tensorflow as tf

def total(x):
    return float(tf.reduce_sum([x, 1.0]))

if __name__ == "__main__":
    with multiprocessing.get_context("{how}").Pool(1) as pool:
        print(pool.map(total, [1.0, 2.0]))
"""


@pytest.mark.parametrize("how", ["spawn", "forkserver"])
def test_processes_that_the_program_starts(tmp_path, how):
    (tmp_path / "script.py").write_text(SPAWN.format(how=how))
    done = run("script.py", folder=tmp_path)
    assert done.stdout.strip() == "[2.0, 3.0]", done.stderr


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["nonsense.py"], "there is no program 'nonsense.py'"),
        (["-m"], "-m needs the name of a module"),
        (["-m", "nonsense"], "there is no module 'nonsense'"),
        (["-m", "nonsense.below"], "'nonsense.below' cannot be found"),
        (["--nonsense"], "there is no option --nonsense"),
    ],
)
def test_what_cannot_be_run(tmp_path, arguments, says):
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
