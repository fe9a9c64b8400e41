"""The array libraries that kernels run on. NumPy is embedded; others are loaded when they are used.

An engine binds a kernel, which is written once over an array namespace `xp`, to its own namespace.
"""
