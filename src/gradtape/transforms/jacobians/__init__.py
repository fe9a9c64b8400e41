"""`GradientTape.jacobian`, `batch_jacobian` and `gradient_per_example`: many rows of cotangents, or
of tangents, in one walk.
"""
