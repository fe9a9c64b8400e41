"""Errors that are kept hold nothing of what their frames held;
messages come a few times for each line.
"""

import weakref

import pytest

from gradtape.core.messages import chain_of, first_times, to_keep


class Large:
    """Something of the user's that must not be kept."""


def failing(watched):
    local = Large()
    watched.append(weakref.ref(local))
    raise ValueError("deep down")


def failing_again(watched):
    try:
        failing(watched)
    except ValueError as error:
        local = Large()
        watched.append(weakref.ref(local))
        raise TypeError("above") from error


@pytest.mark.parametrize(("fail", "count"), [(failing, 1), (failing_again, 2)])
def test_an_error_that_is_kept_knows_its_lines_and_holds_nothing(fail, count):
    watched, kept = [], None
    try:
        fail(watched)
    except (ValueError, TypeError) as error:
        kept = to_keep(error)
    assert len(watched) == count
    assert [reference() for reference in watched] == [None] * count
    lines = []
    for error in chain_of(kept):
        step = error.__traceback__
        while step is not None:
            lines.append((step.tb_frame.f_code.co_name, step.tb_lineno))
            step = step.tb_next
    assert ("failing", failing.__code__.co_firstlineno + 3) in lines


def test_the_chain_of_an_error_has_each_once():
    first, second, third = ValueError("1"), ValueError("2"), ValueError("3")
    first.__cause__, first.__context__, second.__context__ = second, third, third
    third.__context__ = first  # a circle
    assert {id(error) for error in chain_of(first)} == {id(first), id(second), id(third)}
    assert len(list(chain_of(first))) == 3


def test_each_line_and_each_message_is_counted_by_itself():
    one = [first_times("test: one", limit=2) is not None for _ in range(4)]
    other = [first_times("test: one", limit=2) is not None for _ in range(4)]
    another = [
        (first_times("test: a", limit=1) is not None, first_times("test: b", limit=1) is not None)
        for _ in range(2)
    ]
    assert one == other == [True, True, False, False]
    assert another == [(True, True), (False, False)]
