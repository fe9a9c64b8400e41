"""Control flow on tensors: plain Python in eager code."""
