"""What is free, on a machine and in a container."""

from gradtape.engines.numpy import free_memory
from gradtape.engines.numpy.free_memory import free_bytes


def test_what_is_free_is_a_plain_number():
    assert 0 < free_bytes() < 2**50


def test_a_container_may_have_less(tmp_path):
    assert free_memory._free_in_container(str(tmp_path)) == 2**62
    (tmp_path / "memory.current").write_text("300\n")
    (tmp_path / "memory.max").write_text("max\n")
    assert free_memory._free_in_container(str(tmp_path)) == 2**62
    (tmp_path / "memory.max").write_text("1000\n")
    assert free_memory._free_in_container(str(tmp_path)) == 700
