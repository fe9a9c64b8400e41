"""The same functions compiled by both libraries: when they are traced,
what they return and write, gradients, and errors.

A case takes the library and gives a list of results. Python control flow on tensors is in
test_autograph.py.
"""

from __future__ import annotations

import collections
from typing import Any

import numpy as np
import pytest
import tensorflow  # noqa: ICN001  # `tf` is the library that a case is given
from compare import compared, plain

import gradtape
from gradtape.api.tensorflow.type_specs import SparseTensorSpec

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
    results = [
        f(np.ones(2, np.float32)),
        f(tf.constant([2.0, 3.0])),
        f(np.float64(2)),
        f(np.ones(2, np.float64)),
    ]
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
    for batch in (
        {"a": x, "b": [y]},
        {"b": [x], "a": y},
        {"a": x, "b": (y,)},
        {"a": x, "b": [y, y]},
        {"a": x, "b": [x]},
    ):
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
    results = [
        f(u, v),
        f(v, u),
        len(times),
        f(u, u),
        len(times),
        f(v, v),
        len(times),
        f(w, v),
        len(times),
    ]
    return [*results, f(u, tf.constant(1.0)), len(times)]


def traces_for_none_and_strings(tf):
    f, times = counted(tf, lambda x, mode=None: x if mode is None else x * len(mode))
    x = tf.constant(2.0)
    return [f(x), f(x, None), f(x, "ab"), f(x, "abc"), f(x, mode="ab"), len(times)]


def traces_with_a_signature(tf):
    f, times = counted(
        tf,
        lambda x, y: x * y,
        input_signature=[tf.TensorSpec([2], tf.float32), tf.TensorSpec([], tf.float32)],
    )
    return [
        f(tf.constant([1.0, 2.0]), tf.constant(2.0)),
        f([1.0, 2.0], 3),
        f(np.array([1.0, 2.0]), np.float64(2)),
        len(times),
    ]


def signatures_and_defaults(tf):
    spec = tf.TensorSpec([2], tf.float32)
    f, times = counted(tf, lambda x, scale=2.0, training=None: x * scale, input_signature=[spec])
    g, _ = counted(tf, lambda pair: pair["a"] * pair["b"], input_signature=[{"a": spec, "b": spec}])
    x = tf.constant([1.0, 2.0])
    results = [
        f(x),
        f(x, 2.0),
        f(x=x),
        f(x, training=None),
        f([3, 4]),
        f(tf.Variable([1.0, 2.0])),
        len(times),
    ]
    return [*results, g({"a": x, "b": [1.0, 3.0]}), g({"b": np.ones(2), "a": x})]


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
    results = [
        concrete(tf.constant([3.0, 4.0])),
        f(tf.constant([5.0, 6.0])),
        len(times),
        len(concrete.variables),
    ]
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


def counts_with_open_sizes(tf):
    f = tf.function(lambda x: x * 2.0, input_signature=[tf.TensorSpec([None, 3], tf.float32)])
    results = []
    for size in (1, 4, 2, 0, 4):
        results += [f(tf.ones([size, 3])), f.experimental_get_tracing_count()]
    concrete = f.get_concrete_function()
    return [*results, concrete(tf.ones([7, 3])), f.experimental_get_tracing_count()]


def counts_with_reduced_retracing(tf):
    f = tf.function(lambda x: x * 2.0, reduce_retracing=True)
    g = tf.function(
        lambda batch, n: batch["a"] * tf.reduce_sum(batch["b"]) * n, reduce_retracing=True
    )
    results = []
    for shape in ([1], [2], [3], [2, 2], [3, 3], [1, 1, 1], [4]):
        results += [f(tf.ones(shape)), f.experimental_get_tracing_count()]
    for a, b, n in (
        (1, 1, 1.0),
        (2, 1, 1.0),
        (3, 1, 1.0),
        (3, 2, 1.0),
        (3, 3, 1.0),
        (3, 3, 2.0),
        (4, 3, 2.0),
        (5, 3, 2.0),
        (6, 6, 1.0),
    ):
        results += [
            g({"a": tf.ones([a]), "b": tf.ones([b])}, n),
            g.experimental_get_tracing_count(),
        ]
    return results


