"""How a stage calls the functions that users give it, and what they return."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from gradtape import dtypes, nest
from gradtape.api.tensorflow.random.sequence import counts_kept
from gradtape.core.tensor import Tensor
from gradtape.core.thread import init_scope
from gradtape.data.peeking import peeked
from gradtape.data.purity import only_computes
from gradtape.data.stage import Stage, located
from gradtape.data.structure import common_of, map_leaves, normalised, spec_of
from gradtape.functions.decorator import function as compiled
from gradtape.shapes import TensorSpec

_SIZES = (
    83,
    89,
)  # in place of unknown ones; prime, so that products of sizes do not look like them


def called(function: Callable[..., Any], *args: Any) -> Any:
    """A function of elements: the parts of a tuple are arguments of their own, as in
    TensorFlow.
    """
    if len(args) == 1 and type(args[0]) is tuple:
        return function(*args[0])
    return function(*args)


class UsersFunction:
    """A function of elements that gives an element; its errors say where they came about."""

    def __init__(self, function: Callable[..., Any], stage: str, argument: str) -> None:
        if not callable(function):
            raise TypeError(f"{stage}: {argument} must be a function, got {function!r}.")
        self.function, self.stage, self.argument = function, stage, argument

    def __call__(self, element: Any, number: int) -> Any:
        try:
            found = called(self.function, element)
            if type(found) is list:  # elsewhere a list is a tensor; TensorFlow does the same
                found = tuple(found)
            return normalised(found, f"{self.stage}: the result of {self.argument}")
        except StopIteration as error:  # it would end the iteration, as if there were no more
            wrong = RuntimeError(f"{self.stage}: {self.argument} raised {error!r}.")
            located(wrong, self.stage, number)
            raise wrong from error
        except Exception as error:
            located(error, self.stage, number)
            raise

    def predicate(self, element: Any, number: int) -> bool:
        """Whether the function finds an element true."""
        answer = self(element, number)
        if not isinstance(answer, Tensor) or answer.ndim or answer.dtype.name != "bool":
            raise ValueError(
                f"{self.stage}: {self.argument} must give a boolean scalar, got {answer!r}."
            )
        return bool(answer)


def spec_of_results(function: UsersFunction, stage: Stage) -> Any:
    """The specs of what a function gives for a stage's elements.

    The function is traced, as TensorFlow does, where that is possible; else its results for the
    first elements are looked at, and sizes in which they differ are unknown. With text, both are
    done: sizes may depend on it, and a trace has none.
    """
    try:
        found = _traced(function, stage.spec)
    except Exception:  # noqa: BLE001 - whatever cannot be traced can be run
        return _peeked(function, stage)
    if not any(getattr(spec, "dtype", None) == dtypes.string for spec in nest.flatten(stage.spec)):
        return found
    try:
        return map_leaves(common_of, found, _peeked(function, stage))
    except Exception:  # noqa: BLE001 - there are no elements, or each will show it
        return found


def _traced(function: UsersFunction, spec: Any) -> Any:
    found = [_traced_with(function, map_leaves(partial(_filled, size), spec)) for size in _SIZES]
    return map_leaves(common_of, *found)


def _filled(size: int, spec: Any) -> Any:
    if not isinstance(spec, TensorSpec) or spec.shape.rank is None:
        raise TypeError("only tensors of known rank are traced")
    return TensorSpec([size if n is None else n for n in spec.shape], spec.dtype)


def _traced_with(function: UsersFunction, spec: Any) -> Any:
    found: list[Any] = []

    def run(element: Any) -> None:
        found.append(spec_of(function(element, 0)))

    with init_scope(), counts_kept():
        compiled(run, autograph=True).get_concrete_function(spec)
    return found[-1]


def _peeked(function: UsersFunction, stage: Stage) -> Any:
    return peeked(
        lambda element, number: spec_of(function(element, number)),
        stage,
        function.stage,
        vary=only_computes(function.function),
    )
