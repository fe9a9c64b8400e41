"""The NumPy engine: eager code on the CPU."""
