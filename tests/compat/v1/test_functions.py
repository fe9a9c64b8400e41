"""Functions of `tf.compat.v1` that mean something else today, or are there no longer.

`tests_tf/test_compat.py` compares them with TensorFlow.
"""

import pytest

import gradtape as tf

v1 = tf.compat.v1
X = tf.constant([[1.0, 2.0], [3.0, 4.0]])


def test_casts_and_division():
    assert v1.to_float([1, 2]).dtype == tf.float32
    assert v1.to_int64([1.5]).dtype == tf.int64
    assert v1.div(7, 2).numpy() == 3
    assert v1.div(-7, 2).numpy() == -4
    assert v1.div(7.0, 2.0).numpy() == 3.5


def test_a_vector_chooses_rows():
    found = v1.where([True, False], X, -X).numpy().tolist()
    assert found == [[1.0, 2.0], [-3.0, -4.0]]
    assert v1.where([[True, False], [False, True]], X, -X).numpy().tolist() == [[1, -2], [-3, 4]]
    assert v1.where([False, True]).numpy().tolist() == [[1]]
    with pytest.raises(ValueError, match=r"must have one shape.*tf\.where broadcasts"):
        v1.where([True, False], X, 0.0)


def test_dropout_by_what_is_kept():
    assert v1.nn.dropout(X, keep_prob=1.0).numpy().tolist() == X.numpy().tolist()
    kept = v1.nn.dropout(tf.ones(10_000), 0.25).numpy()
    assert set(kept.tolist()) == {0.0, 4.0}
    assert kept.mean() == pytest.approx(1.0, abs=0.15)
    for wrong in ({}, {"keep_prob": 0.5, "rate": 0.5}):
        with pytest.raises(ValueError, match="give keep_prob or rate"):
            v1.nn.dropout(X, **wrong)


def test_no_gradient_goes_to_labels():
    labels, logits = tf.Variable([[0.0, 1.0]]), tf.Variable([[1.0, 2.0]])
    with tf.GradientTape() as tape:
        loss = v1.nn.softmax_cross_entropy_with_logits(labels=labels, logits=logits)
    by_labels, by_logits = tape.gradient(loss, [labels, logits])
    assert by_labels is None
    assert by_logits is not None


def test_an_embedding_is_one_table():
    assert v1.nn.embedding_lookup([X], [1]).numpy().tolist() == [[3.0, 4.0]]
    with pytest.raises(ValueError, match="2 parts"):
        v1.nn.embedding_lookup([X, X], [1])


def test_variables():
    w = tf.Variable([1.0, 2.0, 3.0])
    v1.assign(w, [1.0, 1.0, 1.0])
    v1.assign_add(w, [1.0, 2.0, 3.0])
    v1.assign_sub(w, [0.5, 0.5, 0.5])
    assert w.numpy().tolist() == [1.5, 2.5, 3.5]
    v1.scatter_update(w, [0], [9.0])
    v1.scatter_add(w, [1], [1.0])
    v1.scatter_nd_update(w, [[2]], [0.0])
    assert w.numpy().tolist() == [9.0, 3.5, 0.0]


def test_the_rest(capsys):
    assert v1.nn.xw_plus_b(X, X, [1.0, 1.0]).numpy().tolist() == [[8.0, 11.0], [16.0, 23.0]]
    assert v1.nn.relu_layer(X, -X, [0.0, 0.0]).numpy().max() == 0
    assert v1.batch_gather(X, [[1], [0]]).numpy().tolist() == [[2.0], [3.0]]
    assert v1.Print(X, [tf.constant(5)], message="five: ") is not None
    assert "five:  5" in capsys.readouterr().err
    with v1.colocate_with(X):
        pass
    slices = tf.IndexedSlices(X, [0, 1])
    assert v1.convert_to_tensor_or_indexed_slices(slices) is slices
    assert v1.clip_by_average_norm(X, 0.5).numpy().max() == pytest.approx(4 * 0.5 * 4 / 30**0.5)
