"""Rows of tf.random: what does not depend on the draw.

The numbers themselves are others, as they are for other devices there.
"""

import math

from table import DOUBLE, row

COUNT = 4000


def facts(tf, draw, mean, deviation, *, repeatable=True):
    """Shape, dtype, whether the moments are what they should be,
    and whether a seed gives the same again.
    """
    numbers = draw()
    values = tf.cast(numbers, "float64")
    found = [
        tf.shape(numbers),
        numbers.dtype,
        bool(tf.abs(tf.reduce_mean(values) - mean) < 5.0 * deviation / math.sqrt(COUNT)),
    ]
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
    return [
        *drawn,
        bool(tf.reduce_all(first.normal([3]) != second.normal([3]))),
        make().state.shape,
        make().state.dtype,
    ]


def shuffled(tf):
    tf.random.set_seed(7)
    rows = tf.random.shuffle(tf.reshape(tf.range(20), [10, 2]))
    return [tf.sort(rows[:, 0]), rows[:, 1] - rows[:, 0]]


def keys(name):
    def call(tf):
        made = getattr(tf.random, name)([1, 2], 3)
        again = getattr(tf.random, name)([1, 2], 3)
        return [
            tf.shape(made),
            made.dtype,
            bool(tf.reduce_all(made == again)),
            bool(tf.reduce_any(made != [1, 2])),
        ]

    return call


def with_seed(tf):
    """A seed for the program starts the sequence of each draw anew."""
    tf.random.set_seed(1)
    first = [tf.random.normal([3]), tf.random.normal([3])]
    tf.random.set_seed(1)
    second = [tf.random.normal([3]), tf.random.normal([3])]
    return [bool(tf.reduce_all(a == b)) for a in first for b in second]


def reparameterised(draw, *values):
    """Whether the gradients by the parameters are those of a function of them and of numbers that
    stay what they are.

    `draw` gives samples, and how each moves with each parameter.
    """

    def call(tf):
        params = [tf.constant(value) for value in values]
        tf.random.set_seed(7)
        with tf.GradientTape() as tape:
            tape.watch(params)
            sample, slopes = draw(tf, *params)
            total = tf.reduce_sum(sample * tf.range(1.0, 6.0))
        found = tape.gradient(total, params)
        right = [tf.reduce_sum(slope * tf.range(1.0, 6.0)) for slope in slopes]
        return [
            tf.shape(sample),
            *[bool(tf.abs(a - b) < 1e-3) for a, b in zip(found, right, strict=True)],
        ]

    return call


def located(name, *seed, **options):
    """A sample that is moved and scaled."""

    def draw(tf, mean, deviation):
        sample = getattr(tf.random, name)([5], *seed, mean, deviation, **options)
        return sample, [tf.ones([5]), tf.stop_gradient((sample - mean) / deviation)]

    return reparameterised(draw, 1.0, 2.0)


def between(name, *seed, **options):
    def draw(tf, low, high):
        sample = getattr(tf.random, name)([5], *seed, low, high, **options)
        share = tf.stop_gradient((sample - low) / (high - low))
        return sample, [1.0 - share, share]

    return reparameterised(draw, -1.0, 2.0)


def of_rate(name, *seed, **options):
    """Scaled by the rate; by alpha, as the quantile moves."""

    def draw(tf, alpha, beta):
        sample = getattr(tf.random, name)([5], *seed, alpha, beta, **options)
        at, step = tf.stop_gradient(sample * beta), 1e-2
        density = tf.exp((alpha - 1.0) * tf.math.log(at) - at - tf.math.lgamma(alpha))
        by_alpha = (tf.math.igamma(alpha + step, at) - tf.math.igamma(alpha - step, at)) / (
            2.0 * step
        )
        return sample, [
            tf.stop_gradient(-by_alpha / density / beta),
            tf.stop_gradient(-sample / beta),
        ]

    return reparameterised(draw, 1.7, 2.5)


def not_differentiable(draw):
    """Counts: the gradient is None."""

    def call(tf):
        rate = tf.constant(2.5)
        with tf.GradientTape() as tape:
            tape.watch(rate)
            sample = draw(tf, rate)
        return [tf.shape(sample), tape.gradient(sample, rate)]

    return call


LOGITS = [[0.0, math.log(3.0)]]
TRUNCATED = 0.8796  # the deviation of a normal variable that is cut off at two deviations

