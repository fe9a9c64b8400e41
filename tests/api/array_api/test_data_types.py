"""How dtypes meet, what they are called, and what can be asked about them, as the standard says."""

import itertools

import numpy as np
import pytest

import gradtape as tf
import gradtape.array_api as xp

from .standard import DTYPES

SIGNED = ["int8", "int16", "int32", "int64"]
UNSIGNED = ["uint8", "uint16", "uint32", "uint64"]
REAL = ["float32", "float64"]
COMPLEX = ["complex64", "complex128"]
KINDS = {
    "bool": ["bool"],
    "signed integer": SIGNED,
    "unsigned integer": UNSIGNED,
    "integral": SIGNED + UNSIGNED,
    "real floating": REAL,
    "complex floating": COMPLEX,
    "numeric": SIGNED + UNSIGNED + REAL + COMPLEX,
}


def promoted(one, two):
    """The dtype in which two dtypes meet, by the tables of the standard;
    None where it leaves that open.
    """
    for ladder in (["bool"], SIGNED, UNSIGNED, REAL, COMPLEX):
        if one in ladder and two in ladder:
            return max(one, two, key=ladder.index)
    if one in UNSIGNED and two in SIGNED:
        one, two = two, one
    if one in SIGNED and two in UNSIGNED:
        bits = max(8 * 2 ** SIGNED.index(one), 16 * 2 ** UNSIGNED.index(two))
        return f"int{bits}" if bits <= 64 else None
    if {one, two} <= {*REAL, *COMPLEX}:
        return "complex128" if {"float64", "complex128"} & {one, two} else "complex64"
    return None


PAIRS = [(a, b, promoted(a, b)) for a, b in itertools.product(DTYPES, DTYPES) if promoted(a, b)]


def ones(dtype, shape=(2,)):
    return xp.ones(shape, dtype=getattr(xp, dtype))


@pytest.mark.parametrize(("one", "two", "expected"), PAIRS)
def test_two_dtypes_meet(one, two, expected):
    assert xp.result_type(getattr(xp, one), getattr(xp, two)).name == expected
    assert xp.result_type(ones(one), getattr(xp, two)).name == expected
    assert xp.concat([ones(one), ones(two)]).dtype.name == expected
    assert xp.where(xp.asarray([True, False]), ones(one), ones(two)).dtype.name == expected
    if expected != "bool":
        assert (ones(one) + ones(two)).dtype.name == expected
        # A 0-d array counts as much as any other.
        assert xp.multiply(ones(one, ()), ones(two)).dtype.name == expected


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_python_number_takes_the_dtype_of_the_array(dtype):
    allowed = [True] if dtype == "bool" else [2]
    allowed += [2.5] if dtype in REAL + COMPLEX else []
    allowed += [2.5j] if dtype in COMPLEX else []
    for number in allowed:
        operation = (lambda x, y: x & y) if dtype == "bool" else (lambda x, y: x * y)
        assert operation(ones(dtype), number).dtype.name == dtype
        assert operation(number, ones(dtype)).dtype.name == dtype
        assert xp.result_type(ones(dtype), number).name == dtype
        assert xp.result_type(number, getattr(xp, dtype)).name == dtype


def test_result_type_needs_an_array_or_a_dtype():
    assert xp.result_type(xp.float64, xp.float32, 1.0, True) == xp.float64
    with pytest.raises(ValueError, match="result_type: at least one"):
        xp.result_type(1, 2.0)


@pytest.mark.parametrize(("one", "two", "expected"), PAIRS)
def test_can_cast(one, two, expected):
    assert xp.can_cast(getattr(xp, one), getattr(xp, two)) is (expected == two)
    assert xp.can_cast(ones(one), getattr(xp, two)) is (expected == two)


def test_what_never_meets_cannot_be_cast():
    assert xp.can_cast(xp.complex64, xp.float64) is False
    assert xp.can_cast(xp.float32, xp.int32) is False
    assert xp.can_cast(tf.string, xp.int32) is False


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_isdtype(dtype, kind):
    assert xp.isdtype(getattr(xp, dtype), kind) is (dtype in KINDS[kind])
    assert xp.isdtype(getattr(xp, dtype), (kind, "bool")) is (dtype in [*KINDS[kind], "bool"])


