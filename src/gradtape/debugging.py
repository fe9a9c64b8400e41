"""`tf.debugging`: assertions about values, shapes and dtypes,
and the search for NaN and infinity.
"""

# Written by `make names`: the decorators at the definitions say what is public.

import typing as _typing

from gradtape.api.tensorflow.debugging.assertions import (
    assert_integer,
    assert_proper_iterable,
    assert_rank_at_least,
    assert_rank_in,
    assert_same_float_dtype,
    assert_scalar,
    assert_shapes,
    assert_type,
    disable_traceback_filtering,
    enable_traceback_filtering,
    is_numeric_tensor,
    is_traceback_filtering_enabled,
)
from gradtape.api.tensorflow.debugging.check_numerics import (
    disable_check_numerics,
    enable_check_numerics,
)
from gradtape.api.tensorflow.debugging.device_placement import (
    get_log_device_placement,
    set_log_device_placement,
)
from gradtape.api.tensorflow.debugging.nonfinite import why_nonfinite
from gradtape.api.tensorflow.debugging.printing import (
    Assert,
    assert_all_finite,
    assert_equal,
    assert_greater,
    assert_greater_equal,
    assert_less,
    assert_less_equal,
    assert_near,
    assert_negative,
    assert_non_negative,
    assert_non_positive,
    assert_none_equal,
    assert_positive,
    assert_rank,
    check_numerics,
)
from gradtape.inspect.explanation import Cause, Explanation, Reason
from gradtape.inspect.hints import disable_hints, enable_hints
from gradtape.inspect.nonfinite import NonFinite

if not _typing.TYPE_CHECKING:  # a type checker would take any name to be there
    from gradtape.absent import absent_from as _absent_from

    __getattr__ = _absent_from(__name__)

__all__ = [
    "Assert", "Cause", "Explanation", "NonFinite", "Reason", "assert_all_finite", "assert_equal",
    "assert_greater", "assert_greater_equal", "assert_integer", "assert_less", "assert_less_equal",
    "assert_near", "assert_negative", "assert_non_negative", "assert_non_positive",
    "assert_none_equal", "assert_positive", "assert_proper_iterable", "assert_rank",
    "assert_rank_at_least", "assert_rank_in", "assert_same_float_dtype", "assert_scalar",
    "assert_shapes", "assert_type", "check_numerics", "disable_check_numerics", "disable_hints",
    "disable_traceback_filtering", "enable_check_numerics", "enable_hints",
    "enable_traceback_filtering", "get_log_device_placement", "is_numeric_tensor",
    "is_traceback_filtering_enabled", "set_log_device_placement", "why_nonfinite",
]  # fmt: skip