ROWS = [
    row("tf.random.normal",
        call=of(2.0, 3.0, lambda tf: tf.random.normal([COUNT], 2.0, 3.0, seed=1)), dtypes=DOUBLE),
    row("tf.random.uniform",
        call=of(1.0, 3.4641, lambda tf: tf.random.uniform([COUNT], -5.0, 7.0, "float64", seed=1)),
        dtypes=DOUBLE),
    row("tf.random.uniform",
        call=of(4.5, 2.8723, lambda tf: tf.random.uniform([COUNT], 0, 10, "int64", seed=1)),
        note="int", dtypes=DOUBLE),
    row("tf.random.truncated_normal",
        call=of(1.0, 2 * TRUNCATED, lambda tf: tf.random.truncated_normal([COUNT], 1.0, 2.0)),
        dtypes=DOUBLE),
    row("tf.random.gamma",
        call=of(1.5, 0.8660, lambda tf: tf.random.gamma([COUNT], 3.0, 2.0, seed=1)), dtypes=DOUBLE),
    row("tf.random.poisson",
        call=of(3.0, 1.7321, lambda tf: tf.random.poisson([COUNT], 3.0, seed=1)), dtypes=DOUBLE),
    row("tf.random.categorical",
        call=of(0.75, 0.4330, lambda tf: tf.random.categorical(LOGITS, COUNT, seed=1)),
        dtypes=DOUBLE),
    row("tf.random.stateless_normal",
        call=stateless(2.0, 3.0, lambda tf: tf.random.stateless_normal([COUNT], [1, 2], 2.0, 3.0)),
        dtypes=DOUBLE),
    row("tf.random.stateless_uniform",
        call=stateless(1.0, 3.4641,
            lambda tf: tf.random.stateless_uniform([COUNT], [1, 2], -5.0, 7.0)), dtypes=DOUBLE),
    row("tf.random.stateless_truncated_normal",
        call=stateless(0.0, TRUNCATED,
            lambda tf: tf.random.stateless_truncated_normal([COUNT], [1, 2])), dtypes=DOUBLE),
    row("tf.random.stateless_gamma",
        call=stateless(1.5, 0.8660,
            lambda tf: tf.random.stateless_gamma([COUNT], [1, 2], 3.0, 2.0)), dtypes=DOUBLE),
    row("tf.random.stateless_categorical",
        call=stateless(0.75, 0.4330,
            lambda tf: tf.random.stateless_categorical(LOGITS, COUNT, [1, 2])), dtypes=DOUBLE),
    row("tf.random.normal", call=located("normal", seed=1), note="gradient", dtypes=DOUBLE),
    row("tf.random.stateless_normal", call=located("stateless_normal", [1, 2]), note="gradient",
        dtypes=DOUBLE),
    row("tf.random.truncated_normal", call=located("truncated_normal", seed=1), note="gradient",
        dtypes=DOUBLE),
    row("tf.random.stateless_truncated_normal", call=located("stateless_truncated_normal", [1, 2]),
        note="gradient", dtypes=DOUBLE),
    row("tf.random.uniform", call=between("uniform", seed=1), note="gradient", dtypes=DOUBLE),
    row("tf.random.stateless_uniform", call=between("stateless_uniform", [1, 2]), note="gradient",
        dtypes=DOUBLE),
    row("tf.random.gamma", call=of_rate("gamma", seed=1), note="gradient", dtypes=DOUBLE),
    row("tf.random.stateless_gamma", call=of_rate("stateless_gamma", [1, 2]), note="gradient",
        dtypes=DOUBLE),
    row("tf.random.stateless_poisson",
        call=not_differentiable(lambda tf, rate: tf.random.stateless_poisson([5], [1, 2], rate,
            "float32")), note="gradient", dtypes=DOUBLE),
    row("tf.random.stateless_binomial",
        call=not_differentiable(lambda tf, rate: tf.random.stateless_binomial([5], [1, 2], 10.0,
            rate / 10.0, "float32")), note="gradient", dtypes=DOUBLE),
    row("tf.random.stateless_categorical",
        call=not_differentiable(lambda tf, rate: tf.random.stateless_categorical([[rate, 1.0]], 5,
            [1, 2])), note="gradient", dtypes=DOUBLE),
    row("tf.random.Generator", call=generator, dtypes=DOUBLE),
    row("tf.random.get_global_generator",
        call=lambda tf: [tf.random.get_global_generator().normal([2]).shape], dtypes=DOUBLE),
    row("tf.random.set_seed", call=with_seed, dtypes=DOUBLE),
    row("tf.random.shuffle", call=shuffled, dtypes=DOUBLE),
    row("tf.random.split", call=keys("split"), dtypes=DOUBLE),
    row("tf.random.fold_in", call=keys("fold_in"), dtypes=DOUBLE),
]  # fmt: skip
