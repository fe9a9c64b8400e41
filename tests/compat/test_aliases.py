"""Modules under other names."""

import importlib
import sys

import pytest

import gradtape
from gradtape.compat.aliases import AliasFinder


@pytest.fixture
def other(monkeypatch):
    """gradtape as a module of another name, until the test is over."""
    monkeypatch.setattr(sys, "meta_path", [AliasFinder("another_name", "gradtape"), *sys.meta_path])
    yield "another_name"
    for name in [name for name in sys.modules if name.partition(".")[0] == "another_name"]:
        del sys.modules[name]


def test_a_module_is_the_same_and_not_a_second_one(other):
    assert importlib.import_module(other) is gradtape
    assert importlib.import_module(f"{other}.errors") is gradtape.errors
    assert importlib.import_module(f"{other}.compat.v2.errors") is gradtape.errors
    with pytest.raises(ModuleNotFoundError, match=f"No module named '{other}.nonsense'"):
        importlib.import_module(f"{other}.nonsense")
    with pytest.raises(ModuleNotFoundError, match=r"gradtape has no tf\.lite"):
        importlib.import_module(f"{other}.lite")


def test_v2_has_no_second_copies():
    import gradtape.compat.v2.errors as again

    assert again is gradtape.errors
