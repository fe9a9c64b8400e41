"""`from_jax`: a JAX function as an op."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gradtape import dtypes
from gradtape.bridge.jax_arguments import ARRAY, CONSTANT, NUMBERS, Call, Plan, Reader
from gradtape.bridge.jax_programs import JaxProgram, call_program
from gradtape.convert import as_tensor, is_tensor_like, operand
from gradtape.core.tensor import Tensor
from gradtape.core.xla.tensor import result_tensor
from gradtape.engines.engine import is_xla
from gradtape.engines.xla import settings as xla_settings
from gradtape.engines.xla.host import is_wide
from gradtape.engines.xla.loading import load
from gradtape.published import published


@published("bridge.from_jax")
def from_jax(
    f: Callable[..., Any], *, static_argnames: str | Sequence[str] = ()
) -> Callable[..., Any]:
    """A JAX function as a function of tensors, which tapes, accumulators, `vectorized_map`,
    Jacobians and `function` differentiate to any order.

    Arguments and results may be any structure that JAX knows. Tensors, Variables and arrays in it
    are arrays to `f`, Python numbers are what they are to `jax.jit`, and anything else must be
    hashable and is part of the signature; so is an argument whose name is in `static_argnames`.
    `f` is compiled once for each signature. 64-bit numbers are switched on if an argument has
    them, or if they are switched on in JAX.

    >>> import gradtape as tf
    >>> import jax.numpy as jnp
    >>> norm = tf.bridge.from_jax(lambda p: jnp.sqrt((p["x"] ** 2).sum()))
    >>> v = tf.Variable([3.0, 4.0])
    >>> with tf.GradientTape() as tape:
    ...     y = norm({"x": v})
    >>> y.numpy(), tape.gradient(y, v).numpy()
    (np.float32(5.0), array([0.6, 0.8], dtype=float32))
    """
    if not callable(f):
        raise TypeError(f"from_jax: f must be a JAX function, got {f!r}.")
    return JaxFunction(f, static_argnames)


class _Program(JaxProgram):
    """A JAX function for one kind of arguments, with the structure of its results."""

    def __init__(self, f: Callable[..., Any], name: str, plan: Plan, *, wide: bool) -> None:
        super().__init__(name, self._call, wide=wide)
        self._f = f
        self._plan = plan
        self._structure: Any = None

    def _call(self, arrays: list[Any], constants: list[Any]) -> list[Any]:
        jax = load()
        args, kwargs = self._plan.arguments(arrays, constants)
        leaves, self._structure = jax.tree_util.tree_flatten(self._f(*args, **kwargs))
        for leaf in leaves:
            if not isinstance(leaf, (jax.Array, np.ndarray, np.generic, *NUMBERS)):
                raise TypeError(
                    f"from_jax: {self.name} returned {leaf!r} of type {type(leaf).__name__}: a "
                    "result must be made of arrays, numbers and None."
                )
        return [jax.numpy.asarray(leaf) for leaf in leaves]

    def packed(self, outputs: list[Tensor]) -> Any:
        return load().tree_util.tree_unflatten(self._structure, outputs)


class JaxFunction:
    """A JAX function that takes and gives Tensors."""

    def __init__(self, f: Callable[..., Any], static: str | Sequence[str]) -> None:
        functools.update_wrapper(self, f, updated=())
        self._f = f
        self._name = getattr(f, "__name__", type(f).__name__)
        self._reader = Reader(f, f"from_jax: {self._name}", static)
        self._programs: dict[Any, _Program] = {}

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        given = self._reader.read(args, kwargs)
        inputs: list[Tensor] = []
        constants: list[Any] = []
        plain: list[int] = []  # the inputs that are NumPy's, whose integers JAX makes narrow
        for i, leaf in enumerate(given.leaves):
            if _is_constant(leaf):
                given.kinds.append(CONSTANT)
                constants.append(leaf)
                continue
            tensor = self._tensor(leaf, given, i)
            if tensor is None:
                given.keep(leaf)
                continue
            if isinstance(leaf, (np.ndarray, np.generic)):
                plain.append(len(inputs))
            given.kinds.append(ARRAY)
            inputs.append(tensor)
        wide = _is_wide(inputs, plain)
        specs = tuple([(tuple(t.array.shape), t.array.dtype) for t in inputs])
        plan = given.plan()
        key = (plan, specs, tuple([_kind(c) for c in constants]), wide)
        try:
            program = self._programs.get(key)
        except TypeError as error:
            raise given.unhashable(error) from None
        if program is None:
            program = self._programs[key] = _Program(self._f, self._name, plan, wide=wide)
        return program.packed(call_program(program, constants, inputs))

    def _tensor(self, leaf: Any, given: Call, index: int) -> Tensor | None:
        """An argument as a Tensor; None if it is no array."""
        if is_tensor_like(leaf):
            found = operand(leaf)
        elif isinstance(leaf, (np.ndarray, np.generic)):
            found = None if leaf.dtype.kind in "OUSMm" else as_tensor(leaf)
        elif is_xla(leaf):
            return result_tensor(leaf)
        else:
            return None
        if found is None or found.dtype == dtypes.string:
            raise TypeError(
                f"from_jax: {self._name}: {given.named(index)} has dtype "
                f"{leaf.dtype}, which JAX does not have: pass numbers."
            )
        return found

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self if instance is None else functools.partial(self, instance)

    def __repr__(self) -> str:
        return f"<from_jax {self._name}>"


def _is_wide(inputs: list[Tensor], plain: Sequence[int]) -> bool:
    """Whether 64-bit numbers are to be switched on; if not, NumPy's integers become narrow, as
    JAX makes them.
    """
    if xla_settings.users_switch():
        return True
    narrow = {}
    for i, tensor in enumerate(inputs):
        if not is_wide(tensor.array.dtype):
            continue
        if i not in plain or tensor.array.dtype.kind not in "iu":
            return True
        kind = np.int32 if tensor.array.dtype.kind == "i" else np.uint32
        narrow[i] = tensor.array.astype(kind)
        if not np.array_equal(narrow[i], tensor.array):
            return True
    for i, array in narrow.items():
        inputs[i] = Tensor(array)
    return False


def _is_constant(leaf: Any) -> bool:
    """Whether JAX takes something that no Tensor can hold."""
    return type(leaf) in NUMBERS or (is_xla(leaf) and not isinstance(leaf.dtype, np.dtype))


def _kind(constant: Any) -> Any:
    return type(constant) if type(constant) in NUMBERS else (constant.dtype, constant.shape)
