"""Programs before XLA compiles them: their contents, and the options for the compiler; and how they
are called.
"""

from __future__ import annotations

import math
import os
from collections.abc import Container, Iterator, Sequence
from functools import cache
from importlib import import_module
from threading import get_ident
from typing import Any, ClassVar

from gradtape.engines.numpy import allocator
from gradtape.engines.numpy.threads import cores
from gradtape.engines.xla.loading import load
from gradtape.engines.xla.settings import call_compiled

_FEW_CORES = 4
_PRODUCTS_ALONE = ("xla_cpu_experimental_ynn_fusion_type", "LIBRARY_FUSION_TYPE_INDIVIDUAL_DOT")
_LONG_VECTORS = ("xla_cpu_prefer_vector_width", "512")
LARGE_IN_LOOP = 2**13
"""The bytes from which on a barrier in a loop stays where it is."""
_RECOMPUTED = frozenset(("checkpoint", "remat", "remat2"))
"""JAX's own, which get their barriers when they are written for XLA."""
_BARRIERS_STAY = ("xla_disable_hlo_passes", "cse_barrier_expander")


def uses(jaxpr: Any, primitive: str) -> bool:
    """Whether a program, or a part of it such as the body of a loop, contains a given JAX
    primitive.
    """
    return any(
        equation.primitive.name == primitive
        or any(uses(part, primitive) for part in parts(equation.params))
        for equation in jaxpr.eqns
    )


def contents(jaxpr: Any) -> tuple[set[str], set[Any]]:
    """The names of the primitives in a program, and the dtypes of its variables, its parts
    included: found in one pass.
    """
    names: set[str] = set()
    kinds: set[Any] = set()
    pending = [jaxpr]
    while pending:
        part = pending.pop()
        variables = [*part.constvars, *part.invars, *part.outvars]
        for equation in part.eqns:
            names.add(equation.primitive.name)
            variables += equation.invars
            variables += equation.outvars
            if equation.params:
                pending += parts(equation.params)
        kinds.update([getattr(v.aval, "dtype", None) for v in variables])
    return names, kinds


def parts(params: dict[str, Any]) -> Iterator[Any]:
    """The programs among the parameters of an equation, such as the branches of a condition."""
    for value in params.values():
        for entry in value if isinstance(value, (list, tuple)) else [value]:
            jaxpr = getattr(entry, "jaxpr", entry)
            if hasattr(jaxpr, "eqns"):
                yield jaxpr


def compiler_options(jaxpr: Any, primitives: Container[str]) -> dict[str, str] | None:
    """Options for XLA's compiler for a program, which has these primitives, besides its defaults
    and what the user has set in XLA_FLAGS.

    On a CPU it leaves convolutions to a library, which runs some of them on one core of two, and
    takes twice as long for others. From about eight cores on, the library is as fast as XLA's own
    code. And it does not use 512-bit vectors, since the first processors that had them slowed down:
    on later ones they halve the time of large elementwise programs. And it takes a program's
    barriers away before it fuses operations, so that they would keep nothing apart.
    """
    if load().default_backend() != "cpu":
        return None
    wanted = [_LONG_VECTORS] if _has_long_vectors() else []
    if cores() <= _FEW_CORES and "conv_general_dilated" in primitives:
        wanted.append(_PRODUCTS_ALONE)
    wanted = [option for option in wanted if _is_known(*option)]
    if "optimization_barrier" in primitives and _barriers_can_stay(jaxpr):
        wanted.append(_BARRIERS_STAY)
    flags = os.environ.get("XLA_FLAGS", "")
    return {name: value for name, value in wanted if name not in flags} or None


def _barriers_can_stay(jaxpr: Any, *, in_loop: bool = False) -> bool:
    """Whether none is in a loop that may be so small that XLA writes it as one function, in which
    it has no code for barriers, and ends the process: up to 1 kB, by its own count.
    """
    for equation in jaxpr.eqns:
        name = equation.primitive.name
        if name == "call_exported" or (in_loop and name in _RECOMPUTED):  # barriers, not seen here
            return False
        if name == "optimization_barrier" and in_loop and _size(equation) < LARGE_IN_LOOP:
            return False
        inside = in_loop or name in ("scan", "while")
        if not all(_barriers_can_stay(part, in_loop=inside) for part in parts(equation.params)):
            return False
    return True


def _size(equation: Any) -> int:
    """The bytes of its results; 0 if some have no such size."""
    try:
        return sum(math.prod(v.aval.shape) * v.aval.dtype.itemsize for v in equation.outvars)
    except (AttributeError, TypeError):
        return 0


def size_of_results(jaxpr: Any) -> int:
    """The bytes of everything that a program computes, of which XLA has as many at a time as it
    must.
    """
    own = sum(
        math.prod(v.aval.shape) * getattr(v.aval.dtype, "itemsize", 8)
        for equation in jaxpr.eqns
        for v in equation.outvars
        if hasattr(v.aval, "shape")
    )
    inner = [part for equation in jaxpr.eqns for part in parts(equation.params)]
    return own + sum(map(size_of_results, inner))


def keep_memory() -> None:
    """Lets the memory that the largest of all compiled programs needs stay in the process between
    its calls.
    """
    jax = load()
    if jax.default_backend() != "cpu":
        return
    programs = getattr(jax.local_devices()[0].client, "live_executables", list)
    found = [program.get_compiled_memory_stats() for program in programs()]
    allocator.make_room(
        max((each.temp_size_in_bytes + each.output_size_in_bytes for each in found), default=0)
    )


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

    were_made: ClassVar[bool] = False  # whether there has been one

    def __init__(self, call: Any, python: Any, *, is_large: bool = False) -> None:
        """`python` is what was compiled: JAX runs it if compilation is disabled. `is_large` says
        that it may need more memory than stays in the process anyway.
        """
        Guarded.were_made = True
        self._is_large = is_large
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
        if _key(args) not in self._preparing:
            return _UNPREPARED
        found = self._miss(*args)
        if self._is_large:
            keep_memory()
        return found

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


def prepare(primitives: Container[str]) -> None:
    """Loads what JAX would load as it compiles a program with these primitives.

    For linear algebra it imports modules of `scipy.linalg`, on whichever thread compiles. A module
    that is imported while another thread imports the package around it is an error in Python,
    there or in that thread, so the package comes first.
    """
    if any(name in primitives for name in _linear_algebra()):
        import scipy.linalg  # noqa: F401, PLC0415 - it takes long, and few programs need it


@cache
def _linear_algebra() -> frozenset[str]:
    found = vars(load().lax.linalg).items()
    return frozenset(primitive.name for name, primitive in found if name.endswith("_p"))


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
