"""`GradientTape(memory_limit=...)`: drops what a recording saved, and computes it again in the walk.

`plan` decides what is dropped, `segments` drops and restores it, and `calls` knows which kernels
made it. Only a tape with a limit imports this.
"""
