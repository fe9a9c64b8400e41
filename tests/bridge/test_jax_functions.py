"""`bridge.from_jax`: a JAX function is an op like any other."""

from collections import namedtuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import gradtape as tf
from gradtape.bridge import from_jax

Pair = namedtuple("Pair", "first second")


def values(*shape, seed=0):
    return np.random.default_rng(seed).uniform(0.5, 2.0, shape)


def close(found, expected, rtol=1e-6):
    np.testing.assert_allclose(np.asarray(found), np.asarray(expected), rtol=rtol)


def in_jax(x, y):
    return jnp.sin(x) * y**2 + x.sum() / y


def in_gradtape(x, y):
    return tf.sin(x) * y**2 + tf.reduce_sum(x) / y


bridged = from_jax(in_jax)
X, Y = values(3), values(3, seed=1)


def derivatives(f, x, y):
    """Derivatives of several kinds, by name."""
    x, y = tf.constant(x), tf.constant(y)
    found = {}
    with tf.GradientTape(persistent=True) as third:
        third.watch(x)
        with tf.GradientTape(persistent=True) as second:
            second.watch([x, y])
            with tf.GradientTape(persistent=True) as first:
                first.watch([x, y])
                out = f(x, y)
            gx, gy = first.gradient(out, [x, y])
        gxx, gxy = second.gradient(gx, [x, y])
    found |= {"out": out, "gx": gx, "gy": gy, "gxx": gxx, "gxy": gxy}
    found["gyx"] = second.gradient(gy, x)
    found["gxxx"] = third.gradient(gxx, x)
    found["jacobian"] = first.jacobian(out, x)
    with tf.autodiff.ForwardAccumulator(x, y) as outer:
        with tf.autodiff.ForwardAccumulator(x, x) as inner:
            out = f(x, y)
        tangent = inner.jvp(out)
    found |= {"jvp": tangent, "jvp of jvp": outer.jvp(tangent)}
    with tf.autodiff.ForwardAccumulator([x, y], [y, x]) as outer:
        with tf.GradientTape() as tape:
            tape.watch(y)
            out = f(x, y)
        gradient = tape.gradient(out, y)
    found["jvp of gradient"] = outer.jvp(gradient)
    with tf.GradientTape() as tape:
        tape.watch(y)
        with tf.autodiff.ForwardAccumulator(x, y) as inner:
            out = f(x, y)
        tangent = inner.jvp(out)
    found["gradient of jvp"] = tape.gradient(tangent, y)
    return found


EXPECTED = {name: np.asarray(value) for name, value in derivatives(in_gradtape, X, Y).items()}


@pytest.fixture(scope="module", params=["eager", "inside", "around"])
def found(request):
    """All derivatives of the bridged function, in eager code, in a function, and of a function."""
    if request.param == "inside":
        return tf.function(lambda x, y: derivatives(bridged, x, y))(tf.constant(X), tf.constant(Y))
    return derivatives(bridged if request.param == "eager" else tf.function(bridged), X, Y)


@pytest.mark.parametrize("name", EXPECTED)
def test_every_derivative_is_that_of_the_same_function_here(found, name):
    close(found[name], EXPECTED[name])


def test_a_compiled_function_has_it_in_its_own_program():
    compiled = tf.function(lambda x: bridged(x, x), jit_compile=True)
    close(compiled(tf.constant(X)), in_jax(X, X))


def batched(f):
    """Derivatives inside and outside of a map over rows."""
    rows, y = tf.constant(values(4, 3, seed=2)), tf.constant(Y)

    def gradient(row):
        with tf.GradientTape() as tape:
            tape.watch(row)
            out = f(row, y)
        return tape.gradient(out, row)

    with tf.GradientTape(persistent=True) as tape:
        tape.watch([rows, y])
        out = tf.vectorized_map(lambda row: f(row, y), rows)
        inner = tf.vectorized_map(gradient, rows)
        both = tf.vmap(lambda a: tf.vmap(lambda b: f(a, b))(rows))(rows)
    return {
        "out": out,
        "by rows": tape.gradient(out, rows),
        "by what is shared": tape.gradient(out, y),
        "inside": inner,
        "inside, by rows": tape.gradient(inner, rows),
        "inside, by what is shared": tape.gradient(inner, y),
        "nested": both,
        "nested, by rows": tape.gradient(both, rows),
    }


