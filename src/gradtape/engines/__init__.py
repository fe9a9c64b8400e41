"""The array libraries that kernels run on. NumPy is always loaded; others when they are first used.

An engine binds a kernel, which is written once over an array namespace `xp`, to its own namespace.
"""
