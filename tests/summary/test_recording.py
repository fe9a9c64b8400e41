"""Summaries: what TensorBoard's own reader finds in the event files, at which steps, in functions,
and what is refused.
"""

import io
import wave
from pathlib import Path

import numpy as np
import pytest
from tensorboard.backend.event_processing.event_file_loader import EventFileLoader
from tensorboard.compat.proto.summary_pb2 import Summary, SummaryMetadata
from tensorboard.util import tensor_util

import gradtape as tf

summary = tf.summary


def events(folder):
    """The events of all files in a folder, as TensorBoard reads them."""
    return [
        event
        for path in sorted(Path(folder).iterdir())
        if path.is_file()
        for event in EventFileLoader(str(path)).Load()
    ]


def written(folder):
    """By tag, the steps and the arrays."""
    found = {}
    for event in events(folder):
        for value in event.summary.value:
            array = tensor_util.make_ndarray(value.tensor)
            found.setdefault(value.tag, []).append((event.step, array.tolist()))
    return found


def plugins(folder):
    return {
        value.tag: value.metadata.plugin_data.plugin_name
        for event in events(folder)
        for value in event.summary.value
    }


@pytest.fixture
def writer(tmp_path):
    made = summary.create_file_writer(tmp_path)
    with made.as_default():
        yield made
    made.close()


@pytest.fixture(autouse=True)
def nothing_set():
    """Fails a test that leaves a step or a writer."""
    yield
    left = summary.experimental.get_step(), bool(summary.should_record_summaries())
    summary.experimental.set_step(None)
    assert left == (None, False)


# Kinds


def test_every_kind_is_read_by_tensorboard(tmp_path, writer):
    assert summary.scalar("s", tf.constant(0.5), step=1, description="how *far*").numpy()
    summary.histogram("h", [1.0, 2.0, 2.0, 5.0], step=2, buckets=4)
    summary.image("i", np.full((5, 2, 3, 1), 0.5), step=3, max_outputs=2)
    summary.text("t", ["one", "two"], step=4)
    summary.audio("a", np.array([[[0.0], [1.0], [-2.0]]]), 8000, step=5)
    summary.write("w", np.arange(3), step=6)
    writer.flush()
    found = written(tmp_path)
    assert found["s"] == [(1, 0.5)]
    assert found["h"] == [(2, [[1, 2, 1], [2, 3, 2], [3, 4, 0], [4, 5, 1]])]
    assert found["t"] == [(4, [b"one", b"two"])]
    assert found["w"] == [(6, [0, 1, 2])]
    ((step, (width, height, *images)),) = found["i"]
    assert (step, width, height, len(images)) == (3, b"3", b"2", 2)
    np.testing.assert_array_equal(tf.io.decode_png(images[0]), np.full((2, 3, 1), 127))
    ((_, (sound,)),) = found["a"]
    with wave.open(io.BytesIO(sound)) as file:
        assert (file.getframerate(), file.getnchannels(), file.getnframes()) == (8000, 1, 3)
        assert np.frombuffer(file.readframes(3), "<i2").tolist() == [0, 32767, -32767]
    assert plugins(tmp_path) == {
        "s": "scalars", "h": "histograms", "i": "images", "t": "text", "a": "audio", "w": "",
    }  # fmt: skip
    (described,) = [
        value.metadata.summary_description
        for event in events(tmp_path)
        for value in event.summary.value
        if value.tag == "s"
    ]
    assert described == "how *far*"


@pytest.mark.parametrize("data", [
    3, True, np.float16(0.5), np.float64(1e300), tf.constant(2, tf.int8), float("nan"), 1 + 2j,
    tf.Variable(1.5), tf.constant(1.5, tf.bfloat16), np.array(7),
])  # fmt: skip
def test_kinds_of_scalars(tmp_path, writer, data):
    with np.errstate(over="ignore"):
        summary.scalar("s", data, step=1)
        value = data.numpy() if isinstance(data, (tf.Tensor, tf.Variable)) else np.asarray(data)
        expected = np.asarray(value).real.astype(np.float32)
    writer.flush()
    ((_, found),) = written(tmp_path)["s"]
    np.testing.assert_equal(np.float32(found), expected)


HISTOGRAMS = [
    ([], 3, [[0, 0, 0]] * 3),
    ([2.0, 2.0], 3, [[2, 2, 0], [2, 2, 0], [2, 2, 2]]),
    (5, 2, [[5, 5, 0], [5, 5, 1]]),
    ([1, 2], 0, []),
    ([1, 2], -3, []),
    ([[0, 1], [2, 4]], 2, [[0, 2, 2], [2, 4, 2]]),
    ([True, False], 1, [[0, 1, 2]]),
]


