"""The workloads as a user of `tf.GradientTape` writes them: the same code runs on gradtape and on TensorFlow, passed as `tf`."""

from benchmarks.libraries import Step
from benchmarks.workloads import ADDS, CHAIN_FACTOR, CHAIN_LENGTH, CHAIN_SUMMAND, HIDDEN, VISCOSITY, Inputs


def small_mlp(tf, inputs: Inputs) -> Step:
    x, y = tf.constant(inputs.x), tf.constant(inputs.y)
    variables = [tf.Variable(weight) for weight in inputs.weights]
    w1, b1, w2, b2, w3, b3 = variables

    def step():
        with tf.GradientTape() as tape:
            h = tf.tanh(tf.matmul(x, w1) + b1)
            h = tf.tanh(tf.matmul(h, w2) + b2)
            loss = tf.reduce_mean(tf.square(tf.matmul(h, w3) + b3 - y))
        return tape.gradient(loss, variables)

    return step


def chain(tf, inputs: Inputs) -> Step:
    x = tf.constant(inputs.x)

    def step():
        with tf.GradientTape() as tape:
            tape.watch(x)
            z = x
            for _ in range(CHAIN_LENGTH):
                z = tf.tanh(z * CHAIN_FACTOR + CHAIN_SUMMAND)
        return [tape.gradient(z, x)]

    return step


def large_mlp(tf, inputs: Inputs) -> Step:
    x, labels = tf.constant(inputs.x), tf.constant(inputs.y)
    variables = [tf.Variable(weight) for weight in inputs.weights]
    w1, b1, w2, b2, w3, b3 = variables

    def step():
        with tf.GradientTape() as tape:
            h = tf.nn.relu(tf.matmul(x, w1) + b1)
            h = tf.nn.relu(tf.matmul(h, w2) + b2)
            logits = tf.matmul(h, w3) + b3
            loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits))
        return tape.gradient(loss, variables)

    return step


def adds(tf, inputs: Inputs) -> Step:
    x, y = tf.constant(inputs.x), tf.constant(inputs.y)

    def step():
        with tf.GradientTape() as tape:
            tape.watch(x)
            z = x
            for _ in range(ADDS):
                z = z + y
        return [tape.gradient(z, x)]

    return step


def jacobian(tf, inputs: Inputs) -> Step:
    x, (w1, w2) = tf.constant(inputs.x), [tf.constant(weight) for weight in inputs.weights]

    def step():
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.reshape(tf.matmul(tf.tanh(tf.matmul(x[None, :], w1)), w2), [-1])
        return [tape.jacobian(y, x)]

    return step


def batch_jacobian(tf, inputs: Inputs) -> Step:
    x, (w1, w2) = tf.constant(inputs.x), [tf.constant(weight) for weight in inputs.weights]

    def step():
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.matmul(tf.tanh(tf.matmul(x, w1)), w2)
        return [tape.batch_jacobian(y, x)]

    return step


def hessian(tf, inputs: Inputs) -> Step:
    theta, (x, y) = tf.constant(inputs.x), [tf.constant(part) for part in inputs.y]

    def step():
        with tf.GradientTape() as outer:
            outer.watch(theta)
            with tf.GradientTape() as inner:
                inner.watch(theta)
                w1 = tf.reshape(theta[: 8 * HIDDEN], [8, HIDDEN])
                b1, w2 = theta[8 * HIDDEN : 9 * HIDDEN], tf.reshape(theta[9 * HIDDEN :], [HIDDEN, 1])
                loss = tf.reduce_mean(tf.square(tf.matmul(tf.tanh(tf.matmul(x, w1) + b1), w2) - y))
            gradient = inner.gradient(loss, theta)
        return [outer.jacobian(gradient, theta)]

    return step


def curve(tf, rates, times):
    """Values at many times, of a function with few parameters."""
    return rates[0] * tf.exp(-rates[1] * times) * tf.sin(rates[2] * times)


def curves(tf, inputs: Inputs) -> Step:
    rates, times = tf.constant(inputs.x), tf.constant(inputs.y)
    return lambda: [curve(tf, rates, times)]


def network(tf, x, t, variables):
    h = tf.concat([x, t], 1)
    *layers, w, b = variables
    for i in range(0, len(layers), 2):
        h = tf.tanh(tf.matmul(h, layers[i]) + layers[i + 1])
    return tf.matmul(h, w) + b


def residual(tf, u, u_x, u_t, u_xx):
    return tf.reduce_mean(tf.square(u_t + u * u_x - VISCOSITY * u_xx))


def burgers_nested(tf, inputs: Inputs) -> Step:
    x, t = tf.constant(inputs.x[:, :1]), tf.constant(inputs.x[:, 1:])
    variables = [tf.Variable(weight) for weight in inputs.weights]

    def step():
        with tf.GradientTape() as outer:
            with tf.GradientTape() as second:
                second.watch(x)
                with tf.GradientTape() as first:
                    first.watch([x, t])
                    u = network(tf, x, t, variables)
                u_x, u_t = first.gradient(u, [x, t])
            loss = residual(tf, u, u_x, u_t, second.gradient(u_x, x))
        return outer.gradient(loss, variables)

    return step
