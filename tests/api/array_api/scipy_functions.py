"""Functions of SciPy that take arrays of any library, differentiated against central differences.

Run as a program, since SciPy reads SCIPY_ARRAY_API when it is imported. It prints, for every
function, what the result is and how far the gradient is from the difference of NumPy's values.
"""

import json
import sys

import numpy as np
import scipy.fft
import scipy.integrate
import scipy.optimize
import scipy.signal
import scipy.special
import scipy.stats

import gradtape as tf

ROW, TABLE = (7,), (3, 4)
FUNCTIONS = {
    "special.softmax": (lambda x: scipy.special.softmax(x, axis=-1) ** 2, [TABLE]),
    "special.expit": (scipy.special.expit, [ROW]),
    "special.gammaln": (scipy.special.gammaln, [ROW]),
    "special.xlogy": (scipy.special.xlogy, [ROW, ROW]),
    "stats.skew": (scipy.stats.skew, [ROW]),
    "stats.kurtosis": (lambda x: scipy.stats.kurtosis(x, axis=1), [TABLE]),
    "stats.gmean": (scipy.stats.gmean, [ROW]),
    "stats.pmean": (lambda x: scipy.stats.pmean(x, 3, axis=0), [TABLE]),
    "stats.entropy": (scipy.stats.entropy, [ROW]),
    "stats.ttest_1samp": (lambda x: scipy.stats.ttest_1samp(x, 0.5).statistic, [ROW]),
    "stats.circmean": (scipy.stats.circmean, [ROW]),
    "stats.sem": (scipy.stats.sem, [ROW]),
    "signal.fftconvolve": (lambda x, y: scipy.signal.fftconvolve(x, y) ** 2, [ROW, (3,)]),
    "integrate.trapezoid": (lambda y, x: scipy.integrate.trapezoid(y, x), [ROW, ROW]),
    "integrate.cumulative_trapezoid": (
        lambda y: scipy.integrate.cumulative_trapezoid(y, axis=1) ** 2,
        [TABLE],
    ),
    "optimize.rosen": (scipy.optimize.rosen, [ROW]),
}


def error(function, shapes):
    """The relative error of a directional derivative, and the type that the function gave."""
    rng = np.random.default_rng(0)
    arrays = [rng.uniform(0.2, 2.0, shape) for shape in shapes]
    steps = [rng.normal(size=shape) for shape in shapes]
    tensors = [tf.constant(array) for array in arrays]
    with tf.GradientTape(strict=True) as tape:
        tape.watch(tensors)
        result = function(*tensors)
        total = tf.reduce_sum(result)
    gradients = tape.gradient(total, tensors)
    along = sum(np.sum(g.numpy() * step) for g, step in zip(gradients, steps, strict=True))
    h = 1e-6
    ends = [
        np.sum(function(*[a + s * h * step for a, step in zip(arrays, steps, strict=True)]))
        for s in (1, -1)
    ]
    difference = (ends[0] - ends[1]) / (2 * h)
    return type(result).__name__, float(abs(along - difference) / max(1.0, abs(difference)))


if __name__ == "__main__":
    json.dump({name: error(*entry) for name, entry in FUNCTIONS.items()}, sys.stdout)