@pytest.mark.parametrize(("data", "buckets", "expected"), HISTOGRAMS)
def test_histograms(tmp_path, writer, data, buckets, expected):
    summary.histogram("h", data, step=1, buckets=buckets)
    writer.flush()
    assert written(tmp_path)["h"] == [(1, expected)]


def test_a_histogram_has_all_numbers(tmp_path, writer):
    summary.histogram("h", np.random.default_rng(0).normal(size=1000), step=1)
    summary.histogram("h", [1.0, np.inf], step=2)
    writer.flush()
    (_, first), (_, second) = written(tmp_path)["h"]
    assert len(first) == len(second) == 30
    assert sum(count for *_, count in first) == 1000


LARGEST = np.finfo(np.float64).max


@pytest.mark.parametrize(
    "data",
    [
        [-LARGEST, LARGEST], [0.0, LARGEST], [-LARGEST, -1.0], [LARGEST / 2, -LARGEST / 3, 5.0],
        [0.0, 5e-324], [1.0, 1.0 + 2.0**-52], np.float32([1, 1 + 2**-23]),
        np.array([2**63 - 1, -(2**63)]), np.array([2**64 - 1, 0], np.uint64),
        np.float16([6e4, -6e4]),
    ],
)  # fmt: skip
@pytest.mark.parametrize("buckets", [1, 2, 7, None])
def test_a_histogram_of_finite_numbers_counts_each(tmp_path, writer, data, buckets):
    data = np.asarray(data)
    summary.histogram("h", data, step=1, buckets=buckets)
    writer.flush()
    ((_, found),) = written(tmp_path)["h"]
    left, right, counts = np.transpose(found)
    values = np.asarray(data, np.float64)
    assert counts.sum() == len(data)
    assert np.isfinite(found).all()
    np.testing.assert_allclose([left[0], right[-1]], [values.min(), values.max()], rtol=1e-15)
    assert (left[1:] == right[:-1]).all()
    assert (left <= right).all()


@pytest.mark.parametrize("channels", [1, 2, 3, 4])
@pytest.mark.parametrize("dtype", [np.uint8, np.float32, np.uint16])
def test_images(tmp_path, writer, channels, dtype):
    summary.image("i", np.ones((1, 2, 2, channels), dtype), step=1)
    writer.flush()
    ((_, (_, _, file)),) = written(tmp_path)["i"]
    shown = {np.uint8: 1, np.float32: 255, np.uint16: 0}[dtype]
    assert np.unique(tf.io.decode_png(file).numpy()).tolist() == [shown]


# Steps, tags and conditions


def test_steps(tmp_path, writer):
    with pytest.raises(ValueError, match="no step: give `step`"):
        summary.scalar("s", 1.0)
    count = tf.Variable(2, dtype=tf.int64)
    for step in (1, np.int64(1), tf.constant(1), tf.Variable(1)):
        summary.scalar("given", 1.0, step=step)
    summary.experimental.set_step(count)
    summary.scalar("default", 1.0)
    count.assign_add(3)
    summary.scalar("default", 1.0)
    summary.experimental.set_step(None)
    with writer.as_default(step=7):
        assert summary.experimental.get_step() == 7
        summary.scalar("block", 1.0)
        summary.scalar("block", 1.0, step=8)
    assert summary.experimental.get_step() is None
    found = {tag: [step for step, _ in values] for tag, values in written(tmp_path).items()}
    assert found == {"given": [1] * 4, "default": [2, 5], "block": [7, 8]}


@pytest.mark.parametrize("step", ["x", 1.5, [1], tf.constant(1.0), True])
def test_steps_that_are_none(writer, step):
    with pytest.raises((TypeError, ValueError), match="step"):
        summary.scalar("s", 1.0, step=step)


def test_tags(tmp_path, writer):
    with tf.name_scope("outer"), tf.name_scope("inner"):
        summary.scalar("s", 1.0, step=1)
        with summary.experimental.summary_scope("x", "default") as (tag, scope):
            assert (tag, scope) == ("outer/inner/x", "outer/inner/x/")
    with summary.experimental.summary_scope("", "default") as (tag, _):
        assert tag == "default"
    summary.scalar("a b/c", 1.0, step=1)
    writer.flush()
    assert [*written(tmp_path)] == ["outer/inner/s", "a b/c"]
    for wrong in (3, None, b"s"):
        with pytest.raises(TypeError, match="name must be a string"):
            summary.scalar(wrong, 1.0, step=1)