MAPPED = {name: np.asarray(value) for name, value in batched(in_gradtape).items()}


@pytest.fixture(scope="module", params=["eager", "inside"])
def mapped(request):
    run = lambda: batched(bridged)
    return run() if request.param == "eager" else tf.function(run)()


@pytest.mark.parametrize("name", MAPPED)
def test_maps(mapped, name):
    close(mapped[name], MAPPED[name])


def test_no_examples():
    assert tf.vectorized_map(lambda x: bridged(x, x), tf.zeros([0, 3])).shape == (0, 3)


def test_structures_of_arguments_and_results():
    f = from_jax(
        lambda d, pair, *, scale: {
            "sum": d["a"] + pair.first,
            "rest": [None, Pair(pair.second * scale, (d["b"][0],))],
        }
    )
    v = tf.Variable(2.0)
    with tf.GradientTape(persistent=True) as tape:
        found = f({"a": v, "b": [tf.constant(7), None]}, Pair(3.0, np.float32(4.0)), scale=v)
    assert found["sum"].numpy() == 5
    assert found["rest"][0] is None
    pair = found["rest"][1]
    assert type(pair) is Pair
    assert pair.first.numpy() == 8
    assert pair.second[0].numpy() == 7
    assert tape.gradient(found["sum"], v).numpy() == 1
    assert tape.gradient(pair.first, v).numpy() == 4


def test_integers_and_booleans_have_no_gradients():
    f = from_jax(lambda x, i, b: (jnp.where(b, x[i], 0.0), i + 1, b))
    x, i = tf.Variable([1.0, 2.0, 3.0]), tf.constant([2, 0])
    with tf.GradientTape(persistent=True, watch_accessed_variables=True) as tape:
        taken, more, same = f(x, i, tf.constant([True, False]))
    assert tape.gradient(taken, x).numpy().tolist() == [0, 0, 1]
    assert more.dtype == tf.int32
    assert same.dtype == tf.bool
    assert tape.gradient(taken, i) is None
    assert tape.gradient(more, x) is None


def test_what_is_not_connected_is_none():
    f = from_jax(lambda x, y: (x * 2, jax.lax.stop_gradient(y) * x, jnp.round(y) + y))
    x, y = tf.constant(3.0), tf.constant(4.0)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch([x, y])
        a, b, c = f(x, y)
    assert [tape.gradient(a, x).numpy(), tape.gradient(a, y)] == [2, None]
    assert [tape.gradient(b, x).numpy(), tape.gradient(b, y)] == [4, None]
    assert [tape.gradient(c, x), tape.gradient(c, y).numpy()] == [None, 1]
    with tf.autodiff.ForwardAccumulator(y, 1.0) as accumulator:
        a, b, c = f(x, y)
    assert accumulator.jvp([a, b]) == [None, None]
    assert accumulator.jvp(c).numpy() == 1


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64", "complex64"])
def test_dtypes(dtype):
    f = from_jax(lambda x: x * x * 0.5 + jnp.ones(2))
    x = tf.cast(tf.constant([1.0, 2.0]), dtype)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    wide = dtype if dtype in ("float64", "complex64") else "float32"
    assert y.dtype == wide
    assert tape.gradient(y, x).dtype == dtype
    assert from_jax(lambda x: x * 0.5)(x).dtype == dtype  # Python's numbers have no dtype
    assert from_jax(lambda x, y: x * y)(x, 0.5).dtype == dtype


def test_64_bits_only_where_they_are_given():
    f = from_jax(lambda x: (x, jnp.arange(2), jnp.zeros(1)))
    assert [o.dtype for o in f(np.float32(1))] == [tf.float32, tf.int32, tf.float32]
    assert [o.dtype for o in f(np.float64(1))] == [tf.float64, tf.int64, tf.float64]
    assert [o.dtype for o in f(tf.constant(1, tf.int64))] == [tf.int64, tf.int64, tf.float64]
    assert [o.dtype for o in f(np.arange(3))] == [tf.int32, tf.int32, tf.float32]
    assert f(np.array([2**40]))[0].numpy() == [2**40]
    with jax.enable_x64(True):
        assert f(np.float32(1))[2].dtype == tf.float64
    inside = tf.function(lambda x: f(x))
    assert [o.dtype for o in inside(tf.constant(1.0))] == [tf.float32, tf.int32, tf.float32]


