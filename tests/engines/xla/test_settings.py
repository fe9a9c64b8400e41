"""JAX's settings and traces around a use of JAX: they end with it, whatever arrives."""

import gc
from contextlib import suppress

import numpy as np
import pytest

import gradtape as tf
from gradtape.engines.xla import engine as xla_engine
from gradtape.engines.xla import settings as xla_settings
from gradtape.engines.xla.collector import Uncollected
from gradtape.engines.xla.loading import load
from tests.moments import RAISES_WHERE_SIGNALS_DO, anywhere_at, at_moment

jax = load()


def switch():
    return jax.numpy.arange(2.0).dtype.name


@RAISES_WHERE_SIGNALS_DO
def test_the_switch_for_wide_numbers_ends_at_whatever_moment_an_exception_arrives():
    def interrupted():
        raise KeyboardInterrupt

    def used():
        with xla_settings.wide():
            pass

    used()
    count = at_moment(None, lambda: None, used).count
    assert count > 10
    for number in range(1, count + 1):
        with pytest.raises(KeyboardInterrupt):
            at_moment(number, interrupted, used)
        gone = (switch(), gc.isenabled(), len(Uncollected.entered))
        assert gone == ("float32", True, 0), number


@RAISES_WHERE_SIGNALS_DO
@pytest.mark.filterwarnings(
    "ignore::pytest.PytestUnraisableExceptionWarning"  # in the callback of a weak reference
)
@pytest.mark.parametrize("use", ["folding", "placeholder"])
def test_jax_does_not_go_on_folding_constants_wherever_in_it_an_exception_arrives(use):
    """Else what is traced later keeps the values of Variables."""
    config = vars(jax._src.config)

    def interrupted():
        raise KeyboardInterrupt

    def used():
        if use == "placeholder":
            xla_engine.placeholder((2,), np.float32)
        else:
            with xla_settings.folding():
                assert config["eager_constant_folding"].value

    used()
    count = anywhere_at(0, interrupted, used)
    assert count > 10
    for number in range(1, count + 1):
        with suppress(KeyboardInterrupt):
            anywhere_at(number, interrupted, used)
        now = (config["eager_constant_folding"].value, switch(), gc.isenabled())
        assert now == (False, "float32", True), number


def test_a_switch_of_the_users_own_is_left_alone():
    with jax.enable_x64(True):
        with tf.init_scope():
            assert switch() == "float64"
        assert switch() == "float64"
        tf.function(lambda x: x * 2)(tf.constant(1.0))
        assert switch() == "float64"
    assert switch() == "float32"


def test_inside_a_trace_the_switch_is_as_outside():
    seen = []

    @tf.function
    def f(x):
        with tf.init_scope():
            seen.append(switch())
        return x + 1

    f(tf.constant(1.0, tf.float64))
    with jax.enable_x64(True):
        f(tf.constant([1.0], tf.float64))
    assert seen == ["float32", "float64"]


@pytest.mark.parametrize("ends", ["wide", "call_compiled"])
def test_a_trace_that_jax_did_not_leave_is_left(ends):
    """As if an exception had arrived when JAX was about to leave it."""
    traces = xla_settings._traces()
    before = traces.trace

    def interrupted():
        traces.set_trace(None)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        if ends == "wide":
            with xla_settings.wide():
                interrupted()
        else:
            xla_settings.call_compiled(interrupted)
    assert traces.trace is before
    assert float(jax.numpy.ones(3).sum()) == 3.0


def test_a_call_in_a_block_of_wide_leaves_the_block_as_it_was():
    traces = xla_settings._traces()

    def interrupted():
        traces.set_trace(None)
        xla_settings._setting("enable_x64").set_local(False)
        raise KeyboardInterrupt

    assert xla_settings.call_wide(switch) == "float64"
    assert switch() == "float32"
    with xla_settings.wide():
        before = traces.trace
        with pytest.raises(KeyboardInterrupt):
            xla_settings.call_wide(interrupted)
        assert traces.trace is before
        assert switch() == "float64"
        with jax.enable_x64(False):
            assert xla_settings.call_wide(switch) == "float64"
    assert switch() == "float32"
