"""The operators that converted code calls; malt knows them as `ag__`."""

from __future__ import annotations

import sys

from malt.core.converter import STANDARD_OPTIONS as STD
from malt.core.converter import ConversionOptions

from gradtape.functions.autograph.blocks import list_append
from gradtape.functions.autograph.branches import if_exp, if_stmt
from gradtape.functions.autograph.calls import (
    FunctionScope,
    autograph_artifact,
    converted_call,
    with_function_scope,
)
from gradtape.functions.autograph.loops import for_stmt, while_stmt
from gradtape.functions.autograph.truth import and_, assert_stmt, not_, or_
from gradtape.functions.autograph.values import Undefined, UndefinedReturnValue, ld, ldu

__all__ = [
    "STD",
    "ConversionOptions",
    "FunctionScope",
    "Undefined",
    "UndefinedReturnValue",
    "and_",
    "assert_stmt",
    "autograph_artifact",
    "caught_exception",
    "converted_call",
    "for_stmt",
    "if_exp",
    "if_stmt",
    "ld",
    "ldu",
    "list_append",
    "not_",
    "or_",
    "while_stmt",
    "with_function_scope",
]


def caught_exception() -> BaseException | None:
    """The exception that the calling `except` block has caught."""
    return sys.exc_info()[1]
