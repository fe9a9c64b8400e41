"""The networks that are compiled, as a user of `tf.GradientTape` writes them: the same code for gradtape and TensorFlow, passed as `tf`."""

from benchmarks.libraries import Step
from benchmarks.workloads import HEADS, Inputs


def calls(tf, inputs: Inputs) -> Step:
    add_one = tf.function(lambda *xs: [x + 1 for x in xs], autograph=False)
    arrays = [tf.constant(x) for x in inputs.x]
    return lambda: add_one(*arrays)


def elementwise(tf, inputs: Inputs) -> Step:
    x = tf.Variable(inputs.x)

    @tf.function(autograph=False)
    def step():
        with tf.GradientTape() as tape:
            total = tf.reduce_sum(tf.sqrt(tf.exp(tf.sigmoid(tf.tanh(x)))))
        return [tape.gradient(total, x)]

    return step


def _step(tf, loss, inputs: Inputs) -> Step:
    """The gradients of `loss(variables, x, y)` by all weights."""
    x, y = tf.constant(inputs.x), tf.constant(inputs.y)
    variables = [tf.Variable(weight) for weight in inputs.weights]

    @tf.function(autograph=False)
    def step(x, y):
        with tf.GradientTape() as tape:
            value = loss(variables, x, y)
        return tape.gradient(value, variables)

    return lambda: step(x, y)


def lstm(tf, inputs: Inputs) -> Step:
    def loss(variables, x, y):
        w, u, b = variables
        zeros = tf.zeros([x.shape[1], u.shape[0]])

        def cell(state, entry):
            h, c = state
            i, f, g, o = tf.split(tf.matmul(entry, w) + tf.matmul(h, u) + b, 4, axis=1)
            c = tf.sigmoid(f) * c + tf.sigmoid(i) * tf.tanh(g)
            return tf.sigmoid(o) * tf.tanh(c), c

        h, _ = tf.scan(cell, x, (zeros, zeros))
        return tf.reduce_mean(tf.square(h - y))

    return _step(tf, loss, inputs)


def transformer(tf, inputs: Inputs) -> Step:
    def normalised(x, scale, shift):
        mean, variance = tf.nn.moments(x, axes=[-1], keepdims=True)
        return (x - mean) * tf.math.rsqrt(variance + 1e-5) * scale + shift

    def loss(variables, h, y):
        batch, length, width = h.shape
        for layer in range(0, len(variables), 8):
            scale1, shift1, qkv, out, scale2, shift2, up, down = variables[layer : layer + 8]
            n = tf.reshape(normalised(h, scale1, shift1) @ qkv, [batch, length, 3, HEADS, width // HEADS])
            query, key, value = tf.unstack(tf.transpose(n, [2, 0, 3, 1, 4]))
            scores = tf.matmul(query, key, transpose_b=True) * (width // HEADS) ** -0.5
            mixed = tf.transpose(tf.nn.softmax(scores) @ value, [0, 2, 1, 3])
            h = h + tf.reshape(mixed, [batch, length, width]) @ out
            h = h + tf.nn.gelu(normalised(h, scale2, shift2) @ up, approximate=True) @ down
        return tf.reduce_mean(tf.square(h - y))

    return _step(tf, loss, inputs)


def cnn(tf, inputs: Inputs) -> Step:
    def loss(variables, x, labels):
        w1, b1, w2, b2, w3, b3 = variables
        h = tf.nn.max_pool2d(tf.nn.relu(tf.nn.conv2d(x, w1, 1, "SAME") + b1), 2, 2, "VALID")
        h = tf.nn.max_pool2d(tf.nn.relu(tf.nn.conv2d(h, w2, 1, "SAME") + b2), 2, 2, "VALID")
        logits = tf.matmul(tf.reshape(h, [h.shape[0], -1]), w3) + b3
        return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits))

    return _step(tf, loss, inputs)


def update(tf, inputs: Inputs) -> Step:
    variable = tf.Variable(inputs.x)

    @tf.function(autograph=False)
    def step():
        variable.assign_sub(0.01 * variable)
        return [variable[:1]]

    return step
