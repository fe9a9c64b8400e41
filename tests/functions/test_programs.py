"""How many programs a function keeps."""

from __future__ import annotations

import gc
import logging
import weakref

import numpy as np
import pytest

import gradtape as tf


@pytest.fixture
def limit(every_shape_is_compiled):
    before = tf.config.get_programs_per_function()
    tf.config.set_programs_per_function(4)
    yield 4
    tf.config.set_programs_per_function(before)


def counted():
    sizes = []

    @tf.function
    def f(x):
        sizes.append(x.shape[0])
        return tf.reduce_sum(x * x)

    return f, sizes


def test_the_least_recently_used_are_dropped_and_traced_again(limit):
    f, sizes = counted()
    for n in (1, 2, 3, 4, 1, 5, 1, 6, 1):  # 1 is used all the time
        assert float(f(tf.ones(n))) == n
    assert sizes == [1, 2, 3, 4, 5, 6]
    assert float(f(tf.ones(2))) == 2.0
    assert sizes == [1, 2, 3, 4, 5, 6, 2]
    assert float(f(tf.ones(1))) == 1.0
    assert sizes[-1] == 2
    assert f.experimental_get_tracing_count() == 6


def test_programs_and_what_belongs_to_them_are_freed(limit):
    f, _ = counted()
    x = tf.Variable(np.ones(1, np.float32))
    with tf.GradientTape() as tape:
        y = f(x.value())
    tape.gradient(y, x)
    first = weakref.ref(f._concrete.values()[0])
    for n in range(2, 8):
        f(tf.ones(n))
    del tape, y
    gc.collect()
    assert first() is None
    assert len(f._concrete) == limit
    assert len(f._quick) <= limit


def test_a_gradient_after_its_program_was_dropped(limit):
    f, _ = counted()
    x = tf.constant([3.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    for n in range(2, 8):
        f(tf.ones(n))
    assert tape.gradient(y, x).numpy().tolist() == [6.0]


def test_the_log_names_the_argument_once(limit, caplog):
    f, _ = counted()
    with caplog.at_level(logging.WARNING, logger="gradtape"):
        for n in range(1, 12):
            f(tf.ones(n))
    said = [
        record.getMessage()
        for record in caplog.records
        if "kinds of arguments" in record.getMessage()
    ]
    assert len(said) == 1
    assert "'x' changed from float32[" in said[0]
    assert "set_programs_per_function" in said[0]


@pytest.mark.parametrize("count", [0, -1, 1.5, "4", None, True])
def test_a_limit_must_be_a_whole_number(count):
    with pytest.raises(
        ValueError, match="set_programs_per_function: count must be a positive integer"
    ):
        tf.config.set_programs_per_function(count)
