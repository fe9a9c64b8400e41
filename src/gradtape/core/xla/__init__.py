"""Tensors and Variables on XLA: their values on devices, in programs that are being traced, and
while they are written.
"""
