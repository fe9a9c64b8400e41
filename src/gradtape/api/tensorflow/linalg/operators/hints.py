"""Hints: what is promised of operators, and what follows from it for those made of them.

A hint is True, False, or None where nothing is known.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from gradtape.api.tensorflow.linalg.operators.base import LinearOperator

Hint = bool | None


class Hints(NamedTuple):
    """The four hints of an operator."""

    is_non_singular: Hint = None
    is_self_adjoint: Hint = None
    is_positive_definite: Hint = None
    is_square: Hint = None

    def completed(self) -> Hints:
        """With what they imply; a ValueError if they contradict each other."""
        non_singular, self_adjoint, positive_definite, square = self
        if positive_definite:
            if non_singular is False:
                raise ValueError(
                    "is_non_singular=False contradicts is_positive_definite=True: a positive "
                    "definite operator is non-singular."
                )
            non_singular = True
        for hint, name in ((non_singular, "is_non_singular"), (self_adjoint, "is_self_adjoint")):
            if hint:
                if square is False:
                    raise ValueError(
                        f"is_square=False contradicts {name}=True: such an operator is square."
                    )
                square = True
        return Hints(non_singular, self_adjoint, positive_definite, square)


def always(given: Hint, name: str, what: str, value: bool = True) -> bool:
    """A hint that is known of a class; a ValueError if another one was given."""
    if given is not None and bool(given) is not value:
        often, adjective = "always" if value else "never", name[3:].replace("_", " ")
        raise ValueError(f"{name}={given} is wrong: {what} is {often} {adjective}.")
    return value


def implied(given: Hint, name: str, condition: Any, what: str) -> Hint:
    """True where a condition implies it, which then must not be denied; else what was given."""
    return always(given, name, what) if condition else given


def same_as(operator: LinearOperator, name: str, given: Hint, what: str) -> Hint:
    """A hint that holds for an operator if and only if it holds for another one made from it."""
    known: Hint = getattr(operator, name)
    if known is not None and given is not None and bool(known) is not bool(given):
        raise ValueError(
            f"{name}={given} contradicts {name}={known} of operator: {what} has it if and only if "
            "the operator does."
        )
    return known if given is None else bool(given)


def all_have(operators: Iterable[LinearOperator], name: str) -> bool:
    """Whether a hint is True for all operators."""
    return all(getattr(operator, name) for operator in operators)


def both_non_singular(a: LinearOperator, b: LinearOperator) -> Hint:
    """Of a product."""
    if a.is_non_singular is False or b.is_non_singular is False:
        return False
    return True if a.is_non_singular and b.is_non_singular else None


def commuting_self_adjoint(a: LinearOperator, b: LinearOperator) -> Hint:
    """Of a product of operators that commute."""
    if a.is_self_adjoint and b.is_self_adjoint:
        return True
    return False if {a.is_self_adjoint, b.is_self_adjoint} == {True, False} else None


def commuting_positive_definite(a: LinearOperator, b: LinearOperator) -> Hint:
    """The same for positive definite ones."""
    both = (a.is_positive_definite, a.is_self_adjoint, b.is_positive_definite, b.is_self_adjoint)
    return True if all(both) else None


def of_commuting(a: LinearOperator, b: LinearOperator) -> dict[str, Any]:
    """The hints of a product of operators that commute, as keyword arguments."""
    return {
        "is_non_singular": both_non_singular(a, b),
        "is_self_adjoint": commuting_self_adjoint(a, b),
        "is_positive_definite": commuting_positive_definite(a, b),
        "is_square": True,
    }


def of_product(a: LinearOperator, b: LinearOperator) -> dict[str, Any]:
    """The hints of any product, as keyword arguments."""
    if a.is_square and b.is_square:
        return {"is_non_singular": both_non_singular(a, b), "is_square": True}
    if a.range_dimension == b.domain_dimension:
        return {"is_square": True}
    return {
        "is_non_singular": False,
        "is_self_adjoint": False,
        "is_positive_definite": False,
        "is_square": False,
    }


def own(operator: LinearOperator) -> dict[str, Any]:
    """The hints of an operator, as keyword arguments for one that has the same."""
    return {
        "is_non_singular": operator.is_non_singular,
        "is_self_adjoint": operator.is_self_adjoint,
        "is_positive_definite": operator.is_positive_definite,
        "is_square": operator.is_square,
    }
