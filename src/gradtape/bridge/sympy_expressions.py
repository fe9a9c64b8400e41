"""`from_sympy`: a SymPy expression as an op, whose derivatives SymPy finds."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from gradtape import dtypes, nest
from gradtape.bridge.foreign import Foreign, Recorded, call, is_followed
from gradtape.bridge.sympy_code import as_steps, code_of, load_sympy
from gradtape.convert import TENSORFLOW, common_dtype
from gradtape.core.needed_ops import needed
from gradtape.core.tensor import Tensor
from gradtape.core.thread import here
from gradtape.ops.batching import lined_up
from gradtape.ops.shaping import reshape, stack
from gradtape.published import published


@published("bridge.from_sympy")
def from_sympy(expression: Any, symbols: Any) -> Callable[..., Any]:
    """A SymPy expression as a function of tensors, one for each symbol, that broadcast; its
    derivatives of any order are SymPy's, exact, and computed together with the value.

    `expression` may be a structure of expressions, whose results have that structure, or a matrix,
    whose result has its axes after all others. Symbols stand for real numbers.

    >>> import gradtape as tf
    >>> import sympy
    >>> x, y = sympy.symbols("x y")
    >>> f = tf.bridge.from_sympy(sympy.sin(x) * y**2, [x, y])
    >>> a, b = tf.Variable([0.0, 1.0]), tf.Variable(3.0)
    >>> with tf.GradientTape() as tape:
    ...     z = f(a, b)
    >>> tape.gradient(z, [a, b])[1].numpy().round(4)
    np.float32(5.0488)
    """
    sympy = load_sympy()
    given = [symbols] if isinstance(symbols, sympy.Symbol) else list(symbols)
    for symbol in given:
        if not isinstance(symbol, sympy.Symbol):
            raise TypeError(f"from_sympy: symbols must be SymPy symbols, got {symbol!r}.")
    if len(set(given)) < len(given):
        raise ValueError(f"from_sympy: a symbol is given twice in {given}.")
    return SympyFunction(expression, given)


class SympyFunction:
    """Expressions of symbols as a function of tensors."""

    def __init__(self, expression: Any, symbols: Sequence[Any]) -> None:
        sympy = load_sympy()
        self._symbols = list(symbols)
        self._structure = expression
        self._shapes: list[Any] = []
        flat: list[Any] = []
        for leaf in self._leaves(expression):
            found = sympy.sympify(leaf)
            matrix = isinstance(found, sympy.MatrixBase)
            self._shapes.append(found.shape if matrix else None)
            flat += list(found) if matrix else [found]
        real = {s: sympy.Symbol(s.name, real=True) for s in symbols}
        self._call = SympyCall(
            [as_steps(e.xreplace(real)) for e in flat], [real[s] for s in symbols], len(flat)
        )

    @staticmethod
    def _leaves(expression: Any) -> list[Any]:
        return [expression] if _is_one(expression) else nest.flatten(expression)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        tensors = self._tensors(args, kwargs)
        found = iter(call_expressions(self._call, tensors))
        results = []
        for shape in self._shapes:
            if shape is None:
                results.append(next(found))
                continue
            parts = stack(*[next(found) for _ in range(int(np.prod(shape)))], axis=-1)
            results.append(reshape(parts, shape=(*parts.array.shape[:-1], *shape)))
        if _is_one(self._structure):
            return results[0]
        return nest.pack_sequence_as(self._structure, results)

    def _tensors(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Tensor]:
        """The arguments, in the order of the symbols, in one floating dtype."""
        names = [symbol.name for symbol in self._symbols]
        by_name = dict(zip(names, args, strict=False))
        wrong = [n for n in kwargs if n not in names or n in by_name]
        by_name |= kwargs
        if len(args) > len(names) or wrong or len(by_name) < len(names):
            raise TypeError(
                f"from_sympy: one value for each of the symbols {names} is needed, got "
                f"{len(args)} by position and {sorted(kwargs)} by name."
            )
        tensors = TENSORFLOW.tensors(
            [by_name[n] for n in names], [f"from_sympy: argument '{n}'" for n in names]
        )
        for name, tensor in zip(names, tensors, strict=True):
            if tensor.array.dtype.kind in "cO":
                raise TypeError(
                    f"from_sympy: argument '{name}' has dtype {tensor.dtype.name}: symbols stand "
                    "for real numbers. Pass real and imaginary parts as two symbols."
                )
        common = common_dtype([t.array.dtype for t in tensors]) if tensors else np.dtype("f4")
        if common not in dtypes.TRAINABLE:
            common = np.dtype(np.float32)
        return [t if t.array.dtype == common else needed.cast(t, dtype=common) for t in tensors]

    def __repr__(self) -> str:
        return f"<from_sympy {self._structure} of {self._symbols}>"


def call_expressions(expressions: SympyCall, inputs: Sequence[Tensor]) -> list[Tensor]:
    """A call; where a gradient may be wanted, with the partial derivatives beside the values."""
    records = any(r.scope is not None for r in here.state.recorders)
    if records or here.state.trace is not None:
        active = tuple(i for i, tensor in enumerate(inputs) if is_followed(tensor))
        if active:
            return call(expressions.with_partials(active), inputs)[: expressions.values]
    return call(expressions, inputs)


class SympyCall(Foreign):
    """Expressions as an op: the first ones are `values`, the others their partial derivatives, for
    each value those by the `active` symbols.
    """

    name = "from_sympy"

    def __init__(
        self,
        expressions: Sequence[Any],
        symbols: Sequence[Any],
        values: int,
        active: tuple[int, ...] = (),
    ) -> None:
        self._expressions, self._symbols = list(expressions), list(symbols)
        self.values = values
        self._active = active
        self._code = code_of(self._expressions, self._symbols)
        self._derived: dict[Any, SympyCall] = {}

    def compute(self, inputs: Sequence[Tensor]) -> list[Any]:
        if here.state.trace is None:
            return self._computed(inputs)
        with here.state.trace.unlisted():
            return self._computed(inputs)

    def _computed(self, inputs: Sequence[Tensor]) -> list[Any]:
        dtype = inputs[0].array.dtype if inputs else np.dtype(np.float32)
        shape = np.broadcast_shapes(*[tuple(t.array.shape) for t in inputs])
        with here.state.only([]):
            number = partial(_number, dtype)
            found = [
                value if isinstance(value, Tensor) else number(value)
                for value in self._code(number, *[t.with_node(None) for t in inputs])
            ]
            return [
                (t if tuple(t.array.shape) == shape else needed.broadcast_to(t, shape=shape)).array
                for t in found
            ]

    def with_partials(self, active: tuple[int, ...]) -> SympyCall:
        if active not in self._derived:
            values = self._expressions[: self.values]
            partials = [e.diff(self._symbols[i]) for e in values for i in active]
            self._derived[active] = SympyCall(
                [*values, *partials], self._symbols, self.values, active
            )
        return self._derived[active]

    def _partials(
        self, inputs: Sequence[Tensor], of: Sequence[int], by: Sequence[int]
    ) -> dict[tuple[int, int], Tensor]:
        """The partial derivatives of some of the expressions, which may themselves be partials."""
        key = ("partials", tuple(of), tuple(by))
        if key not in self._derived:
            wanted = [self._expressions[k].diff(self._symbols[i]) for k in of for i in by]
            self._derived[key] = SympyCall(wanted, self._symbols, len(wanted))
        found = iter(call_expressions(self._derived[key], inputs))
        return {(k, i): next(found) for k in of for i in by}

    def _zero(self, k: int, i: int) -> bool:
        """Whether an expression does not depend on a symbol."""
        return self._symbols[i] not in self._expressions[k].free_symbols

    def first_kept(self, count: int) -> int:
        return self.values

    def pull(
        self,
        inputs: Sequence[Tensor],
        recorded: Recorded,
        g: Mapping[int, Tensor],
        wanted: Sequence[int],
    ) -> Sequence[Tensor | None]:
        if max(g) < self.values and set(wanted) <= set(self._active):
            kept = iter(recorded.outputs()[self.values :])
            partials = {(k, i): next(kept) for k in range(self.values) for i in self._active}
        else:
            partials = self._partials(inputs, list(g), wanted)
        found: list[Tensor | None] = []
        for i in wanted:
            total: Any = None
            for k, cotangent in g.items():
                if not self._zero(k, i):
                    term = needed.times(cotangent, partials[k, i])
                    total = term if total is None else total + term
            shape = tuple(inputs[i].array.shape)
            if total is not None and tuple(total.array.shape) != shape:
                total = needed.sum_to_shape(total, shape=shape)
            found.append(total)
        return found

    def push(
        self, inputs: Sequence[Tensor], tangents: Mapping[int, Tensor], outputs: Sequence[Any]
    ) -> Mapping[int, Tensor | None]:
        partials = self._partials(inputs, range(len(outputs)), list(tangents))
        found: dict[int, Any] = {}
        for k, output in enumerate(outputs):
            total: Any = None
            for i, tangent in tangents.items():
                if not self._zero(k, i):
                    term = needed.times(tangent, partials[k, i])
                    total = term if total is None else total + term
            found[k] = total
            shape = tuple(output.array.shape)
            if total is not None and tuple(total.array.shape) != shape:
                found[k] = needed.broadcast_to(total, shape=shape)
        return found

    def call_on_batch(
        self, size: int, mapped: Sequence[bool], inputs: Sequence[Tensor]
    ) -> list[Tensor]:
        rank = max(t.array.ndim - m for t, m in zip(inputs, mapped, strict=True))
        given = [lined_up(t, rank) if m else t for t, m in zip(inputs, mapped, strict=True)]
        return call(self, given)


def _number(dtype: Any, value: float) -> Tensor:
    return Tensor(np.array(value, dtype))


def _is_one(expression: Any) -> bool:
    sympy = load_sympy()
    return isinstance(expression, (sympy.Basic, sympy.MatrixBase)) or not nest.is_nested(expression)
