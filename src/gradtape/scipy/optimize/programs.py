"""`scipy.optimize.linprog` and `milp`, which are refused: their solutions have no derivatives that
anyone wants.
"""

from __future__ import annotations

from typing import Any, NoReturn

from gradtape.published import published

_INSTEAD = (
    "use SciPy's own function where no derivative is needed, or minimize with a smooth penalty or "
    "barrier in place of the constraints, whose minimum does move."
)


@published("scipy.optimize.linprog")
def linprog(*args: Any, **kwargs: Any) -> NoReturn:
    """Is refused: the solution of a linear program is a corner, which does not move when the costs
    change a little, and jumps when they change more: its derivative by them is zero or does not
    exist.

    >>> import gradtape as tf
    >>> try:
    ...     tf.scipy.optimize.linprog([1.0])
    ... except NotImplementedError as error:
    ...     print(str(error)[:44])
    linprog: the solution of a linear program is
    """
    raise NotImplementedError(
        "linprog: the solution of a linear program is a corner of its constraints, which stays "
        "where it is when the costs change a little: its derivative by them is zero where it "
        f"exists; {_INSTEAD}"
    )


@published("scipy.optimize.milp")
def milp(*args: Any, **kwargs: Any) -> NoReturn:
    """Is refused: the unknowns are integers, so that they jump or stay, and have no derivatives.

    >>> import gradtape as tf
    >>> try:
    ...     tf.scipy.optimize.milp([1.0])
    ... except NotImplementedError as error:
    ...     print(str(error)[:34])
    milp: the solution has integers: t
    """
    raise NotImplementedError(
        "milp: the solution has integers: they stay where they are, or jump, when what they depend "
        f"on changes, and so have no derivatives; {_INSTEAD}"
    )
