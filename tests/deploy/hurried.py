"""The shipped rules and configurations where time runs faster: one small substitution, so that a test is about them.

Ranges, offsets and ``for`` are divided by ``FACTOR``, but never below what two scrapes a second apart need; the
monitor's windows become its shortest one. Limits, counts and the form of every expression stay as they are.
"""

import math
import re

FACTOR = 240
LEAST_RANGE, LEAST_FOR = 5, 3
"""Seconds."""
WINDOW = "1m"
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
_DURATION = r"(\d+)([smhd])"


def rules(text: str) -> str:
    """A file of rules."""
    text = re.sub(rf"\[{_DURATION}\]", lambda window: f"[{_shorter(window, LEAST_RANGE)}]", text)
    text = re.sub(rf"\boffset {_DURATION}", lambda offset: f"offset {_shorter(offset, LEAST_RANGE)}", text)
    text = re.sub(rf"\bfor: {_DURATION}", lambda delay: f"for: {_shorter(delay, LEAST_FOR)}", text)
    text = re.sub(rf"\binterval: {_DURATION}", "interval: 1s", text)
    return re.sub(r'window(=~|=)"[^"]*"', f'window="{WINDOW}"', text)


def prometheus(text: str, *, offset: int, alertmanager: str) -> str:
    """``prometheus.yml`` for services and a monitor whose ports are moved by ``DEMUR_PORT_OFFSET``."""
    text = re.sub(r"(scrape|evaluation)_interval: 15s", r"\1_interval: 1s", text)
    text = re.sub(r"# external_labels: .*", "external_labels: {runbooks: base/}", text)
    text = re.sub(r"localhost:(300\d)\b", lambda match: f"127.0.0.1:{int(match[1]) + offset}", text)
    return _at(text, {"localhost:9093": alertmanager})


def alertmanager(text: str, *, receiver: str) -> str:
    """``alertmanager.yml`` that waits for no company and reports to this address."""
    text = re.sub(r"group_wait: \w+", "group_wait: 0s", text)
    text = re.sub(r"group_interval: \w+", "group_interval: 1s", text)
    return _at(text, {"localhost:9095": receiver})


def _at(text: str, addresses: dict[str, str]) -> str:
    for known, address in addresses.items():
        assert known in text, known
        text = text.replace(known, address)
    return text


def _shorter(match: re.Match[str], least: int) -> str:
    seconds = int(match[1]) * _SECONDS[match[2]]
    return f"{max(least, math.ceil(seconds / FACTOR))}s"
