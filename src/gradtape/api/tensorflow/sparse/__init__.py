"""Sparse tensors: making them, and mathematics on them."""