def test_complex_gradients_are_adjoints():
    z = tf.constant([1 + 2j, 3 - 1j])
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(z)
        mine = [tf.abs(z) ** 2, z * z, tf.math.real(z)]
        found = from_jax(lambda z: [jnp.abs(z) ** 2, z * z, z.real])(z)
    for one, other in zip(mine, found, strict=True):
        close(tape.gradient(other, z), tape.gradient(one, z))


def test_compiled_once_for_each_signature():
    traces = []

    def f(x, n, name):
        traces.append(name)
        return x * n if name == "times" else x + n

    g = from_jax(f, static_argnames=("n",))
    for _ in range(2):
        assert g(tf.constant(2.0), 3, "times").numpy() == 6
        assert g(tf.constant(2.0), n=3, name="plus").numpy() == 5
        assert g(tf.constant([2.0]), 4, name="times").numpy() == 8
    assert traces == ["times", "plus", "times"]
    traces.clear()
    h = from_jax(f)
    for n in (1.0, 2.0, 3.0):  # a number is an argument, not a part of the signature
        for x in (1.0, 2.0):
            v = tf.Variable(x)
            with tf.GradientTape() as tape:
                y = h(v, n, "times")
            assert tape.gradient(y, v).numpy() == n
    assert len(traces) <= 2


def test_static_values_that_are_equal_but_of_other_types():
    f = from_jax(lambda x, n: x * (10 if n is True else n), static_argnames="n")
    assert [f(tf.constant(1.0), n).numpy() for n in (1, True, 1.0)] == [1, 10, 1]


