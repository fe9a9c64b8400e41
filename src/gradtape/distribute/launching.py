"""`python -m gradtape launch`: runs a program in several processes of this machine, which find each
other.

When one of them dies, the others end too, since they would wait for it.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import IO, Any

_PASSED_ON = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2)
_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_DIES_WITH_PARENT = 1  # Linux's PR_SET_PDEATHSIG


def launch(arguments: Sequence[str]) -> int:
    """Runs what the command line asks for; the exit status is that of the first worker that
    failed.
    """
    end = _length_of_options(arguments)
    program = list(arguments[end:])
    options = _parser().parse_args(arguments[:end])
    if not program:
        _parser().error("a script is missing, or -m and a module, or -c and code")
    if options.workers < 1 or (options.devices is not None and options.devices < 1):
        _parser().error("-n and --devices must be at least 1")
    ports = free_ports(options.workers)
    given = [
        environment(os.environ, number, ports, options.devices) for number in range(options.workers)
    ]
    return Workers(program, given, options.grace).run()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m gradtape launch",
        description="Runs a program in several processes of this machine. Each finds the others "
        "by keras.distribution.initialize() or tf.distribute.MultiWorkerMirroredStrategy().",
    )
    parser.add_argument("-n", dest="workers", type=int, required=True, help="how many processes")
    parser.add_argument(
        "--devices", type=int, help="so many devices of the CPU for each, instead of accelerators"
    )
    parser.add_argument(
        "--grace",
        type=float,
        default=10.0,
        help="seconds that processes have to end when they are asked to, before they are killed",
    )
    parser.usage = "%(prog)s -n N [--devices D] [--grace S] script.py | -m module | -c code ..."
    return parser


def _length_of_options(arguments: Sequence[str]) -> int:
    """How many arguments come before the program, whose own are like ours, maybe."""
    i = 0
    while i < len(arguments):
        if arguments[i] in ("-n", "--devices", "--grace"):
            i += 2
        elif arguments[i] in ("-h", "--help") or arguments[i].startswith(
            ("-n", "--devices=", "--grace=")
        ):
            i += 1
        else:
            break
    return i


def free_ports(count: int) -> list[int]:
    """Ports of this machine that nobody uses now."""
    sockets = [socket.socket() for _ in range(count)]
    try:
        for one in sockets:
            one.bind(("localhost", 0))
        return [int(one.getsockname()[1]) for one in sockets]
    finally:
        for one in sockets:
            one.close()


def environment(
    outside: Mapping[str, str], number: int, ports: Sequence[int], devices: int | None
) -> dict[str, str]:
    """The environment of a worker: where the others are, as Keras and as TensorFlow say it."""
    addresses = [f"localhost:{port}" for port in ports]
    given = dict(outside) | {
        "KERAS_DISTRIBUTION_JOB_ADDRESSES": addresses[0],
        "KERAS_DISTRIBUTION_NUM_PROCESSES": str(len(ports)),
        "KERAS_DISTRIBUTION_PROCESS_ID": str(number),
        "TF_CONFIG": json.dumps(
            {"cluster": {"worker": addresses}, "task": {"type": "worker", "index": number}}
        ),
        "PYTHONUNBUFFERED": "1",
    }
    threads = max(1, (os.cpu_count() or 1) // len(ports))
    given.setdefault("OPENBLAS_NUM_THREADS", str(threads))
    if devices is not None:
        flags = given.get("XLA_FLAGS", "").split()
        kept = [flag for flag in flags if "host_platform_device_count" not in flag]
        wanted = f"--xla_force_host_platform_device_count={devices}"
        given |= {"JAX_PLATFORMS": "cpu", "XLA_FLAGS": " ".join([*kept, wanted])}
    return given


class Workers:
    """Processes that run the same program."""

    def __init__(
        self, program: Sequence[str], environments: Sequence[dict[str, str]], grace: float
    ) -> None:
        self._command = [sys.executable, "-m", "gradtape", *program]
        self._environments = environments
        self._grace = grace
        self._events: SimpleQueue[tuple[str, int]] = SimpleQueue()
        self._processes: list[subprocess.Popen[bytes]] = []
        self._readers: list[threading.Thread] = []
        self._until: float | None = None  # when those that are left are killed
        self._status = 0

    def run(self) -> int:
        """Runs them to their end, and returns the exit status of all."""
        before = {number: signal.getsignal(number) for number in _PASSED_ON}
        for one in _PASSED_ON:
            signal.signal(one, lambda number, _: self._events.put(("signal", number)))
        try:
            dies_with_parent = _prepared()
            for given in self._environments:
                self._processes.append(
                    subprocess.Popen(  # noqa: S603 - the user's own program
                        self._command,
                        env=given,
                        stdin=subprocess.DEVNULL,
                        stdout=subprocess.PIPE,
                        stderr=subprocess.PIPE,
                        start_new_session=True,  # the terminal's signals come from here, once
                        preexec_fn=dies_with_parent,  # noqa: PLW1509 - no thread has begun
                    )
                )
            for number, process in enumerate(self._processes):
                self._begin(self._wait, number, process)
                for pipe, out in ((process.stdout, sys.stdout), (process.stderr, sys.stderr)):
                    self._readers.append(self._begin(_copy, pipe, out, f"[{number}] "))
            self._watch()
        finally:
            self._kill()
            for number, handler in before.items():
                signal.signal(number, handler)
        for reader in self._readers:
            reader.join(timeout=5)  # a process that a worker has left may hold the pipe
        return self._status

    def _begin(self, work: Callable[..., None], *arguments: Any) -> threading.Thread:
        thread = threading.Thread(target=work, args=arguments, daemon=True)
        thread.start()
        return thread

    def _wait(self, number: int, process: subprocess.Popen[bytes]) -> None:
        process.wait()
        self._events.put(("end", number))

    def _watch(self) -> None:
        """Waits until all have ended."""
        running = set(range(len(self._processes)))
        while running:
            seconds = None if self._until is None else max(0.0, self._until - time.monotonic())
            try:
                what, number = self._events.get(timeout=seconds)
            except Empty:
                left = ", ".join(map(str, sorted(running)))
                _say(f"{_workers(left)} did not end within {self._grace:g} seconds: killed")
                return
            if what == "signal":
                self._pass_on(number)
            else:
                running.discard(number)
                self._look_at(number, running)

    def _pass_on(self, number: int) -> None:
        """Sends a signal to all, and lets them end."""
        if number in _ENDING:
            if self._until is not None and number == signal.SIGINT:
                self._until = time.monotonic()  # asked again
            self._end(128 + number)
        self._send(number)

    def _look_at(self, number: int, running: set[int]) -> None:
        """Ends the others if a worker has failed."""
        code = self._processes[number].returncode
        if code == 0 or self._until is not None:
            return
        how = (
            f"was killed by {signal.Signals(-code).name}"
            if code < 0
            else f"ended with exit status {code}"
        )
        others = ": the others are ended" if running else ""
        _say(f"worker {number} of {len(self._processes)} {how}{others}")
        self._end(code if code > 0 else 128 - code)
        self._send(signal.SIGTERM)

    def _end(self, status: int) -> None:
        if self._until is None:
            self._status = status
            self._until = time.monotonic() + self._grace

    def _send(self, number: int) -> None:
        for process in self._processes:
            if process.poll() is None:
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, number)

    def _kill(self) -> None:
        self._send(signal.SIGKILL)
        for process in self._processes:
            process.wait()


def _prepared() -> Callable[[], None] | None:
    """What a worker does first: on Linux it asks to be killed when this process is."""
    if sys.platform != "linux":
        return None
    prctl = ctypes.CDLL(None).prctl

    def dies_with_parent() -> None:
        prctl(_DIES_WITH_PARENT, signal.SIGKILL)

    return dies_with_parent


def _copy(pipe: IO[bytes], out: IO[str], prefix: str) -> None:
    """Writes each line of a worker as it comes, with its number."""
    for line in pipe:
        out.write(prefix + line.decode(errors="replace").rstrip("\r\n") + "\n")
        out.flush()


def _workers(numbers: str) -> str:
    return f"workers {numbers}" if "," in numbers else f"worker {numbers}"


def _say(text: str) -> None:
    print(f"gradtape launch: {text}.", file=sys.stderr, flush=True)  # noqa: T201
