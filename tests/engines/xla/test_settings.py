"""JAX's settings and traces around a use of JAX: they end with it, whatever arrives."""

import gc

import pytest

import gradtape as tf
from gradtape.engines.xla import settings as xla_settings
from gradtape.engines.xla.collector import Uncollected
from gradtape.engines.xla.loading import load
from tests.moments import RAISES_WHERE_SIGNALS_DO, at_moment

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
