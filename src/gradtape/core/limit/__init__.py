"""`GradientTape(memory_limit=...)`: what a recording saved is dropped, and computed again later.

`plan` decides what is dropped, `segments` drops and restores it, and `calls` knows which kernels
made it. Only a tape with a limit imports this.
"""
