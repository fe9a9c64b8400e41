"""Classifies handwritten digits with softmax regression, trained by gradient descent.

Scores, logarithms of probabilities and the loss are the NumPy that one would write without a tape,
`array[rows, columns]` included. The parameters are Variables, which a tape watches by itself. The
digits are those that come with scikit-learn.
"""

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

import gradtape as tf

STEPS = 200
RATE = 0.5
DECAY = 1e-3  # of the weights, so that they stay small


def log_probabilities(weights, bias, digits):
    scores = digits @ weights + bias
    scores = scores - np.max(scores, axis=1, keepdims=True)  # so that exp cannot overflow
    return scores - np.log(np.sum(np.exp(scores), axis=1, keepdims=True))


def cross_entropy(weights, bias, digits, labels):
    of_the_label = log_probabilities(weights, bias, digits)[np.arange(len(labels)), labels]
    return -np.mean(of_the_label) + DECAY * np.sum(weights**2)


def accuracy(weights, bias, digits, labels):
    return np.mean(np.argmax(log_probabilities(weights, bias, digits), axis=1) == labels)


def loss_and_gradients(weights, bias, digits, labels):
    with tf.GradientTape() as tape:
        loss = cross_entropy(weights, bias, digits, labels)
    return loss, tape.gradient(loss, [weights, bias])


def train(digits, labels):
    """Weights and bias, and the loss of every step."""
    weights = tf.Variable(np.zeros((digits.shape[1], 10)))
    bias = tf.Variable(np.zeros(10))
    losses = []
    for _ in range(STEPS):
        loss, (by_weights, by_bias) = loss_and_gradients(weights, bias, digits, labels)
        weights.assign_sub(RATE * by_weights)
        bias.assign_sub(RATE * by_bias)
        losses.append(float(loss))
    return weights.numpy(), bias.numpy(), losses


def main():
    digits, labels = load_digits(return_X_y=True)
    train_digits, test_digits, train_labels, test_labels = train_test_split(
        digits / 16, labels, test_size=0.25, random_state=0, stratify=labels
    )
    weights, bias, losses = train(train_digits, train_labels)
    print(f"loss: {losses[0]:.3f} in the first step, {losses[-1]:.3f} in the last")
    print(f"training digits: {accuracy(weights, bias, train_digits, train_labels):.1%} are right")
    print(f"test digits: {accuracy(weights, bias, test_digits, test_labels):.1%} are right")


if __name__ == "__main__":
    main()
