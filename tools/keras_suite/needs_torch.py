"""Stands for PyTorch in Keras's tests where it is not installed: a test that uses it is skipped,
and the other tests of its file run.
"""

import pytest


class Unavailable:
    """Stands for a class of PyTorch's that a file of tests imports by name."""

    def __init__(self, *args, **kwargs):
        pytest.skip("needs PyTorch, which is not installed")


def __getattr__(name):
    # What pytest asks every module of tests and everything in it for.
    if name.startswith(("_", "pytest")):
        raise AttributeError(name)
    pytest.skip(f"torch.{name} needs PyTorch, which is not installed")
