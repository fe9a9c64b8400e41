"""docs/api-coverage.md says what is there: after a change that is meant, write it anew with
`python -m tools.api_coverage`.
"""

import pytest

from tools import api_coverage
from tools.api_coverage import Symbol


def test_the_page_is_true():
    assert api_coverage.PAGE.read_text(encoding="utf-8") == api_coverage.page(), (
        "see this file's docstring"
    )


def test_tier_1_is_complete():
    assert [s.name for s in api_coverage.symbols() if s.tier == 1 and not s.present] == []


def test_what_is_called_differentiable_has_a_derivative():
    sampled = [s for s in api_coverage.symbols() if s.differentiable and s.orders is not None]
    assert len(sampled) > 250
    assert [s.name for s in sampled if s.orders == 0] == []


def test_what_counts_as_present():
    assert api_coverage.has("tf.newaxis")
    assert api_coverage.has("tf.math.log")
    assert not api_coverage.has("tf.math.no_such_function")
    assert not api_coverage.has("tf.no_such_namespace.log")


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("tf.test.TestCase", "pytest"),
        ("tf.math.something", "not yet"),
    ],
)
def test_a_missing_symbol_has_a_reason(name, reason):
    assert reason in Symbol(name, "tf", differentiable=False, tier=2, present=False).reason


def test_every_name_in_the_tables_is_a_symbol():
    with api_coverage.SYMBOLS.open(encoding="utf-8") as file:
        listed = {line.partition(",")[0] for line in file}
    assert api_coverage.DIFFERENTIABLE_HERE <= listed
    assert set(api_coverage.NAMESPACES) <= {name.rpartition(".")[0] for name in listed}
