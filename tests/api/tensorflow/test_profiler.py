"""`tf.profiler.experimental`, on JAX's profiler: what it writes, and how it refuses."""

import socket
import subprocess
import sys
from pathlib import Path

import pytest

import gradtape as tf

profiler = tf.profiler.experimental


def files(folder):
    return [path for path in Path(folder).rglob("*") if path.is_file()]


@pytest.fixture
def step():
    @tf.function
    def step(x):
        return tf.reduce_sum(tf.tanh(x @ x))

    step(tf.ones([8, 8]))
    return step


def test_a_profile_is_written_where_tensorboard_looks(tmp_path, step):
    profiler.start(tmp_path)
    step(tf.ones([8, 8]))
    assert files(tmp_path) == []
    profiler.stop()
    assert any(path.name.endswith(".xplane.pb") for path in files(tmp_path / "plugins/profile"))


def test_sections_have_their_names_in_it(tmp_path, step):
    with profiler.Profile(str(tmp_path), profiler.ProfilerOptions(host_tracer_level=3)):
        with profiler.Trace("a_section_of_mine", step_num=7):
            step(tf.ones([8, 8]))
        with profiler.Trace("another_section", note="some text"):
            step(tf.ones([8, 8]))
    (written,) = [path for path in files(tmp_path) if path.name.endswith(".xplane.pb")]
    content = written.read_bytes()
    assert b"a_section_of_mine" in content
    assert b"another_section" in content
    assert b"some text" in content


def test_what_is_not_saved_is_not_there(tmp_path, step):
    with profiler.Profile(tmp_path):
        step(tf.ones([8, 8]))
    kept = files(tmp_path)
    profiler.start(tmp_path)
    step(tf.ones([8, 8]))
    profiler.stop(save=False)
    assert files(tmp_path) == kept


def test_one_at_a_time(tmp_path):
    with profiler.Profile(tmp_path):
        with pytest.raises(tf.errors.AlreadyExistsError, match="stop it first"):
            profiler.start(tmp_path)
        with pytest.raises(tf.errors.AlreadyExistsError), profiler.Profile(tmp_path):
            pass
    with pytest.raises(tf.errors.UnavailableError, match="no profile is running"):
        profiler.stop()


def test_an_exception_ends_it(tmp_path, step):
    with pytest.raises(KeyboardInterrupt), profiler.Profile(tmp_path):
        step(tf.ones([8, 8]))
        raise KeyboardInterrupt
    assert files(tmp_path)
    with pytest.raises(tf.errors.UnavailableError):
        profiler.stop()


def test_a_delay_is_not_supported(tmp_path, caplog):
    for _ in range(2):
        with profiler.Profile(tmp_path, profiler.ProfilerOptions(delay_ms=10)):
            pass
    (said,) = [record.message for record in caplog.records if "delay_ms" in record.message]
    assert "it starts at once" in said


def test_the_options_are_tensorflows():
    assert profiler.ProfilerOptions() == (2, 0, 1, None)
    assert profiler.ProfilerOptions._fields == (
        "host_tracer_level", "python_tracer_level", "device_tracer_level", "delay_ms",
    )  # fmt: skip


def test_a_server_answers():
    """In a process of its own, since a server stays."""
    with socket.socket() as found:
        found.bind(("localhost", 0))
        port = found.getsockname()[1]
    program = (
        "import socket, gradtape as tf\n"
        f"tf.profiler.experimental.server.start({port})\n"
        f"socket.create_connection(('localhost', {port}), timeout=10).close()\n"
        "print('connected')\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=120
    )
    assert done.stdout == "connected\n", done.stderr


def test_a_trace_and_a_profile_by_line_do_not_load_jax():
    program = (
        "import sys, gradtape as tf\n"
        "with tf.profile() as p, tf.profiler.experimental.Trace('part'):\n"
        "    with tf.GradientTape() as tape:\n"
        "        x = tf.Variable(1.0)\n"
        "        y = tf.exp(x)\n"
        "    tape.memory()\n"
        "    tape.gradient(y, x)\n"
        "tf.config.experimental.get_memory_info('CPU:0')\n"
        "print('jax' in sys.modules, [section.name for section in p.sections])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=120
    )
    assert done.stdout == "False ['part']\n", done.stderr
