"""`tf.name_scope`: nested, absolute, entered again, and left by an exception."""

import pytest

import gradtape as tf


def test_name_scopes():
    with tf.name_scope("a") as outer:
        assert outer == "a/"
        with tf.name_scope("b") as inner:
            assert inner == "a/b/"
        with tf.name_scope("c/") as absolute:
            assert absolute == "c/"
        with tf.name_scope("") as root:
            assert root == ""
        again = tf.name_scope("b")
        assert again.name == "b"
        with again as first, again as second:
            assert (first, second) == ("a/b/", "a/b/b/")
        with pytest.raises(KeyError), tf.name_scope("lost"):
            raise KeyError
        with tf.name_scope("d") as after:
            assert after == "a/d/"
    for wrong in (None, 3):
        with pytest.raises(ValueError, match="string"):
            tf.name_scope(wrong)
