"""Tapes inside a function that watch tensors from around it."""

from __future__ import annotations

import numpy as np
import pytest

import gradtape as tf
from gradtape.functions.parity import ParityError

x = tf.constant([1.0, 2.0])
v = tf.Variable([3.0, 4.0])

BODIES = {
    "an operator": (lambda: x * v, [3.0, 4.0]),
    "a function of one tensor": (lambda: tf.square(x), [2.0, 4.0]),
    "that, and a Variable": (lambda: tf.square(x) * v, [6.0, 16.0]),
    "several tensors": (lambda: tf.concat([x, v, x], 0) * 2.0, [4.0, 4.0]),
    "both ways at once": (lambda: tf.square(x) + x * v, [5.0, 8.0]),
}


@pytest.mark.parametrize("name", BODIES)
def test_gradients_by_a_tensor_from_outside(name):
    body, expected = BODIES[name]

    @tf.function(autograph=False)
    def gradient():
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = body()
        return tape.gradient(y, x)

    for _ in range(2):
        np.testing.assert_array_equal(gradient(), expected)


def test_a_tangent_of_a_tensor_from_outside():
    t = tf.constant([1.0, 10.0])

    @tf.function(autograph=False)
    def tangent():
        with tf.autodiff.ForwardAccumulator(x, t) as accumulator:
            y = tf.concat([x * v, tf.square(x)], 0)
        return accumulator.jvp(y)

    np.testing.assert_array_equal(tangent(), [3.0, 40.0, 2.0, 40.0])


def test_watched_by_a_tape_around_too():
    @tf.function(autograph=False)
    def slope():
        with tf.GradientTape() as inner:
            inner.watch(x)
            y = x * x * v
        return inner.gradient(y, x)

    with tf.GradientTape() as outer:
        outer.watch(x)
        first = slope()
    np.testing.assert_array_equal(first, 2 * x.numpy() * v.numpy())
    np.testing.assert_array_equal(outer.gradient(first, x), 2 * v.numpy())


def test_attributes_of_an_object():
    class Model:
        def __init__(self):
            self.x = tf.constant([1.0, 2.0])

        @tf.function
        def gradient(self):
            with tf.GradientTape() as tape:
                tape.watch(self.x)
                y = tf.stack([self.x, self.x * v])
            return tape.gradient(y, self.x)

    model = Model()
    np.testing.assert_array_equal(model.gradient(), [4.0, 5.0])


def test_after_the_function_it_is_a_plain_tensor_again():
    @tf.function(autograph=False)
    def gradient():
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = x * v
        return tape.gradient(y, x)

    gradient()
    with tf.GradientTape() as tape:
        y = x * v
    assert tape.gradient(y, x) is None


# However a function finds a Tensor, and whatever was called before a tape watched it


class Keeper:
    """Has a Tensor, for functions that find it in many ways."""

    def __init__(self):
        self.scale = tf.constant([3.0, 4.0])
        self.entries = {"scale": self.scale}
        self.listed = [0, (self.scale,)]

    def helper(self, a):
        return a * self.entries["scale"]

    @tf.function
    def method(self, a):
        return a * tf.square(self.scale)

    @tf.function
    def inner(self, a):
        return a * self.entries["scale"]


