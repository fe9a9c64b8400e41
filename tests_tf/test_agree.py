"""Every row in both libraries: values, gradients and second derivatives agree, or the difference
has its reason in a table.
"""

from __future__ import annotations

import csv
from pathlib import Path
from types import ModuleType

import compare
import pytest
import tensorflow  # noqa: ICN001  # `tf` is the library that a row is given
from compare import COLUMNS, HALF, differences, errors, in_tensorflow
from derivatives import FLOATING, outcome
from differences import DIFFERENCES, HALF_DIFFERENCES, KINKS, NOT_COMPARED
from table import all_rows, resolve

import gradtape

ROWS = all_rows()
NAMESPACES = {
    "tf", "tf.math", "tf.math.special", "tf.linalg", "tf.linalg.experimental", "tf.nn",
    "tf.nn.experimental", "tf.signal", "tf.random", "tf.random.experimental", "tf.image",
    "tf.dtypes", "tf.bitwise", "tf.sparse",
}  # fmt: skip
SYMBOLS = Path(__file__).parent.parent / "tools" / "api_symbols.csv"


def cases():
    for row in ROWS:
        for column in COLUMNS if row.wanted else COLUMNS[:1]:
            yield pytest.param(row, column, id=f"{row.label} {column}")


@pytest.mark.parametrize(("row", "column"), list(cases()))
def test_agree(row, column):
    found = [line for dtype in row.dtypes for line in differences(row, column, dtype)]
    reason = DIFFERENCES.get(f"{row.label} {column}")
    if reason is None:
        assert not found, "\n".join(found)
    else:
        assert found, f"the table of differences says that {reason!r}, but the libraries agree"


@pytest.mark.parametrize(
    ("row", "column"),
    [case for case in cases() if case.values[0].halves and case.values[1] != "second"],
)
def test_half_precision_agrees(row, column):
    """Where TensorFlow has kernels for it."""
    found = [
        line
        for dtype in HALF
        if in_tensorflow(row, column, dtype)
        for line in differences(row, column, dtype)
    ]
    cell = f"{row.label} {column}"
    if cell in HALF_DIFFERENCES:
        assert found, (
            f"the table of differences says that {HALF_DIFFERENCES[cell]!r}, but the "
            "libraries agree"
        )
    elif cell not in DIFFERENCES:
        assert not found, "\n".join(found)


@pytest.mark.parametrize(
    ("row", "column"),
    [case for case in cases() if case.id in DIFFERENCES and case.values[1] != "value"],
)
def test_where_they_differ_gradtape_is_right(row, column):
    """Judged by quotients of differences, except where the function has a kink."""
    if f"{row.label} {column}" not in KINKS:
        lines = errors(row, column)
        assert not lines, "\n".join(lines)


def compared():
    """Symbols of tiers 1 and 2 that gradtape has,
    by the name that TensorFlow holds for the first.
    """
    groups = {}
    with SYMBOLS.open(encoding="utf-8", newline="") as file:
        for line in csv.DictReader(file):
            if line["namespace"] in NAMESPACES and line["tier"] in "12" and has(line["symbol"]):
                groups.setdefault(line["canonical"], []).append(line["symbol"])
    return groups


def has(symbol):
    """Whether gradtape has it; a package of the same name is another thing."""
    try:
        return not isinstance(resolve(gradtape, symbol), ModuleType)
    except AttributeError:
        return False


def test_every_symbol_is_compared():
    with_row = {row.symbol for row in ROWS} | set(NOT_COMPARED)
    missing = [
        names[0] for canonical, names in compared().items() if not with_row & {canonical, *names}
    ]
    assert not missing, "these symbols have no row: " + ", ".join(missing)


def test_the_names_of_one_function_are_one_function():
    several = {canonical: names for canonical, names in compared().items() if len(names) > 1}
    assert [
        n
        for names in several.values()
        for n in names
        if resolve(gradtape, n) is not resolve(gradtape, names[0])
    ] == []


@pytest.mark.parametrize("row", [row for row in ROWS if row.wanted], ids=lambda row: row.label)
def test_what_is_differentiated_has_a_derivative(row):
    """Else its columns would compare nothing: `still` makes an argument that is not
    differentiated.
    """
    dtype = row.dtypes[0]
    results = outcome(gradtape, row, row.arrays(dtype), 0)
    assert any(
        gradtape.is_tensor(result) and result.dtype.name.startswith(FLOATING) for result in results
    )


