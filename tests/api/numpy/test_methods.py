"""The methods and attributes of NumPy's arrays on Tensors and Variables."""

from __future__ import annotations

import inspect
from importlib import import_module

import numpy as np
import pytest

import gradtape as tf
import gradtape.numpy as tnp
from gradtape.api.numpy import methods
from gradtape.core.array_methods import ArrayMethods, NumpyMethods
from gradtape.core.tensor import Tensor

X = np.array([[1.0, -2.0, 3.5], [4.0, 0.5, -6.0]], dtype=np.float32)

RECORDED = {
    "T": lambda x: x.T,
    "mT": lambda x: x.mT,
    "astype": lambda x: x.astype(np.float32),
    "choose": lambda x: (x[0] > 0).astype(np.int32).choose([x[0], x[1]]),
    "clip": lambda x: x.clip(-1, 2),
    "clip from below": lambda x: x.clip(min=0),
    "compress": lambda x: x.compress([True, False, True], axis=1),
    "conj": lambda x: x.conj(),
    "conjugate": lambda x: x.conjugate(),
    "copy": lambda x: x.copy(),
    "cumprod": lambda x: x.cumprod(axis=1),
    "cumsum": lambda x: x.cumsum(),
    "diagonal": lambda x: x.diagonal(1),
    "dot": lambda x: x.dot(x.T),
    "flat": lambda x: x.flat[2:4],
    "flatten": lambda x: x.flatten("F"),
    "max": lambda x: x.max(0),
    "mean": lambda x: x.mean(axis=(0, 1)),
    "min": lambda x: x.min(axis=1, keepdims=True),
    "prod": lambda x: x.prod(axis=-1),
    "ravel": lambda x: x.ravel(),
    "real": lambda x: x.real,
    "repeat": lambda x: x.repeat(2, axis=0),
    "reshape": lambda x: x.reshape(3, -1),
    "reshape by a tuple": lambda x: x.reshape((6,)),
    "reshape by columns": lambda x: x.reshape(3, 2, order="F"),
    "squeeze": lambda x: x[:1].squeeze(axis=0),
    "std": lambda x: x.std(ddof=1),
    "sum": lambda x: x.sum(1),
    "swapaxes": lambda x: x.swapaxes(0, 1),
    "take": lambda x: x.take([0, -1], axis=1),
    "trace": lambda x: x.trace(),
    "transpose": lambda x: x.transpose(),
    "transpose by axes": lambda x: x.transpose(1, 0),
    "transpose by a tuple": lambda x: x.transpose((1, 0)),
    "var": lambda x: x.var(axis=0),
    "view": lambda x: x.view(),
}
VALUES = {
    "all": lambda x: x.all(axis=0),
    "any": lambda x: (x > 5).any(),
    "argmax": lambda x: x.argmax(),
    "argmin": lambda x: x.argmin(axis=1),
    "argpartition": lambda x: x.argpartition(1, axis=1)[:, 1],
    "argsort": lambda x: x.argsort(axis=0),
    "imag": lambda x: x.imag,
    "nonzero": lambda x: x.nonzero(),
    "round": lambda x: x.round(),
    "searchsorted": lambda x: x[0][:1].searchsorted(x[1]),
    "divmod": lambda x: divmod(x, 2.0)[0],
    "shifts": lambda x: (1 << (x.astype(np.int32) >> 1).clip(0, 3)) << 2,
    "item": lambda x: (x.item(4), x[0, 1].item()),
    "tolist": lambda x: x.tolist(),
    "tobytes": lambda x: x.tobytes(),
    "size": lambda x: x.size,
    "itemsize": lambda x: x.itemsize,
    "nbytes": lambda x: x.nbytes,
    "in": lambda x: (3.5 in x, 7.0 in x),
    "iteration": lambda x: [row.tolist() for row in x],
}


def same(actual, expected):
    if isinstance(expected, tuple):
        for found, wanted in zip(actual, expected, strict=True):
            same(found, wanted)
    elif isinstance(expected, (np.ndarray, np.generic)):
        assert isinstance(actual, Tensor)
        assert actual.dtype == expected.dtype
        np.testing.assert_allclose(actual.numpy(), expected, rtol=1e-5)
    else:
        assert type(actual) is type(expected)
        assert actual == expected


@pytest.mark.parametrize("kind", [tf.constant, tf.Variable], ids=["Tensor", "Variable"])
@pytest.mark.parametrize("call", {**RECORDED, **VALUES}.values(), ids={**RECORDED, **VALUES})
def test_methods_give_what_numpys_give(call, kind):
    same(call(kind(X)), call(X))


@pytest.mark.parametrize("kind", [tf.constant, tf.Variable], ids=["Tensor", "Variable"])
@pytest.mark.parametrize("call", RECORDED.values(), ids=RECORDED)
def test_methods_are_recorded(call, kind):
    x = kind(X)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = call(x)
    assert tape.gradient(y, x).shape == X.shape


