"""The two engines answer to one protocol, and every array belongs to one of them."""

import inspect
import operator
import warnings

import numpy as np
import pytest

import gradtape as tf
from gradtape.engines.engine import NUMPY, XLA, Engine, engine_of

ASKED = [
    name for name, found in vars(Engine).items() if inspect.isfunction(found) and name[0] != "_"
]


@pytest.mark.parametrize("engine", [NUMPY, XLA], ids=["numpy", "xla"])
@pytest.mark.parametrize("name", ASKED)
def test_an_engine_has_what_is_asked_of_it_under_the_same_names(engine, name):
    wanted = list(inspect.signature(getattr(Engine, name)).parameters.values())[1:]
    found = inspect.signature(getattr(engine, name)).parameters.values()
    assert [(p.name, p.kind) for p in found] == [(p.name, p.kind) for p in wanted]


def test_the_protocol_is_not_empty():
    assert {"bind", "run", "to_numpy"} <= set(ASKED)


@pytest.mark.parametrize("engine", [NUMPY, XLA], ids=["numpy", "xla"])
@pytest.mark.parametrize(
    ("kernel", "args", "params", "expected"),
    [
        ("subtract", ([3.0, 1.0], [1.0, 1.0]), {}, [2.0, 0.0]),
        (operator.truediv, ([1.0, -1.0], [0.0, 0.0]), {}, [np.inf, -np.inf]),
        (lambda xp, x, *, axis: xp.sum(x, axis=axis), ([[1.0, 2.0]],), {"axis": 1}, [3.0]),
        (lambda xp, x: xp.sum(x), ([],), {}, 0.0),
    ],
    ids=["a name", "an operator", "a parameter", "a scalar"],
)
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
def test_both_run_a_kernel_quietly_and_give_its_values(
    engine, kernel, args, params, expected, dtype
):
    arrays = [np.array(a, dtype) for a in args]
    with warnings.catch_warnings(), np.errstate(all="warn"):
        warnings.simplefilter("error")
        found = engine.run(engine.bind(kernel), *arrays, **params)
        values = engine.to_numpy(found)
    assert engine_of(found) is engine
    assert isinstance(values, (np.ndarray, np.generic))
    assert values.dtype == dtype
    np.testing.assert_array_equal(values, expected)


@pytest.mark.parametrize(
    "array", [np.float32(1.0), np.ones(3), np.zeros((0, 2)), np.array(b"", "O")]
)
def test_what_is_numpys_belongs_to_numpy(array):
    assert engine_of(array) is NUMPY


def test_what_a_function_traces_belongs_to_xla_and_its_result_to_numpy_once_it_is_read():
    seen = []

    @tf.function
    def f(x):
        seen.append(engine_of(x.array))
        return x * 2.0

    y = f(tf.ones([2]))
    assert seen == [XLA]
    assert engine_of(y.array) is NUMPY
