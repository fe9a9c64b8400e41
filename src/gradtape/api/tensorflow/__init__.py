"""TensorFlow's functions: its names, argument names and defaults, over the ops.

Arguments are checked and made canonical here (an axis becomes a tuple of non-negative integers, a
shape a tuple), so the ops below need no checks of their own. `gradtape`, `gradtape.math`,
`gradtape.nn` and the other namespaces only re-export these functions.
"""
