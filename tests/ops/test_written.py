"""The written-out calls and steps, which training runs on,
do for every op what the general ones do.

`Op.call` and `Derivative.pull_into` are lines that `ops.written` writes for one op; `Op.call_any`
with `Op.finish`, and `Derivative.pull_tensors`, are the general way, in which they are to be
understood.
"""

import numpy as np
import pytest

import gradtape as tf
from gradtape.core.endings import Ending
from gradtape.core.tensor import Tensor
from gradtape.core.walk import dense
from gradtape.ops.derivative import Derivative
from gradtape.ops.registry import registry

from .table import all_cases


def writes_its_call(op):
    return op.pull_all is None and not op.several and bool(op.arguments)


CALLS = [
    pytest.param(case, one, dtype, id=f"{case.name}:{one.label} {dtype}")
    for case in all_cases()
    if writes_its_call(case.op.op)
    for one in case.samples
    for dtype in case.dtypes_of(one)
    if dtype in ("float32", "float64") and len(one.args) == len(case.op.op.arguments)
]


def test_every_op_that_is_written_is_compared():
    """But for those that take no floats: all of their calls are general ones."""
    compared = {param.values[0].name for param in CALLS}
    others = [
        case for case in all_cases() if writes_its_call(case.op.op) and case.name not in compared
    ]
    assert {case.name for case in others if {"float32", "float64"} & {*case.dtypes}} == set()
    assert len(compared) > 200


def plain(value):
    """What was saved, as something that can be compared.

    The written call takes a Python number as it is.
    """
    if isinstance(value, Tensor):
        return plain(value.array)
    if isinstance(value, (list, tuple)):
        return [plain(part) for part in value]
    if isinstance(value, (np.ndarray, np.generic)):
        return (
            value.item()
            if value.shape == ()
            else (value.shape, value.dtype.str, np.asarray(value).tobytes())
        )
    return value


def made(case, one, dtype):
    """The arguments of a sample, and which of them are watched."""
    args = [
        Tensor(value) if isinstance(value, (np.ndarray, np.generic)) else value
        for value in case.make(one, dtype)
    ]
    return args, [args[i] for i in one.wanted]


def recorded(call, args, watched, params):
    with tf.GradientTape() as tape:
        tape.watch(watched)
        return tape, call(*args, **params)


@pytest.mark.parametrize(("case", "one", "dtype"), CALLS)
def test_a_written_call_records_what_the_general_one_does(case, one, dtype):
    op = case.op.op
    args, watched = made(case, one, dtype)
    tape, written = recorded(op.call, args, watched, one.params)
    other_tape, general = recorded(op.call_any, args, watched, one.params)
    np.testing.assert_array_equal(written.array, general.array)
    assert written.array.dtype == general.array.dtype
    assert (written.node is None) == (general.node is None)
    if written.node is None:
        return
    ours, theirs = written.node, general.node
    assert type(ours) is type(theirs)
    if isinstance(ours, Ending):  # there is no derivative, and both say so
        assert ours.about == theirs.about
        assert ours.name == op.name
        assert tape.scope in [recording() for recording in ours.followed]
        assert other_tape.scope in [recording() for recording in theirs.followed]
        return
    assert ours.rule is theirs.rule
    assert (ours.params or {}) == (theirs.params or {})
    assert [parent is None for parent in ours.parents] == [
        parent is None for parent in theirs.parents
    ]
    assert plain(ours.saved) == plain(theirs.saved)
    assert ours.scope is tape.scope
    assert theirs.scope is other_tape.scope


@pytest.mark.parametrize(
    ("case", "one", "dtype"),
    [p for p in CALLS if p.values[1].wanted and p.values[2] == "float32"],
)
def test_a_written_call_beside_ends_of_chains_records_what_the_general_one_does(case, one, dtype):
    op = case.op.op
    for ended in one.wanted:
        found = []
        for call in (op.call, op.call_any):
            args, watched = made(case, one, dtype)
            with tf.GradientTape() as tape:
                tape.watch(watched)
                args[ended] = tf.stop_gradient(args[ended])
                out = call(*args, **one.params)
                node = out.node
                noted = tape.scope.endings.get(node.number)
                parents = [parent is None for parent in node.parents]
                said = None if noted is None else [end.about for end in noted.each()]
                about = node.about if isinstance(node, Ending) else None
                found.append((type(node), parents, said, about))
        written, general = found
        assert written == general


@pytest.mark.parametrize(
    ("case", "one", "dtype"),
    [p for p in CALLS if p.values[0].orders and p.values[1].wanted and p.values[2] == "float64"],
)
def test_a_written_step_pulls_what_the_general_rule_does(case, one, dtype):
    op = case.op.op
    _tape, out = recorded(op.call, *made(case, one, dtype), one.params)
    node, rule = out.node, op.rule
    assert isinstance(rule, Derivative)
    g = np.random.default_rng(0).normal(size=out.array.shape).astype(out.array.dtype)[()]
    if g.ndim and g.size:
        g.reshape(-1)[0] = 0.0
    with np.errstate(all="ignore"):
        general = [
            None if p is None else dense(p).array
            for p in rule.pull_tensors(node, Tensor(g), node.parents)
        ]
        at_once = [dense(p) for p in rule.pull_arrays(node, g, node.parents)]
        cotangents = {}
        rule.pull_into(node, g, cotangents, set(), [])
    stepped = [
        dense(cotangents.pop(parent, None)) if parent is not None else None
        for parent in node.parents
    ]
    assert not cotangents
    for expected, pulled, summed in zip(general, at_once, stepped, strict=True):
        assert (expected is None) == (pulled is None) == (summed is None)
        if expected is not None:
            np.testing.assert_allclose(pulled, expected, rtol=1e-12, atol=1e-12)
            np.testing.assert_allclose(summed, pulled, rtol=0, atol=0)


def test_a_step_adds_to_what_is_there():
    x = tf.constant([1.0, 2.0])
    _tape, out = recorded(registry["tanh"].call, [x], [x], {})
    (parent,) = out.node.parents
    cotangents = {parent: np.ones(2, np.float32)}
    out.node.rule.pull_into(out.node, np.ones(2, np.float32), cotangents, set(), [])
    np.testing.assert_allclose(cotangents[parent], 1 + 1 / np.cosh([1.0, 2.0]) ** 2, rtol=1e-6)
