"""No derivative is silently missing: an argument without a rule raises, and every one declared to
have none has its reason here.
"""

import importlib
import pkgutil

import numpy as np
import pytest

import gradtape as tf
from gradtape import ops
from gradtape.ops.declare import op
from gradtape.ops.registry import registry

for module in pkgutil.iter_modules(ops.__path__):
    importlib.import_module(f"{ops.__name__}.{module.name}")

STEPS = (
    "piecewise constant: its derivative is zero wherever there is one, and TensorFlow gives None"
)
WHOLE = "works on integers, truth values or bits, or gives them"
CHOICE = "an index, a condition or a mask: it says which, not how much"
CONSTANT = "the result does not depend on its values"
DRAWN = "random numbers that were drawn before: nobody differentiates by them"
AROUND = "the public function builds the derivative around this op, which only rounds"

WITHOUT_DERIVATIVE = {
    **dict.fromkeys(["floor", "ceil", "round", "floordiv", "truncatediv"], STEPS),
    **dict.fromkeys(
        [
            "argmax",
            "argmin",
            "argsort",
            "top_indices",
            "bitcast",
            "bitwise_and",
            "bitwise_not",
            "bitwise_or",
            "bitwise_xor",
            "class_of",
        ],
        WHOLE,
    ),
    **dict.fromkeys(
        ["equal", "not_equal", "greater", "greater_equal", "less", "less_equal", "in_top_k"], WHOLE
    ),
    **dict.fromkeys(
        [
            "is_finite",
            "is_inf",
            "is_nan",
            "reduce_all",
            "reduce_any",
            "searchsorted",
            "histogram_bins",
        ],
        WHOLE,
    ),
    **dict.fromkeys(
        ["logical_and", "logical_not", "logical_or", "logical_xor", "left_shift", "right_shift"],
        WHOLE,
    ),
    **dict.fromkeys(
        [
            "flat_index",
            "invert_permutation",
            "coordinates",
            "where_true",
            "one_hot",
        ],
        WHOLE,
    ),
    **dict.fromkeys(["saturate_to_integer", "isotonic_segments"], WHOLE),
    **dict.fromkeys(
        ["drop", "keep", "where", "take", "scatter_rows", "set_rows", "max_pick", "max_unpool"],
        CHOICE,
    ),
    **dict.fromkeys(
        ["segment_max", "segment_min", "segment_prod", "segment_sum", "segment_take"], CHOICE
    ),
    **dict.fromkeys(["sparse_softmax_cross_entropy", "sparse_matmul", "dots_at"], CHOICE),
    "reverse_rows": CHOICE,
    "fake_quant_inside": WHOLE,
    **dict.fromkeys(["ones_like", "zeros_like", "stop_gradient"], CONSTANT),
    **dict.fromkeys(["gamma_sample", "truncated_sample"], DRAWN),
    **dict.fromkeys(["fake_quant", "fake_quant_side", "quantize_and_dequantize"], AROUND),
    **dict.fromkeys(["exponent", "ldexp"], WHOLE),
    **dict.fromkeys(
        ["polygamma", "expn"], "its first argument is an order, which is a whole number"
    ),
    "pseudoinverse": "the cutoff says which singular values count",
}


def test_every_argument_without_a_pull_has_its_reason():
    found = {
        name
        for name, declared in registry.items()
        if declared.pull_all is None and None in declared.pulls
    }
    assert sorted(found - WITHOUT_DERIVATIVE.keys()) == []
    assert sorted(WITHOUT_DERIVATIVE.keys() - found) == []


@pytest.mark.parametrize(
    "name", [name for name, reason in WITHOUT_DERIVATIVE.items() if reason == STEPS]
)
def test_steps_are_flat(name):
    declared = registry[name]
    arguments = [
        np.random.default_rng(i).uniform(1.1, 9.0, 50) for i in range(len(declared.arguments))
    ]
    value = np.asarray(declared.kernel(*arguments))
    moved = np.asarray(declared.kernel(*[a + 1e-9 for a in arguments]))
    np.testing.assert_array_equal(value, moved)


def test_an_argument_that_nobody_wrote_a_rule_for_is_a_lookup_error():
    half_done = op("half_done", lambda xp, x, y: x * y, [lambda g, y: g * y])
    try:
        x, y = tf.constant(2.0), tf.constant(3.0)
        with tf.GradientTape(persistent=True) as tape:
            tape.watch([x, y])
            z = half_done(x, y)
        assert float(tape.gradient(z, x)) == 3.0
        with pytest.raises(LookupError, match=r"half_done.*'y'"):
            tape.gradient(z, y)
        with pytest.raises(LookupError, match=r"half_done.*'y'"):
            tape.gradient(z, y, unconnected_gradients="zero")
    finally:
        del registry["half_done"]
