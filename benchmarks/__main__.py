"""Runs all benchmarks. The environment variable QUICK=1 makes it a matter of seconds, and leaves the document as it is."""

import os
from collections.abc import Sequence

from benchmarks import harness, import_time, memory, report, update_memory
from benchmarks.libraries import BASELINE, BY_HAND, Library, Step, installed
from benchmarks.report import Row
from benchmarks.workloads import Workload, compiled, limited_in_memory, measured_in_memory, of_derivatives, timed, updated

BUSY = 0.5  # the load average above which other work takes the cores that are being timed


def steps(workload: Workload, libraries: Sequence[Library]) -> dict[str, Step]:
    """The step of each library that has the workload, after checking that all give the same gradients."""
    makers = {library.title: getattr(library.steps(), workload.name, None) for library in libraries}
    found = {title: make(workload.inputs) for title, make in makers.items() if make is not None}
    harness.check(found, BASELINE, workload.tolerance)
    return found


def measured_compiled(libraries: Sequence[Library], effort: harness.Effort) -> list[Row]:
    """The compiled steps, in the libraries that compile; nothing if that is one library alone."""
    if len(libraries) < 2:
        return []
    rows = []
    for workload in compiled():
        print(f"measuring: {workload.title}, compiled", flush=True)
        unit = "µs" if workload.name in ("calls", "small_mlp") else "ms"
        rows.append(Row(workload.title, unit, harness.times(steps(workload, libraries), effort), BY_HAND))
    workload = updated()
    print(f"measuring: {workload.title}", flush=True)
    rows.append(Row(workload.title, "MB", update_memory.peaks(libraries), BY_HAND))
    return rows


def main() -> None:
    quick = os.environ.get("QUICK", "") not in ("", "0")
    effort = harness.QUICK if quick else harness.FULL
    libraries = installed()
    load_before = report.load()
    if load_before > BUSY:
        print(f"warning: the machine is busy (load average {load_before:.1f}), so these figures will not hold still", flush=True)
    rows = []
    for workload in timed():
        print(f"measuring: {workload.title}", flush=True)
        rows.append(Row(workload.title, "µs", harness.times(steps(workload, libraries), effort)))

    print("measuring: import", flush=True)
    rows.append(Row("import, on top of NumPy's", "ms", import_time.times(libraries, effort.subprocesses)))

    workload = measured_in_memory()
    print(f"measuring: {workload.title}", flush=True)
    traced = [library for library in libraries if library.memory_is_traced]
    rows.append(Row(workload.title, "MB", memory.peaks(steps(workload, traced))))

    higher = []
    for workload in of_derivatives():
        print(f"measuring: {workload.title}", flush=True)
        higher.append(Row(workload.title, "ms", harness.times(steps(workload, libraries), effort)))
    if not quick:  # it takes ten seconds a time
        workload = limited_in_memory()
        print(f"measuring: {workload.title}", flush=True)
        higher.append(Row(workload.title, "MB", memory.peaks(steps(workload, traced))))

    compiling = [library for library in libraries if library.compiles]
    as_programs = measured_compiled(compiling, effort)

    for table, columns in ((rows, libraries), (higher, libraries), (as_programs, compiling)):
        print(f"\n{report.as_text(table, columns)}")
    print("\nIn brackets: the multiple of the NumPy column, or of gradtape's where there is none; of JAX's for compiled steps.")
    report.write_results([*rows, *higher, *as_programs], libraries, load_before, quick=quick)
    if not quick:
        report.write_document(rows, higher, as_programs, libraries, load_before, effort)


main()
