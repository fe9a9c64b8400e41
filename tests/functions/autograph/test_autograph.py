"""Python's control flow in a function gives what it gives in eager code: values, and gradients with
tapes outside and inside.
"""

# ruff: noqa: PLC3002 - statements are written as the test needs them

from __future__ import annotations

import functools
import linecache
import logging
import runpy
import textwrap
import threading
import traceback

import numpy as np
import pytest

import gradtape as tf

from .autograph_cases import (
    CASES,
    ERRORS,
    Model,
    X,
    calls_other_functions,
    elif_chain,
    for_with_break,
    helper,
)


def tensors(given):
    return [
        tf.constant(value, tf.int32 if isinstance(value, int) else tf.float64) for value in given
    ]


def floats(args):
    return [arg for arg in args if arg.dtype.is_floating]


def total(result):
    return tf.add_n([tf.reduce_sum(tf.cast(leaf, tf.float64)) for leaf in tf.nest.flatten(result)])


def outside(f, args):
    with tf.GradientTape() as tape:
        tape.watch(floats(args))
        y = total(f(*args))
    return tape.gradient(y, floats(args), unconnected_gradients="zero")


def assert_same(actual, expected):
    tf.nest.assert_same_structure(actual, expected)
    for a, value in zip(tf.nest.flatten(actual), tf.nest.flatten(expected), strict=True):
        b = tf.convert_to_tensor(value)
        assert a.dtype == b.dtype
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-10, atol=1e-12)


@pytest.mark.sampled(6)
@pytest.mark.parametrize("name", CASES)
def test_agrees_with_eager_code(name):
    f, inputs, differentiable = CASES[name]
    compiled, inside = tf.function(f), tf.function(lambda *args: outside(f, args))
    for given in inputs:
        args = tensors(given)
        assert_same(compiled(*args), f(*args))
        if differentiable:
            expected = outside(f, args)
            assert_same(outside(compiled, args), expected)
            assert_same(inside(*args), expected)


SECOND_ORDER = [
    "if_else",
    "while_bounded",
    "for_rows",
    "for_with_break",
    "structures_in_loops",
    "nested_loops",
    "for_with_return",
]


@pytest.mark.parametrize("name", SECOND_ORDER)
def test_second_order_and_forward_mode(name):
    f, inputs, _ = CASES[name]
    (x,) = tensors(inputs[0])
    compiled = tf.function(f)
    assert_same(
        outside(lambda v: outside(compiled, [v]), [x]), outside(lambda v: outside(f, [v]), [x])
    )
    for run in (f, compiled):
        with tf.autodiff.ForwardAccumulator(x, tf.ones_like(x)) as accumulator:
            y = total(run(x))
        tangent = accumulator.jvp(y)
        np.testing.assert_allclose(tangent.numpy(), np.sum(outside(f, [x])[0].numpy()), rtol=1e-10)


def one_example(value, others):
    y = value
    if value > 0:
        y = y * value
    for other in others:
        y = y + other * value
        if y > 3:
            break
    while y < 1:
        tf.autograph.experimental.set_loop_options(maximum_iterations=10)
        y = y + 0.5 * value * value
    for row in [value, others][-1:]:
        for entry in tf.stack([y, value]):
            y = y * 1.5 + entry * row[0]
    return y


def test_vmap_in_a_function():
    (x,) = tensors([X])

    def one_by_one(x):
        return tf.stack([one_example(value, x) for value in x])

    def together(x):
        return tf.vectorized_map(lambda value: one_example(value, x), x)

    assert_same(tf.function(together)(x), one_by_one(x))
    assert_same(outside(tf.function(together), [x]), outside(one_by_one, [x]))
    per_example = tf.function(
        lambda x: tf.vectorized_map(
            lambda value: outside(lambda v: one_example(v, x), [value])[0], x
        )
    )
    assert_same(
        per_example(x), tf.stack([outside(lambda v: one_example(v, x), [value])[0] for value in x])
    )


def test_variables_in_branches_and_loops():
    v, count = tf.Variable(1.0, dtype=tf.float64), tf.Variable(0)

    def step(x):
        if x > 0:
            v.assign(v * x)
        else:
            v.assign_sub(1.0)
            count.assign_add(1)
        for value in [x, x * 2]:
            if v > value:
                v.assign_add(value)
        for i in tf.range(3):
            count.assign_add(i)
            v.assign(v * 0.5 + x)
        while count < 10:
            count.assign_add(2)
        return v + 1

    compiled = tf.function(step)
    found = {}
    for run in (step, compiled):
        v.assign(1.5)
        count.assign(0)
        found[run] = [
            (run(tf.constant(x, tf.float64)).numpy(), v.numpy(), count.numpy())
            for x in (2.0, -1.0, 3.0)
        ]
    np.testing.assert_allclose(found[compiled], found[step])


