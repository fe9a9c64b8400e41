"""Random numbers in a function: new ones in every call, the same again after `set_seed`, of the
distributions of eager code.
"""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats

import gradtape as tf
from gradtape.random import Generator

COUNT = 4000

SAMPLERS = {
    "normal": lambda: tf.random.normal([COUNT], mean=1.0, stddev=2.0),
    "normal float64": lambda: tf.random.normal([COUNT], dtype=tf.float64),
    "normal bfloat16": lambda: tf.random.normal([COUNT], dtype=tf.bfloat16),
    "truncated_normal": lambda: tf.random.truncated_normal([COUNT], stddev=3.0),
    "uniform": lambda: tf.random.uniform([COUNT], minval=-1.0, maxval=1.0),
    "uniform float16": lambda: tf.random.uniform([COUNT], dtype=tf.float16),
    "uniform int32": lambda: tf.random.uniform([COUNT], minval=1, maxval=7, dtype=tf.int32),
    "uniform int64": lambda: tf.random.uniform(
        [COUNT], minval=-(2**40), maxval=2**40, dtype=tf.int64
    ),
    "gamma": lambda: tf.random.gamma([COUNT], alpha=0.7, beta=2.0),
    "poisson": lambda: tf.random.poisson([COUNT], lam=3.0),
    "categorical": lambda: tf.random.categorical([[0.0, 1.0, -1.0]], COUNT)[0],
    "whole range of int64": lambda: tf.random.stateless_uniform(
        [COUNT], [5, 6], None, None, dtype=tf.int64
    ),
    "whole range of uint32": lambda: tf.random.stateless_uniform(
        [COUNT], [5, 6], None, None, dtype=tf.uint32
    ),
    "binomial": lambda: tf.random.stateless_binomial([COUNT], [5, 6], counts=10.0, probs=0.3),
    "bounded normal": lambda: tf.random.stateless_parameterized_truncated_normal(
        [COUNT], [5, 6], 0.0, 1.0, 0.5, 3.0
    ),
    "dropout": lambda: tf.nn.dropout(tf.ones([COUNT]), rate=0.25),
}


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", SAMPLERS)
def test_the_distribution_is_that_of_eager_code(name):
    sample = SAMPLERS[name]
    tf.random.set_seed(7)
    eager, compiled = sample(), tf.function(lambda: sample())()
    assert compiled.dtype == eager.dtype
    assert compiled.shape == eager.shape
    ours, theirs = (np.asarray(x.numpy(), np.float64) for x in (compiled, eager))
    assert scipy.stats.ks_2samp(ours, theirs).pvalue > 1e-3


def differ(x, y):
    return not np.array_equal(x.numpy(), y.numpy())


def equal(x, y):
    return np.array_equal(x.numpy(), y.numpy())


def test_every_call_gives_new_numbers_and_set_seed_the_same_again():
    @tf.function
    def f(x):
        return (
            tf.random.normal([4]),
            tf.random.normal([4]),
            tf.random.uniform([4], seed=3),
            tf.random.uniform([4], seed=3) + x,
        )

    def call():
        return f(tf.constant(0.0))

    tf.random.set_seed(5)
    first, second = call(), call()
    assert differ(first[0], first[1])
    assert differ(first[2], first[3])
    assert all(map(differ, first, second))
    tf.random.set_seed(5)
    assert all(map(equal, call(), first))
    assert all(map(equal, call(), second))
    tf.random.set_seed(6)
    assert all(map(differ, call(), first))
    assert f.experimental_get_tracing_count() == 1


def test_a_seed_of_its_own_counts_its_own_draws():
    f = tf.function(lambda: tf.random.normal([3], seed=11))
    g = tf.function(lambda: (tf.random.normal([3]), tf.random.normal([3], seed=12)))
    tf.random.set_seed(1)
    alone = [f(), f()]
    tf.random.set_seed(1)
    between = [f(), g(), f()]
    assert equal(alone[0], between[0])
    assert equal(alone[1], between[2])


def test_without_a_seed_numbers_differ_and_eager_draws_are_left_alone():
    f = tf.function(lambda: tf.random.normal([3]))
    tf.random.set_seed(3)
    expected = [tf.random.normal([3]), tf.random.normal([3])]
    tf.random.set_seed(3)
    found = [tf.random.normal([3])]
    f()
    found.append(tf.random.normal([3]))
    assert all(map(equal, found, expected))
    tf.random.set_seed(None)
    first = f()
    tf.random.set_seed(None)
    assert differ(first, f())


