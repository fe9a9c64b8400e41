"""The workloads in gradtape."""

from functools import partial

import gradtape as tf
from benchmarks.libraries import with_a_tape

small_mlp = partial(with_a_tape.small_mlp, tf)
chain = partial(with_a_tape.chain, tf)
large_mlp = partial(with_a_tape.large_mlp, tf)
adds = partial(with_a_tape.adds, tf)
