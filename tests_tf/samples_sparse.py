"""Rows of tf.sparse.

A sparse tensor is made of the values that are differentiated, and its result is compared dense.
"""

from table import fixed, real, row

INDICES = fixed([[0, 1], [1, 0], [1, 2]], "int64")
OTHERS = fixed([[0, 0], [1, 0], [1, 1]], "int64")


def sparse(tf, values, indices):
    return tf.sparse.SparseTensor(indices, values, [2, 3])


def dense(tf, found):
    return tf.sparse.to_dense(found)


ROWS = [
    row("tf.sparse.SparseTensor", real(3), INDICES,
        call=lambda tf, v, i: [(s := sparse(tf, v, i)).values * 2.0, s.indices, s.shape]),
    row("tf.sparse.to_dense", real(3), INDICES, call=lambda tf, v, i: dense(tf, sparse(tf, v, i))),
    row("tf.sparse.to_dense", real(3), INDICES, note="default",
        call=lambda tf, v, i: tf.sparse.to_dense(sparse(tf, v, i), 7.0)),
    row("tf.sparse.from_dense", real(2, 3),
        call=lambda tf, x: [(s := tf.sparse.from_dense(x)).values * s.values, s.indices]),
    row(
        "tf.sparse.add", real(3), INDICES, real(3), OTHERS,
        call=lambda tf, v, i, w, j: dense(tf, tf.sparse.add(sparse(tf, v, i), sparse(tf, w, j))),
    ),
    row("tf.sparse.add", real(3), INDICES, real(2, 3), note="dense",
        call=lambda tf, v, i, x: tf.sparse.add(sparse(tf, v, i), x)),
    row("tf.sparse.reduce_sum", real(3), INDICES,
        call=lambda tf, v, i: tf.sparse.reduce_sum(sparse(tf, v * v, i), axis=1)),
    row("tf.sparse.reduce_sum", real(3), INDICES, note="all",
        call=lambda tf, v, i: tf.sparse.reduce_sum(sparse(tf, v * v, i))),
    row(
        "tf.sparse.reorder", real(3), fixed([[1, 2], [0, 1], [1, 0]], "int64"),
        call=lambda tf, v, i: [(s := tf.sparse.reorder(sparse(tf, v * v, i))).values, s.indices],
    ),
    row("tf.sparse.transpose", real(3), INDICES,
        call=lambda tf, v, i: dense(tf, tf.sparse.transpose(sparse(tf, v * v, i)))),
    row("tf.cast", real(3), INDICES, note="sparse",
        call=lambda tf, v, i: dense(tf, tf.cast(sparse(tf, v * v, i), "float64"))),
    row("tf.sparse.softmax", real(3), INDICES,
        call=lambda tf, v, i: dense(tf, tf.sparse.softmax(sparse(tf, v, i)))),
    row(
        "tf.sparse.sparse_dense_matmul", real(3), INDICES, real(3, 2),
        call=lambda tf, v, i, b: tf.sparse.sparse_dense_matmul(sparse(tf, v, i), b),
    ),
    row(
        "tf.sparse.sparse_dense_matmul", real(3), INDICES, real(2, 2), note="adjoint",
        call=lambda tf, v, i, b: tf.sparse.sparse_dense_matmul(sparse(tf, v, i), b, adjoint_a=True),
    ),
    *(
        row(f"tf.sparse.segment_{kind}", real(4, 2),
            call=lambda tf, x, kind=kind:
                getattr(tf.sparse, f"segment_{kind}")(x * x, [0, 3, 3], [0, 0, 1]))
        for kind in ("sum", "mean", "sqrt_n")
    ),
]  # fmt: skip
