"""What a `GradientTape` records: its `with` block, `watch`, `stop_recording`, `reset`;
and how long a recording lives.
"""

import inspect
import logging

import numpy as np
import pytest

import gradtape as tf
from tests.core.squared import Pair, is_equal, squared

# The constructor and the `with` block


def test_the_arguments_are_positional_too():
    v = tf.Variable(3.0)
    with tf.GradientTape(True, False) as tape:
        tape.watch(v)
        y = v * v
    assert tape.gradient(y, v).numpy() == 6.0
    assert tape.gradient(y, v).numpy() == 6.0  # persistent
    with tf.GradientTape(False, False) as tape:
        y = v * v
    assert tape.gradient(y, v) is None  # watch_accessed_variables


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (
            tf.GradientTape.__init__,
            "self persistent=False watch_accessed_variables=True strict=False memory_limit=None",
        ),
        (tf.GradientTape.watch, "self tensor"),
        (
            tf.GradientTape.gradient,
            "self target sources output_gradients=None unconnected_gradients=NONE",
        ),
        (
            tf.GradientTape.jacobian,
            (
                "self target sources unconnected_gradients=NONE parallel_iterations=None "
                "experimental_use_pfor=True "
                "mode=auto memory_limit=None sparse=False"
            ),
        ),
        (
            tf.GradientTape.batch_jacobian,
            (
                "self target source unconnected_gradients=NONE parallel_iterations=None "
                "experimental_use_pfor=True "
                "mode=auto memory_limit=None check_independence=True"
            ),
        ),
    ],
    ids=["__init__", "watch", "gradient", "jacobian", "batch_jacobian"],
)
def test_the_arguments_and_their_defaults(function, expected):
    def text(parameter):
        default = getattr(parameter.default, "name", parameter.default)
        return parameter.name if default is parameter.empty else f"{parameter.name}={default}"

    assert " ".join(map(text, inspect.signature(function).parameters.values())) == expected


def test_autodiff_has_the_same_class():
    assert tf.autodiff.GradientTape is tf.GradientTape


def test_entering_returns_the_tape():
    tape = tf.GradientTape()
    with tape as entered:
        assert entered is tape


def test_a_recording_tape_cannot_be_entered_again():
    with tf.GradientTape() as tape, pytest.raises(ValueError, match="already"), tape:
        pass


def test_an_exception_passes_and_the_tape_can_still_be_differentiated():
    x = tf.Variable(3.0)
    tape = tf.GradientTape()
    with pytest.raises(KeyError), tape:
        y = x * x
        raise KeyError
    z = y * x  # after the block: not recorded
    assert tape.gradient(y, x).numpy() == 6.0
    assert z.numpy() == 27.0


def test_an_exception_ends_the_recording():
    x = tf.Variable(3.0)
    tape = tf.GradientTape()
    with pytest.raises(KeyError), tape:
        raise KeyError
    y = x * x
    assert tape.gradient(y, x) is None


def test_entering_again_continues_the_recording():
    x = tf.constant(3.0)
    tape = tf.GradientTape()
    with tape:
        tape.watch(x)
        y = x * x
    with tape:
        z = y * x
    assert tape.gradient(z, x).numpy() == 27.0


def test_entering_a_consumed_tape_starts_a_new_recording():
    tape, x, y = squared()
    tape.gradient(y, x)
    with tape:
        z = x * x  # x is not watched any more
    assert tape.gradient(z, x) is None


def test_a_new_recording_of_the_same_tape_works():
    tape, x, y = squared()
    tape.gradient(y, x)
    with tape:
        tape.watch(x)
        z = x * x * x
    assert tape.gradient([z, y], x).numpy() == 27.0  # y belongs to the recording that is gone


def test_tapes_need_not_be_left_in_the_order_of_entering():
    x = tf.constant(2.0)
    one, two = tf.GradientTape(), tf.GradientTape()
    one.__enter__()
    one.watch(x)
    two.__enter__()
    two.watch(x)
    y = x * x
    one.__exit__(None, None, None)
    z = y * x  # seen by `two` alone
    two.__exit__(None, None, None)
    assert one.gradient([y, z], x).numpy() == 4.0
    assert two.gradient(z, x).numpy() == 12.0


# watch


def test_watch_returns_none():
    with tf.GradientTape() as tape:
        assert tape.watch(tf.constant(1.0)) is None


