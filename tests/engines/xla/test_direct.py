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
SHAPES = [
    ((2, 3), (2, 3)), ((2, 3), ()), ((), (3,)), ((), ()), ((2, 1), (3,)), ((0, 3), (0, 3)),
    ((3,), (2, 2, 3)), ((0, 3), (3,)), ((2, 3), (1,)), ((0, 1), (2,)),
]  # fmt: skip


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
    except (TypeError, ValueError) as error:
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
        for first, second in (*SHAPES, ((2, 3), (2,)))
    ]
    mixed = [(values((2, 3), dtype, 0), values((2, 3), np.float32, 1)) for dtype in DTYPES]
    agree(name, [*cases, *mixed])


@pytest.mark.parametrize("name", ["add", "multiply", "divide", "maximum", "equal", "less"])
def test_numbers_of_python_beside_a_tracer(name):
    """They make what they make in `jax.numpy`, of its dtype too."""
    numbers = (0, 1, -3, 100, 1000, 300, 0.1, -0.0, 1e30, np.nan, np.inf, True)
    functions = [getattr(module, name) for module in (namespace(), jax.numpy)]

    def both(x):
        pairs = [pair for number in numbers for pair in ((x, number), (number, x))]
        found = [[outcome(function, pair) for function in functions] for pair in pairs]
        assert all(len({isinstance(one, type) for one in made}) == 1 for made in found)
        return [made for made in found if not isinstance(made[0], type)]

    for dtype in DTYPES:
        with settings.wide(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = jax.jit(both)(values((2, 3), dtype, 0))
        for mine, general in found:
            assert mine.dtype == general.dtype
            np.testing.assert_array_equal(comparable(mine), comparable(general))


def test_numbers_of_numpy_become_part_of_the_program():
    closed = jax.make_jaxpr(lambda x: bind(operator.mul)(x, np.float32(3)))(np.ones(2, np.float32))
    assert not closed.consts
    assert [equation.primitive.name for equation in closed.eqns] == ["mul"]


@pytest.mark.parametrize("dtype", DTYPES)
def test_sums(dtype):
    xp = namespace()
    for shape in ((2, 3, 4), (0, 3), (3,), ()):
        x = values(shape, dtype, 0)
        axes = [None, *itertools.combinations(range(len(shape)), 1), tuple(range(len(shape)))]
        for axis, keepdims in itertools.product(axes, (False, True)):
            options = {"axis": axis, "dtype": dtype, "keepdims": keepdims}
            with settings.wide():
                mine = jax.jit(lambda x, options=options: xp.add.reduce(x, **options))(x)
                general = jax.jit(lambda x, options=options: jax.numpy.sum(x, **options))(x)
            assert mine.dtype == general.dtype == dtype
            assert mine.shape == general.shape
            np.testing.assert_array_equal(comparable(mine), comparable(general))


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
    assert len(calls) == len(_ONE) + len(_TWO) + len(_OTHERS.keys() - _TWO.keys())
    calls += [
        lambda x: xp.add(x, x[0]), lambda x: xp.equal(x, 0), lambda x: xp.multiply(2.0, x),
        lambda x: xp.add.reduce(x, axis=(0,), dtype=x.dtype, keepdims=True),
    ]  # fmt: skip
    for call in calls:
        names = [equation.primitive.name for equation in jax.make_jaxpr(call)(x).eqns]
        assert not {"jit", "pjit"} & set(names), names


def test_methods_are_those_of_the_general_function():
    assert float(namespace().add.reduce(np.float32([1, 2]))) == 3.0
