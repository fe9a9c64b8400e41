"""Assertions, printing, and checks of values and gradients."""
