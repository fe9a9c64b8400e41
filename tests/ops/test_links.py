"""Links between the elements of an op's arguments and those of its result, as ops declare them."""

import numpy as np
from scipy.sparse import csr_array

from gradtape.ops.links import Link, aligned, pairs


def test_links_are_products_of_matrices_both_ways():
    link = aligned((2, 3), "ij", (3, 4), "jk")
    dense = np.einsum("jl,i,k->ijlk", np.eye(3), np.ones(2), np.ones(4)).reshape(6, 12) > 0
    eye = lambda n: csr_array(np.eye(n, dtype=bool))
    np.testing.assert_array_equal(link.push(eye(12)).toarray(), dense)
    np.testing.assert_array_equal(link.pull(eye(6)).toarray(), dense.T)
    several = Link(pairs([0, 0, 1], [0, 1, 2], 2, 3), pairs([1], [0], 4, 2))
    np.testing.assert_array_equal(
        several.push(eye(3)).toarray(), np.eye(4)[[1]].T @ [[1, 1, 0]] > 0
    )
