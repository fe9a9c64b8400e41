"""Why a function is not compiled is kept as text: nothing of the calls in which it was found out
stays alive.
"""

import gc
import weakref

import pytest

import gradtape as tf
from gradtape.core.location import locate
from gradtape.engines.xla.engine import NotTraceableError
from gradtape.functions.reason import NoGradientError, NotCompiled

from .open_programs import PROGRAMS, SHAPE


class Large:
    """Something of the user's that must not be kept."""


def failing(error):
    raise error


@pytest.mark.parametrize("kind", [NotTraceableError, NoGradientError, LookupError])
def test_a_reason_has_the_text_and_the_line(kind):
    with pytest.raises(kind) as caught:
        failing(kind("it has no size"))
    reason = NotCompiled.of(caught.value)
    assert reason.text == "it has no size"
    line = failing.__code__.co_firstlineno + 1
    assert str(reason) == f"{__file__}:{line}, in failing: it has no size"


def test_a_text_that_names_a_line_of_the_file_is_not_given_another():
    place = locate(failing.__code__, 0)
    assert str(NotCompiled(f"op at {place}: no size", place)) == f"op at {place}: no size"
    assert str(NotCompiled("no size", None)) == "no size"


def test_of_other_errors_the_text_is_not_the_users():
    assert (
        "known only when the compiled program runs" in NotCompiled.of(ValueError("tracer 7")).text
    )


def plain(f, arguments):
    f(*arguments)


def under_a_tape(f, arguments):
    with tf.GradientTape() as tape:
        tape.watch(arguments[0])
        y = f(*arguments)
    assert tape.gradient(y, arguments[0]) is not None


def under_a_persistent_tape(f, arguments):
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(arguments[0])
        y = f(*arguments)
    tape.gradient(y, arguments[0])


def inside_another(f, arguments):
    outer = tf.function(lambda *given: 2.0 * f(*given))
    outer(*arguments)
    outer(*arguments)


def inside_one_that_must_compile(f, arguments):
    f(*arguments)
    outer = tf.function(lambda *given: 2.0 * f(*given), jit_compile=True)
    for _ in range(2):
        with pytest.raises((TypeError, ValueError, tf.errors.InvalidArgumentError)):
            outer(*arguments)


@pytest.mark.sampled(8)
@pytest.mark.parametrize(
    "way",
    [
        plain,
        under_a_tape,
        under_a_persistent_tape,
        inside_another,
        inside_one_that_must_compile,
    ],
)
@pytest.mark.parametrize("name", PROGRAMS)
def test_nothing_of_a_caller_is_kept(name, way):
    f = tf.function(PROGRAMS[name].function)

    def call():
        mine = Large()
        if PROGRAMS[name].kind != SHAPE and way is inside_one_that_must_compile:
            plain(f, PROGRAMS[name].tensors(0))
        else:
            way(f, PROGRAMS[name].tensors(0))
        return weakref.ref(mine)

    reference = call()
    gc.collect()
    assert reference() is None
    f(*PROGRAMS[name].tensors(0))  # and the function, which is still there, runs again


def test_a_tape_of_the_caller_is_gone():
    f = tf.function(lambda x: tf.boolean_mask(x, x > 0.0))
    x = tf.constant([1.0, -1.0])

    def call():
        with tf.GradientTape(persistent=True) as tape:
            tape.watch(x)
            f(x)
        return weakref.ref(tape)

    reference = call()
    gc.collect()
    assert reference() is None


def test_two_failures_of_one_inner_function_do_not_grow_its_error():
    inner = tf.function(lambda x: tf.boolean_mask(x, x > 0.0))
    inner(tf.constant([1.0, -1.0]))
    outer = tf.function(lambda x: inner(x) * 2.0, jit_compile=True)
    lengths = []
    for _ in range(3):
        with pytest.raises(TypeError, match="boolean_mask: mask") as caught:
            outer(tf.constant([1.0, -1.0]))
        lengths.append(len(caught.traceback))
    assert len(set(lengths)) == 1
