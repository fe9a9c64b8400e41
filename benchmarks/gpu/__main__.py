"""Runs the steps in turn, interleaved, and prints one table; see the package's docstring."""

from __future__ import annotations

import argparse
import importlib
import json
import time
from pathlib import Path

import jax

from benchmarks.gpu import models

ROUNDS, STEPS = 8, 20


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--torch", action="store_true", help="measure PyTorch too")
    parser.add_argument("--json", type=Path, help="write the results into this file")
    parser.add_argument(
        "--scale", type=float, default=1.0, help="make the networks smaller, to try the script out"
    )
    given = parser.parse_args()
    names = ["jax", "gradtape", *(["torch"] if given.torch else [])]
    libraries = {name: importlib.import_module(f"benchmarks.gpu.in_{name}") for name in names}
    results = {
        "device": str(jax.devices()[0].device_kind),
        "jax": jax.__version__,
        "milliseconds": {},
    }
    if given.torch:
        results["torch"] = importlib.import_module("torch").__version__
    for task in ("transformer", "residual"):
        times = results["milliseconds"][task] = measure(libraries, task, given.scale)
        print(
            f"{task}: "
            + ", ".join(
                f"{name} {value:.2f} ms ({value / times['jax']:.3f})"
                for name, value in times.items()
            )
        )
        if given.json:
            given.json.write_text(json.dumps(results, indent=2) + "\n")


def measure(libraries: dict, task: str, scale: float) -> dict[str, float]:
    """Best time of a step in each library, after a check that the first losses agree."""
    steps, losses, first = {}, {}, {}
    for name, library in libraries.items():
        steps[name] = library.step(getattr(models, task)(scale), library.LOSSES[task])
        start = time.perf_counter()
        losses[name] = [library.ready(steps[name]()) for _ in range(3)]
        first[name] = time.perf_counter() - start
    print(f"{task}: losses {losses}; first three steps took {first}", flush=True)
    for name, found in losses.items():
        for ours, theirs in zip(found, losses["jax"], strict=True):
            if abs(ours - theirs) > 0.02 * abs(theirs):
                raise SystemExit(
                    f"{task}: the losses of {name} differ from JAX's: {found}, {losses['jax']}"
                )
    best = dict.fromkeys(steps, float("inf"))
    for _ in range(ROUNDS):
        for name, run in steps.items():
            libraries[name].ready(run())
            start = time.perf_counter()
            for _ in range(STEPS):
                loss = run()
            libraries[name].ready(loss)
            best[name] = min(best[name], (time.perf_counter() - start) / STEPS * 1e3)
    return best


if __name__ == "__main__":
    main()
