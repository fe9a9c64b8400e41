"""`to_jax`: a gradtape function as a JAX function: traced as a `function` is, and called by JAX."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gradtape.bridge.jax_arguments import ARRAY, NUMBERS, Plan, Reader
from gradtape.bridge.jax_primitive import ProgramOp, call_in_jax, narrow, traced
from gradtape.convert import as_tensor
from gradtape.core.tape_arguments import source_object
from gradtape.core.tensor import Tensor
from gradtape.core.variable import Variable
from gradtape.core.xla.tensor import array_for_xla
from gradtape.engines.engine import is_xla
from gradtape.engines.xla import settings as xla_settings
from gradtape.engines.xla.host import is_wide
from gradtape.engines.xla.loading import check_process, load
from gradtape.functions.autograph import to_trace
from gradtape.functions.program import Program
from gradtape.functions.structured import Spec
from gradtape.published import published


@published("bridge.to_jax")
def to_jax(
    f: Callable[..., Any], *, variables: Any = None, static_argnames: str | Sequence[str] = ()
) -> Callable[..., Any]:
    """A gradtape function as a function of JAX arrays, which `jax.grad`, `jax.jit`, `jax.vmap` and
    `jax.jvp` take, nested in any way; derivatives are gradtape's.

    Variables that `f` reads have the values that they have when it is called, or, under `jax.jit`,
    when it is compiled. Those that are in the structure `variables` are arguments instead: the
    first one of the JAX function is that structure with arrays. `f` may not assign Variables.
    What is no array, and arguments named in `static_argnames`, must be hashable.

    >>> import gradtape as tf
    >>> import jax
    >>> w = tf.Variable(3.0)
    >>> f = tf.bridge.to_jax(lambda x: w * tf.sin(x), variables=w)
    >>> jax.grad(f, argnums=(0, 1))(3.0, 0.0)
    (Array(0., dtype=float32), Array(3., dtype=float32))
    """
    if not callable(f):
        raise TypeError(f"to_jax: f must be a function, got {f!r}.")
    return _InJax(f, variables, static_argnames)


class _InJax:
    """A gradtape function that takes and gives JAX arrays."""

    def __init__(self, f: Callable[..., Any], variables: Any, static: str | Sequence[str]) -> None:
        functools.update_wrapper(self, f, updated=())
        self._f = f
        self._name = getattr(f, "__name__", type(f).__name__)
        self._reader = Reader(f, f"to_jax: {self._name}", static)
        self._variables = variables
        self._programs: dict[Any, _Traced] = {}

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        check_process()
        replaced: dict[int, Any] = {}
        if self._variables is not None:
            if not args:
                raise TypeError(f"to_jax: {self._name}: the values of its variables are missing.")
            values, *rest = args
            replaced, args = self._replaced(values), tuple(rest)
        given = self._reader.read(args, kwargs)
        arrays = []
        for i, leaf in enumerate(given.leaves):
            if is_xla(leaf) and not isinstance(leaf.dtype, np.dtype):
                raise TypeError(
                    f"to_jax: {self._name}: {given.named(i)} is a key of JAX's random numbers: "
                    "pass jax.random.key_data(key)."
                )
            if is_xla(leaf) or isinstance(leaf, (np.ndarray, np.generic, *NUMBERS)):
                given.kinds.append(ARRAY)
                arrays.append(load().numpy.asarray(leaf))
            else:
                given.keep(leaf)
        specs = tuple([(tuple(a.shape), np.dtype(a.dtype)) for a in arrays])
        plan = given.plan()
        try:
            traced = self._programs.get((plan, specs))
        except TypeError as error:
            raise given.unhashable(error) from None
        if traced is None:
            traced = self._programs[plan, specs] = _Traced(self._f, self._name, plan, specs)
        return traced.call(arrays, replaced)

    def _replaced(self, values: Any) -> dict[int, Any]:
        """The arrays that are given for Variables, by these."""
        tree = load().tree_util
        variables, structure = tree.tree_flatten(self._variables)
        leaves, found = tree.tree_flatten(values)
        if found != structure:
            raise ValueError(
                f"to_jax: {self._name}: its first argument must have the structure of `variables`, "
                f"{structure}, got {found}."
            )
        arrays = {}
        for variable, leaf in zip(map(source_object, variables), leaves, strict=True):
            if not isinstance(variable, Variable):
                raise TypeError(f"to_jax: variables must be Variables, got {variable!r}.")
            array = load().numpy.asarray(leaf)
            dtype = variable.dtype.numpy
            if array.shape != variable.array.shape or narrow(array.dtype) != narrow(dtype):
                raise ValueError(
                    f"to_jax: {self._name}: the value for '{variable.name}' must have shape "
                    f"{tuple(variable.array.shape)} and dtype {variable.dtype.name}, got "
                    f"{array.shape} and {array.dtype}."
                )
            arrays[id(variable)] = array
        return arrays

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self if instance is None else functools.partial(self, instance)

    def __repr__(self) -> str:
        return f"<to_jax {self._name}>"


class _Traced:
    """A gradtape function traced for one kind of arguments."""

    def __init__(self, f: Callable[..., Any], name: str, plan: Plan, specs: Sequence[Spec]) -> None:
        self._structure: Any = None

        def body(tensors: list[Tensor]) -> list[Tensor]:
            args, kwargs = plan.arguments(tensors)
            found = to_trace(f, autograph=True)(*args, **kwargs)
            leaves, self._structure = load().tree_util.tree_flatten(found)
            return [as_tensor(leaf, argument=f"to_jax: a result of {name}") for leaf in leaves]

        program = traced(name, body, specs)
        _refuse_effects(name, program)
        count = len(specs)
        self._taken = [v for v in program.taken if not getattr(v, "hidden", False)]
        places = [i for i, v in enumerate(program.taken) if not getattr(v, "hidden", False)]

        def closed(tensors: list[Tensor]) -> list[Tensor]:
            given = dict(zip(places, tensors[count:], strict=True))
            taken = [given[i] if i in given else v.tensor() for i, v in enumerate(program.taken)]
            return program.again([*tensors[:count], *taken])[0]

        more = [(tuple(v.array.shape), v.array.dtype) for v in self._taken]
        self._op = ProgramOp(name, closed, [*specs, *more])

    def call(self, arrays: Sequence[Any], replaced: dict[int, Any]) -> Any:
        taken = [replaced.get(id(v), _ABSENT) for v in self._taken]
        values = [_value(v) if t is _ABSENT else t for t, v in zip(taken, self._taken, strict=True)]
        outputs = call_in_jax(self._op, [*arrays, *values])
        return load().tree_util.tree_unflatten(self._structure, outputs)


_ABSENT = object()


def _refuse_effects(name: str, program: Program) -> None:
    for variable in program.written:
        if not getattr(variable, "hidden", False):
            raise ValueError(
                f"to_jax: {name} assigns the variable '{variable.name}', which a JAX function "
                "cannot: return the new value instead."
            )
    if program.compiled_plain().draws_random_numbers():
        raise ValueError(
            f"to_jax: {name} draws random numbers, which would be the same in every call of the "
            "JAX function: draw them with jax.random, and pass them."
        )


def _value(outside: Tensor | Variable) -> Any:
    """The value, now, of what a function uses, as JAX has it."""
    array = outside.array
    if is_wide(array.dtype) and not xla_settings.users_switch():
        return load().numpy.asarray(array.astype(narrow(array.dtype)))
    return array_for_xla(outside if isinstance(outside, Tensor) else Tensor(array))
