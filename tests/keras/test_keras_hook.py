"""How Keras comes to run on gradtape, seen in fresh Pythons,
and what the hook does to a module's source.
"""

import ast
import importlib.metadata
import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

import gradtape
from keras_gradtape import hook
from keras_gradtape.branches import with_branch

SOURCES = str(Path(gradtape.__file__).parent.parent)


def output_of(code, options=(), **environment):
    """What a fresh Python prints; KERAS_BACKEND is unset unless it is given."""
    inherited = {name: value for name, value in os.environ.items() if name != "KERAS_BACKEND"}
    done = subprocess.run(
        [sys.executable, "-W", "error", *options, "-c", code],
        env=inherited | {"PYTHONPATH": SOURCES} | environment,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout.strip() or done.stderr.strip()


FIRST = "import gradtape\n"


def test_keras_imported_after_gradtape_runs_on_it_and_leaves_the_environment_alone():
    code = (
        FIRST + "import os, keras; print(keras.backend.backend(), os.environ.get('KERAS_BACKEND'))"
    )
    assert output_of(code) == "gradtape None"


def test_the_namespace_is_keras_with_the_same_classes():
    code = FIRST + (
        "from gradtape import keras\n"
        "import keras as real, gradtape.keras.layers as layers\n"
        "print(keras.config.backend(), layers.Dense is real.layers.Dense is keras.layers.Dense, "
        "keras.losses.MSE.__name__)"
    )
    assert output_of(code) == "gradtape True mean_squared_error"


@pytest.mark.slow
def test_another_backend_named_in_the_environment_stays():
    assert (
        output_of(FIRST + "import keras; print(keras.backend.backend())", KERAS_BACKEND="numpy")
        == "numpy"
    )


@pytest.mark.parametrize("backend", ["gradtape", "numpy"])
def test_the_environment_alone_is_enough_where_the_path_file_is_installed(backend):
    code = (
        f"import site\nsite.addsitedir({str(Path(hook.__file__).parent)!r})\nimport keras\n"
        "print(keras.backend.backend())"
    )
    assert output_of(code, KERAS_BACKEND=backend) == backend


SET = "import os\nos.environ['KERAS_BACKEND'] = {!r}\n"
UNSET = "import os\ndel os.environ['KERAS_BACKEND']\n"
PATH_FILE = f"import site\nsite.addsitedir({str(Path(hook.__file__).parent)!r})\n"
ABOVE = "Write `import gradtape` above the first `import keras`"
REMOVE = "Remove the line that sets it"


@pytest.mark.parametrize(
    "use",
    ["import keras_gradtape; keras_gradtape.install()", "import gradtape; gradtape.keras.layers"],
)
def test_keras_that_was_imported_before_says_so(use):
    text = output_of("import keras\n" + UNSET + use, KERAS_BACKEND="numpy")
    assert (
        "Keras runs on 'numpy' and cannot change to gradtape now: Keras was imported before "
        "gradtape"
    ) in text
    assert ABOVE in text


@pytest.mark.slow
@pytest.mark.parametrize(
    "order",
    ["import gradtape\nimport keras\n", "import keras\nimport gradtape\n", "import gradtape\n"],
)
def test_an_environment_that_names_another_backend_says_so(order):
    text = output_of(SET.format("jax") + order + "gradtape.keras.layers")
    assert "KERAS_BACKEND says 'jax'" in text
    assert REMOVE in text


@pytest.mark.slow
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
    # What Keras chooses where nobody says anything.
    (tmp_path / "keras.json").write_text('{"backend": "openvino"}')
    text = output_of(code, KERAS_HOME=str(tmp_path))
    assert "ModuleNotFoundError: Keras wants its backend 'openvino', which is not installed" in text
    assert advice in text


def test_a_program_may_ask_whether_a_backend_is_there():
    code = (
        PATH_FILE
        + FIRST
        + (
            "import keras, importlib.util\nprint(importlib.util.find_spec('openvino'), "
            "keras.backend.backend())"
        )
    )
    assert output_of(code) == "None gradtape"


@pytest.mark.slow
@pytest.mark.parametrize(
    "call", ["tape.gradient(y, variables)", "tape.jacobian(y, variables)", "tape.watch(variables)"]
)
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


# Versions


def imitation(folder, version, **sources):
    """A folder with Keras as it is, but of another version, and with other sources of some modules,
    named with `__` for dots.
    """
    real = Path(sysconfig.get_path("purelib")) / "keras"
    changed = {
        Path("src/version.py"): real.joinpath("src/version.py")
        .read_text()
        .replace(installed_version(), version)
    }
    for name, change in sources.items():
        path = Path(name.replace("__", "/") + ".py")
        changed[path] = change(real.joinpath(path).read_text())
    parts = {parent for path in changed for parent in path.parents}
    for part in sorted(parts):
        (folder / "keras" / part).mkdir(parents=True)
        for entry in (real / part).iterdir():
            if (part / entry.name) not in {*parts, *changed} and entry.name != "__pycache__":
                (folder / "keras" / part / entry.name).symlink_to(entry)
    for path, text in changed.items():
        (folder / "keras" / path).write_text(text)
    return os.pathsep.join([str(folder), SOURCES])


def installed_version():
    return importlib.metadata.version("keras")


SHOWN = (
    "import keras; print(keras.__version__, keras.backend.backend(), "
    "keras.ops.sum(keras.layers.Dense(2)(keras.ops.ones((1, 3)))).dtype.name)"
)


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    "first",
    [FIRST, FIRST + "gradtape.keras\n", "import keras_gradtape; keras_gradtape.install()\n"],
)
def test_a_newer_minor_version_is_tried(tmp_path, first):
    assert (
        output_of(first + SHOWN, PYTHONPATH=imitation(tmp_path, "3.99.0"))
        == "3.99.0 gradtape float32"
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("module", "change", "says"),
    [
        ("src__layers__layer", lambda text: text.replace('"jax"', '"jacks"'),
            "cannot find where keras.src.layers.layer chooses a backend"),
        ("src__utils__rng_utils", lambda text: text.replace("set_random_seed", "seed"),
            "cannot find set_random_seed in keras.src.utils.rng_utils"),
        ("src__backend__common__dtypes",
            lambda text: text.replace("BIT64_TO_BIT32_DTYPE", "NARROW"),
            "cannot find BIT64_TO_BIT32_DTYPE in"),
        ("src__ops__math", lambda text: "from keras.src.backend import no_such_name\n" + text,
            "cannot import name 'no_such_name'"),
        ("src__layers__layer", lambda text: text + "\nLayer = type('Layer', (Operation,), {})\n",
            "keras.src.layers.layer.Layer is not built on"),
        ("src__backend__config", lambda text: text + "\ndef backend(): return 'numpy'\n",
            "chosen the backend 'numpy'"),
    ],
    ids=["no choice", "no seed", "no table", "no name", "another base", "another backend"],
)  # fmt: skip
def test_a_newer_version_that_does_not_fit_says_what_failed(tmp_path, module, change, says):
    text = output_of(FIRST + SHOWN, PYTHONPATH=imitation(tmp_path, "3.99.0", **{module: change}))
    message = text.splitlines()[-1]
    assert message.startswith(
        "ImportError: gradtape supports Keras 3.15. It tried Keras 3.99.0, which failed: "
    )
    assert says in message
    assert "pip install 'keras==3.15.*'" in message