def ways(keeper):
    scale, entries = keeper.scale, keeper.entries

    def in_a_branch(a):
        if tf.reduce_sum(a) > 0.0:
            return a * entries["scale"]
        return a

    def in_a_loop(a):
        for _ in tf.range(2):
            a = a * keeper.scale
        return a

    def in_a_branch_of_a_loop(a):
        i = 0
        while i < 2:
            if tf.reduce_sum(a) > 0.0:
                a = a * keeper.helper(a)
            i += 1
        return a

    def by_a_custom_gradient(a):
        @tf.custom_gradient
        def thrice(b):
            return b * 3.0, lambda d: d * 3.0

        return a * thrice(entries["scale"])

    def with_a_tape_inside(a):
        with tf.GradientTape() as tape:
            tape.watch(a)
            y = tf.square(a) * entries["scale"]
        return tape.gradient(y, a)

    return {
        "closure": lambda a: a * tf.square(scale),
        "dict": lambda a: a * tf.square(entries["scale"]),
        "list": lambda a: a * keeper.listed[1][0] * keeper.listed[1][0],
        "another object": lambda a: a * tf.exp(keeper.scale * 0.5),
        "helper": lambda a: keeper.helper(a) * keeper.helper(a),
        "method": keeper.method,
        "inner function": lambda a: keeper.inner(a) * keeper.inner(a),
        "branch": in_a_branch,
        "loop": in_a_loop,
        "branch in a loop": in_a_branch_of_a_loop,
        "map_fn": lambda a: tf.map_fn(lambda e: e * entries["scale"], a),
        "custom_gradient": by_a_custom_gradient,
        "tape": with_a_tape_inside,
        "reshaped": lambda a: a * tf.reshape(tf.concat([entries["scale"]] * 2, 0), [2, 2])[1],
    }


def gradient(f, a, h):
    with tf.GradientTape() as tape:
        tape.watch(h)
        y = f(a)
    return tape.gradient(y, h)


def second(f, a, h):
    with tf.GradientTape() as outer:
        outer.watch(h)
        g = gradient(f, a, h)
    return [g, outer.gradient(g, h, unconnected_gradients="zero")]


def tangent(f, a, h):
    with tf.autodiff.ForwardAccumulator(h, tf.constant([1.0, -2.0])) as accumulator:
        y = f(a)
    return accumulator.jvp(y)


def by_both(f, a, h):
    with tf.GradientTape(persistent=True) as tape:
        tape.watch([a, h])
        y = f(a)
    return [tape.gradient(y, a), tape.gradient(y, h), tape.jacobian(y, h)]


MODES = {
    "gradient": gradient,
    "second": second,
    "tangent": tangent,
    "by both": by_both,
    "in another function": lambda f, a, h: tf.function(lambda b: gradient(f, b, h))(a),
    "function around": lambda f, a, h: gradient(tf.function(lambda b: f(b) * 2.0), a, h),
}
BEFORE = {
    "nothing": lambda f, a, h: None,
    "a call": lambda f, a, h: f(a),
    "a gradient by the argument": lambda f, a, h: gradient(f, a, a),
    "a call in a function": lambda f, a, h: tf.function(lambda b: f(b))(a),
}
NAMES = list(ways(Keeper()))


@pytest.mark.sampled(60)
@pytest.mark.parametrize("way", NAMES)
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("before", BEFORE)
def test_a_tensor_is_an_input_however_it_is_found(way, mode, before):
    keeper, a = Keeper(), tf.constant([1.0, 2.0])
    body = ways(keeper)[way]
    f = body if way == "method" else tf.function(body)
    BEFORE[before](f, a, keeper.scale)
    tf.config.run_functions_eagerly(True)
    try:
        expected = MODES[mode](body, a, keeper.scale)
    finally:
        tf.config.run_functions_eagerly(False)
    for _ in range(2):
        found = MODES[mode](f, a, keeper.scale)
        assert found is not None
        for one, other in zip(tf.nest.flatten(found), tf.nest.flatten(expected), strict=True):
            np.testing.assert_allclose(one.numpy(), other.numpy(), rtol=1e-5)
    if way != "method":
        assert f.experimental_get_tracing_count() == 1


def test_two_tensors_that_are_watched_in_turn_are_traced_for_together():
    kept, traces = {"one": tf.constant(2.0), "two": tf.constant(3.0)}, []

    @tf.function
    def f(a):
        traces.append(1)
        return a * kept["one"] * kept["two"]

    a = tf.constant(5.0)
    f(a)
    for _ in range(3):
        assert gradient(f, a, kept["one"]).numpy() == 15.0
        assert gradient(f, a, kept["two"]).numpy() == 10.0
    assert len(traces) == 2


def test_what_only_the_function_has_made_is_not_kept():
    @tf.function
    def f(a):
        for number in range(20):
            a = a * tf.constant([1.0, float(number)])
        return a

    f(tf.constant([1.0, 2.0]))
    (program,) = f._concrete.values()
    assert program.program.known_constants() == []


