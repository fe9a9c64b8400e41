"""How Keras comes to run on gradtape, seen in fresh Pythons, and what the hook does to a module's source."""

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

import gradtape
from keras_gradtape import hook

SOURCES = str(Path(gradtape.__file__).parent.parent)


def output_of(code, **environment):
    """What a fresh Python prints; KERAS_BACKEND is unset unless it is given."""
    inherited = {name: value for name, value in os.environ.items() if name != "KERAS_BACKEND"}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        env=inherited | {"PYTHONPATH": SOURCES} | environment,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout.strip() or done.stderr.strip()


FIRST = "import gradtape\n"


def test_keras_imported_after_gradtape_runs_on_it_and_leaves_the_environment_alone():
    code = FIRST + "import os, keras; print(keras.backend.backend(), os.environ.get('KERAS_BACKEND'))"
    assert output_of(code) == "gradtape None"


def test_the_namespace_is_keras_with_the_same_classes():
    code = FIRST + (
        "from gradtape import keras\n"
        "import keras as real, gradtape.keras.layers as layers\n"
        "print(keras.config.backend(), layers.Dense is real.layers.Dense is keras.layers.Dense, keras.losses.MSE.__name__)"
    )
    assert output_of(code) == "gradtape True mean_squared_error"


def test_another_backend_named_in_the_environment_stays():
    assert output_of(FIRST + "import keras; print(keras.backend.backend())", KERAS_BACKEND="numpy") == "numpy"


@pytest.mark.parametrize("backend", ["gradtape", "numpy"])
def test_the_environment_alone_is_enough_where_the_path_file_is_installed(backend):
    code = f"import site\nsite.addsitedir({str(Path(hook.__file__).parent)!r})\nimport keras\nprint(keras.backend.backend())"
    assert output_of(code, KERAS_BACKEND=backend) == backend


SET = "import os\nos.environ['KERAS_BACKEND'] = {!r}\n"
UNSET = "import os\ndel os.environ['KERAS_BACKEND']\n"
PATH_FILE = f"import site\nsite.addsitedir({str(Path(hook.__file__).parent)!r})\n"
ABOVE = "Write `import gradtape` above the first `import keras`"
REMOVE = "Remove the line that sets it"


@pytest.mark.parametrize("use", ["import keras_gradtape; keras_gradtape.install()", "import gradtape; gradtape.keras.layers"])
def test_keras_that_was_imported_before_says_so(use):
    text = output_of("import keras\n" + UNSET + use, KERAS_BACKEND="numpy")
    assert "Keras runs on 'numpy' and cannot change to gradtape now: Keras was imported before gradtape" in text
    assert ABOVE in text


@pytest.mark.parametrize("order", ["import gradtape\nimport keras\n", "import keras\nimport gradtape\n", "import gradtape\n"])
def test_an_environment_that_names_another_backend_says_so(order):
    text = output_of(SET.format("jax") + order + "gradtape.keras.layers")
    assert "KERAS_BACKEND says 'jax'" in text
    assert REMOVE in text


@pytest.mark.parametrize(
    ("code", "advice"),
    [
        (PATH_FILE + "import keras", ABOVE),
        (PATH_FILE + SET.format("openvino") + "import keras", REMOVE),
        (FIRST + SET.format("openvino") + "import keras", REMOVE),
        (SET.format("openvino") + FIRST + "import keras", REMOVE),
    ],
)
def test_a_backend_that_is_not_installed_says_why_keras_wants_it(code, advice, tmp_path):
    (tmp_path / "keras.json").write_text('{"backend": "openvino"}')  # what Keras chooses where nobody says anything
    text = output_of(code, KERAS_HOME=str(tmp_path))
    assert "ModuleNotFoundError: Keras wants its backend 'openvino', which is not installed" in text
    assert advice in text


def test_a_program_may_ask_whether_a_backend_is_there():
    code = (
        PATH_FILE + FIRST + "import keras, importlib.util\nprint(importlib.util.find_spec('openvino'), keras.backend.backend())"
    )
    assert output_of(code) == "None gradtape"


@pytest.mark.parametrize("call", ["tape.gradient(y, variables)", "tape.jacobian(y, variables)", "tape.watch(variables)"])
def test_a_tape_that_is_given_variables_of_another_backend_says_whose_they_are(call):
    code = SET.format("jax") + (
        "import gradtape as tf, keras\n"
        "layer = keras.layers.Dense(1)\n"
        "layer.build((None, 2))\n"
        "variables = layer.trainable_variables\n"
        "with tf.GradientTape(persistent=True) as tape:\n"
        "    y = tf.reduce_sum(tf.constant(layer(tf.ones((1, 2)))))\n"
        f"    {call}\n"
    )
    text = output_of(code)
    assert "Keras runs on 'jax' in this program" in text
    assert "write `import gradtape` above the first `import keras`" in text


def test_an_unknown_version_is_refused(tmp_path, monkeypatch):
    package = tmp_path / "keras"
    (package / "src").mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "src" / "version.py").write_text('__version__ = "3.99.0"\n')
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ImportError, match=r"written for Keras 3.15, and Keras 3.99.0 is installed: pip install"):
        hook.install()


def test_a_choice_gets_a_branch_more():
    source = 'if backend() == "tensorflow":\n    x = 1\nelif backend() == "jax":\n    from keras.src.backend.jax.layer import JaxLayer as Base\n'
    text = ast.unparse(hook.with_branch(source, "some.module"))
    assert "elif backend() == 'gradtape':\n    from keras.src.backend.gradtape.layer import BackendLayer as Base" in text
    assert "from keras.src.backend.jax.layer import JaxLayer as Base" in text


def test_a_module_without_a_choice_is_an_error():
    with pytest.raises(ImportError, match=r"cannot find where some\.module chooses a backend"):
        hook.with_branch("x = 1", "some.module")


def test_choices_in_functions_stay():
    source = 'if backend() == "jax":\n    x = 1\ndef f():\n    if backend() == "jax":\n        return 2\n'
    assert ast.unparse(hook.with_branch(source, "some.module")).count("gradtape") == 1


def test_keras_can_change_to_this_backend_for_a_while():
    from keras.src.utils.backend_utils import DynamicBackend

    backend = DynamicBackend()
    assert backend.name == "gradtape"
    assert backend.numpy is sys.modules["keras_gradtape.src.ops.numpy"]
    backend.set_backend("gradtape")
    with pytest.raises(ValueError, match="Available backends"):
        backend.set_backend("no such backend")
