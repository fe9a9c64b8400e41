"""The same functions compiled by both libraries: when they are traced, what they return and write, gradients, and errors.

A case takes the library and gives a list of results. Python control flow on tensors is in test_autograph.py.
"""

from __future__ import annotations

import collections
from typing import Any

import numpy as np
import pytest
import tensorflow  # noqa: ICN001  # `tf` is the library that a case is given
from compare import compared, plain

import gradtape

Pair = collections.namedtuple("Pair", "first second")  # its fields are tensors of either library


def counted(tf, function, **options):
    """The compiled function, and a list that grows whenever its Python runs."""
    times: list[int] = []

    def traced(*args, **kwargs):
        times.append(1)
        return function(*args, **kwargs)

    traced.__signature__ = __import__("inspect").signature(function)
    return tf.function(traced, autograph=False, **options), times


# When functions are traced


def traces_by_shape_and_dtype(tf):
    f, times = counted(tf, lambda x: x + x)
    results = []
    for value in ([1.0, 2.0], [3.0, 4.0], [1.0], [[1.0]], [1, 2], [3, 4], 1.0, True and 2.0):
        results += [f(tf.constant(value)), len(times)]
    return results


def traces_for_arrays(tf):
    f, times = counted(tf, lambda x: x + x)
    results = [f(np.ones(2, np.float32)), f(tf.constant([2.0, 3.0])), f(np.float64(2)), f(np.ones(2, np.float64))]
    return [*results, len(times)]


def traces_by_python_values(tf):
    f, times = counted(tf, lambda x, n: x * n)
    x = tf.constant([1.0, 2.0])
    results = []
    for value in (1, 2, 1.0, True, 2.5, 2):
        results += [f(x, value), len(times)]
    return results


def traces_by_structure(tf):
    f, times = counted(tf, lambda batch: batch["a"] * 2.0 + batch["b"][0])
    x, y = tf.constant(1.0), tf.constant(2.0)
    results = []
    for batch in ({"a": x, "b": [y]}, {"b": [x], "a": y}, {"a": x, "b": (y,)}, {"a": x, "b": [y, y]}, {"a": x, "b": [x]}):
        results += [f(batch), len(times)]
    return results


def traces_however_it_is_called(tf):
    f, times = counted(tf, lambda a, b=1.0, *, c=2.0: a * b + c)
    x = tf.constant(3.0)
    results = [f(x), f(x, 1.0), f(x, b=1.0), f(a=x), f(b=1.0, a=x), f(x, c=2.0), f(x, 1.0, c=3.0)]
    return [*results, len(times)]


def traces_for_variables(tf):
    f, times = counted(tf, lambda a, b: a * 2.0 + b)
    u, v, w = tf.Variable(1.0), tf.Variable(2.0), tf.Variable([3.0, 4.0])
    results = [f(u, v), f(v, u), len(times), f(u, u), len(times), f(v, v), len(times), f(w, v), len(times)]
    return [*results, f(u, tf.constant(1.0)), len(times)]


def traces_for_none_and_strings(tf):
    f, times = counted(tf, lambda x, mode=None: x if mode is None else x * len(mode))
    x = tf.constant(2.0)
    return [f(x), f(x, None), f(x, "ab"), f(x, "abc"), f(x, mode="ab"), len(times)]


def traces_with_a_signature(tf):
    f, times = counted(tf, lambda x, y: x * y, input_signature=[tf.TensorSpec([2], tf.float32), tf.TensorSpec([], tf.float32)])
    return [f(tf.constant([1.0, 2.0]), tf.constant(2.0)), f([1.0, 2.0], 3), f(np.array([1.0, 2.0]), np.float64(2)), len(times)]


def counts_of_traces(tf):
    f = tf.function(lambda x: x * x, autograph=False)
    counts = [f.experimental_get_tracing_count()]
    for value in ([1.0], [2.0], [1.0, 2.0]):
        f(tf.constant(value))
        counts.append(f.experimental_get_tracing_count())
    return counts


def traces_of_methods(tf):
    times = []

    class Model:
        def __init__(self, factor):
            self.factor = factor

        @tf.function(autograph=False)
        def __call__(self, x):
            times.append(1)
            return x * self.factor

    one, two = Model(2.0), Model(3.0)
    x = tf.constant(1.0)
    return [one(x), two(x), one(x), two(x), len(times)]


def concrete_functions(tf):
    v = tf.Variable([1.0, 2.0], name="v")
    f, times = counted(tf, lambda x: x * v)
    concrete = f.get_concrete_function(tf.TensorSpec([2], tf.float32))
    results = [concrete(tf.constant([3.0, 4.0])), f(tf.constant([5.0, 6.0])), len(times), len(concrete.variables)]
    return [*results, concrete.variables[0] is v, len(concrete.trainable_variables)]


