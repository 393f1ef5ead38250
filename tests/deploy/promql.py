"""Which metrics and labels an expression of Prometheus asks for; enough of the language for our own expressions."""

import re
from pathlib import Path

from tests.prometheus import run

NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')
_SELECTOR = re.compile(rf"({NAME})\{{([^}}]*)\}}")
_MATCHER = re.compile(r"([a-zA-Z_]\w*)\s*(?:=~|!~|!=|=)")
_GROUPING = re.compile(r"\b(?:by|without|on|ignoring|group_left|group_right)\s*\(([^)]*)\)")
_DURATION = re.compile(r"\[[^\]]*\]|\boffset\s+\w+")
_WORDS = {"and", "or", "unless", "bool", "by", "without", "on", "ignoring", "group_left", "group_right"}

VARIABLES = {"$__rate_interval": "5m", "$__range": "1h"}
"""What Grafana puts in; of its other variables only the place in a matcher counts."""


def without_variables(expression: str) -> str:
    """As Prometheus gets it."""
    for variable, value in VARIABLES.items():
        expression = expression.replace(variable, value)
    return re.sub(r"\$\w+", ".*", expression)


def metrics(expression: str) -> set[str]:
    """Names of the series that an expression reads."""
    rest = re.sub(r"\{[^}]*\}", "", _STRING.sub('""', expression))
    rest = _DURATION.sub("", _GROUPING.sub("", rest))
    matches = re.finditer(rf"(?<![\w.]){NAME}(?!\s*\()(?![\w:])", rest)
    return {match[0] for match in matches} - _WORDS


def matched_labels(expression: str) -> set[tuple[str, str]]:
    """Each metric that is selected by labels, with each label."""
    plain = _STRING.sub('""', expression)
    return {
        (selector[1], matcher[1])
        for selector in _SELECTOR.finditer(plain)
        for matcher in _MATCHER.finditer(selector[2])
    }


def grouping_labels(expression: str) -> set[str]:
    """Labels that are grouped or joined by."""
    plain = _STRING.sub('""', expression)
    words = (word.strip() for match in _GROUPING.finditer(plain) for word in match[1].split(","))
    return {word for word in words if word}


def parses(expressions: list[str], folder: Path) -> None:
    """Has promtool read expressions.

    Raises:
        AssertionError: it cannot read one.
    """
    lines = ["groups:", "- name: expressions", "  rules:"]
    for number, expression in enumerate(expressions):
        lines += [f"  - record: expression:{number}", "    expr: |", *(f"      {x}" for x in expression.splitlines())]
    path = folder / "expressions.yaml"
    path.write_text("\n".join(lines) + "\n")
    run("promtool", "check", "rules", path)
