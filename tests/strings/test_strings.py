"""`tf.strings`: hashes that TensorFlow has computed, regular expressions, functions, and bad input;
`tests_tf/test_strings.py` compares all functions with TensorFlow's.
"""

import codecs
import ctypes
import itertools
import threading

import numpy as np
import pytest

import gradtape as tf

INVALID = tf.errors.InvalidArgumentError

HASHES = {
    0: (1936946117179621455, 105434511174508091, 443797209252341627),
    1: (550085751958558782, 2499542889307245882, 4365220300980176642),
    3: (50737162503519588, 664798910978920875, 4565641951008766667),
    4: (74291032824012392, 1071300106493060473, 3017298630766364753),
    7: (3398365883158499592, 3552175740516232787, 2400118067033179709),
    8: (3403648104430010920, 1792776028251320487, 573619684272792544),
    16: (663651183927826904, 995847565073455182, 1748100174260822229),
    17: (3125010364355856015, 3561695271940059064, 3283781455520671934),
    32: (3992320350721670009, 2782484674102228036, 2898457898083507100),
    33: (3233698670931835597, 3102851608180839949, 367136090311788102),
    64: (1859692024977922284, 2817797733315875061, 2798266876038377283),
    65: (444801980686921533, 799619217219469469, 2323018304374953427),
    128: (2003798058489048521, 2197624490377029079, 2587001308437498367),
    129: (455335815384283847, 247932997590592149, 1910641521744185725),
    300: (3886849482814154722, 2198150325883599006, 106050501943255048),
}
"""TensorFlow's hashes of a text of each length: FarmHash, its own older one, SipHash."""


@pytest.mark.parametrize("length", HASHES)
def test_hashes(length):
    text = bytes((7 * i + length) % 256 for i in range(length))
    found = (
        tf.strings.to_hash_bucket_fast(text, 2**62),
        tf.strings.to_hash_bucket(text, 2**62),
        tf.strings.to_hash_bucket_strong(text, 2**62, key=[1, 2]),
    )
    assert tuple(int(each) for each in found) == HASHES[length]


def test_strings_of_many_lengths_are_hashed_together():
    draw = np.random.default_rng(0)
    texts = [b"x" * n for n in draw.integers(0, 200, 500)]
    together = tf.strings.to_hash_bucket_fast(texts, 10**9).numpy()
    alone = [int(tf.strings.to_hash_bucket_fast(text, 10**9)) for text in texts]
    assert together.tolist() == alone


@pytest.mark.parametrize(
    ("pattern", "text", "expected"),
    [
        ("a*", "baac", "-b-c-"),
        ("$", "a\n", "a\n-"),
        (r"[[:punct:]]", "a.b!", "a-b-"),
        (r"\pL+", "né1", "-1"),
        (r"\x{e9}", "né", "n-"),
        ("[&~|]", "a&b", "a-b"),
        ("(?i)A", "aA", "--"),
        ("b(?i)A", "ba bA BA", "- - BA"),
        (".", "é", "-"),
    ],
)
def test_patterns_mean_what_re2_says(pattern, text, expected):
    assert tf.strings.regex_replace(text, pattern, "-").numpy().decode() == expected


def test_bytes_that_are_no_text_are_kept():
    assert tf.strings.regex_replace(b"a\xff!", "a", "b").numpy() == b"b\xff!"


