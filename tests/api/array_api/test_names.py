"""Every name of the standard is there, with a signature that takes every call the standard
allows.
"""

import inspect
import math

import pytest

import gradtape as tf
import gradtape.array_api as xp

from .standard import ATTRIBUTES, CONSTANTS, DTYPES, FFT, FUNCTIONS, INFO, LINALG, METHODS


def signatures(text):
    """The functions of a listing, by name."""
    lines = (line.strip() for line in text.splitlines())
    return {line.partition("(")[0]: line[line.index("(") :] for line in lines if line}


def parameters(signature):
    """The parameters of a signature that is written as text."""
    namespace = {}
    exec(f"def stub{signature}: ...", namespace)
    return list(inspect.signature(namespace["stub"]).parameters.values())


def misfit(function, signature):
    """Why a function does not take what the standard's signature takes, or None."""
    own = list(inspect.signature(function).parameters.values())
    by_name = {parameter.name: parameter for parameter in own}
    for position, wanted in enumerate(parameters(signature)):
        if wanted.kind is wanted.KEYWORD_ONLY:
            found = by_name.get(wanted.name)
            if found is None or found.kind not in (
                wanted.KEYWORD_ONLY,
                wanted.POSITIONAL_OR_KEYWORD,
            ):
                return f"{wanted.name} cannot be given by keyword"
        else:
            found = own[position] if position < len(own) else None
            if found is None or found.kind is found.KEYWORD_ONLY:
                return f"{wanted.name} cannot be given by position"
            if wanted.kind is wanted.POSITIONAL_OR_KEYWORD and (found.name, found.kind) != (
                wanted.name,
                wanted.kind,
            ):
                return f"{wanted.name} cannot be given by keyword"
            if wanted.kind is wanted.VAR_POSITIONAL and found.kind is not found.VAR_POSITIONAL:
                return f"{wanted.name} are not any number"
        if wanted.default is not wanted.empty and found.default is found.empty:
            return f"{wanted.name} must be given"
    return None


ALL = [(xp, name, sig) for text in FUNCTIONS.values() for name, sig in signatures(text).items()]
ALL += [(xp.linalg, name, sig) for name, sig in signatures(LINALG).items()]
ALL += [(xp.fft, name, sig) for name, sig in signatures(FFT).items()]


@pytest.mark.parametrize(
    ("namespace", "name", "signature"),
    ALL,
    ids=[f"{n.__name__.rpartition('.')[2]}.{f}" for n, f, _ in ALL],
)
def test_a_function_is_there_with_its_signature(namespace, name, signature):
    assert misfit(getattr(namespace, name), signature) is None
    assert name in namespace.__all__


@pytest.mark.parametrize(("name", "signature"), signatures(METHODS).items())
def test_a_method_is_there(name, signature):
    method = getattr(tf.constant(1), name)
    if name in ("__array_namespace__", "__dlpack__", "to_device"):
        assert misfit(method, signature.replace("self, /, ", "").replace("self, ", "")) is None


@pytest.mark.parametrize("name", ATTRIBUTES)
def test_an_attribute_is_there(name):
    assert hasattr(tf.zeros([2, 3]), name)
    assert hasattr(tf.Variable(tf.zeros([2, 3])), name)


@pytest.mark.parametrize(("name", "signature"), signatures(INFO).items())
def test_what_can_be_asked_is_there(name, signature):
    assert misfit(getattr(xp.__array_namespace_info__(), name), signature) is None


@pytest.mark.parametrize("name", DTYPES)
def test_a_dtype_is_there(name):
    dtype = getattr(xp, name)
    assert dtype == xp.zeros(2, dtype=dtype).dtype
    assert [other for other in DTYPES if getattr(xp, other) == dtype] == [name]


@pytest.mark.parametrize("name", CONSTANTS)
def test_a_constant_is_there(name):
    expected = {"e": math.e, "inf": math.inf, "nan": math.nan, "newaxis": None, "pi": math.pi}[name]
    found = getattr(xp, name)
    assert found == expected or (math.isnan(found) and math.isnan(expected))
    assert type(found) is type(expected)


def test_the_version():
    assert xp.__array_api_version__ == "2024.12"


@pytest.mark.parametrize(
    ("function", "signature", "complaint"),
    [
        (lambda x: x, "(x, /, *, axis=None)", "axis cannot be given by keyword"),
        (lambda x, *, shape: x, "(x, /, shape)", "shape cannot be given by position"),
        (lambda x, form: x, "(x, /, shape)", "shape cannot be given by keyword"),
        (lambda x, axis: x, "(x, /, *, axis=None)", "axis must be given"),
        (lambda arrays: arrays, "(*arrays)", "arrays are not any number"),
    ],
)
def test_a_wrong_signature_is_found(function, signature, complaint):
    assert misfit(function, signature) == complaint
