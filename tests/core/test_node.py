"""A Node knows the user's line, its number and its parents, and lets go of what it keeps."""

import sys

import gradtape as tf
from gradtape.core.location import Location, locate


def line_before():
    return sys._getframe(1).f_lineno - 1


def test_the_location_is_the_users_line_whatever_lies_between():
    x = tf.Variable([1.0, 2.0])
    with tf.GradientTape() as tape:
        direct = x * 2.0
        direct_line = line_before()
        deep = tf.vectorized_map(lambda row: tf.math.reduce_std(tf.stack([row, 2.0 * row])), x)
        deep_line = line_before()
        several = (
            tf.tanh(x)
            + tf.exp(x)
        )  # fmt: skip
    assert tape is not None  # a recording that nobody can ask for keeps nothing
    assert direct.node.location() == Location(
        __file__, direct_line, "test_the_location_is_the_users_line_whatever_lies_between"
    )
    assert (deep.node.location().file, deep.node.location().line) == (__file__, deep_line)
    assert [parent.location().line - deep_line for parent in several.node.parents] == [3, 4]
    assert (
        str(direct.node.location())
        == f"{__file__}:{direct_line}, in {direct.node.location().function}"
    )
    assert f"at {direct.node.location()}>" in repr(direct.node)


def test_every_instruction_has_its_line_whatever_was_asked_before():
    def lines(code):
        return {
            offset: number or code.co_firstlineno
            for start, end, number in code.co_lines()
            for offset in range(start, end)
        }

    several = test_the_location_is_the_users_line_whatever_lies_between.__code__
    known = {code: lines(code) for code in (several, line_before.__code__)}
    for offset in range(max(map(max, known.values()))):
        for code, expected in known.items():
            if offset in expected:
                assert locate(code, offset).line == expected[offset]


def test_an_instruction_that_belongs_to_no_line_is_at_the_beginning():
    code = line_before.__code__
    assert locate(code, 10**6) == Location(__file__, code.co_firstlineno, "line_before")


def test_numbers_grow_from_parents_to_children_and_released_nodes_keep_nothing():
    x = tf.Variable(3.0)
    with tf.GradientTape(persistent=True) as tape:
        y = x * x
        z = tf.exp(y)
    assert tape is not None
    assert [parent is y.node for parent in z.node.parents] == [True]
    assert y.node.number < z.node.number
    assert all(parent.number < y.node.number for parent in y.node.parents)
    z.node.release()
    assert (z.node.saved, z.node.params, z.node.parents) == (None, None, ())


def test_sources_have_no_rule_and_a_variable_has_no_line():
    x, v = tf.constant(3.0), tf.Variable(3.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        watched_line = line_before()
        y = x * v
    source, variable = y.node.parents
    assert source.rule is variable.rule is None
    assert source.location().line == watched_line
    assert variable.location() is None
