"""Error for scenes and feature maps that cannot be used."""

from __future__ import annotations


class BadScene(ValueError):
    """A scene, a request of one, or a feature map that cannot be used.

    ``code`` identifies the problem, ``field`` is its path in the message, ``value`` and ``unit`` are the actual value,
    ``allowed`` describes valid values; each may be empty.
    """

    def __init__(
        self, message: str, *, code: str, field: str = "", value: object = "", unit: str = "", allowed: str = ""
    ) -> None:
        super().__init__(message)
        self.message, self.code, self.field = message, code, field
        self.value, self.unit, self.allowed = str(value), unit, allowed

    def of(self, field: str) -> BadScene:
        """Set the name of the input, and return the error."""
        self.field = field
        return self