@pytest.mark.parametrize(
    ("call", "error", "says"),
    [
        (lambda: tf.strings.lower(1), TypeError, "lower: input"),
        (lambda: tf.strings.lower(tf.constant(1)), INVALID, "as_string"),
        (lambda: tf.strings.lower("a", encoding="latin-1"), INVALID, "encoding"),
        (lambda: tf.strings.length("a", unit="WORD"), INVALID, "UTF8_CHAR"),
        (lambda: tf.strings.substr("abc", 4, 1), INVALID, "pos 4"),
        (lambda: tf.strings.substr("abc", [0, 1], 1), ValueError, "same shape"),
        (lambda: tf.strings.split("a", [",", ";"]), INVALID, "sep"),
        (lambda: tf.strings.split("a", maxsplit=-2), INVALID, "maxsplit"),
        (lambda: tf.strings.join("abc"), TypeError, "list"),
        (lambda: tf.strings.join([["a"], ["b", "c"]]), INVALID, "shape"),
        (lambda: tf.strings.reduce_join(["a"], axis=1), tf.errors.OutOfRangeError, "axis=1"),
        (lambda: tf.strings.regex_replace("a", "(?=a)", ""), INVALID, "RE2 has no group"),
        (lambda: tf.strings.regex_replace("a", r"(a)\1", ""), INVALID, "references back"),
        (lambda: tf.strings.regex_replace("a", "[", ""), INVALID, "missing ]"),
        (lambda: tf.strings.regex_replace("a", r"\p{Greek}", ""), INVALID, "no scripts"),
        (lambda: tf.strings.to_number("1_0"), INVALID, "1_0"),
        (lambda: tf.strings.to_number("300", tf.uint8), INVALID, "out_type"),
        (lambda: tf.strings.to_hash_bucket_fast("a", 0), INVALID, "num_buckets"),
        (lambda: tf.strings.to_hash_bucket_strong("a", 2, [1]), INVALID, "key"),
        (lambda: tf.strings.as_string([1], fill="x"), INVALID, "fill"),
        (lambda: tf.strings.as_string([1], precision=1), INVALID, "floats"),
        (lambda: tf.strings.format("{}", [1, 2]), ValueError, "placeholders"),
        (lambda: tf.strings.unicode_decode("a", "klingon"), INVALID, "klingon"),
        (lambda: tf.strings.unicode_decode(b"\xff", "UTF-8", errors="strict"), INVALID, "byte 0"),
        (lambda: tf.strings.unicode_encode([1], "latin-1"), ValueError, "UTF-16-BE"),
        (lambda: tf.strings.unicode_script([97]), NotImplementedError, "script"),
        (lambda: tf.strings.ngrams(["a"], 0), ValueError, "ngram_width"),
    ],
)
def test_bad_input_is_refused_by_name(call, error, says):
    with pytest.raises(error, match=says):
        call()


@pytest.mark.parametrize("shape", [(0,), (0, 3), (2, 0)])
def test_no_strings(shape):
    nothing = tf.zeros(shape, tf.string)
    for function in (tf.strings.lower, tf.strings.length, tf.strings.strip):
        assert function(nothing).shape == shape
    assert tf.strings.split(nothing).shape.rank == len(shape) + 1
    assert tf.strings.to_hash_bucket_fast(nothing, 3).shape == shape
    assert tf.strings.join([nothing, "a"]).shape == shape


def test_strings_of_a_function_are_its_constants():
    f = tf.function(lambda x: tf.strings.to_hash_bucket_fast(x, 100) + 1)
    assert f(tf.constant(["a", "bc"])).numpy().tolist() == [40, 80]
    assert f(tf.constant(["bc", "a"])).numpy().tolist() == [80, 40]


def test_numbers_of_a_function_become_strings_op_by_op():
    f = tf.function(lambda x: tf.strings.as_string(x * 2, precision=1))
    assert f(tf.constant([1.5])).numpy().tolist() == [b"3.0"]


def test_inputs_are_not_changed():
    texts = np.array([b" A ", b"b"], object)
    x = tf.constant(texts)
    for function in (tf.strings.lower, tf.strings.strip, lambda x: x + "!"):
        function(x)
    assert x.numpy().tolist() == texts.tolist() == [b" A ", b"b"]


def test_one_string_in_a_tensor_is_bytes():
    """Not an array around them."""
    for made in (tf.fill([2], "x"), tf.broadcast_to("x", [2]), tf.constant("x", shape=[2])):
        assert [type(text) for text in made.numpy()] == [bytes, bytes]


