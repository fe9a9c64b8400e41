"""Values that leave a tape: which conversions are noted, on which tapes,
and what a strict tape says.
"""

import copy
import math
import pickle
import threading
from pathlib import Path

import numpy as np
import pytest
import scipy.linalg
import scipy.special

import gradtape as tf
from gradtape.core.departures import DepartureError, leaving

CONVERSIONS = {
    "numpy": lambda x: x.numpy(),
    "__array__": np.asarray,
    "float": float,
    "int": int,
    "complex": complex,
    "__dlpack__": np.from_dlpack,
}


@pytest.mark.parametrize("method", CONVERSIONS)
def test_a_conversion_is_noted(method):
    x = tf.Variable(2.0)
    with tf.GradientTape() as tape:
        CONVERSIONS[method](x * x)
    (left,) = tape.departures()
    assert (left.method, left.shape, left.dtype, left.count) == (method, (), tf.float32, 1)


@pytest.mark.parametrize("method", CONVERSIONS)
def test_a_variable_leaves_like_a_tensor(method):
    x = tf.Variable(2.0)
    with tf.GradientTape() as tape:
        CONVERSIONS[method](x)
    assert [left.method for left in tape.departures()] == [method]
    assert tape.watched_variables() == (x,)


@pytest.mark.parametrize("method", CONVERSIONS)
def test_a_strict_tape_raises(method):
    x = tf.Variable(2.0)
    with tf.GradientTape(strict=True) as tape, pytest.raises(DepartureError) as caught:
        CONVERSIONS[method](x * x)
    message = str(caught.value)
    assert message.startswith(f"{method}: a tensor of shape () and dtype float32")
    assert Path(__file__).name in message
    assert all(word in message for word in ("stop_gradient", "stop_recording", "Keep it a tensor"))
    assert tape.departures() == ()


def test_a_strict_tape_gives_gradients_otherwise():
    x = tf.Variable(3.0)
    with tf.GradientTape(strict=True) as tape:
        y = x * x
        shown = f"{y} {y!r} {y:.1f}"
        if y > 1:
            y = y * 2
        tf.stop_gradient(y).numpy()
        with tape.stop_recording():
            assert y.numpy() == 18
    assert "9.0" in shown
    assert tape.gradient(y, x).numpy() == 12


def test_the_place_is_a_line_of_the_user():
    def logged(value):
        return math.sin(value)

    x = tf.Variable(2.0)
    with tf.GradientTape() as tape:
        logged(x * x)
    (left,) = tape.departures()
    assert left.location.file == __file__
    assert left.location.line == logged.__code__.co_firstlineno + 1
    assert left.location.function.endswith("logged")


def test_numpy_own_frames_are_not_the_user():
    x = tf.Variable([1.0, 2.0])
    with tf.GradientTape() as tape:
        np.testing.assert_array_equal((x + 1).numpy(), [2.0, 3.0])
        np.atleast_1d([x[0], x[1]])
    assert {left.location.file for left in tape.departures()} == {__file__}


def test_a_loop_is_one_note():
    x = tf.Variable([1.0, 2.0, 3.0])
    with tf.GradientTape() as tape:
        for i in range(100):
            (x[: i % 3]).numpy()
        x.numpy()
    first, second = tape.departures()
    assert (first.count, first.shape, second.count, second.shape) == (100, (0,), 1, (3,))
    assert second.location.line == first.location.line + 1


def test_a_function_of_the_library_gives_its_name():
    x = tf.Variable(2.0)
    with tf.GradientTape() as tape:
        tf.numpy_function(np.sin, [x * x], tf.float32)
        tf.constant(x)
    assert [left.method for left in tape.departures()] == ["numpy_function", "constant"]
    assert {left.location.file for left in tape.departures()} == {__file__}


@pytest.mark.parametrize(
    ("method", "call"),
    [
        ("item", lambda x: x.item(0)),
        ("tolist", lambda x: x.tolist()),
        ("tobytes", lambda x: x.tobytes()),
        # One of the few without a derivative.
        ("numpy.mathieu_a", lambda x: scipy.special.mathieu_a(1, x)),
        ("__array__", lambda x: np.random.default_rng(0).normal(x)),
    ],
)
def test_methods_and_functions_of_numpy_on_values(method, call):
    x = tf.Variable([1.0, 2.0, 3.0])
    with tf.GradientTape() as tape:
        call(x * x)
    (left,) = tape.departures()
    assert (left.method, left.location.line) == (method, call.__code__.co_firstlineno)
    with tf.GradientTape(strict=True), pytest.raises(DepartureError, match=f"^{method}: "):
        call(x * x)


def test_recorded_functions_of_numpy_leave_nothing():
    x = tf.Variable([1.0, 2.0, 3.0])
    with tf.GradientTape(strict=True) as tape:
        y = np.sum(np.tanh(x) ** 2) + np.argmax(x) + np.count_nonzero(x > 1) + np.sort(x)[0]
        assert np.allclose(x, x)
    assert tape.gradient(y, x) is not None


def test_a_dotted_name_is_kept():
    def public():
        leaving(y, "numpy.digitize")

    x = tf.Variable(2.0)
    with tf.GradientTape() as tape:
        y = x * x
        public()
    assert tape.departures()[0].method == "numpy.digitize"


