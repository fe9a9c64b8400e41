"""Runs all benchmarks: `make bench`.

The environment variable QUICK=1 makes it a matter of two minutes, and leaves the page and the
README as they are.
"""

import os
from time import perf_counter

from benchmarks import (
    aims,
    clang,
    document,
    import_time,
    installed_size,
    memory,
    profile,
    readme,
    report,
    timing,
)
from benchmarks.libraries import Contender, here
from benchmarks.results import Results, load, machine, versions
from benchmarks.sections import SECTIONS
from benchmarks.timing import FULL, QUICK
from benchmarks.workers import Worker
from benchmarks.workloads import IN_MEMORY, TIMED, TRAINING

BUSY = 0.5  # the load average above which other work takes the cores that are being timed


def measure(contenders: list[Contender], results: Results) -> None:
    """Fills in everything that is measured."""
    effort = QUICK if results.quick else FULL
    workers = [Worker(contender) for contender in contenders]
    for workload in TIMED:
        print(f"measuring: {workload.title}", flush=True)
        found = timing.times(workload, workers, effort)
        results.steps[workload.name], results.first_calls[workload.name] = (
            found.step,
            found.first_call,
        )
    for worker in workers:
        worker.close()
    named = [contender for contender in contenders if contender.title in aims.MEASURED_IN_MEMORY]
    for workload in IN_MEMORY:
        if not results.quick or workload in TRAINING:
            print(f"measuring: memory of {workload.title}", flush=True)
            results.memory[workload.name] = memory.peaks(
                workload, named if results.quick else contenders, effort.memory_processes
            )
    print("measuring: imports, sizes and the parts of a step", flush=True)
    results.imports = import_time.times(contenders, effort.imports)
    results.sizes = installed_size.sizes(contenders)
    results.profile = {name: profile.parts(name) for name in profile.MODELS}
    for section in SECTIONS:
        print(f"measuring: {section.title}", flush=True)
        results.tables |= section.measure(results.quick)


def show(results: Results) -> None:
    steps, compiled = results.steps, report.taking_part(results.steps, compiled=True)
    first = {
        name: {title: row[title] for title in compiled if title in row}
        for name, row in results.first_calls.items()
    }
    tables = [
        ("How many times as long as gradtape each takes: above 1, gradtape is faster.",
            report.ratios(steps, report.taking_part(steps))),
        ("The first call of what is compiled.", report.quantities(first, compiled, "ms")),
        ("Memory at the peak of a step.",
            report.quantities(results.memory, report.taking_part(results.memory), "MB")),
        ("", report.packages(results)),
        *((f"Where the time of an eager step goes: {report.title(name)}.",
            profile.table(parts)) for name, parts in results.profile.items()),
        *((f"{section.title}: {heading.removesuffix(':')}.",
            report.table_of(results.tables.get(name, {}), section.unit))
            for section in SECTIONS for name, heading in section.tables.items()),
        ("Aims.", document.aims_table(results)),
    ]  # fmt: skip
    print(f"\n{report.headed(tables)}\n")
    missed = [outcome for outcome in aims.outcomes(results) if outcome.met is False]
    print(
        f"{len(missed)} aims not met. Load average {results.load_before:.1f} before, "
        f"{results.load_after:.1f} after."
    )


def main() -> None:
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"  # TensorFlow speaks of the processor otherwise
    start = perf_counter()
    quick = os.environ.get("QUICK", "") not in ("", "0")
    contenders = [contender for contender in here() if not quick or not contender.slow_to_start]
    results = Results(quick, machine(), load(), versions(contenders))
    if results.load_before > BUSY:
        print(
            f"warning: the machine is busy (load average {results.load_before:.1f}), so these "
            "figures will not hold still"
        )
    measure(contenders, results)
    results.load_after, results.seconds = load(), perf_counter() - start
    results.write()
    show(results)
    if not quick:
        document.write(results)
        readme.write(results)
    print(f"{results.seconds:.0f} seconds")


if __name__ == "__main__":
    with clang.on_path():
        main()