@pytest.mark.parametrize(("condition", "holds"), [
    (True, True), (False, False), (lambda: True, True), (lambda: False, False),
    (tf.constant(True), True), (lambda: tf.constant(False), False), (np.bool_(False), False),
    (tf.Variable(True), True),
])  # fmt: skip
def test_conditions(tmp_path, writer, condition, holds):
    with summary.record_if(condition):
        assert bool(summary.should_record_summaries()) is holds
        assert bool(summary.scalar("s", 1.0, step=1)) is holds
        # Nothing is asked of a summary that is not recorded.
        assert holds or not summary.scalar("s", 1.0)
    assert summary.should_record_summaries()
    writer.flush()
    assert ("s" in written(tmp_path)) is holds


@pytest.mark.parametrize("condition", [3, "x", None, [True, False], tf.constant([True])])
def test_conditions_that_are_none(writer, condition):
    with (
        summary.record_if(condition),
        pytest.raises((TypeError, ValueError), match=r"condition|None"),
    ):
        summary.scalar("s", 1.0, step=1)


def test_a_function_that_is_not_needed_is_not_called(writer):
    with summary.record_if(False):
        assert not summary.write("w", lambda: 1 / 0, step=1)


def test_without_a_writer():
    for call in (
        lambda: summary.scalar("s", "no number"), lambda: summary.image("i", 3),
        lambda: summary.write("w", lambda: 1 / 0), lambda: summary.text("t", 3),
    ):  # fmt: skip
        assert call().numpy() == np.False_
    assert not summary.should_record_summaries()
    summary.flush()


def test_metadata(tmp_path, writer):
    about = SummaryMetadata()
    about.plugin_data.plugin_name = "mine"
    summary.write("message", 1.0, step=1, metadata=about)
    summary.write("bytes", 1.0, step=1, metadata=about.SerializeToString())
    summary.experimental.write_raw_pb(
        Summary(value=[Summary.Value(tag="raw", simple_value=3.0)]).SerializeToString(), step=4
    )
    writer.flush()
    assert plugins(tmp_path) == {"message": "mine", "bytes": "mine", "raw": "scalars"}


WRONG = [
    (lambda: summary.scalar("s", [1.0], step=1), ValueError, r"must be a scalar, got shape \(1,\)"),
    (lambda: summary.scalar("s", "x", step=1), tf.errors.InvalidArgumentError, "must be numbers"),
    (lambda: summary.histogram("h", ["x"], step=1), tf.errors.InvalidArgumentError, "be numbers"),
    (lambda: summary.histogram("h", [1], step=1, buckets=1.5), TypeError, "must be an integer"),
    (lambda: summary.image("i", np.zeros((2, 3)), step=1), ValueError, r"got \(2, 3\)"),
    (
        lambda: summary.image("i", np.zeros((1, 2, 3, 5)), step=1),
        tf.errors.InvalidArgumentError,
        "1 to 4 channels",
    ),
    (
        lambda: summary.image("i", np.zeros((1, 2, 2, 1)), step=1, max_outputs=-1),
        tf.errors.InvalidArgumentError,
        "max_outputs must not be negative",
    ),
    (lambda: summary.text("t", 3, step=1), TypeError, "must be strings"),
    (
        lambda: summary.image("i", np.zeros((1, 2, 2, 1), bool), step=1),
        tf.errors.InvalidArgumentError,
        "image: data must be integers or floats, got dtype bool",
    ),
    (
        lambda: summary.audio("a", np.zeros((1, 5, 0)), 8000, step=1),
        tf.errors.InvalidArgumentError,
        "audio: data must have 1 to 32767 channels",
    ),
    (
        lambda: summary.audio("a", np.zeros((1, 5, 1)), 2**32, step=1),
        tf.errors.InvalidArgumentError,
        "sample_rate must be from 1 to 2147483647, got 4294967296",
    ),
    (lambda: summary.scalar("s", 1.0, step=2**63), ValueError, "step must be an integer of 64"),
    (lambda: summary.scalar("s", 1.0, step=np.uint64(2**63)), ValueError, "step must be"),
    (lambda: summary.scalar("\ud800", 1.0, step=1), ValueError, "tag must be Unicode text"),
    (lambda: summary.audio("a", np.zeros(3), 8000, step=1), ValueError, r"got \(3,\)"),
    (lambda: summary.audio("a", [[[0.0]]], 8000, 1, encoding="mp3"), ValueError, "must be 'wav'"),
    (lambda: summary.audio("a", [[[0.0]]], 0, 1), tf.errors.InvalidArgumentError, "7, got 0"),
]


@pytest.mark.parametrize(("call", "error", "says"), WRONG)
def test_what_is_refused(tmp_path, writer, call, error, says):
    with pytest.raises(error, match=says):
        call()
    writer.flush()
    assert written(tmp_path) == {}


# Functions


