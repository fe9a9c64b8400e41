"""What the results of users' functions are like, where only calling them tells.

A function is called with the first elements, and with such as might come: with fewer rows, and
with other numbers. Where there are no elements, it is called with made-up ones.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, reduce
from typing import Any

import numpy as np

from gradtape.api.tensorflow.random.sequence import counts_kept
from gradtape.core.tensor import Tensor
from gradtape.core.thread import init_scope
from gradtape.data.holder import dataset_of
from gradtape.data.stage import Stage, first_run, raised_later
from gradtape.data.stages.memory import Listed
from gradtape.data.structure import array_of, common_of, map_leaves
from gradtape.ragged.spec import RaggedTensorSpec
from gradtape.ragged.structure import concat as ragged_concat
from gradtape.ragged.tensor import RaggedTensor
from gradtape.shapes import TensorSpec

SpecOfResult = Callable[[Any, int], Any]
"""The specs of what a function gives for an element that has a number."""

_PEEKED = 2  # elements that are looked at
_TRIED = 8  # elements that a function is called with at most until it has given results for those
_SIZES = 2, 3  # those of made-up elements, in place of unknown ones
_MORE = 5  # what is added to numbers: not a multiple of the usual sizes and strides


def peeked(result: SpecOfResult, stage: Stage, what: str, *, vary: bool) -> Any:
    """Specs that describe the results for some elements of a stage.

    With `vary`, the function may also be called with numbers that no element has, which shows the
    sizes that depend on them.
    """
    found: list[Any] = []
    failed: list[Exception] = []
    seen = 0
    with init_scope(), counts_kept():
        run = first_run(stage)
        iterator = stage.iterator(run)
        try:
            for number in range(_TRIED):
                try:
                    element = next(iterator)
                    found.append(result(element, number))
                except StopIteration:
                    break
                except Exception as error:  # noqa: BLE001 - raised if no element has a result
                    failed = failed or [error]
                    continue
                seen += 1
                if seen == _PEEKED:
                    break
                found += _if_possible(result, partial(_of_other_size, element, stage.spec))
                if vary:
                    found += _if_possible(result, partial(map_leaves, _changed, element))
            if failed and not found:
                raised_later(failed.pop())
        finally:
            iterator.close()
        if not found:
            few, more = _SIZES
            found += _if_possible(result, lambda: made_up(stage.spec, few))
            found += _if_possible(result, lambda: map_leaves(_changed, made_up(stage.spec, more)))
    if not found:
        raise ValueError(
            f"{what}: the element_spec is not known: there are no elements to call the function "
            "with, and it cannot be called with zeros in their place."
        )
    return reduce(partial(map_leaves, common_of), found)


def _if_possible(result: SpecOfResult, element: Callable[[], Any]) -> list[Any]:
    """The specs of what a function gives for an element that is not the user's, if it does."""
    try:
        return [result(element(), 0)]
    except Exception:  # noqa: BLE001 - the function need not take what it was not meant for
        return []


def _of_other_size(element: Any, spec: Any) -> Any:
    """An element with one row less, or one more where it has at most one, where the number of rows
    is not known: sizes that follow it are not known either.
    """

    def resized(leaf: Any, wanted: Any) -> Any:
        is_tensor = isinstance(wanted, TensorSpec)
        if not (is_tensor or isinstance(wanted, RaggedTensorSpec)):
            return leaf
        if not wanted.shape.rank or wanted.shape[0] is not None:
            return leaf
        rows = leaf.rows if isinstance(leaf, RaggedTensor) else leaf.shape[0]
        if rows > 1:
            return leaf[:-1]
        return _with_a_row_more(leaf, wanted)

    return map_leaves(resized, element, spec)


def _with_a_row_more(leaf: Any, spec: Any) -> Any:
    """A leaf of at most one row with one more: the same again, or zeros."""
    if not isinstance(leaf, RaggedTensor):
        array = array_of(leaf, "element")
        zeros = _zeros([1, *array.shape[1:]], spec)
        return Tensor(np.concatenate([array, array if len(array) else zeros]))
    splits = leaf.row_splits.array
    if leaf.rows:
        return ragged_concat([leaf, leaf], 0)
    return RaggedTensor(leaf.values, Tensor(np.zeros(2, splits.dtype)))


def _changed(leaf: Any) -> Any:
    """A leaf with other numbers, from which sizes may be computed."""
    if not isinstance(leaf, Tensor):
        return leaf
    array = array_of(leaf, "element")
    return Tensor(array + array.dtype.type(_MORE)) if array.dtype.kind in "iuf" else leaf


# Elements that are made up


def made_up(spec: Any, size: int) -> Any:
    """An element of zeros that fits specs, with `size` in place of unknown sizes."""
    return map_leaves(partial(_made_up_leaf, size), spec)


def _made_up_leaf(size: int, spec: Any) -> Any:
    if isinstance(spec, TensorSpec):
        return Tensor(_zeros([size if n is None else n for n in spec.shape], spec))
    if isinstance(spec, RaggedTensorSpec):
        sizes = [size if n is None else n for n in spec.shape]
        zeros = Tensor(_zeros(sizes, spec))
        if not spec.ragged_rank:
            return zeros
        return RaggedTensor.from_tensor(
            zeros, ragged_rank=spec.ragged_rank, row_splits_dtype=spec.row_splits_dtype
        )
    below = getattr(spec, "element_spec", None)
    if below is None:
        raise TypeError(f"no element fits {spec}")
    return dataset_of(Listed([made_up(below, size)] * size, lambda: below))


def _zeros(shape: list[int], spec: Any) -> Any:
    array = np.zeros(shape, spec.dtype.numpy)
    if array.dtype == object:
        array.fill(b"")
    return array
