"""A pytest plugin that runs Keras's own tests on gradtape; suite.py says how.

It installs the backend before Keras is imported, and leaves out the tests that excluded_tests.txt
names, each for the reason given there. Where tests have code for TensorFlow and for JAX by name,
they get a branch for gradtape (named_branches.py). With KERAS_BACKEND=jax it does none of this, and
the same tests run on Keras's own backend, to compare with; only a PyTorch that is not installed is
made up for there too.
"""

import os
import sys
from functools import cache
from pathlib import Path

import named_branches
import pytest

BACKEND = os.environ.setdefault("KERAS_BACKEND", "gradtape")
if BACKEND == "gradtape":
    import keras_gradtape

    keras_gradtape.install()


def skip_if_backend(given_backend, reason):
    """What some of the tests import from a conftest.py of Keras's that is not installed with it."""
    return pytest.mark.skipif(given_backend == BACKEND, reason=reason)


sys.modules.setdefault("conftest", sys.modules[__name__])

_EXCLUDED = Path(__file__).with_name("excluded_tests.txt")


def pytest_configure(config):
    named_branches.install(BACKEND)


def pytest_ignore_collect(collection_path):
    """Leaves out whole files: their names end in .py."""
    return (
        True
        if collection_path.as_posix().endswith(
            tuple(name for name in _excluded() if name.endswith(".py"))
        )
        else None
    )


def pytest_collection_modifyitems(items):
    excluded = _excluded()
    for item in items:
        for node in item.listchain() if BACKEND == "gradtape" else ():
            node.own_markers[:] = [mark for mark in node.own_markers if not _is_ours_too(mark)]
        for name, reason in excluded.items():
            if item.nodeid.endswith(name[:-1]) if name.endswith("$") else name in item.nodeid:
                item.add_marker(pytest.mark.skip(reason=f"gradtape: {reason}"))


def _is_ours_too(mark):
    """Whether a mark leaves tests to JAX that this backend is to pass too."""
    return mark.name == "skipif" and str(mark.kwargs.get("reason")).startswith("Only JAX has the")


@cache
def _excluded():
    """The reasons by part of a test's name.

    A line is `part of the name: reason`, or `end of the name$: reason`; a line that begins with #
    is a remark.
    """
    lines = [line.strip() for line in _EXCLUDED.read_text(encoding="utf-8").splitlines()]
    pairs = [line.split(": ", 1) for line in lines if line and not line.startswith("#")]
    found = {name.strip(): reason.strip() for name, reason in pairs}
    return (
        found
        if BACKEND == "gradtape"
        else {name: reason for name, reason in found.items() if name.endswith(".py")}
    )
