"""The examples of what needs PyTorch, which `make test` does not collect: in docstrings, and on the
page.
"""

import doctest
import importlib

import pytest

from tests.test_readme import WITH_PYTORCH, examples, run

MODULES = ["as_torch", "torch_functions", "torch_variables"]


@pytest.mark.parametrize("name", MODULES)
def test_examples(name):
    module = importlib.import_module(f"gradtape.bridge.{name}")
    found = doctest.testmod(module, optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    assert found.attempted > 0
    assert found.failed == 0


def test_the_page():
    assert len(examples(WITH_PYTORCH.read_text("utf-8"))) == 2
    run(WITH_PYTORCH)
