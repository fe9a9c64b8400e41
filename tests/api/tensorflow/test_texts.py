"""`tf.compat`'s conversions."""

from pathlib import Path

import pytest

from gradtape import compat


def test_texts_and_bytes():
    assert compat.as_bytes("ä") == "ä".encode()
    assert compat.as_bytes(bytearray(b"x")) == b"x"
    assert compat.as_text("ä".encode("latin-1"), "latin-1") == "ä"
    assert compat.as_str("x") == "x"
    assert compat.as_str_any(None) == "None"
    assert compat.path_to_str(Path("a") / "b") == str(Path("a/b"))
    assert compat.path_to_str("a") == "a"
    for wrong in (compat.as_bytes, compat.as_text):
        with pytest.raises(TypeError, match="got 1"):
            wrong(1)


def test_dimensions_dates_and_types():
    assert compat.dimension_value(None) is None
    assert compat.dimension_value(3) == 3
    assert not compat.forward_compatible(9000, 1, 1)
    assert isinstance(1, compat.integral_types)
    assert not isinstance(1.0, compat.integral_types)
    assert isinstance(1.0, compat.real_types)
    assert isinstance(1j, compat.complex_types)
    assert isinstance("x", compat.bytes_or_text_types)
