"""What type checkers infer for users of gradtape, and the mistakes that they find."""

import re
from pathlib import Path

import pytest
from mypy import api

import gradtape

ROOT = Path(__file__).parents[2]

PROGRAM = """
from typing import reveal_type

import gradtape as tf


@tf.function
def scaled(x: tf.Tensor, factor: float = 2.0) -> tf.Tensor:
    return x * factor


@tf.function(reduce_retracing=True)
def pair(x: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    return x, x


class Model:
    def __init__(self) -> None:
        self.w = tf.Variable([1.0, 2.0])

    @tf.function
    def call(self, x: tf.Tensor) -> tf.Tensor:
        return x * self.w


x = tf.constant([1.0, 2.0])
v = tf.Variable([1.0, 2.0])
with tf.GradientTape() as tape:
    y = x * v

reveal_type(scaled(x))
reveal_type(scaled(x, factor=3.0))
reveal_type(pair(x))
reveal_type(Model().call(x))
reveal_type(x[0])
reveal_type(x == y)
reveal_type(x.numpy())
reveal_type(v.assign_sub(x))
reveal_type(v.assign(x, read_value=False))
reveal_type(tape.gradient(y, v))
reveal_type(tape.gradient(y, [v, v]))
reveal_type(tf.reduce_sum(x))
reveal_type(tf.math.mod(x, y))
reveal_type(tf.experimental.numpy.amax(x))
reveal_type(tf.__version__)
"""

EXPECTED = [
    "Tensor",
    "Tensor",
    "tuple[Tensor, Tensor]",
    "Tensor",
    "Tensor",
    "Tensor",
    "numpy.ndarray[Any, Any]",
    "Variable",
    "Variable | None",
    "Tensor | None",
    "list[Tensor | None]",
    "Tensor",
    "Tensor",
    "Tensor",
    "str",
]


@pytest.fixture(scope="module")
def check(tmp_path_factory):
    """Runs mypy on files, and gives what it prints, a line each."""
    cache = tmp_path_factory.mktemp("mypy")
    patched = pytest.MonkeyPatch()
    patched.setenv("MYPYPATH", str(Path(gradtape.__file__).parents[1]))

    def run(*files):
        options = [
            "--strict",
            "--no-error-summary",
            f"--cache-dir={cache}",
            f"--config-file={ROOT / 'pyproject.toml'}",
        ]
        printed, errors, _ = api.run([*options, *map(str, files)])
        assert not errors
        return printed.splitlines()

    yield run
    patched.undo()


def test_what_is_inferred(check, tmp_path):
    file = tmp_path / "program.py"
    file.write_text(PROGRAM, encoding="utf-8")
    found = [re.search(r'Revealed type is "(.*)"', line) for line in check(file)]
    assert all(found), "an error, and not a revealed type"
    plain = [re.sub(r"(gradtape|builtins)(\.\w+)*\.", "", match[1]) for match in found]
    assert plain == EXPECTED


@pytest.mark.parametrize(("mistake", "message"), [
    ("tf.reduce_summ(x)", 'Module has no attribute "reduce_summ"'),
    ("scaled(x, 3.0, 4.0)", "Too many arguments"),
    ('scaled(x, factor="two")', 'has incompatible type "str"'),
    ("v.assign_subb(x)", 'has no attribute "assign_subb"'),
])  # fmt: skip
def test_a_mistake_is_found(check, tmp_path, mistake, message):
    source = PROGRAM.split("reveal_type(scaled(x))", maxsplit=1)[0].replace(
        "import reveal_type", "import Any"
    )
    file = tmp_path / "mistaken.py"
    file.write_text(f"{source}\n{mistake}\n", encoding="utf-8")
    (line,) = [line for line in check(file) if "error" in line]
    assert message in line