def counts_with_variables_and_tapes(tf):
    made = []

    def body(x):
        if not made:
            made.append(tf.Variable(2.0))
        return made[0] * x

    f = tf.function(body, autograph=False)
    x = tf.constant(3.0)
    results = [f(x), f.experimental_get_tracing_count(), f(x), f.experimental_get_tracing_count()]
    with tf.GradientTape() as tape:
        y = f(x)
    return [
        *results,
        tape.gradient(y, made[0]),
        f.experimental_get_tracing_count(),
        f(tf.ones([2])),
        f.experimental_get_tracing_count(),
    ]


def counts_of_concrete_functions(tf):
    f = tf.function(lambda x: x * 2.0)
    concrete = f.get_concrete_function(tf.TensorSpec([None, 3], tf.float32))
    results = [
        concrete(tf.ones([5, 3])),
        f(tf.ones([2, 3])),
        f.experimental_get_tracing_count(),
        f(tf.ones([2])),
        f.experimental_get_tracing_count(),
    ]
    fixed = tf.function(lambda x: x * 2.0).get_concrete_function(tf.TensorSpec([2], tf.float32))
    given = (
        [1.0, 2.0],
        np.array([1.0, 2.0]),
        np.array([1.0, 2.0], np.float32),
        tf.constant([1.0, 2.0, 3.0]),
    )
    return [*results, *[fixed(value) for value in given], fixed(x=tf.constant([3.0, 4.0]))]


def traces_of_nested_methods(tf):
    times = []

    class Inner(tf.Module):
        def __init__(self, factor):
            super().__init__()
            self.w = tf.Variable(factor)

        @tf.function
        def scaled(self, x):
            return x * self.w

    class Outer(tf.Module):
        def __init__(self):
            super().__init__()
            self.parts = [Inner(2.0), Inner(3.0)]

        @tf.function
        def __call__(self, x, training=False):
            times.append(1)
            for part in self.parts:
                x = part.scaled(x)
            return x if training else -x

    model = Outer()
    x = tf.constant([1.0, 2.0])
    with tf.GradientTape() as tape:
        y = model(x, training=True)
    return [
        y,
        *tape.gradient(y, model.trainable_variables),
        model(x),
        model(x),
        model.parts[0].scaled(x),
        len(times),
    ]


def python_runs_while_tracing_and_a_py_function_in_every_call(tf):
    lines = []

    @tf.function
    def f(x):
        lines.append("python")
        tf.py_function(lambda value: lines.append(float(value)), [x], [])
        return x + 1.0

    results = [f(tf.constant(value)) for value in (1.0, 2.0, 3.0)]
    return [*results, *lines]


def strings(tf):
    f, _ = counted(tf, lambda x, mode: (x, mode))
    x = tf.constant(1.0)
    found = [f(x, tf.constant(word)) for word in ("a", "b")]
    return [*[leaf for pair in found for leaf in pair], f(x, "a")[0], f(x, "b")[0]]


# What is made of tensors


def sparse_tensor(tf, values, shape=(2, 3), places=((0, 0), (1, 2))):
    return tf.sparse.SparseTensor(
        [list(place) for place in places], tf.constant(values), list(shape)
    )


def sparse_arguments(tf):
    f, times = counted(tf, lambda s, w: tf.sparse.sparse_dense_matmul(s, w))
    w = tf.Variable([[1.0], [2.0], [3.0]])
    results = []
    for values in ([1.0, 2.0], [5.0, -1.0]):
        s = sparse_tensor(tf, values)
        with tf.GradientTape() as tape:
            tape.watch(s.values)
            y = f(s, w)
        results += [y, *tape.gradient(y, [s.values, w]), len(times)]
    return [*results, f(sparse_tensor(tf, [1.0, 2.0], (4, 3)), w), len(times)]


def sparse_tensors_returned(tf):
    found = tf.function(lambda s: {"same": s, "twice": s * 2.0})(sparse_tensor(tf, [1.0, 2.0]))
    return [part for s in found.values() for part in (s.indices, s.values, s.dense_shape)]


