"""What every test gets: a check that it left nothing recording,
and options that say how many of the tests run.

`--all` runs what is marked slow or left out of a sample, `--part n` one of n tests, but all that
are marked `devices`, and `--beside` lets XLA compile functions while their calls run on NumPy,
where tests otherwise wait for it.
"""

from __future__ import annotations

import gc
import sys
from zlib import crc32

import pytest

from gradtape.core import observers
from gradtape.core.buffered import relying
from gradtape.core.scopes import NOWHERE
from gradtape.core.settings import settings
from gradtape.core.thread import here


def pytest_addoption(parser):
    parser.addoption(
        "--all",
        action="store_true",
        help="also run the tests that are marked slow, and all cases of those that are sampled",
    )
    parser.addoption(
        "--part",
        type=int,
        default=1,
        metavar="N",
        help="run one of N tests, always the same ones, and all that are marked devices",
    )
    parser.addoption(
        "--beside",
        action="store_true",
        help="let XLA compile beside the calls of functions, as it does by default for users",
    )


def pytest_configure(config):
    settings.wait_for_compilation = not config.getoption("--beside")


def pytest_collection_modifyitems(config, items):
    kept = items
    if not config.getoption("--all"):
        kept = sample([item for item in items if not item.get_closest_marker("slow")])
    count = config.getoption("--part")
    kept = [
        item
        for item in kept
        if item.get_closest_marker("devices") or crc32(item.nodeid.encode()) % count == 0
    ]
    chosen = set(kept)
    later = [item for item in items if item not in chosen]
    if later:
        config.hook.pytest_deselected(items=later)
        items[:] = kept


def pytest_collection_finish(session):
    """Tests are many thousand objects that stay: `gc.collect()`, which many tests call,
    need not look at them again.
    """
    gc.collect()
    gc.freeze()


def sample(items):
    """Of the cases of each test that is marked `sampled(n)` about one of n,
    always the same ones, and at least one.
    """
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
def waits_for_xla(request):
    """Where a test is marked so: it begins when no program of an earlier test is being compiled."""
    before = settings.wait_for_compilation
    if request.node.get_closest_marker("waits"):
        settings.wait_for_compilation = True
        beside = sys.modules.get("gradtape.functions.beside")
        if beside is not None:
            beside._turns.wait()
    yield
    settings.wait_for_compilation = before


@pytest.fixture(autouse=True)
def nothing_left_recording():
    """Fails a test that leaves a tape, an accumulator, a vmap or a profile running, a Node in no
    recording, or a name scope of Keras open, and ends that for the tests that follow.
    """
    yield
    scopes = open_scopes_of_keras()
    names = [scope.name for scope in scopes]
    scopes.clear()
    left = (*here.state.recorders, *here.state.levels, *here.state.observers, *relying)
    misplaced = list(NOWHERE.nodes)
    NOWHERE.nodes.clear()
    if left:
        here.state.set_recorders(())
        here.state.levels = ()
        for observer in here.state.observers:
            observers.end(observer)
        relying.clear()
        pytest.fail(
            f"this test left {len(left)} recording: "
            f"{', '.join(type(recorder).__name__ for recorder in left)}"
        )
    if names:
        pytest.fail(f"this test left name scopes of Keras open: {names}")
    if misplaced:
        pytest.fail(f"this test recorded what no tape follows, which is kept for ever: {misplaced}")


def open_scopes_of_keras():
    """Those of this thread, in which the names of layers and Variables would begin."""
    state = sys.modules.get("keras.src.backend.common.global_state")
    return (state and state.get_global_attribute("name_scope_stack")) or []