def test_set_seed_inside_begins_again_in_every_call():
    @tf.function
    def f():
        tf.random.set_seed(1)
        return tf.random.normal([3])

    assert equal(f(), f())


def test_the_states_are_no_variables_of_the_function():
    v = tf.Variable(2.0)
    concrete = tf.function(lambda: v * tf.random.normal([])).get_concrete_function()
    assert concrete.variables == (v,)
    assert concrete.captured_inputs == [v]


def test_stateless_numbers_depend_on_the_seed_alone():
    known = tf.function(lambda: tf.random.stateless_normal([4], seed=[1, 2]))
    given = tf.function(lambda seed: tf.random.stateless_normal([4], seed=seed))
    assert equal(known(), known())
    assert equal(known(), given(tf.constant([1, 2])))
    assert equal(known(), given(tf.constant([1, 2], tf.int64)))
    assert differ(known(), given(tf.constant([1, 3])))
    assert differ(known(), given(tf.constant([2, 2])))
    folded = tf.function(lambda step: tf.random.fold_in([1, 2], step))
    assert equal(folded(tf.constant(3)), folded(tf.constant(3)))
    assert differ(folded(tf.constant(3)), folded(tf.constant(4)))


def test_a_generator_moves_on_as_in_eager_code():
    compiled, eager = Generator.from_seed(4), Generator.from_seed(4)
    compiled.reset([-1, 5, 9])  # the counter's lower half is full
    eager.reset([-1, 5, 9])
    f = tf.function(lambda: (compiled.normal([2, 3]), compiled.uniform([5]), compiled.skip(2)))
    first, second = f(), f()
    before = []
    for _ in range(2):
        eager.normal([2, 3])
        eager.uniform([5])
        before.append(eager.skip(2))
    assert equal(compiled.state, eager.state)
    assert equal(first[2], before[0])
    assert equal(second[2], before[1])
    assert differ(first[0], second[0])
    compiled.reset([-1, 5, 9])
    assert all(map(equal, f(), first))


def test_a_generator_can_be_reset_and_made_in_a_function():
    class Model:
        generator = None

        @tf.function
        def __call__(self):
            if self.generator is None:
                self.generator = Generator.from_seed(3)
            return self.generator.normal([2])

        @tf.function
        def reset(self, state):
            self.generator.reset(state)

    model = Model()
    first, second = model(), model()
    assert differ(first, second)
    model.reset(tf.constant([3, 0, 0], tf.int64))
    assert equal(model(), first)


def test_gradients_by_mean_and_deviation():
    @tf.function
    def f(mean, deviation):
        return tf.random.normal([5], mean, deviation)

    mean, deviation = tf.constant(1.0), tf.constant(2.0)
    with tf.GradientTape() as tape:
        tape.watch([mean, deviation])
        y = f(mean, deviation)
    by_mean, by_deviation = tape.gradient(y, [mean, deviation])
    np.testing.assert_allclose(by_mean, 5.0)
    np.testing.assert_allclose(by_deviation, np.sum((y.numpy() - 1) / 2), rtol=1e-5)


