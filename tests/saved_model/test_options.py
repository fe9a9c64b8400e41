"""Options of `tf.saved_model`: programs pass them, and the files are the same."""

from __future__ import annotations

from pathlib import Path

import pytest

import gradtape as tf

SAVING = {
    "none": None,
    "default": tf.saved_model.SaveOptions(),
    "without gradients": tf.saved_model.SaveOptions(experimental_custom_gradients=False),
    "device": tf.saved_model.SaveOptions(experimental_io_device="/job:localhost"),
    "aliases": tf.saved_model.SaveOptions(function_aliases={"f": print}, save_debug_info=True),
}


class Clipped(tf.Module):
    def __init__(self):
        super().__init__()
        self.scale = tf.Variable(3.0)

    @tf.function(input_signature=[tf.TensorSpec([], tf.float32)])
    def __call__(self, x):
        @tf.custom_gradient
        def doubled(y):
            return y, lambda upstream: upstream * 2.0

        return doubled(x) * self.scale


@pytest.mark.parametrize("options", SAVING.values(), ids=SAVING)
def test_custom_gradients_are_saved_whatever_the_options_say(tmp_path, options):
    tf.saved_model.save(Clipped(), tmp_path / "model", options=options)
    loaded = tf.saved_model.load(
        tmp_path / "model",
        tags=[tf.saved_model.SERVING],
        options=tf.saved_model.LoadOptions(experimental_io_device="/job:localhost"),
    )
    x = tf.Variable(2.0)
    with tf.GradientTape() as tape:
        y = loaded(x)
    assert (float(y), float(tape.gradient(y, x))) == (6.0, 6.0)
    files = [file for file in Path(tmp_path / "model").rglob("*") if file.is_file()]
    assert files


def test_the_default_signature_has_tensorflows_key(tmp_path):
    tf.saved_model.save(Clipped(), tmp_path / "model")
    key = tf.saved_model.DEFAULT_SERVING_SIGNATURE_DEF_KEY
    assert key in tf.saved_model.load(tmp_path / "model").signatures
