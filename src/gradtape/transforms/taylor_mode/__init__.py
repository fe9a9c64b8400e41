"""`GradientTape.derivatives`: higher partial derivatives by one forward walk with truncated Taylor
series.
"""
