"""`GradientTape(memory_limit=...)`: what a recording saved is dropped, and computed again later.

`plan` decides what is dropped, `segments` drops and restores it, and `calls` knows which kernels
made it; `recording` is what the tape makes. Only a tape with a limit imports this.
"""
