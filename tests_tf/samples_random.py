"""Rows of tf.random: what does not depend on the draw. The numbers themselves are others, as they are for other devices there."""

import math

from table import DOUBLE, row

COUNT = 4000


def facts(tf, draw, mean, deviation, *, repeatable=True):
    """Shape, dtype, whether the moments are what they should be, and whether a seed gives the same again."""
    numbers = draw()
    values = tf.cast(numbers, "float64")
    found = [tf.shape(numbers), numbers.dtype, bool(tf.abs(tf.reduce_mean(values) - mean) < 5.0 * deviation / math.sqrt(COUNT))]
    found.append(bool(tf.abs(tf.math.reduce_std(values) / deviation - 1.0) < 0.12))
    return [*found, bool(tf.reduce_all(numbers == draw()))] if repeatable else found


def of(mean, deviation, draw):
    """Seeded in the way of tf.random.set_seed."""

    def call(tf):
        def seeded():
            tf.random.set_seed(7)
            return draw(tf)

        return facts(tf, seeded, mean, deviation)

    return call


def stateless(mean, deviation, draw):
    return lambda tf: facts(tf, lambda: draw(tf), mean, deviation)


def generator(tf):
    def make():
        return tf.random.Generator.from_seed(3)

    first, second = make().split(2)
    drawn = [
        facts(tf, lambda: make().normal([COUNT]), 0.0, 1.0),
        facts(tf, lambda: make().uniform([COUNT], 0, 10, "int32"), 4.5, 2.87),
    ]
    return [*drawn, bool(tf.reduce_all(first.normal([3]) != second.normal([3]))), make().state.shape, make().state.dtype]


def shuffled(tf):
    tf.random.set_seed(7)
    rows = tf.random.shuffle(tf.reshape(tf.range(20), [10, 2]))
    return [tf.sort(rows[:, 0]), rows[:, 1] - rows[:, 0]]


def keys(name):
    def call(tf):
        made = getattr(tf.random, name)([1, 2], 3)
        again = getattr(tf.random, name)([1, 2], 3)
        return [tf.shape(made), made.dtype, bool(tf.reduce_all(made == again)), bool(tf.reduce_any(made != [1, 2]))]

    return call


def with_seed(tf):
    """A seed for the program starts the sequence of each draw anew."""
    tf.random.set_seed(1)
    first = [tf.random.normal([3]), tf.random.normal([3])]
    tf.random.set_seed(1)
    second = [tf.random.normal([3]), tf.random.normal([3])]
    return [bool(tf.reduce_all(a == b)) for a in first for b in second]


LOGITS = [[0.0, math.log(3.0)]]
TRUNCATED = 0.8796  # the deviation of a normal variable that is cut off at two deviations

ROWS = [
    row("tf.random.normal", call=of(2.0, 3.0, lambda tf: tf.random.normal([COUNT], 2.0, 3.0, seed=1)), dtypes=DOUBLE),
    row("tf.random.uniform", call=of(1.0, 3.4641, lambda tf: tf.random.uniform([COUNT], -5.0, 7.0, "float64", seed=1)), dtypes=DOUBLE),
    row("tf.random.uniform", call=of(4.5, 2.8723, lambda tf: tf.random.uniform([COUNT], 0, 10, "int64", seed=1)), note="int", dtypes=DOUBLE),
    row("tf.random.truncated_normal", call=of(1.0, 2 * TRUNCATED, lambda tf: tf.random.truncated_normal([COUNT], 1.0, 2.0)), dtypes=DOUBLE),
    row("tf.random.gamma", call=of(1.5, 0.8660, lambda tf: tf.random.gamma([COUNT], 3.0, 2.0, seed=1)), dtypes=DOUBLE),
    row("tf.random.poisson", call=of(3.0, 1.7321, lambda tf: tf.random.poisson([COUNT], 3.0, seed=1)), dtypes=DOUBLE),
    row("tf.random.categorical", call=of(0.75, 0.4330, lambda tf: tf.random.categorical(LOGITS, COUNT, seed=1)), dtypes=DOUBLE),
    row("tf.random.stateless_normal", call=stateless(2.0, 3.0, lambda tf: tf.random.stateless_normal([COUNT], [1, 2], 2.0, 3.0)), dtypes=DOUBLE),
    row("tf.random.stateless_uniform", call=stateless(1.0, 3.4641, lambda tf: tf.random.stateless_uniform([COUNT], [1, 2], -5.0, 7.0)), dtypes=DOUBLE),
    row("tf.random.stateless_truncated_normal", call=stateless(0.0, TRUNCATED, lambda tf: tf.random.stateless_truncated_normal([COUNT], [1, 2])), dtypes=DOUBLE),
    row("tf.random.stateless_gamma", call=stateless(1.5, 0.8660, lambda tf: tf.random.stateless_gamma([COUNT], [1, 2], 3.0, 2.0)), dtypes=DOUBLE),
    row("tf.random.stateless_categorical", call=stateless(0.75, 0.4330, lambda tf: tf.random.stateless_categorical(LOGITS, COUNT, [1, 2])), dtypes=DOUBLE),
    row("tf.random.Generator", call=generator, dtypes=DOUBLE),
    row("tf.random.get_global_generator", call=lambda tf: [tf.random.get_global_generator().normal([2]).shape], dtypes=DOUBLE),
    row("tf.random.set_seed", call=with_seed, dtypes=DOUBLE),
    row("tf.random.shuffle", call=shuffled, dtypes=DOUBLE),
    row("tf.random.split", call=keys("split"), dtypes=DOUBLE),
    row("tf.random.fold_in", call=keys("fold_in"), dtypes=DOUBLE),
]  # fmt: skip
