"""How the methods of `Dataset`, which stand in several modules, make datasets of stages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gradtape.api.tensorflow.arguments import as_int
from gradtape.data.stage import Stage
from gradtape.data.structure import Leaf
from gradtape.errors import invalid_argument

if TYPE_CHECKING:
    from gradtape.data.dataset import Dataset


class Holder(Leaf):
    """What has a stage."""

    stage: Stage


def dataset_of(stage: Stage) -> Dataset:
    """The users' view of a stage."""
    from gradtape.data.dataset import Dataset  # noqa: PLC0415 - it is built on this module

    return Dataset(stage)


def stage_of(value: Any, argument: str) -> Stage:
    """The stage of a dataset that is an argument."""
    if not isinstance(value, Holder):
        raise TypeError(
            f"{argument} must be a tf.data.Dataset, got {value!r} of type {type(value).__name__}."
        )
    return value.stage


def positive(value: Any, argument: str) -> int:
    """An argument that must be an integer above 0."""
    number = as_int(value, argument)
    if number <= 0:
        raise invalid_argument(f"{argument} must be greater than zero, got {number}.")
    return number
