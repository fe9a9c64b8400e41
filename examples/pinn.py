"""A network that solves an equation: Burgers' equation by Adam, and then by L-BFGS.

u_t + u u_x = 0.05 u_xx on -1 < x < 1, 0 < t < 1, from u = -sin(pi x), zero at both ends. The
network is trained on nothing but the equation, and compared with a solution by finite differences.
Leaves a picture (out/pinn.png).
"""

import argparse
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from scipy.integrate import solve_ivp

import gradtape as tf
from gradtape import keras

VISCOSITY = 0.05


def build():
    """A network of t and x that is zero at both ends and -sin(pi x) at the start, whatever its
    weights are.
    """
    return keras.Sequential(
        [
            keras.Input((2,)),
            keras.layers.Dense(20, activation="tanh"),
            keras.layers.Dense(20, activation="tanh"),
            keras.layers.Dense(1),
        ]
    )


def solution(network, t, x):
    inside = network(tf.stack([2.0 * t - 1.0, x], 1))[:, 0]
    return -tf.sin(np.pi * x) + t * (1.0 - x**2) * inside


def residual(network, t, x):
    """How far the network is from the equation at each point."""
    by_t = lambda t: tf.jvp(lambda t: solution(network, t, x), [t], [tf.ones_like(t)])
    by_x = lambda x: tf.jvp(lambda x: solution(network, t, x), [x], [tf.ones_like(x)])
    u, u_t = by_t(t)
    (_, u_x), (_, u_xx) = tf.jvp(by_x, [x], [tf.ones_like(x)])
    return u_t + u * u_x - VISCOSITY * u_xx


def train(network, points, adam_steps, iterations):
    """The loss after each step of Adam, and after each iteration of L-BFGS."""
    t, x = (tf.constant(column, tf.float32) for column in points.T)

    @tf.function
    def loss():
        return tf.reduce_mean(residual(network, t, x) ** 2)

    optimizer = keras.optimizers.Adam(5e-3)
    optimizer.build(network.trainable_variables)

    @tf.function
    def step():
        with tf.GradientTape() as tape:
            value = loss()
        gradients = tape.gradient(value, network.trainable_variables)
        optimizer.apply_gradients(zip(gradients, network.trainable_variables, strict=True))
        return value

    by_adam = [float(step()) for _ in range(adam_steps)]
    history = tf.optimize.minimize(loss, network, max_iterations=iterations)
    return by_adam, history


def by_differences(times, x):
    """The solution at some times on a fine grid, by the method of lines."""
    grid = np.linspace(-1.0, 1.0, 401)
    step = grid[1] - grid[0]

    def slope(_, inner):
        u = np.pad(inner, 1)
        flow = (u[2:] ** 2 - u[:-2] ** 2) / (4 * step)
        return VISCOSITY * (u[2:] - 2 * u[1:-1] + u[:-2]) / step**2 - flow

    found = solve_ivp(
        slope, (0.0, 1.0), -np.sin(np.pi * grid[1:-1]), "LSODA", times, lband=1, uband=1, rtol=1e-7
    )
    return np.array([np.interp(x, grid, np.pad(u, 1)) for u in found.y.T])


def draw(path, losses, x, times, exact, found):
    figure = Figure(figsize=(10, 4), layout="constrained")
    left, right = figure.subplots(1, 2)
    by_adam, by_lbfgs = losses
    left.semilogy(by_adam, label="Adam")
    left.semilogy(np.arange(len(by_lbfgs)) + len(by_adam), by_lbfgs, label="L-BFGS")
    left.set(xlabel="step", ylabel="mean square of the residual")
    left.legend()
    for time, u, network_u in zip(times, exact, found, strict=True):
        (line,) = right.plot(x, u, alpha=0.4, linewidth=4)
        right.plot(x, network_u, color=line.get_color(), label=f"t = {time:g}")
    right.set(xlabel="x", title="the network, and differences (wide)")
    right.legend()
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path)


def main(adam_steps=300, iterations=500, out="out/pinn.png"):
    keras.utils.set_random_seed(0)
    network = build()
    points = np.random.default_rng(0).uniform([0.0, -1.0], [1.0, 1.0], (1500, 2))
    by_adam, history = train(network, points, adam_steps, iterations)
    times, x = np.array([0.0, 0.25, 0.5, 1.0]), np.linspace(-1.0, 1.0, 101)
    exact = by_differences(times, x)
    found = np.array([solution(network, np.full(101, t, "f4"), x.astype("f4")) for t in times])
    error = np.max(np.abs(found - exact))
    draw(Path(out), (by_adam, history.loss), x, times, exact, found)
    print(f"Adam: loss {by_adam[-1]:.1e} after {adam_steps} steps")
    print(f"L-BFGS: loss {history.best:.1e} after {history.iterations} iterations")
    print(f"error: {error:.1e} at most, against differences")
    return error


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--adam-steps", type=int, default=300)
    parser.add_argument("--iterations", type=int, default=500)
    parser.add_argument("--out", default="out/pinn.png")
    main(**vars(parser.parse_args()))
