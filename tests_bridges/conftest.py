"""As in tests/: nothing may be left recording."""

import pytest

from tests.conftest import nothing_left_recording

__all__ = ["nothing_left_recording"]


@pytest.fixture(autouse=True)
def _always_the_same_numbers():
    import torch

    torch.manual_seed(0)
