"""Arguments of the wrong kind, for every parameter of every public function that `tests_tf` and the
table of NumPy's functions call: an int, a string, None, a ragged list, an object and others in its
place. What is raised is an error of gradtape's that names the function or the argument, or that
gradtape raises itself; never one from inside, such as an AttributeError of an int.
"""

from __future__ import annotations

import inspect
import sys
import traceback
from functools import reduce
from pathlib import Path
from types import FunctionType, ModuleType

import numpy as np
import pytest

import gradtape as tf

sys.path.append(str(Path(__file__).parent.parent / "tests_tf"))

from table import all_rows, resolve

from tests.api.numpy.table import all_rows as numpy_rows

OURS = (TypeError, ValueError, tf.errors.OpError)
SOURCES = str(Path(tf.__file__).parent)
QUICK = {
    "an int": 5,
    "a string": "abc",
    "None": None,
    "a ragged list": [[1.0], [1.0, 2.0]],
    "an object": object(),
}
MORE = {
    "a negative int": -3,
    "a fraction": 0.5,
    "NaN": float("nan"),
    "a complex number": 1j,
    "numbers and strings": [1, "a"],
    "a dict": {"a": 1.0},
    "an empty list": [],
    "a tensor of strings": tf.constant(["a", "b"]),
}
USERS = {  # handed on to the user's function, whose errors stay what they are
    "tf.numpy_function": "inp",
    "tf.while_loop": "loop_vars",
    "tf.numpy.piecewise": "args",
    "tf.numpy.apply_along_axis": "args",
}


class CalledError(Exception):
    """A row has called its symbol, with these arguments."""


class Recording:
    """A namespace of gradtape in which one symbol tells what it is called with."""

    def __init__(self, namespace, path, symbol):
        self._namespace, self._path, self._symbol = namespace, path, symbol

    def __getattr__(self, name):
        path, found = f"{self._path}.{name}", getattr(self._namespace, name)
        if path == self._symbol:
            return self._called
        return Recording(found, path, self._symbol) if isinstance(found, ModuleType) else found

    def _called(self, *args, **kwargs):
        raise CalledError(args, kwargs)


def calls():
    """For each symbol, a function and what its first row calls it with; symbols that are classes
    have no parameters of their own.
    """
    found = {}
    for row in all_rows():
        if row.symbol in found or isinstance(resolve(tf, row.symbol), type):
            continue
        inputs = [
            tf.constant(value) if isinstance(value, np.ndarray) else value
            for value in row.arrays(row.dtypes[0])
        ]
        try:
            row(Recording(tf, "tf", row.symbol), *inputs)
        except CalledError as called:
            found[row.symbol] = resolve(tf, row.symbol), *called.args
    for row in numpy_rows():
        symbol = f"tf.numpy.{row.name}"
        if symbol in found or not isinstance(
            reduce(lambda at, name: getattr(at, name, None), symbol.split(".")[1:], tf),
            FunctionType,
        ):
            continue
        try:
            row.call(Recording(tf.numpy, "tf.numpy", symbol), *map(tf.constant, row.make()))
        except CalledError as called:
            found[symbol] = resolve(tf, symbol), *called.args
    return found


CALLS = calls()


def variations(function, args, kwargs, kinds):
    """The parameters with what is wrong for each, and the arguments with it in their place."""
    parameters = inspect.signature(function).parameters
    given = inspect.signature(function).bind(*args, **kwargs).arguments
    for name, parameter in parameters.items():
        if name == "name" or parameter.kind is parameter.VAR_KEYWORD:
            continue
        for kind, value in kinds.items():
            positional, keywords = [], {}
            for other, found in parameters.items():
                if other != name and other not in given:
                    continue
                wrong = (value,) if found.kind is found.VAR_POSITIONAL else value
                chosen = wrong if other == name else given[other]
                if found.kind is found.VAR_POSITIONAL:
                    positional += chosen
                elif found.kind is found.VAR_KEYWORD:
                    keywords |= chosen
                elif found.kind is found.KEYWORD_ONLY or len(positional) < list(parameters).index(
                    other
                ):
                    keywords[other] = chosen
                else:
                    positional.append(chosen)
            yield name, kind, positional, keywords


