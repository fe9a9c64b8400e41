"""`GradientTape.sparsity` and sparse Jacobians: which elements depend on which, and how few
products tell their derivatives.
"""
