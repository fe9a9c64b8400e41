"""What the XLA engine has besides kernels: `ops/test_engines.py` compares those with NumPy's."""

import gc
import sys
from pathlib import Path

import numpy as np
import pytest

from gradtape.engines.xla import engine as xla_engine


def resident() -> int:
    """The bytes of memory that this process takes."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


@pytest.mark.devices
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_placeholders_take_no_memory():
    xla_engine.placeholder((1,), np.float32)
    gc.collect()
    before = resident()
    made = xla_engine.placeholder((2**28,), np.float32)
    assert made.nbytes == 2**30
    assert resident() - before < 2**28