# What is known of a constant while a function is traced


class Sizes:
    """Has Tensors that shapes depend on, and some that come and go."""

    def __init__(self):
        self.n, self.c = tf.constant(2), tf.constant(2.0)
        self.traces = 0

    @tf.function(jit_compile=True)
    def reshaped(self, x):
        self.traces += 1
        return tf.reshape(x, [-1, self.n * 2])

    @tf.function(jit_compile=True)
    def summed(self, x):
        return tf.reduce_sum(tf.reshape(x, [2, 4]), axis=self.n - 1)

    @tf.function(jit_compile=True)
    def padded(self, x):
        return tf.pad(x, [[self.n, self.n + 1]])

    @tf.function(jit_compile=True)
    def counted(self, x):
        return x + tf.cast(tf.range(self.n + 6), tf.float32)

    @tf.function(jit_compile=True)
    def cut(self, x):
        return x[: self.n * 3] * tf.ones([tf.cast(self.c * 3.0, tf.int32)])


@pytest.mark.parametrize("method", ["reshaped", "summed", "padded", "counted", "cut"])
def test_numbers_in_tensors_are_known_while_a_method_is_traced(method):
    sizes, x = Sizes(), tf.range(8.0)
    tf.config.run_functions_eagerly(True)
    expected = getattr(sizes, method)(x).numpy()
    tf.config.run_functions_eagerly(False)
    for _ in range(3):
        np.testing.assert_array_equal(getattr(sizes, method)(x), expected)
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = getattr(sizes, method)(x)
        assert tape.gradient(y, x) is not None


def test_a_function_is_compiled_again_when_its_size_is_no_longer_watched():
    kept, runs = {"c": tf.constant(3.0)}, []

    @tf.function
    def f(x):
        runs.append(1)
        return x * kept["c"] + tf.reduce_sum(tf.ones([tf.cast(kept["c"], tf.int32)]))

    x = tf.constant(2.0)
    assert f(x).numpy() == 9.0
    for _ in range(2):
        assert gradient(f, x, kept["c"]).numpy() == 2.0
    count = len(runs)
    for _ in range(5):
        assert f(x).numpy() == 9.0
        assert gradient(f, x, x).numpy() == 3.0
        assert tf.function(lambda x: f(x) * 2.0, jit_compile=True)(x).numpy() == 18.0
    assert len(runs) <= count + 1


def test_a_name_that_means_another_tensor_by_now_changes_no_program(caplog):
    kept = {"c": tf.constant(3.0)}
    first = kept["c"]
    f, x = tf.function(lambda x: x * kept["c"]), tf.constant(2.0)
    assert f(x).numpy() == 6.0
    kept["c"] = tf.constant(10.0)
    for _ in range(3):
        with tf.GradientTape() as tape:
            tape.watch(first)
            y = f(x)
        assert y.numpy() == f(x).numpy() == 6.0
        assert tape.gradient(y, first) is None
    assert caplog.text.count("does not find any more") == 1


def test_tensors_that_have_gone_stand_for_no_others():
    class Model:
        @tf.function(autograph=False)
        def f(self, x):
            for number in range(5):
                x = tf.sin(x * 2.0) + tf.constant(float(number)) * x
            return tf.cond(x > 0.0, lambda: x * tf.constant(3.0), lambda: x * tf.constant(2.0))

    for _ in range(4):
        model, x = Model(), tf.constant(0.7)
        for number in range(40):
            setattr(model, f"loss_{number}", tf.constant(float(number)))
        model.f(x)
        for number in range(40):
            setattr(model, f"loss_{number}", None)
        assert np.isfinite(gradient(model.f, x, x).numpy())


@pytest.mark.parametrize("inner", [False, True])
def test_gradients_of_a_graph_with_respect_to_what_a_function_finds(inner):
    kept, x = {"c": tf.constant(2.0)}, tf.constant(3.0)

    def f(x):
        return tf.gradients(x * kept["c"] ** 3, kept["c"])

    f = tf.function(f)
    g = tf.function(lambda x: f(x)) if inner else f
    assert g(x)[0].numpy() == 36.0