def test_gradients_of_gamma_numbers_of_two_orders():
    alpha = 2.5

    def derivatives(sample):
        x = tf.constant(alpha, tf.float64)
        with tf.GradientTape() as outer:
            outer.watch(x)
            with tf.GradientTape() as inner:
                inner.watch(x)
                y = sample(x)
            first = inner.gradient(y, x)
        return float(y), float(first), float(outer.gradient(first, x))

    y, first, second = derivatives(
        tf.function(lambda a: tf.random.stateless_gamma([], [1, 2], a, dtype=tf.float64))
    )
    quantile, step = scipy.special.gammainc(alpha, y), 1e-4
    below, above = (scipy.special.gammaincinv(alpha + d, quantile) for d in (-step, step))
    np.testing.assert_allclose(first, (above - below) / (2 * step), rtol=1e-5)
    np.testing.assert_allclose(second, (above - 2 * y + below) / step**2, rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("inside", [True, False])
def test_the_backward_step_of_dropout_drops_the_same(inside):
    x = tf.ones([50])

    def step(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.nn.dropout(x, 0.5)
        return y, tape.gradient(y, x)

    if inside:
        y, gradient = tf.function(step)(x)
    else:
        dropped = tf.function(lambda x: tf.nn.dropout(x, 0.5))
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = dropped(x)
        gradient = tape.gradient(y, x)
    assert equal(y, gradient)
    assert 0 < np.count_nonzero(y.numpy()) < 50


def test_second_derivatives_use_the_numbers_of_the_call():
    @tf.function
    def f(x):
        return tf.reduce_sum(tf.random.normal([3]) * x**3)

    x = tf.constant([1.0, 1.0, 1.0])
    with tf.GradientTape() as outer:
        outer.watch(x)
        with tf.GradientTape() as inner:
            inner.watch(x)
            y = f(x)
        first = inner.gradient(y, x)
    second = outer.gradient(first, x)
    np.testing.assert_allclose(np.sum(first.numpy()) / 3, y, rtol=1e-5)
    np.testing.assert_allclose(second, 2 * first.numpy(), rtol=1e-5)


def test_recompute_grad_draws_the_same_numbers_again():
    @tf.function
    def f(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.recompute_grad(lambda x: tf.nn.dropout(x, 0.5))(x)
        return y, tape.gradient(y, x)

    y, gradient = f(tf.ones([50]))
    assert equal(y, gradient)


def test_loops_draw_new_numbers_at_every_step():
    @tf.function
    def f(x):
        rows = tf.map_fn(lambda row: row + tf.random.normal([2]), x)
        _, total = tf.while_loop(
            lambda i, total: i < 4,
            lambda i, total: (i + 1, tf.concat([total[1:], tf.random.normal([1])], 0)),
            (0, tf.zeros([4])),
        )
        return rows, total

    tf.random.set_seed(2)
    first = f(tf.zeros([3, 2]))
    for found in first:
        assert len(set(found.numpy().reshape(-1).tolist())) == found.numpy().size
    assert all(map(differ, first, f(tf.zeros([3, 2]))))
    tf.random.set_seed(2)
    assert all(map(equal, f(tf.zeros([3, 2])), first))


def test_a_branch_draws_and_the_next_call_goes_on():
    @tf.function
    def f(draws):
        noise = tf.cond(draws, lambda: tf.random.normal([3]), lambda: tf.zeros([3]))
        return noise, tf.random.normal([3])

    first, second = f(tf.constant(True)), f(tf.constant(True))
    assert differ(first[0], second[0])
    assert differ(first[0], first[1])
    np.testing.assert_array_equal(f(tf.constant(False))[0], 0)


def every_number_is_new(x):
    return len(set(np.round(x.numpy().reshape(-1), 6).tolist())) == x.numpy().size


@pytest.mark.parametrize("inside", [True, False])
def test_each_example_of_a_batch_has_its_own_numbers(inside):
    def one(x):
        return x + tf.random.normal([3])

    f = tf.function(lambda x: tf.vmap(one)(x)) if inside else lambda x: tf.vmap(compiled)(x)
    compiled = tf.function(one)
    first, second = f(tf.zeros([4, 3])), f(tf.zeros([4, 3]))
    assert every_number_is_new(tf.concat([first, second], 0))


def test_a_tape_inside_vmap_around_a_function():
    compiled = tf.function(lambda x: tf.nn.dropout(x, 0.5))

    def one(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = compiled(x)
        return y, tape.gradient(y, x)

    results = [tf.vmap(one)(tf.ones([2, 40])) for _ in range(2)]
    for y, gradient in results:
        np.testing.assert_array_equal(y, gradient)
        assert differ(y[0], y[1])
    assert differ(results[0][0], results[1][0])


def test_loops_in_a_batch():
    def one(x):
        rows = tf.map_fn(lambda row: row + tf.random.normal([]), x)
        # Each example runs for a number of steps of its own.
        steps = tf.cast(x[0], tf.int32) + 1
        _, last = tf.while_loop(
            lambda i, seen: i < steps,
            lambda i, seen: (i + 1, tf.concat([seen[1:], tf.random.normal([1])], 0)),
            (tf.constant(0), tf.zeros([3])),
        )
        return rows, last, tf.random.normal([1])

    f = tf.function(lambda x: tf.vmap(one)(x))
    x = tf.constant([[0.0, 0.0], [2.0, 2.0], [1.0, 1.0]])
    calls = [f(x), f(x)]
    drawn = np.concatenate(
        [part.numpy().reshape(-1) for call in calls for part in (call[0] - x, call[1], call[2])]
    )
    drawn = drawn[drawn != 0]
    assert drawn.size == 2 * (6 + (1 + 3 + 2) + 3)
    assert np.unique(np.round(drawn, 5)).size == drawn.size
    assert f(tf.zeros([0, 2]))[0].shape == (0, 2)


def test_gamma_with_a_parameter_of_each_example():
    alpha = tf.constant([0.5, 5.0, 50.0])
    own = tf.function(lambda a: tf.vmap(lambda a: tf.random.gamma([500], a))(a))(alpha)
    np.testing.assert_allclose(np.mean(own.numpy(), 1), alpha, rtol=0.3)
    same = tf.function(lambda a: tf.vmap(lambda a: tf.random.stateless_gamma([20], [1, 2], a))(a))(
        tf.constant([2.0, 2.0])
    )
    assert equal(same[0], same[1])


def test_shuffle_keeps_every_row_and_its_gradient():
    @tf.function
    def f(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.random.shuffle(x)
            total = tf.reduce_sum(y * tf.range(20.0))
        return y, tape.gradient(total, x)

    x = tf.range(20.0)
    y, gradient = f(x)
    assert sorted(y.numpy()) == list(range(20))
    np.testing.assert_array_equal(y.numpy()[gradient.numpy().astype(int)], x)
    assert differ(y, f(x)[0])


def test_a_variable_initialised_at_random_in_a_function():
    class Model:
        w = None

        @tf.function
        def __call__(self, x):
            if self.w is None:
                self.w = tf.Variable(tf.random_normal_initializer()([x.shape[-1], 3]))
            return x @ self.w

    model = Model()
    first, second = model(tf.ones([2, 4])), model(tf.ones([2, 4]))
    assert equal(first, second)
    assert np.std(model.w.numpy()) > 0


def test_bounds_that_only_the_program_knows():
    f = tf.function(lambda high: tf.random.uniform([200], 0, high, dtype=tf.int32))
    assert set(f(tf.constant(3)).numpy().tolist()) == {0, 1, 2}
    assert f(tf.constant(1000)).numpy().max() > 100


def test_a_function_in_a_function_goes_on_with_the_same_numbers():
    inner = tf.function(lambda: tf.random.normal([3]))
    outer = tf.function(lambda: (inner(), inner(), tf.random.normal([3])))
    drawn = np.concatenate([x.numpy() for call in (outer(), outer()) for x in call])
    assert np.unique(drawn).size == 18


def test_candidates_are_sampled_anew_in_every_call():
    @tf.function
    def f(labels):
        return tf.random.log_uniform_candidate_sampler(
            labels, num_true=1, num_sampled=5, unique=True, range_max=1000
        )

    labels = tf.constant([[3], [7]])
    first, second = f(labels), f(labels)
    eager = tf.random.log_uniform_candidate_sampler(
        labels, num_true=1, num_sampled=5, unique=True, range_max=1000
    )
    assert [(x.dtype, x.shape) for x in first] == [(x.dtype, x.shape) for x in eager]
    assert len(set(first.sampled_candidates.numpy().tolist())) == 5
    assert differ(first.sampled_candidates, second.sampled_candidates)


def test_windows_of_random_sizes_are_refused():
    with pytest.raises(TypeError, match=r"fractional_max_pool: the random windows"):
        tf.function(lambda x: tf.nn.fractional_max_pool(x, 1.5), jit_compile=True)(
            tf.ones([1, 6, 6, 1])
        )


def test_a_loop_over_constants_draws_for_each_example():
    def one(x):
        rows = tf.map_fn(lambda _: tf.random.normal([]), tf.zeros([3]))
        return tf.cond(x > 0, lambda: rows + tf.random.normal([3]), lambda: rows)

    f = tf.function(lambda x: tf.vmap(one)(x))
    assert every_number_is_new(
        tf.concat([f(tf.constant([1.0, -1.0])), f(tf.constant([1.0, -1.0]))], 0)
    )


SEEDED = {
    "normal": lambda seed, alpha: tf.random.stateless_normal([3], seed),
    "gamma": lambda seed, alpha: tf.random.stateless_gamma([2], seed, alpha),
    "uniform": lambda seed, alpha: tf.random.stateless_uniform([2], seed, 0, 1000, tf.int32),
    "shuffle": lambda seed, alpha: tf.random.experimental.stateless_shuffle(tf.range(5), seed),
    "split": lambda seed, alpha: tf.random.split(seed),
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("name", SEEDED)
def test_each_example_may_have_a_seed_of_its_own(name, compiled):
    one = SEEDED[name]
    seeds, alphas = tf.constant([[1, 2], [3, 4], [1, 2]]), tf.constant([2.0, 3.0, 2.0])
    wrap = tf.function if compiled else lambda f: f
    found = wrap(lambda seeds, alphas: tf.vmap(one)(seeds, alphas))(seeds, alphas)
    single = wrap(lambda seed, alpha: one(seed, alpha))
    expected = tf.stack([single(seed, alpha) for seed, alpha in zip(seeds, alphas, strict=True)])
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    assert differ(found[0], found[1])
