"""Tables in both libraries."""

from __future__ import annotations

import numpy as np
import pytest
from calls import check

LINES = "emerson 10\nlake 20\npalmer 30\n"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    found = tmp_path_factory.mktemp("words")
    (found / "words.txt").write_text(LINES)
    (found / "unended.txt").write_text("a\nb")
    (found / "empty.txt").write_text("")
    return found


def table(tf, keys=("a", "b"), values=(1, 2), default=-1, **options):
    entries = tf.lookup.KeyValueTensorInitializer(list(keys), list(values), **options)
    return tf.lookup.StaticHashTable(entries, default)


def words(tf, buckets=3, keys=("a", "b"), values=(0, 1)):
    entries = tf.lookup.KeyValueTensorInitializer(
        tf.constant(list(keys)), tf.constant(list(values), tf.int64)
    )
    return tf.lookup.StaticVocabularyTable(entries, buckets)


def numbers(tf, buckets=3):
    entries = tf.lookup.KeyValueTensorInitializer(
        tf.constant([5, 6], tf.int64), tf.constant([0, 1], tf.int64)
    )
    return tf.lookup.StaticVocabularyTable(entries, buckets)


def changed(tf, **options):
    found = tf.lookup.experimental.MutableHashTable(tf.string, tf.int64, -1, **options)
    found.insert(tf.constant(["a", "b"]), tf.constant([1, 2], tf.int64))
    return found


def dense(tf):
    found = tf.lookup.experimental.DenseHashTable(
        tf.string, tf.int64, default_value=-1, empty_key="$", deleted_key="#"
    )
    found.insert(tf.constant(["a", "b"]), tf.constant([1, 2], tf.int64))
    return found


def removed(tf):
    found = changed(tf)
    found.remove(tf.constant(["a", "q"]))
    return found


def vectors(tf):
    found = tf.lookup.experimental.MutableHashTable(tf.string, tf.float32, [0.0, 0.0])
    found.insert(tf.constant(["a"]), [[1.0, 2.0]])
    return found


MANY = ["c", "d", "e", "ff", "", "é", "a longer word than the others", "x" * 100]

# fmt: off
CALLS = {
    "lookup": lambda tf: table(tf).lookup(tf.constant(["a", "z"])),
    "lookup scalar": lambda tf: table(tf)[tf.constant("b")],
    "lookup matrix": lambda tf: table(tf).lookup(tf.constant([["a"], ["z"]])),
    "lookup nothing": lambda tf: table(tf).lookup(tf.constant([], tf.string)),
    "lookup ragged": lambda tf: table(tf).lookup(tf.ragged.constant([["a"], ["b", "q"]])),
    "lookup sparse": lambda tf: table(tf).lookup(tf.SparseTensor([[0, 1]], ["a"], [1, 2])),
    "lookup numbers": lambda tf: table(tf).lookup(tf.constant([1])),
    "size": lambda tf: [table(tf).size(), words(tf).size(), changed(tf).size()],
    "export": lambda tf: [tf.sort(table(tf).export()[1]), table(tf, ("a",), (1,)).export()[0]],
    "dtypes": lambda tf: [table(tf).key_dtype, table(tf).value_dtype, words(tf).key_dtype],
    "default_value": lambda tf: table(tf).default_value,
    "integers": lambda tf: table(tf, (1, 2), (0.5, 1.5), 0.0).lookup(tf.constant([1, 5])),
    "to strings": lambda tf: table(tf, (1, 2), ("a", "b"), "?").lookup(tf.constant([1, 5])),
    "int64": lambda tf: table(
        tf, (1, 2), ("a", "b"), "?", key_dtype=tf.int64
    ).lookup(tf.constant([1, 5], tf.int64)),
    "integers of a function": lambda tf: tf.function(
        lambda x: table(tf, (7, 1, 2), (70, 10, 20)).lookup(x)
    )(tf.constant([[1, 5], [7, 2]])),
    "strings of a function": lambda tf: tf.function(lambda x: table(tf).lookup(x))(
        tf.constant(["b", "c"])
    ),
    "the same twice": lambda tf: table(tf, ("a", "a"), (1, 1)).size(),
    "two values": lambda tf: table(tf, ("a", "a"), (1, 2)),
    "counts": lambda tf: table(tf, ("a", "b"), (1,)),
    "default dtype": lambda tf: table(tf, default="x"),
    "default shape": lambda tf: table(tf, default=[1, 2]),
    "float keys": lambda tf: table(tf, (1.0, 2.0)),
    "words": lambda tf: words(tf).lookup(tf.constant(["a", "b", *MANY])),
    "words buckets": lambda tf: [words(tf, n).lookup(tf.constant(MANY)) for n in (1, 2, 7, 1000)],
    "words ragged": lambda tf: words(tf).lookup(tf.ragged.constant([["a"], ["q", "b"]])),
    "words nothing": lambda tf: tf.lookup.StaticVocabularyTable(None, 3).lookup(tf.constant(MANY)),
    "words 0": lambda tf: words(tf, 0),
    "words int32": lambda tf: tf.lookup.StaticVocabularyTable(
        tf.lookup.KeyValueTensorInitializer(["a"], [5]), 2
    ),
    "words offset": lambda tf: words(tf, 2, ("a",), (5,)).lookup(tf.constant(MANY)),
    "numbers": lambda tf: numbers(tf).lookup(tf.constant([5, 6, 7, 8, 9, -1, 10**12], tf.int64)),
    "numbers int32": lambda tf: numbers(tf).lookup(tf.constant([5, 7])),
    "changed": lambda tf: changed(tf).lookup(tf.constant([["a"], ["c"]])),
    "changed defaults": lambda tf: changed(tf).lookup(
        tf.constant(["a", "c"]), tf.constant([7, 8], tf.int64)
    ),
    "removed": lambda tf: [removed(tf).size(), *removed(tf).export()],
    "changed keys": lambda tf: changed(tf).lookup(tf.constant([1])),
    "changed counts": lambda tf: changed(tf).insert(
        tf.constant(["a"]), tf.constant([1, 2], tf.int64)
    ),
    "changed dtype": lambda tf: changed(tf).insert(tf.constant(["a"]), tf.constant([1.0])),
    "vectors": lambda tf: vectors(tf).lookup(tf.constant([["a"], ["b"]])),
    "dense": lambda tf: [dense(tf).size(), dense(tf).lookup(tf.constant(["a", "q"]))],
    "dense item": lambda tf: dense(tf)["a"],
    "dense empty": lambda tf: dense(tf).lookup(tf.constant(["$"])),
    "dense deleted": lambda tf: dense(tf).insert(tf.constant(["#"]), tf.constant([1], tf.int64)),
    "dense the same": lambda tf: tf.lookup.experimental.DenseHashTable(
        tf.string, tf.int64, -1, "$", "$"
    ),
}
# fmt: on


