"""What `GradientTape(memory_limit=...)` costs and saves: `python -m benchmarks.memory_limit`.

A network of 200 layers, whose recording saves 2 GB, takes training steps with and without a limit.
Each has a process of its own, and the two take their steps in turns, so that both see the same
machine; the time, on the clock and of the processor, is the median of the ratios. The memory is the
most that a step takes besides weights, inputs and Python itself: of the process (`VmHWM`), and, in
steps of their own, of what Python and NumPy ask for (`tracemalloc`). The gradients must be equal to
the last bit.
"""

import argparse
import hashlib
import json
import subprocess
import sys
import tracemalloc
from pathlib import Path
from statistics import median
from time import perf_counter, process_time
from typing import Any

import numpy as np

import gradtape as tf

LAYERS, WIDTH, ELEMENTS = 200, 128, 20480 * 128
LIMIT = "400MB"
SLOWER = 1.5  # times the time without a limit
STEPS = 5


class Network:
    """A deep network, and a step that trains it."""

    def __init__(self, limit: str | None, width: int) -> None:
        random = np.random.default_rng(0)
        scale = np.float32(np.sqrt(2 / width))  # as He and others do: nothing vanishes
        self.weights = [
            tf.Variable(scale * random.standard_normal((width, width), np.float32))
            for _ in range(LAYERS)
        ]
        self.biases = [tf.Variable(np.zeros(width, np.float32)) for _ in range(LAYERS)]
        self.x = tf.constant(random.standard_normal((ELEMENTS // width, width), np.float32))
        self._limit = limit

    def step(self) -> tuple[str, int]:
        """The gradients' digest, and how many bytes the recording would save in all."""
        with tf.GradientTape(memory_limit=self._limit) as tape:
            hidden = self.x
            for weight, bias in zip(self.weights, self.biases, strict=True):
                hidden = tf.nn.relu(hidden @ weight + bias)
            loss = tf.reduce_mean(tf.square(hidden))
            del hidden
        found = tape.memory()
        variables = self.weights + self.biases
        gradients = tape.gradient(loss, variables)
        digest = hashlib.sha256()
        for variable, gradient in zip(variables, gradients, strict=True):
            digest.update(gradient.numpy().tobytes())
            variable.assign_sub(1e-3 * gradient)
        return digest.hexdigest(), found.total + found.dropped


def resident(field: str) -> int:
    """`VmRSS` or `VmHWM` of this process, in bytes; 0 where the system does not tell."""
    try:
        lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    except OSError:
        return 0
    return next((1024 * int(line.split()[1]) for line in lines if line.startswith(field)), 0)


def work(limit: str | None, width: int) -> None:
    """Takes a step for each line that comes in, and says what it took."""
    network = Network(limit, width)
    before = resident("VmRSS")
    for line in sys.stdin:
        if line.strip() == "trace":
            tracemalloc.start()
        start, cpu_start = perf_counter(), process_time()
        digest, saved = network.step()
        seconds, cpu = perf_counter() - start, process_time() - cpu_start
        traced = tracemalloc.get_traced_memory()[1] if tracemalloc.is_tracing() else 0
        tracemalloc.stop()
        answer = [seconds, cpu, resident("VmHWM") - before, traced, digest, saved]
        print(json.dumps(answer), flush=True)


class Worker:
    """A process that takes steps when it is asked to."""

    def __init__(self, limit: str | None, width: int) -> None:
        options = ["--work", limit or "", "--width", str(width)]
        command = [sys.executable, "-m", "benchmarks.memory_limit", *options]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def step(self, kind: str = "time") -> list[Any]:
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None
        assert stdout is not None
        stdin.write(kind + "\n")
        stdin.flush()
        return json.loads(stdout.readline())

    def close(self) -> None:
        self._process.communicate()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--work")
    parser.add_argument("--limit", default=LIMIT)
    parser.add_argument("--width", type=int, default=WIDTH, help="wide layers compute more")
    parser.add_argument("--steps", type=int, default=STEPS)
    options = parser.parse_args()
    if options.work is not None:
        work(options.work or None, options.width)
        return
    free, limited = Worker(None, options.width), Worker(options.limit, options.width)
    pairs = []
    for number in range(options.steps + 1):
        pair = free.step(), limited.step()
        assert pair[0][4] == pair[1][4], "the gradients differ"
        if number:  # the first step meets memory that the process has not used yet
            pairs.append(pair)
    (_, _, peak_free, _, _, saved), (_, _, peak, _, _, _) = pairs[-1]
    traced_free, traced = free.step("trace")[3], limited.step("trace")[3]
    free.close()
    limited.close()
    ratio, cpu_ratio = (
        median(with_limit[i] / without[i] for without, with_limit in pairs) for i in (0, 1)
    )
    size = f"{LAYERS} layers of {options.width}, batch {ELEMENTS // options.width}"
    print(f"{size}: the recording saves {saved / 1e6:.0f} MB")
    for name, seconds, process, python in (
        ("no limit", median(pair[0][0] for pair in pairs), peak_free, traced_free),
        (options.limit, median(pair[1][0] for pair in pairs), peak, traced),
    ):
        print(
            f"    {name}: {seconds:.2f} s a step; at most {process / 1e6:.0f} MB of the process, "
            f"{python / 1e6:.0f} MB by tracemalloc"
        )
    note = "" if ratio <= SLOWER else f"   more than {SLOWER}"
    print(f"    time with the limit / without: {ratio:.2f}{note}; of the processor {cpu_ratio:.2f}")
    print("    the gradients are equal to the last bit")


if __name__ == "__main__":
    main()