def test_what_is_not_noted():
    x, followed = tf.Variable([1.0, 2.0]), tf.constant(3.0)
    steps = tf.Variable(3, trainable=False)
    frozen = tf.Variable(1.0, trainable=False)
    y = x * x
    with tf.GradientTape() as tape:
        tape.watch(followed)
        y.numpy()  # made before the tape
        tf.constant(1.0).numpy()
        float(frozen)
        int(steps)
        list(range(steps))
        tf.zeros([steps])
        tf.argmax(x).numpy()
        (x > 1).numpy()
        assert bool(tf.reduce_all(x > 0))
        assert bool(followed)
        z = x * followed
        repr(z), str(z), f"{z}", tf.print(z)
        copy.copy(z), copy.deepcopy(z), pickle.dumps(z)
        tf.debugging.assert_near(z, z)
        tf.stop_gradient(z).numpy()
        with tape.stop_recording():
            z.numpy(), np.asarray(z), x.numpy()
        with tf.init_scope():
            z.numpy()
        x.assign([followed, followed * 2])  # nothing flows back to what is assigned
        tf.Variable([followed, followed * 2])
    assert tape.departures() == ()
    z.numpy()  # after the block
    assert tape.departures() == ()


def test_every_tape_that_records_it_notes():
    x = tf.constant(2.0)
    with tf.GradientTape() as outer:
        outer.watch(x)
        y = x * x
        with tf.GradientTape() as inner:
            y.numpy()  # not the inner tape's
            inner.watch(y)
            (y * y).numpy()
            with outer.stop_recording():
                (y * y).numpy()
    assert [left.count for left in outer.departures()] == [1, 1]
    assert len(inner.departures()) == 2
    assert outer.departures()[1] == inner.departures()[0]


def test_a_strict_outer_tape_raises_inside_a_lenient_one():
    x = tf.Variable(2.0)
    with tf.GradientTape(strict=True), tf.GradientTape() as inner, pytest.raises(DepartureError):
        (x * x).numpy()
    assert inner.departures() == ()


def test_an_accumulator_notes_nothing_and_does_not_disturb():
    x = tf.constant(2.0)
    with tf.autodiff.ForwardAccumulator(x, tf.constant(1.0)):
        (x * x).numpy()
        with tf.GradientTape() as tape:
            (x * x).numpy()  # the accumulator's, not the tape's
            tape.watch(x)
            (x * x).numpy()
    assert len(tape.departures()) == 1


def test_another_thread_does_not_note():
    x = tf.Variable(2.0)
    with tf.GradientTape() as tape:
        y = x * x
        thread = threading.Thread(target=y.numpy)
        thread.start()
        thread.join()
    assert tape.departures() == ()


def test_notes_outlive_the_gradient_and_end_with_the_recording():
    x = tf.Variable(2.0)
    tape = tf.GradientTape()
    assert tape.departures() == ()
    with tape:
        y = x * x
        y.numpy()
    tape.gradient(y, x)
    assert len(tape.departures()) == 1
    with tape:
        pass
    assert tape.departures() == ()
    with tape:
        (x * x).numpy()
        tape.reset()
        assert tape.departures() == ()


def test_a_backward_step_of_the_user_is_noted_by_the_outer_tape():
    @tf.custom_gradient
    def f(x):
        return x * x, lambda g: g * float(x) * 2

    x = tf.constant(3.0)
    with tf.GradientTape() as outer:
        outer.watch(x)
        with tf.GradientTape() as inner:
            inner.watch(x)
            y = f(x)
        gradient = inner.gradient(y, x)
    assert gradient.numpy() == 6
    assert [left.method for left in outer.departures()] == ["float"]


@pytest.mark.parametrize("strict", [False, True])
def test_functions_of_scipy_leave_at_the_users_line(strict):
    x = tf.Variable([[0.5, 1.0], [0.0, 2.0]])
    with tf.GradientTape(strict=strict) as tape:
        if strict:
            with pytest.raises(
                DepartureError, match=rf"^scipy.linalg.expm: .*{Path(__file__).name}"
            ):
                scipy.linalg.expm(x * x)
        else:
            scipy.linalg.expm(x * x)
    assert [(left.method, Path(left.location.file).name) for left in tape.departures()] == (
        [] if strict else [("scipy.linalg.expm", Path(__file__).name)]
    )


def doubled(value):
    return value * 2


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("shape", [(), (2,), (2, 0)])
def test_frompyfunc_leaves(shape, strict):
    x = tf.Variable(tf.ones(shape))
    function = np.frompyfunc(doubled, 1, 1)
    with tf.GradientTape(strict=strict) as tape:
        if strict and 0 not in shape:
            with pytest.raises(DepartureError, match=r"^numpy.frompyfunc\(doubled\): "):
                function(x * x)
        else:
            assert np.asarray(function(x * x)).tolist() == np.full(shape, 2.0).tolist()
    noted = [] if strict or 0 in shape else ["numpy.frompyfunc(doubled)"]
    assert [left.method for left in tape.departures()] == noted


def test_frompyfunc_with_nothing_to_lose_is_not_noted():
    x = tf.Variable([1.0, 2.0])
    with tf.GradientTape(strict=True):
        assert np.frompyfunc(lambda v: v > 1, 1, 1)(x).tolist() == [False, True]
        assert np.frompyfunc(str, 1, 1)(x).tolist() == ["1.0", "2.0"]
    with tf.GradientTape() as tape:
        np.frompyfunc(lambda v: (v, v > 1), 1, 2)(x)
    assert [left.count for left in tape.departures()] == [1]
