"""Derivatives of solutions: through arguments and closures, of every order, eager and compiled."""

import warnings

import numpy as np
import pytest
from scipy import optimize

import gradtape as tf
from gradtape.scipy.closures import closed_over
from gradtape.scipy.linear import Factored, checked_solve
from gradtape.scipy.optimize import minimize, root
from tests.scipy.differences import close, slope

W = np.array([1.0, -2.0, 3.0])
C = np.array([1.0, 2.0, 3.0])


def equation(x, a, c):
    return x**3 + c * x - a * x[::-1] - c


def objective(a, c):
    """A number of the solution, by gradtape."""
    found = root(equation, np.ones(3), (a, c), tol=1e-13)
    return tf.reduce_sum(found.x * W)


def reference(a, c):
    found = optimize.root(equation, np.ones(3), (a, c), tol=1e-13)
    return float(found.x @ W)


def constants():
    return tf.constant(2.0, tf.float64), tf.constant(C)


def by_c(a, c):
    return [slope(lambda s, e=e: reference(a, c + s * e), 0.0) for e in np.eye(3)]


def test_gradients_by_arguments():
    a, c = constants()
    with tf.GradientTape() as tape:
        tape.watch([a, c])
        y = objective(a, c)
    by = tape.gradient(y, [a, c])
    close(by[0], slope(lambda v: reference(v, C), 2.0))
    close(by[1], by_c(2.0, C))


def test_gradients_by_what_is_closed_over():
    a, scale = tf.Variable(2.0, dtype=tf.float64), tf.constant(1.0, tf.float64)
    with tf.GradientTape() as tape:
        tape.watch(scale)
        c = C * scale  # computed outside, and used inside
        found = root(lambda x: equation(x, a, c), np.ones(3), tol=1e-13)
        y = tf.reduce_sum(found.x * W)
    by = tape.gradient(y, [a, scale])
    close(by[0], slope(lambda v: reference(v, C), 2.0))
    close(by[1], slope(lambda s: reference(2.0, C * s), 1.0))


def test_forward_mode():
    a, c = constants()
    with tf.autodiff.ForwardAccumulator([a, c], [tf.ones_like(a), tf.constant(W)]) as pushed:
        y = objective(a, c)
    close(pushed.jvp(y), slope(lambda s: reference(2.0 + s, C + s * W), 0.0))


@pytest.mark.parametrize("kind", ["nested", "persistent", "forward over reverse", "hessian"])
def test_second_order(kind, capfd):
    a, c = constants()
    first = lambda v: float(tf.grad(objective)(tf.constant(v, tf.float64), c))
    expected = slope(first, 2.0)
    if kind == "nested":
        found = tf.grad(tf.grad(objective))(a, c)
    elif kind == "hessian":
        found = tf.hessian(objective)(a, c)
    elif kind == "forward over reverse":
        found = tf.hvp(lambda v: objective(v, c), a, tf.ones_like(a))
    else:
        with tf.GradientTape(persistent=True) as tape:
            tape.watch(a)
            by = tape.gradient(objective(a, c), a)
        found = tape.gradient(by, a)
    close(found, expected)
    capfd.readouterr()  # a persistent tape that records its own gradient says so


def test_third_order():
    a, c = constants()
    second = lambda v: float(tf.grad(tf.grad(objective))(tf.constant(v, tf.float64), c))
    close(tf.grad(tf.grad(tf.grad(objective)))(a, c), slope(second, 2.0))


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("persistent", [False, True])
def test_orders_by_one_tape_are_right_or_refused(persistent, compiled):
    a = tf.Variable(2.0, dtype=tf.float64)
    call = lambda: root(lambda x: x**2 - a, [1.0]).x[0]
    with tf.GradientTape(persistent=persistent) as tape:
        y = tf.function(call)() if compiled else call()
    orders = lambda: tape.derivatives(y, {"a": a}, ["a", "aa", "aaa"])
    if not (persistent or compiled):
        with pytest.raises(NotImplementedError, match="nest a tape for each order"):
            orders()
        return
    expected = [0.5 * 2**-0.5, -0.25 * 2**-1.5, 0.375 * 2**-2.5]
    close([float(v) for v in orders().values()], expected)


def test_stopping_far_from_the_solution_warns():
    b = tf.Variable(np.ones(3))
    objective = lambda x: tf.reduce_sum(tf.exp(x) - 2.0 * b * x)
    with tf.GradientTape(), pytest.warns(RuntimeWarning, match="away from the solution"):
        minimize(objective, np.zeros(3), tol=0.5)