def sparse_signatures(tf):
    spec = SparseTensorSpec if tf is gradtape else tf.SparseTensorSpec
    f, _ = counted(
        tf, lambda s: tf.sparse.reduce_sum(s), input_signature=[spec([None, 3], tf.float32)]
    )
    given = (sparse_tensor(tf, [1.0, 2.0]), sparse_tensor(tf, [3.0], (5, 3), [(4, 1)]))
    return [*[f(s) for s in given], f.experimental_get_tracing_count()]


def slices_as_arguments(tf):
    f, times = counted(
        tf, lambda rows: (rows.values * 2.0, rows.indices, tf.convert_to_tensor(rows))
    )
    results = []
    for start in (1.0, 2.0):
        rows = tf.IndexedSlices(tf.fill([2, 2], start), tf.constant([0, 3]), tf.constant([4, 2]))
        results += [*f(rows), len(times)]
    return results


def tensor_arrays(tf):
    @tf.function
    def running(x):
        array = tf.TensorArray(tf.float32, size=4)
        total = tf.zeros([2])
        for i in tf.range(4):
            total = tf.tanh(total + x[i])
            array = array.write(i, total)
        return array.stack()

    @tf.function(autograph=False)
    def taken_apart(x):
        array = tf.TensorArray(tf.float32, size=4, clear_after_read=False).unstack(x)
        return (
            array.read(1) * array.read(3),
            array.gather([2, 0]),
            array.concat() if x.shape.rank == 3 else array.stack(),
        )

    x = tf.constant(np.linspace(-1.0, 1.0, 8, dtype=np.float32).reshape(4, 2))
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = running(x)
        parts = taken_apart(x)
    return [y, tape.gradient(y, x), *parts, tape.gradient(parts[0], x), tape.gradient(parts[1], x)]


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
    return [list(result), result["none"], *kinds,
        *(result[key] for key in ("number", "float", "flag", "array", "variable")),
            type(result["list"]).__name__, type(result["list"][1]).__name__,
            *tf.nest.flatten(result["list"])]  # fmt: skip


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
    return [
        tf.function(lambda x: None, autograph=False)(tf.constant(1.0)),
        tf.function(lambda: [*()], autograph=False)(),
    ]


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
        return tf.cond(
            tf.reduce_sum(x) > 0.0,
            lambda: {"a": x * 2.0, "b": [x]},
            lambda: {"a": x - 1.0, "b": [x * x]},
        )

    return [
        leaf
        for value in ([1.0, 2.0], [-1.0, -2.0])
        for leaf in tf.nest.flatten(f(tf.constant(value)))
    ]


def cases_and_switches(tf):
    @tf.function(autograph=False)
    def f(x, i):
        chosen = tf.switch_case(i, [lambda: x, lambda: x * 10.0, lambda: x * 100.0])
        found = tf.case(
            [(x > 5.0, lambda: x * 2.0), (x > 1.0, lambda: x * 3.0)], default=lambda: x * 4.0
        )
        return chosen, found

    return [
        leaf
        for x in (0.5, 2.0, 7.0)
        for i in (0, 1, 2, 5, -1)
        for leaf in f(tf.constant(x), tf.constant(i))
    ]


def loops(tf):
    @tf.function(autograph=False)
    def f(x, n):
        count, y = tf.while_loop(
            lambda i, _: i < n, lambda i, y: (i + 1, y * x), (tf.constant(0), x)
        )
        few = tf.while_loop(
            lambda i: True, lambda i: (i + 1,), (tf.constant(0),), maximum_iterations=3
        )
        return count, y, few[0]

    return [leaf for n in (0, 1, 4) for leaf in f(tf.constant([1.5, -2.0]), tf.constant(n))]


def scans_and_folds(tf):
    @tf.function(autograph=False)
    def f(x):
        states = tf.scan(lambda s, row: (s[0] * row, s[1] + row), x, (x[0], x[1]))
        return [*states, tf.scan(lambda a, b: a * b, x, reverse=True),
            tf.foldl(lambda a, b: a - b, x), tf.foldr(lambda a, b: a - b, x),
                tf.map_fn(lambda row: tf.reduce_sum(row * row), x)]  # fmt: skip

    return f(tf.constant([[1.0, 2.0], [3.0, -4.0], [5.0, 6.0]]))


