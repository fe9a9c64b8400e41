"""The functions of `tests/functions/autograph/autograph_cases.py`, from the same source, as
tf.function and as gradtape.function.
"""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
import tensorflow  # noqa: ICN001  # `tf` is the library that a function is given

import gradtape

SOURCE = Path(__file__).parents[1] / "tests" / "functions" / "autograph" / "autograph_cases.py"


def loaded(library: str, folder: str) -> Any:
    """The module of cases with a library in the place of gradtape; in a file,
    because TensorFlow looks for the source.
    """
    path = Path(folder) / f"autograph_cases_{library}.py"
    path.write_text(SOURCE.read_text().replace("import gradtape as tf", f"import {library} as tf"))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[path.stem] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


FOLDER = TemporaryDirectory()
MODULES = {tf: loaded(tf.__name__, FOLDER.name) for tf in (gradtape, tensorflow)}

# What AutoGraph does in gradtape as Python does, and TensorFlow not: it raises, or gives something
# else.
ONLY_HERE = {
    "a_mark_in_the_middle": "an assertion with a message that is no constant",
    "builtins": "min, max, any, all and bool of tensors",
    "calls_methods": "names that are private to a class",
    "comprehensions": "comprehensions over tensors",
    "for_enumerate": "enumerate of tensors",
    "for_python_number_as_total": "a number that becomes a tensor of another dtype than float32",
    "for_state_none_at_first": "None before the first step (TensorFlow gives 0)",
    "for_total_that_gets_a_shape": "a number that becomes a tensor with a shape",
    "for_whole_number_as_total": "a whole number that becomes a floating-point tensor",
    "for_with_return": "return in a loop",
    "for_zip": "zip of tensors",
    "functions_given_to_builtins": "functions that builtin functions call",
    "lists_in_branches": "lists that get longer in branches",
    "lists_in_loops": "lists that get longer in loops",
    "loops_with_else": "loops with else",
    "numbers_in_branches": "a number in one branch, a float64 tensor in the other",
    "python_for_with_break": "a loop of Python's that a tensor ends",
    "python_for_with_return": "a loop of Python's that a tensor ends",
    "return_from_nested": "return in a branch of a branch",
    "tensor_array_in_a_loop_with_break": "enumerate of tensors",
    "ternary": "a number in one branch, a float64 tensor in the other",
    "truth_of_numbers": "tensors of numbers as conditions",
    "while_that_becomes_the_programs": "a condition that becomes a tensor",
    "while_true": "a condition that becomes a tensor",
    "while_with_continue_and_return": "return in a loop",
    "with_blocks": "a variable that is there unless the function has returned",
}

# What XLA cannot do, and TensorFlow's own runtime can; or what TensorFlow refuses with another
# error.
OTHER_ERRORS = {
    "assigned_by_a_callee": ValueError,
    "list_in_a_while": ValueError,
    "used_before_it_is_there": ValueError,
}


def outcomes(tf, name):
    """The values of a compiled function and, if it has them, the gradients of their sum by its
    floating-point arguments.
    """
    function, inputs, differentiable = MODULES[tf].CASES[name]
    compiled = tf.function(function)
    found = []
    for given in inputs:
        args = [
            tf.constant(value, tf.int32 if isinstance(value, int) else tf.float64)
            for value in given
        ]
        floats = [arg for arg in args if arg.dtype.is_floating]
        with tf.GradientTape() as tape:
            tape.watch(floats)
            leaves = tf.nest.flatten(compiled(*args))
            total = tf.add_n([tf.reduce_sum(tf.cast(leaf, tf.float64)) for leaf in leaves])
        gradients = (
            tape.gradient(total, floats, unconnected_gradients="zero") if differentiable else []
        )
        found += [np.asarray(leaf) for leaf in [*leaves, *gradients]]
    return found


def assert_same(actual, expected):
    assert [a.dtype for a in actual] == [b.dtype for b in expected]
    for a, b in zip(actual, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", MODULES[gradtape].CASES)
def test_compiled_functions_agree(name):
    ours = outcomes(gradtape, name)
    if name not in ONLY_HERE:
        assert_same(ours, outcomes(tensorflow, name))
        return
    with pytest.raises(Exception):  # noqa: B017  # whatever it raises, it differs
        assert_same(ours, outcomes(tensorflow, name))


@pytest.mark.parametrize("name", MODULES[gradtape].ERRORS)
def test_errors_agree(name):
    function, error, _, _ = MODULES[tensorflow].ERRORS[name]
    expected = OTHER_ERRORS.get(name, error)
    if expected is None:
        tensorflow.function(function)(tensorflow.constant([1.0, 2.0]))
    else:
        with pytest.raises(expected):
            tensorflow.function(function)(tensorflow.constant([1.0, 2.0]))
