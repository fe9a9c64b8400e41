"""Linear algebra: products, solvers, decompositions and functions of matrices."""
