"""Programs before XLA compiles them: their contents, and the options for the compiler."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from functools import cache
from importlib import import_module
from threading import get_ident
from typing import Any

from gradtape.engines.numpy.threads import cores
from gradtape.engines.xla.loading import load
from gradtape.engines.xla.settings import call_compiled

_FEW_CORES = 4
_PRODUCTS_ALONE = ("xla_cpu_experimental_ynn_fusion_type", "LIBRARY_FUSION_TYPE_INDIVIDUAL_DOT")
_LONG_VECTORS = ("xla_cpu_prefer_vector_width", "512")


def uses(jaxpr: Any, primitive: str) -> bool:
    """Whether a program, or a part of it such as the body of a loop, contains a given JAX
    primitive.
    """
    return any(
        equation.primitive.name == primitive
        or any(uses(part, primitive) for part in parts(equation.params))
        for equation in jaxpr.eqns
    )


def parts(params: dict[str, Any]) -> Iterator[Any]:
    """The programs among the parameters of an equation, such as the branches of a condition."""
    for value in params.values():
        for entry in value if isinstance(value, (list, tuple)) else [value]:
            jaxpr = getattr(entry, "jaxpr", entry)
            if hasattr(jaxpr, "eqns"):
                yield jaxpr


def compiler_options(jaxpr: Any) -> dict[str, str] | None:
    """Options for XLA's compiler, besides its defaults and what the user has set in XLA_FLAGS.

    On a CPU it leaves convolutions to a library, which runs some of them on one core of two, and
    takes twice as long for others. From about eight cores on, the library is as fast as XLA's own
    code. And it does not use 512-bit vectors, since the first processors that had them slowed down:
    on later ones they halve the time of large elementwise programs.
    """
    if load().default_backend() != "cpu":
        return None
    wanted = [_LONG_VECTORS] if _has_long_vectors() else []
    if cores() <= _FEW_CORES and uses(jaxpr, "conv_general_dilated"):
        wanted.append(_PRODUCTS_ALONE)
    flags = os.environ.get("XLA_FLAGS", "")
    return {
        name: value for name, value in wanted if name not in flags and _is_known(name, value)
    } or None


class UnpreparedError(Exception):
    """A compiled function cannot be called without running JAX's Python code, as in its first call:
    nothing has been done.
    """


class _Nothing:
    """A placeholder for results that were not computed."""

    def __iter__(self) -> Iterator[Any]:
        raise UnpreparedError


_UNPREPARED = _Nothing(), None, True
"""A result for JAX that it forgets at once; it would remember an exception."""


class Guarded:
    """`program` is a compiled JAX function that returns a list and runs no Python code.

    If JAX would need some, at a first call or after a change of its settings, `program` does
    nothing, and iterating over its result raises an UnpreparedError. `prepare` calls the function
    with whatever JAX needs.
    """

    def __init__(self, call: Any, python: Any) -> None:
        """`python` is what was compiled: JAX runs it if compilation is disabled."""
        compiled = (
            call if hasattr(call, "_cache_miss") else call._executable.create_cpp_call(call._params)
        )
        self._miss = (
            (lambda *args: (call(*args), None, False)) if compiled is None else compiled._cache_miss
        )
        self._preparing: set[tuple[int, ...]] = set()  # calls: a thread, and their arrays
        pxla, tree = (
            import_module("jax._src.interpreters.pxla"),
            import_module("jax._src.tree_util"),
        )
        keys, registry = pxla.JitGlobalCppCacheKeys(), tree.dispatch_registry
        make = import_module("jaxlib._jax").pjit
        self.program = make(
            "program", python, self._missed, [], [], keys, registry, pxla.cc_shard_arg
        )

    def _missed(self, *args: Any) -> Any:
        """JAX's own fallback where it is not prepared: results, and what it needs to become
        prepared.
        """
        return self._miss(*args) if _key(args) in self._preparing else _UNPREPARED

    def prepare(self, *args: Any) -> Any:
        """The results of a call for which JAX may prepare itself.

        It may for this call alone: a signal handler that interrupts it calls with other arrays.
        """
        key = _key(args)
        if key in self._preparing:  # of a handler, with the same arrays, so that none is written
            return call_compiled(self.program, *args)
        try:
            self._preparing.add(key)
            return call_compiled(self.program, *args)
        finally:
            self._preparing.discard(key)


def _key(arrays: Sequence[Any]) -> tuple[int, ...]:
    """What identifies a call while it runs."""
    return get_ident(), *map(id, arrays)


def is_inside_another(error: Exception) -> bool:
    """Whether an error says that a program with options of its own is called while another one is
    traced.
    """
    return "compiler_options" in str(error) and "top-level" in str(error)


@cache
def _has_long_vectors() -> bool:
    """Whether the processor has 512-bit vectors and belongs to a generation that does not slow down
    for them: it also has bfloat16.
    """
    try:
        # pathlib takes 4 ms to import.
        with open("/proc/cpuinfo", encoding="utf-8") as about:  # noqa: PTH123
            return any("avx512_bf16" in line.split() for line in about if line.startswith("flags"))
    except OSError:
        return False


@cache
def _is_known(option: str, value: str) -> bool:
    """Whether this version of XLA has the option."""
    jax = load()
    try:
        jax.jit(lambda x: x, compiler_options={option: value}).lower(0.0).compile()
    except (jax.errors.JaxRuntimeError, ValueError):
        return False
    return True