def gradients_of_control_flow(tf):
    def branches(x):
        return tf.cond(x[0] > 0.0, lambda: x * x, lambda: tf.exp(x))

    def steps(x):
        return tf.while_loop(
            lambda i, _: i < 3,
            lambda i, y: (i + 1, tf.sin(y) * x),
            (tf.constant(0), x),
            maximum_iterations=5,
        )[1]

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


def gradients_of_folds_maps_and_choices(tf):
    def chosen(x):
        return tf.switch_case(tf.cast(x[0] > 0.0, tf.int32), [lambda: x * x, lambda: tf.exp(x)])

    def found(x):
        return tf.case(
            [(x[0] > 1.0, lambda: x * 2.0), (x[0] > 0.0, lambda: tf.sin(x))], default=lambda: x**3
        )

    def mapped(x):
        return tf.map_fn(lambda a: tf.sin(a) * x[0], x)

    def folded(x):
        return tf.foldl(lambda s, a: tf.tanh(s + a), x) * tf.foldr(lambda s, a: tf.sin(s * a), x)

    def nested(x):
        return tf.map_fn(lambda a: tf.while_loop(lambda i, _: i < 2,
            lambda i, y: (i + 1, tf.cond(y > 0.0, lambda: y * a, lambda: y - a)),
                                                 (tf.constant(0), a), maximum_iterations=3)[1],
                                             x)  # fmt: skip

    results = []
    for body in (chosen, found, mapped, folded, nested):
        f = tf.function(body, autograph=False)
        for value in ([0.5, -1.0, 2.0], [-0.5, 1.0, 0.25], [1.5, 1.0, 0.25]):
            x = tf.constant(value, tf.float64)
            with tf.GradientTape() as outer:
                outer.watch(x)
                with tf.GradientTape() as inner:
                    inner.watch(x)
                    y = f(x)
                first = inner.gradient(y, x)
            results += [y, first, outer.gradient(first, x)]
    return results


def gradients_inside_of_control_flow(tf):
    w = tf.Variable([1.0, -2.0])

    @tf.function
    def f(x):
        total = tf.constant(0.0)
        with tf.GradientTape() as tape:
            for row in x:
                if tf.reduce_sum(row) > 0.0:
                    total += tf.reduce_sum(tf.tanh(row * w))
                else:
                    total -= tf.reduce_sum(w * w * row)
        return total, tape.gradient(total, w)

    return [
        *f(tf.constant([[1.0, 2.0], [-3.0, 1.0], [0.5, 0.5]])),
        *f(tf.constant([[-1.0, 0.0], [-3.0, 1.0], [-0.5, 0.5]])),
    ]


def gradients_asked_for_inside(tf):
    x = tf.constant([1.0, 2.0])
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = x**3
    inside = tf.function(lambda: tape.gradient(y, x), autograph=False)()
    late = tf.GradientTape()

    @tf.function(autograph=False)
    def f(x):
        with late:
            late.watch(x)
            return x * x

    return [inside, late.gradient(f(x), x)]


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
        tf.while_loop(
            lambda i: i < 3,
            lambda i: (i + tf.cast(v.assign_add(1.0) > -100.0, tf.int32),),
            (tf.constant(0),),
        )
        return v * 2.0

    return [f(tf.constant(2.0)), v.numpy(), f(tf.constant(-2.0)), v.numpy()]


# Gradients


def tape_outside(tf):
    w, fixed, captured = (
        tf.Variable([1.0, 2.0]),
        tf.Variable([3.0, 4.0], trainable=False),
        tf.constant([5.0, 6.0]),
    )
    f, times = counted(tf, lambda x: (tf.reduce_sum(tf.tanh(x * w) * fixed * captured), x + 1.0))
    x = tf.constant([0.5, -0.5])
    with tf.GradientTape(persistent=True) as tape:
        tape.watch([x, captured])
        y, z = f(x)
        total = y * 2.0 + tf.reduce_sum(z * z)
    results = [
        y,
        z,
        *tape.gradient(total, [x, w, fixed, captured]),
        tape.gradient(z, [x, w]),
        tape.gradient(y, z),
    ]
    return [
        leaf for result in results for leaf in (result if isinstance(result, list) else [result])
    ] + [len(times)]


