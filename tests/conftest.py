"""What every test gets: a check that it left nothing recording, and `--all` for what is marked slow, or left out of a sample."""

from __future__ import annotations

from zlib import crc32

import pytest

from gradtape.core.thread import here


def pytest_addoption(parser):
    parser.addoption(
        "--all", action="store_true", help="also run the tests that are marked slow, and all cases of those that are sampled"
    )


def pytest_collection_modifyitems(config, items):
    if config.getoption("--all"):
        return
    kept = sample([item for item in items if not item.get_closest_marker("slow")])
    chosen = set(kept)
    later = [item for item in items if item not in chosen]
    if later:
        config.hook.pytest_deselected(items=later)
        items[:] = kept


def sample(items):
    """Of the cases of each test that is marked `sampled(n)` about one of n, always the same ones, and at least one."""
    chosen, first = set(), {}
    for item in items:
        marker = item.get_closest_marker("sampled")
        if marker is None:
            chosen.add(item)
        elif crc32(item.name.encode()) % marker.args[0] == 0:
            chosen.add(item)
            first[item.function] = item
        else:
            first.setdefault(item.function, item)
    chosen.update(first.values())
    return [item for item in items if item in chosen]


@pytest.fixture(autouse=True)
def nothing_left_recording():
    """Fails a test that leaves a tape, an accumulator or a vmap running, and stops it for the tests that follow."""
    yield
    left = here.state.recorders + here.state.levels
    if left:
        here.state.set_recorders(())
        here.state.levels = ()
        pytest.fail(f"this test left {len(left)} recording: {', '.join(type(recorder).__name__ for recorder in left)}")