def test_jacobian_and_vectorized_map():
    a, c = constants()
    values = tf.constant([1.5, 2.0, 2.5], tf.float64)
    with tf.GradientTape() as tape:
        tape.watch(values)
        y = tf.vectorized_map(lambda v: objective(v, c), values)
    close(y, [reference(v, C) for v in values.numpy()], rtol=1e-10)
    close(
        tape.jacobian(y, values),
        np.diag([slope(lambda v: reference(v, C), v) for v in values.numpy()]),
    )
    with tf.GradientTape() as tape:
        tape.watch(c)
        x = root(equation, np.ones(3), (a, c), tol=1e-13).x
    jacobian = tape.jacobian(x, c)
    close(W @ jacobian.numpy(), by_c(2.0, C))


def test_batches_of_batches():
    rows = tf.constant([[1.5, 2.0], [2.5, 1.0], [1.0, 1.2]], tf.float64)
    found = tf.vmap(tf.vmap(lambda v: objective(v, tf.constant(C))))(rows)
    close(found, [[reference(v, C) for v in row] for row in rows.numpy()], rtol=1e-10)


def test_gradients_inside_vectorized_map():
    c = tf.constant(C)
    values = tf.constant([1.5, 2.5], tf.float64)
    found = tf.vectorized_map(lambda v: tf.grad(objective)(v, c), values)
    close(found, [slope(lambda v: reference(v, C), v) for v in values.numpy()])


def test_in_a_function_with_tapes_outside_and_inside():
    a, c = tf.Variable(2.0, dtype=tf.float64), tf.constant(C)
    compiled = tf.function(lambda v: objective(v * a, c))
    one = tf.constant(1.0, tf.float64)
    with tf.GradientTape() as outer:
        outer.watch(one)
        with tf.GradientTape() as tape:
            tape.watch(one)
            y = compiled(one)
        by = tape.gradient(y, [a, one])
    close(y, reference(2.0, C), rtol=1e-10)
    expected = slope(lambda v: reference(v, C), 2.0)
    close(by[0], expected)
    close(by[1], 2.0 * expected)
    first = lambda v: float(tf.grad(objective)(tf.constant(v, tf.float64), c))
    close(outer.gradient(by[0], a), slope(first, 2.0))

    inside = tf.function(lambda v: tf.grad(lambda u: objective(u * a, c))(v))
    close(inside(one), 2.0 * expected)
    a.assign(1.5)
    close(inside(one), 1.5 * slope(lambda v: reference(v, C), 1.5))


def test_forward_mode_of_a_function():
    a, c = constants()
    with tf.autodiff.ForwardAccumulator(a, tf.ones_like(a)) as pushed:
        y = tf.function(objective)(a, c)
    close(pushed.jvp(y), slope(lambda v: reference(v, C), 2.0))


def test_vectorized_map_in_a_function():
    c = tf.constant(C)
    values = tf.constant([1.5, 2.5], tf.float64)
    found = tf.function(lambda v: tf.vectorized_map(lambda u: objective(u, c), v))(values)
    close(found, [reference(v, C) for v in values.numpy()], rtol=1e-10)


def test_many_unknowns_take_a_sparse_factorisation():
    size = 600
    a = tf.constant(0.5, tf.float64)

    def residual(x):
        left = tf.concat([[0.0], x[:-1]], 0)
        return x + 0.1 * x**3 - a * left - 1.0

    solve = lambda value: optimize.root(
        lambda x: x + 0.1 * x**3 - value * np.r_[0.0, x[:-1]] - 1.0, np.ones(size), tol=1e-12
    ).x.sum()
    with tf.GradientTape() as tape:
        tape.watch(a)
        y = tf.reduce_sum(root(residual, np.ones(size), tol=1e-12).x)
    close(tape.gradient(y, a), slope(solve, 0.5, 1e-3))


def test_what_is_singular_is_nan_and_says_so():
    a = tf.Variable(0.0, dtype=tf.float64)
    with tf.GradientTape() as tape, pytest.warns(RuntimeWarning, match="root: .* is singular"):
        x = root(lambda x: (x - a) ** 2, np.zeros(1)).x
    assert np.isnan(tape.gradient(x, a))


def test_what_is_ill_conditioned_says_how_many_digits_are_right():
    a = tf.Variable(1.0, dtype=tf.float64)
    matrix = np.array([[1.0, 1.0], [1.0, 1.0 + 1e-12]])
    with tf.GradientTape() as tape, pytest.warns(RuntimeWarning, match="about [34] digits"):
        x = root(lambda x: tf.linalg.matvec(matrix, x) - a, np.zeros(2)).x
    assert np.all(np.isfinite(tape.gradient(x, a)))