def test_threads():
    found = []

    def work():
        found.append(tf.strings.split(["a b"] * 50).to_list())

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(rows == [[b"a", b"b"]] * 50 for rows in found)


UNKNOWN_VALUES = {
    "as_string": lambda x: tf.strings.as_string(x),
    "format": lambda x: tf.strings.format("{}", x),
    "unicode_encode": lambda x: tf.strings.unicode_encode(x, "UTF-8"),
    "where": lambda x: tf.where(tf.ragged.constant([[True], [False]]).with_values(x > 1)),
    "boolean_mask": lambda x: tf.boolean_mask(tf.ragged.constant([[1], [2, 3]]), x > 1),
    "bincount": lambda x: tf.math.bincount(tf.RaggedTensor.from_row_lengths(x, [1, 1]), axis=-1),
    "row": lambda x: tf.RaggedTensor.from_row_lengths(x, x)[0],
}


@pytest.mark.parametrize("function", UNKNOWN_VALUES.values(), ids=UNKNOWN_VALUES)
def test_a_value_that_must_be_known_in_a_function_says_once_what_to_do(function):
    with pytest.raises(TypeError, match="must be known") as raised:
        tf.function(function, jit_compile=True)(tf.constant([1, 1]))
    assert str(raised.value).count("outside the function") == 1


PRINTED = [
    tf.constant(values, dtype)
    for dtype, values in {
        "float64": [0.0, -0.0, 1.5, -3.14159, 1e20, 1e-20, np.inf, -np.inf, np.nan],
        "int64": [0, 7, -22, 2**40],
        "uint8": [0, 200],
    }.items()
]


def printed_in_c(form, value):
    """What C's printf makes of a number, as TensorFlow does."""
    room = ctypes.create_string_buffer(400)
    kind = ctypes.c_double if isinstance(value, float) else ctypes.c_longlong
    ctypes.CDLL(None).snprintf(room, len(room), form.encode(), kind(value))
    return room.value


@pytest.mark.parametrize("numbers", PRINTED, ids=lambda numbers: numbers.dtype.name)
@pytest.mark.parametrize("fill", ["", " ", "+", "-", "0", "#"])
def test_numbers_are_printed_as_in_c(numbers, fill):
    kinds = {"float64": "feg", "int64": ["lld"], "uint8": ["hhu"]}[numbers.dtype.name]
    precisions = (-1, 0, 3) if numbers.dtype.is_floating else (-1,)
    for width, precision, kind in itertools.product((-1, 0, 5, 12), precisions, kinds):
        found = tf.strings.as_string(
            numbers, precision, kind == "e", kind == "g", width, fill
        ).numpy()
        form = f"%{fill}{width if width >= 0 else ''}{f'.{precision}' * (precision >= 0)}{kind}"
        assert found.tolist() == [printed_in_c(form, value) for value in numbers.numpy().tolist()]


def test_complex_numbers_are_printed_as_their_parts():
    found = tf.strings.as_string(tf.constant([complex(np.nan, -1)]), width=8, fill="0")
    assert found.numpy().tolist() == [b"(     nan,-1.000000)"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (bytes(range(32)), None),
        (b'it\'s "x" \\', rb"""it\'s \"x\" \\"""),
        (b"\x7f \xff \xc3\xa9", b"\\177 \xff \xc3\xa9"),
        (b"\x0012 \n\r\t", rb"\00012 \n\r\t"),
    ],
)
def test_texts_in_quotes_can_be_read_back(text, expected):
    found = tf.strings.format("{}", tf.constant(text)).numpy()
    in_vector = tf.strings.format("{}", tf.constant([text])).numpy()
    assert in_vector == b"[" + found + b"]"
    assert codecs.escape_decode(found[1:-1])[0] == text
    assert expected is None or found == b'"' + expected + b'"'
