"""The arguments of a concrete function's call, which need not repeat what the program knows.

A program is traced for Python values, such as a flag or a model, as they were given; a call may
leave them out, and then passes the tensors alone, in their order or by their names.
"""

from __future__ import annotations

from inspect import BoundArguments, Parameter, Signature
from typing import Any

import numpy as np

from gradtape.core.tensor import Tensor
from gradtape.core.variable import Variable
from gradtape.functions.composites import flatten_composites
from gradtape.functions.signature import Arguments, Parameters, cast_to_kind, is_spec

_PLAIN = (bool, int, float, complex, str, bytes, type(None))
_TENSORS = (Tensor, Variable, np.ndarray)


def arguments_of_call(
    parameters: Parameters,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    kind: tuple[tuple[Any, ...], dict[str, Any]],
    name: str,
) -> Arguments:
    """The arguments of a call of a program that was traced for `kind`."""
    signature = parameters.signature
    whole = not kwargs and len(args) == parameters.simple and all(map(is_spec, kind[0]))
    if signature is not None and not whole:
        args, kwargs = _filled_in(signature, args, kwargs, kind, name)
    return cast_to_kind(args, kwargs, kind, name)


def _filled_in(
    signature: Signature,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    kind: tuple[tuple[Any, ...], dict[str, Any]],
    name: str,
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    traced = signature.bind(*kind[0], **kind[1])
    traced.apply_defaults()
    try:
        given = signature.bind_partial(*args, **kwargs)
        _complete(given, traced)
    except TypeError as error:
        given_tensors = _tensors_alone(signature, args, kwargs, traced)
        if given_tensors is None:
            raise TypeError(f"{name}: {error}.") from None
        given = given_tensors
    return given.args, given.kwargs


def _complete(given: BoundArguments, traced: BoundArguments) -> None:
    """Puts the values that the program was traced for in the places of those left out; refuses
    other values, since the program cannot follow them.
    """
    signature = given.signature
    for parameter in signature.parameters.values():
        known = traced.arguments[parameter.name]
        several = parameter.kind in (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD)
        if parameter.name not in given.arguments:
            if _has_tensors(known) and not several:
                raise TypeError(f"missing a required argument: '{parameter.name}'")
            if not several:
                given.arguments[parameter.name] = known
        elif not _has_tensors(known) and not several:
            value = given.arguments[parameter.name]
            if _is_other(value, known):
                raise TypeError(
                    f"'{parameter.name}' was {known!r} when the program was made, got {value!r}; "
                    "leave it out, or call the function itself"
                )
    ordered = {n: given.arguments[n] for n in signature.parameters if n in given.arguments}
    given.arguments.clear()
    given.arguments.update(ordered)


def _tensors_alone(
    signature: Signature, args: tuple[Any, ...], kwargs: dict[str, Any], traced: BoundArguments
) -> BoundArguments | None:
    """The call as one that passes the tensors in their order, or by name; None if it does not."""
    wanted = [name for name, known in traced.arguments.items() if _has_tensors(known)]
    several = (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD)
    if any(signature.parameters[name].kind in several for name in wanted):
        return None
    by_name = dict(zip(wanted, args, strict=False))
    if len(args) > len(wanted) or by_name.keys() & kwargs.keys():
        return None
    by_name |= kwargs
    if by_name.keys() != set(wanted):
        return None
    return BoundArguments(signature, traced.arguments | by_name)


def _has_tensors(known: Any) -> bool:
    leaves, _ = flatten_composites(known)
    return any(is_spec(leaf) or isinstance(leaf, _TENSORS) for leaf in leaves)


def _is_other(value: Any, known: Any) -> bool:
    """Whether a value is surely not the one that the program was traced for."""
    if isinstance(value, _TENSORS):
        return True
    plain = isinstance(value, _PLAIN) and isinstance(known, _PLAIN)
    return plain and value != known and repr(value) != repr(known)  # NaN is the same as NaN
