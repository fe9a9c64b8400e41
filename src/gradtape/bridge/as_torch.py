"""`to_torch`: a gradtape function as a PyTorch function."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

from gradtape import dtypes, nest
from gradtape.bridge.torch_arrays import load_torch, to_array, to_torch_tensor
from gradtape.convert import as_tensor
from gradtape.core.tape import GradientTape
from gradtape.core.tape_arguments import source_object
from gradtape.core.tensor import Tensor
from gradtape.core.variable import Variable
from gradtape.core.xla.tensor import tensor_of
from gradtape.functions.structured import Body, gradient_body
from gradtape.published import published


@published("bridge.to_torch")
def to_torch(f: Callable[..., Any]) -> Callable[..., Any]:
    """A gradtape function as a function of PyTorch's tensors, which `backward`, `autograd.grad` and
    `autograd.gradcheck` take; derivatives of any order are gradtape's.

    Tensors anywhere in the arguments are tensors of the same memory to `f`, whatever else it is
    given is passed as it is. Variables that `f` reads are constants.

    >>> import gradtape as tf
    >>> import torch
    >>> f = tf.bridge.to_torch(lambda x: tf.reduce_sum(tf.math.special.dawsn(x)))
    >>> x = torch.tensor([0.0, 1.0], requires_grad=True)
    >>> f(x).backward()
    >>> x.grad
    tensor([ 1.0000, -0.0762])
    """
    if not callable(f):
        raise TypeError(f"to_torch: f must be a function, got {f!r}.")

    @functools.wraps(f, updated=())
    def call(*args: Any, **kwargs: Any) -> Any:
        torch = load_torch()
        leaves = nest.flatten((args, kwargs))
        places = [i for i, leaf in enumerate(leaves) if isinstance(leaf, torch.Tensor)]
        structure: list[Any] = []

        def body(tensors: list[Tensor]) -> list[Tensor]:
            given = dict(zip(places, tensors, strict=True))
            packed, named = nest.pack_sequence_as(
                (args, kwargs), [given.get(i, leaf) for i, leaf in enumerate(leaves)]
            )
            result = f(*packed, **named)
            found = nest.flatten(result)
            kept = [_TENSOR if _is_array(t) else t for t in found]
            structure[:] = [
                nest.pack_sequence_as(result, kept) if nest.is_nested(result) else kept[0]
            ]
            return [as_tensor(t) for t in found if _is_array(t)]

        found = iter(_called(body, [leaves[i] for i in places]))
        (result,) = structure
        packed = [next(found) if t is _TENSOR else t for t in nest.flatten(result)]
        return nest.pack_sequence_as(result, packed) if nest.is_nested(result) else packed[0]

    return call


_TENSOR = object()


def _is_array(leaf: Any) -> bool:
    return isinstance(source_object(leaf), (Tensor, Variable, np.ndarray, np.generic))


def _called(body: Body, tensors: Sequence[Any]) -> Sequence[Any]:
    """A function of Tensors called with PyTorch's tensors, in PyTorch's graph."""
    found: Sequence[Any] = _function().apply(body, *tensors)
    return found


@cache
def _function() -> Any:
    """PyTorch's class for functions with derivatives of their own."""
    torch = load_torch()

    class Gradtape(torch.autograd.Function):  # type: ignore[misc, name-defined]
        @staticmethod
        def forward(context: Any, body: Body, *tensors: Any) -> tuple[Any, ...]:
            inputs = [tensor_of(to_array(t)) for t in tensors]
            wanted = [i for i, needs in enumerate(context.needs_input_grad[1:]) if needs]
            sources = [inputs[i] for i in wanted]
            tape = GradientTape(persistent=True, watch_accessed_variables=False)
            with tape:
                tape.watch(sources)
                outputs = body(inputs)
            results = [to_torch_tensor(np.array(t.array)) for t in outputs]
            trainable = [t.array.dtype in dtypes.TRAINABLE for t in outputs]
            context.mark_non_differentiable(
                *(r for r, t in zip(results, trainable, strict=True) if not t)
            )
            context.save_for_backward(*tensors)
            context.known = body, tape, sources, outputs, wanted, trainable
            return tuple(results)

        @staticmethod
        def backward(context: Any, *cotangents: Any) -> tuple[Any, ...]:
            body, tape, sources, outputs, wanted, trainable = context.known
            given = [g for g, t in zip(cotangents, trainable, strict=True) if t]
            tensors = context.saved_tensors
            found: list[Any] = [None] * len(tensors)
            if torch.is_grad_enabled():  # a graph is wanted of the gradients themselves
                gradient = gradient_body(body, [i in wanted for i in range(len(tensors))])
                pulled = _called(gradient, [*tensors, *given])
            else:
                targets = [o for o, t in zip(outputs, trainable, strict=True) if t]
                pulled = [
                    None if g is None else to_torch_tensor(as_tensor(g).array)
                    for g in tape.gradient(
                        targets, sources, output_gradients=[tensor_of(to_array(g)) for g in given]
                    )
                ]
            for i, g in zip(wanted, pulled, strict=True):
                found[i] = g
            return (None, *found)

    return Gradtape
