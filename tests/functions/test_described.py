"""What functions and their programs tell of themselves: specs of their results,
signatures in words, and their types.
"""

from __future__ import annotations

import collections
import re

import pytest

import gradtape as tf

Pair = collections.namedtuple("Pair", "first second")
VECTOR = tf.TensorSpec([2], tf.float32)


def spec(*shape, dtype="float32"):
    return tf.TensorSpec(shape, dtype)


@pytest.mark.parametrize(
    ("result", "outputs", "shapes", "dtypes"),
    [
        (lambda x: x, spec(2), (2,), tf.float32),
        (lambda x: [x, x > 0], [spec(2), spec(2, dtype="bool")], [(2,), (2,)],
            [tf.float32, tf.bool]),
        (lambda x: (x, 3), (spec(2), spec(dtype="int32")), ((2,), ()), (tf.float32, tf.int32)),
        (lambda x: {"a": x[None], "b": None}, {"a": spec(1, 2), "b": None},
            {"a": (1, 2), "b": tf.TensorShape(None)}, {"a": tf.float32, "b": None}),
        (lambda x: Pair(x, tf.constant("text")), Pair(spec(2), spec(dtype="string")),
            Pair((2,), ()), Pair(tf.float32, tf.string)),
        (lambda x: None, None, tf.TensorShape(None), None),
        (lambda x: [], [], [], []),
    ],
)  # fmt: skip
def test_specs_of_results(result, outputs, shapes, dtypes):
    program = tf.function(result, autograph=False).get_concrete_function(VECTOR)
    assert program.structured_outputs == outputs
    assert program.output_shapes == shapes
    assert program.output_dtypes == dtypes


def test_specs_of_sparse_results():
    program = tf.function(
        lambda x: [tf.sparse.from_dense(tf.ones([2, 3]))], autograph=False
    ).get_concrete_function(VECTOR)
    assert program.output_shapes == [(2, 3)]
    assert program.output_dtypes == [tf.float32]
    assert (
        "-> List[SparseTensorSpec(TensorShape([2, 3]), tf.float32)]"
        in program.pretty_printed_signature(verbose=False)
    )


def test_open_sizes_are_open_in_results():
    f = tf.function(
        lambda x, y: {"rows": x @ y, "first": x[:1], "total": tf.reduce_sum(x)}, autograph=False
    )
    program = f.get_concrete_function(tf.TensorSpec([None, 4]), tf.TensorSpec([4, 5]))
    assert program.output_shapes == {"rows": (None, 5), "first": (1, 4), "total": ()}
    assert program.output_dtypes == {"rows": tf.float32, "first": tf.float32, "total": tf.float32}
    assert f.experimental_get_tracing_count() == 1
    assert program(tf.ones([7, 4]), tf.ones([4, 5]))["rows"].shape == (7, 5)
    unknown = f.get_concrete_function(tf.TensorSpec(None), tf.TensorSpec([4, 5]))
    with pytest.raises(ValueError, match="rank is open"):
        _ = unknown.output_shapes


def test_signatures_in_words():
    v = tf.Variable(2.0, name="factor")

    @tf.function
    def f(x, /, pair, n=3, *, key=None):
        return {"a": x * v, "b": (pair, [n])}

    assert f.pretty_printed_concrete_signatures() == ""
    f(tf.ones([2]), Pair(1, tf.ones([])), key="text")
    text = """
Input Parameters:
  x (POSITIONAL_ONLY): TensorSpec(shape=(2,), dtype=tf.float32, name=None)
  pair (POSITIONAL_OR_KEYWORD): Pair[['first', Literal[1]], \
['second', TensorSpec(shape=(), dtype=tf.float32, name=None)]]
  n (POSITIONAL_OR_KEYWORD): Literal[3]
  key (KEYWORD_ONLY): Literal['text']
Output Type:
  Dict[['a', TensorSpec(shape=(2,), dtype=tf.float32, name=None)], \
['b', Tuple[Pair[['first', TensorSpec(shape=(), dtype=tf.int32, name=None)], \
['second', TensorSpec(shape=(), dtype=tf.float32, name=None)]], \
List[TensorSpec(shape=(), dtype=tf.int32, name=None)]]]]
Captures:
  factor:0: VariableSpec(shape=(), dtype=tf.float32, trainable=True, alias_id=0)
"""
    assert f.pretty_printed_concrete_signatures() == text.strip()
    f(tf.ones([3]), [])
    both = f.pretty_printed_concrete_signatures()
    assert both.split("\n\n")[0] == text.strip()
    assert "x (POSITIONAL_ONLY): TensorSpec(shape=(3,)" in both
    program = f.get_concrete_function(tf.ones([3]), [])
    assert str(program) == f"ConcreteFunction {program.pretty_printed_signature()}"


