"""`GradientTape.sparsity` and sparse Jacobians: which elements depend on which, and their
derivatives from a few products.
"""
