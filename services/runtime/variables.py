"""Environment variables as values of settings."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from difflib import get_close_matches
from fnmatch import fnmatch
from typing import Any

PREFIX = "DEMUR_"


class SettingsError(ValueError):
    """A setting is not of its type or range; the message names variable, value and what is allowed."""


_NO_FIELDS = {"ALLOW_REMOTE", "ARTEFACTS", "TOKEN", "TOKEN_FILE", "ROOTS", "CLIENT_CERTIFICATE", "CLIENT_KEY"}
"""Variables that are read elsewhere; the last five by clients."""

_KINDS = {bool: "1 or 0", int: "a whole number", float: "a number"}
"""Types of fields in words."""

_KUBERNETES = ("*SERVICE_HOST", "*SERVICE_PORT*", "PORT", "*_PORT", "PORT_*", "*_PORT_*")
"""Behind the prefix."""


def parsed(name: str, text: str, kind: Any) -> Any:
    """Return the value of a variable for a field of this type.

    Raises:
        SettingsError: it is none.
    """
    choices = getattr(kind, "__args__", ())
    try:
        if kind is bool:
            return {"1": True, "true": True, "0": False, "false": False, "": False}[text.lower()]
        if choices and all(isinstance(choice, str) for choice in choices):
            if text not in choices:
                raise ValueError(text)
            return text
        if choices:  # an optional number
            return None if text == "" else float(text)
        return kind(text)
    except (KeyError, ValueError) as error:
        numeric = choices and not all(isinstance(choice, str) for choice in choices)
        expected = "a number, or empty" if numeric else " or ".join(choices) if choices else _KINDS[kind]
        raise SettingsError(f"{name} = {text!r} is not {expected}") from error


def listed(text: str) -> tuple[str, ...]:
    """Words with commas between."""
    return tuple(filter(None, (part.strip() for part in text.split(","))))


def strangers(given: Iterable[str], known: Collection[str]) -> dict[str, str]:
    """Variables with our prefix that are not known, each with the one that may be meant, or nothing.

    What Kubernetes tells every container of a service named ``demur-…`` is left out.
    """
    names = [name.removeprefix(PREFIX) for name in sorted(given) if name.startswith(PREFIX)]
    known = {*known, *_NO_FIELDS}
    strange = [name for name in names if name not in known and not any(fnmatch(name, p) for p in _KUBERNETES)]
    meant = {name: get_close_matches(name, known, 1) for name in strange}
    return {f"{PREFIX}{name}": f"{PREFIX}{near[0]}" if near else "" for name, near in meant.items()}
