"""Strings in both libraries: a table of calls of `tf.strings`, hashes of every length, regular
expressions, and the functions of `tf` on tensors of strings.
"""

from __future__ import annotations

import numpy as np
import pytest
from calls import check

M = [["a", "bc"], ["d", "e"]]
WORDS = ["Hello World", "héllo", "", " a b ", "日本語 text", "x"]
BROKEN = [b"\xff", b"a\xffb", b"\xe6\x97", b"\xc3", b"\xf0\x9f\x98", b"\xed\xa0\x80", b"\xc0\x80z"]


def rag(tf):
    return tf.ragged.constant([["a b", "C"], [], ["d"]])


# fmt: off
CALLS = {
    "lower": lambda tf: tf.strings.lower(WORDS),
    "lower utf-8": lambda tf: tf.strings.lower(["ÀB", "ß", "É日"], encoding="utf-8"),
    "lower ascii": lambda tf: tf.strings.lower("ÀB"),
    "lower encoding": lambda tf: tf.strings.lower("ÀB", encoding="latin"),
    "lower ragged": lambda tf: tf.strings.lower(rag(tf)),
    "lower number": lambda tf: tf.strings.lower(3),
    "lower tensor of numbers": lambda tf: tf.strings.lower(tf.constant([1.0])),
    "lower nothing": lambda tf: tf.strings.lower(tf.constant([], tf.string)),
    "upper": lambda tf: tf.strings.upper(WORDS),
    "upper utf-8": lambda tf: tf.strings.upper(["straße", "é"], encoding="utf-8"),
    "strip": lambda tf: tf.strings.strip(["\x0b a \n", "\t", "a\x00 ", " é "]),
    "strip ragged": lambda tf: tf.strings.strip(rag(tf)),
    "length": lambda tf: tf.strings.length(WORDS),
    "length utf8": lambda tf: tf.strings.length(WORDS, unit="UTF8_CHAR"),
    "length broken": lambda tf: tf.strings.length(BROKEN, unit="UTF8_CHAR"),
    "length unit": lambda tf: tf.strings.length("a", unit="CHAR"),
    "length scalar": lambda tf: tf.strings.length("abc"),
    "length ragged": lambda tf: tf.strings.length(rag(tf)),
    "substr": lambda tf: tf.strings.substr("hello", 1, 3),
    "substr negative": lambda tf: tf.strings.substr("hello", -3, 2),
    "substr long": lambda tf: tf.strings.substr(["hello", "world"], 2, 100),
    "substr each": lambda tf: tf.strings.substr(["hello", "world"], [1, -2], [2, 10]),
    "substr end": lambda tf: tf.strings.substr("hello", 5, 1),
    "substr -1": lambda tf: tf.strings.substr("hello", 1, -1),
    "substr broadcast": lambda tf: tf.strings.substr(["ab", "cd"], [[0], [1]], [[1], [1]]),
    "substr utf8": lambda tf: tf.strings.substr(["héllo", "日本語"], 1, 2, unit="UTF8_CHAR"),
    "substr utf8 negative": lambda tf: tf.strings.substr("日本語", -2, 1, unit="UTF8_CHAR"),
    "substr utf8 outside": lambda tf: tf.strings.substr("日本語", 4, 1, unit="UTF8_CHAR"),
    "substr outside": lambda tf: tf.strings.substr("hello", 6, 1),
    "substr outside -": lambda tf: tf.strings.substr("hello", -6, 1),
    "substr float": lambda tf: tf.strings.substr("hello", 1.0, 1.0),
    "substr unit": lambda tf: tf.strings.substr("a", 0, 1, unit="X"),
    "substr shapes": lambda tf: tf.strings.substr(["a", "b"], [0, 0, 0], [1, 1, 1]),
    "split": lambda tf: tf.strings.split(WORDS),
    "split scalar": lambda tf: tf.strings.split("a b  c"),
    "split matrix": lambda tf: tf.strings.split([["a b", "c"], ["", "d e f"]]),
    "split cube": lambda tf: tf.strings.split([[["a b"], ["c"]]]),
    "split ragged": lambda tf: tf.strings.split(rag(tf)),
    "split sep": lambda tf: tf.strings.split(["a,b,,c", "", ","], ","),
    "split long sep": lambda tf: tf.strings.split(["1<>2<><>3"], "<>"),
    "split maxsplit": lambda tf: tf.strings.split(["a b c d", " a  b c "], maxsplit=2),
    "split sep maxsplit": lambda tf: tf.strings.split(["a,b,c", "a"], ",", maxsplit=1),
    "split maxsplit 0": lambda tf: tf.strings.split(["a b c"], maxsplit=0),
    "split space": lambda tf: tf.strings.split([" a  b"], " "),
    "split bytes": lambda tf: tf.strings.split([b"a\xffb c"]),
    "split sep shape": lambda tf: tf.strings.split(["a"], [",", ";"]),
    "split number": lambda tf: tf.strings.split([1]),
    "split nothing": lambda tf: tf.strings.split(tf.constant([], tf.string)),
    "bytes_split": lambda tf: tf.strings.bytes_split(WORDS),
    "bytes_split scalar": lambda tf: tf.strings.bytes_split("ab"),
    "bytes_split ragged": lambda tf: tf.strings.bytes_split(rag(tf)),
    "join": lambda tf: tf.strings.join([["a", "b"], "x", ["c", "d"]], "-"),
    "join scalars": lambda tf: tf.strings.join(["a", "b"]),
    "join nothing": lambda tf: tf.strings.join([]),
    "join shapes": lambda tf: tf.strings.join([["a", "b"], ["c", "d", "e"]]),
    "join numbers": lambda tf: tf.strings.join([1, 2]),
    "join one": lambda tf: tf.strings.join([["a", "b"]], "-"),
    "join ragged": lambda tf: tf.strings.join([rag(tf), rag(tf)], "-"),
    "join ragged scalar": lambda tf: tf.strings.join([rag(tf), "z"]),
    "reduce_join": lambda tf: tf.strings.reduce_join(M),
    "reduce_join 0": lambda tf: tf.strings.reduce_join(M, 0),
    "reduce_join -1": lambda tf: tf.strings.reduce_join(M, -1, separator=","),
    "reduce_join both": lambda tf: tf.strings.reduce_join(M, [0, 1], separator=","),
    "reduce_join other": lambda tf: tf.strings.reduce_join(M, [1, 0], separator=","),
    "reduce_join keepdims": lambda tf: tf.strings.reduce_join(M, 1, keepdims=True),
    "reduce_join none": lambda tf: tf.strings.reduce_join(M, []),
    "reduce_join axis": lambda tf: tf.strings.reduce_join(M, 2),
    "reduce_join twice": lambda tf: tf.strings.reduce_join(M, [0, 0]),
    "reduce_join scalar": lambda tf: tf.strings.reduce_join("a"),
    "reduce_join ragged": lambda tf: tf.strings.reduce_join(rag(tf), axis=1, separator=" "),
    "reduce_join ragged -1": lambda tf: tf.strings.reduce_join(rag(tf), axis=-1, separator=" "),
    "segment_join": lambda tf: tf.strings.unsorted_segment_join(["a", "b", "c"], [1, 0, 1], 3, ":"),
    "segment_join matrix": lambda tf: tf.strings.unsorted_segment_join(M, [1, 1], 2, ":"),
    "segment_join outside": lambda tf: tf.strings.unsorted_segment_join(["a"], [3], 2),
    "segment_join shape": lambda tf: tf.strings.unsorted_segment_join(["a", "b"], [0], 2),
    "format": lambda tf: tf.strings.format("x: {} {}", (tf.range(10), 3.5)),
    "format strings": lambda tf: tf.strings.format("{}", tf.constant(["a", "b"])),
    "format string": lambda tf: tf.strings.format("{}", tf.constant("a")),
    "format bool": lambda tf: tf.strings.format("{}", [tf.constant(True)]),
    "format floats": lambda tf: tf.strings.format("{}", tf.constant([1.5, 1e-9, 3.0])),
    "format matrix": lambda tf: tf.strings.format(
        "%t%!", tf.reshape(tf.range(60), [10, 6]), placeholder="%t%", summarize=1
    ),
    "format all": lambda tf: tf.strings.format("{}", tf.range(10), summarize=-1),
    "format count": lambda tf: tf.strings.format("{} {}", tf.constant(1)),
    "as_string float": lambda tf: tf.strings.as_string([3.14159, -1e30, np.nan, np.inf, -0.0]),
    "as_string double": lambda tf: tf.strings.as_string(tf.constant([3.14159], tf.float64)),
    "as_string shortest": lambda tf: tf.strings.as_string([3.14159, 1e10, 1e-5], shortest=True),
    "as_string scientific": lambda tf: tf.strings.as_string([3.1], scientific=True, precision=2),
    "as_string precision": lambda tf: tf.strings.as_string([3.14159, 2.0], precision=2),
    "as_string precision 0": lambda tf: tf.strings.as_string([3.5, 2.0], precision=0),
    "as_string int": lambda tf: tf.strings.as_string([1, -22]),
    "as_string int64": lambda tf: tf.strings.as_string(tf.constant([2**60], tf.int64)),
    "as_string uint8": lambda tf: tf.strings.as_string(tf.constant([200], tf.uint8)),
    "as_string fill": lambda tf: tf.strings.as_string([1, -22], width=5, fill="0"),
    "as_string width": lambda tf: tf.strings.as_string([1.5], width=10),
    "as_string space": lambda tf: tf.strings.as_string([1.5], width=10, fill=" "),
    "as_string left": lambda tf: tf.strings.as_string([1], width=4, fill="-"),
    "as_string plus": lambda tf: tf.strings.as_string([1.5], width=4, fill="+"),
    "as_string bool": lambda tf: tf.strings.as_string([True, False]),
    "as_string complex": lambda tf: tf.strings.as_string(tf.constant([1 + 2j])),
    "as_string string": lambda tf: tf.strings.as_string(["a"]),
    "as_string half": lambda tf: tf.strings.as_string(tf.constant([1.5], tf.float16)),
    "as_string ragged": lambda tf: tf.strings.as_string(tf.ragged.constant([[1], [2, 3]])),
    "as_string wrong fill": lambda tf: tf.strings.as_string([1], width=4, fill="x"),
    "as_string int precision": lambda tf: tf.strings.as_string([1], precision=2),
    "as_string both": lambda tf: tf.strings.as_string([1.0], scientific=True, shortest=True),
    "to_number": lambda tf: tf.strings.to_number(["1", " 2.5 ", "1e3", "nan", "inf", "-Infinity"]),
    "to_number hex": lambda tf: tf.strings.to_number(["0x10"]),
    "to_number double": lambda tf: tf.strings.to_number(["3.25", "1e300"], tf.float64),
    "to_number large": lambda tf: tf.strings.to_number(["1e60"]),
    "to_number int": lambda tf: tf.strings.to_number([" 7 ", "-3", "+4", "007"], tf.int64),
    "to_number uint": lambda tf: tf.strings.to_number(["4000000000"], tf.uint32),
    "to_number scalar": lambda tf: tf.strings.to_number("5"),
    "to_number ragged": lambda tf: tf.strings.to_number(tf.ragged.constant([["1"], ["2", "3"]])),
    **{
        f"to_number wrong {text!r}": (lambda tf, text=text: tf.strings.to_number([text]))
        for text in ("", "1_0", "a", "1 2", "--1", "1,5")
    },
    **{
        f"to_number wrong int {text!r}": (
            lambda tf, text=text: tf.strings.to_number([text], tf.int32)
        )
        for text in ("", "1.5", "99999999999", "1_0", "0x10", "a")
    },
    "to_number dtype": lambda tf: tf.strings.to_number(["1"], tf.int8),
    "ngrams": lambda tf: tf.strings.ngrams(["A", "B", "C", "D"], 2),
    "ngrams widths": lambda tf: tf.strings.ngrams([["A", "B", "C"], ["D", "E", "F"]], [1, 2]),
    "ngrams short": lambda tf: tf.strings.ngrams(["a"], 3),
    "ngrams padded": lambda tf: tf.strings.ngrams(
        [["A", "B", "C"]], 2, pad_values=("<", ">"), padding_width=1
    ),
    "ngrams padded wide": lambda tf: tf.strings.ngrams([["A", "B"]], 3, pad_values="_"),
    "ngrams kept": lambda tf: tf.strings.ngrams([["A"]], 3, preserve_short_sequences=True),
    "ngrams ragged": lambda tf: tf.strings.ngrams(
        tf.ragged.constant([["a", "b", "c"], ["d"], []]), 2, separator=""
    ),
    "ngrams width 0": lambda tf: tf.strings.ngrams(["a"], 0),
    "ngrams padding": lambda tf: tf.strings.ngrams(["a"], 1, padding_width=1),
    "unicode_decode": lambda tf: tf.strings.unicode_decode(WORDS, "UTF-8"),
    "unicode_decode broken": lambda tf: tf.strings.unicode_decode(BROKEN, "UTF-8"),
    "unicode_decode ignore": lambda tf: tf.strings.unicode_decode(BROKEN, "UTF-8", errors="ignore"),
    "unicode_decode strict": lambda tf: tf.strings.unicode_decode(BROKEN, "UTF-8", errors="strict"),
    "unicode_decode char": lambda tf: tf.strings.unicode_decode(
        BROKEN, "UTF-8", replacement_char=63
    ),
    "unicode_decode control": lambda tf: tf.strings.unicode_decode(
        ["a\x01\n", "b"], "UTF-8", replace_control_characters=True
    ),
    "unicode_decode 16": lambda tf: tf.strings.unicode_decode([b"\x00h\x00\xe9"], "UTF-16-BE"),
    "unicode_decode scalar": lambda tf: tf.strings.unicode_decode("é!", "UTF-8"),
    "unicode_decode matrix": lambda tf: tf.strings.unicode_decode(M, "UTF-8"),
    "unicode_decode encoding": lambda tf: tf.strings.unicode_decode("a", "nonsense"),
    "unicode_decode errors": lambda tf: tf.strings.unicode_decode("a", "UTF-8", errors="what"),
    "decode offsets": lambda tf: list(tf.strings.unicode_decode_with_offsets(WORDS, "UTF-8")),
    "decode offsets scalar": lambda tf: list(tf.strings.unicode_decode_with_offsets("é!", "UTF-8")),
    "decode offsets broken": lambda tf: list(
        tf.strings.unicode_decode_with_offsets(BROKEN, "UTF-8")
    ),
    "unicode_split": lambda tf: tf.strings.unicode_split(WORDS, "UTF-8"),
    "unicode_split scalar": lambda tf: tf.strings.unicode_split("日本", "UTF-8"),
    "unicode_split offsets": lambda tf: list(tf.strings.unicode_split_with_offsets(WORDS, "UTF-8")),
    "unicode_encode": lambda tf: tf.strings.unicode_encode([[104, 233], [26085, 97]], "UTF-8"),
    "unicode_encode vector": lambda tf: tf.strings.unicode_encode([104, 233], "UTF-8"),
    "unicode_encode 16": lambda tf: tf.strings.unicode_encode([104, 128512], "UTF-16-BE"),
    "unicode_encode 32": lambda tf: tf.strings.unicode_encode([104], "UTF-32-BE"),
    "unicode_encode ragged": lambda tf: tf.strings.unicode_encode(
        tf.ragged.constant([[104, 233], [], [97]]), "UTF-8"
    ),
    "unicode_encode wrong": lambda tf: tf.strings.unicode_encode([104, -1, 0xD800], "UTF-8"),
    "unicode_encode ignore": lambda tf: tf.strings.unicode_encode([9, -1], "UTF-8", "ignore"),
    "unicode_encode strict": lambda tf: tf.strings.unicode_encode([9, -1], "UTF-8", "strict"),
    "unicode_encode encoding": lambda tf: tf.strings.unicode_encode([104], "latin-1"),
    "unicode_transcode": lambda tf: tf.strings.unicode_transcode(WORDS, "UTF-8", "UTF-16-BE"),
    "unicode_transcode latin": lambda tf: tf.strings.unicode_transcode(
        b"\xe9", "ISO-8859-1", "UTF-8"
    ),
    "unicode_transcode broken": lambda tf: tf.strings.unicode_transcode(
        [*BROKEN, b"a\x01"], "UTF-8", "UTF-8", replace_control_characters=True
    ),
    "unicode_transcode ragged": lambda tf: tf.strings.unicode_transcode(rag(tf), "UTF-8", "UTF-8"),
    "cross_hashed": lambda tf: tf.sparse.cross_hashed(
        [tf.constant(v) for v in ([["a"], ["b"]], [[1], [-2]], [["x" * 70], [""]])], 100
    ),
    "cross_hashed all": lambda tf: tf.sparse.cross_hashed(
        [tf.constant(v) for v in ([["a", "b"], ["c", "d"]], [["e"], ["f"]])]
    ),
    "cross_hashed key": lambda tf: tf.sparse.cross_hashed(
        [tf.constant([["a"]]), tf.constant([["e"]])], 10, hash_key=7
    ),
    "cross_hashed sparse": lambda tf: tf.sparse.cross_hashed(
        [tf.SparseTensor([[0, 0], [0, 1]], ["a", "b"], [2, 2]), tf.constant([["e"], ["f"]])], 10
    ),
    "cross_hashed rows": lambda tf: tf.sparse.cross_hashed(
        [tf.constant([["a"]]), tf.constant([["e"], ["f"]])], 10
    ),
    "paddings": lambda tf: list(tf.required_space_to_batch_paddings([5, 4], [2, 3])),
    "paddings base": lambda tf: list(
        tf.required_space_to_batch_paddings([5, 4], [2, 3], [[1, 0], [2, 1]])
    ),
    "paddings sizes": lambda tf: list(tf.required_space_to_batch_paddings([5], [2, 3])),
    # the functions of tensors
    "==": lambda tf: tf.constant(M) == "a",
    "!=": lambda tf: tf.constant(M) != tf.constant(M),
    "+": lambda tf: [tf.constant(M) + "x", "x" + tf.constant(M)],
    "*": lambda tf: tf.constant(M) * 2,
    "-": lambda tf: tf.constant(M) - tf.constant(M),
    "negative": lambda tf: -tf.constant(M),
    "<": lambda tf: tf.constant(M) < "b",
    "abs": lambda tf: tf.abs(tf.constant(M)),
    "maximum": lambda tf: tf.maximum(tf.constant(M), "b"),
    "exp": lambda tf: tf.exp(tf.constant(M)),
    "reduce_sum": lambda tf: tf.reduce_sum(tf.constant(M)),
    "reduce_max": lambda tf: tf.reduce_max(tf.constant(M)),
    "matmul": lambda tf: tf.matmul(tf.constant(M), tf.constant(M)),
    "clip": lambda tf: tf.clip_by_value(tf.constant(M), "a", "b"),
    "cast": lambda tf: tf.cast(tf.constant(M), tf.int32),
    "cast to": lambda tf: tf.cast([1], tf.string),
    "sort": lambda tf: tf.sort(tf.constant(["b", "a"])),
    "equal number": lambda tf: tf.equal(tf.constant(M), 3),
    "gather": lambda tf: tf.gather(M, [1, 0, 1]),
    "gather_nd": lambda tf: tf.gather_nd(M, [[0, 1], [1, 1]]),
    "where": lambda tf: tf.where([[True, False], [False, True]], M, "z"),
    "concat": lambda tf: tf.concat([M, M], 1),
    "stack": lambda tf: tf.stack([M, M], 1),
    "unstack": lambda tf: tf.unstack(tf.constant(M)),
    "split tensor": lambda tf: tf.split(tf.constant(M), 2, 1),
    "reshape": lambda tf: tf.reshape(M, [-1]),
    "transpose": lambda tf: tf.transpose(M),
    "expand_dims": lambda tf: tf.expand_dims(M, 1),
    "squeeze": lambda tf: tf.squeeze([["a"]]),
    "tile": lambda tf: tf.tile(M, [1, 2]),
    "repeat": lambda tf: tf.repeat(["a", "b"], [2, 3]),
    "fill": lambda tf: tf.fill([2, 2], "x"),
    "fill scalar": lambda tf: tf.fill([], "x"),
    "zeros": lambda tf: tf.zeros([2], tf.string),
    "zeros_like": lambda tf: tf.zeros_like(tf.constant(M)),
    "ones_like": lambda tf: tf.ones_like(tf.constant(M)),
    "broadcast_to": lambda tf: tf.broadcast_to("a", [2, 2]),
    "broadcast_to rows": lambda tf: tf.broadcast_to(["a", "b"], [3, 2]),
    "constant shape": lambda tf: tf.constant("a", shape=[2, 2]),
    "constant empty": lambda tf: tf.constant([], tf.string),
    "constant bytes": lambda tf: tf.constant([b"a\x00", "b"]),
    "constant numpy": lambda tf: tf.constant(np.array(["a", "bé"])),
    "constant ragged": lambda tf: tf.constant([["a"], ["b", "c"]]),
    "pad": lambda tf: tf.pad(["a", "b"], [[1, 2]]),
    "reverse": lambda tf: tf.reverse(M, [0]),
    "roll": lambda tf: tf.roll(["a", "b", "c"], 1, 0),
    "boolean_mask": lambda tf: tf.boolean_mask(["a", "b", "c"], [True, False, True]),
    "unique": lambda tf: list(tf.unique(["a", "b", "a"])),
    "unique_with_counts": lambda tf: list(tf.unique_with_counts(["a", "b", "a"])),
    "index": lambda tf: [tf.constant(M)[0, 1], tf.constant(M)[:, 0], tf.constant(M)[..., ::-1]],
    "identity": lambda tf: tf.identity(tf.constant(M)),
    "size": lambda tf: [tf.size(M), tf.shape(M), tf.rank(M)],
    "scatter_nd": lambda tf: tf.scatter_nd([[1], [3]], ["a", "b"], [4]),
    "scatter update": lambda tf: tf.tensor_scatter_nd_update(["a", "b"], [[1]], ["c"]),
    "dynamic_partition": lambda tf: tf.dynamic_partition(["a", "b", "c"], [0, 1, 0], 2),
    "dynamic_stitch": lambda tf: tf.dynamic_stitch([[1], [0]], [["a"], ["b"]]),
    "slice": lambda tf: tf.slice(tf.constant(M), [0, 1], [2, 1]),
    "map_fn": lambda tf: tf.map_fn(tf.strings.upper, tf.constant(["a", "b"])),
    "sparse": lambda tf: tf.sparse.to_dense(
        tf.SparseTensor([[0, 1]], ["a"], [1, 2]), default_value=""
    ),
    "where places": lambda tf: tf.where(tf.constant(M) == "a"),
    "count_nonzero": lambda tf: tf.math.count_nonzero(tf.constant(["a", ""])),
    "variable": lambda tf: tf.Variable(["a"]).assign(["b"]),
    "string in a function": lambda tf: tf.function(
        lambda x: tf.strings.length(tf.strings.join([x, "!"]))
    )(tf.constant(["a", "bc"])),
}
# fmt: on