def test_bad_scales_are_no_bad_condition():
    scales = np.array([1e-12, 1.0, 1e12])
    a = tf.Variable(np.ones(3))
    with tf.GradientTape() as tape:
        x = root(lambda x: scales * (x - a), np.ones(3)).x
    close(tape.jacobian(x, a), np.eye(3))


def test_no_convergence_warns_where_a_derivative_may_be_wanted():
    a = tf.Variable(1.0, dtype=tf.float64)
    far = lambda: root(lambda x: x**3 - a, [10.0], options={"maxfev": 2})
    assert not far().success  # nothing records, so nothing is said
    with tf.GradientTape(), pytest.warns(RuntimeWarning, match="did not converge"):
        far()
    with pytest.warns(RuntimeWarning, match="did not converge"):
        tf.function(lambda: far().x)()


def test_the_result_says_how_good_the_solution_is():
    found = root(lambda x: x**2 - 2.0, [1.0])
    assert found.derivative.startswith("implicit, residual ")
    assert float(found.derivative.split()[-1]) < 1e-9


def test_a_float32_start_gives_a_float32_solution():
    assert root(lambda x: x - 1.0, tf.zeros(2)).x.dtype == tf.float32
    assert root(lambda x: x - 1.0, np.zeros(2)).x.dtype == tf.float64
    assert root(lambda x: x - 1.0, [0.0, 0.0]).x.dtype == tf.float64


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: root(3, [1.0]), TypeError, "root: fun must be a function, got 3"),
        (lambda: root(lambda x: x, [1j]), TypeError, "root: x0: .*complex128"),
        (lambda: root(lambda x: x, [1.0], jac=lambda x: x), ValueError, "computed by a tape"),
        (lambda: root(lambda x: x * 1j, [1.0]), TypeError, "complex values"),
        (
            lambda: root(lambda x: tf.concat([x, x], 0), [1.0], method="lm"),
            ValueError,
            r"as many values as there are unknowns: it returned shape \(2,\)",
        ),
    ],
)
def test_bad_input(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_closed_over_finds_what_is_followed():
    v, w, c, d, other = tf.Variable(2.0), tf.Variable(3.0), *map(tf.constant, (1.0, 5.0, 7.0))
    fixed = tf.Variable(1.0, trainable=False)
    x = tf.constant(1.0)
    use = lambda x: (x * v + c * c) * w + other + fixed
    with tf.GradientTape() as tape:
        tape.watch([c, d, x])
        v * 1.0  # which has been read before
        found, result = closed_over(use, x)
    assert [id(value) for value in found] == [id(v), id(w), id(c)]
    assert float(result) == 17.0
    assert [id(value) for value in closed_over(use, x)[0]] == [id(v), id(w)]


@pytest.mark.parametrize("sparse", [False, True])
def test_factors_solve_both_ways(sparse):
    from scipy.sparse import csr_array

    matrix = np.random.default_rng(0).normal(size=(6, 6)) * [1, 1e8, 1, 1e-8, 1, 1]
    system = Factored(csr_array(matrix) if sparse else matrix, "test")
    b = np.arange(12.0).reshape(2, 6)
    close(system.solve(b), np.linalg.solve(matrix, b.T).T)
    close(system.solve(b, transposed=True), np.linalg.solve(matrix.T, b.T).T)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("bad", [np.nan, 0.0])
def test_factors_of_what_has_none(sparse, bad):
    from scipy.sparse import csr_array

    matrix = np.eye(6)
    matrix[2, 2] = bad
    with pytest.warns(RuntimeWarning, match="singular"):
        system = Factored(csr_array(matrix) if sparse else matrix, "test")
    assert np.all(np.isnan(system.solve(np.ones(6))))


def test_checked_solve_is_differentiable_by_both():
    rng = np.random.default_rng(1)
    matrix, b = tf.constant(rng.normal(size=(2, 3, 3))), tf.constant(rng.normal(size=(2, 3)))
    direct = lambda m, v: tf.reduce_sum(tf.linalg.solve(m, v[..., None])[..., 0] ** 2)
    solve = lambda m, v: tf.reduce_sum(checked_solve("test", m, v) ** 2)
    for f in (solve, tf.function(solve)):
        for i in (0, 1):
            close(tf.grad(f, i)(matrix, b), tf.grad(direct, i)(matrix, b).numpy())
            close(tf.hessian(f, i)(matrix, b), tf.hessian(direct, i)(matrix, b).numpy())
    tangents = [tf.ones_like(matrix), tf.ones_like(b)]
    close(tf.jvp(solve, [matrix, b], tangents)[1], tf.jvp(direct, [matrix, b], tangents)[1])


def test_nothing_warns_where_nothing_is_wrong():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        test_gradients_by_arguments()
