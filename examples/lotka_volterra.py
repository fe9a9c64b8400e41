"""The parameters of a differential equation from noisy data: hares and lynxes (Lotka and Volterra).

Hares are born and eaten, lynxes eat and die. From 41 noisy counts of both, the four rates and the
two numbers at the start are found by least squares, in logarithms. One tape gives the Jacobian of
all residuals: it integrates the sensitivities of the equation once. Leaves a picture,
out/lotka_volterra.png.
"""

import argparse
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from scipy.optimize import least_squares

import gradtape as tf

TRUTH = {
    "births": 1.1,
    "eaten": 0.4,
    "meals": 0.1,
    "deaths": 0.4,
    "hares at first": 10.0,
    "lynxes at first": 5.0,
}
TIMES = np.linspace(0.0, 20.0, 41)
NOISE = 0.1


def change(t, y, rates):
    hares, lynxes = y[0], y[1]
    meetings = hares * lynxes
    return [
        rates[0] * hares - rates[1] * meetings,
        rates[2] * meetings - rates[3] * lynxes,
    ]


def numbers(parameters, times=TIMES):
    """Both numbers at the times, and how their derivatives are obtained."""
    found = tf.scipy.integrate.solve_ivp(
        change,
        (0.0, times[-1]),
        parameters[4:],
        t_eval=times,
        args=(parameters[:4],),
        rtol=1e-6,
        atol=1e-8,
    )
    return found.y, found.derivative


def noisy_data(seed=1):
    exact, _ = numbers(tf.constant(list(TRUTH.values()), tf.float64))
    noise = np.random.default_rng(seed).normal(0.0, NOISE, exact.shape)
    return exact.numpy() * np.exp(noise)


def residuals(logarithms, data):
    """What the model misses, in units of the noise."""
    model, _ = numbers(tf.exp(logarithms))
    return tf.reshape((tf.math.log(model) - np.log(data)) / NOISE, [-1])


def jacobian(logarithms, data):
    x = tf.constant(logarithms)
    with tf.GradientTape() as tape:
        tape.watch(x)
        missed = residuals(x, data)
    return tape.jacobian(missed, x).numpy()


def fit(data, start):
    """The parameters and their standard errors, relative to them."""
    found = least_squares(
        lambda x: residuals(tf.constant(x), data).numpy(),
        np.log(start),
        lambda x: jacobian(x, data),
        xtol=1e-6,
    )
    errors = np.sqrt(np.diag(np.linalg.inv(found.jac.T @ found.jac)))
    return np.exp(found.x), errors, found


def draw(data, parameters, path):
    times = np.linspace(0.0, TIMES[-1], 400)
    curves = numbers(tf.constant(parameters), times)[0].numpy()
    truth = numbers(tf.constant(list(TRUTH.values()), tf.float64), times)[0].numpy()
    figure = Figure(figsize=(10, 4), layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=[2, 1])
    for name, color, points, curve, exact in zip(
        ("hares", "lynxes"), ("C0", "C3"), data, curves, truth, strict=True
    ):
        left.plot(times, exact, color=color, alpha=0.3, linewidth=4)
        left.plot(times, curve, color=color, label=name)
        left.plot(TIMES, points, ".", color=color)
    left.set(xlabel="time", ylabel="number", title="data, fit, and truth (wide)")
    left.legend()
    right.plot(*curves)
    right.plot(*data, ".", color="gray")
    right.set(xlabel="hares", ylabel="lynxes", title="the cycle")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=120)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("out"))
    path = parser.parse_args().out / "lotka_volterra.png"
    data = noisy_data()
    start = np.array([0.8, 0.3, 0.15, 0.5, data[0, 0], data[1, 0]])
    parameters, errors, found = fit(data, start)
    print(f"derivatives: {numbers(tf.constant(parameters))[1]}")
    for (name, true), value, error in zip(TRUTH.items(), parameters, errors, strict=True):
        print(f"{name}: {value:.3f} ± {value * error:.3f}, in truth {true}")
    print(f"chi2: {2 * found.cost:.1f} for {data.size} counts, {found.njev} Jacobians")
    draw(data, parameters, path)
    print(f"picture: {path}")


if __name__ == "__main__":
    main()