def test_every_method_has_a_case():
    named = {case.split()[0] for case in (*RECORDED, *VALUES)}
    spelled = {
        name
        for name, found in vars(NumpyMethods).items()
        if "gradtape.numpy" in (getattr(found, "__doc__", "") or "")
    }
    assert len(spelled) > 25
    assert spelled <= named


def test_type_checkers_see_the_functions_that_are_called():
    """A method's types are those of its function, since they are one object; that of a ufunc takes
    no arguments.
    """
    typed, called = vars(methods.NumpyMethods), vars(NumpyMethods)
    names = {name for name in typed if name[0] != "_"}
    assert names == {name for name in called if name[0] != "_"}
    for name in names:
        imported = inspect.getclosurevars(called[name]).nonlocals
        function = getattr(import_module(imported["module"]), imported["name"])
        assert function is getattr(tnp, name)
        if name in ("conj", "conjugate"):
            assert list(inspect.signature(typed[name]).parameters) == ["self"]
        else:
            assert typed[name] is function


@pytest.mark.parametrize(
    ("name", "function"),
    [
        ("reshape", tnp.reshape),
        ("transpose", tnp.transpose),
        ("flatten", tnp.ravel),
        ("compress", tnp.compress),
        ("nonzero", tnp.nonzero),
    ],
)
def test_methods_with_signatures_of_their_own_have_the_arguments_of_their_functions(name, function):
    """But for what a method takes one by one: the sizes of a shape, the order of axes."""
    own = inspect.signature(getattr(ArrayMethods, name)).parameters
    theirs = inspect.signature(function).parameters
    separate = {p for p in own if own[p].kind is inspect.Parameter.VAR_POSITIONAL}
    assert own.keys() - {"self"} == theirs.keys() - {"a"}
    for parameter in own.keys() - {"self"} - separate:
        assert own[parameter].default == theirs[parameter].default


def test_the_gradient_of_a_function_written_for_arrays():
    def loss(weights, inputs, targets):
        hidden = np.tanh(weights.dot(inputs.T).T.reshape(-1, 2))
        return ((hidden - targets) ** 2).mean(axis=0).sum()

    rng = np.random.default_rng(0)
    weights, inputs, targets = (rng.normal(size=shape) for shape in [(2, 3), (4, 3), (4, 2)])
    w = tf.Variable(weights)
    with tf.GradientTape() as tape:
        value = loss(w, inputs, targets)
    np.testing.assert_allclose(value.numpy(), loss(weights, inputs, targets))
    nudge = np.zeros_like(weights)
    nudge[1, 2] = 1e-6
    slope = (loss(weights + nudge, inputs, targets) - loss(weights - nudge, inputs, targets)) / 2e-6
    np.testing.assert_allclose(tape.gradient(value, w)[1, 2].numpy(), slope, rtol=1e-6)


@pytest.mark.parametrize("name", ["fill", "partition", "put", "resize", "sort"])
@pytest.mark.parametrize("kind", [tf.constant, tf.Variable], ids=["Tensor", "Variable"])
def test_methods_that_change_an_array_are_refused(name, kind):
    with pytest.raises(
        TypeError,
        match=rf"{name}: a {kind(X).__class__.__name__} cannot be changed in place: write",
    ):
        getattr(kind(X), name)(1)


@pytest.mark.parametrize("kind", [tf.constant, tf.Variable], ids=["Tensor", "Variable"])
def test_writing_into_elements_is_refused(kind):
    x = kind(X)
    with pytest.raises(TypeError, match=r"tensor_scatter_nd_update.*assign"):
        x[0] = 1.0
    with pytest.raises(TypeError):
        x[0, 1] += 1.0
    np.testing.assert_array_equal(x.numpy(), X)


@pytest.mark.parametrize(
    "leave",
    [lambda x: x.item(0), lambda x: x.tolist(), lambda x: x.tobytes()],
    ids=["item", "tolist", "tobytes"],
)
def test_values_that_leave_carry_no_gradient(leave):
    x = tf.constant(X)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.constant(np.size(leave(x))) * 2.0
    assert tape.gradient(y, x) is None


def test_numpy_takes_the_dtype_of_a_tensor():
    x = tf.constant(X)
    assert np.zeros(2, dtype=x.dtype).dtype == np.float32
    assert np.issubdtype(x.dtype, np.floating)
    assert np.finfo(x.dtype).bits == 32
    assert (x.dtype.kind, x.dtype.itemsize, x.dtype.type) == ("f", 4, np.float32)


def test_shape_stays_tensorflows():
    assert isinstance(tf.constant(X).shape, tf.TensorShape)
    assert np.zeros(tf.constant(X).shape).shape == X.shape
