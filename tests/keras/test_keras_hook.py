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


def test_keras_on_another_backend_is_refused():
    code = "import os, keras\ndel os.environ['KERAS_BACKEND']\nimport keras_gradtape\nkeras_gradtape.install()"
    assert "Keras was imported earlier with the backend 'numpy'" in output_of(code, KERAS_BACKEND="numpy")


def test_an_environment_that_names_another_backend_is_refused():
    assert "KERAS_BACKEND says 'jax'" in output_of("import keras_gradtape; keras_gradtape.install()", KERAS_BACKEND="jax")


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