def test_the_backward_step_does_not_run_the_function_again():
    runs = []

    def f(x):
        jax.debug.callback(lambda: runs.append(1))
        return x**3

    g = from_jax(f)
    x = tf.constant(2.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = g(x)
    assert tape.gradient(y, x).numpy() == 12
    jax.effects_barrier()
    assert len(runs) == 1


def test_forward_mode_of_a_loop_that_has_no_backward_step():
    f = from_jax(
        lambda x: jax.lax.while_loop(lambda s: s[0] < 3, lambda s: (s[0] + 1, s[1] * x), (0, x))[1]
    )
    x = tf.constant(2.0)
    with tf.autodiff.ForwardAccumulator(x, 1.0) as accumulator:
        y = f(x)
    assert (y.numpy(), accumulator.jvp(y).numpy()) == (16, 32)
    assert tf.function(f)(x).numpy() == 16
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    assert y.numpy() == 16
    with pytest.raises(ValueError, match="Reverse-mode differentiation"):
        tape.gradient(y, x)


def test_jax_rules_are_followed():
    @jax.custom_vjp
    def f(x):
        return x * 2

    f.defvjp(lambda x: (x * 2, x), lambda x, g: (g * x * 100,))
    x = tf.constant(3.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = from_jax(f)(x)
    assert tape.gradient(y, x).numpy() == 300


def test_random_numbers_by_key():
    f = from_jax(lambda key, x: jax.random.normal(key, x.shape) * jnp.exp(x))
    x, key = tf.constant([0.0, 1.0]), jax.random.key(3)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = f(key, x)
    close(y, jax.random.normal(key, (2,)) * np.exp([0.0, 1.0]))
    close(tape.gradient(y, x), y)
    again = tf.function(lambda x: f(key, x))(x)
    close(again, y)


def test_residuals_that_are_keys():
    def f(x, key):
        @jax.checkpoint
        def noisy(x, key):
            return x * jax.random.uniform(key, x.shape)

        return jnp.sin(noisy(x, jax.random.wrap_key_data(key)))

    x = tf.constant([1.0, 2.0])
    data = np.asarray(jax.random.key_data(jax.random.key(0)))
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = from_jax(f)(x, data)
    expected = jax.grad(lambda x: f(x, data).sum())(np.float32([1, 2]))
    close(tape.gradient(y, x), expected)


def test_variables_are_arguments_in_training():
    w = tf.Variable([[0.0], [0.0]])
    x, target = values(64, 2).astype("float32"), values(64, 2).astype("float32") @ [[1], [2]]
    loss = from_jax(lambda w, x, t: ((x @ w - t) ** 2).mean())

    @tf.function
    def step():
        with tf.GradientTape() as tape:
            value = loss(w, x, target.astype("float32"))
        w.assign_sub(0.2 * tape.gradient(value, w))
        return value

    for _ in range(300):
        last = step()
    assert last.numpy() < 1e-4
    close(w, [[1], [2]], rtol=0.02)


def test_in_loops_of_a_function():
    f = from_jax(lambda x: jnp.sin(x))

    @tf.function
    def run(x):
        for _ in tf.range(3):
            x = f(x)
        return x

    x = tf.constant(0.5)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = run(x)
    expected, slope = jax.value_and_grad(lambda x: jnp.sin(jnp.sin(jnp.sin(x))))(0.5)
    close([y, tape.gradient(y, x)], [expected, slope])


def test_jax_arrays_as_arguments():
    assert from_jax(lambda x, y: x + y)(jnp.ones(2), tf.ones(2)).numpy().tolist() == [2, 2]


def test_memory_is_shared_with_jax():
    made = from_jax(lambda x: x + 1)(tf.constant(np.ones(1 << 16, np.float32)))
    assert not made.array.flags.owndata  # it is JAX's own memory
    from_jax(lambda x: x)(made)
    assert made.held.unsafe_buffer_pointer() == made.array.ctypes.data


def test_recomputed_and_persistent():
    f = from_jax(lambda x: jnp.exp(x))
    x = tf.constant(1.0)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = tf.recompute_grad(lambda x: f(x) * f(x))(x)
    close(tape.gradient(y, x), 2 * np.exp(2.0))
    close(tape.gradient(y, x), 2 * np.exp(2.0))


def test_the_checker_of_gradients():
    x = tf.constant(X)
    theoretical, numerical = tf.test.compute_gradient(lambda x: bridged(x, x), [x])
    close(theoretical, numerical, rtol=1e-4)


class Model:
    scale = 3.0

    @from_jax
    def method(self, x):
        return x * self.scale


def test_a_method():
    assert Model().method(tf.constant(2.0)).numpy() == 6


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda f: f({"w": tf.constant("text")}), r"argument 'p'\['w'\] has dtype .*string"),
        (lambda f: f({"w": [1.0, np.array(["a"])]}), r"argument 'p'\['w'\]\[1\] has dtype <U1"),
        (lambda f: f({"w": {1, 2}}), r"argument 'p'\['w'\] is a set, which is neither"),
        (lambda f: f(p={"w": bytearray()}), r"argument 'p'\['w'\] is a bytearray"),
    ],
)
def test_errors_name_the_argument(call, words):
    with pytest.raises(TypeError, match=words):
        call(from_jax(lambda p: p["w"]))


def test_other_errors():
    with pytest.raises(TypeError, match="f must be a JAX function, got 3"):
        from_jax(3)
    with pytest.raises(TypeError, match="returned 'text' of type str: a result must be"):
        from_jax(lambda x: "text")(1.0)
    with pytest.raises(TypeError, match="argument 'n' is a list"):
        from_jax(lambda x, n: x, static_argnames="n")(1.0, n=[1])
    with pytest.raises(ZeroDivisionError):
        from_jax(lambda x: x / (1 // 0))(tf.constant(1.0))


def test_a_recording_keeps_what_jax_keeps_and_no_result():
    x = tf.constant(np.ones(1000))
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = from_jax(lambda x: (3 * x, jnp.exp(x)))(x)
    (call,) = y[0].node.parents
    _, results, _ = call.saved
    assert results[:2] == [None, None]
    assert [r.shape for r in results[2:]] == [(1000,)]
    del tape
