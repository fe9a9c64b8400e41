"""How much memory this process uses, and has used at most."""

from __future__ import annotations

import sys

_KB, _RESET_PEAK = 1024, "5"  # of Linux's /proc


def info() -> dict[str, int]:
    """Bytes of the machine's memory: `current`, and `peak` since the process began, or since
    `forget_peak`.
    """
    found = {}
    try:
        with open("/proc/self/status", encoding="ascii") as lines:  # noqa: PTH123 - pathlib is slow
            for line in lines:
                name, _, value = line.partition(":")
                if name in ("VmRSS", "VmHWM"):
                    found[name] = int(value.split()[0]) * _KB
    except OSError:
        peak = _peak_of_usage()
        return {"current": peak, "peak": peak}
    # The system counts them at different moments.
    return {"current": found["VmRSS"], "peak": max(found["VmRSS"], found["VmHWM"])}


def _peak_of_usage() -> int:
    """What systems without /proc know, which is the peak alone."""
    try:
        import resource  # noqa: PLC0415 - not every system has it
    except ImportError:
        raise ValueError("this system does not say how much memory a process uses.") from None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * _KB


def forget_peak() -> bool:
    """Lets the peak be what is used now; says whether the system can do that."""
    try:
        # As above.
        with open("/proc/self/clear_refs", "w", encoding="ascii") as file:  # noqa: PTH123
            file.write(_RESET_PEAK)
    except OSError:
        return False
    return True