def functions_run_eagerly(tf):
    f, times = counted(tf, lambda x: x + 1.0)
    f(tf.constant(1.0))
    tf.config.run_functions_eagerly(True)
    try:
        results = [f(tf.constant(1.0)), f(tf.constant(1.0)), len(times)]
    finally:
        tf.config.run_functions_eagerly(False)
    return [*results, f(tf.constant(1.0)), len(times)]


# What they return


def results_of_every_kind(tf):
    v = tf.Variable([1.0, 2.0])
    f = tf.function(
        lambda x: {
            "none": None,
            "number": 3,
            "float": 2.5,
            "flag": True,
            "array": np.arange(3),
            "variable": v,
            "list": [x, (x,)],
        },
        autograph=False,
    )
    result = f(tf.constant(1.0))
    kinds = [tf.is_tensor(result[key]) for key in ("number", "float", "flag", "array", "variable")]
    return [list(result), result["none"], *kinds, *(result[key] for key in ("number", "float", "flag", "array", "variable")),
            type(result["list"]).__name__, type(result["list"][1]).__name__, *tf.nest.flatten(result["list"])]  # fmt: skip


def named_tuples(tf):
    f = tf.function(lambda pair: Pair(pair.second, [pair.first]), autograph=False)
    result = f(Pair(tf.constant(1.0), tf.constant(2.0)))
    return [type(result).__name__, type(result.second).__name__, result.first, result.second[0]]


def lists_of_lists(tf):
    result = tf.function(lambda x: [[x], [], [x, [x]]], autograph=False)(tf.constant(1.0))
    return [len(result), len(result[0]), len(result[1]), len(result[2]), *tf.nest.flatten(result)]


def identity_is_a_new_tensor(tf):
    x = tf.constant([1.0, 2.0])
    y = tf.function(lambda x: x, autograph=False)(x)
    return [y is x, y]


def nothing_at_all(tf):
    return [tf.function(lambda x: None, autograph=False)(tf.constant(1.0)), tf.function(lambda: [*()], autograph=False)()]


def sparse_results(tf):
    table = tf.Variable([[1.0], [2.0], [3.0]])

    @tf.function(autograph=False)
    def f(indices):
        with tf.GradientTape() as tape:
            y = tf.reduce_sum(tf.gather(table, indices) ** 2)
        return tape.gradient(y, table)

    return [f(tf.constant([2, 0, 2]))]


# Variables and what is around


def variables_are_read_live(tf):
    v = tf.Variable(1.0)
    f, times = counted(tf, lambda x: x * v)
    results = [f(tf.constant(2.0))]
    v.assign(5.0)
    return [*results, f(tf.constant(2.0)), len(times)]


def assignments_in_order(tf):
    v, w = tf.Variable(1.0), tf.Variable(10.0)

    @tf.function(autograph=False)
    def f(x):
        before = v * 1.0
        v.assign_add(x)
        middle = v * w
        w.assign(v + 1.0)
        v.assign_sub(w)
        return before, middle, v * 1.0, w.assign_add(v)

    results = [*f(tf.constant(2.0)), *f(tf.constant(3.0))]
    return [*results, v.numpy(), w.numpy()]


def variables_given_as_arguments(tf):
    f, times = counted(tf, lambda a, b: [a.assign_add(b), b * 1.0])
    u, v = tf.Variable(1.0), tf.Variable(2.0)
    results = [*f(u, v), *f(v, u), len(times)]
    return [*results, u.numpy(), v.numpy()]


def variables_made_once(tf):
    class Counter:
        made = None

        @tf.function(autograph=False)
        def __call__(self, x):
            if self.made is None:
                self.made = tf.Variable(x * 0.0 + 3.0)
            return self.made.assign_add(x)

    counter = Counter()
    return [counter(tf.constant(2.0)), counter(tf.constant(2.0))]


def sparse_writes(tf):
    v = tf.Variable([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])

    @tf.function(autograph=False)
    def f(indices, rows):
        v.scatter_add(tf.IndexedSlices(rows, indices))
        v.scatter_nd_update([[0]], rows[:1])
        return v[1] * 1.0

    return [f(tf.constant([1, 1]), tf.constant([[1.0, 2.0], [3.0, 4.0]])), v.numpy()]


def functions_in_functions(tf):
    v = tf.Variable(1.0)
    inner = tf.function(lambda x: v.assign_add(x) * 2.0, autograph=False)
    outer = tf.function(lambda x: inner(x) + inner(x * 2.0), autograph=False)
    return [outer(tf.constant(1.0)), v.numpy(), outer(tf.constant(1.0)), v.numpy()]