def test_gradients_by_variables_in_branches_and_loops():
    v = tf.Variable([1.0, 2.0], dtype=tf.float64)

    def loss(x):
        y = x
        for _ in tf.range(3):
            if tf.reduce_sum(y) < 5:
                y = y * v + x
        return y

    for x in (tf.constant([1.0, 1.0], tf.float64), tf.constant([9.0, 1.0], tf.float64)):
        gradients = []
        for run in (loss, tf.function(loss)):
            with tf.GradientTape() as tape:
                y = run(x)
            gradients.append(tape.gradient(y, v, unconnected_gradients="zero"))
        assert_same(gradients[1], gradients[0])


def test_a_variable_is_a_condition():
    flag, limit = tf.Variable(True), tf.Variable(3)

    @tf.function
    def f(x):
        i = 0
        while i < limit:
            x = x * 2
            i += 1
        return x if flag else -x

    assert f(tf.constant(1.0)).numpy() == 8
    flag.assign(False)
    limit.assign(1)
    assert f(tf.constant(1.0)).numpy() == -2


def test_a_block_sees_its_variables_as_they_were():
    """Backward steps run bodies again, when the variables of the function hold other things."""

    def f(x):
        gradients = []
        for scale in (2.0, 3.0):
            with tf.GradientTape(persistent=True) as tape:
                tape.watch(x)
                y = x * scale if x > 0 else x
                z = x
                for _ in tf.range(2):
                    z = z * x * scale
                if z > 0:
                    z = z * scale
            gradients.append((tape, y, z))
        scale, z = "gone", None
        return [tape.gradient([y, z], x) for tape, y, z in gradients]

    x = tf.constant(1.5, tf.float64)
    assert_same(tf.function(f)(x), f(x))


def test_a_method_is_a_function():
    class Layer:
        def __init__(self, scale):
            self.scale = tf.Variable(scale)

        @tf.function
        def __call__(self, x):
            return self.half(x) if x > 0 else x * self.scale

        def half(self, x):
            if x > 4:
                return x
            return x / 2

    layer, other = Layer(2.0), Layer(5.0)
    found = [call(tf.constant(x)).numpy() for call in (layer, other) for x in (2.0, 6.0, -1.0)]
    assert found == [1, 6, -2, 1, 6, -5]


def test_closures_globals_and_defaults_are_the_functions_own():
    @tf.function
    def f(x, k=2.0, *, shift=1.0):
        if x > 0:
            x = x * k + shift + outer + GLOBAL
        return x

    outer = 10.0
    assert f(tf.constant(1.0)).numpy() == 113
    assert f(tf.constant(1.0), k=3.0, shift=0.0).numpy() == 113
    outer = 20.0
    assert f(tf.constant([1.0])).numpy() == 123


GLOBAL = 100.0


def test_several_lambdas_in_a_line():
    f, g = tf.function(lambda x: x if x > 0 else -x), tf.function(lambda x: 2 * x if x > 0 else x)
    h = tf.function(lambda x: (lambda x: x if x < 0 else 3 * x)(x))
    found = [k(tf.constant(x)).numpy() for k in (f, g, h) for x in (2.0, -2.0)]
    assert found == [2, 2, 4, -2, 6, -2]


def defined_by_exec(source, name="f"):
    namespace = {"tf": tf}
    exec(source, namespace)
    return namespace[name]


def test_what_has_no_source_runs_as_it_is(caplog):
    f = defined_by_exec(
        "def f(x):\n    return x * 2\ndef g(x):\n    y = x\n    if x > 0:\n        y = f(x)\n    "
        "return y\n",
        "g",
    )
    compiled = tf.function(f)
    with caplog.at_level(logging.WARNING, "gradtape"):
        for x in (tf.constant(1.0), tf.constant([1.0])):
            with pytest.raises(
                tf.errors.OperatorNotAllowedInGraphError, match=r"<string>:5, in g: .*'g'.*source"
            ):
                compiled(x)
    (record,) = caplog.records
    assert "could not convert g" in record.getMessage()


