"""`join`: this process becomes one of several that compute together."""

from __future__ import annotations

from gradtape.core.settings import settings
from gradtape.engines.xla import processes as xla_processes


def join(coordinator: str | None, processes: int | None, number: int | None) -> None:
    """Joins the processes of a job; without arguments, as the environment says.

    From then on functions are compiled at once: which calls run op by op meanwhile would depend on
    time, and processes must do the same.
    """
    xla_processes.join(coordinator, processes, number)
    settings.compile_every_shape = settings.wait_for_compilation = True
