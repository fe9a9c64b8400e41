"""Which layer or function each op belongs to: told by code and by the names of Variables alone."""

from pathlib import Path

import pytest

from gradtape.core.location import Location
from gradtape.inspect.grouping import OpSite, groups_of

KERAS = str(Path("/lib") / "keras" / "src" / "layers" / "core.py")


def keras(function, line, *reads):
    return OpSite(Location(KERAS, line, function), reads)


def own(function, line, *reads):
    return OpSite(Location("/home/train.py", line, function), reads)


DENSE = [keras("Dense.call", 1, "net/dense/kernel:0"), keras("Dense.call", 2, "net/dense/bias:0")]
DENSE_1 = [keras("Dense.call", 1, "net/d2/kernel:0"), keras("Dense.call", 2, "net/d2/bias:0")]
MOMENTS = [keras("Norm._moments", 5)] * 2
NORM = [*MOMENTS, keras("Norm.call", 6, "net/norm/gamma:0")]
NORM_1 = [*MOMENTS, keras("Norm.call", 6, "net/norm_1/gamma:0")]


@pytest.mark.parametrize(
    ("ops", "titles"),
    [
        ([], []),
        (DENSE, ["dense"] * 2),
        (DENSE + DENSE_1, ["dense"] * 2 + ["d2"] * 2),
        # What runs before the first Variable is read is part of the same call.
        (NORM + NORM_1, ["norm"] * 3 + ["norm_1"] * 3),
        (NORM + NORM_1 + NORM, ["norm"] * 3 + ["norm_1"] * 3 + ["norm"] * 3),
        # A layer without Variables is known by its class.
        ([*DENSE, keras("Dropout.call", 9)], ["dense"] * 2 + ["Dropout"]),
        # A layer of the user's own, defined in a function.
        ([own("f.<locals>.Scale.call", 3, "net/scale/w:0")], ["scale"]),
        # Code that reads a layer's Variable is not the layer.
        ([own("train", 3, "net/dense/kernel:0")], ["train"]),
        ([own("Model.call", 3)], ["Model.call"]),
        ([own("f.<locals>.g", 3)], ["g"]),
        ([own("train", 3, "w:0"), own("train", 4, "w:0")], ["train"] * 2),
    ],
)
def test_ops_are_grouped(ops, titles):
    assert [group.title for group in groups_of(ops)] == titles


def test_what_runs_before_a_layer_and_after_it_are_two_groups():
    before, after = groups_of([own("train", 1), *DENSE, own("train", 2)])[::3]
    assert before != after
    assert before.title == after.title == "train"


def test_a_loop_over_one_layer_stays_folded():
    step = [own("train", 1), *DENSE, own("train", 2)]
    assert len(set(groups_of(step * 50))) == 3


def test_details_say_the_class_and_the_path():
    layer, plain, function = groups_of([DENSE[0], keras("Dropout.call", 9), own("train", 1)])
    assert layer.detail == "Dense, net/dense"
    assert plain.detail == "layer"
    assert function.detail == "train.py"
