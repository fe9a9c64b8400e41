"""The XLA engine, through JAX, which is imported when it is first used."""
