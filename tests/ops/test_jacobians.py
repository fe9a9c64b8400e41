"""The Jacobian of every op of the table, in every way that there is to compute it,
against one gradient after another.
"""

from __future__ import annotations

import numpy as np
import pytest

import gradtape as tf
from gradtape.core.tape import GradientTape
from gradtape.transforms.jacobians.pulls import Pulls

from . import checks
from .table import all_cases

WAYS = {
    "reverse": {"mode": "reverse"},
    "reverse in chunks": {"mode": "reverse", "parallel_iterations": 2},
    "reverse one by one": {"mode": "reverse", "experimental_use_pfor": False},
    "forward": {"mode": "forward"},
    "forward in chunks": {"mode": "forward", "parallel_iterations": 2},
    "auto": {},
}


def samples():
    """Samples in double precision with a derivative and a few elements;
    the first two of each op every day.
    """
    for case in all_cases():
        for i, one in enumerate(case.samples):
            if case.orders and one.wanted and "float64" in case.dtypes_of(one):
                yield pytest.param(
                    case,
                    one,
                    id=f"{case.name}:{one.label}",
                    marks=() if i < 2 else pytest.mark.slow,
                )


@pytest.fixture
def no_way_out(monkeypatch):
    """What fails for many rows at once fails the test: a loop would hide it."""
    at_once = Pulls._at_once

    def strict(self, seeds):
        try:
            return at_once(self, seeds)
        except Exception as error:  # noqa: BLE001
            pytest.fail(f"rows at once: {error!r}")

    monkeypatch.setattr(Pulls, "_at_once", strict)


@pytest.mark.usefixtures("no_way_out")
@pytest.mark.parametrize(("case", "one"), list(samples()))
def test_every_way_gives_the_same(case, one):
    args = checks.as_tensors(case.make(one, "float64"))
    sources = [args[i] for i in one.wanted]
    rng = np.random.default_rng(0)
    with GradientTape(persistent=True, watch_accessed_variables=False) as tape:
        tape.watch(sources)
        inputs = [arg * 1.0 if any(arg is source for source in sources) else arg for arg in args]
        outputs = [
            in_real(out)
            for out in checks.as_list(case.op(*inputs, **one.params))
            if out.dtype.is_trainable
        ]
        flat = tf.concat([tf.reshape(out, [-1]) for out in outputs], axis=0)
        plain = flat[:7] * 2.0
        mixed = tf.linalg.matvec(rng.standard_normal((4, flat.shape[0])), flat)
    for target in (plain, mixed):
        rows = [
            tape.gradient(target, sources, output_gradients=tf.constant(row))
            for row in np.eye(target.shape[0])
        ]
        for name, options in WAYS.items():
            if case.refuses is None or "forward" not in name:
                found = tape.jacobian(target, sources, **options)
                for i, (jacobian, source) in enumerate(zip(found, sources, strict=True)):
                    compare(jacobian, [row[i] for row in rows], source, f"{name}, source {i}")


def in_real(out):
    return (
        tf.math.real(out) + 2 * tf.math.imag(out)
        if out.dtype.is_complex
        else tf.cast(out, tf.float64)
    )


def compare(jacobian, rows, source, what):
    if not rows:
        assert jacobian is None or jacobian.shape == (0, *source.shape), what
        return
    if rows[0] is None:
        assert jacobian is None, what
        return
    expected = np.stack([tf.convert_to_tensor(row).array for row in rows])
    assert jacobian.shape == expected.shape, what
    checks.assert_close(
        jacobian.array,
        expected,
        what,
        rtol=1e-9,
        atol=1e-9 * max(1.0, np.abs(expected).max(initial=0)),
    )
