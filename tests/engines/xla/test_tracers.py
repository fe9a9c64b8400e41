"""What stands for an array while a program is traced is told from arrays that have values."""

import gc

import jax
import numpy as np

from gradtape.engines.xla import engine as xla_engine
from gradtape.engines.xla import tracers


def test_tracers_and_placeholders_stand_for_arrays():
    array = jax.numpy.ones(2)
    placeholder = xla_engine.placeholder((2,), np.float32)
    seen = []

    def body(x):
        seen.append((tracers.is_traced(x), tracers.is_array(x)))
        return x

    jax.make_jaxpr(body)(array)
    assert seen == [(True, False)]
    assert tracers.is_traced(placeholder)
    assert tracers.is_array(placeholder)
    assert not tracers.is_traced(array)
    assert tracers.is_array(array)


def test_what_is_not_of_jax_stands_for_itself():
    class Kind(np.ndarray):
        pass

    for value in (None, 2.0, np.float32(1), np.ones(2), np.ones(2).view(Kind), object()):
        assert not tracers.is_traced(value)
        assert not tracers.is_array(value)


def test_a_class_that_was_met_before_jax_was_there_is_looked_at_again(monkeypatch):
    class Later:
        pass

    with monkeypatch.context() as without:
        without.setattr(tracers, "loaded", lambda: None)
        assert not tracers.is_traced(Later())
    assert Later not in tracers._kinds
    assert not tracers.is_traced(Later())
    assert Later in tracers._kinds


def test_placeholders_of_one_shape_share_their_zeros():
    first, second = (xla_engine.placeholder((3,), np.float32) for _ in range(2))
    other = xla_engine.placeholder((3,), np.float64)
    assert first is not second
    assert xla_engine.address_of(first) == xla_engine.address_of(second)
    assert other.dtype == np.float64
    del first
    gc.collect()
    third = xla_engine.placeholder((3,), np.float32)
    assert xla_engine.address_of(third) == xla_engine.address_of(second)
    assert not np.asarray(third).any()