@pytest.mark.parametrize(
    ("function", "args", "kwargs", "signature"),
    [
        (lambda *args: args[0], (VECTOR, 3), {}, "(args_0: {}, args_1: Literal[3], /) -> {}"),
        (lambda a, *rest: a, (VECTOR, True), {}, "(a: {}, rest_0: Literal[True], /) -> {}"),
        (
            lambda **named: named["x"],
            (),
            {"x": VECTOR, "y": 1.5},
            "(*, x: {}, y: Literal[1.5]) -> {}",
        ),
        (
            lambda a, /, b, *, c: a,
            (VECTOR, None),
            {"c": b"x"},
            "(a: {}, /, b: Literal[None], *, c: Literal[b'x']) -> {}",
        ),
        (
            lambda a, b: a,
            (VECTOR, [1, (2,), {}]),
            {},
            "(a: {}, b: List[Literal[1], Tuple[Literal[2]], Dict[]]) -> {}",
        ),
        (lambda a, f: a, (VECTOR, len), {}, "(a: {}, f: builtin_function_or_method) -> {}"),
    ],
)
def test_signatures_in_one_line(function, args, kwargs, signature):
    program = tf.function(function, autograph=False).get_concrete_function(*args, **kwargs)
    assert program.pretty_printed_signature(verbose=False) == signature.replace(
        "{}", repr(VECTOR), 1
    ).replace("-> {}", f"-> {VECTOR!r}")


def test_variables_among_the_arguments_are_no_captures():
    v, w = tf.Variable(1.0), tf.Variable([1.0, 2.0], trainable=False)
    program = tf.function(lambda a, b, c: a * b + c, autograph=False).get_concrete_function(v, w, v)
    scalar, vector = (
        "shape=(), dtype=tf.float32, trainable=True, alias_id=0",
        "shape=(2,), dtype=tf.float32, trainable=False, alias_id=1",
    )
    assert program.pretty_printed_signature().splitlines()[1:4] == [
        f"  a (POSITIONAL_OR_KEYWORD): VariableSpec({scalar})",
        f"  b (POSITIONAL_OR_KEYWORD): VariableSpec({vector})",
        f"  c (POSITIONAL_OR_KEYWORD): VariableSpec({scalar})",
    ]
    assert program.pretty_printed_signature().endswith("Captures:\n  None")


def test_types():
    types = tf.types.experimental
    f = tf.function(lambda x: x, autograph=False)
    programs = [f.get_concrete_function(VECTOR), f.get_concrete_function(tf.TensorSpec([None]))]
    assert isinstance(f, types.GenericFunction)
    assert isinstance(f, types.PolymorphicFunction)
    assert not isinstance(f, types.ConcreteFunction)
    for program in programs:
        assert isinstance(program, types.ConcreteFunction)
        assert isinstance(program, types.Callable)
        assert not isinstance(program, types.GenericFunction)
    assert isinstance(f, types.Callable)
    assert not isinstance(len, types.Callable)
    assert all(
        isinstance(v, types.TensorLike)
        for v in (1.0, "a", [1], tf.constant(1), tf.Variable(1), True, 1j, b"x", (1,))
    )
    assert not any(isinstance(v, types.TensorLike) for v in (None, object(), {}))


@pytest.mark.parametrize("shape", [[2], [None]])
@pytest.mark.parametrize(
    ("name", "instead"),
    [
        ("graph", "tf.summary.graph.*structured_input_signature.*structured_outputs"),
        ("function_type", r"structured_outputs.*pretty_printed_signature\(\)"),
        ("inputs", "structured_input_signature.*captured_inputs"),
        ("outputs", "structured_outputs"),
        ("input_signature", "structured_input_signature"),
    ],
)
def test_what_belongs_to_a_graph_says_what_serves_here(shape, name, instead):
    program = tf.function(lambda x: x + 1.0).get_concrete_function(tf.TensorSpec(shape))
    message = f"no attribute '{name}': there is no graph; .*{instead}"
    with pytest.raises(AttributeError, match=message):
        getattr(program, name)
    for word in re.findall("structured_\\w+|captured_inputs|pretty_printed_signature", instead):
        assert hasattr(program, word)
    assert not hasattr(program, "misspelt")
