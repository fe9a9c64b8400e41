"""Tensors, Variables, Nodes, tapes and the walks over what they recorded. No op is defined here."""