@pytest.mark.parametrize("where", ["function", "branch", "loop"])
def test_gradients_of_a_graph_with_respect_to_what_the_function_makes(where):
    kept, runs = tf.constant(2.0), []

    @tf.function
    def f(x):
        runs.append(1)
        if where == "branch":
            return tf.cond(x > 0.0, lambda: tf.gradients(x * kept * kept, kept)[0], lambda: x)
        if where == "loop":
            return tf.map_fn(lambda e: tf.gradients(e * kept * kept, kept)[0], tf.stack([x]))[0]
        made = tf.constant(2.0)
        return tf.gradients(x * made * made, made)[0]

    for _ in range(3):
        assert f(tf.constant(3.0)).numpy() == 12.0
    assert len(runs) == 2


def test_what_an_inner_function_finds_has_its_gradient_in_and_after_an_outer_one():
    kept, x = {"c": tf.constant(2.0)}, tf.constant(3.0)
    inner = tf.function(lambda x: x * kept["c"] ** 2)
    inner(x)
    outer = tf.function(lambda x: tf.gradients(inner(x), [kept["c"]]))
    for _ in range(2):
        assert outer(x)[0].numpy() == 12.0
        assert gradient(inner, x, kept["c"]).numpy() == 12.0


def test_why_a_function_was_traced_again_for_a_constant():
    kept = {"c": tf.constant(2.0)}
    f, x = tf.function(lambda x: x * kept["c"]), tf.constant(3.0)
    f(x)
    gradient(f, x, kept["c"])
    (why,) = f.why_retraced()
    assert "follows a Tensor of shape () that was a constant" in why


def test_many_constants_are_traced_for_once_and_leave_one_program():
    kept, traces, x = [tf.constant(float(n + 1)) for n in range(6)], [], tf.constant(1.0)

    @tf.function
    def f(x):
        traces.append(1)
        return x * tf.add_n([c**2 for c in kept])

    f(x)
    for number, c in enumerate(kept):
        assert gradient(f, x, c).numpy() == 2.0 * (number + 1)
        with tf.autodiff.ForwardAccumulator(c, tf.constant(1.0)) as accumulator:
            y = f(x)
        assert accumulator.jvp(y).numpy() == 2.0 * (number + 1)
    assert len(traces) == 2
    assert len(list(f.get_concrete_function(x).with_earlier())) == 1


def test_only_what_is_followed_becomes_an_input_where_another_constant_is_a_size():
    size, slope, x = tf.constant(3.0), tf.constant(2.0), tf.constant(1.0)

    @tf.function
    def f(x):
        return x * slope**2 + tf.reduce_sum(tf.ones([tf.cast(size, tf.int32)]))

    assert f(x).numpy() == 7.0
    assert gradient(f, x, slope).numpy() == 4.0
    assert not f.get_concrete_function(x).runs_eagerly
    assert f(x).numpy() == 7.0


@pytest.mark.parametrize("made", [False, True])
def test_several_gradients_of_a_graph_with_respect_to_constants(made):
    kept, x = [tf.constant(2.0), tf.constant(5.0)], tf.constant(3.0)
    runs = []

    @tf.function
    def f(x):
        runs.append(1)
        c, d = [tf.constant(2.0), tf.constant(5.0)] if made else kept
        y = x * c**2 * d**3
        first, second = tf.gradients(y, c)[0], tf.gradients(y, d)[0]
        return first, second, tf.hessians(y, d)[0]

    for _ in range(2):
        assert [g.numpy() for g in f(x)] == [1500.0, 900.0, 360.0]
    assert len(runs) == 2


def test_gradients_of_graphs_in_functions_that_call_each_other():
    c, d, x = tf.constant(2.0), tf.constant(5.0), tf.constant(3.0)
    inner = tf.function(lambda x: tf.gradients(x * d**2, d, unconnected_gradients="zero")[0])
    outer = tf.function(lambda x: (tf.gradients(x * c**2, c)[0], inner(x)))
    assert [g.numpy() for g in outer(x)] == [12.0, 30.0]
    assert inner(x).numpy() == 30.0
    with tf.GradientTape() as tape:
        tape.watch(c)
        first, _ = outer(x)
    assert tape.gradient(first, c).numpy() == 6.0


