"""Reads what core recorded, to explain it: why a gradient is None or NaN, what keeps memory alive,
where time goes. It changes nothing.
"""
