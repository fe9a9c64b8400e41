"""Whether freed memory serves the next arrays: told by how many pages the system had to hand out
again.
"""

import os
import platform
import subprocess
import sys

import pytest

from gradtape.engines.numpy import allocator

CODE = """
import importlib.util, resource, sys
import numpy as np

path = sys.argv[2]  # the module alone: gradtape itself asks for this when it is imported
spec = importlib.util.spec_from_file_location("allocator", path)
allocator = importlib.util.module_from_spec(spec)
spec.loader.exec_module(allocator)
keep_freed_memory = allocator.keep_freed_memory

def step():
    return len([np.ones(200_000, np.float32) for _ in range(20)])

kept = keep_freed_memory() if sys.argv[1] == "keep" else False
step(), step()
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
step()
print(kept, resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


def outcome(mode, **environment):
    """What `keep_freed_memory` said, and how many pages a step took that frees as much as it
    needs.
    """
    clean = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("MALLOC_", "GLIBC_TUNABLES"))
    }
    command = [sys.executable, "-c", CODE, mode, allocator.__file__]
    done = subprocess.run(
        command, capture_output=True, text=True, check=True, env=clean | environment
    )
    kept, pages = done.stdout.split()
    return kept == "True", int(pages)


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="a setting of glibc")
def test_freed_memory_is_used_again():
    assert outcome("leave")[1] > 1000
    kept, pages = outcome("keep")
    assert kept
    assert pages < 100


def test_settings_of_the_environment_stay():
    assert outcome("keep", MALLOC_TRIM_THRESHOLD_="131072")[0] is False


RETAINED = """
import sys, threading
import numpy as np
import gradtape as tf

def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096

x = tf.Variable(np.ones(2**18, np.float32))

def record(ops, differentiate=True):
    with tf.GradientTape() as tape:
        y = x * 1.0
        for _ in range(ops):
            y = tf.tanh(y)
    if differentiate:
        tape.gradient(y, x)

def arrays():
    return len([np.ones(2**18, np.float32) for _ in range(400)])

def some_arrays():
    return len([np.ones(2**18, np.float32) for _ in range(100)])

def arrays_and_an_op():
    tf.tanh(x)
    some_arrays()

def in_threads(target, *args):
    threads = [threading.Thread(target=target, args=args) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

record(3)
before = resident()
{
    "arrays": arrays,
    "recording": lambda: record(1000),
    "no gradient": lambda: record(1000, False),
    "threads": lambda: in_threads(record, 150),
    "arrays in threads": lambda: in_threads(arrays_and_an_op),
    "threads without gradtape": lambda: in_threads(some_arrays),
    "threads again and again": lambda: [in_threads(some_arrays) for _ in range(3)],
}[sys.argv[1]]()
print(resident() - before)
"""


WHAT = [
    "arrays",
    "recording",
    "no gradient",
    "threads",
    "arrays in threads",
    "threads without gradtape",
    "threads again and again",
]


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="a setting of glibc")
@pytest.mark.parametrize("what", WHAT)
def test_what_is_retained_is_bounded(what):
    clean = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("MALLOC_", "GLIBC_TUNABLES", "GRADTAPE_"))
    }
    command = [sys.executable, "-c", RETAINED, what]
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        check=True,
        env=clean | {"OPENBLAS_NUM_THREADS": "1"},
    )
    assert int(done.stdout) < 128 * 2**20


PROGRAM = """
import ctypes, resource, sys
import gradtape as tf
from gradtape.engines.numpy import allocator

@tf.function
def many(x, w):
    with tf.GradientTape() as tape:
        tape.watch(w)
        y = x
        for _ in range(8):
            y = tf.tanh(y @ w)
    return tape.gradient(y, w)

tf.config.set_wait_for_compilation(sys.argv[1] == "wait")
x, w = tf.ones((10_000, 256)), tf.ones((256, 256))
many(x, w).numpy()
tf.config.set_wait_for_compilation(True)

def pages():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    many(x, w).numpy()
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

print(min(pages() for _ in range(12)), allocator._room, ctypes.CDLL(None).mallopt(-3, 2**26))
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="a setting of glibc")
@pytest.mark.parametrize("when", ["wait", "beside"])
@pytest.mark.parametrize("switch", ["", "default"])
def test_a_large_program_keeps_its_memory(when, switch):
    clean = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("MALLOC_", "GLIBC_TUNABLES", "GRADTAPE_"))
    }
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, when],
        capture_output=True,
        text=True,
        check=True,
        env=clean | {"GRADTAPE_MALLOC": switch},
    )
    pages, room, is_allowed = map(int, done.stdout.split())
    if switch:
        assert room == 0
        assert pages > 8000
    else:
        assert room > 2**25
        assert pages < 1000 or not is_allowed


def test_the_switch_leaves_malloc_alone():
    kept, pages = outcome("keep", GRADTAPE_MALLOC="default")
    assert kept is False
    assert pages > 100 or platform.libc_ver()[0] != "glibc"
