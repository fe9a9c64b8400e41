"""Functions whose shapes or loop lengths are known only when they run,
with what TensorFlow 2.21 gives for them.

Each is one trace for all of its arguments. The first argument is a float32 tensor, by which it is
differentiated; others are int32.
"""

# ruff: noqa: SIM108 - statements are what AutoGraph is to convert

from __future__ import annotations

from typing import Any, NamedTuple

import gradtape as tf


class Program(NamedTuple):
    function: Any
    arguments: tuple[tuple[Any, ...], ...]  # numbers and lists of them
    # For each of the arguments, the value and the gradient by the first of them.
    expected: tuple[tuple[Any, Any], ...]
    kind: str  # what XLA cannot hold

    def tensors(self, number: int) -> list[Any]:
        first, *others = self.arguments[number]
        return [tf.constant(first, tf.float32), *(tf.constant(other, tf.int32) for other in others)]


PROGRAMS: dict[str, Program] = {}


def program(kind, *rows):
    """Adds a function to the table: each row has arguments, the value and the gradient."""

    def add(f):
        PROGRAMS[f.__name__] = Program(
            f, tuple(row[0] for row in rows), tuple(row[1:] for row in rows), kind
        )
        return f

    return add


LOOP = "the gradient of a loop of unknown length"
SHAPE = "a shape that depends on values"

ONE, OTHER = [1.0, -2.0, 3.0], [-1.0, -2.0, 3.0]
SIX = [1.0, -2.0, 3.0, 4.0, 5.0, 6.0]


@program(
    LOOP,
    ((2.0, 0), 2.0, 1.0),
    ((2.0, 1), 4.0, 4.0),
    ((2.0, 3), 16.0, 32.0),
    ((2.0, 5), 64.0, 192.0),
)
def for_of_unknown_length(x, n):
    y = x
    for _ in tf.range(n):
        y = y * x
    return y


@program(
    LOOP,
    ((2.0,), 128.0, 448.0),
    ((3.0,), 243.0, 405.0),
    ((200.0,), 200.0, 1.0),
)
def while_on_a_value(x):
    y = x
    while y < 100.0:
        y = y * x
    return y


@program(
    LOOP,
    ((2.0,), 128.0, 448.0),
    ((3.0,), 243.0, 405.0),
    ((200.0,), 200.0, 1.0),
)
def while_loop_on_a_value(x):
    return tf.while_loop(lambda y: y < 100.0, lambda y: (y * x,), (x,))[0]


@program(
    LOOP,
    ((2.0, 3), 42.0, 77.0),
    ((2.0, 0), 2.0, 1.0),
    ((1.5, 2), 6.0, 7.0),
)
def loops_in_loops(x, n):
    y = x
    for i in tf.range(n):
        for _ in tf.range(i):
            y = y * x
        y = y + x
    return y


@program(
    LOOP,
    ((2.0, 6), 32.0, 80.0),
    ((5.0, 6), 25.0, 10.0),
    ((0.5, 3), 0.0625, 0.5),
)
def for_with_break(x, n):
    y = x
    for _ in tf.range(n):
        y = y * x
        if y > 20.0:
            break
    return y


@program(
    LOOP,
    ((ONE, 2), -2.0, [-4.0, 1.0, 0.0]),
    ((ONE, 3), 7.0, [-4.0, 1.0, 6.0]),
    ((OTHER, 3), 9.0, [0.0, 0.0, 6.0]),
)
def for_with_a_branch(x, n):
    y = tf.zeros([], x.dtype)
    for i in tf.range(n):
        if x[i] > 0.0:
            y = y + x[i] ** 2
        else:
            y = y * x[i]
    return y


def joined(y, x):
    return tf.concat([y, y[-1:] * x[0]], 0)


GROWN = (
    ((ONE, 0), [1.0, 4.0, 9.0], [2.0, -4.0, 6.0]),
    ((ONE, 2), [1.0, 4.0, 9.0, 9.0, 9.0], [29.0, -4.0, 18.0]),
    ((OTHER, 1), [1.0, 4.0, 9.0, -9.0], [7.0, -4.0, 0.0]),
)


@program(SHAPE, *GROWN)
def while_loop_that_grows(x, n):
    return tf.while_loop(
        lambda i, y: i < n,
        lambda i, y: (i + 1, joined(y, x)),
        (tf.constant(0), x * x),
        shape_invariants=(tf.TensorShape([]), tf.TensorShape([None])),
    )[1]


@program(SHAPE, *GROWN)
def while_that_grows(x, n):
    y = x * x
    while tf.size(y) < n + 3:
        tf.autograph.experimental.set_loop_options(shape_invariants=[(y, tf.TensorShape([None]))])
        y = joined(y, x)
    return y


