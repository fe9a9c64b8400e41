"""The backend's surface is Keras's: every function that its backends have is here, with the same
parameters, and does something.
"""

import ast
import inspect
import textwrap
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest
from keras.src import backend
from keras.src import ops as keras_ops
from keras.src.ops.ops_test import op_functions_and_classes

SOURCES = Path(find_spec("keras").origin).parent / "src" / "backend"

MODULES = {
    "core": "keras_gradtape.src.ops.core",
    "numpy": "keras_gradtape.src.ops.numpy",
    "nn": "keras_gradtape.src.ops.nn",
    "math": "keras_gradtape.src.ops.math",
    "linalg": "keras_gradtape.src.ops.linalg",
    "image": "keras_gradtape.src.ops.image",
    "random": "keras_gradtape.src.random",
    "rnn": "keras_gradtape.src.rnn",
    "distribution_lib": "keras_gradtape.src.distribution_lib",
    "tensorboard": "keras_gradtape.src.tensorboard",
}

NOT_NEEDED = {
    "rnn.unstack": "a helper of that backend's own loop",
    "distribution_lib.distribute_variable": "variables are placed where they are made",
}
"""Public names in Keras's backends that nothing outside of them looks up."""

OWN_SIGNATURE = {
    "rnn.bidirectional_lstm": "takes anything, and leaves both directions to Keras",
    "rnn.bidirectional_gru": "takes anything, and leaves both directions to Keras",
    "rnn.cudnn_ok": "takes anything: there is no cuDNN here",
}

REFUSING = {
    "nn.moments": "synchronized=True, as every backend but TensorFlow's",
    "rnn.lstm": "what the quick loop cannot do, which Keras then does itself",
    "rnn.gru": "what the quick loop cannot do, which Keras then does itself",
    "rnn.bidirectional_lstm": "Keras runs one direction after the other",
    "rnn.bidirectional_gru": "Keras runs one direction after the other",
}
"""The functions in which NotImplementedError is raised, and for what."""


def declared(name, module):
    """The public functions of one of Keras's backends, with the names of their parameters,
    read from its source.
    """
    path = SOURCES / name / f"{module}.py"
    tree = ast.parse(path.read_text(encoding="utf-8")) if path.exists() else ast.Module([], [])
    found = {
        node.name: node.args
        for node in tree.body
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("_")
    }
    return {name: _names(args) for name, args in found.items()}


def _names(args):
    rest = [args.vararg, *args.kwonlyargs, args.kwarg]
    return [arg.arg for arg in (*args.posonlyargs, *args.args, *rest) if arg is not None]


def wanted():
    for module in MODULES:
        in_numpy, in_jax = declared("numpy", module), declared("jax", module)
        shared = in_numpy.keys() & in_jax.keys() if in_numpy else in_jax
        for name in sorted(shared):
            if f"{module}.{name}" not in NOT_NEEDED:
                yield module, name, [known[name] for known in (in_numpy, in_jax) if name in known]


WANTED = list(wanted())


def test_there_are_as_many_as_known():
    assert len(WANTED) >= 350


@pytest.mark.parametrize("module", MODULES)
def test_every_function_is_there_with_its_parameters(module):
    ours = import_module(MODULES[module])
    names = {name: parameters for where, name, parameters in WANTED if where == module}
    missing = [name for name in names if not callable(getattr(ours, name, None))]
    assert not missing
    for name, parameters in names.items():
        if f"{module}.{name}" not in OWN_SIGNATURE:
            assert list(inspect.signature(getattr(ours, name)).parameters) in parameters, name


@pytest.mark.parametrize("module", ["core", "image", "linalg", "math", "nn", "numpy"])
def test_parameters_and_defaults_are_those_of_keras_ops(module):
    """Keras has a test of this too, which wants functions without annotations."""
    public = getattr(keras_ops, module)
    # Keras writes these itself.
    elsewhere = {"view_as_complex", "view_as_real", "get_item", "multi_hot"}
    checked = 0
    for function, _ in op_functions_and_classes(public):
        name = function.__name__
        if name in elsewhere or hasattr(public, f"_{name}"):
            continue
        theirs, ours = (
            inspect.signature(f).parameters.values()
            for f in (function, getattr(getattr(backend, module), name))
        )
        assert [(p.name, p.default, p.kind) for p in ours] == [
            (p.name, p.default, p.kind) for p in theirs
        ], name
        checked += 1
    assert checked


def test_nothing_is_a_stub_but_what_is_listed():
    found = set()
    for module, name, _ in WANTED:
        function = getattr(import_module(MODULES[module]), name)
        source = (
            textwrap.dedent(inspect.getsource(function)) if inspect.isfunction(function) else ""
        )
        if "raise NotImplementedError" in source:
            found.add(f"{module}.{name}")
    assert found == REFUSING.keys()
