"""Variables that are the parameters of a PyTorch module."""

from __future__ import annotations

from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from gradtape.bridge.torch_arrays import load_torch, to_array, to_torch_tensor
from gradtape.core.variable import Variable
from gradtape.published import published


@published("bridge.variables")
def variables(module: Any) -> list[Variable]:
    """The parameters of a PyTorch module as Variables, in the order of `module.parameters()`: the
    sources of gradients of `from_torch(module)`, the same ones at each call.

    A Variable always has the value of its parameter, and assigning it writes the parameter: an
    optimizer of either library can train the module.

    >>> import gradtape as tf
    >>> import torch
    >>> layer = torch.nn.Linear(2, 1)
    >>> [v.name for v in tf.bridge.variables(layer)]
    ['weight:0', 'bias:0']
    """
    torch = load_torch()
    if not isinstance(module, torch.nn.Module):
        raise TypeError(f"variables: module must be a torch.nn.Module, got {module!r}.")
    known = _known.setdefault(module, {})
    names = [name for name, _ in module.named_parameters()]
    for name in names:
        if name not in known:
            known[name] = TorchVariable(module, name)
    return [known[name] for name in names]


_known: WeakKeyDictionary[Any, dict[str, TorchVariable]] = WeakKeyDictionary()


class TorchVariable(Variable):
    """A parameter of a module. The value is copied when the parameter has changed, so that what a
    tape has saved does not change with it.
    """

    _buffer: Any = None
    _stamp: Any = None

    def __init__(self, module: Any, name: str) -> None:
        owner, _, attribute = name.rpartition(".")
        self._owner, self._attribute = module.get_submodule(owner), attribute
        parameter = self.parameter
        super().__init__(self.array, trainable=parameter.requires_grad, name=name)

    @property
    def parameter(self) -> Any:
        """The parameter now: a module may replace it."""
        return getattr(self._owner, self._attribute)

    @property
    def array(self) -> Any:
        parameter = self.parameter
        stamp = _stamp(parameter)
        if stamp != self._stamp:
            self._buffer, self._stamp = np.array(to_array(parameter)), stamp
        return self._buffer

    @array.setter
    def array(self, value: Any) -> None:
        if value is self._buffer:
            return
        parameter, torch = self.parameter, load_torch()
        with torch.no_grad():
            parameter.copy_(to_torch_tensor(value))
        self._buffer, self._stamp = np.array(value), _stamp(parameter)


def _stamp(parameter: Any) -> tuple[int, int, int]:
    """What is another one after every change of a parameter."""
    return id(parameter), parameter._version, parameter.data_ptr()