@pytest.mark.slow
@pytest.mark.parametrize("version", ["3.14.1", "3.0.0", "4.0.0", "2.15.0"])
@pytest.mark.parametrize("use", ["import keras", "gradtape.keras"])
def test_other_versions_are_refused(tmp_path, version, use):
    text = output_of(FIRST + use, PYTHONPATH=imitation(tmp_path, version))
    assert (
        f"ImportError: gradtape supports Keras 3.15, but Keras {version} is installed: "
        "pip install 'keras==3.15.*'"
    ) in text


# Without Keras


@pytest.fixture(scope="module")
def without_keras(tmp_path_factory):
    """The paths of a Python, started with -S, that has everything but Keras."""
    folder = tmp_path_factory.mktemp("packages")
    for entry in Path(sysconfig.get_path("purelib")).iterdir():
        if not entry.name.startswith(("keras", "gradtape")) and entry.suffix != ".pth":
            (folder / entry.name).symlink_to(entry)
    return os.pathsep.join([str(folder), SOURCES])


OF_KERAS = [
    "gradtape.activations", "gradtape.callbacks.ExplainNonFinite", "gradtape.initializers",
    "gradtape.keras", "gradtape.losses", "gradtape.metrics", "gradtape.optimizers",
    "gradtape.regularizers",
]  # fmt: skip
ASKED_FOR = """
import gradtape, types

def absent(module):
    for name in dir(module):
        if name.startswith("_"):
            continue
        if not hasattr(module, name):
            yield f"{module.__name__}.{name}"
            continue
        found = getattr(module, name)
        own = isinstance(found, types.ModuleType) and found.__name__.startswith("gradtape.")
        own = own and ".compat" not in found.__name__  # where gradtape is again, and again
        if own and found not in seen:
            seen.append(found)
            yield from absent(found)

seen = []
print(sorted(absent(gradtape)))
"""
"""Asks with `hasattr` for all that is public, which must not raise; prints what is not there."""


