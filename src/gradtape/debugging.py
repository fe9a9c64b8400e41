"""`tf.debugging`: assertions about values."""

from gradtape.api.debugging import (
    Assert,
    assert_all_finite,
    assert_equal,
    assert_greater,
    assert_greater_equal,
    assert_less,
    assert_less_equal,
    assert_near,
    assert_non_negative,
    assert_none_equal,
    assert_positive,
    assert_rank,
    check_numerics,
)

__all__ = [
    "Assert",
    "assert_all_finite",
    "assert_equal",
    "assert_greater",
    "assert_greater_equal",
    "assert_less",
    "assert_less_equal",
    "assert_near",
    "assert_non_negative",
    "assert_none_equal",
    "assert_positive",
    "assert_rank",
    "check_numerics",
]
