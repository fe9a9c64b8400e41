"""Fits a linear Gaussian state-space model to noisy measurements: the Kalman filter's likelihood,
and its gradient by a tape.

A cart on a rail is pushed at random and slowed by friction; only its position is measured. The
filter, plain NumPy, gives the likelihood of all measurements by predicting each one from those
before it. The tape goes through all of its steps.
"""

import numpy as np
from scipy.optimize import minimize

import gradtape as tf

INTERVAL = 0.1
MEASURES = np.array([[1.0, 0.0]])  # of the state, which is position and velocity
MOVES = np.array([[0.0, 1.0], [0.0, 0.0]])
SLOWS = np.array([[0.0, 0.0], [0.0, 1.0]])
TRUTH = {"friction": 0.8, "push": 1.5, "error": 0.2}


def motion(friction):
    """The matrix that takes a state to the next one."""
    return np.eye(2) + INTERVAL * (MOVES - friction * SLOWS)


def log_likelihood(logarithms, measured):
    """Of the measurements, given the logarithms of the friction,
    of the strength of the pushes and of the measuring error.
    """
    friction, push, error = np.exp(logarithms)
    transition = motion(friction)
    pushes = INTERVAL * push**2 * SLOWS
    state, covariance = np.zeros(2), np.eye(2)
    total = 0.0
    for position in measured:
        state = transition @ state
        covariance = transition @ covariance @ transition.T + pushes
        surprise = position - MEASURES @ state
        spread = MEASURES @ covariance @ MEASURES.T + error**2
        total = total - 0.5 * np.sum(surprise**2 / spread[0] + np.log(2 * np.pi * spread[0]))
        gain = covariance @ MEASURES.T / spread
        state = state + gain @ surprise
        covariance = covariance - gain @ MEASURES @ covariance
    return total


def loss_and_gradient(logarithms, measured):
    logarithms = tf.constant(logarithms)
    with tf.GradientTape() as tape:
        tape.watch(logarithms)
        loss = -log_likelihood(logarithms, measured)
    return loss.numpy(), tape.gradient(loss, logarithms).numpy()


def simulate(count, rng):
    """Measurements of a cart that is at rest in the beginning."""
    transition, state, measured = motion(TRUTH["friction"]), np.zeros(2), []
    for _ in range(count):
        pushed = np.sqrt(INTERVAL) * TRUTH["push"] * rng.standard_normal()
        state = transition @ state + np.array([0.0, pushed])
        measured.append(state[0] + TRUTH["error"] * rng.standard_normal())
    return np.array(measured)


def fit(measured):
    """The parameters under which the measurements are likeliest,
    and the logarithm of that likelihood.
    """
    found = minimize(loss_and_gradient, np.zeros(3), args=(measured,), jac=True, method="L-BFGS-B")
    return dict(zip(TRUTH, np.exp(found.x), strict=True)), -found.fun


def main():
    measured = simulate(200, np.random.default_rng(0))
    found, likelihood = fit(measured)
    print(
        f"log likelihood: {log_likelihood(np.zeros(3), measured):.1f} at the start, "
        f"{likelihood:.1f} fitted"
    )
    for name, value in found.items():
        print(f"{name + ':':<10} {value:.3f} (true: {TRUTH[name]})")


if __name__ == "__main__":
    main()