def python_values_are_those_of_the_first_call(tf):
    scale = [2.0]
    f = tf.function(lambda x: x * scale[0], autograph=False)
    results = [f(tf.constant(1.0))]
    scale[0] = 5.0
    return [*results, f(tf.constant(1.0)), f(tf.constant([1.0]))]


# Control flow


def conditions(tf):
    @tf.function(autograph=False)
    def f(x):
        return tf.cond(tf.reduce_sum(x) > 0.0, lambda: {"a": x * 2.0, "b": [x]}, lambda: {"a": x - 1.0, "b": [x * x]})

    return [leaf for value in ([1.0, 2.0], [-1.0, -2.0]) for leaf in tf.nest.flatten(f(tf.constant(value)))]


def cases_and_switches(tf):
    @tf.function(autograph=False)
    def f(x, i):
        chosen = tf.switch_case(i, [lambda: x, lambda: x * 10.0, lambda: x * 100.0])
        found = tf.case([(x > 5.0, lambda: x * 2.0), (x > 1.0, lambda: x * 3.0)], default=lambda: x * 4.0)
        return chosen, found

    return [leaf for x in (0.5, 2.0, 7.0) for i in (0, 1, 2, 5, -1) for leaf in f(tf.constant(x), tf.constant(i))]


def loops(tf):
    @tf.function(autograph=False)
    def f(x, n):
        count, y = tf.while_loop(lambda i, _: i < n, lambda i, y: (i + 1, y * x), (tf.constant(0), x))
        few = tf.while_loop(lambda i: True, lambda i: (i + 1,), (tf.constant(0),), maximum_iterations=3)
        return count, y, few[0]

    return [leaf for n in (0, 1, 4) for leaf in f(tf.constant([1.5, -2.0]), tf.constant(n))]


def scans_and_folds(tf):
    @tf.function(autograph=False)
    def f(x):
        states = tf.scan(lambda s, row: (s[0] * row, s[1] + row), x, (x[0], x[1]))
        return [*states, tf.scan(lambda a, b: a * b, x, reverse=True), tf.foldl(lambda a, b: a - b, x), tf.foldr(lambda a, b: a - b, x),
                tf.map_fn(lambda row: tf.reduce_sum(row * row), x)]  # fmt: skip

    return f(tf.constant([[1.0, 2.0], [3.0, -4.0], [5.0, 6.0]]))


def gradients_of_control_flow(tf):
    def branches(x):
        return tf.cond(x[0] > 0.0, lambda: x * x, lambda: tf.exp(x))

    def steps(x):
        return tf.while_loop(lambda i, _: i < 3, lambda i, y: (i + 1, tf.sin(y) * x), (tf.constant(0), x), maximum_iterations=5)[
            1
        ]

    def scanned(x):
        return tf.scan(lambda s, a: tf.tanh(s * a + x[0]), x, tf.constant(0.5, tf.float64))

    results = []
    for body in (branches, steps, scanned):
        f = tf.function(body, autograph=False)
        for value in ([0.5, -1.0, 2.0], [-0.5, 1.0, 0.25]):
            x = tf.constant(value, tf.float64)
            with tf.GradientTape() as outer:
                outer.watch(x)
                with tf.GradientTape() as inner:
                    inner.watch(x)
                    y = f(x)
                first = inner.gradient(y, x)
            results += [y, first, outer.gradient(first, x)]
    return results


def untaken_branches_have_zero_gradients(tf):
    @tf.function(autograph=False)
    def f(x, y):
        with tf.GradientTape() as tape:
            tape.watch([x, y])
            z = tf.cond(x > 0.0, lambda: x * 2.0, lambda: y * 3.0)
        return tape.gradient(z, [x, y])

    return [*f(tf.constant(1.0), tf.constant(2.0)), *f(tf.constant(-1.0), tf.constant(2.0))]


def assignments_in_branches_and_loops(tf):
    v = tf.Variable(1.0)

    @tf.function(autograph=False)
    def f(x):
        tf.cond(x > 0.0, lambda: v.assign_add(x), lambda: v.assign(0.0))
        tf.while_loop(lambda i: i < 3, lambda i: (i + tf.cast(v.assign_add(1.0) > -100.0, tf.int32),), (tf.constant(0),))
        return v * 2.0

    return [f(tf.constant(2.0)), v.numpy(), f(tf.constant(-2.0)), v.numpy()]


# Gradients