def test_what_cannot_be_converted_runs_as_it_is(caplog):
    def f(x, kind):
        match kind:
            case "double":
                return x * 2
        return x

    def g(x):
        return f(x, "double") if x > 0 else f(x, "same")

    with caplog.at_level(logging.WARNING, "gradtape"):
        assert [tf.function(g)(tf.constant(x)).numpy() for x in (2.0, -2.0)] == [4, -2]
    (record,) = caplog.records
    assert f"a match statement (line {line_of(f, 'match kind')})" in record.getMessage()


def test_generators_run_as_they_are(caplog):
    def pairs(x):
        yield x, 1.0
        yield -x, 2.0

    @tf.function
    def f(x):
        total = 0.0
        for value, weight in pairs(x):
            if value > 0:
                total += value * weight
        return total

    with caplog.at_level(logging.WARNING, "gradtape"):
        assert (f(tf.constant(3.0)).numpy(), f(tf.constant(-3.0)).numpy()) == (3, 6)
    assert not caplog.records


def test_autograph_false_and_do_not_convert():
    def f(x):
        if x > 0:
            return x
        return -x

    line = f.__code__.co_firstlineno + 1
    with pytest.raises(
        tf.errors.OperatorNotAllowedInGraphError,
        match=rf"test_autograph.py:{line}, in .*autograph=False",
    ):
        tf.function(f, autograph=False)(tf.constant(1.0))
    marked = tf.autograph.experimental.do_not_convert(f)
    assert marked(tf.constant(-1.0)).numpy() == 1
    for compiled in (tf.function(marked), tf.function(lambda x: marked(x))):
        with pytest.raises(
            tf.errors.OperatorNotAllowedInGraphError,
            match=rf"test_autograph.py:{line}, in .*do_not_convert",
        ):
            compiled(tf.constant(1.0))


def test_assertions_are_checked_when_the_program_runs():
    @tf.function
    def f(x):
        for value in x:
            assert value > 0, "a negative one"
        assert tf.reduce_sum(x) < 10
        return x * 2

    assert f(tf.constant([1.0, 2.0])).numpy().tolist() == [2, 4]
    lines = [line_of(f.python_function, text) for text in ("value > 0", "reduce_sum")]
    with pytest.raises(
        tf.errors.InvalidArgumentError, match=rf"test_autograph.py:{lines[0]}.*a negative one"
    ):
        f(tf.constant([1.0, -2.0]))
    with pytest.raises(tf.errors.InvalidArgumentError, match=rf"test_autograph.py:{lines[1]}"):
        f(tf.constant([11.0, 2.0]))


def test_what_asks_for_values_is_named():
    @tf.function
    def f(x):
        y = x * 2
        return 1.0 if y in (3.0, 4.0) else x

    line = line_of(f.python_function, "in (3.0")
    with pytest.raises(
        tf.errors.OperatorNotAllowedInGraphError,
        match=rf"test_autograph.py:{line}, in .*for example `in`",
    ):
        f(tf.constant(2.0))


def test_to_graph_and_to_code():
    converted = tf.autograph.to_graph(helper)
    assert converted(tf.constant(3.0)).numpy() == 9
    assert tf.function(converted, autograph=False)(tf.constant(-3.0)).numpy() == -9
    assert "ag__.if_stmt" in tf.autograph.to_code(helper)
    assert tf.autograph.to_graph(Model(2.0).plain)(tf.constant(3.0)).numpy() == 6
    alone = tf.autograph.to_graph(calls_other_functions, recursive=False)
    with pytest.raises(tf.errors.OperatorNotAllowedInGraphError):
        tf.function(alone, autograph=False)(tf.constant(1.0))
    with pytest.raises(ValueError, match="to_graph: f cannot be converted"):
        tf.autograph.to_graph(defined_by_exec("def f(x): return x"))
    with pytest.raises(TypeError, match="to_code: entity"):
        tf.autograph.to_code(3)


def test_functions_run_eagerly():
    f = tf.function(for_with_break)
    (x,) = tensors([X])
    tf.config.run_functions_eagerly(True)
    try:
        assert_same(f(x), for_with_break(x))
    finally:
        tf.config.run_functions_eagerly(False)
    assert_same(f(x), for_with_break(x))


# Errors name the variable and the line.


def line_of(f, text):
    """Where a text stands in a function."""
    code = f.__code__
    lines = linecache.getlines(code.co_filename)
    return next(i for i in range(code.co_firstlineno, len(lines) + 1) if text in lines[i - 1])


@pytest.mark.parametrize("name", ERRORS)
def test_errors(name):
    f, error, line, words = ERRORS[name]
    place = "" if line is None else rf"autograph_cases.py:{line_of(f, line)}: "
    with pytest.raises(error, match=place + r"[\s\S]*" + words):
        tf.function(f)(tf.constant([1.0, 2.0]))


