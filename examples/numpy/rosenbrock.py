"""Minimises Rosenbrock's function with SciPy, which gets gradients and Hessian-vector products from
tapes.

The function is plain NumPy. BFGS needs its gradient, Newton's method with conjugate gradients also
the Hessian times a vector, which a tape in a tape gives without the Hessian.
"""

import numpy as np
from scipy.optimize import minimize

import gradtape as tf

DIMENSIONS = 10


def rosenbrock(x):
    """A valley with steep walls and an almost flat floor that bends towards the minimum,
    0 at (1, ..., 1).
    """
    uphill = x[1:] - x[:-1] ** 2
    along = 1 - x[:-1]
    return np.sum(100 * uphill**2 + along**2)


def value_and_gradient(x):
    x = tf.constant(x)
    with tf.GradientTape() as tape:
        tape.watch(x)
        value = rosenbrock(x)
    return value.numpy(), tape.gradient(value, x).numpy()


def hessian_times(x, vector):
    """The derivative of the gradient along `vector`."""
    x = tf.constant(x)
    with tf.GradientTape() as outer:
        outer.watch(x)
        with tf.GradientTape() as inner:
            inner.watch(x)
            value = rosenbrock(x)
        slope = np.dot(inner.gradient(value, x), vector)
    return outer.gradient(slope, x).numpy()


def minimise(start):
    """SciPy's results by the name of the method."""
    return {
        "BFGS": minimize(
            value_and_gradient, start, jac=True, method="BFGS", options={"gtol": 1e-8}
        ),
        "Newton-CG": minimize(
            value_and_gradient,
            start,
            jac=True,
            hessp=hessian_times,
            method="Newton-CG",
            options={"xtol": 1e-10},
        ),
    }


def main():
    start = np.zeros(DIMENSIONS)
    print(f"start:     f = {rosenbrock(start):g}")
    for method, result in minimise(start).items():
        distance = np.max(np.abs(result.x - 1))
        print(
            f"{method + ':':<10} f = {result.fun:.1e} after {result.nit} steps, {distance:.1e} "
            "from the minimum"
        )


if __name__ == "__main__":
    main()
