"""SymPy's expressions as Python code of gradtape's ops, common subexpressions computed once.

What has no symbols is a Python number, computed by SymPy to the last digit.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from functools import cache
from importlib import import_module
from itertools import count
from types import ModuleType
from typing import Any

from gradtape.core.needed_ops import needed
from gradtape.core.tensor import Tensor
from gradtape.extras import needed_for
from gradtape.ops import (
    arithmetic,
    elementary,
    special,
    special_distributions,
    special_gamma,
    special_integrals,
    special_orders,
)
from gradtape.ops.selection import where
from gradtape.ops.source import defined

Code = Callable[..., Sequence[Any]]
_numbers = count()


@cache
def load_sympy() -> ModuleType:
    needed_for("bridge.from_sympy", "sympy", "sympy")
    return import_module("sympy")


def code_of(expressions: Sequence[Any], symbols: Sequence[Any]) -> Code:
    """The function `code(number, *symbols)` that returns the values of expressions; `number` makes
    a Tensor of a Python number.
    """
    sympy = load_sympy()
    names = {symbol: f"x{i}" for i, symbol in enumerate(symbols)}
    plain = [_without_flat(e) for e in expressions]
    shared, results = sympy.cse(plain, symbols=(sympy.Dummy() for _ in iter(int, 1)), list=True)
    lines = []
    for i, (symbol, expression) in enumerate(shared):
        lines.append(f"    c{i} = {_text(expression, names)}")
        names[symbol] = f"c{i}"
    results_text = "".join(f"{_text(e, names, as_tensor=True)}, " for e in results)
    arguments = ", ".join(f"x{i}" for i in range(len(symbols)))
    text = f"def code(number, {arguments}):\n" + "\n".join([*lines, f"    return ({results_text})"])
    namespace = {**_FUNCTIONS, "nan": math.nan, "inf": math.inf}
    return defined(f"sympy{next(_numbers)}", "code", text, namespace)


def _text(expression: Any, names: dict[Any, str], *, as_tensor: bool = False) -> str:
    """The code of an expression, in parentheses where it needs them."""
    sympy = load_sympy()
    if expression in names:
        return names[expression]

    def of(e: Any) -> str:
        return _text(e, names)

    def tensor(e: Any) -> str:
        return _text(e, names, as_tensor=True)

    if expression.is_Boolean or expression.is_Relational:
        return _condition(expression, names)
    if not expression.free_symbols or expression.is_Number:
        number = _number(expression)
        return f"number({number})" if as_tensor else f"({number})"
    if expression.is_Symbol:
        raise ValueError(
            f"from_sympy: the expression has a symbol {expression} that is not among the symbols "
            f"{[s.name for s in names if not s.is_Dummy]}."
        )
    if expression.is_Add:
        return f"({' + '.join(map(of, expression.args))})"
    if expression.is_Mul:
        return _product(expression, names)
    if expression.is_Pow:
        base, power = expression.args
        return _power(base, power, names)
    if isinstance(expression, sympy.Piecewise):
        *most, last = expression.args
        text = tensor(last.expr)
        if last.cond != sympy.true:
            text = f"where({_condition(last.cond, names)}, {text}, number(nan))"
        for piece in reversed(most):
            text = f"where({_condition(piece.cond, names)}, {tensor(piece.expr)}, {text})"
        return text
    if isinstance(expression, (sympy.Max, sympy.Min)):
        name = "maximum" if isinstance(expression, sympy.Max) else "minimum"
        return functools.reduce(lambda a, b: f"{name}({a}, {b})", map(tensor, expression.args))
    if isinstance(expression, sympy.Heaviside):
        x, at_zero = expression.args
        return f"step({of(x)}, {tensor(at_zero)}, number(1.0), number(0.0))"
    if isinstance(expression, sympy.DiracDelta):
        return "number(0.0)"
    name = type(expression).__name__
    if name not in _FUNCTIONS or not isinstance(expression, sympy.Function):
        shown = str(expression) if isinstance(expression, sympy.Derivative) else name
        raise NotImplementedError(
            f"from_sympy: gradtape has no function for SymPy's {shown}: rewrite the expression "
            "(expression.rewrite, expand_func), or use bridge.black_box."
        )
    return f"{name}({', '.join(map(of, expression.args))})"


def _product(expression: Any, names: dict[Any, str]) -> str:
    """A product, with a division for what has a negative power."""
    above: list[Any] = []
    below: list[Any] = []
    for factor in expression.args:
        base, power = factor.as_base_exp()
        negative = factor.is_Pow and factor.free_symbols and power.could_extract_minus_sign()
        (below if negative else above).append(base**-power if negative else factor)
    text = "*".join(_text(f, names) for f in above) or "1.0"
    return f"({text}/({'*'.join(_text(f, names) for f in below)}))" if below else f"({text})"


def _power(base: Any, power: Any, names: dict[Any, str]) -> str:
    sympy = load_sympy()

    def of(e: Any) -> str:
        return _text(e, names)

    if power == sympy.Rational(1, 2):
        return f"sqrt({of(base)})"
    if power.could_extract_minus_sign():
        return f"(1.0/{of(base**-power)})"
    if power == 2:
        return f"square({of(base)})"
    if power == sympy.Rational(1, 3):
        return f"power({of(base)}, {1 / 3!r})"
    if power.is_Integer:
        return f"({of(base)}**{int(power)})"
    if not base.free_symbols:
        return f"exp({of(sympy.log(base) * power)})"
    return f"power({of(base)}, {of(power)})"


def _condition(condition: Any, names: dict[Any, str]) -> str:
    sympy = load_sympy()
    if condition in (sympy.true, sympy.false):
        return f"equal(number(1.0), {1.0 if condition == sympy.true else 0.0})"
    if condition in names:
        return names[condition]
    name = type(condition).__name__
    if condition.is_Relational:
        left, right = (_text(side, names, as_tensor=True) for side in condition.args)
        return f"{name}({left}, {right})"
    parts = [_condition(part, names) for part in condition.args]
    if isinstance(condition, sympy.Not):
        return f"Not({parts[0]})"
    if isinstance(condition, (sympy.And, sympy.Or, sympy.Xor)):
        return functools.reduce(lambda a, b: f"{name}({a}, {b})", parts)
    raise NotImplementedError(f"from_sympy: a condition {condition} is not supported.")


def _number(expression: Any) -> str:
    """A Python number in the last digit."""
    sympy = load_sympy()
    if expression.is_Integer:
        return repr(float(expression))
    value = sympy.N(expression, 30)
    if value in (sympy.oo, -sympy.oo, sympy.nan):
        return {sympy.oo: "inf", -sympy.oo: "-inf"}.get(value, "nan")
    if not value.is_Float and not value.is_Rational:
        raise NotImplementedError(
            f"from_sympy: {expression} is no real number: split the expression into its real and "
            "imaginary parts (as_real_imag)."
        )
    return repr(float(value))


def _without_flat(expression: Any) -> Any:
    """An expression with zeros for the derivatives of functions that are flat almost everywhere."""
    sympy = load_sympy()
    flat = (sympy.floor, sympy.ceiling, sympy.sign, sympy.Heaviside, sympy.DiracDelta)

    def is_zero(e: Any) -> bool:
        return (isinstance(e, sympy.Derivative) and isinstance(e.expr, flat)) or (
            isinstance(e, sympy.Subs) and e.expr == 0
        )

    return expression.replace(is_zero, lambda _: sympy.Integer(0))


def as_steps(expression: Any) -> Any:
    """An expression with fractional parts and remainders, whose derivatives SymPy does not have,
    written as steps.
    """
    sympy = load_sympy()
    steps = expression.replace(sympy.frac, lambda x: x - sympy.floor(x))
    return steps.replace(sympy.Mod, lambda x, y: x - y * sympy.floor(x / y))


def _reciprocal(op: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda x: 1.0 / op(x)


def _of_reciprocal(op: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda x: op(1.0 / x)


def _of_order(op: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    return lambda order, x: op(x, order)


def _step(x: Any, at_zero: Any, one: Any, zero: Any) -> Any:
    return where(arithmetic.greater(x, 0.0), one, where(arithmetic.equal(x, 0.0), at_zero, zero))


def _sinc(x: Any) -> Any:
    is_zero = arithmetic.equal(x, 0.0)
    one = needed.cast(Tensor(x.array.dtype.type(1)), dtype=x.array.dtype)
    return where(is_zero, one, elementary.sin(x) / where(is_zero, one, x))


def _airy(index: int) -> Callable[[Any], Any]:
    return lambda x: special_orders.airy(x)[index]


_a, _e, _d = arithmetic, elementary, special_distributions
_FUNCTIONS: dict[str, Callable[..., Any]] = {
    # What the code above writes
    "where": where,
    "maximum": _a.maximum,
    "minimum": _a.minimum,
    "square": _a.square,
    "power": _e.power,
    "sqrt": _e.sqrt,
    "equal": _a.equal,
    "step": _step,
    # Conditions
    "Equality": _a.equal,
    "Unequality": _a.not_equal,
    "StrictLessThan": _a.less,
    "StrictGreaterThan": _a.greater,
    "LessThan": _a.less_equal,
    "GreaterThan": _a.greater_equal,
    "And": _a.logical_and,
    "Or": _a.logical_or,
    "Xor": _a.logical_xor,
    "Not": _a.logical_not,
    # Elementary functions
    "exp": _e.exp,
    "log": _e.log,
    "sin": _e.sin,
    "cos": _e.cos,
    "tan": _e.tan,
    "cot": _reciprocal(_e.tan),
    "sec": _reciprocal(_e.cos),
    "csc": _reciprocal(_e.sin),
    "asin": _e.asin,
    "acos": _e.acos,
    "atan": _e.atan,
    "acot": _of_reciprocal(_e.atan),
    "asec": _of_reciprocal(_e.acos),
    "acsc": _of_reciprocal(_e.asin),
    "atan2": _e.atan2,
    "sinh": _e.sinh,
    "cosh": _e.cosh,
    "tanh": _e.tanh,
    "coth": _reciprocal(_e.tanh),
    "sech": _reciprocal(_e.cosh),
    "csch": _reciprocal(_e.sinh),
    "asinh": _e.asinh,
    "acosh": _e.acosh,
    "atanh": _e.atanh,
    "acoth": _of_reciprocal(_e.atanh),
    "asech": _of_reciprocal(_e.acosh),
    "acsch": _of_reciprocal(_e.asinh),
    "sinc": _sinc,
    "Abs": _a.absolute,
    "sign": _a.sign,
    "floor": _a.floor,
    "ceiling": _a.ceil,
    # Special functions
    "erf": special.erf,
    "erfc": special.erfc,
    "erfi": _d.erfi,
    "erfinv": special.erfinv,
    "erfcinv": special.erfcinv,
    "fresnels": special.fresnel_sin,
    "fresnelc": special.fresnel_cos,
    "Ei": special.expint,
    "expint": _d.expn,
    "Si": _d.sine_integral,
    "Ci": _d.cosine_integral,
    "Shi": _d.sinh_integral,
    "Chi": _d.cosh_integral,
    "gamma": _d.gamma,
    "loggamma": special_gamma.lgamma,
    "factorial": lambda x: _d.gamma(x + 1.0),
    "digamma": special_gamma.digamma,
    "polygamma": special_gamma.polygamma,
    "zeta": lambda x, q=1.0: special_gamma.zeta(x, q),
    "beta": lambda x, y: _d.beta(x, y),
    "binomial": lambda n, k: _d.binom(n, k),
    "uppergamma": lambda s, x: special_integrals.igammac(s, x) * _d.gamma(s),
    "lowergamma": lambda s, x: special_integrals.igamma(s, x) * _d.gamma(s),
    "besselj": _of_order(special_orders.jv),
    "bessely": _of_order(special_orders.yv),
    "besseli": _of_order(special_orders.iv),
    "besselk": _of_order(special_orders.kv),
    "airyai": _airy(0),
    "airyaiprime": _airy(1),
    "airybi": _airy(2),
    "airybiprime": _airy(3),
    "elliptic_k": special_orders.ellipk,
    "elliptic_e": special_orders.ellipe,
}
