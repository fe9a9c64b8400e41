"""The workloads in tinygrad on the CPU, each step under its TinyJit,
which keeps the kernels of the second call.
"""

from tinygrad import TinyJit

from benchmarks.libraries import compiled, in_tinygrad

STEPS = compiled(in_tinygrad.STEPS, TinyJit)