def test_a_request_for_constants_passes_the_users_own_handlers():
    c = tf.constant(2.0)

    @tf.function
    def f(x):
        try:
            return tf.gradients(x * c**2, c)[0]
        except Exception:  # noqa: BLE001 - as users write
            return x * 0.0 - 1.0

    assert f(tf.constant(3.0)).numpy() == 12.0
    checked = tf.function(lambda x: tf.gradients(x * c**2, c)[0], check_parity=True)
    with pytest.raises(ParityError, match="raises NotTracedError in eager code"):
        checked(tf.constant(3.0))


def test_derivatives_after_a_gradient_by_many_constants_that_a_function_makes():
    """Their identities are free again after tracing, and other tensors get them."""
    x = tf.constant(0.7)
    for _ in range(4):

        @tf.function(autograph=False)
        def f(x):
            made = [tf.constant(2.0 + i) for i in range(28)]
            y = x
            for c in made:
                y = y * c * 0.1
            slopes = tf.gradients(y, made)
            for i in range(5):
                y = tf.sin(y * tf.constant(1.5)) / tf.constant(3.0 + i)
            return y * tf.add_n(slopes)

        f(x)
        assert np.isfinite(gradient(f, x, x).numpy())


@pytest.mark.parametrize("how", ["tape", "graph"])
@pytest.mark.parametrize("around", [False, True])
def test_a_constant_that_is_a_cotangent_has_a_gradient(how, around):
    c, x = tf.constant([3.0, 4.0]), tf.constant([1.0, 2.0])

    def f(x):
        if how == "graph":
            return tf.gradients(x**3, x, grad_ys=c)[0]
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = x**3
        return tape.gradient(y, x, output_gradients=c)

    f = tf.function(f)
    g = tf.function(lambda x: f(x)) if around else f
    for _ in range(2):
        np.testing.assert_array_equal(gradient(g, x, c), [3.0, 12.0])
        np.testing.assert_array_equal(g(x), [9.0, 48.0])


def test_a_function_that_needs_a_followed_value_is_compiled_when_nothing_follows_it(caplog):
    c, x, runs = tf.constant(3.0), tf.constant(2.0), []

    @tf.function
    def f(x):
        runs.append(1)
        return x * c + tf.reduce_sum(tf.ones([tf.cast(c, tf.int32)]))

    for _ in range(2):
        assert gradient(f, x, c).numpy() == 2.0
    before = len(runs)
    for _ in range(3):
        assert f(x).numpy() == 9.0
    assert len(runs) == before + 1
    assert tf.function(lambda x: f(x), jit_compile=True)(x).numpy() == 9.0
    assert gradient(f, x, c).numpy() == 2.0


def test_all_tensors_that_a_function_does_not_find_any_more_are_left_at_once(caplog):
    kept, runs, x = {"c": [tf.constant(float(n)) for n in range(5)]}, [], tf.constant(2.0)

    @tf.function
    def f(x):
        runs.append(1)
        return x * tf.add_n([c**2 for c in kept["c"]])

    f(x)
    old, kept["c"] = kept["c"], [tf.constant(1.0)]
    for c in old:
        assert gradient(f, x, c) is None
    assert len(runs) == 2
    assert len([r for r in caplog.records if "does not find any more" in r.message]) == 1


