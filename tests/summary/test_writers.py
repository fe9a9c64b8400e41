"""Writers of event files: when events reach the file, threads, ends, interrupts."""

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import gradtape as tf
from gradtape.io.tfrecord import read_records
from tests.summary.test_recording import events, nothing_set, written  # noqa: F401

summary = tf.summary


def count(folder):
    return sum(1 for path in Path(folder).iterdir() for _ in read_records(path))


def test_the_file(tmp_path):
    writer = summary.create_file_writer(tmp_path / "new" / "logs", filename_suffix=".mine")
    (path,) = (tmp_path / "new" / "logs").iterdir()
    assert path.name.startswith("events.out.tfevents.")
    assert path.name.endswith(".mine")
    (first,) = events(tmp_path / "new" / "logs")
    assert first.file_version == "brain.Event:2"
    assert first.source_metadata.writer == "gradtape.summary"
    assert first.wall_time > 1e9
    summary.create_file_writer(tmp_path / "new" / "logs").close()
    assert len(list((tmp_path / "new" / "logs").iterdir())) == 2
    writer.close()


def test_when_events_reach_the_file(tmp_path):
    writer = summary.create_file_writer(tmp_path, max_queue=3)
    writer.set_as_default(step=1)
    for expected in (1, 1, 1, 5, 5):
        summary.scalar("s", 1.0)
        assert count(tmp_path) == expected
    summary.flush()
    assert count(tmp_path) == 6
    summary.create_noop_writer().set_as_default()
    summary.experimental.set_step(None)
    writer.close()
    always = summary.create_file_writer(tmp_path / "now", flush_millis=-1)
    with always.as_default():
        summary.scalar("s", 1.0, step=1)
        assert count(tmp_path / "now") == 2
    always.close()
    tf.summary.recording.state_here().writer = None


def test_a_closed_writer(tmp_path):
    writer = summary.create_file_writer(tmp_path)
    with writer.as_default():
        summary.scalar("s", 1.0, step=1)
        writer.close()
        writer.close()
        writer.flush()
        assert not summary.scalar("s", 1.0, step=2)
    for call in (writer.as_default, writer.set_as_default, writer.init):
        with pytest.raises(RuntimeError, match="is already closed"):
            call()
    assert written(tmp_path)["s"] == [(1, 1.0)]


def test_blocks_in_blocks(tmp_path):
    outer, inner = (summary.create_file_writer(tmp_path / name) for name in ("a", "b"))
    with outer.as_default(step=1):
        with inner.as_default(step=2), outer.as_default(), inner.as_default():
            summary.scalar("s", 2.0)
        with pytest.raises(ZeroDivisionError), inner.as_default(step=3):
            _ = 1 / 0
        summary.scalar("s", 1.0)
    assert written(tmp_path / "a") == {"s": [(1, 1.0)]}
    assert written(tmp_path / "b") == {"s": [(2, 2.0)]}
    outer.close()
    inner.close()


def test_each_thread_has_its_own_default(tmp_path):
    writer, told = summary.create_file_writer(tmp_path), []
    with writer.as_default(step=1):

        def work(number):
            told.append(bool(summary.scalar("none", 1.0)))
            with writer.as_default(step=number):
                for i in range(50):
                    summary.scalar(f"thread {number}", float(i))

        threads = [threading.Thread(target=work, args=[number]) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    writer.close()
    assert told == [False] * 4
    found = written(tmp_path)
    assert len(found) == 4
    for number in range(4):
        assert found[f"thread {number}"] == [(number, float(i)) for i in range(50)]


@pytest.mark.parametrize(("arguments", "error", "says"), [
    ({"logdir": None}, ValueError, "logdir must not be None"),
    ({"logdir": 3}, TypeError, "logdir must be a path"),
    ({"logdir": ""}, tf.errors.InvalidArgumentError, "logdir is empty"),
    ({"max_queue": "x"}, TypeError, "max_queue must be an integer"),
    ({"flush_millis": 1.5}, TypeError, "flush_millis must be an integer"),
    ({"filename_suffix": "a/b"}, ValueError, "filename_suffix must be the end of a name"),
])  # fmt: skip
def test_wrong_arguments(tmp_path, arguments, error, says):
    with pytest.raises(error, match=says):
        summary.create_file_writer(**({"logdir": tmp_path} | arguments))
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_made(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises((tf.errors.FailedPreconditionError, tf.errors.AlreadyExistsError)):
        summary.create_file_writer(tmp_path / "file")


def run(code, *arguments):
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", f"import gradtape as tf, os, sys\n{code}",
         *map(str, arguments)],
        env=os.environ | {"PYTHONPATH": str(Path(tf.__file__).parents[1])},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_what_is_not_closed_is_written_at_the_end(tmp_path):
    code = """
tf.summary.create_file_writer(sys.argv[1]).set_as_default()
tf.summary.scalar("s", 1.0, step=1)
assert "tensorflow" not in sys.modules and "jax" not in sys.modules
"""
    assert run(code, tmp_path) == ""
    assert written(tmp_path) == {"s": [(1, 1.0)]}


def test_interrupts_leave_whole_events(tmp_path):
    code = """
import random, signal, time
signal.signal(signal.SIGALRM, signal.default_int_handler)
writer = tf.summary.create_file_writer(sys.argv[1], max_queue=2)
with writer.as_default():
    tf.summary.scalar("s", 1.0, step=0)  # imports what could take longer than the timer allows
rng, interrupts, end = random.Random(0), 0, time.monotonic() + 1.0
while time.monotonic() < end:
    try:
        signal.setitimer(signal.ITIMER_REAL, rng.uniform(1e-4, 3e-3))
        with writer.as_default():
            while True:
                tf.summary.scalar("s", 1.0, step=interrupts)
    except KeyboardInterrupt:
        interrupts += 1
assert tf.summary.experimental.get_step() is None
print(interrupts)
"""
    assert int(run(code, tmp_path)) > 20
    assert len(written(tmp_path)["s"]) > 20


def test_without_tensorboard(tmp_path):
    said = run("""
class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "tensorboard":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Missing())
try:
    tf.summary.create_file_writer(sys.argv[1])
except ImportError as error:
    print(error)
""", tmp_path)  # fmt: skip
    assert "tf.summary needs the package tensorboard, which is not installed: pip install" in said
    assert list(tmp_path.iterdir()) == []