@program(SHAPE, *GROWN)
def for_that_grows(x, n):
    y = x * x
    for _ in tf.range(n):
        tf.autograph.experimental.set_loop_options(shape_invariants=[(y, tf.TensorShape([None]))])
        y = joined(y, x)
    return y


@program(SHAPE, *GROWN)
def for_that_grows_in_a_structure(x, n):
    state = {"y": x * x, "count": tf.constant(0)}
    for i in tf.range(5):
        tf.autograph.experimental.set_loop_options(
            shape_invariants=[(state, {"y": tf.TensorShape([None]), "count": tf.TensorShape([])})]
        )
        if i >= n:
            break
        state = {"y": joined(state["y"], x), "count": state["count"] + 1}
    return state["y"]


@program(SHAPE, GROWN[1])
def for_of_known_length_that_grows(x, n):
    y = x * x
    for _ in tf.range(2):
        tf.autograph.experimental.set_loop_options(shape_invariants=[(y, tf.TensorShape([None]))])
        y = joined(y, x)
    return y


BOUNDED = (
    ((ONE,), [4.0, 12.0], [4.0, 0.0, 4.0]),
    ((OTHER,), [12.0], [0.0, 0.0, 4.0]),
    (([500.0, -1.0, 400.0],), [1000.0, 800.0], [2.0, 0.0, 2.0]),
)


@program(SHAPE, *BOUNDED)
def while_with_a_bound(x):
    y = tf.boolean_mask(x, x > 0.0)
    while tf.reduce_sum(y) < 1000.0:
        tf.autograph.experimental.set_loop_options(maximum_iterations=2)
        y = y * 2.0
    return y


@program(SHAPE, *BOUNDED)
def bound_that_is_a_tensor(x):
    y = x[x > 0.0]
    while tf.reduce_sum(y) < 1000.0:
        tf.autograph.experimental.set_loop_options(maximum_iterations=tf.size(tf.unique([3, 4]).y))
        y = y * 2.0
    return y


@program(SHAPE, *BOUNDED[:2])
def for_with_a_bound(x):
    y = tf.boolean_mask(x, x > 0.0)
    for _ in tf.range(9):
        tf.autograph.experimental.set_loop_options(maximum_iterations=2)
        y = y * 2.0
    return y


@program(SHAPE, *BOUNDED[:2])
def for_with_a_bound_and_a_break(x):
    y = tf.boolean_mask(x, x > 0.0)
    for _ in tf.range(9):
        tf.autograph.experimental.set_loop_options(maximum_iterations=2)
        if tf.reduce_sum(y) > 1000.0:
            break
        y = y * 2.0
    return y


def doubled_twice(y):
    while tf.reduce_sum(y) < 1000.0:
        tf.autograph.experimental.set_loop_options(maximum_iterations=2)
        y = y * 2.0
    return y


@program(SHAPE, *BOUNDED)
def bound_in_a_helper(x):
    return doubled_twice(tf.boolean_mask(x, x > 0.0))


@program(SHAPE, ((2.0, 1), 4.0, 4.0), ((2.0, 3), 36.0, 36.0))
def none_before_a_loop(x, n):
    y = None
    for i in tf.range(n):
        y = (x * tf.cast(i + 1, x.dtype)) ** 2
    return y


@program(SHAPE, ((ONE,), -8.0, [-16.0, 4.0, 0.0]), ((OTHER,), -8.0, [16.0, 4.0, 0.0]))
def none_before_a_while(x):
    y = None
    z = x[1]
    while tf.abs(z) < 3.0:
        z = z * 2.0
        y = z * x[0] * x[0] * 2.0
    return y


@program(SHAPE, ((ONE,), 1.0, [1.0, 0.0, 0.0]), ((OTHER,), 1.0, [-1.0, 0.0, 0.0]))
def words_of_branches(x):
    if x[0] > 0.0:
        name = "positive"
    else:
        name = "negative"
    return x[0] if name == "positive" else -x[0]


@program(SHAPE, ((ONE,), 3.0, [0.0, 0.0, 1.0]), ((OTHER,), 3.0, [0.0, 0.0, 1.0]))
def words_of_a_loop(x):
    name = "a"
    for value in x:
        if value > 2.0:
            name = "b"
    return x[0] if name == "a" else x[2]


@program(
    SHAPE,
    ((ONE,), [1.0, 9.0], [2.0, 0.0, 6.0]),
    ((OTHER,), [9.0], [0.0, 0.0, 6.0]),
)
def boolean_mask(x):
    return tf.boolean_mask(x * x, x > 0.0)


@program(
    SHAPE,
    ((ONE,), [1.0, 9.0], [2.0, 0.0, 6.0]),
    ((OTHER,), [9.0], [0.0, 0.0, 6.0]),
)
def index_with_a_mask(x):
    return x[x > 0.0] ** 2