@pytest.mark.parametrize("name", CALLS)
def test_calls(name):
    check(CALLS[name])


LENGTHS = [*range(140), 191, 192, 193, 255, 256, 257, 1000, 4096]


def texts_of(length):
    draw = np.random.default_rng(length)
    return [draw.integers(0, 256, length).astype(np.uint8).tobytes() for _ in range(3)]


@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("function", ["fast", "plain", "strong"])
def test_hashes_of_every_length(function, length):
    def call(tf):
        texts, many = tf.constant(texts_of(length)), 2**62
        if function == "strong":
            return tf.strings.to_hash_bucket_strong(texts, many, key=[123456789, -5])
        if function == "plain":
            return tf.strings.to_hash_bucket(texts, many)
        return tf.strings.to_hash_bucket_fast(texts, many)

    check(call)


BAD_BUCKETS = {
    "none": lambda tf: tf.strings.to_hash_bucket_fast(["a"], 0),
    "negative": lambda tf: tf.strings.to_hash_bucket(["a"], -1),
    "numbers": lambda tf: tf.strings.to_hash_bucket_fast([1], 10),
    "key": lambda tf: tf.strings.to_hash_bucket_strong(["a"], 10, [1]),
    "ragged": lambda tf: tf.strings.to_hash_bucket_fast(rag(tf), 10),
    "nothing": lambda tf: tf.strings.to_hash_bucket_fast(tf.constant([], tf.string), 10),
    "scalar": lambda tf: tf.strings.to_hash_bucket_fast("a", 10),
}