@pytest.mark.parametrize(
    "arrange",
    [
        lambda a, b: [a, b],
        lambda a, b: (a, b),
        lambda a, b: {"a": a, "b": b},
        Pair,
        lambda a, b: [a, {"b": (b, [])}],
    ],
    ids=["list", "tuple", "dict", "namedtuple", "nested"],
)
def test_watch_takes_a_structure(arrange):
    a, b = tf.constant(2.0), tf.Variable(5.0, trainable=False)
    with tf.GradientTape() as tape:
        tape.watch(arrange(a, b))
        y = a * b
    da, db = tape.gradient(y, [a, b])
    assert (da.numpy(), db.numpy()) == (5.0, 2.0)


@pytest.mark.parametrize("nothing", [[], (), {}])
def test_watching_nothing_is_fine(nothing):
    with tf.GradientTape() as tape:
        tape.watch(nothing)


@pytest.mark.parametrize(
    "leaf", [1.0, 1, "x", None, np.ones(2, np.float32), np.float32(1.0), print], ids=repr
)
def test_watch_refuses_what_is_no_tensor(leaf):
    with tf.GradientTape() as tape:
        with pytest.raises(ValueError):
            tape.watch(leaf)
        with pytest.raises(ValueError):
            tape.watch([tf.constant(1.0), leaf])


def test_watch_before_entering_is_an_attribute_error():
    with pytest.raises(AttributeError):
        tf.GradientTape().watch(tf.constant(1.0))


def test_watch_after_the_block_is_allowed_and_too_late():
    x = tf.constant(3.0)
    with tf.GradientTape() as tape:
        y = x * x
    tape.watch(x)
    assert tape.gradient(y, x) is None


