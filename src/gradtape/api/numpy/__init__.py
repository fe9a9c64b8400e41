"""NumPy's functions on Tensors, a file for each family,
and the protocols by which NumPy itself calls them.
"""
