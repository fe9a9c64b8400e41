"""The workloads as a user of `tf.GradientTape` writes them: the same code runs on gradtape and on TensorFlow, passed as `tf`."""

from benchmarks.libraries import Step
from benchmarks.workloads import ADDS, CHAIN_FACTOR, CHAIN_LENGTH, CHAIN_SUMMAND, Inputs


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