def test_watch_after_a_gradient_inside_the_block_is_an_attribute_error():
    x = tf.constant(3.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        tape.gradient(x * x, x)
        with pytest.raises(AttributeError):
            tape.watch(x)


def test_ops_before_watch_are_not_recorded():
    x = tf.constant(3.0)
    with tf.GradientTape() as tape:
        y = x * x
        tape.watch(x)
        z = y * x
    assert tape.gradient(z, x).numpy() == 9.0


def test_watching_an_intermediate_result_does_not_cut_it_off():
    x = tf.constant(3.0)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = x * x
        tape.watch(y)
        z = y * y
    assert tape.gradient(z, y).numpy() == 18.0
    assert tape.gradient(z, x).numpy() == 108.0


def test_watching_twice_is_watching_once():
    x = tf.constant(3.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        tape.watch([x, x])
        y = x * x
    assert tape.gradient(y, x).numpy() == 6.0


def test_watching_a_variable_that_was_read_keeps_the_earlier_reads():
    v = tf.Variable(3.0)
    with tf.GradientTape() as tape:
        y = v * v
        tape.watch(v)
        z = y * v
    assert tape.gradient(z, v).numpy() == 27.0


def test_a_tensor_that_an_earlier_tape_watched_can_be_watched_again():
    _, x, _ = squared()
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x * x * x
    assert tape.gradient(y, x).numpy() == 27.0


def test_watching_an_integer_warns_and_gives_no_gradient(caplog):
    x = tf.constant(3)
    with caplog.at_level(logging.WARNING, "gradtape"), tf.GradientTape() as tape:
        tape.watch(x)
        y = x * x
    assert "int32" in caplog.text
    assert tape.gradient(y, x) is None


def test_that_warning_comes_five_times_for_each_line(caplog):
    x = tf.constant(3)
    with caplog.at_level(logging.WARNING, "gradtape"), tf.GradientTape() as tape:
        for _ in range(8):
            tape.watch(x)
        assert len(caplog.records) == 5
        tape.watch(x)  # another line
        assert len(caplog.records) == 6
    assert __file__ in caplog.text


def test_watching_a_float_does_not_warn(caplog):
    with caplog.at_level(logging.WARNING, "gradtape"), tf.GradientTape() as tape:
        tape.watch([tf.constant(1.0), tf.constant(1.0j), tf.Variable(1.0, dtype=tf.float16)])
    assert not caplog.records


def test_watching_indexed_slices_watches_their_parts(caplog):
    slices = tf.IndexedSlices(tf.constant([1.0, 2.0]), tf.constant([0, 2]), tf.constant([3]))
    with caplog.at_level(logging.WARNING, "gradtape"), tf.GradientTape() as tape:
        tape.watch(slices)
        y = tf.reduce_sum(slices.values * slices.values)
    assert is_equal(tape.gradient(y, slices.values), [2.0, 4.0])
    assert len(caplog.records) == 2  # the integer indices and shape


class KerasLike:
    """Stands for a Keras variable, which names the Variable that it wraps."""

    def __init__(self, value):
        self.__gradtape_variable__ = tf.Variable(value)


def test_watch_takes_what_wraps_a_variable():
    kernel = KerasLike(3.0)
    with tf.GradientTape(watch_accessed_variables=False) as tape:
        tape.watch([kernel])
        y = kernel.__gradtape_variable__ * 2.0
    assert tape.watched_variables() == (kernel.__gradtape_variable__,)
    assert tape.gradient(y, {"kernel": kernel})["kernel"].numpy() == 2.0


# stop_recording


def test_stop_recording_before_entering_is_a_runtime_error():
    with pytest.raises(RuntimeError), tf.GradientTape().stop_recording():
        pass


def test_stop_recording_after_the_block_is_a_value_error():
    with tf.GradientTape() as tape:
        pass
    with pytest.raises(ValueError), tape.stop_recording():
        pass


def test_nothing_is_recorded_or_watched_while_recording_is_stopped():
    x, v = tf.constant(3.0), tf.Variable(2.0)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        with tape.stop_recording():
            y = x * v
        z = y * x
    assert tape.gradient(y, x) is None
    assert tape.gradient(z, x).numpy() == 6.0
    assert tape.watched_variables() == ()


def test_recording_resumes_after_an_exception():
    x = tf.constant(3.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        with pytest.raises(KeyError), tape.stop_recording():
            raise KeyError
        y = x * x
    assert tape.gradient(y, x).numpy() == 6.0


def test_stop_recording_leaves_other_tapes_alone():
    x = tf.constant(3.0)
    with tf.GradientTape() as outer, tf.GradientTape() as inner:
        outer.watch(x)
        inner.watch(x)
        with inner.stop_recording():
            y = x * x
    assert inner.gradient(y, x) is None
    assert outer.gradient(y, x).numpy() == 6.0


def test_stop_recording_of_the_outer_tape_leaves_the_inner_one_alone():
    x = tf.constant(3.0)
    with tf.GradientTape() as outer, tf.GradientTape() as inner:
        outer.watch(x)
        inner.watch(x)
        with outer.stop_recording():
            y = x * x
        z = x * x * x
    assert inner.gradient([y, z], x).numpy() == 33.0
    assert outer.gradient([y, z], x).numpy() == 27.0


def test_stop_recording_leaves_an_accumulator_alone():
    x = tf.constant(3.0)
    with (
        tf.autodiff.ForwardAccumulator(x, tf.constant(1.0)) as accumulator,
        tf.GradientTape() as tape,
    ):
        tape.watch(x)
        with tape.stop_recording():
            y = x * x
    assert tape.gradient(y, x) is None
    assert accumulator.jvp(y).numpy() == 6.0


def test_the_gradient_of_a_persistent_tape_while_recording_is_stopped_is_not_recorded(caplog):
    x = tf.constant(3.0)
    with caplog.at_level(logging.WARNING, "gradtape"), tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = x * x
        with tape.stop_recording():
            dx = tape.gradient(y, x)
        z = y * dx
    assert not caplog.records
    assert tape.gradient(dx, x) is None
    assert tape.gradient(z, x).numpy() == 36.0


def test_stop_recording_keeps_a_tape_in_its_place_outside_an_accumulator():
    x = tf.constant(3.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        with tf.autodiff.ForwardAccumulator(x, tf.constant(1.0)) as accumulator:
            with tape.stop_recording():
                pass
            y = x * x * x
        dx = accumulator.jvp(y)
    assert dx.numpy() == 27.0
    assert tape.gradient(dx, x).numpy() == 18.0


# reset


def test_reset_forgets_what_was_recorded_and_watched():
    x, v, w = tf.constant(3.0), tf.Variable(2.0), tf.Variable(5.0)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = x * v
        tape.reset()
        z = x * w + y
    assert tape.watched_variables() == (w,)
    assert tape.gradient(z, [x, v]) == [None, None]
    assert tape.gradient(z, w).numpy() == 3.0


@pytest.mark.parametrize("enter", [False, True], ids=["never entered", "left"])
def test_reset_outside_the_block_is_a_value_error(enter):
    tape = tf.GradientTape()
    if enter:
        with tape:
            pass
    with pytest.raises(ValueError):
        tape.reset()


# watched_variables


def test_watched_variables_come_in_the_order_of_creation():
    a, b, c = (tf.Variable(1.0) for _ in range(3))
    with tf.GradientTape() as tape:
        _ = c * a + b
    watched = tape.watched_variables()
    assert isinstance(watched, tuple)
    assert [v.ref() for v in watched] == [a.ref(), b.ref(), c.ref()]


def test_watched_variables_is_empty_before_entering():
    assert tf.GradientTape().watched_variables() == ()


def test_watched_variables_outlive_the_gradient():
    v = tf.Variable(3.0)
    with tf.GradientTape() as tape:
        y = v * v
    tape.gradient(y, v)
    assert [w.ref() for w in tape.watched_variables()] == [v.ref()]


def test_variables_that_are_not_trainable_are_only_watched_on_request():
    v = tf.Variable(3.0, trainable=False)
    with tf.GradientTape() as tape:
        y = v * v
    assert tape.watched_variables() == ()
    assert tape.gradient(y, v) is None
    with tf.GradientTape() as tape:
        tape.watch(v)
        y = v * v
    assert [w.ref() for w in tape.watched_variables()] == [v.ref()]
    assert tape.gradient(y, v).numpy() == 6.0


def test_a_trainable_integer_variable_is_listed_without_a_gradient():
    v = tf.Variable(3)
    with tf.GradientTape() as tape:
        y = tf.cast(v, tf.float32) * 2.0
    assert [w.ref() for w in tape.watched_variables()] == [v.ref()]
    assert tape.gradient(y, v) is None


@pytest.mark.parametrize(
    ("access", "counts"),
    [
        (lambda v: v.read_value(), True),
        (lambda v: v.value(), True),
        (lambda v: v + 1.0, True),
        (lambda v: v[0], True),
        (tf.convert_to_tensor, True),
        (lambda v: v.sparse_read(tf.constant([0])), True),
        (lambda v: v.gather_nd(tf.constant([[0]])), True),
        (lambda v: v.assign([1.0, 2.0]), True),
        (lambda v: v.assign_add([1.0, 2.0]), True),
        (lambda v: v.assign_sub([1.0, 2.0]), True),
        (lambda v: v.scatter_add(tf.IndexedSlices(tf.constant([1.0]), tf.constant([0]))), True),
        (lambda v: v.scatter_nd_add(tf.constant([[0]]), tf.constant([1.0])), True),
        (lambda v: v.assign([1.0, 2.0], read_value=False), False),
        (lambda v: v.assign_add([1.0, 2.0], read_value=False), False),
        (lambda v: v.assign_sub([1.0, 2.0], read_value=False), False),
        (lambda v: (v.shape, v.dtype, v.name, v.trainable), False),
    ],
)
def test_what_counts_as_an_access(access, counts):
    v = tf.Variable([1.0, 2.0])
    with tf.GradientTape() as tape:
        access(v)
    assert len(tape.watched_variables()) == counts


# How long a recording lives


def test_a_tape_gives_one_gradient():
    tape, x, y = squared()
    tape.gradient(y, x)
    with pytest.raises(RuntimeError, match="persistent"):
        tape.gradient(y, x)


def test_a_persistent_tape_gives_many():
    tape, x, y = squared(persistent=True)
    assert [tape.gradient(y, x).numpy() for _ in range(3)] == [6.0] * 3


def test_gradient_before_entering_is_a_runtime_error():
    with pytest.raises(RuntimeError):
        tf.GradientTape().gradient(tf.constant(1.0), tf.constant(1.0))


def test_gradient_inside_the_block_ends_the_recording():
    x = tf.constant(3.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x * x
        assert tape.gradient(y, x).numpy() == 6.0
        with pytest.raises(RuntimeError):
            tape.gradient(y, x)
    with tape:
        pass
    assert tape.gradient(y, x) is None


def test_gradient_of_a_persistent_tape_inside_the_block_warns_and_is_recorded(caplog):
    x = tf.constant(3.0)
    with caplog.at_level(logging.WARNING, "gradtape"), tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = x * x * x
        for _ in range(3):
            dx = tape.gradient(y, x)
    assert dx.numpy() == 27.0
    assert tape.gradient(dx, x).numpy() == 18.0
    assert len(caplog.records) == 1  # once for the line


def test_after_a_gradient_that_failed_the_next_one_says_what_failed():
    @tf.custom_gradient
    def failing(x):
        def grad(upstream):
            raise KeyError("the grid is open")

        return x * 1.0, grad

    x = tf.constant(3.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = failing(x)
    with pytest.raises(KeyError):
        tape.gradient(y, x)
    with pytest.raises(RuntimeError, match="the grid is open"):
        tape.gradient(y, x)


def test_a_gradient_with_wrong_arguments_does_not_use_up_the_tape():
    tape, x, y = squared()
    for wrong in (
        {"sources": None},
        {"sources": x, "unconnected_gradients": "maybe"},
        {"sources": x, "output_gradients": tf.ones([3])},
    ):
        with pytest.raises((TypeError, ValueError, tf.errors.InvalidArgumentError)):
            tape.gradient(y, **wrong)
    assert tape.gradient(y, x).numpy() == 6.0
