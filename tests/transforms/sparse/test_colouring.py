"""Columns of one colour share no row, and there are few colours."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array, random_array

from gradtape.transforms.sparse.colouring import colour_columns

rng = np.random.default_rng(5)


@st.composite
def patterns(draw):
    shape = draw(st.tuples(st.integers(0, 12), st.integers(0, 12)))
    return csr_array(
        np.array(
            draw(
                st.lists(st.booleans(), min_size=shape[0] * shape[1], max_size=shape[0] * shape[1])
            ),
            bool,
        ).reshape(shape)
    )


def conflicts(pattern, colours):
    """Whether two columns of one colour share a row."""
    chosen = csr_array(
        (np.ones(len(colours), int), (np.arange(len(colours)), colours)),
        shape=(len(colours), max(colours, default=0) + 1),
    )
    return (pattern.astype(int) @ chosen).max() > 1 if pattern.nnz else False


@settings(deadline=None)
@given(patterns())
def test_columns_of_one_colour_share_no_row(pattern):
    colours, count = colour_columns(pattern)
    assert colours.shape == (pattern.shape[1],)
    assert not conflicts(pattern, colours)
    assert count == max(colours, default=-1) + 1
    assert count >= np.diff(pattern.indptr).max(initial=0)
    again, _ = colour_columns(pattern.copy())
    np.testing.assert_array_equal(again, colours)


def test_the_check_of_colours_sees_a_conflict():
    assert conflicts(csr_array(np.ones((1, 2), bool)), np.zeros(2, int))


@pytest.mark.parametrize(("density", "most"), [(0.002, 12), (0.02, 70)])
def test_colours_of_large_random_patterns(density, most):
    pattern = (
        random_array((800, 1000), density=density, rng=np.random.default_rng(3)) != 0
    ).tocsr()
    colours, count = colour_columns(pattern)
    assert not conflicts(pattern, colours)
    assert count <= most


def test_too_many_pairs_of_columns_are_not_listed():
    pattern = np.zeros((60, 3000), bool)
    pattern[:, :2999] = rng.random((60, 2999)) < 0.5
    pattern[0] = rng.random(3000) < 0.9
    colours, count = colour_columns(csr_array(pattern))
    assert not conflicts(csr_array(pattern), colours)
    assert count < 3000
