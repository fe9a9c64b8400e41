"""Makes docs/tape-page.png, a picture of the page of `tape.show`: `python -m tools.page_picture`.

The network is too deep for its sigmoids, and a temperature is rounded on its way.
"""

import argparse
import linecache
import tempfile
from pathlib import Path

import numpy as np
from PIL import Image

import gradtape as tf
from gradtape import keras
from tools.chromium import Chromium

DOCS = Path(__file__).parent.parent / "docs"
FILE = "train.py"
PROGRAM = """\
def build():
    hidden = [keras.layers.Dense(32, activation="sigmoid") for _ in range(8)]
    return keras.Sequential([keras.Input((64,)), *hidden, keras.layers.Dense(10)], name="net")


def step(network, temperature, digits, labels):
    with tf.profile() as times:
        with tf.GradientTape(persistent=True) as tape:
            scores = network(digits, training=True)
            scores = scores / tf.round(temperature)
            loss = tf.nn.sparse_softmax_cross_entropy_with_logits(labels, scores)
            loss = tf.reduce_mean(loss)
        tape.gradient(loss, network.trainable_variables)
    return tape, loss, times
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--out", type=Path, default=DOCS / "tape-page.png")
    parser.add_argument("--dark", action="store_true")
    args = parser.parse_args()
    keras.utils.set_random_seed(0)
    tf.debugging.disable_hints()
    random = np.random.default_rng(0)
    digits = random.standard_normal((64, 64)).astype("float32")
    labels = random.integers(0, 10, 64)
    program = {"tf": tf, "keras": keras}
    linecache.cache[FILE] = (len(PROGRAM), None, PROGRAM.splitlines(keepends=True), FILE)
    exec(compile(PROGRAM, FILE, "exec"), program)
    network, temperature = program["build"](), tf.Variable(2.0, name="temperature")
    program["step"](network, temperature, digits, labels)  # what is done once is done
    tape, loss, times = program["step"](network, temperature, digits, labels)
    browser = Chromium()
    try:
        with tempfile.TemporaryDirectory() as folder:
            tape.show(Path(folder) / "tape.html", target=loss, profile=times)
            browser.open(Path(folder) / "tape.html", dark=args.dark, size=(1280, 800))
            browser.press("1", "F")
            browser.picture(args.out)
    finally:
        browser.close()
    Image.open(args.out).convert("RGB").quantize(256).save(args.out, optimize=True)


if __name__ == "__main__":
    main()
