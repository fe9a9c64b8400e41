"""What generator functions yield: `from_generator`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any

import numpy as np

from gradtape.convert import as_tensor
from gradtape.core.tensor import Tensor
from gradtape.data.stage import UNKNOWN, Run, Stage, StageIterator, located
from gradtape.data.structure import packer
from gradtape.shapes import TensorSpec


class Generated(Stage):
    """The values of a generator function, which must fit a structure of specs."""

    name = "from_generator"

    def __init__(self, generator: Callable[..., Any], args: tuple[Any, ...], spec: Any) -> None:
        super().__init__()
        self._generator, self._signature = generator, spec
        self._args = tuple(
            as_tensor(arg, argument=f"from_generator: args[{place}]").numpy()
            for place, arg in enumerate(args)
        )

    @cached_property
    def spec(self) -> Any:
        return self._signature

    def cardinality(self) -> int:
        return UNKNOWN

    def iterator(self, run: Run) -> StageIterator:
        return _Yielded(lambda: iter(self._generator(*self._args)), self._signature)


class _Quick:
    """Takes arrays that fit a spec, or a tuple of specs, without conversion."""

    def __init__(self, spec: Any) -> None:
        self._is_tuple = type(spec) is tuple
        parts = spec if self._is_tuple else (spec,)
        self._wanted = [
            (part.dtype.numpy, tuple(part.shape))
            for part in parts
            if isinstance(part, TensorSpec) and part.shape.is_fully_defined()
        ]
        if len(self._wanted) != len(parts):
            self._wanted = []

    def __call__(self, value: Any) -> Any:
        """The element, or None if something has to be converted."""
        wanted = self._wanted
        parts = value if self._is_tuple else (value,)
        if not wanted or type(parts) is not tuple or len(parts) != len(wanted):
            return None
        found = []
        for part, (dtype, shape) in zip(parts, wanted, strict=True):
            if not isinstance(part, (np.ndarray, np.generic)) or dtype.kind == "O":
                return None
            if part.dtype is not dtype or part.shape != shape:
                return None
            # A generator may use its array again.
            found.append(Tensor(np.array(part)[()]))
        return tuple(found) if self._is_tuple else found[0]


class _Yielded(StageIterator):
    def __init__(self, begin: Callable[[], Iterator[Any]], spec: Any) -> None:
        super().__init__()
        self._begin = begin
        self._values: Iterator[Any] | None = None
        self._spec = spec
        self._one = spec if isinstance(spec, TensorSpec) else None
        self._quick = _Quick(spec)
        self._pack = packer(spec)
        self._at = -1

    def __next__(self) -> Any:
        if self._values is None:
            self._values = self._begin()
        self._at += 1
        try:
            value = next(self._values)
        except StopIteration:
            raise
        except Exception as error:
            located(error, "from_generator", self._at)
            raise
        found = self._quick(value)
        if found is not None:
            return found
        if self._one is not None:
            return self._fitting(value, self._one, "")
        leaves = list(self._leaves(value, self._spec, ""))
        return self._pack(leaves)

    def _leaves(self, value: Any, spec: Any, path: str) -> Iterator[Any]:
        """The leaves of a value, which may be a list where the spec has a tuple."""
        if isinstance(spec, dict):
            if not isinstance(value, dict) or value.keys() != spec.keys():
                raise TypeError(self._wrong(path, f"a dict with the keys {sorted(spec)}", value))
            for key in sorted(spec):
                yield from self._leaves(value[key], spec[key], f"{path}[{key!r}]")
        elif isinstance(spec, (tuple, list)):
            if not isinstance(value, (tuple, list)) or len(value) != len(spec):
                raise TypeError(self._wrong(path, f"a tuple of {len(spec)} values", value))
            for place, (part, wanted) in enumerate(zip(value, spec, strict=True)):
                yield from self._leaves(part, wanted, f"{path}[{place}]")
        else:
            yield self._fitting(value, spec, path)

    def _fitting(self, value: Any, spec: Any, path: str) -> Any:
        """A value as a Tensor that fits a spec."""
        if not isinstance(spec, TensorSpec):
            if not spec.is_compatible_with(value):
                raise TypeError(self._wrong(path, repr(spec), value))
            return value
        try:
            found: Tensor = as_tensor(value, spec.dtype)
        except (TypeError, ValueError) as error:
            wanted = f"a value of dtype {spec.dtype.name}"
            raise TypeError(self._wrong(path, wanted, value)) from error
        if found.array.shape != spec.shape and not spec.shape.is_compatible_with(found.shape):
            raise ValueError(
                f"from_generator: element {self._at}{path} must have shape {spec.shape}, got "
                f"{found.shape}."
            )
        return found

    def _wrong(self, path: str, wanted: str, value: Any) -> str:
        text = repr(value)
        shown = text if len(text) <= 80 else f"{text[:77]}..."
        return f"from_generator: element {self._at}{path} must be {wanted}, got {shown}."

    def close(self) -> None:
        end = getattr(self._values, "close", None)
        if end is not None:
            end()
        self._values = iter(())
