"""Summaries: gradtape's event files hold what TensorFlow's do, and each is read by TensorBoard."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import tensorflow  # noqa: ICN001  # `tf` is the library that a function is given
from tensorboard.backend.event_processing.event_file_loader import EventFileLoader
from tensorboard.util import tensor_util

import gradtape

LIBRARIES = [gradtape, tensorflow]
RNG = np.random.default_rng(0)
NUMBERS = RNG.normal(size=(20, 3))
IMAGES = RNG.uniform(size=(4, 5, 6, 3)).astype(np.float32)


def written(tf, folder, call):
    """What TensorBoard finds after a call, and what the call told or raised."""
    writer = tf.summary.create_file_writer(str(folder))
    told = []
    with writer.as_default():
        try:
            told.append(bool(call(tf)))
        except (tf.errors.OpError, ValueError, TypeError) as error:
            told.append("an error" if error else None)
    writer.close()
    for path in Path(folder).iterdir():
        for event in EventFileLoader(str(path)).Load():
            for value in event.summary.value:
                array = tensor_util.make_ndarray(value.tensor)
                told.append((
                    event.step, value.tag, value.metadata.plugin_data.plugin_name,
                    value.metadata.plugin_data.content, value.metadata.data_class,
                    value.metadata.summary_description, array.dtype, array.shape, array.tolist(),
                ))  # fmt: skip
    return told


CALLS = {
    "scalar": lambda tf: tf.summary.scalar("s", 0.5, step=1),
    "description": lambda tf: tf.summary.scalar("s", 0.5, step=1, description="*x*"),
    "integer": lambda tf: tf.summary.scalar("s", tf.constant(3), step=tf.constant(2, tf.int64)),
    "double": lambda tf: tf.summary.scalar("s", np.float64(0.1), step=np.int64(3)),
    "bool": lambda tf: tf.summary.scalar("s", True, step=1),
    "vector": lambda tf: tf.summary.scalar("s", [1.0], step=1),
    "text as scalar": lambda tf: tf.summary.scalar("s", "x", step=1),
    "no step": lambda tf: tf.summary.scalar("s", 1.0),
    "step 1.5": lambda tf: tf.summary.scalar("s", 1.0, step=1.5),
    "step x": lambda tf: tf.summary.scalar("s", 1.0, step="x"),
    "name 3": lambda tf: tf.summary.scalar(3, 1.0, step=1),
    **{
        f"histogram {name}": lambda tf, d=data, b=buckets: tf.summary.histogram(
            "h", d, step=1, buckets=b
        )
        for name, data, buckets in (
            ("normal", NUMBERS, None), ("few", NUMBERS, 7), ("none", NUMBERS, 0),
            ("empty", np.zeros(0), None), ("same", np.ones(5), 3), ("one", 2.0, 1),
            ("integers", np.arange(100), 10), ("negative", NUMBERS, -2), ("text", ["x"], None),
        )
    },
    "text": lambda tf: tf.summary.text("t", "héllo", step=1),
    "texts": lambda tf: tf.summary.text("t", [["a", "b"], ["c", "d"]], step=1),
    "no text": lambda tf: tf.summary.text("t", 3, step=1),
    "flat image": lambda tf: tf.summary.image("i", IMAGES[0], step=1),
    "5 channels": lambda tf: tf.summary.image("i", np.zeros((1, 2, 2, 5), np.float32), step=1),
    "negative max_outputs": lambda tf: tf.summary.image("i", IMAGES, step=1, max_outputs=-1),
    "write": lambda tf: tf.summary.write("w", tf.constant([1, 2]), step=1),
    "write a function": lambda tf: tf.summary.write("w", lambda: tf.constant([1, 2]), step=1),
    "record_if": lambda tf: off(tf),
    "scope": lambda tf: scoped(tf),
    "graph": lambda tf: tf.summary.graph(3),
    "trace_export": lambda tf: tf.summary.trace_export("x", step=1),
    "mp3": lambda tf: tf.summary.audio("a", IMAGES[:, :, :, 0], 8000, step=1, encoding="mp3"),
    "flat audio": lambda tf: tf.summary.audio("a", IMAGES[0, 0, 0], 8000, step=1),
}  # fmt: skip


def off(tf):
    with tf.summary.record_if(False):
        return tf.summary.scalar("s", 1.0)


def scoped(tf):
    with tf.name_scope("a"), tf.name_scope("b"):
        return tf.summary.scalar("c d", 1.0, step=1)


@pytest.mark.parametrize("name", CALLS)
def test_the_same_is_written(tmp_path, name):
    ours, theirs = (written(tf, tmp_path / tf.__name__, CALLS[name]) for tf in LIBRARIES)
    if "histogram" in name and len(theirs) > 1:
        a, b = (np.array(found[1][-1]) for found in (ours, theirs))
        np.testing.assert_allclose(a, b, rtol=1e-12)
        assert ours[1][:-1] == theirs[1][:-1]
    else:
        assert ours == theirs


@pytest.mark.parametrize("dtype", ["float32", "uint8", "uint16"])
@pytest.mark.parametrize("channels", [1, 2, 3, 4])
def test_images(tmp_path, channels, dtype):
    shape = (4, 5, 6, channels)
    if dtype == "float32":
        data = RNG.uniform(-0.2, 1.2, shape).astype(dtype)
    else:
        data = RNG.integers(0, np.iinfo(dtype).max, shape).astype(dtype)
    call = lambda tf: tf.summary.image("i", data, step=1, max_outputs=2)
    ours, theirs = (written(tf, tmp_path / tf.__name__, call) for tf in LIBRARIES)
    assert ours[0] == theirs[0]
    assert ours[1][:-1] == theirs[1][:-1]
    assert ours[1][-1][:2] == theirs[1][-1][:2]
    pixels = [
        [tensorflow.io.decode_png(file).numpy().tolist() for file in found[1][-1][2:]]
        for found in (ours, theirs)
    ]
    assert pixels[0] == pixels[1]


def test_sounds(tmp_path):
    data = RNG.uniform(-1.5, 1.5, (2, 50, 2)).astype(np.float32)
    call = lambda tf: tf.summary.audio("a", data, 8000, step=1)
    ours, theirs = (written(tf, tmp_path / tf.__name__, call) for tf in LIBRARIES)
    assert ours[1][:-1] == theirs[1][:-1]
    samples = [
        [tensorflow.audio.decode_wav(file)[0].numpy() for file in found[1][-1]]
        for found in (ours, theirs)
    ]
    np.testing.assert_allclose(samples[0], samples[1], atol=1e-4)


def test_a_writer_without_effect():
    for tf in LIBRARIES:
        with tf.summary.create_noop_writer().as_default():
            assert not bool(tf.summary.scalar("s", 1.0, step=1))
        assert not bool(tf.summary.scalar("s", 1.0))
