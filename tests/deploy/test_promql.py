"""The tests' own reading of expressions."""

from pathlib import Path

import pytest

from tests.deploy.promql import grouping_labels, matched_labels, metrics, parses, without_variables

EXPRESSION = """
max by (task, head) (a_low{window=~"1h|1d",source="by (x) {y}"} > on (task) group_left (unit) b:c:d5m)
  / 1.5e3 unless sum without (le) (rate(e_bucket{le="0.25"}[$__rate_interval] offset 5m)) == 0 or vector(0) and f
"""


def test_metrics_are_told_from_functions_labels_and_words() -> None:
    assert metrics(without_variables(EXPRESSION)) == {"a_low", "b:c:d5m", "e_bucket", "f"}


def test_labels_are_found_with_their_metric() -> None:
    assert matched_labels(EXPRESSION) == {("a_low", "window"), ("a_low", "source"), ("e_bucket", "le")}
    assert grouping_labels(EXPRESSION) == {"task", "head", "unit", "le"}


def test_an_expression_that_cannot_be_read_is_found(tmp_path: Path) -> None:
    parses(["up == 1", without_variables(EXPRESSION)], tmp_path)
    with pytest.raises(AssertionError, match="could not parse"):
        parses(["up == 1", "sum(up"], tmp_path)