@pytest.mark.parametrize("compiled", [False, True])
def test_in_a_function(tmp_path, writer, compiled):
    @tf.function(jit_compile=True if compiled else None)
    def step(x, number):
        summary.scalar("loss", tf.reduce_sum(x), step=number)
        summary.histogram("x", x, step=number, buckets=1)
        summary.text("note", "constant", step=number)
        summary.image("i", tf.reshape(x, [1, 1, 2, 1]), step=number)
        return x * 2.0

    for number in range(3):
        step(tf.constant([0.0, float(number)]), tf.constant(number))
    writer.flush()
    found = written(tmp_path)
    assert found["loss"] == [(0, 0.0), (1, 1.0), (2, 2.0)]
    assert found["x"] == [(0, [[0, 0, 2]]), (1, [[0, 1, 2]]), (2, [[0, 2, 2]])]
    assert found["note"] == [(number, b"constant") for number in range(3)]
    assert [number for number, _ in found["i"]] == [0, 1, 2]


def test_the_default_step_of_a_function_is_that_of_each_call(tmp_path, writer):
    count = tf.Variable(0, dtype=tf.int64)

    @tf.function(jit_compile=True)
    def by_variable():
        count.assign_add(1)
        summary.scalar("variable", 1.0)

    summary.experimental.set_step(count)
    for _ in range(3):
        by_variable()
    summary.experimental.set_step(None)

    by_number = tf.function(lambda x: summary.scalar("number", x), jit_compile=True)
    for number in (4, 5):
        with writer.as_default(step=number):
            by_number(tf.constant(1.0))
    found = {tag: [step for step, _ in values] for tag, values in written(tmp_path).items()}
    assert found == {"variable": [1, 2, 3], "number": [4, 5]}


def test_conditions_in_a_function(tmp_path, writer):
    @tf.function(jit_compile=True)
    def by_tensor(x):
        with summary.record_if(x > 1.0):
            summary.scalar("tensor", x, step=1)

    by_state = tf.function(lambda x: summary.scalar("state", x, step=1), jit_compile=True)
    for value in (1.0, 2.0, 3.0):
        by_tensor(tf.constant(value))
        with summary.record_if(lambda value=value: value != 2.0):
            by_state(tf.constant(value))
    writer.flush()
    found = {tag: [array for _, array in values] for tag, values in written(tmp_path).items()}
    assert found == {"tensor": [2.0, 3.0], "state": [1.0, 3.0]}


def test_a_function_writes_to_the_writer_that_it_was_traced_with(tmp_path):
    made = summary.create_file_writer(tmp_path)
    write = tf.function(lambda x: summary.scalar("s", x, step=1), jit_compile=True)
    with made.as_default():
        write(tf.constant(1.0))
    write(tf.constant(2.0))
    other = summary.create_file_writer(tmp_path / "other")
    with other.as_default():
        write(tf.constant(3.0))
    made.close()
    other.close()
    assert [value for _, value in written(tmp_path)["s"]] == [1.0, 2.0]
    assert [value for _, value in written(tmp_path / "other")["s"]] == [3.0]


def test_blocks_inside_of_a_function_belong_to_it(tmp_path):
    inner, outer = (summary.create_file_writer(tmp_path / name) for name in ("inner", "outer"))

    @tf.function(jit_compile=True)
    def write(x):
        with inner.as_default(step=3):
            summary.scalar("s", x)
            with summary.record_if(False):
                summary.scalar("never", x)
            with outer.as_default(step=4), summary.record_if(True):
                summary.scalar("s", x)

    write(tf.constant(1.0))
    with outer.as_default(step=9), summary.record_if(False):
        write(tf.constant(2.0))
    inner.close()
    outer.close()
    assert written(tmp_path / "inner") == {"s": [(3, 1.0)]}
    assert written(tmp_path / "outer") == {"s": [(4, 1.0), (4, 2.0)]}


def test_in_a_loop_and_a_branch(tmp_path, writer):
    @tf.function(jit_compile=True)
    def loop(count):
        for i in tf.range(count):
            if i % 2 == 0:
                summary.scalar("even", tf.cast(i, tf.float32), step=i)

    loop(tf.constant(5))
    writer.flush()
    assert [step for step, _ in written(tmp_path)["even"]] == [0, 2, 4]


def test_an_error_in_a_function_names_what_is_wrong(writer):
    wrong = tf.function(lambda x: summary.scalar("s", x, step=1), jit_compile=True)
    with pytest.raises(Exception, match="must be a scalar, got shape"):
        wrong(tf.constant([1.0, 2.0]))


def test_summaries_beside_a_tape(tmp_path, writer):
    w = tf.Variable(2.0)

    @tf.function
    def step():
        with tf.GradientTape() as tape:
            loss = w * w
            summary.scalar("loss", loss, step=0)
        return tape.gradient(loss, w)

    assert step().numpy() == 4.0
    writer.flush()
    assert written(tmp_path)["loss"] == [(0, 4.0)]
