"""How much memory there is to take."""

from __future__ import annotations

import os

_ASSUMED = 2 * 2**30  # what is taken to be free where the machine does not say


def free_bytes() -> int:
    """The memory that this process could still take without swapping.

    A container may be given less than the machine has.
    """
    return max(0, min(_free_on_machine(), _free_in_container()))


def _free_on_machine() -> int:
    try:
        with open("/proc/meminfo", "rb") as lines:  # noqa: PTH123 - pathlib takes 4 ms to import
            for line in lines:
                if line.startswith(b"MemAvailable:"):
                    return int(line.split()[1]) * 1024
    except OSError:
        pass
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2
    except (AttributeError, OSError, ValueError):
        return _ASSUMED


def _free_in_container(folder: str = "/sys/fs/cgroup") -> int:
    try:
        return _number_in(f"{folder}/memory.max") - _number_in(f"{folder}/memory.current")
    except (OSError, ValueError):  # no container, or one without a limit
        return 2**62


def _number_in(name: str) -> int:
    with open(name, "rb") as file:  # noqa: PTH123 - as above
        return int(file.read())
