"""A process that is killed while it saves leaves the last good checkpoint; training that goes on
from one gives the same numbers.
"""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import gradtape as tf
import gradtape.train
from gradtape.api.tensorflow.checkpoint import atomic_file, tensor_file

PROGRAM = """
import sys
import numpy as np
import gradtape as tf
import gradtape.train

folder, death = sys.argv[1], int(sys.argv[2])
a, b = tf.Variable(np.zeros(200_000)), tf.Variable(np.zeros(3))
manager = tf.train.CheckpointManager(tf.train.Checkpoint(a=a, b=b), folder, max_to_keep=2)
manager.restore_or_initialize()
if death >= 0:
    import os, signal
    from gradtape.api.tensorflow.checkpoint import atomic_file
    calls = 0
    def deadly(function):
        def call(*args, **options):
            global calls
            if calls == death:
                os.kill(os.getpid(), signal.SIGKILL)
            calls += 1
            return function(*args, **options)
        return call
    a.assign_add(np.ones(200_000)), b.assign_add(np.ones(3)), manager.save(), manager.save()
    atomic_file.os.fsync, atomic_file.os.replace = deadly(os.fsync), deadly(os.replace)
    atomic_file._remove = deadly(atomic_file._remove)
    atomic_file.Path.unlink = deadly(atomic_file.Path.unlink)
    a.assign_add(np.ones(200_000)), b.assign_add(np.ones(3)), manager.save()
    sys.exit("not killed")
while True:
    a.assign_add(np.ones(200_000))
    b.assign_add(np.ones(3))
    manager.save()
    print(int(b.numpy()[0]), flush=True)
"""


def start(folder, death=-1):
    return subprocess.Popen(
        [sys.executable, "-c", PROGRAM, str(folder), str(death)],
        env=os.environ
        | {"PYTHONPATH": str(Path(tf.__file__).parent.parent), "OPENBLAS_NUM_THREADS": "1"},
        stdout=subprocess.PIPE,
        text=True,
    )


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def restored(folder):
    """The number that both variables of the latest checkpoint hold."""
    a, b = tf.Variable(np.full(200_000, -1.0)), tf.Variable(np.full(3, -1.0))
    tf.train.Checkpoint(a=a, b=b).restore(tf.train.latest_checkpoint(folder)).assert_consumed()
    (number,) = {*a.numpy().tolist(), *b.numpy().tolist()}
    return number


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs SIGKILL")
def test_a_process_killed_at_any_moment_leaves_a_good_checkpoint(tmp_path):
    moments = random.Random(0)
    reached = 0
    for _ in range(5):
        process = start(tmp_path)
        # It goes on where the one before was killed.
        assert int(process.stdout.readline()) == reached + 1
        time.sleep(moments.uniform(0.0, 0.2))
        process.kill()
        printed = [reached + 1, *(int(line) for line in process.stdout.read().splitlines())]
        process.wait()
        process.stdout.close()
        reached = restored(tmp_path)
        # The last save may have ended without being printed.
        assert reached in (printed[-1], printed[-1] + 1)
    assert reached >= 5


# Of a save: the file to disk, in its place, its temporary folder away, the folder to disk; the same
# for the state; the oldest deleted.
STEPS = [
    "sync",
    "replace",
    "clean",
    "sync folder",
    "sync state",
    "replace state",
    "clean state",
    "sync folder again",
    "delete",
]


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs SIGKILL")
@pytest.mark.parametrize("death", range(len(STEPS)), ids=STEPS)
def test_a_process_killed_before_each_step_leaves_a_good_checkpoint(tmp_path, death):
    process = start(tmp_path, death)
    process.communicate()
    assert process.returncode == -signal.SIGKILL
    assert restored(tmp_path) == (2 if death > STEPS.index("replace state") else 1)


class BoomError(Exception):
    pass