def tape_outside(tf):
    w, fixed, captured = tf.Variable([1.0, 2.0]), tf.Variable([3.0, 4.0], trainable=False), tf.constant([5.0, 6.0])
    f, times = counted(tf, lambda x: (tf.reduce_sum(tf.tanh(x * w) * fixed * captured), x + 1.0))
    x = tf.constant([0.5, -0.5])
    with tf.GradientTape(persistent=True) as tape:
        tape.watch([x, captured])
        y, z = f(x)
        total = y * 2.0 + tf.reduce_sum(z * z)
    results = [y, z, *tape.gradient(total, [x, w, fixed, captured]), tape.gradient(z, [x, w]), tape.gradient(y, z)]
    return [leaf for result in results for leaf in (result if isinstance(result, list) else [result])] + [len(times)]


def seeds_and_several_targets(tf):
    f = tf.function(lambda x: (x * x, tf.exp(x)), autograph=False)
    x = tf.constant([1.0, 2.0])
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y, z = f(x)
    return [tape.gradient(y, x, output_gradients=tf.constant([1.0, 10.0])), tape.gradient([y, z], x), tape.jacobian(y, x)]


def tape_inside(tf):
    w = tf.Variable([1.0, 2.0])
    unused = tf.Variable(3.0)

    @tf.function(autograph=False)
    def f(x):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(w * x - 1.0))
        gradients = tape.gradient(loss, [w, unused])
        w.assign_sub(0.1 * gradients[0])
        return loss, gradients

    results = []
    for _ in range(2):
        loss, gradients = f(tf.constant([2.0, 3.0]))
        results += [loss, *gradients, w.numpy()]
    return results