@pytest.mark.parametrize("made", [False, True])
@pytest.mark.parametrize("how", ["branch", "loop", "inner", "inner, traced before"])
def test_gradients_of_a_graph_by_two_constants_that_parts_of_it_use(how, made):
    kept, x = [tf.constant(2.0), tf.constant(5.0)], tf.constant(3.0)

    def product(x, c, d):
        return x * c**2 * d**2

    inner = tf.function(lambda x: product(x, *kept))
    if how == "inner, traced before":
        inner(x)

    @tf.function
    def f(x):
        c, d = [tf.constant(2.0), tf.constant(5.0)] if made and "inner" not in how else kept
        if how == "branch":
            y = tf.cond(x > 0.0, lambda: product(x, c, d), lambda: x)
        elif how == "loop":
            y = tf.reduce_sum(tf.map_fn(lambda e: product(e, c, d), tf.stack([x, x * 0.0])))
        else:
            y = inner(x)
        return tf.gradients(y, c)[0], tf.gradients(y, d)[0]

    for _ in range(2):
        assert [g.numpy() for g in f(x)] == [300.0, 120.0]
    assert inner(x).numpy() == 300.0


@pytest.mark.parametrize("where", ["argument", "closure"])
def test_a_constant_of_the_newest_program_is_followed_and_an_older_one_stays_unused(where):
    kept = {"c": tf.constant(2.0), "v": tf.Variable(3.0)}
    d, w = tf.constant(5.0), tf.Variable(1.0)
    f = tf.function(
        (lambda w: w * kept["c"] * d)
        if where == "argument"
        else (lambda w: kept["v"] * kept["c"] * d)
    )
    given = w if where == "argument" else tf.constant(0.0)
    f(given)
    kept["c"], kept["v"] = tf.constant(100.0), tf.Variable(1.0)
    assert gradient(f, given, d).numpy() == 100.0
    assert f(given).numpy() == 500.0
    with tf.GradientTape() as tape:
        tape.watch(kept["c"])
        y = f(given)
    assert y.numpy() == 500.0
    assert tape.gradient(y, kept["c"]).numpy() == 5.0
    assert f(given).numpy() == 500.0


@pytest.mark.parametrize("made", [False, True])
@pytest.mark.parametrize("order", ["after", "inside"])
def test_a_gradient_of_a_graph_by_a_constant_that_a_tape_inside_watches(made, order):
    kept, x = tf.constant(2.0), tf.constant(3.0)

    @tf.function
    def f(x):
        c = tf.constant(2.0) if made else kept
        with tf.GradientTape() as tape:
            tape.watch(c)
            y = x * c**3
            if order == "inside":
                slope = tf.gradients(y, c)[0]
        return tape.gradient(slope, c) if order == "inside" else tf.gradients(y, c)[0]

    for _ in range(2):
        assert f(x).numpy() == 36.0


def test_gradients_of_graphs_by_constants_of_many_inner_functions():
    kept, x = [tf.constant(i + 2.0) for i in range(6)], tf.constant(3.0)
    inner = [tf.function(lambda x, i=i: x * kept[i] ** 2) for i in range(6)]
    f = tf.function(lambda x: [tf.gradients(inner[i](x), kept[i])[0] for i in range(6)])
    assert [g.numpy() for g in f(x)] == [6.0 * (i + 2) for i in range(6)]


@pytest.mark.parametrize("must_compile", [False, True])
@pytest.mark.parametrize("made", [False, True])
def test_a_gradient_of_a_graph_by_a_constant_where_another_is_a_size(made, must_compile):
    c, d, x = tf.constant(2.0), tf.constant(5.0), tf.constant(3.0)

    @tf.function(jit_compile=must_compile)
    def f(x):
        size = tf.cast(tf.constant(5.0) if made else d, tf.int32)
        return tf.gradients(x * c**2 * tf.reduce_sum(tf.ones([size])), c)[0]

    assert f(x).numpy() == 60.0


def test_gradients_of_a_graph_inside_vectorized_map_are_refused():
    c = tf.constant(2.0)
    f = tf.function(lambda x: tf.vectorized_map(lambda e: tf.gradients(e * c, c)[0], x))
    with pytest.raises(NotImplementedError, match="record with GradientTape"):
        f(tf.constant([1.0, 2.0]))


@pytest.mark.parametrize("before", [False, True])
def test_the_tangent_of_a_primal_from_outside_is_its_own(before):
    c, x = tf.constant(2.0), tf.constant(3.0)

    @tf.function
    def f(x):
        with tf.autodiff.ForwardAccumulator(c, tf.constant(7.0)) as accumulator:
            y = x * c**2
        return accumulator.jvp(c), accumulator.jvp(y)

    if before:
        f(x)
    with tf.GradientTape() as tape:
        tape.watch(c)
        own, tangent = f(x)
    assert (own.numpy(), tangent.numpy()) == (7.0, 84.0)
    assert tape.gradient(tangent, c).numpy() == 42.0