@pytest.mark.parametrize(
    ("code", "shown"),
    [
        ("import gradtape; print(hasattr(gradtape, 'keras'), getattr(gradtape, 'keras', 5))",
            "False 5"),
        ("import gradtape; gradtape.keras.layers",
            ("AttributeError: gradtape.keras is Keras 3, which is not installed: pip install "
             "'gradtape[keras]'.")),
        ("from gradtape import keras",
            ("ImportError: gradtape.keras is Keras 3, which is not installed: pip install "
             "'gradtape[keras]'.")),
        ("import gradtape.keras",
            ("ImportError: gradtape.keras is Keras 3, which is not installed: pip install "
             "'gradtape[keras]'.")),
        ("import gradtape, importlib.util as u; print(u.find_spec('keras'))", "None"),
        ("import gradtape; import keras", "ModuleNotFoundError: No module named 'keras'"),
        (PATH_FILE, ""),
        (PATH_FILE + "import keras", "ModuleNotFoundError: No module named 'keras'"),
        (PATH_FILE + "import gradtape; print(hasattr(gradtape, 'keras'))", "False"),
        ("import gradtape; gradtape.callbacks.ExplainNonFinite",
            ("AttributeError: gradtape.keras is Keras 3, which is not installed: pip install "
             "'gradtape[keras]'.")),
        (ASKED_FOR, str(OF_KERAS)),
    ],
)  # fmt: skip
@pytest.mark.parametrize("told", [{}, {"KERAS_BACKEND": "gradtape"}], ids=["", "told"])
def test_without_keras(without_keras, code, shown, told):
    text = output_of(code, options=["-S"], PYTHONPATH=without_keras, **told)
    assert text.splitlines()[-1:] == ([shown] if shown else [])
    if not shown.startswith(("AttributeError", "ImportError", "ModuleNotFoundError")):
        assert text == shown  # and nothing else is printed


# By Keras's settings, and where gradtape is installed


def test_keras_settings_alone_are_enough_where_the_path_file_is_installed(tmp_path):
    (tmp_path / "keras.json").write_text('{"backend": "gradtape"}')
    assert (
        output_of(
            PATH_FILE + "import keras; print(keras.backend.backend())", KERAS_HOME=str(tmp_path)
        )
        == "gradtape"
    )
    code = PATH_FILE + "import keras; print(keras.backend.backend())"
    assert output_of(code, KERAS_HOME=str(tmp_path), KERAS_BACKEND="numpy") == "numpy"


def test_keras_settings_in_the_home_folder(tmp_path):
    (tmp_path / ".keras").mkdir()
    (tmp_path / ".keras" / "keras.json").write_text('{"backend": "gradtape"}')
    code = (
        "import os\nos.environ.pop('KERAS_HOME', None)\n"
        + PATH_FILE
        + "import keras; print(keras.backend.backend())"
    )
    assert output_of(code, HOME=str(tmp_path)) == "gradtape"


@pytest.mark.parametrize("text", ["", "{", "[]", '{"backend": 3}', "{}"])
def test_settings_that_cannot_be_read_name_no_backend(tmp_path, monkeypatch, text):
    monkeypatch.setenv("KERAS_HOME", str(tmp_path))
    assert hook._in_settings() is None
    (tmp_path / "keras.json").write_text(text)
    assert hook._in_settings() in {None, 3}


def test_the_environment_alone_is_enough_in_this_installation():
    """Tests run on an editable installation, which has the path file too."""
    assert (
        output_of(
            "import keras; print(keras.backend.backend())", PYTHONPATH="", KERAS_BACKEND="gradtape"
        )
        == "gradtape"
    )


def test_what_every_python_does_at_its_start_imports_next_to_nothing():
    code = PATH_FILE + (
        "print(sorted(name for name in sys.modules if name.startswith(('keras', 'gradtape', "
        "'numpy', 'ast'))))"
    )
    shown = output_of("import sys\n" + code, options=["-S"], KERAS_BACKEND="gradtape")
    assert shown == "['keras_gradtape', 'keras_gradtape.start']"


# The branches


def test_a_choice_gets_a_branch_more():
    source = (
        'if backend() == "tensorflow":\n    x = 1\nelif backend() == "jax":\n    from '
        "keras.src.backend.jax.layer import JaxLayer as Base\n"
    )
    text = ast.unparse(with_branch(source, "some.module"))
    assert (
        "elif backend() == 'gradtape':\n    from keras.src.backend.gradtape.layer import "
        "BackendLayer as Base"
    ) in text
    assert "from keras.src.backend.jax.layer import JaxLayer as Base" in text


def test_a_module_without_a_choice_is_an_error():
    with pytest.raises(ImportError, match=r"cannot find where some\.module chooses a backend"):
        with_branch("x = 1", "some.module")


def test_choices_in_functions_stay():
    source = (
        'if backend() == "jax":\n    x = 1\ndef f():\n    if backend() == "jax":\n      '
        "  return 2\n"
    )
    assert ast.unparse(with_branch(source, "some.module")).count("gradtape") == 1


def test_keras_can_change_to_this_backend_for_a_while():
    from keras.src.utils.backend_utils import DynamicBackend

    backend = DynamicBackend()
    assert backend.name == "gradtape"
    assert backend.numpy is sys.modules["keras_gradtape.src.ops.numpy"]
    backend.set_backend("gradtape")
    with pytest.raises(ValueError, match="Available backends"):
        backend.set_backend("no such backend")