@program(
    SHAPE,
    ((ONE,), [1.0, 9.0], [2.0, 0.0, 6.0]),
    ((OTHER,), [9.0], [0.0, 0.0, 6.0]),
)
def where_true(x):
    return tf.gather_nd(x**2, tf.where(x > 0.0))


@program(
    SHAPE,
    ((ONE,), [10.0, 4.0], [2.0, -4.0, 6.0]),
    ((OTHER,), [5.0, 9.0], [-2.0, -4.0, 6.0]),
)
def unique(x):
    values, places = tf.unique(tf.cast(x > 0.0, tf.int32))
    return tf.math.unsorted_segment_sum(x**2, places, tf.size(values))


@program(
    SHAPE,
    ((ONE,), [2.0, 4.0, 18.0], [4.0, -4.0, 12.0]),
    ((OTHER,), [2.0, 8.0, 9.0], [-4.0, -8.0, 6.0]),
)
def unique_with_counts(x):
    _, places, counts = tf.unique_with_counts(tf.cast(x > 0.0, tf.int32))
    return x**2 * tf.cast(tf.gather(counts, places), x.dtype)


@program(
    SHAPE,
    ((SIX, 2), [[1.0, 4.0, 9.0], [16.0, 25.0, 36.0]], [2.0, -4.0, 6.0, 8.0, 10.0, 12.0]),
    ((SIX, 3), [[1.0, 4.0], [9.0, 16.0], [25.0, 36.0]], [2.0, -4.0, 6.0, 8.0, 10.0, 12.0]),
    ((SIX, 6), [[1.0], [4.0], [9.0], [16.0], [25.0], [36.0]], [2.0, -4.0, 6.0, 8.0, 10.0, 12.0]),
)
def reshape(x, n):
    return tf.reshape(x**2, [n, -1])


@program(
    SHAPE,
    ((ONE, 2), [[1.0, 1.0], [1.0, 1.0]], [8.0, 0.0, 0.0]),
    ((ONE, 1), [[1.0, 1.0]], [4.0, 0.0, 0.0]),
)
def zeros(x, n):
    return tf.zeros([n, 2]) + x[0] ** 2


@program(
    SHAPE,
    ((ONE, 2), [[1.0, 1.0], [1.0, 1.0]], [8.0, 0.0, 0.0]),
    ((ONE, 1), [[1.0, 1.0]], [4.0, 0.0, 0.0]),
)
def ones(x, n):
    return tf.ones([n, 2]) * x[0] ** 2


@program(
    SHAPE,
    ((ONE, 2), [1.0, 1.0], [4.0, 0.0, 0.0]),
    ((ONE, 3), [1.0, 1.0, 1.0], [6.0, 0.0, 0.0]),
)
def fill(x, n):
    return tf.fill([n], x[0] ** 2)


@program(
    SHAPE,
    ((ONE, 2), [0.0, 1.0], [2.0, 0.0, 0.0]),
    ((ONE, 3), [0.0, 1.0, 2.0], [6.0, 0.0, 0.0]),
)
def range_as_a_tensor(x, n):
    return tf.cast(tf.range(n), x.dtype) * x[0] ** 2


@program(
    SHAPE,
    ((ONE, 2), [1.0, 4.0, 9.0, 1.0, 4.0, 9.0], [4.0, -8.0, 12.0]),
    ((ONE, 1), [1.0, 4.0, 9.0], [2.0, -4.0, 6.0]),
)
def tile(x, n):
    return tf.tile(x**2, [n])


@program(
    SHAPE,
    ((ONE, 2), [[1.0, 4.0, 9.0], [1.0, 4.0, 9.0]], [4.0, -8.0, 12.0]),
    ((ONE, 1), [[1.0, 4.0, 9.0]], [2.0, -4.0, 6.0]),
)
def broadcast_to(x, n):
    return tf.broadcast_to(x**2, [n, 3])


@program(
    SHAPE,
    ((ONE, 2), [1.0, 4.0], [2.0, -4.0, 0.0]),
    ((ONE, 3), [1.0, 4.0, 9.0], [2.0, -4.0, 6.0]),
    ((ONE, 0), [], [0.0, 0.0, 0.0]),
)
def slice_to_a_tensor(x, n):
    return x[:n] ** 2


@program(
    SHAPE,
    ((ONE, 2), [4.0, 9.0], [0.0, -4.0, 6.0]),
    ((ONE, 1), [4.0], [0.0, -4.0, 0.0]),
)
def slice_of_a_size(x, n):
    return tf.slice(x**2, [1], [n])