def seeds_and_several_targets(tf):
    f = tf.function(lambda x: (x * x, tf.exp(x)), autograph=False)
    x = tf.constant([1.0, 2.0])
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y, z = f(x)
    return [
        tape.gradient(y, x, output_gradients=tf.constant([1.0, 10.0])),
        tape.gradient([y, z], x),
        tape.jacobian(y, x),
    ]


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


def compiled_on_demand(tf):
    options = {
        "jit_compile": True,
        "reduce_retracing": False,
        "experimental_implements": None,
        "experimental_autograph_options": None,
    }
    f = tf.function(lambda x: tf.reduce_sum(tf.sin(x) * x), autograph=False, **options)
    x = tf.constant([1.0, 2.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    return [y, tape.gradient(y, x)]


def random_numbers(tf):
    f = tf.function(lambda: tf.random.normal([1000]), autograph=False)
    tf.random.set_seed(1)
    first, second = f(), f()
    tf.random.set_seed(1)
    inside = tf.function(lambda seed: tf.random.stateless_uniform([1000], seed), autograph=False)
    one, two, again = (inside(tf.constant(seed)) for seed in ([1, 2], [3, 4], [1, 2]))

    def same(a, b):
        return bool(np.array_equal(a.numpy(), b.numpy()))

    fine = (
        all(abs(float(np.mean(r.numpy()))) < 0.2 for r in (first, second))
        and abs(float(np.mean(one.numpy())) - 0.5) < 0.1
    )
    return [
        same(first, second),
        same(one, two),
        same(one, again),
        fine,
        first.shape.as_list(),
        one.shape.as_list(),
    ]


def vectorised(tf):
    f = tf.function(lambda row: tf.reduce_sum(row) * row, autograph=False)
    return [tf.vectorized_map(f, tf.constant([[1.0, 2.0], [3.0, 4.0]]))]


CASES = [
    traces_by_shape_and_dtype, traces_for_arrays, traces_by_python_values, traces_by_structure,
    traces_however_it_is_called, traces_for_variables, traces_for_none_and_strings,
    traces_with_a_signature, signatures_and_defaults, counts_of_traces, traces_of_methods,
    concrete_functions, functions_run_eagerly, results_of_every_kind, named_tuples, lists_of_lists,
    identity_is_a_new_tensor, nothing_at_all, sparse_results, variables_are_read_live,
    assignments_in_order, variables_given_as_arguments, variables_made_once, sparse_writes,
    functions_in_functions, python_values_are_those_of_the_first_call, conditions,
    cases_and_switches, loops, scans_and_folds, gradients_of_control_flow,
    untaken_branches_have_zero_gradients, assignments_in_branches_and_loops, tape_outside,
    seeds_and_several_targets, tape_inside, second_order, forward_mode,
    stopped_and_custom_gradients, vectorised, counts_with_open_sizes, counts_with_reduced_retracing,
    counts_with_variables_and_tapes, counts_of_concrete_functions, traces_of_nested_methods,
    python_runs_while_tracing_and_a_py_function_in_every_call, strings, sparse_arguments,
    sparse_tensors_returned, sparse_signatures, slices_as_arguments, tensor_arrays,
    gradients_of_folds_maps_and_choices, gradients_inside_of_control_flow,
    gradients_asked_for_inside, compiled_on_demand, random_numbers,
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_both_give_the_same(case):
    ours, theirs = ([plain(tf, result) for result in case(tf)] for tf in (gradtape, tensorflow))
    assert len(ours) == len(theirs)
    found = [
        f"result {i}: {line}"
        for i, (a, b) in enumerate(zip(ours, theirs, strict=True))
        for line in compared(a, b, 1e-5)
    ]
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


def undefined_in_one_branch(x):
    if x > 0:
        y = x
    return y


def with_signature(*args, **kwargs):
    def call(tf):
        f = tf.function(
            lambda x, y: x * y,
            autograph=False,
            input_signature=[tf.TensorSpec([2]), tf.TensorSpec([], tf.int32)],
        )
        return f(*[a(tf) if callable(a) else a for a in args], **kwargs)

    return call


def concrete(*args):
    def call(tf):
        f = tf.function(lambda x, y: x * y, autograph=False).get_concrete_function(
            tf.TensorSpec([2]), tf.TensorSpec([2])
        )
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
    "a loop over a tensor of unknown length": (
        applied(lambda tf, x: list(range(tf.cast(x[0], tf.int32)))), TypeError),
    "branches of different structures": (
        applied(lambda tf, x: tf.cond(x[0] > 0.0, lambda: (x, x), lambda: (x,))), Exception,
    ),
    "branches of different dtypes": (
        applied(lambda tf, x: tf.cond(x[0] > 0.0, lambda: x, lambda: tf.cast(x, tf.int32))),
        TypeError,
    ),
    "a loop variable that grows": (
        applied(lambda tf, x: tf.while_loop(lambda y: True, lambda y: (tf.concat([y, y], 0),), (x,),
            maximum_iterations=3)),
        ValueError,
    ),
    "a loop variable of another dtype": (
        applied(lambda tf, x: tf.while_loop(lambda y: y[0] < 9.0,
            lambda y: (tf.cast(y, tf.float64),), (x,))),
        Exception,
    ),
    "products of matrices that do not fit": (
        applied(lambda tf, x: tf.matmul(x[None, :], x[None, :])), Exception),
    "too few arguments": (lambda tf: tf.function(lambda x, y: x, autograph=False)(tf.constant(1.0)),
        TypeError),
    "too many arguments": (
        lambda tf: tf.function(lambda x: x, autograph=False)(tf.constant(1.0), 2.0), TypeError),
    "an unknown keyword": (
        lambda tf: tf.function(lambda x: x, autograph=False)(tf.constant(1.0), z=2.0), TypeError),
    "a signature and another rank": (with_signature(lambda tf: tf.constant([[1.0, 2.0]]), 2),
        TypeError),
    "a signature and another dtype": (with_signature(lambda tf: tf.constant([1, 2]), 2), TypeError),
    "a signature and too few arguments": (with_signature(lambda tf: tf.constant([1.0, 2.0])),
        TypeError),
    "a signature and an unknown keyword": (
        with_signature(lambda tf: tf.constant([1.0, 2.0]), 2, z=1), TypeError),
    "a signature and an argument that is not in it": (
        lambda tf: tf.function(lambda x, y=1.0: x * y,
            input_signature=[tf.TensorSpec([2])])(tf.constant([1.0, 2.0]), 3.0),
        TypeError,
    ),
    "a signature and another structure": (
        lambda tf: tf.function(lambda p: p["a"],
            input_signature=[{"a": tf.TensorSpec([2])}])({"b": tf.constant([1.0, 2.0])}),
        TypeError,
    ),
    "a signature that is none": (
        lambda tf: tf.function(lambda x: x, input_signature=[3])(tf.constant(1.0)), Exception),
    "a concrete function and too few arguments": (concrete([1.0, 2.0]), TypeError),
    "a concrete function and another dtype": (
        concrete([1, 2], [1.0, 2.0]),
        (tensorflow.errors.InvalidArgumentError, gradtape.errors.InvalidArgumentError),
    ),
    "a signature of keywords alone": (
        lambda tf: tf.function(lambda **kw: kw["x"],
            input_signature=[tf.TensorSpec([2])])(x=tf.constant([1.0, 2.0])),
        TypeError,
    ),
    "NumPy's functions": (applied(lambda tf, x: np.sin(np.asarray(x))), NotImplementedError),
    "a Python object as a result": (applied(lambda tf, x: object()), TypeError),
    "a variable of one branch": (
        lambda tf: tf.function(undefined_in_one_branch)(tf.constant(1.0)), ValueError,
    ),
    "elements outside of a TensorArray": (
        applied(lambda tf, x: tf.TensorArray(tf.float32, size=2).unstack(x).read(5)), Exception,
    ),
    "too many iterations of another dtype": (
        applied(lambda tf, x: tf.scan(lambda a, b: tf.cast(a, tf.int32), x, x[0])), Exception,
    ),
    "a concrete function and too many arguments": (concrete([1.0, 2.0], [1.0, 2.0], [1.0, 2.0]),
        TypeError),
}  # fmt: skip


@pytest.mark.parametrize("name", ERRORS)
def test_both_refuse(name):
    call, error = ERRORS[name]
    for tf in (tensorflow, gradtape):
        with pytest.raises(error):
            call(tf)
