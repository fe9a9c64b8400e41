"""`python -m gradtape launch`: output, exit status, signals, and what follows if a worker dies."""

import json
import signal
import subprocess
import sys
import time

import pytest

from gradtape.distribute.launching import environment, free_ports, launch
from tests import many_processes
from tests.many_processes import launched


@pytest.fixture
def script(tmp_path):
    def write(text):
        path = tmp_path / "script.py"
        begin = "import os, signal, sys, time\n"
        path.write_text(f"{begin}number = os.environ['KERAS_DISTRIBUTION_PROCESS_ID']\n{text}\n")
        return str(path)

    return write


def test_lines_say_whose_they_are(script):
    path = script(
        "print('out', number, sys.argv[1:])\nprint('é\\r', file=sys.stderr)\n"
        "print('without an end', end='')"
    )
    done = launched(2, path, "-n", "x")
    assert done.returncode == 0
    expected = [f"[{i}] out {i} ['-n', 'x']" for i in range(2)]
    expected += [f"[{i}] without an end" for i in range(2)]
    assert sorted(done.stdout.splitlines()) == sorted(expected)
    assert sorted(done.stderr.splitlines()) == ["[0] é", "[1] é"]


def test_when_a_worker_fails_the_others_end(script):
    path = script("if number == '1':\n    sys.exit(3)\ntime.sleep(600)")
    done = launched(3, "--grace", "20", path, timeout=120)
    assert done.returncode == 3
    assert "worker 1 of 3 ended with exit status 3: the others are ended." in done.stderr


def test_a_worker_that_is_killed_is_named_and_those_that_ignore_the_end_are_killed(script):
    path = script(
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\nif number == '0':\n"
        "    time.sleep(1)\n    os.kill(os.getpid(), signal.SIGKILL)\ntime.sleep(600)"
    )
    done = launched(2, "--grace", "0.5", path, timeout=120)
    assert done.returncode == 128 + signal.SIGKILL
    assert "worker 0 of 2 was killed by SIGKILL: the others are ended." in done.stderr
    assert "worker 1 did not end within 0.5 seconds: killed." in done.stderr


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signals_are_passed_on(script, number):
    path = script(
        "def stop(number, _):\n    print('told', number)\n    sys.exit(0)\n"
        "for one in (signal.SIGINT, signal.SIGTERM):\n    signal.signal(one, stop)\n"
        "print('ready')\ntime.sleep(600)"
    )
    started = subprocess.Popen(
        [sys.executable, "-m", "gradtape", "launch", "-n", "2", path],
        env=many_processes.environment(),
        stdout=subprocess.PIPE,
        text=True,
    )
    lines = [started.stdout.readline() for _ in range(2)]
    assert sorted(lines) == ["[0] ready\n", "[1] ready\n"]
    time.sleep(0.1)
    started.send_signal(number)
    rest, _ = started.communicate(timeout=60)
    told = [f"[{i}] told {int(number)}" for i in range(2)]
    assert sorted(rest.splitlines()) == told
    assert started.returncode == 128 + number


def test_the_environment_says_where_the_others_are():
    ports = free_ports(3)
    assert len(set(ports)) == 3
    given = environment({"XLA_FLAGS": "--xla_a=1", "OPENBLAS_NUM_THREADS": "7"}, 2, ports, 4)
    assert given["KERAS_DISTRIBUTION_JOB_ADDRESSES"] == f"localhost:{ports[0]}"
    assert given["KERAS_DISTRIBUTION_NUM_PROCESSES"] == "3"
    assert given["KERAS_DISTRIBUTION_PROCESS_ID"] == "2"
    assert json.loads(given["TF_CONFIG"])["task"] == {"type": "worker", "index": 2}
    assert given["OPENBLAS_NUM_THREADS"] == "7"
    assert given["XLA_FLAGS"] == "--xla_a=1 --xla_force_host_platform_device_count=4"
    assert "XLA_FLAGS" not in environment({}, 0, ports, None)


@pytest.mark.parametrize(
    "arguments", [["script.py"], ["-n", "0", "script.py"], ["-n", "2"], ["-n", "x", "script.py"]]
)
def test_a_command_line_without_sense(arguments, capsys):
    with pytest.raises(SystemExit) as raised:
        launch(arguments)
    assert raised.value.code == 2
    assert "usage: python -m gradtape launch -n N" in capsys.readouterr().err


@pytest.mark.slow
def test_a_worker_that_is_killed_in_a_collective_ends_all(script):
    path = script(
        "import gradtape as tf, numpy as np\n"
        "strategy = tf.distribute.MultiWorkerMirroredStrategy()\n"
        "with strategy.scope():\n    v = tf.Variable(0.0)\n"
        "context = tf.distribute.get_replica_context\n"
        "step = lambda: v.assign_add(context().all_reduce('sum', 1.0))\n"
        "run = tf.function(lambda: strategy.run(step))\n"
        "for i in range(10**9):\n    run()\n"
        "    if i == 50 and number == '2':\n        os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    begin = time.monotonic()
    done = launched(4, "--devices", "1", "--grace", "5", path, timeout=240)
    assert done.returncode != 0
    assert "worker 2 of 4 was killed by SIGKILL" in done.stderr
    assert time.monotonic() - begin < 180
