"""Training steps on a GPU: gradtape's compiled function against hand-written JAX and PyTorch.

    python -m benchmarks.gpu [--torch] [--json FILE]

Two steps, each with parameters in float32, computing in bfloat16, and plain gradient descent: a
transformer (12 layers of width 768, batch 16, length 512) and a residual convolutional network
(batch 128, 32 x 32 images). The three libraries start from the same numbers; losses are compared
before anything is timed.
"""
