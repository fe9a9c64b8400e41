"""Tables: functions, bad input, files; `tests_tf/test_lookup.py` compares with TensorFlow."""

import pytest

import gradtape as tf

INVALID = tf.errors.InvalidArgumentError


def table(keys=("a", "b"), values=(1, 2), default=-1):
    entries = tf.lookup.KeyValueTensorInitializer(list(keys), list(values))
    return tf.lookup.StaticHashTable(entries, default)


def test_integers_are_looked_up_in_a_compiled_program():
    numbers = table((7, 1, 2), (70.0, 10.0, 20.0), 0.5)
    f = tf.function(lambda x: numbers.lookup(x) * 2, jit_compile=True)
    assert f(tf.constant([[1, 5], [7, 2]])).numpy().tolist() == [[20.0, 1.0], [140.0, 40.0]]
    assert f(tf.constant([[2, 2], [0, 9]])).numpy().tolist() == [[40.0, 40.0], [1.0, 1.0]]
    assert f.experimental_get_tracing_count() == 1


def test_strings_in_a_function():
    f = tf.function(table().lookup)
    assert f(tf.constant(["b", "c"])).numpy().tolist() == [2, -1]
    assert f(tf.constant(["c", "a"])).numpy().tolist() == [-1, 1]


def test_words_of_numbers_in_a_function_run_op_by_op():
    entries = tf.lookup.KeyValueTensorInitializer(
        tf.constant([5], tf.int64), tf.constant([0], tf.int64)
    )
    words = tf.lookup.StaticVocabularyTable(entries, 3)
    x = tf.constant([5, 9], tf.int64)
    assert tf.function(words.lookup)(x).numpy().tolist() == words.lookup(x).numpy().tolist()


def test_a_table_that_changes_is_changed_at_every_call_of_a_function():
    changed = tf.lookup.experimental.MutableHashTable(tf.int64, tf.int64, -1)

    @tf.function
    def add(key):
        changed.insert(tf.reshape(key, [1]), [1])
        return changed.size()

    found = [int(add(tf.constant(n, tf.int64))) for n in (1, 2, 2, 3)]
    assert found == [1, 2, 2, 3]


def test_ragged_keys_of_every_table():
    keys = tf.ragged.constant([["a"], ["q", "b"]])
    changed = tf.lookup.experimental.MutableHashTable(tf.string, tf.int64, -1)
    changed.insert(["a", "b"], [1, 2])
    assert table().lookup(keys).to_list() == changed.lookup(keys).to_list() == [[1], [-1, 2]]


@pytest.mark.parametrize(
    ("call", "error", "says"),
    [
        (lambda: table().lookup(tf.constant([1])), TypeError, "string"),
        (lambda: table(("a", "a")), tf.errors.FailedPreconditionError, "b'a'"),
        (lambda: table(("a",), (1, 2)), INVALID, "shape"),
        (lambda: table(default="x"), TypeError, "default_value"),
        (lambda: table(default=[1]), ValueError, "scalar"),
        (lambda: table((1.0, 2.0)), TypeError, "float32"),
        (lambda: tf.lookup.StaticHashTable({"a": 1}, -1), TypeError, "initializer"),
        (lambda: tf.lookup.StaticVocabularyTable(None, 0), ValueError, "StaticHashTable"),
        (
            lambda: tf.lookup.TextFileInitializer("", tf.string, 0, tf.int64, 1),
            ValueError,
            "filename",
        ),
        (
            lambda: tf.lookup.StaticHashTable(
                tf.lookup.TextFileInitializer("/none", tf.string, 0, tf.int64, 1), -1
            ),
            tf.errors.NotFoundError,
            "/none",
        ),
        (
            lambda: tf.lookup.experimental.MutableHashTable(tf.string, tf.int64, [[1]]),
            ValueError,
            "default_value",
        ),
    ],
)
def test_bad_input_is_refused_by_name(call, error, says):
    with pytest.raises(error, match=says):
        call()


@pytest.mark.parametrize(
    ("text", "says"),
    [("a\tx\n", "line 0"), ("a\t1\nb\n", "line 1"), ("", "no lines")],
)
def test_a_wrong_file_is_refused_with_its_line(tmp_path, text, says):
    file = tmp_path / "words.txt"
    file.write_text(text)
    entries = tf.lookup.TextFileInitializer(file, tf.string, 0, tf.int64, 1)
    with pytest.raises(INVALID, match=says):
        tf.lookup.StaticHashTable(entries, -1)


def test_floats_of_a_file(tmp_path):
    file = tmp_path / "weights.txt"
    file.write_text("a\t0.5\nb\t1.5\n")
    entries = tf.lookup.TextFileInitializer(file, tf.string, 0, tf.float32, 1)
    found = tf.lookup.StaticHashTable(entries, 0.0).lookup(["b", "c"])
    assert found.numpy().tolist() == [1.5, 0.0]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (b"x\ny\n", ["x", "y"]),
        (b"x\r\ny\r\n", ["x", "y"]),
        (b"x\r\ny", ["x", "y"]),
        (b"x\r\ny\r", ["x", "y"]),
        (b"a\rb\n\rx\ny\r\r\n", ["a\rb", "\rx", "y\r"]),
    ],
)
def test_a_line_may_end_as_on_windows(tmp_path, text, words):
    file = tmp_path / "words.txt"
    file.write_bytes(text)
    index = tf.lookup.TextFileIndex
    entries = tf.lookup.TextFileInitializer(
        file, tf.string, index.WHOLE_LINE, tf.int64, index.LINE_NUMBER
    )
    found = tf.lookup.StaticHashTable(entries, -1).lookup(words)
    assert found.numpy().tolist() == list(range(len(words)))


class Nothing:
    """An initializer that does not fill its table, like that of a Keras layer before `adapt`."""

    key_dtype, value_dtype = tf.int64, tf.int64

    def initialize(self, table):
        pass


@pytest.mark.parametrize("run", [lambda call: call, tf.function], ids=["eager", "function"])
def test_a_table_that_was_not_filled_is_refused(run):
    table = tf.lookup.StaticHashTable(Nothing(), -1)
    with pytest.raises(tf.errors.FailedPreconditionError, match="has not been filled"):
        run(table.lookup)(tf.constant([1, 2], tf.int64))
