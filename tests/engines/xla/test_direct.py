"""The short ways of functions for tracers compute what `jax.numpy`'s functions do."""

import itertools
import operator
import warnings

import jax
import ml_dtypes
import numpy as np
import pytest

from gradtape.engines.xla import settings
from gradtape.engines.xla.direct import _ONE, _OTHERS, _TWO, OPERATORS
from gradtape.engines.xla.engine import bind, namespace

DTYPES = [
    np.float32, np.float64, np.float16, ml_dtypes.bfloat16, np.complex64,
    np.int32, np.uint8, np.bool_,
]  # fmt: skip
SHAPES = [((2, 3), (2, 3)), ((2, 3), ()), ((), (3,)), ((), ()), ((2, 1), (3,)), ((0, 3), (0, 3))]


def values(shape, dtype, start):
    numbers = (start + np.arange(np.prod(shape, dtype=int)).reshape(shape)) % 7 - 2.5
    if np.dtype(dtype).kind == "f" and numbers.size > 2:
        numbers.flat[0], numbers.flat[1] = np.nan, -0.0
    if np.dtype(dtype).kind in "ub":
        numbers = np.abs(numbers)
    return numbers.astype(dtype)


def outcome(function, arrays):
    """What a function makes of tracers, or the class of its error."""
    try:
        return function(*arrays)
    except TypeError as error:
        return type(error)


def comparable(array):
    """Its values, in float32 if it is bfloat16, whose NaN NumPy's tests do not know."""
    array = np.asarray(array)
    return array.astype(np.float32) if array.dtype == ml_dtypes.bfloat16 else array


def agree(name, cases):
    """Compares the two functions with a name, all cases in one program."""
    errors = []

    def both(cases):
        found = []
        for arrays in cases:
            mine = outcome(getattr(namespace(), name), arrays)
            general = outcome(getattr(jax.numpy, name), arrays)
            if isinstance(mine, type) or isinstance(general, type):
                errors.append((mine, general))
            else:
                found.append((mine, general))
        return found

    with settings.wide(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = jax.jit(both, compiler_options={"xla_backend_optimization_level": 0})(cases)
    assert len(found) + len(errors) == len(cases)
    for mine, general in errors:
        assert mine is general
    for mine, general in found:
        assert mine.dtype == general.dtype
        np.testing.assert_array_equal(comparable(mine), comparable(general))


@pytest.mark.parametrize("name", _ONE)
def test_functions_of_one_array(name):
    shapes = ((2, 3), (), (0,))
    agree(name, [(values(shape, dtype, 0),) for dtype in DTYPES for shape in shapes])


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", _TWO)
def test_functions_of_two_arrays(name):
    cases = [
        (values(first, dtype, 0), values(second, dtype, 3))
        for dtype in DTYPES
        for first, second in SHAPES
    ]
    mixed = [(values((2, 3), dtype, 0), values((2, 3), np.float32, 1)) for dtype in DTYPES]
    agree(name, [*cases, *mixed])


def test_where():
    cases = []
    for dtype, (first, second) in itertools.product(DTYPES, SHAPES):
        whole = np.broadcast_shapes(first, second)
        conditions = (values(whole, np.int32, 1) > 0, values(whole, np.int32, 1), np.True_)
        x, y = values(first, dtype, 0), values(second, dtype, 3)
        cases += [(condition, x, y) for condition in conditions]
    agree("where", cases)


def test_matmul():
    shapes = (((2, 3), (3, 4)), ((3,), (3, 4)), ((5, 2, 3), (3, 4)), ((0, 3), (3, 2)))
    cases = [
        (values(first, dtype, 0), values(second, dtype, 2))
        for dtype in DTYPES
        for first, second in shapes
    ]
    mixed = [(values((2, 3), dtype, 0), values((3, 4), np.float32, 1)) for dtype in DTYPES]
    agree("matmul", [*cases, *mixed])


def test_swapaxes():
    x = values((2, 3, 4), np.float32, 0)
    for axes in ((0, 2), (-1, -2), (1, 1)):
        found = jax.jit(lambda x, axes=axes: namespace().swapaxes(x, *axes))(x)
        np.testing.assert_array_equal(found, x.swapaxes(*axes))


def test_operators_are_functions_of_the_same_name():
    for function, name in OPERATORS.items():
        assert bind(function) is getattr(namespace(), name)
        assert getattr(np, name)(1.0, *[3.0] * (function is not operator.neg)) == function(
            1.0, *[3.0] * (function is not operator.neg)
        )


def test_plain_calls_are_one_operation_each():
    xp, x = namespace(), np.ones((2, 2), np.float32)
    calls = [
        *(lambda x, name=name: getattr(xp, name)(x) for name in _ONE),
        *(lambda x, name=name: getattr(xp, name)(x, x) for name in _TWO),
        lambda x: xp.matmul(x, x),
        lambda x: xp.where(x > 0, x, x),
        lambda x: xp.swapaxes(x, 0, 1),
    ]
    assert len(calls) == len(_ONE) + len(_TWO) + len(_OTHERS)
    for call in calls:
        names = [equation.primitive.name for equation in jax.make_jaxpr(call)(x).eqns]
        assert not {"jit", "pjit"} & set(names), names


def test_methods_are_those_of_the_general_function():
    assert float(namespace().add.reduce(np.float32([1, 2]))) == 3.0
