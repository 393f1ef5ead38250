"""Parsing of environment variables into values of settings."""

from collections.abc import Collection, Iterable
from difflib import get_close_matches
from fnmatch import fnmatch
from typing import Any

PREFIX = "DEMUR_"


class SettingsError(ValueError):
    """Error for a setting of the wrong type or range; the message names variable, value and allowed values."""


_NO_FIELDS = {"ALLOW_REMOTE", "ARTEFACTS", "TOKEN", "TOKEN_FILE", "ROOTS", "CLIENT_CERTIFICATE", "CLIENT_KEY"}
"""Known variables that are not fields of settings; the last five are read by clients."""

_KINDS = {bool: "1 or 0", int: "a whole number", float: "a number"}
"""Descriptions of field types in error messages."""

_KUBERNETES = ("*SERVICE_HOST", "*SERVICE_PORT*", "PORT", "*_PORT", "PORT_*", "*_PORT_*")
"""Patterns of variables that Kubernetes sets, without the prefix."""


def parsed(name: str, text: str, kind: Any) -> Any:
    """Return the value of a variable for a field of this type.

    Raises:
        SettingsError: the text is not a value of this type.
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
    """Return the comma-separated words of a text."""
    return tuple(filter(None, (part.strip() for part in text.split(","))))


def strangers(variables: Iterable[str], known: Collection[str]) -> dict[str, str]:
    """Return unknown variables with the prefix, each with the closest known name, or an empty text.

    Variables that Kubernetes sets for a service named ``demur-…`` are left out.
    """
    names = [name.removeprefix(PREFIX) for name in sorted(variables) if name.startswith(PREFIX)]
    known = {*known, *_NO_FIELDS}
    strange = [name for name in names if name not in known and not any(fnmatch(name, p) for p in _KUBERNETES)]
    meant = {name: get_close_matches(name, known, 1) for name in strange}
    return {f"{PREFIX}{name}": f"{PREFIX}{near[0]}" if near else "" for name, near in meant.items()}