def test_labels_are_unique():
    labels = [row.label for row in ROWS]
    assert sorted(labels) == sorted(set(labels))


def test_the_tables_name_only_what_exists():
    cells = {f"{row.label} {column}" for row in ROWS for column in COLUMNS}
    assert (set(DIFFERENCES) | set(HALF_DIFFERENCES)) - cells == set()
    assert KINKS - set(DIFFERENCES) == set()
    assert [symbol for symbol in NOT_COMPARED if not has(symbol)] == []
    assert {row.symbol for row in ROWS} & set(NOT_COMPARED) == set()


class Wrong:
    """gradtape with one thing wrong, to see that the comparison would find it."""

    def __init__(self, namespace=gradtape, **changes):
        self.namespace, self.changes = namespace, changes

    def __getattr__(self, name):
        return self.changes[name] if name in self.changes else getattr(self.namespace, name)


@pytest.mark.parametrize(
    ("column", "wrong"),
    [
        ("value", lambda x: gradtape.exp(x) + 1e-3),
        ("value", lambda x: gradtape.cast(gradtape.exp(x), "float16")),
        ("value", lambda x: gradtape.exp(x)[None]),
        ("gradient", lambda x: gradtape.stop_gradient(gradtape.exp(x))),
        (
            "gradient",
            gradtape.custom_gradient(
                lambda x: (gradtape.exp(x), lambda g: g * gradtape.exp(x) * 1.001)
            ),
        ),
        (
            "second",
            gradtape.custom_gradient(
                lambda x: (gradtape.exp(x), lambda g: g * gradtape.stop_gradient(gradtape.exp(x)))
            ),
        ),
    ],
)
def test_the_comparison_sees(column, wrong):
    row = next(row for row in ROWS if row.label == "tf.math.exp")
    for dtype in row.dtypes:
        assert differences(row, column, dtype, ours=Wrong(math=Wrong(gradtape.math, exp=wrong)))
        assert not differences(row, column, dtype)


def test_the_judge_sees(monkeypatch):
    row = next(row for row in ROWS if row.label == "tf.math.exp")
    assert not errors(row, "gradient")
    wrong = gradtape.custom_gradient(
        lambda x: (gradtape.exp(x), lambda g: g * gradtape.exp(x) * 1.001)
    )
    monkeypatch.setattr(gradtape.math, "exp", wrong)
    assert errors(row, "gradient")


REFUSALS = (
    (
        "Current CPU implementations do not yet support dilation rates larger than 1. "
        "[Op:Conv2DBackpropInput] name: "
    ),
    (
        "Gradients for grouped convolutions are not supported on CPU. Please file a feature "
        "request if you run into this issue."
    ),
    "Default MaxPoolingGradOp only supports NHWC on device type CPU [Op:MaxPoolGrad]",
)


@pytest.mark.parametrize("refusal", REFUSALS)
@pytest.mark.parametrize("column", ["gradient", "second"])
def test_quotients_are_in_the_place_of_a_missing_kernel(column, refusal, monkeypatch):
    def without_kernel(tf, row, arrays, order):
        if tf is tensorflow and order:
            raise tensorflow.errors.InvalidArgumentError(None, None, refusal)
        return outcome(tf, row, arrays, order)

    monkeypatch.setattr(compare, "outcome", without_kernel)
    row = next(row for row in ROWS if row.label == "tf.math.exp")
    assert not differences(row, column, "float32")
    wrong = gradtape.custom_gradient(
        lambda x: (gradtape.exp(x), lambda g: g * gradtape.exp(x) * 1.001)
    )
    assert differences(row, column, "float32", ours=Wrong(math=Wrong(gradtape.math, exp=wrong)))


def test_another_error_is_a_difference(monkeypatch):
    def failing(tf, row, arrays, order):
        if tf is tensorflow:
            raise LookupError("gradient registry has no entry")
        return outcome(tf, row, arrays, order)

    monkeypatch.setattr(compare, "outcome", failing)
    row = next(row for row in ROWS if row.label == "tf.math.exp")
    assert "no entry" in differences(row, "gradient", "float32")[0]


def test_the_comparison_tells_sparse_from_dense():
    row = next(row for row in ROWS if row.label == "tf.gather")
    dense = gradtape.custom_gradient(
        lambda x, i: (
            gradtape.gather(x, i),
            lambda g: (gradtape.scatter_nd(i[:, None], g, x.shape), None),
        )
    )
    assert "sparse" in differences(row, "gradient", "float32", ours=Wrong(gather=dense))[0]
