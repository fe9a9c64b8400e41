"""Functions that are dispatched on types; each test undoes what it registers."""

from typing import List, Union  # noqa: UP035 - both spellings are annotations

import pytest

import gradtape as tf


class Masked(tf.experimental.ExtensionType):
    values: tf.Tensor
    mask: tf.Tensor


def x():
    return Masked([1.0, -2.0], [True, False])


@pytest.fixture
def registered():
    """Registers, and undoes it afterwards."""
    targets = []

    def register(decorator, target):
        targets.append(decorator(target))
        return targets[-1]

    yield register
    for target in targets:
        tf.experimental.unregister_dispatch_for(target)


def values_of(value):
    return value.values if isinstance(value, Masked) else value


def mask_of(*values):
    return next(v.mask for v in values if isinstance(v, Masked))


@pytest.mark.parametrize("compiled", [False, True])
def test_one_function(registered, compiled):
    def stacked(values: List[Masked], axis=0):  # noqa: UP006 - as above
        return Masked(
            tf.stack([v.values for v in values], axis), tf.stack([v.mask for v in values], axis)
        )

    registered(tf.experimental.dispatch_for_api(tf.stack), stacked)
    run = lambda a, b: tf.stack([a, b], axis=1)
    found = (tf.function(run) if compiled else run)(x(), x())
    assert found.values.numpy().tolist() == [[1.0, 1.0], [-2.0, -2.0]]
    assert tf.stack([[1.0], [2.0]]).numpy().tolist() == [[1.0], [2.0]]


def test_signatures_and_names(registered):
    def shape(input, out_type=tf.int32, name=None):
        return "shape of masked"

    registered(tf.experimental.dispatch_for_api(tf.shape, {"input": Masked}, {0: str}), shape)
    assert tf.shape(x()) == tf.shape(input=x(), name="n") == tf.shape("text") == "shape of masked"
    assert tf.shape([1.0]).numpy().tolist() == [1]


UNARY = {
    "tf.abs": lambda m: tf.abs(m),
    "tf.math.abs": lambda m: tf.math.abs(m),
    "tf.math.exp": lambda m: tf.math.exp(m),
    "tf.nn.relu": lambda m: tf.nn.relu(m),
    "tf.cast": lambda m: tf.cast(m, tf.float64),
    "tf.ones_like": lambda m: tf.ones_like(m, dtype=tf.int32),
    "tf.clip_by_value": lambda m: tf.clip_by_value(m, -1.0, 0.5),
    "tf.sigmoid": lambda m: tf.function(tf.sigmoid)(m),
}


@pytest.mark.parametrize("name", UNARY)
def test_functions_of_one_argument(registered, name):
    registered(
        tf.experimental.dispatch_for_unary_elementwise_apis(Masked),
        lambda api, m: Masked(api(m.values), m.mask),
    )
    found, plain = UNARY[name](x()), UNARY[name](x().values)
    assert found.values.dtype == plain.dtype
    assert found.values.numpy().tolist() == plain.numpy().tolist()


BINARY = {
    "tf.add": lambda a, b: tf.add(a, b),
    "tf.math.multiply": lambda a, b: tf.math.multiply(a, b),
    "tf.maximum": lambda a, b: tf.maximum(a, b),
    "tf.math.greater": lambda a, b: tf.math.greater(a, b),
    "tf.divide": lambda a, b: tf.divide(a, b),
}


@pytest.mark.parametrize("name", BINARY)
@pytest.mark.parametrize("second", ["masked", "tensor"])
def test_functions_of_two_arguments(registered, name, second):
    either = Union[Masked, tf.Tensor]  # noqa: UP007 - both spellings
    registered(
        tf.experimental.dispatch_for_binary_elementwise_apis(Masked, either),
        lambda api, a, b: Masked(api(values_of(a), values_of(b)), mask_of(a, b)),
    )
    other = x() if second == "masked" else tf.constant(3.0)
    found, plain = BINARY[name](x(), other), BINARY[name](x().values, values_of(other))
    assert found.values.numpy().tolist() == plain.numpy().tolist()


def test_asserts(registered):
    registered(
        tf.experimental.dispatch_for_binary_elementwise_assert_apis(Masked, Masked),
        lambda api, a, b: api(a.values[a.mask], b.values[b.mask]),
    )
    tf.debugging.assert_equal(x(), Masked([1.0, 7.0], [True, False]))
    with pytest.raises(tf.errors.InvalidArgumentError):
        tf.debugging.assert_equal(x(), Masked([2.0, 7.0], [True, False]))


def test_gradients_pass(registered):
    registered(
        tf.experimental.dispatch_for_unary_elementwise_apis(Masked),
        lambda api, m: Masked(api(m.values), m.mask),
    )
    m = x()
    with tf.GradientTape() as tape:
        tape.watch(m)
        y = tf.reduce_sum(tf.square(m).values)
    assert tape.gradient(y, m).values.numpy().tolist() == [2.0, -4.0]


def test_a_target_may_decline(registered):
    def concat(values: list[Masked], axis, name="concat"):
        return NotImplemented

    registered(tf.experimental.dispatch_for_api(tf.concat), concat)
    with pytest.raises((TypeError, ValueError)):
        tf.concat([x(), x()], 0)


def test_errors():
    with pytest.raises(ValueError, match="parameters"):
        tf.experimental.dispatch_for_api(tf.concat)(lambda x: x)
    with pytest.raises(ValueError, match="does not support dispatch"):
        tf.experimental.dispatch_for_api(len)(lambda obj: obj)
    with pytest.raises(ValueError, match="annotate"):
        tf.experimental.dispatch_for_api(tf.concat)(lambda values, axis, name: values)
    with pytest.raises(ValueError, match="was not registered"):
        tf.experimental.unregister_dispatch_for(len)
