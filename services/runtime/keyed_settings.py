"""Settings with a value by name, such as ``temperature=varm,precipitation=mi``."""

import math

from services.runtime.variables import SettingsError, listed


def keyed(variable: str, text: str, form: str, example: str) -> dict[str, str]:
    """Return name to value.

    Args:
        form: what name and value are, such as ``head=measure``, for the message.

    Raises:
        SettingsError: not of the form ``name=value``, or a name twice.
    """
    kind = form.partition("=")[0]
    values: dict[str, str] = {}
    for entry in listed(text):
        name, equals, value = (part.strip() for part in entry.partition("="))
        if not (name and equals and value) or name in values:
            raise SettingsError(
                f"{variable} = {text!r}: one {form} for each {kind} is needed, with commas between, such as {example}"
            )
        values[name] = value
    return values


def numbers_by_head(variable: str, text: str, example: str) -> dict[str, float]:
    """Return head name to a number that is not negative.

    Raises:
        SettingsError: as ``keyed``, or a value is not such a number.
    """
    numbers: dict[str, float] = {}
    for head, value in keyed(variable, text, "head=number", example).items():
        try:
            number = float(value)
        except ValueError:
            number = math.nan
        if not 0 <= number < math.inf:
            raise SettingsError(f"{variable} = {text!r}: {head} needs a number from 0 on, such as {example}")
        numbers[head] = number
    return numbers
