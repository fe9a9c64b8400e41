"""`from_torch`: a PyTorch function or module as an op.

It runs eagerly, with PyTorch's own graph for the first derivative; other derivatives run it again.
A compiled program calls it back.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from gradtape import dtypes, nest
from gradtape.bridge.foreign import OnHost, Recorded, call, is_followed
from gradtape.bridge.torch_arrays import load_torch, to_array, to_torch_tensor
from gradtape.bridge.torch_variables import variables
from gradtape.convert import as_tensor, is_tensor_like, operand
from gradtape.core.batching import BatchedTensor
from gradtape.core.needed_ops import needed
from gradtape.core.tensor import Tensor
from gradtape.core.thread import here
from gradtape.published import published

Run = Callable[[list[Any], bool], list[Any]]
"""A function of tensors that gives tensors; the flag says that it runs again."""


@published("bridge.from_torch")
def from_torch(f: Any) -> Callable[..., Any]:
    """A PyTorch function or module as a function of tensors, with PyTorch's derivatives.

    Tensors, Variables and arrays anywhere in the arguments are PyTorch's tensors to `f`, of the
    same memory; other arguments are passed as they are. The parameters of a module are sources of
    gradients, as `bridge.variables(module)`. Every order works that PyTorch has. In a `function`,
    a program calls `f` back.

    >>> import gradtape as tf
    >>> import torch
    >>> f = tf.bridge.from_torch(lambda x: torch.logsumexp(x, 0))
    >>> v = tf.Variable([0.0, 0.0])
    >>> with tf.GradientTape() as tape:
    ...     y = f(v)
    >>> tape.gradient(y, v).numpy()
    array([0.5, 0.5], dtype=float32)
    """
    if not callable(f):
        raise TypeError(f"from_torch: f must be a PyTorch function or a module, got {f!r}.")
    return FromTorch(f)


class FromTorch:
    """A PyTorch function that takes and gives Tensors."""

    def __init__(self, f: Any) -> None:
        self._f = f
        self._name = getattr(f, "__name__", type(f).__name__)
        self._module = f if isinstance(f, load_torch().nn.Module) else None

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        torch = load_torch()
        leaves = nest.flatten((args, kwargs))
        places, inputs = [], []
        for i, given in enumerate(leaves):
            leaf = to_array(given) if isinstance(given, torch.Tensor) else given
            if not is_tensor_like(leaf) and not isinstance(leaf, (np.ndarray, np.generic)):
                continue
            tensor = operand(leaf) if is_tensor_like(leaf) else as_tensor(leaf)
            if tensor.dtype == dtypes.string:
                raise TypeError(
                    f"from_torch: {self._name}: an argument holds strings, which PyTorch does not "
                    "have: pass numbers."
                )
            places.append(i)
            inputs.append(tensor)
        parameters = [] if self._module is None else variables(self._module)
        names = [] if self._module is None else [n for n, _ in self._module.named_parameters()]
        structure: list[Any] = []

        def run(tensors: list[Any], again: bool) -> list[Any]:
            given = dict(zip(places, tensors[len(parameters) :], strict=True))
            packed_args, packed_kwargs = nest.pack_sequence_as(
                (args, kwargs), [given.get(i, leaf) for i, leaf in enumerate(leaves)]
            )
            named = dict(zip(names, tensors, strict=False))
            result = self._called(named, packed_args, packed_kwargs, again)
            found = nest.flatten(result)
            kept = [_TENSOR if isinstance(t, torch.Tensor) else t for t in found]
            structure[:] = [
                nest.pack_sequence_as(result, kept) if nest.is_nested(result) else kept[0]
            ]
            return [t for t in found if isinstance(t, torch.Tensor)]

        function = TorchFunction(f"from_torch {self._name}", run)
        followed = [*(v.tensor() for v in parameters), *inputs]
        found = iter(call(TorchCall(function), followed))
        (result,) = structure
        packed = [next(found) if t is _TENSOR else t for t in nest.flatten(result)]
        return nest.pack_sequence_as(result, packed) if nest.is_nested(result) else packed[0]

    def _called(self, named: Mapping[str, Any], args: Any, kwargs: Any, again: bool) -> Any:
        if self._module is None:
            return self._f(*args, **kwargs)
        if again:  # what the first call has counted is not to be counted twice
            named = {**named, **{n: b.clone() for n, b in self._module.named_buffers()}}
        return load_torch().func.functional_call(self._module, named, args, kwargs)

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self if instance is None else functools.partial(self, instance)

    def __repr__(self) -> str:
        return f"<from_torch {self._name}>"


_TENSOR = object()


class TorchFunction:
    """A function of tensors, with those that are its derivatives. `unused` are the results of a
    derivative that nothing leads to.
    """

    def __init__(self, name: str, run: Run, *, random: Any = None) -> None:
        self.name = name
        self._run = run
        self.random = random
        self.unused: set[int] = set()

    def run(self, tensors: list[Any], again: bool = False) -> list[Any]:
        torch = load_torch()
        if self.random is None:
            return self._run(tensors, again)
        with torch.random.fork_rng(devices=[]):
            torch.set_rng_state(self.random)
            return self._run(tensors, again)

    def gradient(
        self, count: int, wanted: Sequence[int], given: Sequence[int], random: Any
    ) -> TorchFunction:
        """The cotangents of some inputs from the inputs and the cotangents of some outputs."""

        def run(tensors: list[Any], again: bool) -> list[Any]:
            torch, further = load_torch(), load_torch().is_grad_enabled()
            with torch.enable_grad():
                inputs = _with_graph(tensors[:count], wanted)
                outputs = self.run(inputs, True)
                found = _gradients(
                    [outputs[i] for i in given],
                    [inputs[i] for i in wanted],
                    tensors[count:],
                    further,
                )
            return derived.filled(found, [inputs[i] for i in wanted])

        derived = TorchFunction(self.name, run, random=random)
        return derived

    def tangent(self, count: int, moved: Sequence[int], random: Any) -> TorchFunction:
        """The tangents of the outputs: the gradient of the gradient by its cotangents, in which it
        is linear.
        """

        def run(tensors: list[Any], again: bool) -> list[Any]:
            torch, further = load_torch(), load_torch().is_grad_enabled()
            with torch.enable_grad():
                inputs = _with_graph(tensors[:count], moved)
                outputs = [o for o in self.run(inputs, True) if _is_floating(o)]
                ones = [torch.zeros_like(o, requires_grad=True) for o in outputs]
                pulled = _gradients(outputs, [inputs[i] for i in moved], ones, True)
                pairs = [
                    (p, t) for p, t in zip(pulled, tensors[count:], strict=True) if p is not None
                ]
                found = _gradients([p for p, _ in pairs], ones, [t for _, t in pairs], further)
            return derived.filled(found, outputs)

        derived = TorchFunction(self.name, run, random=random)
        return derived

    def filled(self, found: Sequence[Any], like: Sequence[Any]) -> list[Any]:
        """Derivatives with zeros for those that are not there, which are `unused`."""
        self.unused = {i for i, g in enumerate(found) if g is None}
        zeros = load_torch().zeros_like
        return [zeros(x) if g is None else g for g, x in zip(found, like, strict=True)]


class TorchCall(OnHost):
    """A call of a function of tensors as an op."""

    def __init__(self, function: TorchFunction) -> None:
        self.name = function.name
        self._function = function
        self._followed: list[bool] = []
        self._random: Any = function.random

    def compute(self, inputs: Sequence[Tensor]) -> list[Any]:
        self._followed = [is_followed(tensor) for tensor in inputs]
        return super().compute(inputs)

    def on_arrays(self, arrays: list[Any]) -> list[Any]:
        torch = load_torch()
        tensors = [to_torch_tensor(array) for array in arrays]
        versions = [tensor._version for tensor in tensors]
        records = here.state.trace is None and here.state.scope is not None and any(self._followed)
        if records:
            self._random = torch.get_rng_state() if self._random is None else self._random
            for tensor, followed in zip(tensors, self._followed, strict=True):
                tensor.requires_grad_(followed)
        with torch.set_grad_enabled(records):
            outputs = self._function.run(tensors)
        for i, (tensor, version) in enumerate(zip(tensors, versions, strict=True)):
            if tensor._version != version:
                raise ValueError(
                    f"{self.name}: the function wrote to its argument {i}, whose memory is a "
                    "tensor's, which does not change: let it work on a clone()."
                )
        if records:
            self.kept = (tensors, outputs)
        return [to_array(output) for output in outputs]

    def pull(
        self,
        inputs: Sequence[Tensor],
        recorded: Recorded,
        g: Mapping[int, Tensor],
        wanted: Sequence[int],
    ) -> Sequence[Tensor | None]:
        state = here.state
        plain = state.scope is None and state.trace is None
        plain = plain and not any(isinstance(c, BatchedTensor) for c in g.values())
        if plain and recorded.kept is not None:
            tensors, outputs = recorded.kept
            found = _gradients(
                [outputs[i] for i in g],
                [tensors[i] for i in wanted],
                [to_torch_tensor(c.array) for c in g.values()],
                further=False,
            )
            return [None if t is None else Tensor(to_array(t)) for t in found]
        derived = self._function.gradient(len(inputs), wanted, list(g), self._random)
        return _used(derived, [*inputs, *g.values()])

    def push(
        self, inputs: Sequence[Tensor], tangents: Mapping[int, Tensor], outputs: Sequence[Any]
    ) -> Mapping[int, Tensor | None]:
        derived = self._function.tangent(len(inputs), list(tangents), self._random)
        found = _used(derived, [*inputs, *tangents.values()])
        trainable = [i for i, o in enumerate(outputs) if o.array.dtype in dtypes.TRAINABLE]
        return dict(zip(trainable, found, strict=True))

    def call_on_batch(
        self, size: int, mapped: Sequence[bool], inputs: Sequence[Tensor]
    ) -> list[Tensor]:
        """One example after another: PyTorch's own `vmap` does not take every function."""
        if not size:
            zeros = [
                Tensor(np.zeros(t.array.shape[1:], t.array.dtype)) if m else t.with_node(None)
                for t, m in zip(inputs, mapped, strict=True)
            ]
            like = call(self, zeros)
            return [Tensor(np.zeros((0, *t.array.shape), t.array.dtype)) for t in like]
        rows = [
            call(
                TorchCall(self._function),
                [
                    needed.getitem(t, key=(i,)) if m else t
                    for t, m in zip(inputs, mapped, strict=True)
                ],
            )
            for i in range(size)
        ]
        return [needed.stack(*column, axis=0) for column in zip(*rows, strict=True)]


