"""Error for values that are not labels of a head."""


class BadLabel(ValueError):
    """The value is not a label of this head; the message states the expected form and unit."""


def shown(value: object, characters: int = 80) -> str:
    """Return a value shortened for an error message."""
    if isinstance(value, bytes):
        return f"{len(value)} bytes"
    try:
        text = repr(value)
    except ValueError:  # a whole number of thousands of digits
        return f"a {type(value).__name__} of many digits"
    return text if len(text) <= characters else text[: characters - 3] + "..."
