"""The chain of an error, and messages that come a few times for each line."""

from gradtape.core.messages import chain_of, first_times


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