# The user's own lines


def test_recorded_ops_are_where_the_user_wrote_them():
    def f(x):
        y = x * 2
        if x > 0:  # the line of the call
            y = tf.exp(y)
        for _ in tf.range(2):
            y = tf.sin(y)
        z = (
            tf.cos(y)
            if x.shape == ()
            else y
        )  # fmt: skip
        found.extend(node.location() for node in (y.node, z.node))
        with tf.GradientTape() as tape:
            tape.watch(y)
            w = y if y.shape.rank else tf.tanh(y)
        found.append(w.node.location())
        return z

    found = []
    x = tf.constant(1.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        tf.function(f)(x)
    assert [(place.line, place.function) for place in found[:3]] == [
        (line_of(f, text), f.__qualname__) for text in ("for _ in", "tf.cos(y)", "tf.tanh(y)")
    ]
    assert {place.file for place in found} == {__file__}


def test_tracebacks_show_the_users_lines():
    def fails(value):
        if value > 0:
            value = value.no_such_attribute
        return value

    def f(x):
        for value in x:
            x = x * fails(value)
        return x

    with pytest.raises(AttributeError, match="no_such_attribute") as caught:
        tf.function(f)(tf.constant([1.0, 2.0]))
    shown = [
        (frame.lineno, frame.name)
        for frame in traceback.extract_tb(caught.value.__traceback__)
        if frame.filename == __file__
    ]
    expected = [("x * fails", f), ("no_such", fails)]
    assert [line for line, _ in shown[1:]] == [line_of(g, text) for text, g in expected]
    assert [name for _, name in shown[1:]] == [g.__name__ for _, g in expected]


def test_code_after_a_line_continuation():
    def f(x):
        # fmt: off
        y = x + \
            1
        # fmt: on
        if y > 0:
            z = y
        return z

    with pytest.raises(ValueError, match=rf"test_autograph.py:{line_of(f, 'if y')}: 'z'"):
        tf.function(f)(tf.constant(1.0))


def test_a_function_is_converted_once(caplog):
    def make(k):
        def f(x):
            return x * k if x > 0 else x

        return tf.function(f)

    tf.autograph.set_verbosity(1)
    try:
        with caplog.at_level(logging.INFO, "gradtape"):
            found = [make(k)(tf.constant(x)).numpy() for k in (2.0, 3.0) for x in (1.0, -1.0)]
    finally:
        tf.autograph.set_verbosity(0)
    assert found == [2, -1, 3, -1]
    assert len(caplog.records) == 1


def test_functions_of_libraries_are_not_converted(caplog):
    @functools.lru_cache
    def cached(n):
        return n * 2

    @tf.function
    def f(x):
        text = textwrap.shorten("as it is", 20)
        return (
            x * len(text) * cached(3) * np.prod([1, 2])
            if x > 0
            else tf.nest.map_structure(helper, x)
        )

    tf.autograph.set_verbosity(1)
    try:
        with caplog.at_level(logging.INFO, "gradtape"):
            assert [f(tf.constant(x)).numpy() for x in (1.0, -1.0)] == [96, -3]
    finally:
        tf.autograph.set_verbosity(0)
    assert not any(name in caplog.text for name in ("shorten", "cached", "map_structure"))


def test_functions_are_converted_in_many_threads():
    found = {}

    def work(k):
        found[k] = float(tf.function(elif_chain)(tf.constant(k / 4 - 1.5)))

    threads = [threading.Thread(target=work, args=(k,)) for k in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    expected = {k: float(elif_chain(tf.constant(k / 4 - 1.5))) for k in range(12)}
    np.testing.assert_allclose(
        [found[k] for k in range(12)], [expected[k] for k in range(12)], rtol=1e-6
    )


def test_a_file_that_has_changed(tmp_path, caplog):
    path = tmp_path / "changing.py"
    path.write_text("def f(x):\n    return x * 2\n\n\ndef g(x):\n    return x * 3\n")
    module = runpy.run_path(str(path))
    path.write_text(path.read_text().replace("f(x)", "f(y)").replace("\n\n\n", "\n"))
    with caplog.at_level(logging.WARNING, "gradtape"):
        assert tf.function(module["f"])(tf.constant(2.0)).numpy() == 4
        assert tf.function(module["g"])(tf.constant(2.0)).numpy() == 6
    assert (
        caplog.text.count("because line 1 of ")
        == caplog.text.count("has changed since it was loaded")
        == 1
    )
    assert "its source code is not available" in caplog.text
