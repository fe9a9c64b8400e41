"""`tensorflow.python`: the table of private modules.

`tests_tf/test_compat.py` looks at TensorFlow's own.
"""

import pytest

import gradtape as tf
from gradtape.compat import private_modules, tensorflow_names
from gradtape.compat.private_modules import finds, rows

HERE = sorted(rows())


@pytest.mark.parametrize("module", HERE)
def test_every_row_leads_to_public_namespaces(module):
    row = rows()[module]
    for namespace in row.namespaces:
        known = namespace == "." or tensorflow_names.has(namespace)
        assert known or namespace.startswith(("compat.", "numpy")), namespace
    for name, target in row.names.items():
        found = finds(f"{private_modules.ROOT}.{module}")
        if tensorflow_names.has(target) and target.partition(".")[0] not in dir(tf):
            continue  # a whole namespace that gradtape has not
        assert found(name) is not None


@pytest.mark.parametrize(
    ("module", "name", "public"),
    [
        ("framework.ops", "convert_to_tensor", tf.convert_to_tensor),
        ("framework.ops", "EagerTensor", tf.Tensor), ("ops.math_ops", "reduce_sum", tf.reduce_sum),
        ("ops.math_ops", "matmul", tf.matmul), ("ops.array_ops", "shape", tf.shape),
        ("ops.nn_ops", "relu", tf.nn.relu), ("eager.backprop", "GradientTape", tf.GradientTape),
        ("eager.def_function", "function", tf.function), ("util", "nest", None),
        ("training.tracking.tracking", "AutoTrackable", tf.Module),
        ("ops.resource_variable_ops", "ResourceVariable", tf.Variable),
        ("training.moving_averages", "ExponentialMovingAverage", tf.train.ExponentialMovingAverage),
        ("ops.gradients_impl", "gradients", tf.gradients),
        ("training.adam", "AdamOptimizer", tf.compat.v1.train.AdamOptimizer),
    ],
)  # fmt: skip
def test_names(module, name, public):
    if public is None:
        assert private_modules.is_private_module(f"{private_modules.ROOT}.{module}")
        return
    assert finds(f"{private_modules.ROOT}.{module}")(name) is public


def test_what_has_no_public_name_is_refused():
    with pytest.raises(AttributeError, match=r"gradtape has no tensorflow.python.framework.ops.Gr"):
        finds("tensorflow.python.framework.ops")("Graph")


def test_decorators_change_nothing():
    from gradtape.compat import decorators

    def f(x):
        return x

    assert decorators.deprecated("2020", "words")(f) is f
    assert decorators.exported("a", v1=["b"])(f) is f
    assert decorators.as_it_is(f) is f
    assert decorators.as_it_is(iterable=True)(f) is f
    assert decorators.make_decorator(f, lambda *a: a).__name__ == "f"
    assert decorators.getfullargspec(f).args == ["x"]


def test_devices_are_listed():
    from gradtape.compat.local_devices import list_local_devices

    first = list_local_devices()[0]
    assert (first.name, first.device_type) == ("/device:CPU:0", "CPU")