def _used(function: TorchFunction, inputs: Sequence[Tensor]) -> list[Tensor | None]:
    """What a derivative gives, None where nothing leads to it."""
    found = call(TorchCall(function), inputs)
    return [None if i in function.unused else t for i, t in enumerate(found)]


def _with_graph(tensors: Sequence[Any], places: Sequence[int]) -> list[Any]:
    """The tensors, those at `places` such that there are gradients by them."""
    return [
        t if i not in places or t.requires_grad else t.detach().requires_grad_()
        for i, t in enumerate(tensors)
    ]


def _gradients(
    outputs: Sequence[Any], inputs: Sequence[Any], g: Sequence[Any], further: bool
) -> list[Any]:
    """PyTorch's gradients, None where nothing leads from an input to the outputs."""
    connected = [(o, c) for o, c in zip(outputs, g, strict=True) if o.requires_grad]
    if not connected:
        return [None] * len(inputs)
    found: Sequence[Any] = load_torch().autograd.grad(
        [o for o, _ in connected],
        list(inputs),
        [c for _, c in connected],
        retain_graph=True,
        create_graph=further,
        allow_unused=True,
    )
    return list(found)


def _is_floating(tensor: Any) -> bool:
    return bool(tensor.dtype.is_floating_point or tensor.dtype.is_complex)