@pytest.mark.parametrize("name", BAD_BUCKETS)
def test_buckets(name):
    check(BAD_BUCKETS[name])


SUBJECTS = [
    "", "a", "aaa", "baac", "Hello, World! 42", "héllo wörld", "日本語 text", "a\nb\n", "tab\tx",
    "foo.bar[baz]", "x_y-z", "¿Qué?", "<b>bold</b>", "100%", "it's",
]  # fmt: skip
PATTERNS = [
    "a", "a*", "a+", "a+?", "b|c", ".", ".*", "^", "$", "^a", "c$", "[a-c]", "[^a-c]", r"\d", r"\D",
    r"\w+", r"\W", r"\s", r"\S+", r"\b", "[[:alpha:]]", "[[:^alpha:]]", "[[:punct:]]",
    "[[:space:]x]",
    r"\pL", r"\p{Lu}", r"\PL", r"[\pP]", r"[^\pL\s]", r"\p{^N}", r"\x{65e5}", r"\x41", "(?i)HELLO",
    "(?s).", "(?m)^b", "(?m)$", r"\Aa", r"a\z", r"\Q.b\E", "(a)(b)?", "(?:ab|c)+", "(?P<n>o)",
    "x{1,2}", "a{2}", "[]a]", "[a-]", r"[\]\[]", r"[!\"#$%&()\*\+,-\./:;<=>?@\[\\\]^_`{|}~\']",
    "<[^>]+>", "[&~|]", "[a&&b]", "[--a]", "é", "[é日]", r"\.", "l+(?:o)", "a(?i)B", "|a", "(|a)+",
    "[[]", r"\t", "a??", "(?i:A)b", "[^\n]",
]  # fmt: skip
WRONG = [
    "(", ")", "[", "a**", "*a", "(?=a)", "(?!a)", "(?<=a)", r"(a)\1", r"\p{Foo}", "[b-a]", "a{2,1}",
    r"\8", "(?P<n", "[[:foo:]]", r"\pX", "a++", "(?>a)", "\\", r"\y", "x{1001}", r"\Z", r"\u0041",
]  # fmt: skip


@pytest.mark.parametrize("pattern", [*PATTERNS, *WRONG])
def test_regular_expressions(pattern):
    check(lambda tf: tf.strings.regex_replace(SUBJECTS, pattern, r"<\0>"))
    check(lambda tf: tf.strings.regex_replace(SUBJECTS, pattern, "-", replace_global=False))
    check(lambda tf: tf.strings.regex_full_match(SUBJECTS, pattern))


@pytest.mark.parametrize("rewrite", [r"\1\2", r"\\", r"\3", "\\", r"\a", "", r"$1", r"\0\0", "é"])
def test_rewrites(rewrite):
    check(lambda tf: tf.strings.regex_replace(["abc", "xyz", "ab"], "(a)(b)", rewrite))
