"""Fits the hyperparameters of a Gaussian process by its marginal likelihood,
with a Cholesky factor and a tape through it.

The likelihood is the textbook's, in plain NumPy: np.linalg.cholesky and np.linalg.solve have
derivatives. SciPy maximises it.
"""

import numpy as np
from scipy.optimize import minimize

import gradtape as tf


def kernel(x, y, length, height):
    """How much the function at `x` says about the function at `y`: the less,
    the farther apart they are.
    """
    return height**2 * np.exp(-0.5 * (np.subtract.outer(x, y) / length) ** 2)


def log_marginal_likelihood(logarithms, x, y):
    """Of the values y at the points x, given the logarithms of the length scale,
    of the height and of the noise.
    """
    length, height, noise = np.exp(logarithms)
    covariance = kernel(x, x, length, height) + noise**2 * np.eye(len(x))
    factor = np.linalg.cholesky(covariance)
    whitened = np.linalg.solve(factor, y)
    log_determinant = 2 * np.sum(np.log(np.diag(factor)))
    return -0.5 * (whitened @ whitened + log_determinant + len(x) * np.log(2 * np.pi))


def loss_and_gradient(logarithms, x, y):
    logarithms = tf.constant(logarithms)
    with tf.GradientTape() as tape:
        tape.watch(logarithms)
        loss = -log_marginal_likelihood(logarithms, x, y)
    return loss.numpy(), tape.gradient(loss, logarithms).numpy()


def predict(logarithms, x, y, new_x):
    """The mean of the function at new points."""
    length, height, noise = np.exp(logarithms)
    covariance = kernel(x, x, length, height) + noise**2 * np.eye(len(x))
    return kernel(new_x, x, length, height) @ np.linalg.solve(covariance, y)


def fit(x, y):
    """The logarithms of the hyperparameters under which the data are likeliest."""
    return minimize(loss_and_gradient, np.zeros(3), args=(x, y), jac=True, method="L-BFGS-B")


def main():
    rng = np.random.default_rng(0)
    noise = 0.1
    x = np.sort(rng.uniform(-4, 4, 60))
    y = np.sin(2 * x) + noise * rng.standard_normal(x.shape)

    fitted = fit(x, y)
    print(
        f"log marginal likelihood: {log_marginal_likelihood(np.zeros(3), x, y):.1f} at the start, "
        f"{-fitted.fun:.1f} fitted"
    )
    for name, value in zip(["length", "height", "noise"], np.exp(fitted.x), strict=True):
        print(f"{name + ':':<8} {value:.3f}")
    grid = np.linspace(-3.5, 3.5, 200)
    error = np.sqrt(np.mean((predict(fitted.x, x, y, grid) - np.sin(2 * grid)) ** 2))
    print(f"the mean is {error:.3f} from the true function, the data {noise}")


if __name__ == "__main__":
    main()
