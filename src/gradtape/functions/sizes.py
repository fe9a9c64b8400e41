"""`Sizes`: which sizes of its arguments a function has been called with, and which of them are
worth a program of their own.

XLA compiles for known sizes, which takes as long as hundreds of steps of a small model on NumPy. So
a size that is new runs on gradtape's own ops where sizes keep changing, and is compiled when it
comes back often enough.
"""

from __future__ import annotations

import weakref
from typing import Any

from gradtape.core.tensor import Tensor
from gradtape.core.thread import here
from gradtape.core.xla.tensor import HeldTensor
from gradtape.engines.xla import devices as xla_devices
from gradtape.engines.xla import settings as xla_settings
from gradtape.functions.concrete_function import ConcreteFunction
from gradtape.functions.signature import Arguments
from gradtape.shapes import TensorSpec

FEW = 4
"""So many sizes are compiled without asking whether it pays."""

_plain = frozenset((Tensor, HeldTensor)).issuperset


class Sizes:
    """The sizes that one function has been called with, by the form of its arguments: all that
    matters of them besides the sizes of tensors.
    """

    def __init__(self, *, are_open: bool, relaxes: bool) -> None:
        self.are_open = are_open  # in a signature, or in what a concrete function was asked for
        self._relaxes = relaxes
        self._forms: dict[Any, _Form] = {}
        self.said = False  # whether the log has been told
        self.must_trace = False  # whether it needs what only a traced function has

    def traced(self, key: Any, program: ConcreteFunction) -> None:
        """Notes that a program was traced for the arguments with a key."""
        form = self._forms.setdefault(_form(key), _Form())
        form.calls.setdefault(hash(key), 0)
        form.program = weakref.ref(program)

    def begin(self, key: Any) -> bool:
        """Whether open sizes of a form are called for the first time."""
        form = self._forms.get(_form(key)) if self.are_open else None
        return form is not None and list(form.calls.values()) == [0]

    def known(self, key: Any) -> int:
        """How many sizes are known for arguments of the same form."""
        form = self._forms.get(_form(key))
        return 0 if form is None else len(form.calls)

    def waits(self, key: Any) -> bool:
        """Whether a call with this key, for which nothing is compiled, runs op by op."""
        form = self._forms.get(_form(key))
        if form is None or self.must_trace or _has_nothing(key):
            return False
        if here.state.waits:  # in a call that does
            return form.pays_in_call() > 1
        if not (self.are_open or self._relaxes) and len(form.calls) < FEW:
            return False
        number = hash(key)
        calls = form.calls[number] = form.calls.get(number, 0) + 1
        pays = form.pays_in_call()
        return calls < (min(pays, 2) if len(form.calls) <= FEW else pays)


class _Form:
    """The sizes of one form of arguments: how often each was called before it was compiled."""

    def __init__(self) -> None:
        self.calls: dict[int, int] = {}  # by the hashes of keys
        self.program: weakref.ref[ConcreteFunction] | None = None  # the newest
        self._pays: int | None = None

    def pays_in_call(self) -> int:
        """In which call with the same sizes compiling pays, as estimated from a program; in the
        second one of a function that XLA cannot compile.
        """
        program = None if self.program is None else self.program()
        if self._pays is None and program is not None:
            worth = program.worth()
            self._pays = 2 if worth is None else worth.pays_in_call()
        return self._pays or 2


def has_open_sizes(leaves: list[Any]) -> bool:
    """Whether a spec among the leaves of a signature leaves a size open."""
    return any(isinstance(s, TensorSpec) and not s.shape.is_fully_defined() for s in leaves)


def run_on_host(arguments: Arguments) -> bool:
    """Whether both a program and eager code would run on the host's device with these arguments."""
    known, wanted = xla_devices.devices(), xla_settings.preferred()
    if wanted is None:
        is_host = all(name.startswith("CPU:") for name in known)
    else:
        is_host = wanted is known["CPU:0"]
    return is_host and _plain(map(type, arguments.tensors))


def _form(key: Any) -> Any:
    """A key without the sizes of Tensors."""
    structure, leaves = key
    return structure, tuple(
        [(len(leaf[0]), leaf[1]) if _is_tensor(leaf) else leaf for leaf in leaves]
    )


def _has_nothing(key: Any) -> bool:
    """Whether a Tensor is empty: a loop over its rows has no step in eager code, so that what it
    reads is not followed by a tape, as it is in a program.
    """
    return any(_is_tensor(leaf) and 0 in leaf[0] for leaf in key[1])


def _is_tensor(leaf: Any) -> bool:
    """Whether a part of a key stands for a Tensor: by its shape and dtype."""
    return type(leaf) is tuple and len(leaf) == 2 and type(leaf[0]) is tuple
