"""Transformations of functions and tapes: custom gradients, recomputation, Jacobians.

Built on core and ops.
"""