@program(
    SHAPE,
    ((ONE, 2), [[1.0, 0.0], [0.0, 1.0]], [4.0, 0.0, 0.0]),
    ((ONE, 3), [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]], [6.0, 0.0, 0.0]),
)
def eye(x, n):
    return tf.eye(n) * x[0] ** 2


@program(
    SHAPE,
    ((ONE, 2), [[1.0, 0.0], [0.0, 1.0]], [4.0, 0.0, 0.0]),
    ((ONE, 4), [[1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0]], [4.0, 0.0, 0.0]),
)
def one_hot(x, n):
    return tf.one_hot([0, 1], n) * x[0] ** 2


@program(
    SHAPE,
    ((ONE, 1), [0.0, 1.0, 4.0, 9.0, 0.0], [2.0, -4.0, 6.0]),
    ((ONE, 0), [1.0, 4.0, 9.0, 0.0], [2.0, -4.0, 6.0]),
)
def pad(x, n):
    return tf.pad(x**2, [[n, 1]])


@program(
    SHAPE,
    ((ONE, [1, 0, 2]), [1.0, 9.0, 9.0], [2.0, 0.0, 12.0]),
    ((ONE, [0, 0, 1]), [9.0], [0.0, 0.0, 6.0]),
)
def repeat(x, n):
    return tf.repeat(x**2, n)


@program(
    SHAPE,
    ((ONE, 2), [9.0, 4.0], [0.0, -4.0, 6.0]),
    ((ONE, 1), [9.0], [0.0, 0.0, 6.0]),
)
def top_k(x, n):
    return tf.math.top_k(x**2, k=n).values


@program(
    SHAPE,
    ((ONE, [1, 2]), [[1.0, 0.0], [1.0, 1.0]], [6.0, 0.0, 0.0]),
    ((ONE, [3, 0]), [[1.0, 1.0, 1.0], [0.0, 0.0, 0.0]], [6.0, 0.0, 0.0]),
)
def sequence_mask(x, n):
    return tf.cast(tf.sequence_mask(n), x.dtype) * x[0] ** 2


@program(
    SHAPE,
    ((ONE,), 7.0, [3.0, 0.0, 2.0]),
    ((OTHER,), 4.0, [0.0, 0.0, 1.0]),
)
def for_over_a_masked_tensor(x):
    y = tf.constant(1.0)
    for element in tf.boolean_mask(x, x > 0.0):
        y = y * element + 1.0
    return y


@program(
    SHAPE,
    ((ONE,), 10.0, [2.0, 0.0, 6.0]),
    ((OTHER,), 0.0, [1.0, 1.0, 1.0]),
)
def mask_in_a_branch(x):
    if x[0] > 0.0:
        y = tf.reduce_sum(tf.boolean_mask(x * x, x > 0.0))
    else:
        y = tf.reduce_sum(x)
    return y


@program(
    SHAPE,
    ((ONE, 2), 19.0, [2.0, 0.0, 12.0]),
    ((ONE, 1), 10.0, [2.0, 0.0, 6.0]),
)
def mask_in_a_loop(x, n):
    y = tf.constant(0.0)
    for i in tf.range(n):
        y = y + tf.reduce_sum(tf.boolean_mask(x * x, x > tf.cast(i, x.dtype)))
    return y


@program(
    SHAPE,
    ((ONE,), [1.0, 4.0], [2.0, -4.0, 0.0]),
    ((OTHER,), [27.0], [0.0, 0.0, 27.0]),
)
def tensor_array_written_in_a_branch(x):
    items = tf.TensorArray(tf.float32, size=0, dynamic_size=True)
    if x[0] > 0.0:
        items = items.write(0, x[0] ** 2).write(1, x[1] ** 2)
    else:
        items = items.write(0, x[2] ** 3)
    return items.stack()


@program(
    SHAPE,
    ((ONE, 3), [1.0, 9.0], [2.0, 0.0, 6.0]),
    ((OTHER, 3), [9.0], [0.0, 0.0, 6.0]),
    ((ONE, 1), [1.0], [2.0, 0.0, 0.0]),
)
def tensor_array_written_in_a_branch_of_a_loop(x, n):
    items = tf.TensorArray(tf.float32, size=0, dynamic_size=True)
    for i in tf.range(n):
        if x[i] > 0.0:
            items = items.write(items.size(), x[i] ** 2)
    return items.stack()


@program(
    SHAPE,
    ((ONE, 3), [1.0, 4.0, 9.0], [2.0, -4.0, 6.0]),
    ((ONE, 1), [1.0], [2.0, 0.0, 0.0]),
)
def tensor_array_of_unknown_length(x, n):
    items = tf.TensorArray(tf.float32, size=0, dynamic_size=True)
    for i in tf.range(n):
        items = items.write(i, x[i] ** 2)
    return items.stack()