def second_order(tf):
    inner = tf.function(lambda x: tf.reduce_sum(x**3), autograph=False)

    @tf.function(autograph=False)
    def hessian(x):
        with tf.GradientTape() as outer:
            outer.watch(x)
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = inner(x)
            first = tape.gradient(y, x)
        return first, outer.jacobian(first, x)

    x = tf.constant([1.0, 2.0, 3.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        first, second = hessian(x)
    return [first, second, tape.gradient(second, x)]


def forward_mode(tf):
    w = tf.Variable([1.0, 2.0])
    f = tf.function(lambda x: tf.sin(x * w), autograph=False)
    x, t = tf.constant([0.5, 1.5]), tf.constant([1.0, -2.0])
    with tf.autodiff.ForwardAccumulator(x, t) as accumulator:
        y = f(x)
    with tf.autodiff.ForwardAccumulator(w, t) as by_w:
        z = f(x)
    return [y, accumulator.jvp(y), by_w.jvp(z)]


def stopped_and_custom_gradients(tf):
    @tf.custom_gradient
    def clipped(x):
        return x * 1.0, lambda g: tf.clip_by_value(g, -0.5, 0.5)

    f = tf.function(lambda x: clipped(x) * 3.0 + tf.stop_gradient(x) * x, autograph=False)
    x = tf.constant([1.0, 2.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    return [y, tape.gradient(y, x)]


def vectorised(tf):
    f = tf.function(lambda row: tf.reduce_sum(row) * row, autograph=False)
    return [tf.vectorized_map(f, tf.constant([[1.0, 2.0], [3.0, 4.0]]))]


CASES = [
    traces_by_shape_and_dtype, traces_for_arrays, traces_by_python_values, traces_by_structure, traces_however_it_is_called,
    traces_for_variables, traces_for_none_and_strings, traces_with_a_signature, counts_of_traces, traces_of_methods, concrete_functions,
    functions_run_eagerly, results_of_every_kind, named_tuples, lists_of_lists, identity_is_a_new_tensor, nothing_at_all, sparse_results,
    variables_are_read_live, assignments_in_order, variables_given_as_arguments, variables_made_once, sparse_writes,
    functions_in_functions, python_values_are_those_of_the_first_call, conditions, cases_and_switches, loops, scans_and_folds,
    gradients_of_control_flow, untaken_branches_have_zero_gradients, assignments_in_branches_and_loops, tape_outside,
    seeds_and_several_targets, tape_inside, second_order, forward_mode, stopped_and_custom_gradients, vectorised,
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_both_give_the_same(case):
    ours, theirs = ([plain(tf, result) for result in case(tf)] for tf in (gradtape, tensorflow))
    assert len(ours) == len(theirs)
    found = [f"result {i}: {line}" for i, (a, b) in enumerate(zip(ours, theirs, strict=True)) for line in compared(a, b, 1e-5)]
    assert not found, "\n".join(found)


# Errors


def leaked(tf):
    kept = []
    tf.function(lambda x: kept.append(x * 2.0), autograph=False)(tf.constant(1.0))
    return kept[0] + 1.0


def made_in_every_call(tf):
    return tf.function(lambda x: tf.Variable(1.0) * x, autograph=False)(tf.constant(1.0))


def made_later(tf):
    kept = []

    def body(x):
        if x.shape.rank:
            kept.append(tf.Variable(1.0))
        return x * 1.0

    f = tf.function(body, autograph=False)
    f(tf.constant(1.0))
    return f(tf.constant([1.0]))


def returning_a_tape(tf):
    return tf.function(lambda x: tf.GradientTape(), autograph=False)(tf.constant(1.0))


def applied(body):
    return lambda tf: tf.function(lambda x: body(tf, x), autograph=False)(tf.constant([1.0, 2.0]))


def raising(tf, x):
    raise KeyError("from inside")


def with_signature(*args, **kwargs):
    def call(tf):
        f = tf.function(lambda x, y: x * y, autograph=False, input_signature=[tf.TensorSpec([2]), tf.TensorSpec([], tf.int32)])
        return f(*[a(tf) if callable(a) else a for a in args], **kwargs)

    return call


def concrete(*args):
    def call(tf):
        f = tf.function(lambda x, y: x * y, autograph=False).get_concrete_function(tf.TensorSpec([2]), tf.TensorSpec([2]))
        return f(*[tf.constant(a) for a in args])

    return call


ERRORS: dict[str, tuple[Any, type[Exception]]] = {
    "a tensor of a function that has ended": (leaked, TypeError),
    "a Variable in every call": (made_in_every_call, ValueError),
    "a Variable in a later trace": (made_later, ValueError),
    "a tape as a result": (returning_a_tape, TypeError),
    "an error of the body": (applied(raising), KeyError),
    "numpy()": (applied(lambda tf, x: x.numpy()), AttributeError),
    "float()": (applied(lambda tf, x: float(x[0])), TypeError),
    "int()": (applied(lambda tf, x: int(x[0])), TypeError),
    "a condition": (applied(lambda tf, x: 1.0 if x[0] > 0.0 else 2.0), TypeError),
    "a loop over a tensor of unknown length": (applied(lambda tf, x: list(range(tf.cast(x[0], tf.int32)))), TypeError),
    "branches of different structures": (
        applied(lambda tf, x: tf.cond(x[0] > 0.0, lambda: (x, x), lambda: (x,))), Exception,
    ),
    "branches of different dtypes": (
        applied(lambda tf, x: tf.cond(x[0] > 0.0, lambda: x, lambda: tf.cast(x, tf.int32))), TypeError,
    ),
    "a loop variable that grows": (
        applied(lambda tf, x: tf.while_loop(lambda y: True, lambda y: (tf.concat([y, y], 0),), (x,), maximum_iterations=3)), ValueError,
    ),
    "a loop variable of another dtype": (
        applied(lambda tf, x: tf.while_loop(lambda y: y[0] < 9.0, lambda y: (tf.cast(y, tf.float64),), (x,))), Exception,
    ),
    "products of matrices that do not fit": (applied(lambda tf, x: tf.matmul(x[None, :], x[None, :])), Exception),
    "too few arguments": (lambda tf: tf.function(lambda x, y: x, autograph=False)(tf.constant(1.0)), TypeError),
    "too many arguments": (lambda tf: tf.function(lambda x: x, autograph=False)(tf.constant(1.0), 2.0), TypeError),
    "an unknown keyword": (lambda tf: tf.function(lambda x: x, autograph=False)(tf.constant(1.0), z=2.0), TypeError),
    "a signature and another rank": (with_signature(lambda tf: tf.constant([[1.0, 2.0]]), 2), TypeError),
    "a signature and another dtype": (with_signature(lambda tf: tf.constant([1, 2]), 2), TypeError),
    "a signature and too few arguments": (with_signature(lambda tf: tf.constant([1.0, 2.0])), TypeError),
    "a signature and an unknown keyword": (with_signature(lambda tf: tf.constant([1.0, 2.0]), 2, z=1), TypeError),
    "a signature that is none": (lambda tf: tf.function(lambda x: x, input_signature=[3])(tf.constant(1.0)), Exception),
    "a concrete function and too few arguments": (concrete([1.0, 2.0]), TypeError),
    "a concrete function and too many arguments": (concrete([1.0, 2.0], [1.0, 2.0], [1.0, 2.0]), TypeError),
}  # fmt: skip


@pytest.mark.parametrize("name", ERRORS)
def test_both_refuse(name):
    call, error = ERRORS[name]
    for tf in (tensorflow, gradtape):
        with pytest.raises(error):
            call(tf)
