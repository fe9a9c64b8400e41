"""One browser for all tests of the page."""

import pytest

from tools.chromium import Chromium, missing


@pytest.fixture(scope="session")
def chromium():
    name = missing()
    if name is not None:
        pytest.fail(f"{name} is not installed. On Debian: apt-get install chromium chromium-driver")
    found = Chromium()
    yield found
    found.close()


@pytest.fixture
def browser(chromium):
    """The browser; a page that complains in its console fails the test."""
    yield chromium
    assert chromium.console() == []