def complaint(symbol, name, error):
    """What is wrong with an error, if anything."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    is_raised_here = last.filename.startswith(SOURCES) and (last.line or "").startswith("raise")
    # Some are of TensorFlow's and NumPy's classes, with a message of ours.
    if not isinstance(error, OURS) and not is_raised_here:
        return f"{type(error).__name__}: {error}"
    says = str(error)
    if (
        symbol.rpartition(".")[2] in says
        or name in says
        or is_raised_here
        or USERS.get(symbol) == name
    ):
        return None
    return f"{type(error).__name__}, which names neither the function nor the argument: {says}"


def complaints(symbol, kinds):
    function, args, kwargs = CALLS[symbol]
    found = []
    for name, kind, positional, keywords in variations(function, args, kwargs, kinds):
        try:
            function(*positional, **keywords)
        except Exception as error:  # noqa: BLE001 - whatever it is, it is looked at
            wrong = complaint(symbol, name, error)
            if wrong is not None:
                found.append(f"{name}={kind}: {wrong}")
    return found


def test_most_public_functions_are_called():
    assert len(CALLS) >= 700


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("symbol", CALLS)
def test_wrong_kinds_are_refused_by_name(symbol, capsys):
    assert complaints(symbol, QUICK) == []


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("symbol", CALLS)
def test_more_wrong_kinds_are_refused_by_name(symbol, capsys):
    assert complaints(symbol, MORE) == []


# The checker finds what it is there for


def test_the_check_sees_errors_from_inside(monkeypatch):
    def careless(x, mode="A"):
        return tf.exp(x) if mode.upper() == "A" else {}[mode]

    def unnamed(x, mode=1.0):
        return x * float(mode)

    for function, kind in [(careless, "AttributeError"), (unnamed, "names neither")]:
        monkeypatch.setitem(CALLS, "tf.checked", (function, (tf.ones([2]),), {}))
        assert any(kind in text for text in complaints("tf.checked", QUICK))


# Rows of their own


@pytest.mark.parametrize(
    ("call", "error", "says"),
    [
        (lambda: tf.einsum(5, tf.ones([2])), TypeError, "einsum: equation must be a string"),
        (lambda: tf.constant([1, "a"]), ValueError,
            r"constant: value: cannot convert \[1, 'a'\] to a tensor"),
        (lambda: tf.constant(["a", 1]), ValueError, "constant: value: cannot convert"),
        (lambda: tf.constant([[True, "a"]]), ValueError, "constant: value: cannot convert"),
        (lambda: tf.convert_to_tensor((1.0, b"a")), ValueError, "cannot convert"),
        (lambda: tf.Variable([1, "a"]), ValueError, "cannot convert"),
        (lambda: tf.add(tf.ones([2]), [1, "a"]), ValueError, "add: y: cannot convert"),
        (lambda: tf.one_hot([0], 2, off_value="a"), TypeError, "one_hot: on_value: dtype must be"),
    ],
)  # fmt: skip
def test_rows(call, error, says):
    with pytest.raises(error, match=says):
        call()


def test_what_is_right_stays_right():
    assert tf.constant(["a", b"b"]).numpy().tolist() == [b"a", b"b"]
    assert tf.constant(np.array(["a", "bc"])).numpy().tolist() == [b"a", b"bc"]
    assert [x.numpy() for x in tf.unstack(tf.constant(["a", "b"]))] == [b"a", b"b"]
    assert tf.stack(tf.constant(["a", "b"])).numpy().tolist() == [b"a", b"b"]
    assert tf.map_fn(lambda x: x, tf.constant(["a", "b"])).numpy().tolist() == [b"a", b"b"]
    assert tf.zeros([], tf.string).numpy() == b""
    assert tf.one_hot([1], 2, on_value="a").numpy().tolist() == [[b"", b"a"]]
    assert tf.random.shuffle(3.0).numpy() == 3.0  # a scalar has one order, as in TensorFlow