@pytest.mark.parametrize("step", ["write", "sync", "replace", "state"])
def test_an_error_while_saving_changes_nothing(tmp_path, monkeypatch, step):
    v = tf.Variable(1.0)
    manager = tf.train.CheckpointManager(tf.train.Checkpoint(v=v), tmp_path, max_to_keep=1)
    path = manager.save()
    before = names(tmp_path)

    def fail(*_args, **_options):
        raise BoomError

    v.assign(2.0)
    with monkeypatch.context() as broken:
        if step == "write":
            broken.setattr("safetensors.numpy.save_file", fail)
        elif step == "state":
            broken.setattr("gradtape.api.tensorflow.checkpoint.manager.write_state", fail)
        else:
            broken.setattr(atomic_file.os, {"sync": "fsync", "replace": "replace"}[step], fail)
        with pytest.raises(BoomError):
            manager.save()
    assert names(tmp_path) == ([*before, "ckpt-2.safetensors"] if step == "state" else before)
    assert manager.latest_checkpoint == path
    assert manager.checkpoints == [path]
    assert manager.save() == str(tmp_path / "ckpt-2")
    assert names(tmp_path) == ["checkpoint", "ckpt-2.safetensors"]


def test_a_full_disk_is_an_error_of_the_system(tmp_path, monkeypatch):
    from safetensors import SafetensorError

    def fail(*_args, **_options):
        raise SafetensorError("No space left on device")

    monkeypatch.setattr("safetensors.numpy.save_file", fail)
    with pytest.raises(OSError, match=r"model' could not be written: No space left"):
        tf.train.Checkpoint(v=tf.Variable(1.0)).write(tmp_path / "model")
    assert names(tmp_path) == []


def test_a_checkpoint_is_on_the_disk_before_it_is_in_its_place(tmp_path, monkeypatch):
    done = []
    for name in ("fsync", "replace"):
        original = getattr(os, name)
        monkeypatch.setattr(
            atomic_file.os,
            name,
            lambda *args, name=name, original=original: (done.append(name), original(*args)),
        )
    tensor_file.write_tensors(tmp_path / "model", [], {}, 0)
    assert done == ["fsync", "replace", *(["fsync"] if os.name != "nt" else [])]


# Training that goes on

TRAINING = """
import sys
import numpy as np
import gradtape as tf
import gradtape.train

folder, first, last, compiled = sys.argv[1], *map(int, sys.argv[2:])
rng = tf.random.Generator.from_seed(0)
w = tf.Variable(np.linspace(-1, 1, 12, dtype=np.float32).reshape(4, 3))
b = tf.Variable(tf.zeros([3]))
velocities = {"w": tf.Variable(tf.zeros([4, 3])), "b": tf.Variable(tf.zeros([3]))}
step = tf.Variable(0)
checkpoint = tf.train.Checkpoint(w=w, b=b, velocities=velocities, rng=rng, step=step)
if first:
    checkpoint.restore(tf.train.latest_checkpoint(folder)).assert_consumed()
assert int(step) == first

def train():
    x = rng.normal([8, 4])
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(tf.tanh(x @ w + b) - 0.3))
    gradients = tape.gradient(loss, (w, b))
    for variable, velocity, gradient in zip((w, b), (velocities["w"], velocities["b"]), gradients):
        velocity.assign(0.9 * velocity + gradient)
        variable.assign_sub(0.1 * velocity)
    step.assign_add(1)

if compiled:
    train = tf.function(train)
while int(step) < last:
    train()
checkpoint.save(folder + "/ckpt")
of_velocities = [v.numpy().tobytes().hex() for v in velocities.values()]
print(w.numpy().tobytes().hex(), b.numpy().tobytes().hex(), of_velocities)
"""


@pytest.mark.parametrize(
    "compiled", [0, pytest.param(1, marks=pytest.mark.slow)], ids=["eager", "compiled"]
)
def test_training_goes_on_bit_for_bit(tmp_path, compiled):
    def train(folder, first, last):
        done = subprocess.run(
            [sys.executable, "-c", TRAINING, str(folder), str(first), str(last), str(compiled)],
            env=os.environ
            | {"PYTHONPATH": str(Path(tf.__file__).parent.parent), "OPENBLAS_NUM_THREADS": "1"},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    whole = train(tmp_path / "whole", 0, 10)
    halfway = train(tmp_path / "parts", 0, 5)
    assert train(tmp_path / "parts", 5, 10) == whole != halfway
