"""Networks as a user of `tf.GradientTape` writes them:
the same code for gradtape and TensorFlow, passed as `tf`.
"""

from benchmarks.libraries import Step, named
from benchmarks.libraries.with_a_tape import gradients
from benchmarks.workloads import EPSILON, HEADS, Inputs


def _cell(tf, variables, entry, h, c):
    w, u, b = variables
    i, f, g, o = tf.split(tf.matmul(entry, w) + tf.matmul(h, u) + b, 4, axis=1)
    c = tf.sigmoid(f) * c + tf.sigmoid(i) * tf.tanh(g)
    return tf.sigmoid(o) * tf.tanh(c), c


def lstm(tf, inputs: Inputs) -> Step:
    def loss(variables, x, y):
        h = c = tf.zeros([x.shape[1], variables[1].shape[0]])
        outputs = []
        for entry in tf.unstack(x):
            h, c = _cell(tf, variables, entry, h, c)
            outputs.append(h)
        return tf.reduce_mean(tf.square(tf.stack(outputs) - y))

    return gradients(tf, loss, inputs)


def lstm_by_scan(tf, inputs: Inputs) -> Step:
    def loss(variables, x, y):
        zeros = tf.zeros([x.shape[1], variables[1].shape[0]])
        h, _ = tf.scan(lambda state, entry: _cell(tf, variables, entry, *state), x, (zeros, zeros))
        return tf.reduce_mean(tf.square(h - y))

    return gradients(tf, loss, inputs)


def transformer(tf, inputs: Inputs) -> Step:
    def normalised(x, scale, shift):
        mean, variance = tf.nn.moments(x, axes=[-1], keepdims=True)
        return (x - mean) * tf.math.rsqrt(variance + EPSILON) * scale + shift

    def loss(variables, h, y):
        batch, length, width = h.shape
        for layer in range(0, len(variables), 8):
            scale1, shift1, qkv, out, scale2, shift2, up, down = variables[layer : layer + 8]
            n = tf.reshape(
                normalised(h, scale1, shift1) @ qkv, [batch, length, 3, HEADS, width // HEADS]
            )
            query, key, value = tf.unstack(tf.transpose(n, [2, 0, 3, 1, 4]))
            scores = tf.matmul(query, key, transpose_b=True) * (width // HEADS) ** -0.5
            mixed = tf.transpose(tf.nn.softmax(scores) @ value, [0, 2, 1, 3])
            h = h + tf.reshape(mixed, [batch, length, width]) @ out
            h = h + tf.nn.gelu(normalised(h, scale2, shift2) @ up, approximate=True) @ down
        return tf.reduce_mean(tf.square(h - y))

    return gradients(tf, loss, inputs)


def cnn(tf, inputs: Inputs) -> Step:
    def loss(variables, x, labels):
        w1, b1, w2, b2, w3, b3 = variables
        h = tf.nn.max_pool2d(tf.nn.relu(tf.nn.conv2d(x, w1, 1, "SAME") + b1), 2, 2, "VALID")
        h = tf.nn.max_pool2d(tf.nn.relu(tf.nn.conv2d(h, w2, 1, "SAME") + b2), 2, 2, "VALID")
        logits = tf.matmul(tf.reshape(h, [h.shape[0], -1]), w3) + b3
        return tf.reduce_mean(
            tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
        )

    return gradients(tf, loss, inputs)


EAGER = named(lstm, transformer, cnn)
COMPILED = EAGER | {"lstm": lstm_by_scan}