@pytest.mark.parametrize("name", CALLS)
def test_calls(name):
    check(CALLS[name])


FILES = {
    "columns": ("words.txt", "string", 0, "int64", 1, {"delimiter": " "}),
    "lines": ("words.txt", "string", -2, "int64", -1, {}),
    "numbers": ("words.txt", "int64", -1, "string", 0, {"delimiter": " "}),
    "vocab_size": ("words.txt", "string", 0, "int64", 1, {"delimiter": " ", "vocab_size": 2}),
    "vocab_size large": ("words.txt", "string", 0, "int64", 1, {"delimiter": " ", "vocab_size": 9}),
    "vocab_size 0": ("words.txt", "string", 0, "int64", 1, {"vocab_size": 0}),
    "offset": ("words.txt", "string", -2, "int64", -1, {"value_index_offset": 5}),
    "offset of a column": (
        "words.txt", "string", 0, "int64", 1, {"delimiter": " ", "value_index_offset": 5},
    ),
    "unended": ("unended.txt", "string", -2, "int64", -1, {}),
    "empty": ("empty.txt", "string", -2, "int64", -1, {}),
    "column missing": ("words.txt", "string", 0, "int64", 5, {"delimiter": " "}),
    "no number": ("words.txt", "string", 1, "int64", 0, {"delimiter": " "}),
    "no file": ("none.txt", "string", 0, "int64", 1, {}),
    "index": ("words.txt", "string", -3, "int64", 1, {}),
    "line as string": ("words.txt", "string", 0, "string", -1, {}),
}  # fmt: skip


@pytest.mark.parametrize("name", FILES)
def test_files(folder, name):
    file, key, key_index, value, value_index, options = FILES[name]

    def call(tf):
        keys, values = tf.as_dtype(key), tf.as_dtype(value)
        entries = tf.lookup.TextFileInitializer(
            str(folder / file), keys, key_index, values, value_index, **options
        )
        default = "?" if value == "string" else -1
        found = tf.lookup.StaticHashTable(entries, default)
        wanted = ["lake", "lake 20", "a", "x"] if key == "string" else np.array([1, 7])
        return [found.size(), found.lookup(tf.constant(wanted, keys))]

    check(call)
