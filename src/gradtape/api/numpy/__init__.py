"""NumPy's functions on Tensors, one file for each family, and the protocols through which NumPy
itself calls them.
"""