@pytest.mark.parametrize("must_compile", [False, True])
@pytest.mark.parametrize(
    "how", ["closure", "made", "the inner function's own", "another function's"]
)
def test_a_gradient_of_a_graph_by_a_constant_where_a_called_function_has_a_size(how, must_compile):
    x, c, n = tf.constant(3.0), tf.constant(2.0), tf.constant(4.0)

    def sized(x):
        return x * tf.reduce_sum(tf.ones([tf.cast(n, tf.int32)]))

    inner = tf.function((lambda x: sized(x) * c**2) if "own" in how else sized)
    other = tf.function(lambda x: x * c**2)

    @tf.function(jit_compile=must_compile)
    def f(x):
        source = tf.constant(2.0) if how == "made" else c
        if how in ("closure", "made"):
            y = inner(x) * source**2
        else:
            y = inner(x) if "own" in how else other(inner(x))
        return tf.gradients(y, source)[0]

    for _ in range(2):
        assert f(x).numpy() == 48.0


def in_a_closure(c):
    return lambda x: x * c**2 * tf.cast(tf.shape(tf.ones([tf.cast(c, tf.int32)]))[0], tf.float32)


def in_a_branch(c):
    return lambda x: tf.cond(
        x > 0.0, lambda: x * c**2 * tf.reduce_sum(tf.ones([tf.cast(c, tf.int32)])), lambda: x
    )


def in_a_loop(c):
    def body(x):
        def step(i, y):
            return i + 1, y * c**2 * tf.reduce_sum(tf.ones([tf.cast(c, tf.int32)]))

        return tf.while_loop(lambda i, y: i < 1, step, (0, x))[1]

    return body


def in_a_called_function(c):
    inner = tf.function(in_a_closure(c), jit_compile=True)
    return lambda x: tf.identity(inner(x))


def left(c):
    tape = tf.GradientTape()
    with tape:
        tape.watch(c)
    return tape


def left_and_persistent(c):
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(c)
        c * c
    return tape


def left_by_an_error(c):
    with pytest.raises(ZeroDivisionError), tf.GradientTape() as tape:
        tape.watch(c)
        1 / 0  # noqa: B018
    return tape


def left_accumulator(c):
    with tf.autodiff.ForwardAccumulator(c, tf.ones_like(c)) as accumulator:
        c * c
    return accumulator


def asked_for(f, x):
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    return tape.gradient(y, x)


@pytest.mark.parametrize("leave", [left, left_and_persistent, left_by_an_error, left_accumulator])
@pytest.mark.parametrize("place", [in_a_closure, in_a_branch, in_a_loop, in_a_called_function])
@pytest.mark.parametrize("ask", [lambda f, x: f(x), asked_for])
def test_a_tape_that_has_been_left_follows_no_constant(leave, place, ask):
    """Its recording stays open, for a gradient that may be asked for, but records nothing more: the
    values of the Tensors that it watched are known, for sizes.
    """
    c, x = tf.constant(3.0), tf.constant(2.0)
    tape = leave(c)
    f = tf.function(place(c), jit_compile=True)
    expected = 54.0 if ask is not asked_for else 27.0
    for _ in range(2):
        assert float(ask(f, x)) == expected
    assert f.experimental_get_tracing_count() == 1
    del tape


def test_a_tape_that_is_entered_again_follows_its_constants_again():
    c, x = tf.constant(3.0), tf.constant(2.0)
    f = tf.function(lambda x: x * c**2)
    tape = tf.GradientTape(persistent=True)
    with tape:
        tape.watch(c)
    assert float(f(x)) == 18.0
    with tape:
        tape.watch(c)
        y = f(x)
    assert float(tape.gradient(y, c)) == 12.0
    assert float(f(x)) == 18.0
