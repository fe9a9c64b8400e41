"""The table of what to use instead: every name of TensorFlow's is there or has a row, and every row
is for a name that is not there.
"""

from fnmatch import fnmatchcase
from functools import reduce

import pytest

import gradtape as tf
from gradtape.compat import sentences, tensorflow_names

OLDER = {"estimator", "contrib"}
"""What only TensorFlow 1 and the first versions of TensorFlow 2 had."""
FOLDERS = {"compiler", "core"}
"""Folders of TensorFlow's package that programs import, although they are not public."""


def there(name):
    try:
        reduce(getattr, name.split("."), tf)
    except AttributeError:
        return False
    return True


@pytest.fixture(scope="module")
def absent():
    return sorted(name for name in tensorflow_names.all_names() if not there(name))


def test_every_name_is_there_or_has_a_sentence(absent):
    assert [name for name in absent if sentences.sentence_for(name) is None] == []


def test_errors_say_these_sentences(absent):
    wrong = []
    for name in absent:
        with pytest.raises(AttributeError) as caught:
            reduce(getattr, name.split("."), tf)
        if not str(caught.value).startswith("gradtape has no tf."):
            wrong.append((name, str(caught.value)))
    assert wrong == []


def test_what_both_versions_of_tensorflow_have_is_answered_alike():
    general = sentences.rows()["compat.v1.*"]
    of_both = {
        name: sentences.sentence_for(name)
        for name in tensorflow_names.all_names()
        if not name.startswith("compat.")
        and tensorflow_names.has(f"compat.v1.{name}")
        and sentences.sentence_for(name) is not None
    }
    assert len(of_both) > 100
    answers = {name: sentences.sentence_for(f"compat.v1.{name}") for name in of_both}
    assert [name for name in answers if answers[name] == general] == []
    assert answers["image.decode_webp"] == of_both["image.decode_webp"]


def test_every_row_is_for_something_that_is_not_there(absent):
    rows = [row for row in sentences.rows() if row.rpartition(".")[2] not in OLDER | FOLDERS]
    assert [row for row in rows if not any(fnmatchcase(name, row) for name in absent)] == []


def test_keras_has_all_of_its_names():
    names = [name for name in tensorflow_names.all_names() if name.startswith("keras.")]
    assert len(names) > 1500
    assert [name for name in names if not there(name)] == []


def test_the_names_that_tapes_need_are_there(absent):
    assert len([name for name in absent if "." not in name]) < 70
    assert {"GradientTape", "Variable", "function", "constant"}.isdisjoint(absent)


def test_sentences_are_sentences():
    for sentence in sentences.rows().values():
        assert sentence.endswith("."), sentence
        assert "  " not in sentence


def test_the_longest_row_counts():
    assert "Python function" in sentences.sentence_for("compat.v1.get_default_session")
    assert "migrate" in sentences.sentence_for("compat.v1.count_up_to")


def test_only_names_of_tensorflow_have_a_sentence():
    assert sentences.sentence_for("image.decode_nonsense") is None
    assert sentences.sentence_for("lite.nonsense") is not None  # nothing of it is there


def test_the_list_knows_what_tensorflow_has():
    assert tensorflow_names.has("math.sin")
    assert tensorflow_names.has("compat.v2.math.sin")
    assert tensorflow_names.has("compat.v1.placeholder")
    assert tensorflow_names.has("keras.layers.Dense")
    assert not tensorflow_names.has("math.sinn")
    assert not tensorflow_names.has("nonsense.sin")
