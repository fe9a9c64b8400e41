"""`tf.function` and control flow on tensors: plain Python in eager code, XLA in compiled
functions.
"""
