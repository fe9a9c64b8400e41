"""What every test gets: a check that it left nothing recording, and `--all` for the tests that are marked slow."""

from __future__ import annotations

import pytest

from gradtape.core.scope import here


def pytest_addoption(parser):
    parser.addoption("--all", action="store_true", help="also run the tests that are marked slow")


def pytest_collection_modifyitems(config, items):
    if config.getoption("--all"):
        return
    slow = [item for item in items if item.get_closest_marker("slow")]
    if slow:
        config.hook.pytest_deselected(items=slow)
        items[:] = [item for item in items if not item.get_closest_marker("slow")]


@pytest.fixture(autouse=True)
def nothing_left_recording():
    """Fails a test that leaves a tape, an accumulator or a vmap running, and stops it for the tests that follow."""
    yield
    left = here.state.recorders + here.state.levels
    if left:
        here.state.set_recorders(())
        here.state.levels = ()
        pytest.fail(f"this test left {len(left)} recording: {', '.join(type(recorder).__name__ for recorder in left)}")
