"""SciPy is loaded when something first needs it: eager ops, and JAX as it compiles linear algebra,
on a thread of its own. Two threads that load it at once do not stand in each other's way, though
Python refuses to load a module of a package that another thread is loading.
"""

import subprocess
import sys

import pytest

PROGRAM = """
import importlib.machinery, sys, threading, time
import numpy as np
import gradtape as tf

tf.config.set_wait_for_compilation(True)
x = tf.constant(np.eye(200) + 0.1)


def solves():
    tf.linalg.triangular_solve(tf.linalg.cholesky(x), x)


def factors():
    tf.linalg.lu(x)


def compiles():
    tf.function(lambda a: tf.linalg.cholesky(a), autograph=False)(x)


def slow(load):
    # Lets the second thread begin when the first loads `module`, and the first go on when the
    # second has met a module of the package, or is done.

    def loaded(self, found):
        if not found.__name__.startswith("scipy.linalg"):
            return load(self, found)
        if threading.current_thread() is threads[1]:
            met.append(found.__name__)
        elif found.__name__ == "scipy.linalg." + module:
            begun.set()
            while not met:
                if threads[1].ident in importlib._bootstrap._blocking_on:
                    met.append("what the first one loads")
                time.sleep(0.001)
            time.sleep(0.1)
        return load(self, found)

    return loaded


def run(work, begin):
    begin.wait()
    try:
        work()
    except Exception as error:
        errors.append(repr(error))
    met.append("nothing more")
    begun.set()  # where this SciPy has no such module


first, second, module = sys.argv[1:]
tf.function(lambda a: a + 1.0)(tf.constant(1.0))
assert "scipy.linalg" not in sys.modules
begun, now, errors, met = threading.Event(), threading.Event(), [], []
now.set()
threads = [
    threading.Thread(target=run, args=(globals()[first], now)),
    threading.Thread(target=run, args=(globals()[second], begun)),
]
for loader in (importlib.machinery.SourceFileLoader, importlib.machinery.ExtensionFileLoader):
    loader.exec_module = slow(loader.exec_module)
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(errors)
"""

PAIRS = [
    ("solves", "compiles"),
    ("compiles", "solves"),
    ("factors", "compiles"),
    ("compiles", "factors"),
    ("solves", "factors"),
    ("factors", "solves"),
]
MODULES = ["_misc", "blas", "_flapack", "cython_blas", "cython_lapack", "_basic", "_decomp_update"]


@pytest.mark.sampled(6)
@pytest.mark.parametrize("module", MODULES)
@pytest.mark.parametrize(("first", "second"), PAIRS)
def test_two_threads_that_load_it_at_once(first, second, module):
    command = [sys.executable, "-c", PROGRAM, first, second, module]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.stdout.strip() == "[]", done.stdout + done.stderr
