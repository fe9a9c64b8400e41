"""What shapes, specs, functions, Variables and loops tell of themselves, in both libraries."""

from __future__ import annotations

import collections
from itertools import product

import pytest
import tensorflow  # noqa: ICN001  # `tf` is the library that a case is given

import gradtape

Pair = collections.namedtuple("Pair", "first second")
SHAPES = (None, [], [None], [2], [3], [None, 2], [2, None], [2, 2])


def types_of_shapes(tf):
    for a, b in product(SHAPES, repeat=2):
        one, other = tf.TensorShape(a), tf.TensorShape(b)
        yield (
            one.is_subtype_of(other),
            one.most_specific_common_supertype([other]),
            one.most_specific_compatible_shape(other),
        )
    yield tf.TensorShape([2, 3]).most_specific_common_supertype(
        [tf.TensorShape([2, 4]), tf.TensorShape([1, 3])]
    )
    yield (
        tf.TensorShape([2]).most_specific_common_supertype([3]),
        tf.TensorShape([2]).is_subtype_of(3),
    )


def ranks_of_shapes(tf):
    def refused(function, *args):
        try:
            return function(*args)
        except ValueError:
            return "refused"

    for shape, rank in product(SHAPES, range(4)):
        one = tf.TensorShape(shape)
        yield (
            refused(one.with_rank_at_least, rank),
            refused(one.with_rank_at_most, rank),
            refused(one.with_rank, rank),
        )
    for a, b in product(SHAPES, repeat=2):
        yield refused(tf.TensorShape(a).assert_same_rank, b)


def types_of_specs(tf):
    specs = [
        tf.TensorSpec(shape, dtype, name)
        for shape in ([2], [None], None)
        for dtype in ("float32", "int32")
        for name in (None, "a")
    ]
    for one, other in product(specs, repeat=2):
        yield (
            one.is_subtype_of(other),
            one.most_specific_common_supertype([other]),
            one.is_compatible_with(other),
        )


def signatures(tf):
    v = tf.Variable([1.0, 2.0])

    def of_every_kind(x, entries, named, pair, /, variable, number=3, *, key=None):
        return [x, (named["k"], pair), None, number, {}, [], (), variable * 2.0]

    every = tf.function(of_every_kind)
    arguments = tf.ones([2]), [tf.ones([1]), 2], {"k": tf.ones([])}, Pair(1, tf.ones([])), v
    every(*arguments, key="text")
    rest = tf.function(lambda first, *rest, **named: first)
    rest(tf.ones([2]), True, 2.5, a=tf.ones([1]), b="text")
    rest(tf.ones([2]))
    opened = tf.function(lambda x, y=2: {"a": x * 2.0, "b": (tf.reduce_sum(x, 1), y)})
    program = opened.get_concrete_function(tf.TensorSpec([None, 2], tf.float32))
    nothing = tf.function(lambda x: None).get_concrete_function(tf.ones([2]))
    for function in (every, rest):
        yield function.pretty_printed_concrete_signatures()
        yield function.pretty_printed_concrete_signatures(verbose=False)
    for described in (every.get_concrete_function(*arguments, key="text"), program, nothing):
        yield (
            described.pretty_printed_signature(),
            described.pretty_printed_signature(verbose=False),
            str(described),
        )
        yield described.output_shapes, described.output_dtypes
        yield tf.nest.map_structure(
            lambda leaf: getattr(leaf, "shape", None), described.structured_outputs
        )


def types_of_functions(tf):
    f = tf.function(lambda x: x)
    for value in (
        f,
        f.get_concrete_function(tf.ones([2])),
        f.get_concrete_function(tf.TensorSpec([None])),
        len,
    ):
        for name in ("Callable", "GenericFunction", "PolymorphicFunction", "ConcreteFunction"):
            yield isinstance(value, getattr(tf.types.experimental, name))
    for value in (
        1.0,
        "a",
        [1],
        (1,),
        tf.constant(1),
        tf.Variable(1),
        True,
        b"x",
        None,
        {},
        object(),
    ):
        yield isinstance(value, tf.types.experimental.TensorLike)


def arguments_of_variables(tf):
    for options in (
        {}, {"trainable": False}, {"synchronization": None, "aggregation": None},
        {"synchronization": 3}, {"aggregation": 3},
        {"synchronization": tf.VariableSynchronization.ON_READ},
        {"trainable": True, "synchronization": tf.VariableSynchronization.ON_READ},
        {"use_resource": True}, {"import_scope": "a"}, {"caching_device": "CPU:0"},
        {"validate_shape": False}, {"synchronization": 7}, {"aggregation": 7}, {"aggregation": "x"},
        {"variable_def": 3}, {"constraint": 3}, {"experimental_enable_variable_lifting": False},
    ):  # fmt: skip
        try:
            v = tf.Variable(1.0, **options)
        except ValueError:
            yield options.keys(), "refused"
        else:
            yield v.synchronization.name, v.aggregation.name, v.trainable, v.constraint


def containers_of_loops(tf):
    for count, given, returned, steps in product((1, 2), (list, tuple), (list, tuple), (0, 3)):

        def loop(count=count, given=given, returned=returned, steps=steps):
            def body(*variables):
                return returned([v + 1 for v in variables])

            return tf.while_loop(
                lambda *variables: variables[0] < steps, body, given([tf.constant(0)] * count)
            )

        for found in (loop(), tf.function(loop)()):
            yield type(found), [int(v) for v in found]


def names_of_float8(tf):
    for name in gradtape.dtypes.experimental.__all__:
        dtype = getattr(tf.dtypes.experimental, name)
        yield dtype.name, dtype.size, dtype.is_floating, dtype.as_numpy_dtype


CASES = [
    types_of_shapes, ranks_of_shapes, types_of_specs, signatures, types_of_functions,
    arguments_of_variables, containers_of_loops, names_of_float8,
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_both_say_the_same(case):
    ours, theirs = ([str(result) for result in case(tf)] for tf in (gradtape, tensorflow))
    assert ours == theirs
