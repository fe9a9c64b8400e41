"""Jacobians and higher derivatives by `tf.GradientTape`:
the same code for gradtape and TensorFlow, passed as `tf`.
"""

from benchmarks.libraries import Step, named
from benchmarks.workloads import HIDDEN, VISCOSITY, Inputs


def jacobian(tf, inputs: Inputs) -> Step:
    def step(x, w1, w2):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.reshape(tf.matmul(tf.tanh(tf.matmul(x[None, :], w1)), w2), [-1])
        return [tape.jacobian(y, x)]

    return Step(step, tuple(map(tf.constant, (inputs.x, *inputs.weights))))


def batch_jacobian(tf, inputs: Inputs) -> Step:
    def step(x, w1, w2):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.matmul(tf.tanh(tf.matmul(x, w1)), w2)
        return [tape.batch_jacobian(y, x)]

    return Step(step, tuple(map(tf.constant, (inputs.x, *inputs.weights))))


def hessian(tf, inputs: Inputs) -> Step:
    def step(theta, x, y):
        with tf.GradientTape() as outer:
            outer.watch(theta)
            with tf.GradientTape() as inner:
                inner.watch(theta)
                w1 = tf.reshape(theta[: 8 * HIDDEN], [8, HIDDEN])
                b1, w2 = (
                    theta[8 * HIDDEN : 9 * HIDDEN],
                    tf.reshape(theta[9 * HIDDEN :], [HIDDEN, 1]),
                )
                loss = tf.reduce_mean(tf.square(tf.matmul(tf.tanh(tf.matmul(x, w1) + b1), w2) - y))
            gradient = inner.gradient(loss, theta)
        return [outer.jacobian(gradient, theta)]

    return Step(step, tuple(map(tf.constant, (inputs.x, *inputs.y))))


def curve(tf, rates, times):
    """Values at many times, of a function with few parameters."""
    return rates[0] * tf.exp(-rates[1] * times) * tf.sin(rates[2] * times)


def curves(tf, inputs: Inputs) -> Step:
    return Step(
        lambda rates, times: [curve(tf, rates, times)],
        (tf.constant(inputs.x), tf.constant(inputs.y)),
    )


def network(tf, x, t, variables):
    h = tf.concat([x, t], 1)
    *layers, w, b = variables
    for i in range(0, len(layers), 2):
        h = tf.tanh(tf.matmul(h, layers[i]) + layers[i + 1])
    return tf.matmul(h, w) + b


def residual(tf, u, u_x, u_t, u_xx):
    return tf.reduce_mean(tf.square(u_t + u * u_x - VISCOSITY * u_xx))


def burgers_nested(tf, inputs: Inputs) -> Step:
    variables = [tf.Variable(weight) for weight in inputs.weights]

    def step(x, t):
        with tf.GradientTape() as outer:
            with tf.GradientTape() as second:
                second.watch(x)
                with tf.GradientTape() as first:
                    first.watch([x, t])
                    u = network(tf, x, t, variables)
                u_x, u_t = first.gradient(u, [x, t])
            loss = residual(tf, u, u_x, u_t, second.gradient(u_x, x))
        return outer.gradient(loss, variables)

    return Step(step, (tf.constant(inputs.x[:, :1]), tf.constant(inputs.x[:, 1:])))


DERIVATIVES = named(jacobian, batch_jacobian, hessian, curves, burgers_nested)