def test_isdtype_takes_dtypes_and_refuses_nonsense():
    assert xp.isdtype(xp.int8, xp.int8)
    assert xp.isdtype(xp.int8, (xp.float32, xp.int8))
    assert not xp.isdtype(xp.int8, xp.int16)
    assert xp.isdtype(tf.bfloat16, "real floating")
    assert not xp.isdtype(tf.string, "numeric")
    with pytest.raises(ValueError, match=r"isdtype: kind must be.*'float'"):
        xp.isdtype(xp.float32, "float")


@pytest.mark.parametrize("dtype", REAL + COMPLEX + ["float16"])
def test_finfo(dtype):
    expected = np.finfo(dtype)
    for info in (xp.finfo(getattr(tf, dtype)), xp.finfo(tf.zeros([2], dtype))):
        assert info.bits == expected.bits
        for name in ("eps", "max", "min", "smallest_normal"):
            assert type(getattr(info, name)) is float
            assert getattr(info, name) == float(getattr(expected, name))
        assert info.dtype == expected.dtype


def test_finfo_of_bfloat16_and_of_an_integer():
    assert xp.finfo(tf.bfloat16).eps == 2.0**-7
    with pytest.raises(ValueError, match=r"finfo: type must be.*int32.*iinfo"):
        xp.finfo(xp.int32)


@pytest.mark.parametrize("dtype", SIGNED + UNSIGNED)
def test_iinfo(dtype):
    expected = np.iinfo(dtype)
    info = xp.iinfo(ones(dtype))
    assert (info.bits, info.max, info.min, info.dtype) == (
        expected.bits,
        expected.max,
        expected.min,
        getattr(xp, dtype),
    )
    assert (type(info.max), type(info.min)) == (int, int)


def test_iinfo_of_a_float():
    with pytest.raises(ValueError, match=r"iinfo: type must be.*float32.*finfo"):
        xp.iinfo(xp.float32)


@pytest.mark.parametrize(("one", "two"), list(itertools.product(DTYPES, DTYPES)))
def test_astype(one, two):
    x = ones(one)
    if one in COMPLEX and two not in [*COMPLEX, "bool"]:
        with pytest.raises(TypeError, match=r"astype: x has dtype complex.*real\(x\)"):
            xp.astype(x, getattr(xp, two))
        return
    found = xp.astype(x, getattr(xp, two))
    assert found.dtype == getattr(xp, two)
    np.testing.assert_array_equal(found.numpy(), [1, 1])
    assert found is not x
    assert (xp.astype(x, getattr(xp, two), copy=False) is x) is (one == two)


def test_astype_keeps_the_tape_and_checks_the_device():
    x = tf.Variable([1.0, 2.0])
    with tf.GradientTape() as tape:
        y = xp.sum(xp.astype(x, xp.float64, device=x.device) ** 2)
    np.testing.assert_array_equal(tape.gradient(y, x).numpy(), [2.0, 4.0])
    with pytest.raises(tf.errors.InvalidArgumentError, match="no device"):
        xp.astype(x, xp.float64, device="/GPU:0")


def test_info():
    info = xp.__array_namespace_info__()
    assert info.default_device() == xp.zeros(2).device
    assert info.devices() == [info.default_device()]
    defaults = info.default_dtypes(device=info.default_device())
    assert defaults["real floating"] == xp.zeros(2).dtype == xp.asarray(1.0).dtype
    assert defaults["integral"] == xp.asarray([1, 2]).dtype == xp.arange(3).dtype
    assert defaults["complex floating"] == xp.asarray(1j).dtype
    assert defaults["indexing"] == xp.argmax(xp.zeros(2)).dtype == xp.argsort(xp.zeros(2)).dtype
    assert list(info.dtypes()) == [
        name for kind in ("bool", "signed integer", "unsigned integer") for name in KINDS[kind]
    ] + [
        *REAL,
        *COMPLEX,
    ]
    for kind, names in KINDS.items():
        assert info.dtypes(kind=kind) == {name: getattr(xp, name) for name in names}
    assert list(info.dtypes(kind=("bool", "real floating"))) == ["bool", *REAL]
    assert info.capabilities()["max dimensions"] == 64
    xp.zeros((1,) * 64)
    with pytest.raises(ValueError, match="kind"):
        info.dtypes(kind="floating")
    for ask in (info.dtypes, info.default_dtypes):
        with pytest.raises(tf.errors.InvalidArgumentError, match="no device"):
            ask(device="/GPU:0")
